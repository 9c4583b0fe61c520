"""Every page in a real browser, opened from disk: on a desktop, a tablet, a phone, in the dark, and on paper."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
import yaml
from playwright.sync_api import Error

from tests.conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(__file__).parent / "vendor/axe.min.js"

DESKTOP, TABLET, PHONE = ({"width": w, "height": h} for w, h in ((1400, 900), (768, 1024), (390, 844)))
MODES = {
    "desktop": {"viewport": DESKTOP},
    "tablet": {"viewport": TABLET},
    "phone": {"viewport": PHONE, "has_touch": True},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "dark phone": {"viewport": PHONE, "color_scheme": "dark"},
    "without scripts": {"viewport": DESKTOP, "java_script_enabled": False},
}
# Each page loads axe anew and runs it for a short time, so V8 need not optimise its functions.
FLAGS = ["--js-flags=--no-opt"]
LOCAL = ("file:", "data:", "about:")
COLOURS = ["color-contrast", "link-in-text-block"]
OF_THE_LAYOUT = ["target-size", "scrollable-region-focusable"]
COLOURS_APART = {rule: {"enabled": rule in OF_THE_LAYOUT} for rule in (*COLOURS, *OF_THE_LAYOUT)}

RAW_FORMULAS = r"""() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre, code, kbd, .katex, script, style")) continue;
    if (/\$|\\\(|\\\[|\\begin\{|\\frac|\\top/.test(node.data)) found.push(node.data.trim());
  }
  return found;
}"""
# The theme lets the whole article scroll sideways, and cuts off long words at the foot of a page.
BOXES = ".bd-article-container, .bd-article, .prev-next-area a"
TOO_WIDE = (
    f"""() => [document.documentElement, ...document.querySelectorAll("{BOXES}")]"""
    + """
  .filter((box) => box.scrollWidth > Math.max(box.clientWidth, box === document.documentElement ? innerWidth : 0) + 1)
  .map((box) => `${box.tagName} ${box.className}: ${box.scrollWidth} > ${box.clientWidth}`)"""
)

OUT_OF_REACH = """() => [...document.querySelectorAll("main *")]
  .filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0)
  .filter((box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX))
  .filter((box) => box.tabIndex < 0 && !box.querySelector("a, button, input, [tabindex='0']"))
  .map((box) => box.outerHTML.slice(0, 200))"""
# The positions of a section's pictures, and of the beginning of its questions.
SHOWN = """() => {
  const article = document.querySelector(".bd-article");
  const questions = [...article.querySelectorAll("h2")].find((title) => title.textContent.includes("Check yourself"));
  const top = article.getBoundingClientRect().top;
  const place = (box) => [box.getBoundingClientRect().top - top, box.getBoundingClientRect().bottom - top];
  const pictures = [...article.querySelectorAll("img, .lab")].filter((box) => box.checkVisibility());
  return { pictures: pictures.map((box) => place(box.closest("figure") ?? box)), end: place(questions)[0] };
}"""
# All draggable figures have been set up, and nothing is left to draw.
DRAWN = """() => [...document.querySelectorAll(".lab")].every((box) => box.matches(".lab-live")) &&
  !document.querySelector("[data-pending~=picture]")"""
# No width or colour is measured in mid-transition.
WITHOUT_TRANSITIONS = """
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { transition: none !important }");
  document.adoptedStyleSheets = [sheet];
