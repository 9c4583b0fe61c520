from __future__ import annotations

import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.contour import QuadContourSet

from kernelcourse import plots
from kernelcourse.datasets import gaussian_mixture, two_moons


@pytest.fixture(autouse=True)
def closed_figures():
    plt.close("all")  # those of the examples in the docstrings
    yield
    plt.close("all")


def line(ax, label):
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def contours(ax, *, filled):
    return [c for c in ax.collections if isinstance(c, QuadContourSet) and c.filled == filled]


def vertices(contour):
    return np.concatenate([path.vertices for path in contour.get_paths()])


class Slope:
    """A linear classifier with f(x) = x_1 + 2 x_2 - 1."""

    def decision_function(self, Z):
        return Z @ [1.0, 2.0] - 1

    def predict(self, Z):
        raise AssertionError("the decision function comes first")


class Quadrants:
    """Three classes, with `predict` alone."""

    def predict(self, Z):
        return np.where(Z[:, 0] < 0, "left", np.where(Z[:, 1] < 0, "low", "high"))


X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [0.5, 1.5]])
Y = np.array([-1, 1, -1, 1, 1])
CORNERS = np.array(["left", "left", "low", "high", "high"])


# --- every figure


FIGURES = {
    "decision_regions": lambda ax: plots.decision_regions(Slope(), X, Y, ax=ax),
    "gram_heatmap": lambda ax: plots.gram_heatmap(np.eye(3), ax=ax),
    "loglog_times": lambda ax: plots.loglog_times([1, 2], {"a": [1, 2]}, ax=ax),
    "block_diagram": lambda ax: plots.block_diagram({"a": (0, 0), "b": (2, 0)}, [("a", "b")], ax=ax),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_on_the_axes_given(name):
    _, ax = plt.subplots()
    assert FIGURES[name](ax) is ax
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.filterwarnings("error")
def test_a_figure_without_axes_is_a_new_one_and_can_be_saved(name, tmp_path):
    _, other = plt.subplots()
    ax = FIGURES[name](None)
    assert ax is not other
    assert not other.has_data()
    ax.figure.savefig(tmp_path / "figure.png", bbox_inches="tight")


@pytest.mark.parametrize("name", FIGURES)
def test_several_axes_for_one_are_refused(name):
    _, axes = plt.subplots(1, 2)
    with pytest.raises(TypeError, match="ax must be"):
        FIGURES[name](axes)


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"block_diagram"}))
def test_both_axes_have_names(name):
    ax = FIGURES[name](None)
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_the_library_does_not_load_matplotlib_unasked():
    code = "import sys, kernelcourse, kernelcourse.datasets; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lines_differ_in_colour_and_dashes():
    styles = [plots._series(i) for i in range(36)]
    assert len({str(style) for style in styles}) == 36
    assert len({style["color"] for style in styles[:6]}) == len({str(style["linestyle"]) for style in styles[:6]}) == 6


def test_the_seventh_line_has_the_first_colour_with_the_second_dashes():
    assert plots._series(6) == {"color": plots.SERIES[0], "linestyle": plots.DASHES[1]}


@pytest.mark.parametrize(
    "names",
    [
        ("zero-one", "hinge", "perceptron", "logistic", "squared", "squared hinge"),
        ("linear", "polynomial", "gaussian", "laplacian", "matern", "rational quadratic"),
    ],
)
def test_losses_and_kernels_differ_in_colour_and_dashes(names):
    styles = [plots.ROLE[name] for name in names]
    assert len({style["color"] for style in styles}) == len({str(style["linestyle"]) for style in styles}) == 6


def test_no_two_classes_share_a_marker_or_a_hatching():
    classes = len(plots.SERIES)
    assert len(set(plots.MARKERS)) == len(set(plots.HATCHES)) == classes


# --- decision regions


