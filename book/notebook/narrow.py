"""A second form of every figure, for phones: narrow, with stacked panels and text as large as on a wide screen.

An IPython extension. It shows a figure as SVG, with the narrow form in the metadata of the output, where
book/_ext/coursebook/figures.py looks for it. A drawing, which has neither numbered axes nor titles, keeps its letters
and loses some of the space between them. Labels that a curve would cross move aside.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise, product
from math import ceil, hypot, isfinite
from typing import Any

import numpy as np
from IPython.core.pylabtools import print_figure
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.legend import Legend
from matplotlib.mathtext import MathTextParser
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox

WIDTH = 4.2  # inches: 403 pixels, shown in the 342 pixels of a phone
LOWEST = 0.75  # the height of a panel as a share of its width, if it becomes wider
FOR_LABELS = 0.3  # inches added to a panel that is made smaller, since its labels keep their size
LARGEST_LEGEND = 0.15  # the share of its panel that a legend may cover
SMALLEST = 9.5  # points of a tick's label: a little more than 10 pixels on a phone
MOST_COLUMNS = 4  # a figure with more columns is a table of small pictures
EDGE = 3  # points between a drawing and the edge of its narrow form
FARTHEST, STEP = 24, 3  # points by which a label may move, at most and at least
CLEAR = 2  # points between a label and a curve
# what the layout of a text depends on, besides its font, its rotation and the resolution
PLAIN = ("text", "horizontalalignment", "verticalalignment", "multialignment", "linespacing", "usetex", "parse_math")


def load_ipython_extension(shell: Any) -> None:
    from matplotlib_inline import backend_inline  # registers its own way of printing a figure, which ours replaces

    pyplot.uninstall_repl_displayhook()  # it would draw every figure once more, for a window that does not exist
    options = backend_inline.InlineBackend.instance(parent=shell).print_figure_kwargs
    remember_formulas()
    remember_fonts()
    remember_texts()
    remember_ticks()

    def print_both(figure: Figure) -> tuple[str, dict[str, str]] | None:
        wide = print_figure(figure, "svg", **options)
        return wide and (wide, {"narrow": print_figure(figure, "svg", **options)} if narrow(figure) else {})

    shell.display_formatter.formatters["image/svg+xml"].for_type(Figure, print_both)


def remember_formulas() -> None:
    """Parse each formula once. A tick's label is a formula too, and every round of the layout asks for its size.

    matplotlib caches the last 50, and treats the parser of every canvas as a different one.
    """
    parse = MathTextParser._parse_cached.__wrapped__
    known = cache(lambda kind, *formula: parse(parsers[kind], *formula))
    parsers = {parser._output_type: parser for parser in map(MathTextParser, ("path", "agg"))}
    MathTextParser._parse_cached = lambda parser, *formula: known(parser._output_type, *formula)


def remember_fonts() -> None:
    """Find the file of each font once. matplotlib goes through its settings again for every text that it measures."""
    fontManager._find_fonts_by_props = cache(type(fontManager)._find_fonts_by_props.__get__(fontManager))


def remember_texts() -> None:
    """Lay out each text once: a label is measured about ten times before it is drawn."""
    lay_out, known = Text._get_layout, {}

    def layout(text: Text, renderer: Any) -> Any:
        if text.get_wrap():  # its lines depend on the space around it
            return lay_out(text, renderer)
        plain = [getattr(text, f"_{name}") for name in PLAIN]
        turned = (text.get_rotation(), text.get_rotation_mode())
        drawn_by = (type(renderer), type(getattr(renderer, "_renderer", None)), getattr(renderer, "dpi", None))
        key = (*plain, *turned, *drawn_by, hash(text._fontproperties), text.get_figure(root=True).dpi)
        if key not in known:
            known[key] = lay_out(text, renderer)
        return known[key]

    Text._get_layout = layout


def remember_ticks() -> None:
    """Find the ticks of an axis once while its panel is measured or drawn; matplotlib does it for each of its parts."""
    known: dict[Any, Any] | None = None
    find = Axis._update_ticks

    def ticks(axis: Axis) -> Any:
        if known is None:
            return find(axis)
        key = (axis, *axis.get_view_interval(), *axis.axes.bbox.bounds)
        if key not in known:
            known[key] = find(axis)
        return known[key]

    def remembering(method: Any) -> Any:
        def remembers(*arguments: Any, **options: Any) -> Any:
            nonlocal known
            outer, known = known, {}
            try:
                return method(*arguments, **options)
            finally:
                known = outer

        return remembers

    Axis._update_ticks = ticks
    Axes.get_tightbbox = remembering(Axes.get_tightbbox)
    Axes.draw = remembering(Axes.draw)


def narrow(figure: Figure) -> bool:
    """Make a figure narrow, in place; return False if it is narrow already, or is a drawing without space to spare."""
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    width, height = figure.get_size_inches()
    written = any(ax.get_title() or _labels(ax.xaxis) or _labels(ax.yaxis) for ax in figure.axes)
    if width <= WIDTH or not panels:
        return False
    if not written:
        return len(panels) == 1 and _squeeze(figure, panels[0])
    before = panels[0].get_subplotspec().get_gridspec().get_geometry()
    now = _restack(figure, panels, before)
    wide, high = width / before[1], height / before[0]
    new_wide = WIDTH / now[1]
    grown = new_wide / wide
    lowest = 1 if all(ax.get_aspect() != "auto" for ax in panels) else LOWEST  # square panels would become smaller
    new_high = high * grown + FOR_LABELS if grown < 1 else min(high, lowest * new_wide)
    figure.set_size_inches(WIDTH, new_high * now[0])
    sides = [axis for ax in panels for axis in (ax.xaxis, ax.yaxis)]
    for axis in sides:
        if any(label.get_fontsize() < SMALLEST for label in _labels(axis)):
            axis.set_tick_params(labelsize=SMALLEST)
    # Whatever is measured has to be laid out first, which takes longer than everything else here.
    legends = [*figure.legends, *(ax.get_legend() for ax in panels if len(panels) == 1 and ax.get_legend())]
    if legends:
        figure.draw_without_rendering()
        _place_legends(figure, legends)
    if any(isinstance(axis.get_major_locator(), FixedLocator) for axis in sides):
        figure.draw_without_rendering()
        for axis in sides:
            _thin_out(axis)
    if any(text.get_text() for ax in panels for text in ax.texts):
        figure.draw_without_rendering()
        for ax in panels:
            _move_labels(ax)
    return True


def _squeeze(figure: Figure, ax: Axes) -> bool:
    """Move the boxes and letters of a drawing closer together; return False if two of them would overlap."""
    texts = [text for text in ax.texts if text.get_text()]
    for text in texts:
        text.set_fontsize(max(text.get_fontsize(), SMALLEST))
    figure.set_layout_engine("none")
    figure.set_figwidth(WIDTH)
    ax.set_aspect("auto")
    ax.set_position((0, 0, 1, 1))
    figure.draw_without_rendering()
    edge, width = EDGE * figure.dpi / 72, figure.bbox.width
    ends = [(x, 0.0, 0.0) for x in ax.dataLim.intervalx if isfinite(x)]  # (place, pixels to its left, to its right)
    for text in texts:
        x = float(text.xy[0] if isinstance(text, Annotation) else text.get_position()[0])
        at, box = ax.transData.transform((x, 0))[0], _extent(text)
        ends.append((x, at - box.x0, box.x1 - at))
    pairs = [(right[0] - left[0], left[1] + right[2]) for left in ends for right in ends if right[0] > left[0]]
    unit = min(((width - 2 * edge - pixels) / apart for apart, pixels in pairs), default=0)  # pixels that hold them all
    if unit <= 0:
        return False
    start = min(x - (pixels + edge) / unit for x, pixels, _ in ends)
    ax.set_xlim(start, start + width / unit)
    figure.draw_without_rendering()
    boxes = [_extent(text) for text in texts]
    shared = [Bbox.intersection(a, b) for a, b in combinations(boxes, 2)]
    return not any(box is not None and min(box.width, box.height) > edge for box in shared)


def _extent(text: Text) -> Bbox:
    return (text.get_bbox_patch() or text).get_window_extent()


def _labels(axis: Axis) -> list[Text]:
    if not axis.get_visible() or not axis.axes.axison:
        return []
    return [label for label in axis.get_ticklabels() if label.get_visible() and label.get_text()]


def _restack(figure: Figure, panels: list[Axes], shape: tuple[int, int]) -> tuple[int, int]:
    """Give panels that are side by side fewer columns; return the new shape."""
    rows, columns = shape
    places = {ax: ax.get_subplotspec() for ax in panels}
    one_each = all(place.num1 == place.num2 for place in places.values())
    one_grid = len({id(place.get_gridspec()) for place in places.values()}) == 1
    if columns == 1 or not (one_each and one_grid):
        return shape
    square = all(ax.get_aspect() != "auto" for ax in panels)
    titles_fit = all(ax.title.get_window_extent().width < 0.9 * figure.dpi * WIDTH / 2 for ax in panels)
    beside = 2 if square and titles_fit else 1
    cells = {ax: (place.rowspan.start, place.colspan.start) for ax, place in places.items()}
    if columns > MOST_COLUMNS:  # a table of small pictures: each row becomes two
        half = ceil(columns / 2)
        to = {ax: (2 * row + column // half, column % half) for ax, (row, column) in cells.items()}
        now = (2 * rows, half)
    elif rows == 1:
        to = {ax: divmod(column, beside) for ax, (_, column) in cells.items()}
        now = (ceil(columns / beside), beside)
    elif rows == 2 and columns > 2:  # a column becomes a row
        to = {ax: (column, row) for ax, (row, column) in cells.items()}
        now = (columns, rows)
    elif columns > 2:
        to = {ax: divmod(row * columns + column, 2) for ax, (row, column) in cells.items()}
        now = (ceil(len(panels) / 2), 2)
    else:
        return shape
    first = {cell: ax for ax, cell in cells.items()}
    grid = figure.add_gridspec(*now)
    for ax, (row, column) in cells.items():
        ax.set_subplotspec(grid[to[ax]])
        left, bottom = first.get((row, 0)), first.get((rows - 1, column))
        if left and (now[1] == 1 or to[ax][1] == 0 or rows > 1):  # labels at the side are now repeated at every panel
            _share(ax.yaxis, left.yaxis, "labelleft")
        if bottom and rows > 1:
            _share(ax.xaxis, bottom.xaxis, "labelbottom")
    return now


def _share(axis: Axis, outer: Axis, side: str) -> None:
    """Write the labels of the outermost panel at this one too."""
    if axis is not outer and axis.axes.axison:
        if outer.get_tick_params().get(side, True):
            axis.set_tick_params(**{side: True})
        if not axis.get_label_text() and axis.get_view_interval().tolist() == outer.get_view_interval().tolist():
            axis.set_label_text(outer.get_label_text())


def _place_legends(figure: Figure, legends: list[Legend]) -> None:
    """Put a legend below the figure if it is beside it, is too wide, or would cover much of its panel."""
    across = figure.bbox.width
    for legend in legends:
        box, of = legend.get_window_extent(), legend.axes and legend.axes.bbox
        outside = of is not None and (box.x0 >= of.x1 or box.y0 >= of.y1 or box.width > of.width)
        covers = of is not None and not outside and box.width * box.height > LARGEST_LEGEND * of.width * of.height
        crossed = of is not None and not outside and _inside(_curves(legend.axes), box.padded(-figure.dpi / 72))
        if outside or covers or crossed or box.width > across:
            _below(figure, legend, columns=2)
            figure.draw_without_rendering()
            if figure.legends[-1].get_window_extent().width > across:
                _below(figure, figure.legends[-1], columns=1)
            figure.set_figheight(figure.get_figheight() + figure.legends[-1].get_window_extent().height / figure.dpi)


def _below(figure: Figure, legend: Legend, *, columns: int) -> None:
    names = [text.get_text() for text in legend.get_texts()]
    size, title = legend.get_texts()[0].get_fontsize(), legend.get_title().get_text() or None
    figure.legend(
        legend.legend_handles,
        names,
        loc="outside lower center",
        ncols=columns,
        fontsize=size,
        title=title,
        frameon=False,
    )
    legend.remove()


def _thin_out(axis: Axis) -> None:
    """Leave out every other tick that was set by hand until the labels fit."""
    while isinstance(axis.get_major_locator(), FixedLocator):
        labels = _labels(axis)
        boxes = [label.get_window_extent() for label in labels]
        if not any(a.overlaps(b) for a, b in pairwise(boxes)):
            return
        ticks = list(axis.get_ticklocs())
        names = {tick: label.get_text() for tick, label in zip(ticks, axis.get_ticklabels(), strict=False)}
        axis.set_ticks(ticks[::2], [names[tick] for tick in ticks[::2]])


def _move_labels(ax: Axes) -> None:
    """Move every label that a curve crosses to the nearest clear place. A label on a mark stays there."""
    point = ax.figure.dpi / 72
    steps = np.arange(-FARTHEST, FARTHEST + STEP, STEP) * point
    shifts = sorted(product(steps, steps), key=lambda shift: hypot(*shift))
    curves, marks = _curves(ax), _marks(ax)
    for text in ax.texts:
        box = text.get_window_extent()
        middle = (box.min + box.max) / 2
        in_place = text.get_bbox_patch() or text.get_rotation() or _inside(marks, Bbox([middle, middle]).padded(point))
        if in_place or not text.get_text() or not _inside(curves, box.padded(-point)):
            continue
        room = ax.bbox if ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 else ax.figure.bbox
        others = [other.get_window_extent() for other in ax.texts if other is not text]
        for shift in shifts:
            there = box.translated(*shift).padded(CLEAR * point)
            within = room.x0 <= there.x0 and there.x1 <= room.x1 and room.y0 <= there.y0 and there.y1 <= room.y1
            taken = _inside(curves, there) or _inside(marks, there) or any(map(there.overlaps, others))
            if within and not taken:
                to_pixels = text.get_transform()
                text.set_position(to_pixels.inverted().transform(to_pixels.transform(text.get_position()) + shift))
                break


def _inside(dots: np.ndarray, box: Bbox) -> bool:
    return bool(((box.min < dots) & (dots < box.max)).all(axis=1).any())


def _curves(ax: Axes) -> np.ndarray:
    """Pixels on the curves of a panel, two apart."""
    paths = [line.get_path().transformed(line.get_transform()) for line in ax.lines if line.get_linestyle() != "None"]
    for drawn in ax.collections:
        if isinstance(drawn, LineCollection) or (isinstance(drawn, ContourSet) and not drawn.filled):
            paths += [path.transformed(drawn.get_transform()) for path in drawn.get_paths()]
    found = [np.empty((0, 2))]
    for start, end in (pair for path in paths for piece in _pieces(path) for pair in pairwise(piece)):
        if np.isfinite([start, end]).all():
            found.append(np.linspace(start, end, 2 + min(999, int(hypot(*(end - start)) / 2))))
    return np.concatenate(found)


def _marks(ax: Axes) -> np.ndarray:
    lines = [line for line in ax.lines if line.get_marker() != "None"]
    clouds = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]
    found = [line.get_transform().transform(line.get_xydata()) for line in lines]
    found += [np.ma.filled(cloud.get_offset_transform().transform(cloud.get_offsets()), np.nan) for cloud in clouds]
    return np.concatenate([np.empty((0, 2)), *found])


def _pieces(path: Path) -> list[np.ndarray]:
    """The connected pieces of a path."""
    starts = [] if path.codes is None else np.flatnonzero(path.codes == Path.MOVETO)[1:]
    return np.split(path.vertices, starts)
