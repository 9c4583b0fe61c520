"""How the pictures look: text that can be read, one colour per role."""

from __future__ import annotations

import importlib.util
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

from kernelcourse import plots

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
COLUMN, SMALLEST = 342, 10  # width of the text on a phone and height of a letter, in pixels
ROLES = plots.ROLE | {"validation": plots.ROLE["held out"], "test": plots.ROLE["held out"]}


# ---------------------------------------------------------------------------------------------- the saved pictures


@pytest.fixture(scope="module")
def drawings(html) -> dict[str, ElementTree.Element]:
    """The light-mode pictures by file name, with their words, which matplotlib writes as comments."""
    pages = [path.read_text(encoding="utf-8") for path in html.glob("book/**/*.html")]
    names = {name for page in pages for name in re.findall(r"_images/([\w-]+\.svg)", page) if "-dark" not in name}
    return {name: with_comments(html / "_images" / name) for name in sorted(names)}


def with_comments(path: Path) -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    return ElementTree.parse(path, parser).getroot()


def groups(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [group for group in element.iter(f"{SVG}g") if group.get("id", "").startswith(name)]


def words(text: ElementTree.Element) -> str:
    return " ".join(part.text.strip() for part in text.iter() if part.tag is ElementTree.Comment)


def role(text: ElementTree.Element) -> dict | None:
    """The style that belongs to a name: "hinge", "Gaussian, tuned"."""
    return ROLES.get(words(text).lower().split(",")[0])


def entries(legend: ElementTree.Element):
    """The colour of the line or mark beside each name in a legend."""
    colour = None
    for part in legend:
        if part.get("id", "").startswith("text"):
            yield part, colour
        for path in part.iter(f"{SVG}path"):
            if found := re.search(r"stroke: (#\w+)", path.get("style", "")):
                colour = found[1]


def colour_of(text: ElementTree.Element) -> str:
    return next((found[1] for part in text.iter() if (found := re.search(r"fill: (#\w+)", part.get("style", "")))), "")


def test_what_has_a_role_has_its_colour(drawings):
    """In a legend, check the line beside the name; elsewhere, the name itself, if it has the colour of a line."""
    lines, wrong, seen = {colour.lower() for colour in plots.SERIES}, [], set()
    for name, drawing in drawings.items():
        named = [entry for legend in groups(drawing, "legend") for entry in entries(legend)]
        inside = {id(text) for text, _ in named}
        named += [(text, colour_of(text)) for text in groups(drawing, "text") if id(text) not in inside]
        for text, colour in named:
            style = role(text)
            if style and colour and (colour in lines or id(text) in inside) and not words(text).lstrip("-+").isdigit():
                seen.add(words(text).lower().split(",")[0])
                if colour != to_hex(style["color"]):
                    wrong.append((name[:12], words(text), colour))
    assert wrong == []
    assert {"hinge", "squared", "logistic", "primal", "dual", "kernel", "training", "gaussian"} <= seen


def test_letters_can_be_read_on_a_phone(drawings):
    """Check the form for phones, which is the narrow one if it exists. Subscripts may be smaller."""
    small = {}
    for name, drawing in drawings.items():
        stem = name.removesuffix(".svg")
        if f"{stem[:16]}-narrow.svg" in drawings:
            continue
        width = float(drawing.get("width").removesuffix("pt")) * 96 / 72
        for text in groups(drawing, "text"):
            sizes = re.findall(r"scale\(([\d.]+) -", ElementTree.tostring(text, encoding="unicode"))
            pixels = max((100 * float(size) for size in sizes), default=99) * 96 / 72 * min(1, COLUMN / width)
            if pixels < SMALLEST:
                small[name[:16], words(text)] = round(pixels, 1)
    assert small == {}


# ---------------------------------------------------------------------------------------------- drawings on a phone


@pytest.fixture
def narrow():
    spec = importlib.util.spec_from_file_location("narrow", ROOT / "book/notebook/narrow.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.narrow
    plt.close("all")


def frames(ax):
    return [text.get_bbox_patch().get_window_extent() for text in ax.texts if text.get_bbox_patch()]


def test_a_drawing_keeps_its_letters_and_loses_room(narrow):
    boxes = {"a": (0, 0, "features"), "b": (3, 0, "kernel"), "c": (6, 0, "model"), "d": (3, 1.2)}
    ax = plots.block_diagram(boxes, [("a", "b"), ("b", "c", "solve"), ("d", "b")])
    sizes, height = [text.get_fontsize() for text in ax.texts], ax.figure.get_figheight()
    assert narrow(ax.figure)
    assert (ax.figure.get_figwidth(), ax.figure.get_figheight()) == (4.2, height)
    now = [text.get_fontsize() for text in ax.texts if text.get_text()]
    assert now == [max(size, 9.5) for text, size in zip(ax.texts, sizes, strict=True) if text.get_text()]
    inside = ax.figure.bbox
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in frames(ax))
    assert not any(a.overlaps(b) for a, b in combinations(frames(ax), 2))


def test_a_drawing_without_room_keeps_its_form(narrow):
    boxes = {str(i): (1.6 * i, 0, "a long name in a box") for i in range(4)}
    assert not narrow(plots.block_diagram(boxes, []).figure)


def test_a_row_of_many_small_pictures_becomes_two(narrow):
    fig, axes = plt.subplots(2, 6, figsize=(6.4, 2.8))
    for i, ax in enumerate(axes.flat):
        ax.set_title(str(i))
        ax.set_axis_off()
    assert narrow(fig)
    places = [ax.get_subplotspec() for ax in axes.flat]
    assert [(place.rowspan.start, place.colspan.start) for place in places] == [
        (r, c) for r in range(4) for c in range(3)
    ]


def test_a_panel_of_its_own_scale_does_not_get_the_name_of_its_neighbour(narrow):
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.8))
    left.plot([0, 1], [0, 5])
    right.barh(["one", "two"], [1, 2])
    left.set_ylabel("weight")
    assert narrow(fig)
    assert right.get_ylabel() == ""


def test_a_label_that_a_curve_would_cross_moves_aside(narrow):
    fig, ax = plt.subplots(figsize=(6.4, 3))
    ax.plot([0, 1], [0, 1])
    label = ax.annotate("a long label", (0.5, 0.45), xytext=(0, 0), textcoords="offset points")
    clear = ax.text(0.1, 0.9, "clear")
    inside = ax.text(0.5, 0.5, "1", ha="center", va="center")
    ax.plot(0.5, 0.5, "o", ms=20)
    assert narrow(fig)
    fig.draw_without_rendering()
    line = ax.transData.transform([(x / 500, x / 500) for x in range(501)])
    assert not any(label.get_window_extent().contains(*point) for point in line)
    assert max(abs(part) for part in label.get_position()) <= 24
    assert clear.get_position() == (0.1, 0.9)
    assert inside.get_position() == (0.5, 0.5), "a label on its mark stays"


def test_a_legend_that_a_curve_crosses_moves_below(narrow):
    fig, ax = plt.subplots(figsize=(6.4, 3))
    ax.plot([0, 1], [0, 1], label="f")
    ax.legend(loc="center", frameon=False)
    assert narrow(fig)
    assert ax.get_legend() is None
    assert len(fig.legends) == 1
