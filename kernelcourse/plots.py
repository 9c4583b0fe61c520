"""The course's figures. Each function draws on `ax`, or on a new figure, and returns the axes.

The colours are Okabe and Ito's, which colour-blind readers can tell apart, darkened where their lines would fade on
white. Every colour comes with its own marker, dash pattern or hatching, so that no figure relies on colour alone.
Whatever recurs from page to page (a class, a loss, the dual form) has one style everywhere: `ROLE`. Where colours
stand for numbers, darker means larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from . import validation
from .validation import Array

__all__ = ["block_diagram", "decision_regions", "gram_heatmap", "loglog_times", "name_lines", "slope"]

Function = Callable[[Array], ArrayLike]
Style = dict[str, Any]

PALETTE = {
    "blue": "#0072B2", "vermillion": "#D55E00", "green": "#007A5A", "purple": "#A8487D", "brown": "#8A6100",
    "grey": "#5C6670", "orange": "#E69F00", "sky": "#56B4E9", "black": "#000000",
}  # fmt: skip
SERIES = tuple(PALETTE.values())[:6]  # orange and sky are too light for lines, black is kept for boundaries and sums
GUIDE = "0.55"  # a light grey with a contrast of more than 3:1 on white, for lines at zero
MARKERS = ("o", "s", "^", "D", "v", "P")
ON_AND_OFF = ((6, 2), (1.5, 1.5), (6, 2, 1.5, 2), (3, 1), (6, 1.5, 1.5, 1.5, 1.5, 1.5))
DASHES: tuple[Any, ...] = ("-", *((0, lengths) for lengths in ON_AND_OFF))
HATCHES = ("", "///", "---", "\\\\\\", "xxx", "...")  # dots come last because they make the file large


def _role(colour: str, dashes: int = 0, marker: str = "") -> Style:
    return {"color": PALETTE[colour], "linestyle": DASHES[dashes]} | ({"marker": marker} if marker else {})


ROLE: dict[str, Style] = {
    # classes
    "-1": {"color": PALETTE["blue"], "marker": "o"},
    "+1": {"color": PALETTE["vermillion"], "marker": "s"},
    # ways to compute
    "primal": _role("blue"),
    "dual": _role("vermillion", 1),
    "kernel": _role("green", 3),
    # the truth, what was observed, what is to be predicted
    "truth": {"color": "black", "linewidth": 1.0, "linestyle": "-"},
    "training": _role("blue", 0, "o"),
    "held out": _role("vermillion", 1, "s"),
    # losses
    "zero-one": _role("black", 2),
    "hinge": _role("blue"),
    "perceptron": _role("purple", 4),
    "logistic": _role("green", 3),
    "squared": _role("vermillion", 1),
    "squared hinge": _role("brown", 5),
    "absolute": _role("grey", 2),
    # families of kernels
    "linear": _role("brown", 5),
    "polynomial": _role("vermillion", 1),
    "gaussian": _role("blue"),
    "laplacian": _role("green", 3),
    "matern": _role("purple", 4),
    "rational quadratic": _role("grey", 2),
    "sum": _role("green", 1),
}

BOUNDARY: Style = {"color": "black", "linewidth": 1.5, "linestyle": "-"}
MARGIN: Style = {"color": "black", "linewidth": 0.9, "linestyle": DASHES[1]}
BAYES: Style = {"color": PALETTE["purple"], "linewidth": 1.8, "linestyle": DASHES[3]}
SUPPORT: Style = {"color": "black", "marker": "o", "markersize": 9.5, "markeredgewidth": 0.7, "fillstyle": "none"}


def _axes(ax: Axes | None, *, x: str, y: str, size: tuple[float, float] = (5.6, 3.6)) -> Axes:
    """The given axes or new ones, labelled, with thin spines only on the left and at the bottom."""
    if ax is None:
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a single matplotlib Axes, got {type(ax).__name__}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_linewidth(0.6)
    ax.tick_params(width=0.6, labelsize="small")
    ax.set(xlabel=x, ylabel=y)
    return ax


def _with_legend(ax: Axes, **options: Any) -> Axes:
    ax.legend(fontsize="small", framealpha=0.85, edgecolor="none", **options)
    return ax


def _series(i: int, name: str = "") -> Style:
    """Colour and dashes of line i: no two of the first 36 lines share both.

    A line named after a role has that role's style, and "primal, batch" has the colour of "primal".
    """
    style = {"color": SERIES[i % 6], "linestyle": DASHES[(i + i // 6) % 6]}
    role = ROLE.get(name.split(",")[0], {})
    return style | {"color": role.get("color", style["color"])} | ROLE.get(name, {})


def _positive(x: ArrayLike, name: str, *, length: int | None = None) -> Array:
    array = validation.on_a_line(x, name, length=length)
    if not (array > 0).all():
        raise ValueError(f"{name} must be positive for a logarithmic axis, got {array.min():g}")
    return array


def _named(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a dictionary with names as keys, got {type(values).__name__}")
    return values


def _around(x: Array, *, margin: float) -> tuple[float, float]:
    """An interval that contains x, with a margin on both sides that is a fraction of its span."""
    span = float(np.ptp(x)) or 1.0
    return float(x.min()) - margin * span, float(x.max()) + margin * span


def _lighter(colour: str, amount: float) -> tuple[float, ...]:
    return tuple(1 - (1 - np.array(to_rgb(colour))) * amount)


def _in_parts(function: Function, Z: Array, name: str) -> NDArray[Any]:
    # In one piece, a grid of 200 x 200 points against 1000 training points would be a kernel matrix of 320 MB.
    parts = np.array_split(Z, -(-len(Z) // 4000))
    values = np.concatenate([np.atleast_1d(function(part)) for part in parts])
    validation.same_length(values, name, len(Z))
    return values


def _scores(model: Any, Z: Array, classes: NDArray[Any]) -> Array:
    """The decision function at Z, (m,) or (m, number of classes); without one, 1 for the predicted class, else 0."""
    predict = getattr(model, "predict", None)
    decide = getattr(model, "decision_function", model if callable(model) and predict is None else None)
    if decide is not None:
        f = validation.numeric(_in_parts(decide, Z, "the decision function"), "the decision function")
        if f.shape in ((len(Z),), (len(Z), 1)) and len(classes) == 2:
            return f.ravel()
        if f.shape == (len(Z), len(classes)):
            return f
        if predict is None:
            raise ValueError(f"the decision function of {len(Z)} points in {len(classes)} classes has shape {f.shape}")
    if predict is None:
        raise TypeError(f"model must have decision_function or predict, or be a function of X, got {model!r}")
    return (_in_parts(predict, Z, "model.predict(X)").reshape(-1, 1) == classes).astype(float)


def _contour(ax: Axes, grid: tuple[Array, Array], f: Array, levels: Iterable[float], style: Style) -> None:
    f = f.reshape(len(grid[1]), len(grid[0]))
    within = [level for level in levels if f.min() < level < f.max()]  # matplotlib warns about all others
    if within:
        each = {"colors": style["color"], "linewidths": style["linewidth"], "linestyles": [style["linestyle"]]}
        ax.contour(*grid, f, levels=within, **each)


def decision_regions(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    margins: bool = True,
    bayes: Function | None = None,
    resolution: int = 200,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the regions in which a classifier predicts each label, for points in the plane (S13).

    `model` has a `decision_function`, or else `predict`, or is itself a function $f$ of points. With two classes, the
    boundary is $f = 0$, and `margins` adds $f = \pm1$ dashed where there is such an $f$. `bayes`, a function of points
    that is 0 on the Bayes boundary, draws that boundary.

    >>> X, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([-1, 1])
    >>> ax = decision_regions(lambda Z: 2 * Z.sum(axis=1) - 2, X, y)
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('$x_1$', ['y = -1', 'y = 1', 'boundary', 'margin'])
    """
    X, y = validation.points(X, columns=2), np.asarray(y)
    if y.dtype.kind == "f" or y.ndim != 1:
        y = validation.vector(y, "y")
    validation.same_length(y, "y", len(X))
    classes = np.asarray(getattr(model, "classes_", np.unique(y)))
    if not 2 <= len(classes) <= len(SERIES):
        raise ValueError(f"y must have 2 to {len(SERIES)} classes to be drawn, got {len(classes)}: {classes[:8]}")
    if not np.isin(y, classes).all():
        raise ValueError(f"y holds {y[~np.isin(y, classes)][0]!r}, which is not among the model's classes {classes}")
    resolution = validation.whole(resolution, "resolution", at_least=2)

    across, up = (np.linspace(*_around(x, margin=0.12), resolution) for x in X.T)
    Z = np.column_stack([coordinate.ravel() for coordinate in np.meshgrid(across, up)])
    f = _scores(model, Z, classes)
    scores = np.column_stack([-f / 2, f / 2]) if f.ndim == 1 else f  # (m, classes), the largest wins
    odds = None if bayes is None else validation.on_a_line(_in_parts(bayes, Z, "bayes(X)"), "bayes(X)")

    ax = _axes(ax, x="$x_1$", y="$x_2$", size=(5.6, 4.2))
    handles: list[Line2D] = []
    for c, label in enumerate(classes):
        lead = scores[:, c] - np.delete(scores, c, axis=1).max(axis=1)
        if lead.max() > 0:
            fill: Style = {"colors": [_lighter(SERIES[c], 0.15)], "hatches": [HATCHES[c]]}
            region = ax.contourf(across, up, lead.reshape(resolution, resolution), levels=[0, lead.max()], **fill)
            region.set(edgecolor=_lighter(SERIES[c], 0.35), linewidth=0)
        if c > 0:  # no border lies between the first class and itself
            _contour(ax, (across, up), lead, [0], BOUNDARY)
        dots: Style = {"color": SERIES[c], "marker": MARKERS[c], "markeredgecolor": "white", "markeredgewidth": 0.6}
        handles += ax.plot(*X[y == label].T, linestyle="", markersize=5.5, zorder=3, label=f"y = {label}", **dots)
    handles.append(Line2D([], [], label="boundary", **BOUNDARY))
    if margins and f.ndim == 1:
        _contour(ax, (across, up), f, [-1, 1], MARGIN)
        handles.append(Line2D([], [], label="margin", **MARGIN))
    if odds is not None:
        _contour(ax, (across, up), odds, [0], BAYES)
        handles.append(Line2D([], [], label="Bayes boundary", **BAYES))
    return _with_legend(ax, handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0)) if legend else ax


