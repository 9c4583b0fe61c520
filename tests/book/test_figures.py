"""The figures in the built book: their colours, and their forms for phones and for dark mode."""

from __future__ import annotations

import base64
import importlib.util
import io
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap, to_hex, to_rgb
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.mathtext import MathTextParser
from PIL import Image

from kernelcourse import plots

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
COLUMN = 342  # width of the text in pixels on a phone 390 pixels wide; the last test measures it
SMALLEST = 10  # height of a letter in pixels


def load(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dark, narrow = load("book/_ext/coursebook/dark.py"), load("book/notebook/narrow.py")


def contrast(a, b, opacity: float = 1.0) -> float:
    """WCAG's contrast of a colour against a background."""

    def luminance(rgb):
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722] + 0.05

    a, b = np.array(to_rgb(a)), np.array(to_rgb(b))
    lights = sorted([luminance(opacity * a + (1 - opacity) * b), luminance(b)])
    return lights[1] / lights[0]


class Pictures(HTMLParser):
    """The addresses of each picture on a page, for a phone and for a desktop."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self.feed("".join(re.findall(r"<(?:picture|source|img)\b[^>]*>", path.read_text(encoding="utf-8"))))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "picture":
            self.found.append({})
        elif tag == "source":
            self.found[-1]["phone"] = values["srcset"]
        elif tag == "img" and self.found and "desk" not in self.found[-1]:
            self.found[-1] |= {"desk": values["src"], "mode": values["class"], "width": values["width"]}


@pytest.fixture(scope="module")
def pictures(html) -> list[tuple[Path, dict[str, str]]]:
    found = [(page, p) for page in sorted(html.glob("book/**/*.html")) for p in Pictures(page).found]
    assert len(found) > 100
    return found


@pytest.fixture(scope="module")
def drawings(pictures) -> dict[str, ElementTree.Element]:
    """Every form of every figure, by file name."""
    files = {(page.parent / p[form]).resolve() for page, p in pictures for form in ("phone", "desk") if form in p}
    return {file.name: ElementTree.parse(file).getroot() for file in sorted(files)}


def test_figures_come_in_pairs_for_the_light_and_for_the_dark(pictures):
    assert [p["mode"] for _, p in pictures] == ["only-light", "only-dark"] * (len(pictures) // 2)
    for (_, light), (_, night) in zip(pictures[::2], pictures[1::2], strict=True):
        assert night["desk"].replace("-dark.svg", "") in light["desk"]
        assert night.get("phone", "").replace("-dark.svg", ".svg") == light.get("phone", "")


def groups(element: ElementTree.Element, names: str):
    return [group for group in element.iter(f"{SVG}g") if re.match(names, group.get("id", ""))]


def lines(drawing: ElementTree.Element):
    """The colour and opacity of every line that shows data, without ticks, grids, frames and hatching."""
    around = {id(part) for group in groups(drawing, "matplotlib.axis|xtick|ytick") for part in group.iter()}
    for group in groups(drawing, "line2d|LineCollection|QuadContourSet"):
        for path in group.iter(f"{SVG}path"):
            style = dict(re.findall(r"([\w-]+): ([^;]+)", path.get("style", "")))
            if id(path) not in around and style.get("stroke", "none") != "none" and style.get("fill", "none") == "none":
                yield style["stroke"], float(style.get("stroke-opacity", 1)) * float(style.get("opacity", 1))


def test_lines_have_the_known_colours_and_can_be_seen(drawings):
    known = {colour.lower() for colour in plots.SERIES}
    wrong, seen = [], set()
    for name, drawing in drawings.items():
        if "dark" not in name:
            for colour, opacity in lines(drawing):
                seen.add(colour)
                grey = len(set(to_rgb(colour))) == 1
                if (
                    opacity
                    and colour != "#ffffff"
                    and ((colour not in known and not grey) or contrast(colour, "white", opacity) < 3)
                ):
                    wrong.append((name[:12], colour, opacity))
    assert wrong == []
    assert known <= seen


def test_tick_labels_can_be_read_on_a_phone(pictures, drawings):
    small, ticks = {}, 0
    for _, picture in pictures:
        name = Path(picture.get("phone", picture["desk"])).name
        drawing = drawings[name]
        width = float(drawing.get("width").removesuffix("pt")) * 96 / 72
        for tick in groups(drawing, "[xy]tick_"):
            for scale in re.findall(r"scale\(([\d.]+) -", ElementTree.tostring(tick, encoding="unicode")):
                ticks += 1
                pixels = 100 * float(scale) * 96 / 72 * min(1, COLUMN / width)  # a 1-point letter is 100 units high
                if pixels < SMALLEST:
                    small[name] = round(pixels, 1)
    assert ticks > 1000
    assert small == {}


def test_dark_forms_have_the_page_behind_them(drawings):
    for name, drawing in drawings.items():
        if "dark" in name:
            (ground,) = groups(drawing, "patch_1$")[:1]
            assert dark.GROUND in ground[0].get("style"), name
            assert contrast(drawing.get("fill"), dark.GROUND) > 10, "letters"


@pytest.mark.parametrize("colour", [*plots.SERIES, "#000000", to_hex(plots.GUIDE)])
def test_a_line_can_be_seen_in_the_light_and_in_the_dark(colour):
    assert contrast(colour, "white") >= 3
    assert contrast(dark.shade(colour.lower()), dark.GROUND) >= 3


def test_no_two_lines_become_one_in_the_dark():
    shades = [dark.shade(colour.lower()) for colour in plots.PALETTE.values()]
    assert len(set(shades)) == len(shades)


def test_figures_to_drag_have_the_colours_of_the_others():
    sheet = (ROOT / "book/_static/lab/lab.css").read_text(encoding="utf-8")
    light, night = (dict(re.findall(r"--lab-(\w+): (#\w+);", block)) for block in sheet.split("}")[:2])
    for name, role in {"minus": "-1", "plus": "+1"}.items():
        assert light[name] == plots.ROLE[role]["color"].lower()
        assert night[name] == dark.shade(light[name])


def test_a_map_keeps_its_colours_in_the_dark(tmp_path):
    fig, (left, right) = plt.subplots(1, 2)
    left.imshow([[0.0, 1.0]], cmap="Blues")
    left.text(0.5, 0, "on the map", color="black")
    left.set_title("above")
    right.plot([0, 1], color=plots.PALETTE["blue"])
    fig.savefig(tmp_path / "a.svg")
    plt.close(fig)
    before = (tmp_path / "a.svg").read_text()
    after = dark.darkened(before)
    (image,) = re.findall(r'href="(data:[^"]*)"', before)
    assert "".join(image.split()) in "".join(after.split())
    assert f'opacity="{dark.DIMMED}"' in after and "#ffffff" not in after, "white would glare"
    assert "#0072b2" not in after
    assert dark.SHADES["#0072b2"] in after
    kept = [g.get("id", "") for g in ElementTree.fromstring(after).iter(f"{SVG}g") if g.get("fill") == "#000000"]
    assert sum(name.startswith("text") for name in kept) == 1, "only the text on the map is kept, not its title"


def test_an_area_of_one_colour_is_not_a_map(tmp_path):
    fig, ax = plt.subplots()
    ax.imshow(np.ma.masked_equal([[1, 1, 0]], 0), cmap=ListedColormap([plots.PALETTE["vermillion"]]))
    ax.set_facecolor("#e3eff7")
    fig.savefig(tmp_path / "a.svg")
    plt.close(fig)
    after = dark.darkened((tmp_path / "a.svg").read_text())
    assert "#e3eff7" not in after
    (image,) = re.findall(r'base64,([^"]*)"', "".join(after.split()))
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(image))).convert("RGBA"))
    (colour,) = np.unique(pixels[pixels[..., 3] == 255][:, :3], axis=0)
    assert "#" + bytes(colour.tolist()).hex() == dark.SHADES["#d55e00"]


def test_a_colour_bar_goes_with_its_map_and_an_arrow_to_it_can_be_seen(tmp_path):
    fig, (_, right) = plt.subplots(1, 2)
    image = right.imshow([[0.0, 0.5, 1.0]], cmap="Blues", alpha=0.7)
    right.imshow([[0.0, 1.0]], cmap="Blues")
    fig.colorbar(image, ax=right)
    right.annotate("", (0, 0.5), (-1, 0.5), xycoords="axes fraction", arrowprops={"arrowstyle": "-|>"})
    fig.savefig(tmp_path / "a.svg")
    plt.close(fig)
    before = (tmp_path / "a.svg").read_text()
    after = dark.darkened(before)
    images = [re.findall(r'href="(data:[^"]*)"', "".join(text.split())) for text in (before, after)]
    assert images[0] == images[1] and len(images[0]) == 2
    assert "stroke: #000000" in before and "stroke: #000000" not in after


# --- narrow forms


@pytest.fixture
def shape():
    """The rows and columns in which a figure's panels are arranged."""

    def of(figure):
        places = [ax.get_subplotspec() for ax in figure.axes]
        return {(place.rowspan.start, place.colspan.start) for place in places}

    yield of
    plt.close("all")


