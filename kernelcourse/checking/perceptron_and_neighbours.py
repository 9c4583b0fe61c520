"""Assignment 03, perceptron and neighbours: its pieces and their usual mistakes (lectures I, H and K)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import neighbors, perceptron
from ..kernels import Gaussian, Linear
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_EXACT = "the answers are whole numbers, and every score or vote is exactly 0 or far from it"


def _labels(rng: np.random.Generator, n: int) -> np.ndarray:
    """Labels of both classes, in random order."""
    return rng.permutation(np.where(np.arange(n) % 2 == 0, 1, -1))


# Piece 1: the score


def _score_cases(rng: np.random.Generator) -> Iterator[Case]:
    shapes = {"one training point": (3, 1), "one new point": (1, 4), "as many of both": (3, 3), "": (4, 6)}
    for label, (m, n) in shapes.items():
        K_test = Gaussian(1.0)(rng.normal(size=(m, 2)), rng.normal(size=(n, 2)))
        yield Case((K_test, rng.integers(2, 5, size=n), _labels(rng, n)), label)
    X, Z = rng.integers(1, 4, size=(4, 2)), rng.integers(1, 4, size=(3, 2))
    yield Case((Z @ X.T, np.array([0, 3, 1, 2]), _labels(rng, 4)), "whole numbers")
    repeated = rng.normal(size=(2, 2))[[0, 1, 0]]
    yield Case((Gaussian(1.0)(repeated), np.array([1, 2, 3]), np.array([1, -1, 1])), "repeated points")


def _scores(K_test: Any, alpha: Any, y: Any) -> Any:
    return K_test @ (alpha * y)


def labels_forgotten(K_test, alpha, y):
    return K_test @ alpha


def counts_forgotten(K_test, alpha, y):
    return K_test @ y


def sign_taken(K_test, alpha, y):
    return np.sign(K_test @ (alpha * y))


# Piece 2: the kernel perceptron, with counts and with a list (lecture I, algorithm 1; lecture H)


def _perceptron_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([[float(rng.uniform(0.5, 2))]]), np.array([-1]), 5), "one point")
    yield Case((np.diag(rng.integers(1, 5, size=3)), np.array([1, -1, 1]), 5), "whole numbers")
    yield Case((*_takes_several_epochs(rng, 6), 1), "one epoch allowed")
    yield Case((*_takes_several_epochs(rng, 6), 2), "two epochs allowed")
    K, y = _takes_several_epochs(rng, 5)
    twice = [0, 1, 2, 3, 4, 0, 1]
    yield Case((K[np.ix_(twice, twice)], y[twice], 30), "repeated points")
    yield Case((*_takes_several_epochs(rng, 8), 30))


def _takes_several_epochs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A Gram matrix and labels for which the perceptron needs several epochs, so that the usual mistakes can be told
    apart."""
    while True:
        K, y = Gaussian(1.0)(rng.normal(size=(n, 2))), _labels(rng, n)
        fit = perceptron.kernel_perceptron(K, y, max_epochs=20)
        told_apart = each_point_once(K, y, 20) != new_list_every_epoch(K, y, 20)
        if fit.separated and fit.epochs > 3 and fit.alpha.max() > 2 and told_apart:
            return K, y


def _kernel_perceptron(K: Any, y: Any, max_epochs: int) -> Any:
    return perceptron.kernel_perceptron_by_the_book(K, y, max_epochs=max_epochs).alpha


def zero_is_right(K, y, max_epochs):
    alpha = np.zeros(len(y), dtype=int)
    for _ in range(max_epochs):
        for i in range(len(y)):
            if y[i] * np.sum(alpha * y * K[:, i]) < 0:
                alpha[i] += 1
    return alpha


def labels_missing_in_the_sum(K, y, max_epochs):
    alpha = np.zeros(len(y), dtype=int)
    for _ in range(max_epochs):
        before = alpha.copy()
        for i in range(len(y)):
            if y[i] * np.sum(alpha * K[:, i]) <= 0:
                alpha[i] += 1
        if np.array_equal(alpha, before):
            break
    return alpha