def test_boundary_and_margins_are_level_lines_of_the_decision_function():
    ax = plots.decision_regions(Slope(), X, Y)
    boundary, margin = contours(ax, filled=False)
    np.testing.assert_allclose(Slope().decision_function(vertices(boundary)), 0, atol=1e-9)
    np.testing.assert_allclose(np.abs(Slope().decision_function(vertices(margin))), 1, atol=1e-9)
    assert list(margin.levels) == [-1, 1]
    assert boundary.linestyles != margin.linestyles


def test_margins_can_be_left_out():
    ax = plots.decision_regions(Slope(), X, Y, margins=False)
    assert len(contours(ax, filled=False)) == 1
    assert "margin" not in legend(ax)


def test_the_regions_lie_on_their_own_side_and_are_hatched_differently():
    ax = plots.decision_regions(Slope(), X, Y)
    negative, positive = contours(ax, filled=True)
    assert Slope().decision_function(vertices(negative)).max() < 1e-9
    assert Slope().decision_function(vertices(positive)).min() > -1e-9
    assert negative.hatches != positive.hatches


def test_each_class_has_its_points_its_colour_and_its_marker():
    ax = plots.decision_regions(Slope(), X, Y)
    for c, label in enumerate((-1, 1)):
        drawn = line(ax, f"y = {label}")
        np.testing.assert_array_equal(drawn.get_xydata(), X[label == Y])
        assert to_hex(drawn.get_color()).upper() == plots.SERIES[c]
    assert line(ax, "y = 1").get_marker() != line(ax, "y = -1").get_marker()


def test_the_bayes_boundary_has_a_dash_style_of_its_own():
    mixture = gaussian_mixture(40, rng=0)
    ax = plots.decision_regions(Slope(), mixture.X, mixture.y, bayes=mixture.bayes_log_odds)
    boundary, margin, bayes = contours(ax, filled=False)
    np.testing.assert_allclose(mixture.bayes_log_odds(vertices(bayes)), 0, atol=0.05)
    assert len({str(c.linestyles) for c in (boundary, margin, bayes)}) == 3
    assert "Bayes boundary" in legend(ax)


def test_a_plain_function_is_a_decision_function():
    ax = plots.decision_regions(Slope().decision_function, X, Y)
    np.testing.assert_allclose(Slope().decision_function(vertices(contours(ax, filled=False)[0])), 0, atol=1e-9)


def test_three_classes_by_predict_alone_have_regions_and_no_margins():
    ax = plots.decision_regions(Quadrants(), X, CORNERS, resolution=101)
    assert legend(ax) == ["y = high", "y = left", "y = low", "boundary"]
    high, left, low = contours(ax, filled=True)
    step = 0.05
    assert vertices(high).min() > -step
    assert vertices(left)[:, 0].max() < step
    assert vertices(low)[:, 0].min() > -step
    assert vertices(low)[:, 1].max() < step


@pytest.mark.parametrize("labels", [(0, 1), (1, 2), ("no", "yes"), (False, True)])
def test_any_two_labels_will_do(labels):
    y = np.where(Y == 1, labels[1], labels[0])
    ax = plots.decision_regions(Slope(), X, y)
    np.testing.assert_array_equal(line(ax, f"y = {labels[1]}").get_xydata(), X[Y == 1])


def test_scikit_learn_models_of_two_and_of_four_classes():
    from sklearn.svm import SVC

    data = two_moons(60, rng=0)
    two = SVC(gamma=2, C=10).fit(data.X, data.y)
    boundary = contours(plots.decision_regions(two, data.X, data.y), filled=False)[0]
    np.testing.assert_allclose(two.decision_function(vertices(boundary)), 0, atol=0.02)

    y = np.digitize(data.X[:, 0], [-0.3, 0.5, 1.2])
    for shape in ("ovr", "ovo"):  # one column for each class, one for each pair
        four = SVC(decision_function_shape=shape).fit(data.X, y)
        ax = plots.decision_regions(four, data.X, y)
        assert len(contours(ax, filled=True)) == 4
        inside = contours(ax, filled=True)[2]
        middle = np.array([[0.85, data.X[:, 1].mean()]])
        assert four.predict(middle) == [2]
        assert inside.get_paths()[0].contains_points(middle).any()