def test_panels_in_a_row_are_stacked(shape):
    fig, axes = plt.subplots(1, 3, figsize=(6.9, 2.8), sharey=True, layout="constrained")
    for ax in axes:
        ax.plot([0, 1, 5])
    axes[0].set_ylabel("error")
    assert narrow.narrow(fig)
    assert shape(fig) == {(0, 0), (1, 0), (2, 0)}
    assert fig.get_figwidth() == narrow.WIDTH
    assert [ax.get_ylabel() for ax in axes] == ["error"] * 3
    assert all(ax.yaxis.get_tick_params()["labelleft"] for ax in axes)


def test_square_panels_stand_in_pairs(shape):
    fig, axes = plt.subplots(1, 3, figsize=(6.9, 2.8), layout="constrained")
    for ax in axes:
        ax.set_aspect("equal")
    assert narrow.narrow(fig)
    assert shape(fig) == {(0, 0), (0, 1), (1, 0)}


def test_what_stood_in_a_column_stands_in_a_row(shape):
    fig, axes = plt.subplots(2, 3, figsize=(6.8, 4.2), sharex=True, layout="constrained")
    axes[1, 2].set_xlabel("x")
    assert narrow.narrow(fig)
    assert shape(fig) == {(row, column) for row in range(3) for column in range(2)}
    assert axes[0, 2].get_subplotspec().rowspan.start == axes[1, 2].get_subplotspec().rowspan.start == 2
    assert axes[0, 2].get_xlabel() == "x"