def gram_heatmap(
    K: ArrayLike, *, order: ArrayLike | None = None, colorbar: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw a Gram matrix in colours. If `order` sorts the points by class, the classes stand out as blocks (K4).

    White is 0, and darker blue is larger; negative entries darken towards red.

    >>> ax = gram_heatmap([[2.0, 0.5], [0.5, 1.0]], order=[1, 0])
    >>> ax.images[0].get_array().tolist()
    [[1.0, 0.5], [0.5, 2.0]]
    """
    K = validation.square(K)
    n = len(K)
    chosen = np.arange(n) if order is None else np.asarray(order)
    if chosen.dtype.kind not in "iu" or not np.array_equal(np.sort(chosen), np.arange(n)):
        raise ValueError(f"order must hold each of 0, ..., {n - 1} once, got {order!r}")
    largest = float(np.abs(K).max()) or 1.0
    low, colours = (-largest, "RdBu") if (K < 0).any() else (0.0, "Blues")
    ax = _axes(ax, x="point $j$", y="point $i$", size=(4.6, 3.8))
    image = ax.imshow(K[np.ix_(chosen, chosen)], interpolation="nearest", cmap=colours, vmin=low, vmax=largest)
    ax.spines[:].set_visible(False)
    shown = range(n if n <= 12 else 0)
    ax.set_xticks(shown, [str(chosen[i]) for i in shown])
    ax.set_yticks(shown, [str(chosen[i]) for i in shown])
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, label="$K_{ij}$")
        bar.outline.set_visible(False)
        bar.ax.tick_params(width=0.6, labelsize="small")
    return ax


def slope(n: ArrayLike, seconds: ArrayLike) -> float:
    r"""The exponent $p$ of the power law $\text{seconds} = c\, n^p$, by least squares on the logarithms.

    >>> round(slope([10, 100, 1000], [3e-6, 3e-4, 3e-2]), 6)
    2.0
    """
    n = _positive(n, "n")
    seconds = _positive(seconds, "seconds", length=len(n))
    if len(np.unique(n)) < 2:
        raise ValueError(f"n must hold at least two different sizes, got {np.unique(n)}")
    return float(np.polynomial.polynomial.polyfit(np.log(n), np.log(seconds), 1)[1])


def loglog_times(n: ArrayLike, seconds: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw running times against sizes, both on logarithmic axes, with each method's slope in the legend (S5, S8).

    >>> ax = loglog_times([10, 100], {"dual": [1e-3, 1.0]})
    >>> ax.get_legend().get_texts()[0].get_text()
    'dual, slope 3.0'
    """
    n, given = _positive(n, "n"), _named(seconds, "seconds")
    times = {name: _positive(values, f"seconds[{name!r}]", length=len(n)) for name, values in given.items()}
    exponents = {name: slope(n, values) for name, values in times.items()}
    ax = _axes(ax, x="$n$", y="seconds")
    for i, (name, exponent) in enumerate(exponents.items()):
        style = _series(i, name) | {"marker": MARKERS[i % 6], "markersize": 5}
        ax.loglog(n, times[name], label=f"{name}, slope {exponent:.1f}", **style)
    ax.grid(which="major", color="0.9", linewidth=0.5)
    return _with_legend(ax)


def block_diagram(
    boxes: Mapping[str, tuple[Any, ...]], arrows: Iterable[tuple[str, ...]], *, ax: Axes | None = None
) -> Axes:
    """Draw boxes joined by arrows: block diagrams (B1) and computational graphs (H7, H8).

    `boxes` maps a name to the centre of its box, (x, y), or to (x, y, text) if the text differs from the name.
    An arrow is a pair of names, or a triple whose third entry is written beside it. One unit is one inch.

    >>> ax = block_diagram({"x": (0, 0), "f": (2, 0, "model")}, [("x", "f", "predict")])
    >>> [text.get_text() for text in ax.texts if text.get_text()]
    ['x', 'model', 'predict']
    """
    if not _named(boxes, "boxes"):
        raise ValueError("boxes is empty, expected at least one box")
    for name, box in boxes.items():
        if not isinstance(box, (tuple, list)) or len(box) not in (2, 3):
            raise ValueError(f"boxes[{name!r}] must be (x, y) or (x, y, text), got {box!r}")
    middle = {name: validation.vector(box[:2], f"boxes[{name!r}]", length=2) for name, box in boxes.items()}
    arrows = list(arrows)
    for arrow in arrows:
        if not isinstance(arrow, (tuple, list)) or len(arrow) not in (2, 3):
            raise ValueError(f"an arrow must be (start, end) or (start, end, text), got {arrow!r}")
        for name in arrow[:2]:
            if name not in boxes:
                raise ValueError(f"arrows lead from or to {name!r}, but the boxes are {', '.join(map(repr, boxes))}")

    middles = np.array(list(middle.values()))
    room = np.array([0.9, 0.5])  # inches around the outermost box centres: half a box and a margin
    low, high = middles.min(axis=0) - room, middles.max(axis=0) + room
    ax = _axes(ax, x="", y="", size=tuple(high - low))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.axis("off")
    frame: Style = {"boxstyle": "round,pad=0.5", "facecolor": _lighter(SERIES[0], 0.08), "edgecolor": "0.3", "lw": 0.8}
    patches = {}
    for name, box in boxes.items():
        x, y = middle[name]
        text = ax.text(x, y, box[2] if len(box) > 2 else name, ha="center", va="center", bbox=frame)
        patches[name] = text.get_bbox_patch()
    shaft: Style = {"arrowstyle": "-|>", "color": "0.3", "linewidth": 0.9, "shrinkA": 0, "shrinkB": 1}
    above: Style = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "va": "bottom"}
    for start, end, *caption in arrows:
        ends: Style = {"patchA": patches[start], "patchB": patches[end]}
        ax.annotate("", xy=tuple(middle[end]), xytext=tuple(middle[start]), arrowprops=shaft | ends)
        if caption:
            ax.annotate(caption[0], tuple((middle[start] + middle[end]) / 2), fontsize="small", color="0.2", **above)
    return ax