def scores_once_an_epoch(K, y, max_epochs):
    alpha = np.zeros(len(y), dtype=int)
    for _ in range(max_epochs):
        wrong = y * (K @ (alpha * y)) <= 0
        alpha = alpha + wrong
        if not wrong.any():
            break
    return alpha


def one_epoch_only(K, y, max_epochs):
    alpha = np.zeros(len(y), dtype=int)
    for i in range(len(y)):
        if y[i] * np.sum(alpha * y * K[:, i]) <= 0:
            alpha[i] += 1
    return alpha


def _mistake_list(K: Any, y: Any, max_epochs: int) -> Any:
    return np.array(perceptron.kernel_perceptron_list(K, y, max_epochs=max_epochs).mistakes_list)


def each_point_once(K, y, max_epochs):
    L: list[int] = []
    for _ in range(max_epochs):
        for i in range(len(y)):
            if y[i] * sum(y[j] * K[j, i] for j in L) <= 0 and i not in L:
                L.append(i)
    return L


def new_list_every_epoch(K, y, max_epochs):
    for _ in range(max_epochs):
        L: list[int] = []
        for i in range(len(y)):
            if y[i] * sum(y[j] * K[j, i] for j in L) <= 0:
                L.append(i)
    return L


def labels_missing_on_the_list(K, y, max_epochs):
    L: list[int] = []
    for _ in range(max_epochs):
        before = len(L)
        for i in range(len(y)):
            if y[i] * sum(K[j, i] for j in L) <= 0:
                L.append(i)
        if len(L) == before:
            break
    return L


# Piece 3: distances in feature space (lecture I, algorithm 2, line 4)


def _kernel_value_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(k: Any, Z: np.ndarray, X: np.ndarray, label: str = "") -> Case:
        return Case((k(Z, X), k.diag(Z), k.diag(X)), label)

    yield case(Linear(), rng.normal(size=(1, 1)), rng.normal(size=(1, 1)), "one point each, on a line")
    yield case(Linear(), rng.normal(size=(3, 2)), rng.normal(size=(1, 2)), "one training point")
    x, z = rng.integers(1, 6, size=(3, 1)), rng.integers(1, 6, size=(2, 1))
    yield Case((z @ x.T, z[:, 0] ** 2, x[:, 0] ** 2), "the linear kernel on whole numbers")
    X = rng.normal(size=(2, 2))[[0, 1, 0]]
    yield case(Linear() ** 2, X, X, "new points that are training points")
    yield case(Gaussian(1.0), rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), "a Gaussian kernel")
    yield case((1 + Linear()) ** 2, rng.normal(size=(3, 2)), rng.normal(size=(5, 2)))


def _squared_distances(K_test: Any, k_test: Any, k_train: Any) -> Any:
    return neighbors.squared_distances_to(K_test, k_test, k_train)


def two_forgotten(K_test, k_test, k_train):
    return k_test[:, None] - K_test + k_train[None, :]


def own_term_left_out(K_test, k_test, k_train):
    return k_train[None, :] - 2 * K_test


def root_taken(K_test, k_test, k_train):
    return np.sqrt(np.maximum(k_test[:, None] - 2 * K_test + k_train[None, :], 0))


def one_minus_the_kernel(K_test, k_test, k_train):
    return 2 - 2 * K_test


# Piece 4: neighbours and their vote (lecture I, algorithm 2)


def _distance_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.uniform(0, 4, size=(3, 1)), 1), "one training point")
    yield Case((rng.uniform(0, 4, size=(1, 5)), 2), "one new point")
    yield Case((rng.permuted(np.tile([1, 1, 2, 2, 5], (3, 1)), axis=1), 3), "whole numbers, with equal distances")
    yield Case((np.full((2, 4), float(rng.uniform(0, 4))), 2), "all at the same distance")
    yield Case((rng.uniform(0, 4, size=(3, 4)), 4), "all points are neighbours")
    yield Case((rng.uniform(0, 4, size=(4, 6)), 3))


def _nearest(D: Any, kappa: int) -> Any:
    return neighbors.nearest(D, kappa)


def ties_to_the_larger_index(D, kappa):
    n = D.shape[1]
    return n - 1 - np.argsort(D[:, ::-1], axis=1, kind="stable")[:, :kappa]