def test_a_legend_beside_its_panel_goes_below(shape):
    fig, ax = plt.subplots(figsize=(5.6, 3.5), layout="constrained")
    ax.plot([0, 1], label="a line with a long name")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    assert narrow.narrow(fig)
    fig.draw_without_rendering()
    assert ax.get_legend() is None
    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a line with a long name"]
    assert legend.get_window_extent().y1 < ax.bbox.y0


def test_labels_that_would_touch_are_thinned_out(shape):
    fig, ax = plt.subplots(figsize=(6.9, 3), layout="constrained")
    ax.plot([0, 10], [0, 1])
    ax.set_xticks(range(11), [f"{n}00 000" for n in range(11)])
    assert narrow.narrow(fig)
    fig.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) >= 3
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))
    assert ax.get_xticklabels()[1].get_text() == f"{round(ax.get_xticks()[1])}00 000"


def test_a_colour_bar_has_numbers_too(shape):
    ax = plots.gram_heatmap(np.eye(20))
    assert narrow.narrow(ax.figure)
    assert ax.figure.get_figwidth() == narrow.WIDTH


def test_drawings_and_narrow_figures_have_one_form(shape):
    drawing, ax = plt.subplots(figsize=(6.9, 3))
    ax.axis("off")
    assert not narrow.narrow(drawing)
    small, ax = plt.subplots(figsize=(4, 3))
    ax.plot([0, 1])
    assert not narrow.narrow(small)


def test_a_formula_is_parsed_once_for_all_canvases(monkeypatch):
    before = MathTextParser("path").parse("$x^2$")
    monkeypatch.setattr(MathTextParser, "_parse_cached", MathTextParser._parse_cached)
    narrow.remember_formulas()
    first, again = (MathTextParser("path").parse("$x^2$") for _ in range(2))
    assert first is again
    assert first[:3] == before[:3], "width, height and depth"
    assert MathTextParser("path").parse("$x^3$") is not first
    assert MathTextParser("agg").parse("$x^2$") is not first


