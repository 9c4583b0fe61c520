"""Every page in a real browser, opened from disk: on a desktop, on a phone, and in the dark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text(encoding="utf-8")

MODES = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}
# On a phone the colours are those of the desktop, and in the dark all else is: no rule is checked twice in vain.
AXE_OPTIONS = {
    "desktop": {},
    "phone": {"rules": {"color-contrast": {"enabled": False}}},
    "dark": {"runOnly": ["color-contrast", "link-in-text-block"]},
}

RAW_FORMULAS = r"""() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre, code, kbd, .katex, script, style")) continue;
    if (/\$[^\s$][^$]*\$|\\\(|\\\[|\\begin\{|\\frac|\\top/.test(node.data)) found.push(node.data.trim());
  }
  return found;
}"""
# The theme lets the whole article scroll sideways, so that the window alone does not tell.
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".bd-article-container, .bd-article")]
  .filter((box) => box.scrollWidth > Math.max(box.clientWidth, box === document.documentElement ? innerWidth : 0) + 1)
  .map((box) => `${box.tagName} ${box.className}: ${box.scrollWidth} > ${box.clientWidth}`)"""

OUT_OF_REACH = """() => [...document.querySelectorAll("main *")]
  .filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0)
  .filter((box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX))
  .filter((box) => box.tabIndex < 0 && !box.querySelector("a, button, input, [tabindex='0']"))
  .map((box) => box.outerHTML.slice(0, 200))"""
# A formula is a hundred elements, which have the colour of the text around them and of which screen readers get the
# MathML: axe would spend most of its time on them.
SIMPLIFY_FORMULAS = """() => document.querySelectorAll(".katex").forEach((formula) => formula.replaceWith("formula"))"""


def entries(toc):
    """The files that the table of contents names."""
    for key in ("parts", "chapters", "sections"):
        for entry in toc.get(key, []):
            yield from [entry["file"]] if "file" in entry else []
            yield from entries(entry)


TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [f"{name}.html" for name in (TOC["root"], *entries(TOC), "genindex", "search")]


@pytest.fixture(scope="module")
def contexts(browser):
    """One browser window for each mode, kept open: pages of a window share its cache."""
    windows = {mode: browser.new_context(**options) for mode, options in MODES.items()}
    yield windows
    for window in windows.values():
        window.close()


@pytest.fixture
def open_page(contexts):
    opened = []

    def open_in(mode: str, path: Path, query: str = ""):
        page = contexts[mode].new_page()
        opened.append(page)
        page.troubles = []
        page.on("console", lambda m: m.type == "error" and page.troubles.append(f"console: {m.text}"))
        page.on("pageerror", lambda error: page.troubles.append(f"script: {error}"))
        page.on(
            "request", lambda r: r.url.split(":")[0] in ("file", "data") or page.troubles.append(f"asks for {r.url}")
        )
        page.on("requestfailed", lambda r: page.troubles.append(f"does not get {r.url}"))
        page.goto(path.as_uri() + query)
        page.evaluate("document.fonts.ready")
        return page

    yield open_in
    for page in opened:
        page.close()


def violations(page, mode: str) -> list[str]:
    page.evaluate(SIMPLIFY_FORMULAS)
    page.evaluate(AXE)
    options = {"resultTypes": ["violations"], "preload": False, **AXE_OPTIONS[mode]}
    report = page.evaluate("(options) => axe.run(document, options)", options)
    return [f"{v['id']}: {node['html'][:200]}" for v in report["violations"] for node in v["nodes"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PAGES)
def test_page_is_clean(html, open_page, name, mode):
    page = open_page(mode, html / name)
    page.wait_for_load_state("load")
    assert page.troubles == []
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(OUT_OF_REACH) == []
    assert page.locator(".katex-error").count() == 0
    assert page.evaluate(RAW_FORMULAS) == []
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if mode == "dark" else "light")
    assert violations(page, mode) == []


@pytest.mark.parametrize("name", [name for name in PAGES if name != "search.html"])
def test_page_reads_without_javascript(html, browser, name):
    context = browser.new_context(java_script_enabled=False, **MODES["desktop"])
    page = context.new_page()
    page.goto((html / name).as_uri())
    assert page.locator("article h1").first.is_visible()
    formulas = page.locator("article .katex-html >> visible=true")
    if formulas.count():
        box = formulas.first.bounding_box()
        assert box["width"] > 0
        assert box["height"] > 0
    context.close()


def test_front_door_leads_to_the_introduction(html, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((html / "index.html").as_uri())
    page.wait_for_url(f"**/{PAGES[0]}")
    context.close()


def test_search_finds_the_representer_theorem(html, open_page):
    page = open_page("desktop", html / "search.html", "?q=representer")
    results = page.locator("#search-results ul.search li a")
    results.first.wait_for()
    page.locator("#search-results.search-complete, #search-results p.search-summary").first.wait_for()
    assert page.troubles == []
    found = {link.get_attribute("href").split("#")[0].split("?")[0] for link in results.all()}
    assert any("representer" in (html / name).read_text(encoding="utf-8").lower() for name in found)


def test_search_opens_from_the_keyboard(html, open_page):
    page = open_page("desktop", html / PAGES[0])
    page.keyboard.press("Control+k")
    page.keyboard.type("kernel")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kernel*")


def test_table_of_contents_opens_on_a_phone(html, open_page):
    page = open_page("phone", html / PAGES[0])
    page.locator("button.primary-toggle >> visible=true").click()
    assert page.get_by_role("link", name="Bibliography").first.is_visible()


def test_colour_mode_can_be_chosen(html, open_page):
    page = open_page("desktop", html / PAGES[0])
    seen = set()
    for _ in range(3):
        page.locator("button.theme-switch-button >> visible=true").click()
        seen.add(page.evaluate("document.documentElement.dataset.mode"))
    assert seen == {"light", "dark", "auto"}, json.dumps(sorted(seen))