def distances_returned(D, kappa):
    return np.sort(D, axis=1)[:, :kappa]


def farthest(D, kappa):
    return np.argsort(-D, axis=1, kind="stable")[:, :kappa]


def _vote_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([[-1]]),), "one neighbour")
    yield Case((np.array([[-1, 1], [1, -1]]),), "two neighbours that disagree")
    yield Case((np.array([[-1, 1, 1], [1, -1, -1]]),), "the nearest is outvoted")
    yield Case((rng.choice([-1.0, 1.0], size=(1, 5)),), "one new point")
    yield Case((np.stack([_labels(rng, 4) for _ in range(4)]),), "four neighbours, two of each kind")
    yield Case((rng.choice([-1, 1], size=(6, 3)),))
    yield Case((rng.choice([-1, 1], size=(5, 4)),))


def _vote(labels: Any) -> Any:
    return neighbors.vote(labels)


def sign_can_be_zero(labels):
    return np.sign(np.mean(labels, axis=1))


def ties_to_plus(labels):
    return np.where(np.sum(labels, axis=1) >= 0, 1, -1)


def nearest_decides(labels):
    return labels[:, 0]


def mean_of_the_labels(labels):
    return np.mean(labels, axis=1)


# Piece 5: soft nearest neighbours (lecture H)


def _soft_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.uniform(0, 4, size=(2, 1)), np.array([-1]), 1.0), "one training point")
    yield Case((*_clear_votes(rng, 1, 4, 1.0), 1.0), "one new point")
    # Three points outvote a nearer one if exp(-gap / (2 sigma**2)) > 1/3. The smaller gap is small enough even without
    # the factor 2, the larger one only with it.
    gaps = np.array([[rng.uniform(0.3, 0.8)], [rng.uniform(1.3, 2.0)]])
    D = rng.uniform(0.5, 1) + gaps * [0, 1, 1, 1]
    yield Case((D, np.array([1, -1, -1, -1]), 1.0), "one near point against three")
    yield Case((np.sort(rng.permutation(9)[:5])[None, :], np.array([-1, 1, 1, -1, 1]), 0.01), "whole numbers")
    yield Case((*_clear_votes(rng, 2, 5, 3.0), 3.0), "a wide kernel")
    D = np.vstack([rng.uniform(0.1, 0.2, size=(1, 4)), rng.uniform(2, 4, size=(2, 4))])
    D[:, 2] /= 2  # this point is the nearest by much more than sigma
    yield Case((D, np.array([1, 1, -1, 1]), 0.005), "a narrow kernel")
    yield Case((*_clear_votes(rng, 4, 6, 0.8), 0.8))
    # Again three points against one, with a gap just below and a gap just above the limit 2 sigma**2 log(3): only the
    # right width gives the right label in both rows.
    for sigma in (float(rng.uniform(1.6, 2.4)), float(rng.uniform(0.4, 0.6))):
        gaps = 2 * sigma**2 * np.log(3) * np.array([[0.85], [1.2]])
        D = rng.uniform(0.5, 1) + gaps * [0, 1, 1, 1]
        yield Case((D, np.array([1, -1, -1, -1]), sigma), "three points that just win or just lose the vote")