def test_a_font_is_found_once(monkeypatch):
    monkeypatch.setattr(fontManager, "_find_fonts_by_props", fontManager._find_fonts_by_props)
    plain, bold = (fontManager._find_fonts_by_props(FontProperties(weight=weight)) for weight in ("normal", "bold"))
    narrow.remember_fonts()
    first, again = (fontManager._find_fonts_by_props(FontProperties(weight="normal")) for _ in range(2))
    assert first is again
    assert first == plain
    assert fontManager._find_fonts_by_props(FontProperties(weight="bold")) == bold != plain


# --- in a browser


@pytest.fixture
def page(html, new_window):
    """Opened anew for each test: what is fetched and seen depends on the widths and colours that it had before."""
    window = new_window(viewport={"width": 1400, "height": 900})
    page = window.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(Path(request.url).name))
    page.goto((html / "book/choosing/leave-one-out.html").as_uri())
    yield page
    window.close()


def wait_for_form(page, form: str) -> None:
    """Wait until the first figure is shown in this form: a browser may take a while to switch files."""
    image = page.locator("picture.figure img >> visible=true").first
    image.scroll_into_view_if_needed()
    there = """([image, form]) => image.complete && image.naturalWidth > 0
      && RegExp(`/[0-9a-f]+${form}\\\\.svg$`).test(image.currentSrc)"""
    page.wait_for_function(there, arg=[image.element_handle(), form])


def test_only_the_form_that_is_seen_is_fetched(page):
    wait_for_form(page, "")
    assert not any("dark" in name or "narrow" in name for name in page.asked)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    wait_for_form(page, "-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    wait_for_form(page, "-narrow-dark")
    assert page.locator("picture.figure img >> visible=true").first.bounding_box()["width"] >= COLUMN
    page.emulate_media(media="print")
    wait_for_form(page, "(-narrow)?")


def test_the_code_of_a_figure_is_a_link_below_its_caption(page):
    cell = page.locator("div.cell:has(> details.below-figure):has(figcaption)").first
    caption, link = cell.locator("figcaption").bounding_box(), cell.locator("summary")
    assert caption["y"] + caption["height"] <= link.bounding_box()["y"]
    assert link.inner_text().strip() == "Code"
    assert not cell.locator("pre").is_visible()
    link.click()
    cell.locator("pre").first.wait_for(state="visible")


def test_what_scrolls_fades_out_where_there_is_more(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".formula > .scroll.more-after")
    box = page.locator(".formula > .scroll.more-after").first.element_handle()
    at_its_end = """(box) => {
      box.scrollTo({ left: box.scrollWidth, behavior: "instant" });
      return box.matches(".more-before:not(.more-after)");
    }"""
    page.wait_for_function(at_its_end, arg=box)


def test_back_to_the_top_can_be_read_and_covers_no_text(page):
    page.set_viewport_size({"width": 390, "height": 844})
    button = page.locator("#pst-back-to-top")
    scroll = "(place) => { scrollTo({ top: place, behavior: 'instant' }); return new Promise(requestAnimationFrame) }"
    for place in [4000, 3000] * 40:  # the theme shows the button to readers who scroll back
        page.evaluate(scroll, place)
        if button.is_visible():
            break
    colours = button.evaluate("(box) => [getComputedStyle(box).color, getComputedStyle(box).backgroundColor]")
    ink, ground = (np.array(re.findall(r"\d+", colour)[:3], float) / 255 for colour in colours)
    assert contrast(ink, ground) >= 4.5
    bar, box = page.locator(".bd-header-article").bounding_box(), button.bounding_box()
    assert bar["y"] <= box["y"]
    assert box["y"] + box["height"] <= bar["y"] + bar["height"]
    others = page.locator(".bd-header-article :is(a, button) >> visible=true").all()
    for other in (one.bounding_box() for one in others):
        assert other["x"] + other["width"] <= box["x"] or box["x"] + box["width"] <= other["x"]
