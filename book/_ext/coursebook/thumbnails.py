"""A small picture of each data set, drawn when the book is built and kept until the library changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.config import Config

FOLDER = "_build/reference"
TABLE = "book/appendix/api/data"
BLUE, VERMILLION, COLOURS = "#0072B2", "#D55E00", ["#0072B2", "#D55E00", "#007A5A", "#A8487D", "#8A6100"]


def curve(ax: Any, data: Any) -> None:
    """Points on a line with targets; a long series as a line."""
    x, t = data.X[:, 0], data.t
    ax.plot(x, t, "-" if len(x) > 150 else ".", color=BLUE, markersize=3, linewidth=0.7)


def plane(ax: Any, data: Any) -> None:
    """The first two columns, one colour and mark per class."""
    for i, label in enumerate(sorted(set(data.y.tolist()))):
        X = data.X[data.y == label]
        ax.plot(X[:, 0], X[:, 1], "os^Dv"[i % 5], color=COLOURS[i % 5], markersize=2)


def pixels(ax: Any, data: Any) -> None:
    """The first eight digits, in two rows."""
    import numpy as np

    tiles = data.X[:8].reshape(2, 4, 8, 8)
    ax.imshow(np.block([[tile for tile in row] for row in tiles]), cmap="gray_r")


def graph(ax: Any, graph: Any) -> None:
    """The nodes of a graph on a circle, and its edges."""
    import numpy as np

    A = np.asarray(graph.adjacency)
    angles = 2 * np.pi * np.arange(len(A)) / len(A)
    x, y = np.cos(angles), np.sin(angles)
    for i, j in zip(*np.nonzero(np.triu(A)), strict=True):
        ax.plot(x[[i, j]], y[[i, j]], color="#555555", linewidth=0.8)
    ax.plot(x, y, "o", color=BLUE, markersize=4)
    ax.set_aspect("equal")


def objects(data: Any) -> list[Any]:
    """The objects of a data set, whatever the name of their field is."""
    return next(getattr(data, name) for name in ("X", "graphs", "documents", "sequences") if hasattr(data, name))


def first_graph(ax: Any, data: Any) -> None:
    graph(ax, objects(data)[0])


def opening(text: str, length: int) -> str:
    """The first words of a text, or the first letters of a sequence.

    >>> opening("a bright star", 9), opening("ACGUACGU", 5), opening("ACGU", 5)
    ('a bright…', 'ACGU…', 'ACGU')
    """
    if len(text) <= length:
        return text
    words = text[:length].rpartition(" ")[0]
    return (words or text[: length - 1]) + "…"


def letters(ax: Any, data: Any) -> None:
    """The first letters of five objects."""
    for i, text in enumerate(objects(data)[:5]):
        ax.text(0.02, 0.86 - 0.19 * i, opening(text, 24), family="DejaVu Sans Mono", fontsize=6, transform=ax.transAxes)


def members(ax: Any, data: Any) -> None:
    """A square for every element of a set, one set per row."""
    elements = sorted(set().union(*data.X))
    for i, group in enumerate(data.X):
        held = [elements.index(element) for element in group]
        ax.plot(held, [-i] * len(held), "s", color=BLUE, markersize=2.5)


class Picture(NamedTuple):
    make: Callable[[Any], Any]  # the data, from the library's function
    draw: Callable[[Any, Any], None]
    alt: str


DATA = {
    "noisy_sinc": Picture(lambda f: f(80, rng=0), curve, "Dots along a wave that is tall in the middle."),
    "noisy_polynomial": Picture(lambda f: f(60, rng=0), curve, "Dots along a curve with one hump and one dip."),
    "trend_and_wiggle": Picture(lambda f: f(120, rng=0), curve, "Dots along a rising line that wiggles in the middle."),
    "two_moons": Picture(lambda f: f(120, rng=0), plane, "Two classes as two interleaving crescents."),
    "rings": Picture(lambda f: f(120, rng=0), plane, "Two classes as a ring and a larger ring around it."),
    "xor": Picture(lambda f: f(120, rng=0), plane, "Two classes in opposite corners of a square."),
    "checkerboard": Picture(lambda f: f(300, rng=0), plane, "Two classes in the squares of a chessboard."),
    "gaussian_mixture": Picture(lambda f: f(150, rng=0), plane, "Two classes as clouds that overlap."),
    "small_graphs": Picture(lambda f: f(4, rng=0), first_graph, "A small graph with its nodes on a circle."),
    "small_texts": Picture(lambda f: f(), letters, "The first words of five short texts."),
    "p450_chimeras": Picture(lambda f: f(5, rng=0), letters, "Five sequences of eight digits each."),
    "load_co2": Picture(lambda f: f(), curve, "A line that rises with a yearly wave."),
    "load_sunspots": Picture(lambda f: f(), curve, "A line with a peak about every eleven years."),
    "load_penguins": Picture(lambda f: f(), plane, "Three classes of points in the plane of two measurements."),
    "load_digits": Picture(lambda f: f(), pixels, "Eight handwritten digits of eight by eight pixels."),
    "load_splice_sites": Picture(lambda f: f(), letters, "Five rows of the letters A, C, G and U."),
    "load_scipy_summaries": Picture(lambda f: f(), letters, "The first words of five summaries."),
    "load_southern_women": Picture(lambda f: f(), members, "A grid of squares: which woman attended which event."),
    "load_mutag": Picture(lambda f: f(), first_graph, "A molecule as a graph with its atoms on a circle."),
}


def file_of(name: str) -> str:
    return f"{FOLDER}/{name}.png"


def draw(function: Any, target: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    picture = DATA[function.__name__]
    with mpl.rc_context({"savefig.facecolor": "white"}):
        figure = Figure(figsize=(1.6, 1.1), dpi=200, layout="none")
        ax = figure.add_axes((0.03, 0.03, 0.94, 0.94))
        ax.set_axis_off()
        picture.draw(ax, picture.make(function))
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, metadata={"Software": None})


def draw_all(app: Sphinx, config: Config) -> None:
    """Draw what is missing or older than the library's data sets, if the table of data sets is built."""
    if TABLE not in config.external_site_map:
        return
    import kernelcourse.datasets as datasets

    folder = Path(datasets.__file__).parent
    changed = max(path.stat().st_mtime for path in [Path(__file__), *folder.glob("*.py"), *folder.glob("../data/*")])
    for name in DATA:
        target = Path(app.srcdir, file_of(name))
        if hasattr(datasets, name) and (not target.exists() or target.stat().st_mtime < changed):
            draw(getattr(datasets, name), target)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", draw_all, priority=900)  # after the table of contents is read
