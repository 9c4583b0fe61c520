"""Assignment 02, constructing kernels: its pieces and their usual mistakes (lecture B, 6.2; lectures H and K)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import gram
from ..features import monomials, polynomial_basis
from ..kernels import Bilinear, Gaussian, Laplacian, Linear, Spectrum, Subset
from ..kernels.rules import row_kronecker
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece


def _sizes() -> Iterator[tuple[str, int, int]]:
    """The numbers of points and of columns to try, each with a label."""
    yield "one point, one column", 1, 1
    yield "one point", 1, 3
    yield "one column", 3, 1
    yield "whole numbers", 3, 2
    yield "repeated points", 3, 2
    yield "", 4, 3


def _points(rng: np.random.Generator, label: str, n: int, d: int) -> np.ndarray:
    if label == "whole numbers":
        return rng.integers(1, 4, size=(n, d))
    return rng.normal(size=(n, d))[np.arange(n) % 2 if label == "repeated points" else np.arange(n)]


def _psd(rng: np.random.Generator, label: str, n: int) -> np.ndarray:
    """A positive semidefinite matrix of rank 2 or less, with entries of order 1."""
    B = _points(rng, label, n, 2)
    return B @ B.T


# Piece 1: feature maps (algorithm summary; eq. 13 and 14)


def _line_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.normal(size=1), 3), "one point")
    yield Case((rng.normal(size=3), 0), "the constant feature alone")
    yield Case((rng.integers(2, 5, size=3), 2), "whole numbers")
    yield Case((rng.normal(size=2)[[0, 1, 0]], 2), "repeated points")
    yield Case((np.array([0.0, 1.0, -1.0]), 3), "x = 0, 1 and -1")
    yield Case((rng.uniform(-2, 2, size=5), 4))


def _polynomial_features(x: Any, M: int) -> Any:
    return polynomial_basis(x, M)


def constant_missing(x, M):
    return np.stack([x**i for i in range(1, M + 2)], axis=1)[:, :M]


def highest_power_first(x, M):
    return np.vander(x, M + 1)


def _plane_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.normal(size=(1, 2)),), "one point")
    yield Case((rng.integers(1, 5, size=(3, 2)),), "whole numbers")
    yield Case((rng.normal(size=(2, 2))[[0, 1, 0]],), "repeated points")
    yield Case((np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 1.0]]),), "points on the axes")
    yield Case((rng.normal(size=(5, 2)),))


def _square_features(X: Any) -> Any:
    return monomials(X, 2, offset=0.0)


def _or_the_same_inner_products(got: Any, want: Any) -> Any:
    """Return the expected features if those of the answer have the same inner products: every such answer is right."""
    try:
        features = np.asarray(got, dtype=float)
    except (TypeError, ValueError):
        return got
    if features.shape != want.shape or not np.allclose(features @ features.T, want @ want.T, rtol=1e-9, atol=1e-9):
        return got
    return want


def root_missing(X):
    return np.stack([X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2], axis=1)


def two_instead_of_root(X):
    return np.stack([X[:, 0] ** 2, 2 * X[:, 0] * X[:, 1], X[:, 1] ** 2], axis=1)


# Piece 2: two kernels of lecture K


def _pair_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, n, d) in enumerate(_sizes(), start=2):
        Z = _points(rng, "", m, d)
        yield Case((_points(rng, label, n, d), Z, float(rng.uniform(0.8, 2.5))), label)


def _gaussian(X: Any, Z: Any, h: float) -> Any:
    return Gaussian.from_h(h)(X, Z)


def width_of_lecture_b(X, Z, h):
    return np.exp(-np.sum((X[:, None] - Z[None]) ** 2, axis=2) / (2 * h**2))


def gaussian_not_squared(X, Z, h):
    return np.exp(-np.sqrt(np.sum((X[:, None] - Z[None]) ** 2, axis=2)) / h**2)


def _laplacian(X: Any, Z: Any, h: float) -> Any:
    return Laplacian(h)(X, Z)


def euclidean_norm(X, Z, h):
    return np.exp(-np.linalg.norm(X[:, None] - Z[None], axis=2) / h)


def laplacian_width_squared(X, Z, h):
    return np.exp(-np.abs(X[:, None] - Z[None]).sum(axis=2) / h**2)


# Piece 3: the test for positive semidefiniteness


def _rotated(rng: np.random.Generator, eigenvalues: list[float]) -> np.ndarray:
    """A symmetric matrix with these eigenvalues and with random eigenvectors."""
    Q = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    K = Q @ np.diag(eigenvalues) @ Q.T
    return (K + K.T) / 2


def _matrix_cases(rng: np.random.Generator) -> Iterator[Case]:
    positive = float(rng.uniform(0.5, 2))
    yield Case((np.array([[positive]]),), "one point")
    yield Case((np.array([[-positive]]),), "one point, k(x, x) negative")
    yield Case((np.zeros((2, 2)),), "all zero")
    whole = int(rng.integers(1, 4))
    yield Case((np.array([[whole, 2 * whole], [2 * whole, whole]]),), "whole numbers")
    yield Case((_rotated(rng, [-positive, -1.0]),), "two points")
    yield Case((_psd(rng, "repeated points", 3),), "repeated points")
    psd = _rotated(rng, [0.5, 1.0, 2.0])
    yield Case((psd + np.triu(np.full((3, 3), positive), k=1),), "three points")
    yield Case((np.array([[2.0, -positive / 2], [-positive / 2, 2.0]]),), "two points, k(x, x') negative")
    yield Case((_rotated(rng, [-0.1, 0.5, 1.0, positive]),), "four points")
    yield Case((_rotated(rng, [0.1, 0.5, 1.0, positive]),), "four points")
    for share in (0.3, 0.01, 0.0005):
        lower = float(rng.uniform(0.5, 1))
        yield Case((np.array([[3.0, lower * (1 + share)], [lower, 3.0]]),), "two points, not quite symmetric")


def _is_psd(K: Any) -> bool:
    return gram.is_psd(K)


def symmetry_forgotten(K):
    eigenvalues = np.linalg.eigvalsh(K)
    return bool(eigenvalues.min() >= -1e-9 * np.abs(eigenvalues).max())


def strictly_positive(K):
    eigenvalues = np.linalg.eigvalsh(K)
    return bool(np.allclose(K, K.T) and eigenvalues.min() > 1e-9)


def by_determinant(K):
    return bool(np.allclose(K, K.T) and np.linalg.det(K) >= -1e-9)


def by_entries(K):
    return bool(np.allclose(K, K.T) and (np.asarray(K) >= 0).all())


# Piece 4: the rules on Gram matrices and on features (Bishop 6.13 to 6.18)


def _weighted_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, n, _ in _sizes():
        f = rng.integers(2, 5, size=n) if label == "whole numbers" else rng.normal(size=n)
        yield Case((_psd(rng, label, n), f), label)


def _weighted(K: Any, f: Any) -> Any:
    return K * np.outer(f, f)


def on_the_rows_only(K, f):
    return f[:, None] * K


def summed_up(K, f):
    return f @ K @ f


def _coefficient_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((_psd(rng, "", 2), np.array([float(rng.uniform(1, 3))])), "a constant")
    for degree, (label, n, _) in enumerate(_sizes(), start=1):
        q = rng.integers(1, 4, size=degree + 1) if label == "whole numbers" else rng.uniform(0.1, 2, size=degree + 1)
        yield Case((_psd(rng, label, n), q[:5]), label)


def _polynomial_of(K: Any, q: Any) -> Any:
    return np.polynomial.polynomial.polyval(np.asarray(K, dtype=float), q)


def matrix_powers(K, q):
    return sum(q_i * np.linalg.matrix_power(K, i) for i, q_i in enumerate(q))


def highest_coefficient_first(K, q):
    return np.polyval(q, K)


def constant_on_the_diagonal(K, q):
    return q[0] * np.eye(len(K)) + sum((q_i * K**i for i, q_i in enumerate(q[1:], start=1)), start=0 * K)


def _two_maps_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, n, d in _sizes():
        yield Case((_points(rng, label, n, d), _points(rng, label, n, 2)), label)
    yield Case((rng.normal(size=(2, 2)), rng.normal(size=(2, 2))), "as many features in both")


def _product_features(Phi1: Any, Phi2: Any) -> Any:
    return row_kronecker(np.asarray(Phi1), np.asarray(Phi2))


def side_by_side(Phi1, Phi2):
    return np.hstack([Phi1, Phi2])


def equal_numbers_only(Phi1, Phi2):
    return Phi1 * Phi2


def every_pair_of_points(Phi1, Phi2):
    return np.kron(Phi1, Phi2)


# Piece 5: the Gaussian kernel from the rules (eq. 15 to 17)


def _assembly_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, n, d in _sizes():
        yield Case((_points(rng, label, n, d), float(rng.uniform(1.2, 2.5))), label)


def _gaussian_by_rules(X: Any, sigma: float) -> tuple[Any, Any, Any]:
    scaled = Linear() / sigma**2
    return scaled(X), scaled.exp()(X), Gaussian(sigma)(X)


def sigma_not_squared(X, sigma):
    step_1 = X @ X.T / sigma
    step_2 = np.exp(step_1)
    f = np.exp(-np.sum(X**2, axis=1) / (2 * sigma))
    return step_1, step_2, f[:, None] * step_2 * f[None, :]


def half_missing_in_f(X, sigma):
    step_1 = X @ X.T / sigma**2
    step_2 = np.exp(step_1)
    f = np.exp(-np.sum(X**2, axis=1) / sigma**2)
    return step_1, step_2, f[:, None] * step_2 * f[None, :]


def f_on_one_side(X, sigma):
    step_1 = X @ X.T / sigma**2
    step_2 = np.exp(step_1)
    f = np.exp(-np.sum(X**2, axis=1) / (2 * sigma**2))
    return step_1, step_2, f[:, None] * step_2


def sign_of_f(X, sigma):
    step_1 = X @ X.T / sigma**2
    step_2 = np.exp(step_1)
    f = np.exp(np.sum(X**2, axis=1) / (2 * sigma**2))
    return step_1, step_2, f[:, None] * step_2 * f[None, :]


# Piece 6: a kernel for plants (Bishop 6.19 to 6.22; lecture K, k(V(z), V(z')))


def _day_cases(rng: np.random.Generator) -> Iterator[Case]:
    def sigma() -> float:
        return float(rng.uniform(0.5, 2))

    yield Case((rng.uniform(1, 365, size=1), sigma()), "one plant")
    yield Case((rng.integers(1, 366, size=4), sigma()), "whole days")
    yield Case((rng.uniform(1, 365, size=2)[[0, 1, 0]], sigma()), "repeated days")
    yield Case((np.array([1.0, 365.0, 183.0]), sigma()), "New Year's Day, New Year's Eve, and the 2nd of July")
    yield Case((rng.uniform(1, 365, size=5), sigma()))


def _season_kernel(days: Any, sigma: float) -> Any:
    angle = 2 * np.pi * np.asarray(days)[:, None] / 365
    return Gaussian(sigma).after(lambda z: np.hstack([np.cos(z), np.sin(z)]))(angle)


def straight_days(days, sigma):
    return np.exp(-((days[:, None] - days[None, :]) ** 2) / (2 * sigma**2))


def day_as_angle(days, sigma):
    V = np.stack([np.cos(days), np.sin(days)], axis=1)
    return np.exp(-np.sum((V[:, None] - V[None]) ** 2, axis=2) / (2 * sigma**2))


def cosine_alone(days, sigma):
    V = np.cos(2 * np.pi * days / 365)
    return np.exp(-((V[:, None] - V[None, :]) ** 2) / (2 * sigma**2))


def _plant_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, n, d in _sizes():
        B = rng.integers(-1, 3, size=(d, d)) if label == "whole numbers" else rng.normal(size=(d, d))
        days = rng.uniform(1, 365, size=n)
        yield Case((_season_kernel(days, 1.0), _points(rng, label, n, d), B.T @ B + np.eye(d, dtype=B.dtype)), label)


def _plant_kernel(K_season: Any, X: Any, A: Any) -> Any:
    return np.asarray(K_season) * (1 + Bilinear(A))(X)


def one_forgotten(K_season, X, A):
    return K_season * (X @ A @ X.T)


def season_added(K_season, X, A):
    return K_season + (1 + X @ A @ X.T)


def matrix_product(K_season, X, A):
    return K_season @ (1 + X @ A @ X.T)


# Piece 7: sets and strings (eq. 18)


def _set_cases(rng: np.random.Generator) -> Iterator[Case]:
    habitats = ["bog", "dune", "forest", "meadow", "rock"]
    yield Case((["bog"], ["bog"]), "a universe of one element")
    yield Case(([], [str(u) for u in rng.permutation(habitats)[:3]]), "the empty set")
    yield Case((["dune", "rock"], ["rock", "dune"]), "the whole universe")
    for size in (2, 3, 4, 5):
        universe = [str(u) for u in rng.permutation(habitats)[:size]]
        kept = rng.permutation(size)[: max(1, size - 2)]
        yield Case(([universe[i] for i in kept], universe))


def _subset_features(A: Any, universe: Any) -> Any:
    return Subset(universe=universe).features([A])[0]


def one_feature_an_element(A, universe):
    return np.array([float(u in A) for u in universe])


def exactly_this_set(A, universe):
    phi = np.zeros(2 ** len(universe))
    phi[sum(2**i for i, u in enumerate(universe) if u in A)] = 1
    return phi


def touching_sets(A, universe):
    subsets = [{u for i, u in enumerate(universe) if j >> i & 1} for j in range(2 ** len(universe))]
    return np.array([float(bool(U & set(A))) for U in subsets])


def bits_reversed(A, universe):
    backwards = universe[::-1]
    subsets = [{u for i, u in enumerate(backwards) if j >> i & 1} for j in range(2 ** len(universe))]
    return np.array([float(set(A) >= U) for U in subsets])


def _word_cases(rng: np.random.Generator) -> Iterator[Case]:
    def word(length: int) -> str:
        return "".join(rng.choice(list("abr"), size=length))

    yield Case(("rosa", "rosarosa", 4), "one shared string")
    yield Case(("iris", "i", 2), "a name shorter than p")
    yield Case(("aaaa", "aaa" + word(2), 2), "occurrences that overlap")
    yield Case(("banana", "ananas", 2), "different counts in the two names")
    for length, p in ((6, 1), (8, 2), (9, 3), (12, 2)):
        yield Case((word(length), word(length + 1), p))


def _spectrum(s: str, t: str, p: int) -> float:
    return float(Spectrum(p)([s], [t])[0, 0])


def without_overlaps(s, t, p):
    strings = {s[i : i + p] for i in range(len(s) - p + 1)}
    return float(sum(s.count(u) * t.count(u) for u in strings))


def each_string_once(s, t, p):
    return float(len({s[i : i + p] for i in range(len(s) - p + 1)} & {t[i : i + p] for i in range(len(t) - p + 1)}))


def last_string_missing(s, t, p):
    in_s = [s[i : i + p] for i in range(len(s) - p)]
    in_t = [t[i : i + p] for i in range(len(t) - p)]
    return float(sum(in_s.count(u) * in_t.count(u) for u in set(in_s)))


# Piece 8: the claim that a k1 + b k2 is a kernel for any constants a and b (lecture H)

_WRONG_FORM = (
    "Return two things: X, your points (at most 1000) as the rows of an (n, d) array, and y, a vector with a number "
    "for each point. All entries must be finite."
)
_ALREADY_ON_ONE_POINT = (
    "One of your points has k(x, x) = 1 − ‖x‖²/100 < 0. That breaks the claim, but it is the easy way; here all points "
    "must stay within ‖x‖ ≤ 10, so that none is suspicious on its own. Let several of them work together."
)
_NOT_NEGATIVE = (
    "For your points and numbers, the sum of y_n y_m k(x_n, x_m) is not negative. The linear part of this sum is −‖Σ "
    "y_n x_n‖²/100: choose signs that make the y_n x_n add up, and points so far apart that the Gaussian part is "
    "little more than Σ y_n²."
)


def _spoiled_kernel(X: np.ndarray) -> np.ndarray:
    return Gaussian(1.0)(X) - 0.01 * Linear()(X)


def _negative_constant() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[-9.0], [9.0]]), np.array([-1.0, 1.0])


def _verify_negative_constant(answer: Any) -> str:
    try:
        X, y = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if (
        X.ndim != 2
        or 0 in X.shape
        or len(X) > 1000
        or y.shape != (len(X),)
        or not (np.isfinite(X).all() and np.isfinite(y).all())
    ):
        return _WRONG_FORM
    if np.abs(X).max() > 10 or (np.einsum("ij,ij->i", X, X) > 100 * (1 + 1e-12)).any():
        return _ALREADY_ON_ONE_POINT
    y = y / max(np.abs(y).max(), np.finfo(float).tiny)
    return "" if y @ _spoiled_kernel(X) @ y < -1e-9 * (y @ y) else _NOT_NEGATIVE


def one_point_far_out():
    return np.array([[20.0]]), np.array([1.0])


def signs_that_cancel():
    return np.array([[-9.0], [9.0]]), np.array([1.0, 1.0])


def numbers_forgotten():
    return np.array([[-9.0], [9.0]])


PIECES = (
    Piece(
        "polynomial_features",
        1,
        _polynomial_features,
        _line_cases,
        [
            Mistake(
                constant_missing,
                "These features start at the first power. The map (x⁰, x¹, …, x^M) begins with x⁰ = 1, the constant "
                "feature; without it no function of these features can be shifted up or down.",
            ),
            Mistake(
                highest_power_first,
                "The powers come highest first, as np.vander gives them. The question asks for x⁰ in column 0 and x^M "
                "in column M: np.vander has an option for this order.",
            ),
        ],
    ),
    Piece(
        "square_features",
        2,
        _square_features,
        _plane_cases,
        [
            Mistake(
                root_missing,
                "This matches (x₁², x₁x₂, x₂²), whose inner product contains x₁x₂z₁z₂ once. Expanding (xᵀz)² gives it "
                "twice: the feature needs the factor √2, see eq. (14).",
            ),
            Mistake(
                two_instead_of_root,
                "This matches 2x₁x₂ in the middle, whose product is 4x₁x₂z₁z₂. The expansion has 2x₁x₂z₁z₂, to be "
                "shared by φ(x) and φ(z): the factor is √2, see eq. (14).",
            ),
        ],
        settle=_or_the_same_inner_products,
    ),
    Piece(
        "gaussian",
        1,
        _gaussian,
        _pair_cases,
        [
            Mistake(
                width_of_lecture_b,
                "This matches exp(−‖x−z‖²/2h²), lecture B's form with σ = h. Lecture K divides by h² alone: 2σ² = h².",
            ),
            Mistake(
                gaussian_not_squared,
                "This matches exp(−‖x−z‖/h²): the distance is not squared, which gives a different kernel. "
                "The Gaussian has ‖x−z‖² over h².",
            ),
        ],
    ),
    Piece(
        "laplacian",
        1,
        _laplacian,
        _pair_cases,
        [
            Mistake(
                euclidean_norm,
                "This matches the Euclidean norm ‖x−z‖₂. The Laplacian kernel of lecture K has the norm ‖x−z‖₁: the "
                "sum of the absolute differences, coordinate by coordinate.",
            ),
            Mistake(
                laplacian_width_squared,
                "This matches exp(−‖x−z‖₁/h²). Here the distance is not squared, and neither is h.",
            ),
        ],
    ),
    Piece(
        "is_psd",
        2,
        _is_psd,
        _matrix_cases,
        [
            Mistake(
                symmetry_forgotten,
                "This is right for symmetric matrices, but a kernel has k(x, z) = k(z, x), and this test accepts a K "
                "that is not symmetric: np.linalg.eigvalsh reads one triangle and takes the other on trust.",
            ),
            Mistake(
                strictly_positive,
                "This requires eigenvalues above 0. A positive semidefinite matrix may have the eigenvalue 0: repeated "
                "points, or fewer features than points, make K singular, and it is a Gram matrix all the same.",
            ),
            Mistake(
                by_determinant,
                "This looks at the determinant, the product of the eigenvalues: two negative ones make it positive. "
                "Every single eigenvalue has to be ≥ 0.",
            ),
            Mistake(
                by_entries,
                "This tests whether the entries are ≥ 0. The condition is on yᵀKy for every y, hence on the "
                "eigenvalues: [[1, 2], [2, 1]] has positive entries and the eigenvalue −1.",
            ),
        ],
        tolerance_reason="the answer is True or False; no eigenvalue lies between −0.01 and 0, except zeros that "
        "rounding moves by less than 1e-14",
    ),
    Piece(
        "weighted",
        1,
        _weighted,
        _weighted_cases,
        [
            Mistake(
                on_the_rows_only,
                "This multiplies row n by f(x_n) and leaves the columns alone; in general the result is not "
                "symmetric. Rule (6.14) is f(x) k₁(x, x′) f(x′): column m gets f(x_m).",
            ),
            Mistake(
                summed_up,
                "This is a single number, fᵀKf. Rule (6.14) gives a matrix again, K_nm f(x_n) f(x_m): multiply, but "
                "do not sum.",
            ),
        ],
    ),
    Piece(
        "polynomial_of",
        1,
        _polynomial_of,
        _coefficient_cases,
        [
            Mistake(
                matrix_powers,
                "This takes powers of the matrix, K @ K and so on. Rule (6.15) applies q to every value k₁(x, x′) "
                "separately: K**i in numpy, entry by entry.",
            ),
            Mistake(
                highest_coefficient_first,
                "This reads q backwards, as np.polyval does. Here q[i] belongs to the power i: q[0] is the constant.",
            ),
            Mistake(
                constant_on_the_diagonal,
                "The constant q₀ is added to the diagonal only. As a kernel it is q₀ for every pair of points (its "
                "feature is √q₀ everywhere): add it to all entries.",
            ),
        ],
    ),
    Piece(
        "product_features",
        2,
        _product_features,
        _two_maps_cases,
        [
            Mistake(
                side_by_side,
                "These are the features side by side. Their inner product is k₁ + k₂, rule (6.17). The product k₁k₂ "
                "needs all products of one feature of φ₁ and one of φ₂.",
            ),
            Mistake(
                equal_numbers_only,
                "This multiplies feature i of φ₁ by feature i of φ₂ only (and needs the same number of both). The "
                "product of two sums has a term for every pair (i, j); see rule (6.18).",
            ),
            Mistake(
                every_pair_of_points,
                "np.kron of the whole matrices pairs every point with every point. Rule (6.18) multiplies the features "
                "of the same point: the Kronecker product row by row, n rows in all.",
            ),
        ],
    ),
    Piece(
        "gaussian_by_rules",
        3,
        _gaussian_by_rules,
        _assembly_cases,
        [
            Mistake(
                sigma_not_squared,
                "This divides by σ. Rule (6.13) is used with c = 1/σ², and f has 2σ² in the denominator; see eq. (16) "
                "and (17).",
            ),
            Mistake(
                half_missing_in_f,
                "The first two steps are right. In f you have exp(−xᵀx/σ²); completing the square takes half of that, "
                "f(x) = exp(−xᵀx/2σ²); see eq. (17).",
            ),
            Mistake(
                f_on_one_side,
                "The first two steps are right. In the third, f multiplies one side only; in rule (6.14) it multiplies "
                "both, f(x) k f(x′), and k(x, x) comes out as 1; see eq. (17).",
            ),
            Mistake(
                sign_of_f,
                "The first two steps are right. In the third, the exponent of f has lost its minus sign: f(x) = "
                "exp(−xᵀx/2σ²) tames the growth of exp(xᵀx′/σ²); see eq. (17).",
            ),
        ],
    ),
    Piece(
        "season_kernel",
        2,
        _season_kernel,
        _day_cases,
        [
            Mistake(
                straight_days,
                "This is a Gaussian on the day numbers, for which New Year's Eve and New Year's Day are 364 days "
                "apart. Apply it to the points V(day) on the circle; rule (6.19).",
            ),
            Mistake(
                day_as_angle,
                "This takes the day itself for the angle, so a year has about 58 turns. One turn per year is the angle "
                "2π · day/365.",
            ),
            Mistake(
                cosine_alone,
                "This keeps the cosine alone, for which every day in spring coincides with one in autumn. A point on "
                "the circle needs both coordinates, V(day) = (cos, sin).",
            ),
        ],
        tolerance=1e-8,
        tolerance_reason="angles up to 2π carry 15 digits and the exponent is at most 8, so even 1 − cos of a "
        "difference in place of the distance leaves more than 12 digits",
    ),
    Piece(
        "plant_kernel",
        2,
        _plant_kernel,
        _plant_cases,
        [
            Mistake(
                one_forgotten,
                "This matches k_season · xᵀAx′, without the constant 1. With the constant, two plants of the same "
                "season stay similar even if their shapes have nothing in common.",
            ),
            Mistake(
                season_added,
                "This adds the kernel of the season, rule (6.21). Plants of different seasons should not "
                "count as similar, whatever their shapes: take the product, rule (6.22).",
            ),
            Mistake(
                matrix_product,
                "This multiplies the two Gram matrices as matrices (@), which sums over plants; in general the "
                "result is not even symmetric. Rule (6.22) multiplies the values of each pair: *.",
            ),
        ],
    ),
    Piece(
        "subset_features",
        2,
        _subset_features,
        _set_cases,
        [
            Mistake(
                one_feature_an_element,
                "This has one feature for each element; the inner product is |A ∩ B|. The kernel 2^|A∩B| counts shared "
                "subsets, so it takes a feature for each of the 2^N subsets; see eq. (18).",
            ),
            Mistake(
                exactly_this_set,
                "This is 1 only for U = A, and the kernel of such features is 1 if A = B and 0 otherwise. In eq. "
                "(18) every U ⊆ A counts, including the empty set.",
            ),
            Mistake(
                touching_sets,
                "This is 1 where U and A have an element in common. Eq. (18) counts the subsets that lie inside both "
                "sets: φ_U(A) = 1 if U ⊆ A.",
            ),
            Mistake(
                bits_reversed,
                "The features are right, but in the wrong order. Feature j belongs to the U that contains universe[i] "
                "where bit i of j is set; bit 0 is the last binary digit of j: j >> i & 1.",
            ),
        ],
    ),
    Piece(
        "spectrum",
        1,
        _spectrum,
        _word_cases,
        [
            Mistake(
                without_overlaps,
                "s.count(u) skips occurrences that overlap: it finds 'aa' twice in 'aaaa', although 'aa' begins at "
                "three places there. Go through all starting places 0, …, len(s) − p.",
            ),
            Mistake(
                each_string_once,
                "This counts each shared string once. The features are the numbers of occurrences, and the kernel sums "
                "their products: #_u(s) · #_u(t).",
            ),
            Mistake(
                last_string_missing,
                "The last string is missed. A name of length l has l − p + 1 strings of length p: "
                "range(len(s) - p + 1).",
            ),
        ],
    ),
    Claim(
        "negative_constant",
        2,
        _negative_constant,
        _verify_negative_constant,
        [
            Mistake(one_point_far_out, _ALREADY_ON_ONE_POINT),
            Mistake(signs_that_cancel, _NOT_NEGATIVE),
            Mistake(numbers_forgotten, _WRONG_FORM),
        ],
    ),
)

checks = seeded(PIECES)