def name_lines(ax: Axes, *, gap: float = 14.0, **options: Any) -> Axes:
    """Write the label of each line of `ax` at its right end, in the line's colour, and remove the legend.

    Overlapping names are moved at least `gap` points apart. `options` are passed to matplotlib's `annotate`.

    >>> ax = name_lines(loglog_times([10, 100], {"primal": [1.0, 10.0], "dual": [0.1, 100.0]}))
    >>> [text.get_text() for text in ax.texts], ax.get_legend()
    (['primal, slope 1.0', 'dual, slope 3.0'], None)
    """
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a single matplotlib Axes, got {type(ax).__name__}")
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    ends = [np.asarray(line.get_xydata())[-1] for line in lines]
    ax.autoscale_view()  # otherwise the limits are those of empty axes until the figure is drawn
    points = ax.get_window_extent().height * 72 / ax.figure.dpi
    heights = [points * float((ax.transData - ax.transAxes).transform(end)[1]) for end in ends]
    order = np.argsort(heights)
    placed = np.array(heights)[order]
    for _ in range(200):  # push neighbours apart, both by the same amount
        for i in range(len(placed) - 1):
            lack = gap - (placed[i + 1] - placed[i])
            placed[i : i + 2] += max(0.0, lack) / 2 * np.array([-1, 1])
    beside: Style = {"textcoords": "offset points", "va": "center", "fontsize": "small", "annotation_clip": False}
    shifts = dict(zip(order.tolist(), placed - np.array(heights)[order], strict=True))
    for i, (line, end) in enumerate(zip(lines, ends, strict=True)):
        style = beside | {"xytext": (6, shifts[i]), "color": line.get_color()} | options
        ax.annotate(str(line.get_label()), tuple(end), **style)
    if legend := ax.get_legend():
        legend.remove()
    return ax
