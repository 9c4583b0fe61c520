"""What the notebooks remember while they draw a figure does not change the figure."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

ROOT = Path(__file__).resolve().parents[2]


CHANGES = [
    {"text": "$5 and $6\nmore"}, {"ha": "right"}, {"va": "top"}, {"multialignment": "center"}, {"linespacing": 2.0},
    {"rotation": 30}, {"rotation_mode": "anchor"}, {"parse_math": False}, {"fontsize": 20}, {"fontweight": "bold"},
]  # fmt: skip


def layouts() -> list[str]:
    """How a text is laid out after each of several changes, on a canvas for pixels and for a file."""
    fig = Figure()
    text = fig.text(0.2, 0.5, "$x_1$ and\n$x_2$")
    found = []
    for change in [{}, *CHANGES]:
        text.set(**change)
        for dpi in (100, 150):
            fig.set_dpi(dpi)
            svg = RendererSVG(100, 100, io.StringIO(), image_dpi=dpi)
            for renderer in (RendererAgg(100, 100, dpi), svg):
                found.append(repr(text._get_layout(renderer)))
    return found


def drawings() -> list[str]:
    """A figure with axes of several kinds, drawn again after its limits, its ticks and its size have changed."""
    fig = Figure(figsize=(5.6, 3.5), layout="constrained")
    left, right = fig.subplots(1, 2)
    left.plot([0, 1], [0, 1], label="a line")
    left.set(title="a title", xlabel="$x_1$")
    right.semilogy(np.arange(1, 9), 10.0 ** np.arange(8))
    right.set_aspect(1, adjustable="datalim")
    inset = left.inset_axes([0.6, 0.1, 0.3, 0.3])
    found = []

    def draw() -> None:
        file = io.StringIO()
        fig.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        found.append(file.getvalue())

    draw()
    left.set_xlim(-2000, 3e7)
    inset.set_yticks([0.5], ["half"])
    found.append(str([label.get_text() for label in inset.get_yticklabels()]))
    fig.set_size_inches(3, 5)
    draw()
    return found


@pytest.mark.parametrize("results", [layouts, drawings])
def test_texts_and_ticks_that_are_remembered_are_drawn_the_same(results, monkeypatch):
    spec = importlib.util.spec_from_file_location("narrow", ROOT / "book/notebook/narrow.py")
    narrow = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(narrow)
    with mpl.rc_context({"svg.hashsalt": "test", "svg.fonttype": "path"}):
        expected = results()
        for owner, name in ((Text, "_get_layout"), (Axis, "_update_ticks"), (Axes, "draw"), (Axes, "get_tightbbox")):
            monkeypatch.setattr(owner, name, getattr(owner, name))  # put back after the test
        narrow.remember_texts()
        narrow.remember_ticks()
        assert results() == expected