def test_a_model_that_always_says_the_same_has_one_region_and_no_warning(recwarn):
    ax = plots.decision_regions(lambda Z: np.full(len(Z), 3.0), X, Y)
    assert len(contours(ax, filled=True)) == 1
    assert contours(ax, filled=False) == []
    assert not recwarn.list


def test_a_class_without_points_keeps_its_colour():
    class Trained(Slope):
        classes_ = np.array([-1, 1])

    ax = plots.decision_regions(Trained(), X[Y == 1], Y[Y == 1])
    assert to_hex(line(ax, "y = 1").get_color()).upper() == plots.SERIES[1]


def test_the_grid_goes_to_the_model_in_parts():
    sizes = []

    def spy(Z):
        sizes.append(len(Z))
        return Z[:, 0]

    plots.decision_regions(spy, X, Y, resolution=100)
    assert sum(sizes) == 100 * 100
    assert max(sizes) <= 4000


def test_the_legend_can_be_left_out():
    assert plots.decision_regions(Slope(), X, Y, legend=False).get_legend() is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X[:, :1]}, "X must have 2 columns"),
        ({"X": np.where(X > 1, np.nan, X)}, "X contains NaN"),
        ({"X": np.empty((0, 2)), "y": []}, "X has 0 sample"),
        ({"y": Y[:3]}, "y has 3 entries"),
        ({"y": Y[:, None]}, "y must be 1-D"),
        ({"y": np.where(Y > 0, np.nan, Y)}, "y contains NaN"),
        ({"y": np.ones(5, dtype=int)}, "y must have 2 to 6 classes"),
        ({"X": np.eye(2).repeat(4, axis=0), "y": np.arange(8)}, "y must have 2 to 6 classes"),
        ({"y": CORNERS}, "the decision function of 40000 points in 3 classes"),
        ({"resolution": 1}, "resolution"),
        ({"bayes": lambda Z: 1.0}, "bayes"),
        ({"model": lambda Z: Z[:-1, 0]}, "the decision function has"),
        ({"model": lambda Z: Z[:, 0] * np.inf}, "the decision function contains"),
    ],
)
def test_bad_input_is_refused_by_name_and_leaves_no_figure(change, message):
    arguments = {"model": Slope().decision_function, "X": X, "y": Y} | change
    with pytest.raises(ValueError, match=message):
        plots.decision_regions(**arguments)
    assert plt.get_fignums() == []


def test_a_label_unknown_to_the_model_is_refused():
    class Trained(Slope):
        classes_ = np.array([0, 1])

    with pytest.raises(ValueError, match="not among the model's classes"):
        plots.decision_regions(Trained(), X, Y)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="model must have decision_function or predict"):
        plots.decision_regions("svm", X, Y)


def test_a_constant_column_does_not_collapse_the_picture():
    ax = plots.decision_regions(lambda Z: Z[:, 0], X * [1, 0], Y)
    low, high = ax.get_ylim()
    assert low < 0 < high


# --- Gram matrices


def test_a_heatmap_shows_the_matrix_in_the_order_given():
    K = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.0], [0.5, 0.0, 1.0]])
    ax = plots.gram_heatmap(K, order=[2, 0, 1])
    np.testing.assert_array_equal(ax.images[0].get_array(), K[[2, 0, 1]][:, [2, 0, 1]])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "0", "1"]
    assert ax.images[0].get_clim() == (0, 3)


def test_zero_is_white_with_and_without_negative_entries():
    for K in (np.diag([1.0, 2.0]), np.array([[1.0, -3.0], [-3.0, 1.0]])):
        image = plots.gram_heatmap(K).images[0]
        np.testing.assert_allclose(image.cmap(image.norm(0.0)), 1, atol=0.05)
    assert image.get_clim() == (-3, 3)


@pytest.mark.parametrize("colorbar", [True, False])
def test_the_colour_bar_can_be_left_out(colorbar):
    ax = plots.gram_heatmap(np.eye(2), colorbar=colorbar)
    assert len(ax.figure.axes) == 1 + colorbar
    assert [bar.get_ylabel() for bar in ax.figure.axes[1:]] == ["$K_{ij}$"] * colorbar