def _clear_votes(rng: np.random.Generator, m: int, n: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and labels for which every soft vote is far from a tie."""
    y = _labels(rng, n)
    rows: list[np.ndarray] = []
    while len(rows) < m:
        weights = np.exp(-(row := rng.uniform(0, 4, size=n)) / (2 * sigma**2))
        if abs(weights @ y) > 0.01 * weights.sum():
            rows.append(row)
    return np.array(rows), y


def _soft_label(D: Any, y: Any, sigma: float) -> Any:
    D = np.asarray(D, dtype=float)
    nearer = np.sqrt(D - D.min(axis=1, keepdims=True))  # a common factor does not change the sign of a row's sum
    K = [Gaussian(sigma)([[0.0]], row[:, None])[0] for row in nearer]
    return np.sign(neighbors.soft_neighbors(K, y))


def underflowing(D, y, sigma):
    return np.sign(np.exp(-D / (2 * sigma**2)) @ y)


def one_shift_for_all_rows(D, y, sigma):
    return np.sign(np.exp(-(D - D.min()) / (2 * sigma**2)) @ y)


def two_of_the_width_missing(D, y, sigma):
    return np.sign(np.exp(-(D - D.min(axis=1, keepdims=True)) / sigma**2) @ y)


def one_nearest(D, y, sigma):
    return y[np.argmin(D, axis=1)]


# Piece 6: what the perceptron achieves and what it needs (lecture K)


def _report_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([[float(rng.uniform(0.5, 1))]]), np.array([1]), np.array([1]), np.array([-1])), "one point")
    K_test = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 1, 1]])
    yield Case(
        (K_test, np.array([2, 3, 0]), np.array([1, -1, 1]), np.array([1, 1, -1, 1])), "whole numbers, a zero score"
    )
    for label, m, n in (("one test point", 1, 4), ("repeated points", 4, 4), ("", 8, 6)):
        X, Z = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
        X = X[np.arange(n) // 2] if label == "repeated points" else X
        alpha = rng.permutation(np.arange(n))  # one point was never misclassified, several were more than once
        yield Case((Gaussian(1.0)(Z, X), alpha, np.sign(X[:, 0]).astype(int), rng.choice([-1, 1], size=m)), label)


def _report(K_test: Any, alpha: Any, y: Any, y_test: Any) -> tuple[float, int]:
    return float(np.mean(y_test * _scores(K_test, alpha, y) <= 0)), int(np.count_nonzero(alpha))


def mistakes_counted(K_test, alpha, y, y_test):
    return float(np.mean(y_test * (K_test @ (alpha * y)) <= 0)), int(alpha.sum())


def zero_score_is_right(K_test, alpha, y, y_test):
    return float(np.mean(y_test * (K_test @ (alpha * y)) < 0)), int(np.count_nonzero(alpha))


def share_of_right_ones(K_test, alpha, y, y_test):
    return float(np.mean(y_test * (K_test @ (alpha * y)) > 0)), int(np.count_nonzero(alpha))


# Piece 7: the claim that an odd kappa gives algorithm 2 one answer

_WRONG_FORM = (
    "Return four things: X, training points as the rows of an (n, d) array; y, a label −1 or +1 for each; x, one new "
    "point with d entries; and the whole number kappa, from 1 to n. All entries must be finite."
)
_EVEN = (
    "Your kappa is even. True, the sum of the votes can then be 0; but the claim is about odd kappa, where it cannot. "
    "Look at the other gap in algorithm 2: which point is the argmin?"
)
_SAME_POINTS = "Two of your training points coincide. The claim can be broken without that: choose different points."
_ONE_ANSWER = (
    "Here algorithm 2 gives the same answer in whatever order the points are listed. You need points of both labels at "
    "exactly the same distance from x, enough of them that not all are among the kappa nearest, and a vote that they "
    "decide."
)


def _depends_on_the_order() -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    return np.array([[-1.0], [1.0]]), np.array([-1, 1]), np.array([0.0]), 1


def _verify_depends_on_the_order(answer: Any) -> str:
    try:
        X, y, x, kappa = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if X.ndim != 2 or 0 in X.shape or y.shape != X.shape[:1] or x.shape != X.shape[1:] or kappa.shape != ():
        return _WRONG_FORM
    # so that squares stay finite; NaN is not in the range either
    within = np.abs(X).max() < 1e100 and np.abs(x).max() < 1e100
    if not within or not np.isin(y, (-1, 1)).all() or kappa not in range(1, len(X) + 1):
        return _WRONG_FORM
    if kappa % 2 == 0:
        return _EVEN
    if len(np.unique(X, axis=0)) < len(X):
        return _SAME_POINTS
    least, most = _range_of_votes(np.sum((X - x) ** 2, axis=1), y, int(kappa))
    return "" if least < 0 < most else _ONE_ANSWER


def _range_of_votes(D: np.ndarray, y: np.ndarray, kappa: int) -> tuple[float, float]:
    """The smallest and the largest sum of labels of kappa nearest points, over all ways to break ties."""
    last = np.sort(D)[kappa - 1]
    tied = np.isclose(D, last, rtol=1e-12, atol=0)
    nearer = ~tied & (last > D)
    certain, open_places = y[nearer].sum(), kappa - int(nearer.sum())
    candidates = np.sort(y[tied])
    return certain + candidates[:open_places].sum(), certain + candidates[::-1][:open_places].sum()


def two_votes_of_two():
    return np.array([[-1.0], [2.0]]), np.array([-1, 1]), np.array([0.0]), 2


def tied_but_of_one_mind():
    return np.array([[-1.0], [1.0], [3.0]]), np.array([1, 1, -1]), np.array([0.0]), 1


def doubled_point():
    return np.array([[1.0], [1.0]]), np.array([-1, 1]), np.array([0.0]), 1


def kappa_forgotten():
    return np.array([[-1.0], [1.0]]), np.array([-1, 1]), np.array([0.0])


PIECES = (
    Piece(
        "scores",
        1,
        _scores,
        _score_cases,
        [
            Mistake(
                labels_forgotten,
                "This is Σ α_i k(x_i, x): the labels are missing. A mistake on a point of class −1 must count as −1; "
                "the score is Σ α_i y_i k(x_i, x).",
            ),
            Mistake(
                counts_forgotten,
                "This is Σ y_i k(x_i, x), every point counted once. Weight point i by α_i, the number of mistakes that "
                "were made on it.",
            ),
            Mistake(
                sign_taken,
                "This is the sign of the score, the predicted label. Return the score itself: Σ α_i y_i k(x_i, x) "
                "without sgn.",
            ),
        ],
    ),
    Piece(
        "kernel_perceptron",
        3,
        _kernel_perceptron,
        _perceptron_cases,
        [
            Mistake(
                zero_is_right,
                "Nothing is ever learned here: α stays 0 on every input. With α = 0 every score is 0, and that counts "
                "as a mistake: line 4 of algorithm 1 has y_i f(x_i) ≤ 0, and line 5 adds 1 to α_i.",
            ),
            Mistake(
                labels_missing_in_the_sum,
                "This matches y_i Σ α_j k(x_j, x_i): inside the sum the labels y_j are missing. In line 4 of algorithm "
                "1, point j has the coefficient α_j y_j.",
            ),
            Mistake(
                scores_once_an_epoch,
                "This computes all scores at the start of an epoch and makes all updates together. Algorithm 1 "
                "updates at every mistake and judges the next point with the new α.",
            ),
            Mistake(
                one_epoch_only,
                "This passes over the points once. Algorithm 1 repeats (line 2) until an epoch makes no mistake, here "
                "at most max_epochs times.",
            ),
        ],
        tolerance_reason=_EXACT,
    ),
    Piece(
        "mistake_list",
        2,
        _mistake_list,
        _perceptron_cases,
        [
            Mistake(
                each_point_once,
                "Here a point enters the list at most once. Lecture H's L keeps repetitions: every update adds "
                "y φ(x) to w again, and it may take several to get a point right.",
            ),
            Mistake(
                new_list_every_epoch,
                "The list holds the mistakes of one epoch only. L grows during the whole training, because "
                "w = Σ y_j φ(x_j) runs over all mistakes so far: create it before the loop and return it afterwards.",
            ),
            Mistake(
                labels_missing_on_the_list,
                "This sums k(x_j, x) over the list without the labels. A mistake adds y_j φ(x_j) to w, so the score "
                "is the sum of y_j k(x_j, x) over L.",
            ),
        ],
        tolerance_reason=_EXACT,
    ),
    Piece(
        "squared_distances",
        2,
        _squared_distances,
        _kernel_value_cases,
        [
            Mistake(
                two_forgotten,
                "This matches k(x, x) − k(x, x_j) + k(x_j, x_j). In ‖φ(x) − φ(x_j)‖² the mixed term appears twice: "
                "−2 k(x, x_j).",
            ),
            Mistake(
                own_term_left_out,
                "The term k(x, x) is missing. It is the same for all x_j, so the order of the neighbours is right, but "
                "these are not squared distances: they can be negative.",
            ),
            Mistake(
                root_taken,
                "These are the distances. The question asks for their squares, which have the same order and need no "
                "root: leave out the square root in line 4.",
            ),
            Mistake(
                one_minus_the_kernel,
                "This matches 2 − 2k(x, x_j), right only if k(x, x) = 1 everywhere, as for a Gaussian. In general it "
                "is k(x, x) − 2k(x, x_j) + k(x_j, x_j).",
            ),
        ],
    ),
    Piece(
        "nearest",
        1,
        _nearest,
        _distance_cases,
        [
            Mistake(
                ties_to_the_larger_index,
                "Among points at the same distance this takes the one with the larger index first. Our rule takes the "
                "smaller index first, as a stable sort does: np.argsort(..., kind='stable').",
            ),
            Mistake(
                distances_returned,
                "These are the smallest distances. Whose are they? Return the indices of the points: np.argsort, not "
                "np.sort.",
            ),
            Mistake(farthest, "These are the points farthest away. Line 4 takes the argmin: the smallest come first."),
        ],
        tolerance_reason="the answers are whole numbers, and equal distances are exactly equal",
    ),
    Piece(
        "vote",
        2,
        _vote,
        _vote_cases,
        [
            Mistake(
                sign_can_be_zero,
                "This is algorithm 2 as it stands. Where the vote is tied, its sgn is 0, which is not a label: there, "
                "let the nearest neighbour (column 0) decide.",
            ),
            Mistake(
                ties_to_plus,
                "Where the vote is tied, this always says +1. That favours one class; our rule is that the nearest "
                "neighbour (column 0) decides.",
            ),
            Mistake(
                nearest_decides,
                "This asks the nearest neighbour alone. It decides only where the vote is tied; otherwise the majority "
                "of the κ labels does.",
            ),
            Mistake(
                mean_of_the_labels, "This is the mean of the labels. The answer is a label: the sign of that mean."
            ),
        ],
        tolerance_reason="the answers are -1 and 1",
    ),
    Piece(
        "soft_label",
        3,
        _soft_label,
        _soft_cases,
        [
            Mistake(
                underflowing,
                "The formula is right, but for a narrow kernel every exp(−D/2σ²) rounds to 0, and so does the vote. "
                "Multiply all terms of a row by one positive number, exp(D_min/2σ²): the sign stays, and the nearest "
                "term becomes 1.",
            ),
            Mistake(
                one_shift_for_all_rows,
                "A good idea: the smallest distance is subtracted before exp. But it is the smallest of the whole "
                "matrix; in the rows of points farther away all terms still round to 0. Take the smallest of each row.",
            ),
            Mistake(
                two_of_the_width_missing,
                "This matches exp(−‖x−x_i‖²/σ²). Here the Gaussian is that of lecture B, with 2σ² in the denominator: "
                "with the narrower one the nearest point wins too often.",
            ),
            Mistake(
                one_nearest,
                "This is 1-NN itself, the limit σ → 0. For larger σ several points a little farther away can outvote "
                "the nearest: sum y_i k(x, x_i) over all of them.",
            ),
        ],
        tolerance_reason="the answers are -1 and 1, and every soft vote is farther from 0 than 1 % of the sum of its "
        "weights",
    ),
    Piece(
        "report",
        2,
        _report,
        _report_cases,
        [
            Mistake(
                mistakes_counted,
                "The error is right. The second number is Σ α_i, all mistakes made in training; but a point with α_i "
                "= 5 is stored once. Count the points with α_i > 0.",
            ),
            Mistake(
                zero_score_is_right,
                "A test point with a score of exactly 0 counts as right here. Such a point gets no label, so it is an "
                "error for either class: y f(x) ≤ 0.",
            ),
            Mistake(
                share_of_right_ones,
                "The first number is the share of points that are right. The error is the share that are wrong.",
            ),
        ],
    ),
    Claim(
        "depends_on_the_order",
        2,
        _depends_on_the_order,
        _verify_depends_on_the_order,
        [
            Mistake(two_votes_of_two, _EVEN),
            Mistake(tied_but_of_one_mind, _ONE_ANSWER),
            Mistake(doubled_point, _SAME_POINTS),
            Mistake(kappa_forgotten, _WRONG_FORM),
        ],
    ),
)

checks = seeded(PIECES)
