"""Assignment 09, choosing kernels: its pieces and their usual mistakes (topics S12, K10, K11 and K12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import ridge
from ..gram import target_alignment
from ..kernels import Gaussian, Linear, Positions
from ..selection import leave_one_out as exact_leave_one_out
from ..selection import mean_squared_error
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_SOLVE_TOLERANCE = 1e-8
_SOLVE_REASON = (
    "the systems have condition numbers below 1e4 (lam >= 0.1, entries of order 1), so even an explicit inverse "
    "keeps more than 8 of the 16 digits"
)


def _gram(rng: np.random.Generator, n: int) -> np.ndarray:
    Phi = rng.normal(size=(n, 3))
    return Phi @ Phi.T


def _fold_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([0]), 1), "one point, one fold")
    yield Case((rng.permutation(4), 4), "as many folds as points")
    for n, k in [(5, 2), (6, 3), (7, 3), (9, 2), (11, 4)]:
        yield Case((rng.permutation(n), k), "" if n % k else "folds of equal size")


def _validation_cases(rng: np.random.Generator) -> Iterator[Case]:
    def lams(count: int) -> np.ndarray:
        return rng.uniform(0.1, 3, size=count)

    yield Case((_gram(rng, 2), rng.normal(size=2), np.array([1, 0]), lams(1)), "two points, one ridge")
    whole = rng.integers(-2, 3, size=(4, 2))
    t = np.array([1, -2, 0, 3])
    yield Case((whole @ whole.T, t, np.array([0, 1, 1, 1]), np.array([1, 2])), "whole numbers")
    K = _gram(rng, 3)[np.ix_([0, 1, 0, 2, 2], [0, 1, 0, 2, 2])]
    yield Case((K, rng.normal(size=5), rng.permutation([0, 0, 0, 1, 2]), lams(2)), "repeated points")
    yield Case((_gram(rng, 6), rng.normal(size=6), rng.permutation([0, 0, 1, 1, 2, 2]), lams(3)), "folds of equal size")
    yield Case((_gram(rng, 7), rng.normal(size=7), rng.permutation([0, 0, 0, 0, 1, 1, 2]), lams(3)))


def _residual_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([[float(rng.uniform(1, 2))]]), rng.normal(size=1), float(rng.uniform(0.1, 3))), "one point")
    yield Case((np.array([[2, 1], [1, 2]]), np.array([1, 3]), 1), "whole numbers")
    K = _gram(rng, 3)[np.ix_([0, 1, 0], [0, 1, 0])]
    yield Case((K, rng.normal(size=3), float(rng.uniform(0.1, 3))), "repeated points")
    for n in (3, 5, 6):
        yield Case((_gram(rng, n), rng.normal(size=n), float(rng.uniform(0.1, 3))))


def _table_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(errors: np.ndarray, label: str = "") -> Case:
        _, rows, columns = errors.shape
        return Case((errors, np.cumsum(rng.uniform(0.1, 1, rows)), np.cumsum(rng.uniform(0.1, 1, columns))), label)

    yield case(rng.uniform(size=(1, 3, 2)), "one fold")
    yield case(rng.uniform(size=(2, 1, 1)), "one width, one ridge")
    yield case(np.array([[[5, 2, 4], [2, 2, 3]], [[5, 4, 4], [4, 4, 3]]]), "whole numbers, and some equal means")
    yield case(np.array([[[1, 3], [3, 9]], [[3, 1], [1, 9]], [[2, 2], [2, 9]]]), "equal means again")
    for k in (3, 4, 5):
        yield case(rng.uniform(size=(k, 4, 3)))


def _parts_cases(rng: np.random.Generator) -> Iterator[Case]:
    def numbers() -> list[float]:
        return [float(u) for u in rng.uniform(0.5, 2, size=3)]

    for m, (label, X) in enumerate(
        [
            ("one point, one input", rng.normal(size=(1, 1))),
            ("one point", rng.normal(size=(1, 3))),
            ("one input", rng.normal(size=(4, 1))),
            ("whole numbers", rng.integers(-2, 3, size=(3, 2))),
            ("repeated points", rng.normal(size=(2, 2))[[0, 1, 0]]),
            ("", rng.normal(size=(6, 2))),
        ],
        start=1,
    ):
        yield Case((X, rng.normal(size=(m, X.shape[1])), rng.normal(size=len(X)), *numbers()), label)


def _sequence_cases(rng: np.random.Generator) -> Iterator[Case]:
    def sequences(count: int, blocks: int = 8) -> list[str]:
        return ["".join(rng.choice(list("123"), size=blocks)) for _ in range(count)]

    yield Case((["12312312"], ["12312312"]), "a chimera and itself")
    yield Case((["1112"], ["2111"]), "the same blocks in other places")
    yield Case((["11111111"], ["22222222", "33333333"]), "nothing in common")
    yield Case((sequences(2, 3), sequences(3, 3)), "three blocks")
    yield Case((sequences(3), sequences(1)))
    yield Case((sequences(3), sequences(4)))


def _alignment_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((_gram(rng, 2)[None], np.array([-1.0, 1.0])), "one matrix, two points")
    t = rng.normal(size=4) + 1
    yield Case((np.stack([np.outer(t, t), np.eye(4), np.ones((4, 4)) + np.eye(4)]), t), "one that knows the targets")
    Phi = rng.integers(1, 4, size=(2, 4, 2)) + np.arange(4)[:, None]
    yield Case((Phi @ Phi.swapaxes(1, 2), np.array([1, 1, 2, 4])), "whole numbers")
    for m, n in [(1, 5), (3, 4)]:
        yield Case((np.stack([_gram(rng, n) for _ in range(m)]), rng.normal(size=n) + 2))


# Piece 1: folds and the error on points held out (K12)


def _folds(order: Any, k: int) -> np.ndarray:
    fold = np.empty(len(order), dtype=int)
    for number, held_out in enumerate(np.array_split(order, k)):
        fold[held_out] = number
    return fold


def order_ignored(order, k):
    n = len(order)
    return np.concatenate([np.full(len(part), j) for j, part in enumerate(np.array_split(np.arange(n), k))])


def dealt_like_cards(order, k):
    fold = np.empty(len(order), dtype=int)
    fold[order] = np.arange(len(order)) % k
    return fold


def _cross_validation(K: Any, t: Any, fold: Any, lams: Any) -> np.ndarray:
    def error(number: int, lam: float) -> float:
        test, train = fold == number, fold != number
        a = ridge.dual_weights(K[np.ix_(train, train)], t[train], ridge=lam)
        return mean_squared_error(t[test], ridge.predict(K[np.ix_(test, train)], a))

    return np.array([np.mean([error(number, lam) for number in range(fold.max() + 1)]) for lam in lams])


def tested_on_seen_points(K, t, fold, lams):
    errors = []
    for lam in lams:
        residuals = t - K @ np.linalg.solve(K + lam * np.eye(len(t)), t)
        errors.append(np.mean([np.mean(residuals[fold == j] ** 2) for j in range(fold.max() + 1)]))
    return np.array(errors)


def mean_over_points(K, t, fold, lams):
    squares = np.zeros((len(lams), len(t)))
    for row, lam in enumerate(lams):
        for j in range(fold.max() + 1):
            test, train = fold == j, fold != j
            a = np.linalg.solve(K[np.ix_(train, train)] + lam * np.eye(train.sum()), t[train])
            squares[row, test] = (t[test] - K[np.ix_(test, train)] @ a) ** 2
    return squares.mean(axis=1)


# Piece 2: leave-one-out from a single fit (K12)


def _leave_one_out(K: Any, t: Any, lam: float) -> np.ndarray:
    if len(t) == 1:
        return np.asarray(t, dtype=float)  # without its only point the fit is 0
    return exact_leave_one_out(K, t, ridges=[lam]).residuals[:, 0]


def training_residuals(K, t, lam):
    return t - K @ np.linalg.solve(K + lam * np.eye(len(t)), t)


def inverse_of_the_diagonal(K, t, lam):
    A = K + lam * np.eye(len(t))
    return np.linalg.solve(A, t) * np.diag(A)


# Piece 3: choosing from a table (S12, K12)


def _choose(errors: Any, sigmas: Any, ridges: Any) -> tuple[float, float]:
    means = np.mean(errors, axis=0)
    i, j = np.argwhere(means == means.min())[-1]
    return float(sigmas[i]), float(ridges[j])


def first_of_equals(errors, sigmas, ridges):
    means = errors.mean(axis=0)
    i, j = np.unravel_index(np.argmin(means), means.shape)
    return sigmas[i], ridges[j]


def luckiest_fold(errors, sigmas, ridges):
    best = errors.min(axis=0)
    i, j = np.argwhere(best == best.min())[-1]
    return sigmas[i], ridges[j]


def one_after_the_other(errors, sigmas, ridges):
    means = errors.mean(axis=0)
    rows, columns = means.mean(axis=1), means.mean(axis=0)
    return sigmas[np.flatnonzero(rows == rows.min())[-1]], ridges[np.flatnonzero(columns == columns.min())[-1]]


# Piece 4: the two parts of a semi-parametric model (K10)


def _parts(X: Any, Z: Any, a: Any, h: float, c1: float, c2: float) -> tuple[np.ndarray, np.ndarray]:
    nonparametric = ridge.predict((c1 * Gaussian.from_h(h))(Z, X), a)
    return nonparametric, c2 * ridge.primal_from_dual(a, Linear().features(X))


def sigma_for_h(X, Z, a, h, c1, c2):
    squares = np.sum((Z[:, None] - X[None]) ** 2, axis=2)
    return c1 * np.exp(-squares / (2 * h**2)) @ a, c2 * X.T @ a


def constant_missing_in_w(X, Z, a, h, c1, c2):
    squares = np.sum((Z[:, None] - X[None]) ** 2, axis=2)
    return c1 * np.exp(-squares / h**2) @ a, X.T @ a


def constants_exchanged(X, Z, a, h, c1, c2):
    squares = np.sum((Z[:, None] - X[None]) ** 2, axis=2)
    return c2 * np.exp(-squares / h**2) @ a, c1 * X.T @ a


# Piece 5: kernels for chimeras, and how they align with the targets (K11, K12)


def _pair_kernel(S: Any, T: Any) -> np.ndarray:
    return (Positions() ** 2)(S, T)


def additive_only(S, T):
    return np.array([[float(sum(p == q for p, q in zip(s, t, strict=True))) for t in T] for s in S])


def blocks_in_any_place(S, T):
    return np.array([[float(sum(s.count(p) * t.count(p) for p in "123")) ** 2 for t in T] for s in S])


def _alignments(Ks: Any, t: Any) -> np.ndarray:
    return np.array([target_alignment(K, t) for K in Ks])


def nothing_centred(Ks, t):
    T = np.outer(t, t)
    return np.array([np.sum(K * T) / np.linalg.norm(K) / np.linalg.norm(T) for K in Ks])


def only_targets_centred(Ks, t):
    T = np.outer(t - t.mean(), t - t.mean())
    return np.array([np.sum(K * T) / np.linalg.norm(K) / np.linalg.norm(T) for K in Ks])


# Piece 6: the claim that the model with the smallest training error is the one to choose

_SIGMAS = (0.1, 0.3, 1.0, 3.0)
_RIDGE = 0.1
_WRONG_FORM = (
    "Return two vectors of the same length, between 3 and 30: positions x between -10 and 10, and targets t between "
    "-1000 and 1000."
)
_SAME_CHOICE = (
    "On your data, the training error and the leave-one-out error choose the same width. Without noise, "
    "the two often agree. What can a narrow kernel learn by heart that a neighbouring point does not confirm?"
)
_TOO_CLOSE = (
    "The two errors choose different widths, but the difference is small: the leave-one-out error of the width with "
    "the smallest training error is less than twice the best. Less noise on a smooth curve can make the ratio larger."
)


def _misled() -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-3, 3, 13)
    return x, np.sin(x) + 0.15 * np.resize([1, -1], 13)


def _verify_misled(answer: Any) -> str:
    try:
        x, t = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if x.ndim != 1 or not 3 <= len(x) <= 30 or t.shape != x.shape:
        return _WRONG_FORM
    if not ((np.abs(x) <= 10).all() and (np.abs(t) <= 1000).all()):
        return _WRONG_FORM
    training, held_out = [], []
    for sigma in _SIGMAS:
        K = Gaussian(sigma)(x[:, None])
        training.append(mean_squared_error(t, K @ ridge.dual_weights(K, t, ridge=_RIDGE)))
        held_out.append(exact_leave_one_out(K, t, ridges=[_RIDGE]).errors[0])
    chosen = int(np.argmin(training))
    if chosen == int(np.argmin(held_out)):
        return _SAME_CHOICE
    return "" if held_out[chosen] >= 2 * min(held_out) else _TOO_CLOSE


def without_noise():
    x = np.linspace(-3, 3, 13)
    return x, np.sin(x)


def too_much_noise():
    x = np.linspace(-3, 3, 13)
    return x, np.sin(x) + 0.3 * np.resize([1, -1], 13)


PIECES = (
    Piece(
        "folds",
        1,
        _folds,
        _fold_cases,
        [
            Mistake(
                order_ignored,
                "This cuts up the positions 0, 1, 2, …, not the points: entry j of your result belongs to order[j]. "
                "Write the fold's number at the places that its piece of `order` names: fold[piece] = number.",
            ),
            Mistake(
                dealt_like_cards,
                "This deals the points out like cards, one to each fold in turn. Here the order is cut into k "
                "consecutive pieces, as np.array_split does.",
            ),
        ],
    ),
    Piece(
        "cross_validation",
        3,
        _cross_validation,
        _validation_cases,
        [
            Mistake(
                tested_on_seen_points,
                "The weights were fitted to all points, including those of the fold, so this is a training error in "
                "disguise. For each fold, solve with K[train, train] and t[train] alone.",
            ),
            Mistake(
                mean_over_points,
                "This averages over the points. The algorithm averages the mean squared errors of the folds, each "
                "fold with the same weight; with folds of different sizes the two are not the same.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "leave_one_out",
        2,
        _leave_one_out,
        _residual_cases,
        [
            Mistake(
                training_residuals,
                "These are the training residuals t − Ka = λa, of a fit that has seen every point. When "
                "point i is left out, its residual is a_i/G_ii with G = (K + λI)⁻¹.",
            ),
            Mistake(
                inverse_of_the_diagonal,
                "This takes 1/(K + λI)_ii for G_ii. An entry of the inverse is not the inverse of the entry: invert "
                "the matrix first, then take its diagonal.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "choose",
        2,
        _choose,
        _table_cases,
        [
            Mistake(
                first_of_equals,
                "Of several equal means, this takes the first, which has the narrowest kernel. Among equals the "
                "smoothest wins: the largest sigma, and for that sigma the largest ridge.",
            ),
            Mistake(
                luckiest_fold,
                "This chooses by the smallest error in any single fold, which may just be a lucky one. Average over "
                "the folds (axis 0) first, then look for the minimum.",
            ),
            Mistake(
                one_after_the_other,
                "This chooses the width by the mean over all ridges, and the ridge by the mean over all widths. The "
                "best ridge depends on the width, so look for the smallest entry of the whole table.",
            ),
        ],
    ),
    Piece(
        "parts",
        2,
        _parts,
        _parts_cases,
        [
            Mistake(
                sigma_for_h,
                "This matches exp(−‖x−z‖²/2h²). Lecture K's Gaussian has no factor 2: it is exp(−‖x−z‖²/h²), with h² = "
                "2σ².",
            ),
            Mistake(
                constant_missing_in_w,
                "The first part is right, but w = Σ a_i x_i lacks its constant: the linear kernel enters as c₂xᵀz, so "
                "w = c₂ Σ a_i x_i.",
            ),
            Mistake(
                constants_exchanged,
                "The constants are exchanged: c₁ belongs to the Gaussian and c₂ to the linear kernel.",
            ),
        ],
    ),
    Piece(
        "pair_kernel",
        2,
        _pair_kernel,
        _sequence_cases,
        [
            Mistake(
                additive_only,
                "This is the number of blocks in common, the kernel of additive effects. Its square has a feature for "
                "each pair of blocks as well: square every entry.",
            ),
            Mistake(
                blocks_in_any_place,
                "This compares how often each parent occurs and ignores the places. A block in common is the same "
                "parent at the same place: go through both sequences side by side.",
            ),
        ],
    ),
    Piece(
        "alignments",
        2,
        _alignments,
        _alignment_cases,
        [
            Mistake(
                nothing_centred,
                "Nothing is centred here. A constant in K or in t then counts as agreement: centre both, t − mean(t) "
                "and HKH with H = np.eye(n) - 1/n.",
            ),
            Mistake(
                only_targets_centred,
                "Only t is centred. The inner product does not notice, but the norm of K does: centre K too, HKH with "
                "H = np.eye(n) - 1/n.",
            ),
        ],
        tolerance=1e-8,
        tolerance_reason="centring entries of order 10 loses a few of the 16 digits; 8 are left whatever the route",
    ),
    Claim(
        "misled",
        2,
        _misled,
        _verify_misled,
        [
            Mistake(without_noise, _SAME_CHOICE),
            Mistake(too_much_noise, _TOO_CLOSE),
        ],
    ),
)

checks = seeded(PIECES)
