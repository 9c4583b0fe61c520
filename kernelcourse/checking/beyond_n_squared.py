"""Assignment 11, beyond n²: its pieces and their usual mistakes (the Nyström method, random Fourier features)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernels import Gaussian
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece


def _point_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1,), "one point")
    yield Case((1_000_000,), "a million")
    for _ in range(4):
        yield Case((int(rng.integers(2, 100_000)),))


def _size_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1, 1, 8), "a single value, which just fits in memory")
    yield Case((1_000_000, 1000, 256 * 2**20), "the library's default")
    yield Case((1000, 10, 8000), "blocks that come out even")
    for _ in range(5):
        rows, columns = int(rng.integers(2, 60)), int(rng.integers(2, 40))
        n = int(rng.integers(2, 9)) * rows + int(rng.integers(1, rows))  # the last block is not full
        yield Case(
            (n, columns, 8 * columns * rows + int(rng.integers(0, 8 * columns))), "a last block that is not full"
        )
    columns = int(rng.integers(2, 40))
    yield Case((5, columns, 3 * 8 * columns - 1), "memory for almost one more row")
    yield Case((13, columns, 3 * 8 * columns), "one row too many for four blocks")


def _landmark_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(n: int, m: int, d: int, label: str = "") -> Case:
        # Landmarks on a grid, well apart, so that all correct routes agree.
        Z = np.argwhere(np.ones((3,) * d))[:m] * 2.0 + rng.uniform(-0.3, 0.3, size=(m, d))
        X = np.vstack([Z, rng.uniform(-1, 5, size=(n - m, d))])
        return Case((Gaussian(1.0)(Z), Gaussian(1.0)(X, Z), rng.normal(size=n), float(rng.uniform(0.2, 2))), label)

    yield case(1, 1, 1, "one point, its own landmark")
    yield Case(
        (np.array([[2, 1], [1, 3]]), np.array([[2, 1], [1, 3], [0, 1]]), np.array([1, -2, 4]), 1), "whole numbers"
    )
    yield case(6, 1, 2, "one landmark")
    yield case(5, 5, 2, "every point a landmark")
    yield case(12, 3, 1)
    yield case(20, 6, 2)
    yield case(30, 9, 2)


def _block_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(rows: int, m: int, label: str = "") -> Case:
        before = rng.normal(size=(7, m))
        return Case((before.T @ before, rng.normal(size=m), rng.normal(size=(rows, m)), rng.normal(size=rows)), label)

    yield case(1, 3, "a block of one row")
    yield case(4, 1, "one feature")
    yield Case(
        (np.zeros((2, 2)), np.zeros(2), np.array([[1, 2], [3, 4], [0, 1]]), np.array([1, 0, 2])), "the first block"
    )
    yield case(3, 5, "fewer rows than features")
    yield case(8, 4)
    yield case(12, 6)


def _feature_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.normal(size=(1, 2)), rng.normal(size=(2, 3))), "one point")
    yield Case((rng.normal(size=(4, 1)), rng.normal(size=(1, 5))), "one input")
    yield Case((rng.normal(size=(5, 3)), rng.normal(size=(3, 1))), "one frequency")
    yield Case((np.array([[0, 0], [1, 2], [1, 2]]), np.array([[1, 3], [0, -2]])), "whole numbers, a point twice")
    yield Case((rng.normal(size=(6, 2)), rng.normal(size=(2, 4))))
    yield Case((rng.normal(size=(9, 4)), rng.normal(size=(4, 7))))


def _variance_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.zeros(3), 1.0, 10), "a point with itself")
    yield Case((np.array([1, 2]), 2, 4), "whole numbers")
    yield Case((np.array([50.0]), 0.5, 100), "two points far apart")
    for d in (1, 2, 3, 5):
        m = 2 * int(rng.integers(2, 200))
        yield Case((rng.normal(size=d), float(rng.uniform(0.5, 2)), m))


# Piece 1: the memory wall and blocks


def _gram_bytes(n: int) -> int:
    return 8 * n * n


def values_not_bytes(n):
    return n * n


def one_triangle(n):
    return 4 * n * (n + 1)


def _block_count(n: int, m: int, memory: int) -> int:
    return -(-n // (memory // (8 * m)))


def last_block_lost(n, m, memory):
    return n // (memory // (8 * m))


def eight_forgotten(n, m, memory):
    return -(-n // (memory // m))


# Piece 2: Nyström ridge regression


def _nystrom_weights(K_ZZ: Any, K_XZ: Any, t: Any, lam: float) -> np.ndarray:
    return np.linalg.solve(K_XZ.T @ K_XZ + lam * K_ZZ, K_XZ.T @ t)


def identity_for_penalty(K_ZZ, K_XZ, t, lam):
    return np.linalg.solve(K_XZ.T @ K_XZ + lam * np.eye(len(K_ZZ)), K_XZ.T @ t)


def penalty_forgotten(K_ZZ, K_XZ, t, lam):
    return np.linalg.lstsq(K_XZ, t, rcond=None)[0]


def landmarks_alone(K_ZZ, K_XZ, t, lam):
    return np.linalg.solve(K_ZZ + lam * np.eye(len(K_ZZ)), t[: len(K_ZZ)])


# Piece 3: one block at a time


def _add_block(A: Any, b: Any, Phi: Any, t: Any) -> tuple[np.ndarray, np.ndarray]:
    return A + Phi.T @ Phi, b + Phi.T @ t


def earlier_blocks_forgotten(A, b, Phi, t):
    return Phi.T @ Phi, Phi.T @ t


def mean_of_the_block(A, b, Phi, t):
    return A + Phi.T @ Phi / len(t), b + Phi.T @ t / len(t)


# Piece 4: random Fourier features


def _fourier_features(X: Any, W: Any) -> np.ndarray:
    return np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(W.shape[1])


def scaled_by_all_features(X, W):
    return np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(2 * W.shape[1])


def cosines_alone(X, W):
    return np.cos(X @ W) * np.sqrt(2 / W.shape[1])


def not_scaled(X, W):
    return np.hstack([np.cos(X @ W), np.sin(X @ W)])


# Piece 5: their variance


def _estimate_variance(delta: Any, sigma: float, m: int) -> float:
    r2 = float(np.dot(delta, delta)) / sigma**2
    return float((1 + np.exp(-2 * r2) - 2 * np.exp(-r2)) / m)


def one_frequency(delta, sigma, m):
    r2 = np.sum(np.asarray(delta) ** 2) / sigma**2
    return (1 + np.exp(-2 * r2) - 2 * np.exp(-r2)) / 2


def m_frequencies(delta, sigma, m):
    r2 = np.sum(np.asarray(delta) ** 2) / sigma**2
    return (1 + np.exp(-2 * r2) - 2 * np.exp(-r2)) / (2 * m)


def mean_not_subtracted(delta, sigma, m):
    r2 = np.sum(np.asarray(delta) ** 2) / sigma**2
    return (1 + np.exp(-2 * r2)) / m


# Piece 6: the claim that fewer landmarks than points always lose something

_MOST_POINTS = 50
_WRONG_FORM = (
    f"Return two things: X, 2 to {_MOST_POINTS} points as the rows of an (n, d) array with entries between -100 and "
    "100, and the row numbers of the landmarks, a list of different whole numbers from 0 to n - 1."
)
_EVERY_POINT = "Every one of your points is a landmark. Then nothing is lost, of course: leave at least one out."
_SAME_POINT = (
    "Two of your points are the same. A landmark represents its copies without loss, but that is too easy: take n "
    "different points."
)
_SINGULAR = (
    "The matrix of your landmarks, K_ZZ, has no inverse for the linear kernel: a landmark is the origin or a "
    "combination of other landmarks. Take fewer landmarks, or different ones."
)
_SOMETHING_LOST = (
    "With your landmarks, some entry of K_XZ K_ZZ⁻¹ K_ZX differs from the entry of K = XXᵀ by more than 1e-8. What is "
    "the rank of K for points with d inputs, and how many landmarks does it take to span all points?"
)


_OWN_NUMBERS = (
    "This breaks the claim, but not with your numbers: your notebook asks for {{points}} points and {{landmarks}} "
    "landmarks."
)


def _nothing_lost(*, points: int = 7, landmarks: int = 2) -> tuple[np.ndarray, list[int]]:
    multiples = np.arange(1, points - landmarks + 1)
    return np.vstack([np.eye(landmarks), np.outer(multiples, np.ones(landmarks))]), list(range(landmarks))


def _verify_nothing_lost(answer: Any, *, points: int = 7, landmarks: int = 2) -> str:
    try:
        X, rows = answer
        X, rows = np.asarray(X, dtype=float), np.asarray(rows)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if X.ndim != 2 or not X.size or not 2 <= len(X) <= _MOST_POINTS or not (np.abs(X) <= 100).all():
        return _WRONG_FORM
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu" or len(np.unique(rows)) < len(rows):
        return _WRONG_FORM
    if rows.min() < 0 or rows.max() >= len(X):
        return _WRONG_FORM
    if len(rows) == len(X):
        return _EVERY_POINT
    if len(np.unique(X, axis=0)) < len(X):
        return _SAME_POINT
    K = X @ X.T
    K_ZZ, K_XZ = K[np.ix_(rows, rows)], K[:, rows]
    if np.linalg.matrix_rank(K_ZZ, tol=1e-8) < len(rows):
        return _SINGULAR
    gap = np.abs(K - K_XZ @ np.linalg.solve(K_ZZ, K_XZ.T)).max()
    if gap > 1e-8:
        return _SOMETHING_LOST
    return "" if (len(X), len(rows)) == (points, landmarks) else _OWN_NUMBERS


def all_are_landmarks():
    return np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1]


def one_landmark_in_the_plane():
    return np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0]


def origin_as_landmark():
    return np.array([[0.0], [1.0], [2.0]]), [0]


def copies_of_a_point():
    return np.array([[1.0, 2.0], [1.0, 2.0]]), [0]


def three_points_on_a_line():
    return np.array([[1.0], [2.0], [5.0]]), [1]


PARAMETERS = {"points": range(6, 11), "landmarks": (2, 3, 4)}  # for the claim; the values differ by student


PIECES = (
    Piece(
        "gram_bytes",
        1,
        _gram_bytes,
        _point_cases,
        [
            Mistake(
                values_not_bytes,
                "This is the number of values, n². Each takes 8 bytes as a float: 8n².",
            ),
            Mistake(
                one_triangle,
                "This counts one triangle with the diagonal. numpy keeps both halves of a symmetric matrix: 8n² bytes.",
            ),
        ],
    ),
    Piece(
        "block_count",
        1,
        _block_count,
        _size_cases,
        [
            Mistake(
                last_block_lost,
                "If n is not a multiple of the rows per block, the rows left over need one more block: round up, not "
                "down.",
            ),
            Mistake(
                eight_forgotten,
                "A row of m values takes 8m bytes, not m: only memory // (8m) rows fit in a block.",
            ),
        ],
    ),
    Piece(
        "nystrom_weights",
        3,
        _nystrom_weights,
        _landmark_cases,
        [
            Mistake(
                identity_for_penalty,
                "This adds λ to the diagonal, as if the penalty were ½λ‖w‖². The squared norm of f = Σ w_j k(z_j, ·) "
                "is wᵀK_ZZ w, so λK_ZZ is added to K_ZX K_XZ.",
            ),
            Mistake(
                penalty_forgotten,
                "This is the least squares solution without a penalty: add λK_ZZ to K_ZX K_XZ.",
            ),
            Mistake(
                landmarks_alone,
                "This trains on the landmarks alone and ignores the other points. All points together give n "
                "equations for m unknowns: minimise ½‖t − K_XZ w‖² + ½λ wᵀK_ZZ w over all of them.",
            ),
        ],
        tolerance=1e-7,
        tolerance_reason="landmarks about two widths apart give systems with a condition number below 1e4, and the "
        "normal equations square the condition number of K_XZ: every route leaves 7 digits",
    ),
    Piece(
        "add_block",
        2,
        _add_block,
        _block_cases,
        [
            Mistake(
                earlier_blocks_forgotten,
                "This returns the sums of the new block alone and drops A and b, which hold all blocks before it: add "
                "to them.",
            ),
            Mistake(
                mean_of_the_block,
                "This adds means over the rows of the block. ΦᵀΦ is a sum over all rows, so a longer block must count "
                "for more: add ΦᵀΦ and Φᵀt as they are.",
            ),
        ],
    ),
    Piece(
        "fourier_features",
        3,
        _fourier_features,
        _feature_cases,
        [
            Mistake(
                scaled_by_all_features,
                "The scale is off by √2: the inner product of two rows must be the mean over the q frequencies of "
                "cos ωᵀ(x − z), so divide by √q, and not by √m with m = 2q.",
            ),
            Mistake(
                cosines_alone,
                "Cosines alone are not enough: cos a cos b is not cos(a − b). The sines make up for it, since "
                "cos(a − b) = cos a cos b + sin a sin b.",
            ),
            Mistake(
                not_scaled,
                "The inner products of these rows are sums over the frequencies. They should be means: divide by the "
                "square root of the number of frequencies.",
            ),
        ],
    ),
    Piece(
        "estimate_variance",
        2,
        _estimate_variance,
        _variance_cases,
        [
            Mistake(
                one_frequency,
                "This is the variance of a single cos ωᵀδ. The estimate is the mean of m/2 independent ones: divide by "
                "m/2.",
            ),
            Mistake(
                m_frequencies,
                "This averages over m frequencies. m counts the features, a cosine and a sine for each frequency, so "
                "there are only m/2 frequencies.",
            ),
            Mistake(
                mean_not_subtracted,
                "This is E[c²] divided by m/2, where c = cos ωᵀδ. The variance is E[c²] − (E[c])², and E[c] = k(δ).",
            ),
        ],
        tolerance=1e-12,
        tolerance_reason="a formula of a few exponentials, each accurate to 16 digits",
    ),
    Claim(
        "nothing_lost",
        2,
        _nothing_lost,
        _verify_nothing_lost,
        [
            Mistake(all_are_landmarks, _EVERY_POINT),
            Mistake(one_landmark_in_the_plane, _SOMETHING_LOST),
            Mistake(origin_as_landmark, _SINGULAR),
            Mistake(copies_of_a_point, _SAME_POINT),
            Mistake(three_points_on_a_line, _OWN_NUMBERS),
        ],
    ),
)

checks = seeded(PIECES, parameters=PARAMETERS)
