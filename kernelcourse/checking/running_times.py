"""Assignment 08, running times: its pieces and their usual mistakes (lectures S and H, topics S1, S5, S9, B7, H3)."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np

from ..features import monomial_count
from ..kernels import Gaussian
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece


def _degrees(rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Numbers of inputs d and degrees p, which give D features."""
    yield 2, 2
    for _ in range(4):
        yield int(rng.integers(2, 7)), int(rng.integers(2, 5))


def _feature_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1, 3), "one input")
    yield Case((int(rng.integers(2, 9)), 1), "degree 1")
    yield Case((int(rng.integers(2, 9)), 0), "degree 0: the constant alone")
    yield Case((100, 4), "the lecture's example")
    yield Case((2, 2))
    for _ in range(4):  # too many possible inputs for a table of answers
        yield Case((int(rng.integers(2, 400)), int(rng.integers(2, 6))))


def _cost_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1, 1, 2), "one point, one input")
    yield Case((100, 100, 4598126), "the lecture's example, with 100 points")
    for d, p in _degrees(rng):
        D = monomial_count(d, p)
        yield Case((int(rng.integers(2, D)), d, D), "fewer points than features")
        yield Case((int(rng.integers(D + 1, 4 * D)), d, D), "more points than features")


def _testing_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((6, 2, 6), "equally many operations at a whole number of test points")
    yield Case((3, 2, 6), "exactly D/d training points")
    yield Case((4, 2, 6), "just above D/d training points")
    for d, p in _degrees(rng):
        D = monomial_count(d, p)
        yield Case((int(rng.integers(1, D // d + 1)), d, D), "at most D/d training points")
        yield Case((int(rng.integers(D // d + 1, 50 * D)), d, D), "more than D/d training points")


def _size_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((2, monomial_count(2, 2)))
    yield Case((17, 54), "both cost the same for 81 points")
    yield Case((14, 33), "the costs for 46 points are nearly the same")
    for most in (30, 300, 2000, 2000):
        d = int(rng.integers(2, 30))
        yield Case((d, d + int(rng.integers(1, most))))


def _timing_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, repeats, count in [
        ("each size timed once", 1, 5),
        ("two sizes", 3, 2),
        ("", 3, 4),
        ("", 4, 6),
    ]:
        sizes = 100 * np.cumsum(rng.integers(1, 6, size=count))
        law = rng.uniform(0.5, 5) * (sizes / 100) ** rng.uniform(1, 3)
        seconds = law * (1 + rng.exponential(0.2, size=(repeats, count)))
        yield Case((sizes, seconds, int(sizes[-1] * 2)), label)
    yield Case((np.array([10, 20, 40]), np.array([[1, 4, 16], [2, 5, 33]]), int(rng.integers(50, 90))), "whole seconds")


def _perceptron_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(X: np.ndarray, epochs: int, label: str = "") -> Case:
        return Case((X @ X.T, rng.choice([-1, 1], size=len(X)), epochs), label)

    yield case(rng.normal(size=(1, 2)), 2, "one point")
    yield Case((np.ones((2, 2), dtype=int), np.array([1, -1]), 4), "the same point with both labels")
    yield case(np.eye(4, dtype=int), 2, "points at right angles, whole numbers")
    yield case(rng.integers(-3, 4, size=(3, 1)) * 2 + 1, 3, "one input")
    yield case(rng.normal(size=(6, 2)), 1, "one epoch")
    yield case(rng.normal(size=(8, 2)), 3)
    yield case(rng.normal(size=(9, 3)), 5)


# Piece 1: how many features (S1)


def _feature_count(d: int, p: int) -> int:
    return monomial_count(d, p)


def powers_of_d(d, p):
    return d**p


def only_degree_p(d, p):
    count = 1
    for i in range(1, p + 1):
        count = count * (d - 1 + i) // i
    return count


# Piece 2: the three ridge algorithms (S5)


def _training(n: int, d: int, D: int) -> tuple[float, float, float]:
    return n * D**2 + D**3 / 3, n**2 * D + n**3 / 3, n**2 * d + n**3 / 3


def trick_forgotten(n, d, D):
    return n * D**2 + D**3 / 3, n**2 * D + n**3 / 3, n**2 * D + n**3 / 3


def systems_exchanged(n, d, D):
    return n * D**2 + n**3 / 3, n**2 * D + D**3 / 3, n**2 * d + D**3 / 3


def _testing(n: int, d: int, D: int) -> tuple[int, int, int]:
    return 2 * D, 2 * n * D, 2 * n * d


def primal_remembers_points(n, d, D):
    return 2 * n * D, 2 * n * D, 2 * n * d


def additions_forgotten(n, d, D):
    return D, n * D, n * d


# Piece 3: the break-even points (S9, B7)


def _test_points_needed(n: int, d: int, D: int) -> int:
    return 0 if n * d <= D else n * D // (n * d - D) + 1


def w_for_nothing(n, d, D):
    return 1 if n * d > D else 0


def lectures_rule(n, d, D):
    return D // d + 1 if n * d > D else 0


def tie_counts(n, d, D):
    return -(-n * D // (n * d - D)) if n * d > D else 0


def _kernel_pays_up_to(d: int, D: int) -> int:
    n = D
    while 3 * n**2 * d + n**3 < 3 * n * D**2 + D**3:
        n += 1
    return n - 1


def as_without_the_trick(d, D):
    return D - 1


def first_that_does_not_pay(d, D):
    n = 1
    while 3 * n**2 * d + n**3 < 3 * n * D**2 + D**3:
        n += 1
    return n


# Piece 4: a power law, fitted to timings


def _power_law(sizes: Any, seconds: Any, n: int) -> tuple[float, float]:
    shift, slope = np.polynomial.polynomial.polyfit(np.log(sizes), np.log(np.min(seconds, axis=0)), 1)
    return float(slope), float(np.exp(shift + slope * log(n)))


def averaged_repeats(sizes, seconds, n):
    slope, shift = np.polyfit(np.log(sizes), np.log(np.mean(seconds, axis=0)), 1)
    return slope, np.exp(shift + slope * np.log(n))


def without_logarithms(sizes, seconds, n):
    slope, shift = np.polyfit(sizes, np.min(seconds, axis=0), 1)
    return slope, shift + slope * n


def through_the_origin(sizes, seconds, n):
    x, y = np.log(sizes), np.log(np.min(seconds, axis=0))
    slope = (x @ y) / (x @ x)
    return slope, np.exp(slope * np.log(n))


# Piece 5: the kernel perceptron, counted (H3)


def _perceptron_evaluations(K: Any, y: Any, epochs: int) -> np.ndarray:
    alpha, counts = np.zeros(len(y)), np.zeros(epochs)
    for epoch in range(epochs):
        for i in range(len(y)):
            counts[epoch] += np.count_nonzero(alpha)
            if y[i] * (K[i] @ alpha) <= 0:
                alpha[i] += y[i]
    return counts


def every_point_every_time(K, y, epochs):
    return np.full(epochs, len(y) ** 2)


def repeats_on_the_list(K, y, epochs):
    times, counts = np.zeros(len(y)), np.zeros(epochs)
    for epoch in range(epochs):
        for i in range(len(y)):
            counts[epoch] += times.sum()
            if y[i] * (K[i] @ (times * y)) <= 0:
                times[i] += 1
    return counts


# Piece 6: the claim that the kernel perceptron trains in O(nd)

_MOST_POINTS = 100
_TIMES = 10
_WRONG_FORM = (
    f"Return two things: X, at most {_MOST_POINTS} points as the rows of an (n, d) array with entries between -1e6 and "
    "1e6, and y, a label +1 or -1 for each of them."
)
_TOO_FEW = (
    f"The list grows from 0 to at most n during the first epoch, so n points cost at most 0 + 1 + … + (n − 1) "
    f"evaluations. With as few points as yours, that is no more than {_TIMES}n whatever the data: take more points."
)
_TOO_EASY = (
    f"The first epoch over your points takes at most {_TIMES}n evaluations: the list stays too short, since too few "
    f"points are misclassified. Which labels, or which distances, make the perceptron misclassify every new point?"
)


def _slower_than_claimed() -> tuple[np.ndarray, np.ndarray]:
    return 100.0 * np.arange(40)[:, None], np.resize([1, -1], 40)


def _verify_slower_than_claimed(answer: Any) -> str:
    try:
        X, y = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if X.ndim != 2 or not X.size or len(X) > _MOST_POINTS or y.shape != (len(X),) or not np.isin(y, [-1, 1]).all():
        return _WRONG_FORM
    if not (np.abs(X) <= 1e6).all():
        return _WRONG_FORM
    n = len(X)
    if n * (n - 1) / 2 <= _TIMES * n:
        return _TOO_FEW
    return "" if _perceptron_evaluations(Gaussian(1.0)(X), y, 1)[0] > _TIMES * n else _TOO_EASY


def one_class_in_a_heap():
    return 0.1 * np.arange(40)[:, None], np.ones(40)


def ten_points():
    return 100.0 * np.arange(10)[:, None], np.resize([1, -1], 10)


PIECES = (
    Piece(
        "feature_count",
        1,
        _feature_count,
        _feature_cases,
        [
            Mistake(
                powers_of_d,
                "This is d^p, the order of growth. It counts x₁x₂ and x₂x₁ separately and misses the lower degrees; "
                "the exact number is the binomial coefficient 'd + p choose p'.",
            ),
            Mistake(
                only_degree_p,
                "These are the monomials of degree exactly p. The features have all degrees 0, 1, …, p: that is like "
                "one more variable, the constant 1, so d + 1 variables at degree exactly p.",
            ),
        ],
    ),
    Piece(
        "training",
        2,
        _training,
        _cost_cases,
        [
            Mistake(
                trick_forgotten,
                "The third count is the same as the second. With the kernel trick an entry of K is an inner product "
                "of the inputs, d numbers and not D: n²d in place of n²D.",
            ),
            Mistake(
                systems_exchanged,
                "The sizes of the systems are exchanged. The primal one has an unknown for each feature, D³/3; the "
                "dual one, with the trick or without, an unknown for each point, n³/3.",
            ),
        ],
    ),
    Piece(
        "testing",
        1,
        _testing,
        _cost_cases,
        [
            Mistake(
                primal_remembers_points,
                "The primal count must not contain n: after training, w is known, and a prediction is one inner "
                "product of D entries, wᵀΦ(z).",
            ),
            Mistake(
                additions_forgotten,
                "Each count is half of what it should be: an inner product of m entries takes m multiplications and "
                "m − 1 additions, which the first rule rounds to 2m operations.",
            ),
        ],
    ),
    Piece(
        "test_points_needed",
        2,
        _test_points_needed,
        _testing_cases,
        [
            Mistake(
                w_for_nothing,
                "This compares the costs of one test point, 2D and 2nd. But w = Φᵀa is not free: it costs 2nD once. "
                "Compare 2nD + 2Dm with 2ndm.",
            ),
            Mistake(
                lectures_rule,
                "This is the lecture's rule: more than D/d training points and test points. The rule is necessary, but "
                "with n just above D/d it takes many more test points: solve 2nD + 2Dm < 2ndm for m.",
            ),
            Mistake(
                tie_counts,
                "If m = nD/(nd − D) is a whole number, both ways cost the same at this m, and the next m is the first "
                "with fewer operations: compare strictly.",
            ),
        ],
    ),
    Piece(
        "kernel_pays_up_to",
        2,
        _kernel_pays_up_to,
        _size_cases,
        [
            Mistake(
                as_without_the_trick,
                "n < D is the condition without the trick. With the trick, K costs n²d and not n²D, so the "
                "kernel stays cheaper for a while beyond n = D: compare n²d + n³/3 with nD² + D³/3.",
            ),
            Mistake(
                first_that_does_not_pay,
                "This is the first n for which the kernel is no longer cheaper. The last n for which it is cheaper "
                "comes just before.",
            ),
        ],
    ),
    Piece(
        "power_law",
        3,
        _power_law,
        _timing_cases,
        [
            Mistake(
                averaged_repeats,
                "This averages the repeats. Whatever disturbs a run makes it longer, never shorter, so the smallest "
                "time for each size is the one to keep.",
            ),
            Mistake(
                without_logarithms,
                "This fits a straight line to the seconds themselves. A power law seconds = c·n^q is a line only in "
                "the logarithms: log seconds = log c + q·log n.",
            ),
            Mistake(
                through_the_origin,
                "This forces the line through the origin, which means c = 1. Fit the intercept log c as well.",
            ),
        ],
        tolerance=1e-8,
        tolerance_reason="a line through a few points with logarithms between 2 and 8 has a condition number below "
        "1e4, so even the normal equations keep more than 8 digits",
    ),
    Piece(
        "perceptron_evaluations",
        3,
        _perceptron_evaluations,
        _perceptron_cases,
        [
            Mistake(
                every_point_every_time,
                "This counts n evaluations for every check. A point that was never misclassified has a coefficient of "
                "0 and needs no evaluation: a check costs |L|, the length of the list at that moment.",
            ),
            Mistake(
                repeats_on_the_list,
                "Here a point that is misclassified again enters the list again and is evaluated again. Its kernel "
                "value is the same: keep each point once, and add y_i to its coefficient.",
            ),
        ],
    ),
    Claim(
        "slower_than_claimed",
        2,
        _slower_than_claimed,
        _verify_slower_than_claimed,
        [
            Mistake(one_class_in_a_heap, _TOO_EASY),
            Mistake(ten_points, _TOO_FEW),
        ],
    ),
)

checks = seeded(PIECES)