def test_a_large_matrix_has_no_tick_for_each_point():
    assert list(plots.gram_heatmap(np.eye(50)).get_xticks()) == []


def test_a_matrix_of_zeros_can_be_drawn():
    assert plots.gram_heatmap(np.zeros((2, 2))).images[0].get_clim() == (0, 1)


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [0.0, 1.0], ["a", "b"], [[0, 1]]])
def test_a_bad_order_is_refused_by_name(order):
    with pytest.raises(ValueError, match="order"):
        plots.gram_heatmap(np.eye(2), order=order)


@pytest.mark.parametrize("K", [np.ones((2, 3)), [[1.0, 2.0], [0.0, 1.0]], [[np.nan]], []])
def test_what_is_no_gram_matrix_is_refused_by_name(K):
    with pytest.raises(ValueError, match=r"^K "):
        plots.gram_heatmap(K)


# --- measured curves


@given(
    exponent=st.floats(-4, 4),
    constant=st.floats(1e-9, 1e3),
    n=st.lists(st.integers(1, 10**6), min_size=2, max_size=8, unique=True),
)
def test_the_slope_of_a_power_law_is_its_exponent(exponent, constant, n):
    n = np.array(n, dtype=float)
    gap = np.log(n.max() / n.min())
    assert plots.slope(n, constant * n**exponent) == pytest.approx(exponent, abs=1e-9 + 1e-13 / gap)


def test_the_slope_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    n, seconds = rng.uniform(1, 100, 20), rng.lognormal(size=20)
    assert plots.slope(n, seconds) == pytest.approx(np.polyfit(np.log(n), np.log(seconds), 1)[0])


@pytest.mark.parametrize(
    ("n", "seconds", "message"),
    [
        ([10], [1.0], "n must hold at least two different sizes"),
        ([10, 10], [1.0, 2.0], "n must hold at least two different sizes"),
        ([0, 10], [1.0, 2.0], "n must be positive"),
        ([1, 10], [0.0, 2.0], "seconds must be positive"),
        ([1, 10], [1.0], "seconds has 1 entries"),
        ([], [], "n is empty"),
        ([1, np.nan], [1.0, 2.0], "n contains NaN"),
    ],
)
def test_a_slope_of_bad_input_is_refused_by_name(n, seconds, message):
    with pytest.raises(ValueError, match=message):
        plots.slope(n, seconds)


def test_times_are_drawn_on_logarithmic_axes_with_their_slopes():
    n = np.array([10.0, 100.0, 1000.0])
    ax = plots.loglog_times(n, {"primal": 1e-3 * n, "dual": 1e-6 * n**3})
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert legend(ax) == ["primal, slope 1.0", "dual, slope 3.0"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), 1e-6 * n**3)
    assert ax.lines[0].get_marker() != ax.lines[1].get_marker()


@pytest.mark.parametrize(
    ("seconds", "error", "message"),
    [
        ([1.0, 2.0], TypeError, "seconds must be a dictionary"),
        ({"dual": [1.0]}, ValueError, r"seconds\['dual'\] has 1 entries"),
        ({"dual": [1.0, -1.0]}, ValueError, r"seconds\['dual'\] must be positive"),
    ],
)
def test_bad_times_are_refused_by_name_and_leave_no_figure(seconds, error, message):
    with pytest.raises(error, match=message):
        plots.loglog_times([10, 100], seconds)
    assert plt.get_fignums() == []


# --- block diagrams


def test_boxes_stand_where_they_are_put_and_arrows_join_them():
    ax = plots.block_diagram({"x": (0, 0), "model": (2, 1, "$f$")}, [("x", "model", "test")])
    boxes = {text.get_text(): text for text in ax.texts if text.get_bbox_patch() is not None}
    assert boxes["x"].get_position() == (0, 0)
    assert boxes["$f$"].get_position() == (2, 1)
    arrow, caption = [text for text in ax.texts if text.get_bbox_patch() is None]
    assert arrow.xy == (2, 1)
    assert arrow.get_position() == (0, 0)
    assert caption.get_text() == "test"
    assert caption.xy == (1, 0.5)


