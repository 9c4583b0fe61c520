"""Correct answers computed in other ways pass the checks of assignment 08."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from kernelcourse.algorithms.perceptron import kernel_perceptron_list
from kernelcourse.checking import CheckFailed, Passed, running_times
from kernelcourse.kernels import Gaussian
from kernelcourse.plots import slope


def features_by_product(d, p):
    count = 1
    for i in range(1, p + 1):
        count = count * (d + i) // i
    return count


def features_by_pascal(d, p):
    row = np.ones(p + 1, dtype=int)  # monomials of degree 0 to p in no variable
    for _ in range(d):
        row = np.cumsum(row)
    return row[p]


def training_as_array(n, d, D):
    s, m = np.array([D, n, n], dtype=float), np.array([n, D, d], dtype=float)
    return s**2 * m + s**3 / 3


def predicting_as_list(n, d, D):
    return [2 * D, n * (D + D), n * (d + d)]


def needed_by_floats(n, d, D):
    return np.floor(n * D / (n * d - D)) + 1 if n > D / d else 0


def pays_by_counting_down(d, D):
    n = 2 * D
    while 3 * n**2 * d + n**3 >= 3 * n * D**2 + D**3:
        n -= 1
    return n


def pays_by_the_cubic(d, D):
    roots = np.roots([1 / 3, d, -(D**2), -(D**3) / 3])
    return int(np.ceil(max(roots.real) - 1e-9) - 1)  # a root may be a whole number


def law_by_normal_equations(sizes, seconds, n):
    x, y = np.log(sizes), np.log(np.min(seconds, axis=0))
    q = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
    return [q, np.exp(y.mean()) * (n / np.exp(x.mean())) ** q]


def law_by_lstsq_on_decades(sizes, seconds, n):
    A = np.column_stack([np.ones(len(sizes)), np.log10(sizes)])
    c, q = np.linalg.lstsq(A, np.log10(np.min(seconds, axis=0)), rcond=None)[0]
    return q, 10**c * n**q


def evaluations_by_dictionary(K, y, epochs):
    alpha, counts = {}, []
    for _ in range(epochs):
        counts.append(0)
        for i in range(len(y)):
            counts[-1] += len(alpha)
            if y[i] * sum(a * K[j, i] for j, a in alpha.items()) <= 0:
                alpha[i] = alpha.get(i, 0) + y[i]
    return counts


def surprise_after_surprise():
    return (1000 * np.eye(30)).tolist(), [1] * 30


ROUTES = {
    features_by_product: "feature_count",
    features_by_pascal: "feature_count",
    training_as_array: "training",
    predicting_as_list: "testing",
    needed_by_floats: "test_points_needed",
    pays_by_counting_down: "kernel_pays_up_to",
    pays_by_the_cubic: "kernel_pays_up_to",
    law_by_normal_equations: "power_law",
    law_by_lstsq_on_decades: "power_law",
    evaluations_by_dictionary: "perceptron_evaluations",
    surprise_after_surprise: "slower_than_claimed",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(running_times.checks(seed)(**{piece: route}), Passed)


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "ab",
        (),
        ([1], [2]),
        (np.zeros((0, 2)), []),
        (np.zeros((40, 0)), np.ones(40)),
        (np.zeros((40, 2)), np.ones(39)),
        (np.zeros((40, 2)), np.zeros(40)),
        (np.zeros((40, 2)), np.full(40, np.nan)),
        (np.full((40, 2), np.nan), np.ones(40)),
        (1e7 * np.eye(40), np.ones(40)),
        (100 * np.eye(101), np.ones(101)),
        ([[10**400]], [1]),
        ([[1j]], [1]),
    ],
    ids=lambda junk: repr(junk)[:40],
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed):
        running_times.checks(1)(slower_than_claimed=lambda: junk)


@pytest.mark.parametrize(("n", "breaks"), [(21, False), (22, True)])
def test_the_claim_wants_strictly_more_than_ten_evaluations_a_point(n, breaks):
    hint = running_times._verify_slower_than_claimed((100 * np.eye(n), np.ones(n)))
    assert hint == ("" if breaks else running_times._TOO_FEW)


def test_the_claim_is_about_the_first_epoch_alone():
    """8 surprises, then 92 copies of the first point: 764 evaluations in the first epoch, 800 in the second."""
    X = 100.0 * np.resize(np.arange(8), 100)[:, None]
    X[8:] = X[0]
    assert running_times._verify_slower_than_claimed((X, np.ones(100))) == running_times._TOO_EASY


def reference(name):
    return next(piece.reference for piece in running_times.PIECES if piece.name == name)


def test_the_feature_count_is_that_of_the_listed_monomials():
    for d, p in [(1, 3), (3, 2), (4, 3)]:
        listed = [m for degree in range(p + 1) for m in combinations_with_replacement(range(d), degree)]
        assert reference("feature_count")(d, p) == len(listed)


def test_the_break_even_points_are_where_the_counts_cross():
    for n, d, D in [(6, 2, 6), (50, 3, 20), (7, 3, 20), (6, 3, 20)]:
        cheaper = [m for m in range(1, 2000) if 2 * n * D + 2 * D * m < 2 * n * d * m]
        assert reference("test_points_needed")(n, d, D) == (cheaper[0] if cheaper else 0)
    for d, D in [(2, 6), (3, 20), (5, 56)]:
        cheaper = [n for n in range(1, 3 * D) if reference("training")(n, d, D)[2] < reference("training")(n, d, D)[0]]
        assert reference("kernel_pays_up_to")(d, D) == cheaper[-1]


def test_the_exponent_is_that_of_the_books_plots():
    sizes, seconds = np.array([10, 30, 100]), np.array([[1.0, 5.0, 80.0], [2.0, 4.0, 90.0]])
    assert reference("power_law")(sizes, seconds, 10)[0] == pytest.approx(slope(sizes, seconds.min(axis=0)))


def test_the_counted_perceptron_makes_the_mistakes_of_the_librarys():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.choice([-1, 1], size=30)
    K = Gaussian(0.3)(X)
    fit = kernel_perceptron_list(K, y, max_epochs=100)
    assert fit.separated
    counts = reference("perceptron_evaluations")(K, y, fit.epochs)
    assert counts[-1] == 30 * len(set(fit.mistakes_list))