"""
UNTIL = """async (patience) => {
  const condition = CONDITION;
  const end = Date.now() + patience;
  while (!condition()) {
    if (Date.now() > end) throw Error(`waited in vain for ${condition}`);
    await new Promise((later) => setTimeout(later, 20));
  }
}"""
# The rules that are violated and the elements that violate them: the whole report is large.
RUN_AXE = """async ([where, options]) => {
  const { violations } = await axe.run(where ?? document, options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => [id, html]));
}"""
MOST = 2  # consecutive screens without a picture

# What axe says about a picture does not depend on what the picture shows.
SIMPLIFY_PICTURES = """() => {
  document.querySelectorAll("picture source").forEach((form) => form.remove());
  document.querySelectorAll("main img").forEach((picture) => { picture.src = "data:,"; });
}"""
# A formula has a hundred elements, on which axe would spend most of its time. They have the colour of the text around
# them, and screen readers use the MathML instead.
SIMPLIFY_FORMULAS = """() =>
  document.querySelectorAll(".math, .katex").forEach((formula) => formula.replaceWith("formula"))"""

# Words of the same kind in a listing have the same colour, so the first of each kind is enough.
SIMPLIFY_LISTINGS = """() => {
  const seen = new Set();
  for (const word of document.querySelectorAll(".highlight pre span[class]")) {
    const kind = `${word.className} in ${word.closest("[class*=highlight-]")?.className}`;
    if (seen.has(kind)) word.replaceWith(...word.childNodes);
    seen.add(kind);
  }
  document.querySelectorAll(".highlight pre").forEach((listing) => listing.normalize());
}"""

# Contrast depends on a text's colour, on whether it is large (18 points, or 14 if it is bold) and on what is behind it,
# so it is enough to check one of all texts that look alike, on whichever page it is.
MARK_LOOKS = """(elsewhere) => {
  document.querySelectorAll("[data-look]").forEach((box) => box.removeAttribute("data-look"));
  const known = new Map();
  const behind = (box) => {
    if (!box) return "";
    if (!known.has(box)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(box);
      const own = [backgroundColor, backgroundImage, opacity, position].join();
      const opaque = /^rgb\\(/.test(backgroundColor);
      const shown = own === "rgba(0, 0, 0, 0),none,1,static" ? "" : own;
      known.set(box, opaque ? shown : shown + behind(box.parentElement));
    }
    return known.get(box);
  };
  const seen = new Set();
  const told = new Set(elsewhere);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const box = text.parentElement;
    if (!text.data.trim() || !box.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(box);
    const link = box.closest("a");
    const around = link && getComputedStyle(link.parentElement).color;
    const points = Math.ceil(parseFloat(style.fontSize) * 72) / 96;
    const large = points >= (style.fontWeight >= 700 ? 14 : 18);
    const size = link ? [style.fontSize, style.fontWeight] : [large];
    const kind = [style.color, ...size, style.textShadow, around, behind(box)].join();
    if (!seen.has(kind) && !told.has(kind)) box.setAttribute("data-look", "");
    seen.add(kind);
  }
  return [...seen];
}"""

# What axe says about the sidebars, the header and the footer depends on their elements, which come from one template:
# each visible element with its attributes and with the elements around it, and whether there are words in it.
AROUND = """() => {
  const known = new Map([[document.body, ""]]);
  const kind = (box) => {
    if (!known.has(box)) {
      const attributes = [...box.attributes].filter(({ name }) => /^(class|role|aria-|type|tabindex|open)/.test(name));
      const own = attributes.map(({ name, value }) => `${name}=${name === "aria-label" ? "" : value}`).sort().join(" ");
      known.set(box, `${kind(box.parentElement)} > ${box.tagName} ${own} ${box.textContent.trim() ? "words" : ""}`);
    }
    return known.get(box);
  };
  const boxes = [...document.body.querySelectorAll("*")].filter((box) => !box.closest(".bd-article, svg, script"));
  return [...new Set(boxes.filter((box) => box.checkVisibility({ visibilityProperty: true })).map(kind))];
}"""

# Hundreds of definitions and index entries come from one template, so checking the first few with axe is enough.
SIMPLIFY_LISTS = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const spare = [...all("article section > dl.py").slice(8), ...all(".genindextable li").slice(40)];
  spare.forEach((entry) => entry.remove());
}"""


def entries(toc):
    """The files that the table of contents names."""
    for key in ("parts", "chapters", "sections"):
        for entry in toc.get(key, []):
            yield from [entry["file"]] if "file" in entry else []
            yield from entries(entry)


TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
NAMES = [
    f"book/appendix/api/names/{name}"
    for name in ("kernels.vectors/Gaussian", "algorithms.svm/kernel_svm", "datasets.generated/two_moons")
]
PAGES = [f"{name}.html" for name in ("index", *entries(TOC), *NAMES, "genindex", "search")]
SECTION = "book/dual/representation.html"
SOURCES = {name: (ROOT / name).with_suffix(".md") for name in PAGES}
SECTIONS = [name for name, page in SOURCES.items() if page.exists() and "## Check yourself" in page.read_text("utf-8")]


@pytest.fixture(scope="module")
def windows(new_window):
    """One browser window for each mode, kept open because a new one for every page would take longer than the page."""
    opened = {}

    def window(mode: str):
        if mode not in opened:
            page = opened[mode] = new_window(**MODES[mode]).new_page()
            page.add_init_script(WITHOUT_TRANSITIONS)
            page.mode, page.troubles, page.asked = mode, [], []
            page.on("console", lambda m: m.type == "error" and page.troubles.append(f"console: {m.text}"))
            page.on("pageerror", lambda error: page.troubles.append(f"script: {error}"))
            page.on("request", lambda r: r.url.startswith(LOCAL) or page.troubles.append(f"asks for {r.url}"))
            page.on("request", lambda r: page.asked.append(r.url))
            page.on("requestfailed", lambda r: page.troubles.append(f"does not get {r.url}"))
        return opened[mode]

    return window


@pytest.fixture
def open_page(windows):
    def open_in(mode: str, path: Path, query: str = ""):
        page = windows(mode)
        page.goto("about:blank")  # pending requests belong to the previous page
        page.troubles.clear()
        page.asked.clear()
        page.set_viewport_size(MODES[mode]["viewport"])  # before there is anything to lay out
        page.goto(path.as_uri() + query)
        page.evaluate("document.fonts.ready")
        look(page, mode)
        return page

    return open_in


def wait_until(page, condition: str, patience: int = PATIENCE) -> None:
    """Wait as `page.wait_for_function` does, but without adding playwright's large script to the page."""
    page.evaluate(UNTIL.replace("CONDITION", condition), patience)


def look(page, mode: str) -> None:
    """Show the page as on a desktop or a phone, in light or dark mode.

    Every change triggers a new layout, so there should be few.
    """
    if page.mode == mode:
        return
    before, after = MODES[page.mode], MODES[mode]
    if before["viewport"] != after["viewport"]:
        page.set_viewport_size(after["viewport"])
    theme = after.get("color_scheme", "light")
    if before.get("color_scheme", "light") != theme:
        page.emulate_media(color_scheme=theme)
        wait_until(page, f"() => document.documentElement.dataset.theme === '{theme}'")
    page.mode = mode


def violations(page, mode: str, where: str | dict | None = None, **options) -> list[str]:
    """What axe finds on the page, or in a part of it, given by a selector or by what axe calls a context."""
    look(page, mode)
    wait_until(page, f"() => ({OUT_OF_REACH})().length === 0")  # a script handles this a moment after the layout
    options = {"resultTypes": ["violations"], "preload": False, **options}
    return [f"{mode}: {rule}: {html[:200]}" for rule, html in page.evaluate(RUN_AXE, [where, options])]


def colour_violations(page, mode: str, told: set[str]) -> list[str]:
    """What axe finds wrong with the colours of texts whose look is not in `told`; faultless looks are added to it."""
    look(page, mode)
    looks = set(page.evaluate(MARK_LOOKS, list(told)))
    assert len(looks) > (1 if "phone" in mode else 5), "a page has more than one kind of text"
    if looks <= told:
        return []
    found = violations(page, mode, "[data-look]", runOnly=COLOURS)
    told |= set() if found else looks
    return found


def violations_around(page, mode: str, told: set[str]) -> list[str]:
    """What axe finds around the article, unless all elements there are in `told`; faultless ones are added to it."""
    look(page, mode)
    kinds = set(page.evaluate(AROUND))
    assert len(kinds) > 20, "there is something around every article"
    if kinds <= told:
        return []
    found = violations(page, mode, {"exclude": [".bd-article"]}, rules=COLOURS_APART)
    told |= set() if found else kinds
    return found


@pytest.fixture(scope="module")
def told():
    """The looks of texts, in light and in dark mode, and the elements around an article that were found faultless."""
    return set()


def stretches(pictures: list[list[float]], end: float) -> list[float]:
    """The lengths, in screens, of the stretches without a picture, down to where the questions begin."""
    below, found = 0.0, []
    for top, bottom in [*sorted(pictures), [end, end]]:
        found.append((top - below) / DESKTOP["height"])
        below = max(below, bottom)
    return found


def test_a_stretch_goes_from_the_end_of_one_picture_to_the_next():
    assert stretches([[900, 1350], [450, 900]], 3150) == [0.5, 0, 2]
    assert stretches([], 1800) == [2]


@pytest.mark.parametrize("name", PAGES)
def test_page_is_clean(html, open_page, told, name):
    page = open_page("desktop", html / name)
    page.wait_for_load_state("load")
    files = [Path(url2pathname(urlsplit(url).path)) for url in page.asked if url.startswith("file:")]
    weight = sum(file.stat().st_size for file in files)
    assert len(files) <= 25
    assert weight <= 1_000_000, [(file.name, file.stat().st_size) for file in files]
    assert page.evaluate("document.querySelectorAll('.katex-error').length") == 0
    assert page.evaluate(RAW_FORMULAS) == []
    if name in SECTIONS:
        wait_until(page, DRAWN)
        found = stretches(**page.evaluate(SHOWN))
        assert found[0] < 1, "the first picture begins on the first screen"
        assert max(found) <= MOST, [round(stretch, 2) for stretch in found]
    for mode in ("desktop", "phone", "tablet"):  # dark mode has the same layout
        look(page, mode)
        assert page.evaluate(TOO_WIDE) == [], mode
    for simplify in (SIMPLIFY_FORMULAS, SIMPLIFY_LISTINGS, SIMPLIFY_LISTS, SIMPLIFY_PICTURES):
        page.evaluate(simplify)
    page.add_script_tag(url=AXE.as_uri())
    found = violations(page, "tablet", runOnly=OF_THE_LAYOUT)
    found += violations(page, "phone", rules=COLOURS_APART)
    for mode in ("phone", "dark phone", "dark", "desktop"):
        found += colour_violations(page, mode, told)
    # The article has the same elements on every screen, but what surrounds it differs.
    found += violations_around(page, "desktop", told)
    assert found == []
    assert page.troubles == []


def test_waiting_ends_with_what_is_awaited_or_with_an_error(windows):
    page = windows("desktop")
    page.goto("about:blank")
    page.evaluate("() => { setTimeout(() => { window.ready = true; }, 50) }")
    wait_until(page, "() => window.ready")
    assert page.evaluate("window.ready") is True
    with pytest.raises(Error, match=r"waited in vain for .* => false"):
        wait_until(page, "() => false", patience=50)


def test_a_text_that_is_hard_to_read_is_found_among_many(open_page, tmp_path):
    words = "".join(f"<p>Word {i} of a page.</p>" for i in range(50))
    faint = '<p style="color: #999">Faint.</p><div style="background: #334"><p>Dark on dark.</p></div>'
    faint += '<div><p style="color: #888; font-size: 24px">Large.</p><p style="color: #888">Small.</p></div>'
    faint += '<div style="opacity: 0.5"><div><p>Pale.</p></div></div>'
    sheet = "body { background: #fff; color: #111 } h1 { color: #222 } b { color: #333 } i, u { color: #444 }"
    kinds = "<h1>Title</h1><b>Bold</b> <i>Slanted</i> <small>Small</small> <h2>Section</h2>"
    page_file = tmp_path / "page.html"
    page_file.write_text(
        f'<!doctype html><html lang="en" data-theme="light"><title>A page</title><style>{sheet}</style>'
        f"<main>{kinds}{words}{faint}</main></html>",
        encoding="utf-8",
    )
    page = open_page("desktop", page_file)
    page.add_script_tag(url=AXE.as_uri())
    told = set()
    found = colour_violations(page, "desktop", told)
    assert colour_violations(page, "desktop", told) == found, "a faulty look is not remembered as checked"
    assert [re.findall(r"Faint|Dark on dark|Large|Small|Pale", text) for text in found] == [
        ["Faint"],
        ["Dark on dark"],
        ["Small"],
        ["Pale"],
    ]


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Outline(HTMLParser):
    """What decides whether a page can be read without scripts: its style sheets, and everything that is around its
    title and around the first formula of its article that is not folded away.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[tuple[str | None, ...]] = []
        self.title: tuple | None = None
        self.formula: tuple | None = None
        page = path.read_text(encoding="utf-8")
        self.styles = re.findall(r'<link [^>]*rel="stylesheet"[^>]*href="(?:\.\./)*([^"?]*)', page)
        self.ended = False
        for start in range(0, len(page), 2**14):
            if not self.formula and not self.ended:
                self.feed(page[start : start + 2**14])

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in VOID:
            self.open.append((tag, *(values.get(name) for name in ("class", "style")), str("hidden" in values)))
        around = [element[0] for element in self.open]
        if "article" in around and "details" not in around:
            if tag == "h1":
                self.title = self.title or tuple(self.open)
            elif values.get("class") == "katex-html":
                self.formula = self.formula or tuple(self.open)

    def handle_endtag(self, tag):
        self.ended |= tag == "article"
        while tag not in VOID and self.open.pop()[0] != tag:
            pass


def test_pages_read_without_javascript(html, windows):
    """In pages of one kind, the same elements and style sheets decide what is seen: one of each kind is enough."""
    # parts of templates, the exercises in the browser, and the old address of the home page
    others = {"_static", "lite", "search.html", f"{Path(TOC['root']).name}.html"}
    pages = [path for path in html.rglob("*.html") if others.isdisjoint(path.parts)]
    outlines = {path: Outline(path) for path in sorted(pages, key=lambda path: -path.stat().st_size)}
    assert [path for path, outline in outlines.items() if not outline.title] == []
    assert sum(outline.formula is not None for outline in outlines.values()) > 150
    kinds = {(*outline.styles, outline.title, outline.formula): path for path, outline in outlines.items()}  # smallest
    page = windows("without scripts")
    for kind, path in kinds.items():
        page.goto(path.as_uri())
        assert page.locator("article h1").first.is_visible(), path
        if kind[-1]:
            box = page.locator("article :not(details *).katex-html").first.bounding_box()
            assert box["width"] > 0, path
            assert box["height"] > 0, path


def test_the_front_door_is_the_home_page_and_its_old_address_leads_there(html, windows):
    page = windows("without scripts")
    page.goto((html / "index.html").as_uri())
    assert page.locator("p.ways a").count() == 3
    assert page.url.endswith("/index.html")
    page.goto((html / f"{TOC['root']}.html").as_uri())
    page.wait_for_url("**/index.html")
    for link in page.locator("svg.book-map a").all():
        assert (html / link.get_attribute("href")).is_file()


def test_words_of_the_map_can_be_read_on_a_phone(html, open_page):
    page = open_page("phone", html / "index.html")
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("svg.book-map text")].map((text) =>
          parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)"""
    )
    assert min(sizes) >= 10
    outside = """() => [...document.querySelectorAll("svg.book-map a")].filter((node) =>
      node.querySelector("text").getBBox().width > node.querySelector("rect").getBBox().width - 4).length"""
    assert page.evaluate(outside) == 0