def test_an_arrow_stops_at_the_edge_of_the_box():
    ax = plots.block_diagram({"from here": (0, 0), "to there": (3, 0)}, [("from here", "to there")])
    ax.figure.canvas.draw()
    start, end, arrow = ax.texts
    shaft = arrow.arrow_patch.get_window_extent()
    assert shaft.x0 >= start.get_bbox_patch().get_window_extent().x1 - 2
    assert shaft.x1 <= end.get_bbox_patch().get_window_extent().x0 + 2
    assert arrow.arrow_patch.get_linewidth() <= 1  # about as thin as the frames


def test_a_diagram_has_an_inch_per_unit_and_room_around_the_outermost_boxes():
    ax = plots.block_diagram({"a": (0, 3), "b": (4, 1), "c": (2, 2)}, [])
    assert (*ax.get_xlim(), *ax.get_ylim()) == pytest.approx((-0.9, 4.9, 0.5, 3.5))
    assert tuple(ax.figure.get_size_inches()) == pytest.approx((5.8, 3.0))


def test_a_single_box_needs_no_arrow():
    ax = plots.block_diagram({"alone": (1, 1)}, [])
    assert ax.get_xlim()[0] < 1 < ax.get_xlim()[1]


@pytest.mark.parametrize(
    ("boxes", "arrows", "error", "message"),
    [
        ({}, [], ValueError, "boxes is empty"),
        ([(0, 0)], [], TypeError, "boxes must be a dictionary"),
        ({"a": (0,)}, [], ValueError, r"boxes\['a'\] must be"),
        ({"a": 3}, [], ValueError, r"boxes\['a'\] must be"),
        ({"a": (0, "b")}, [], ValueError, r"boxes\['a'\] must hold numbers"),
        ({"a": (0, np.nan)}, [], ValueError, r"boxes\['a'\] contains NaN"),
        ({"a": (0, 0)}, [("a", "b")], ValueError, "'b', but the boxes are 'a'"),
        ({"a": (0, 0), "b": (1, 1)}, ["ab"], ValueError, "an arrow must be"),
    ],
)
def test_a_bad_diagram_is_refused_by_name_and_leaves_no_figure(boxes, arrows, error, message):
    with pytest.raises(error, match=message):
        plots.block_diagram(boxes, arrows)
    assert plt.get_fignums() == []


# --- names at the lines


def test_names_stand_at_the_right_ends_in_the_colours_of_the_lines_and_apart():
    _, ax = plt.subplots()
    for name, end in {"a": 5.0, "b": 5.1, "c": 100}.items():
        ax.plot([10, 100], [1, end], label=name)
    plots.name_lines(ax)
    assert [text.get_color() for text in ax.texts] == [line.get_color() for line in ax.lines]
    assert [text.xy for text in ax.texts] == [(100, 5.0), (100, 5.1), (100, 100)]
    ax.figure.canvas.draw()
    middles = sorted(np.mean([t.get_window_extent().y0, t.get_window_extent().y1]) for t in ax.texts)
    assert np.diff(middles).min() > 12 * ax.figure.dpi / 72
    assert ax.texts[1].get_window_extent().y0 > ax.texts[0].get_window_extent().y0


def test_a_line_without_a_label_has_no_name_and_axes_are_needed():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    assert not plots.name_lines(ax).texts
    with pytest.raises(TypeError, match="ax must be"):
        plots.name_lines(None)


def test_a_boundary_that_is_only_touched_is_not_drawn_and_there_is_no_frame():
    """A contour at the minimum of a function has no points, and matplotlib warns about that."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plots.decision_regions(lambda Z: np.maximum(Z[:, 0] - X[:, 0].mean(), 0.0), X, Y)
    assert not ax.spines["top"].get_visible() and not ax.spines["right"].get_visible()