def test_sidebar_shows_the_part_of_the_page_and_folds_the_others(html, open_page):
    page = open_page("desktop", html / SECTION)
    parts = page.locator("nav.bd-links details.part")
    opened = [
        part.locator("summary").first.inner_text() for part in parts.all() if part.get_attribute("open") is not None
    ]
    assert opened == ["Dual representation"]
    other = parts.filter(has_text="The kernel trick").first
    link = other.locator("a").first
    assert not link.is_visible()
    other.locator("summary").first.focus()
    page.keyboard.press("Enter")
    link.wait_for(state="visible")


def test_on_paper_answers_are_there_and_buttons_are_not(html, windows):
    page = windows("without scripts")
    page.goto((html / SECTION).as_uri())
    page.emulate_media(media="print")
    seen = page.locator("article").inner_text()
    page.emulate_media(media="screen")
    assert seen.startswith("2. The dual representation")
    answer = page.locator("details.sd-dropdown .sd-card-body").first.text_content().split()[:3]
    assert " ".join(answer) in " ".join(seen.split())
    for words in ("Show code cell source", "On a screen", "This page as a notebook"):
        assert words not in seen


def test_without_scripts_boxes_have_their_colours_and_no_figure_is_promised(html, windows):
    page = windows("without scripts")
    page.goto((html / SECTION).as_uri())
    box = page.locator("article div.admonition.tip").first
    assert box.evaluate("(box) => getComputedStyle(box).borderLeftColor") != "rgb(0, 0, 0)"
    assert page.locator("div.lab").count() == 1
    assert not page.locator("div.lab").is_visible()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("representer", "book/representer/theorem"),
        ("representer theorem", "book/representer/theorem"),
        ("gaussian", "book/kernels/gaussian"),
        ("gaussian kernels", "book/kernels/gaussian"),
        ("margin", "book/trick/svm"),
        ("leave-one-out", "book/choosing/leave-one-out"),
        ("perceptron", "book/trick/perceptron"),
        ("nearest neighbour", "book/trick/neighbours"),
        ("backpropag", "book/networks/graphs"),
        ("nystrom", "book/times/beyond"),
        ("KernelRidge", "book/appendix/api/names/estimators.regressors/KernelRidge"),
        ("dual_weights", "book/appendix/api/names/algorithms.ridge/dual_weights"),
    ],
)
def test_search_finds_the_section_first(html, open_page, query, first):
    page = open_page("desktop", html / "search.html", f"?q={query}")
    page.locator("#search-results .search-summary").wait_for()
    links = page.locator("#search-results ol.search > li > a")
    found = [link.get_attribute("href").partition("#")[0] for link in links.all()]
    assert found[0] == f"{first}.html"
    shown = page.locator("#search-results .excerpt").all_inner_texts()
    assert page.locator("#search-results .excerpt mark").count() >= 1
    unreadable = [text for text in shown if re.search(r"\\[a-zA-Z]|\$|Contents|katex|</|\{code", text)]
    assert unreadable == []
    assert page.troubles == []


def test_search_for_nothing_says_so(html, open_page):
    page = open_page("desktop", html / "search.html", "?q=xylophone")
    assert "Nothing found" in page.locator("#search-results .search-summary").inner_text()


def test_search_opens_from_the_keyboard(html, open_page):
    page = open_page("desktop", html / PAGES[0])
    page.keyboard.press("Control+k")
    page.wait_for_function("document.activeElement.matches('input[type=search]')")
    page.keyboard.type("kernel")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kernel*")


def test_table_of_contents_opens_on_a_phone(html, open_page):
    page = open_page("phone", html / PAGES[0])
    page.locator("button.primary-toggle >> visible=true").click()
    page.locator("summary", has_text="Appendices").click()
    page.get_by_role("link", name="Bibliography").first.wait_for(state="visible")


def test_colour_mode_can_be_chosen(html, open_page):
    page = open_page("desktop", html / PAGES[0])
    seen = set()
    for _ in range(3):
        before = page.evaluate("document.documentElement.dataset.mode")
        page.locator("button.theme-switch-button >> visible=true").click()
        page.wait_for_function("(before) => document.documentElement.dataset.mode !== before", arg=before)
        seen.add(page.evaluate("document.documentElement.dataset.mode"))
    assert seen == {"light", "dark", "auto"}, json.dumps(sorted(seen))
