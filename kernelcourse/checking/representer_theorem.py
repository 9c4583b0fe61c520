"""Assignment 07, representer theorem and regularization networks: its pieces and their usual mistakes (I3, I5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import ridge
from ..kernels import Linear
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_SOLVE_TOLERANCE = 1e-7
_SOLVE_REASON = (
    "the Gram matrices have condition numbers below 1e4, so even an explicit inverse or the normal equations keep "
    "7 of the 16 digits"
)
_GAMMA = 0.1  # of the claim


def _independent(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Features of training points that are linearly independent and far from being dependent: K is invertible."""

    def rows(n: int, D: int) -> np.ndarray:
        return np.linalg.qr(rng.normal(size=(D, n)))[0].T * rng.uniform(0.5, 2, size=(n, 1))

    yield "one point, one feature", rng.uniform(0.5, 2, size=(1, 1))
    yield "one point", rows(1, 3)
    yield "whole numbers", rng.permutation([[2, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, -1]])
    yield "two points", rows(2, 4) + np.array([[0.2, 0, 0, 0], [0.2, 0, 0, 0]])
    yield "", rows(5, 8) + 0.1


def _any_points(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Features of points of every kind, with a singular K among them."""
    yield from _independent(rng)
    yield "repeated points", rng.normal(size=(2, 2))[[0, 1, 0]]
    yield "more points than features", rng.normal(size=(6, 2))


def _like(rng: np.random.Generator, Phi: np.ndarray, m: int) -> np.ndarray:
    """Features of m other points, whole numbers if Phi has them."""
    size = (m, Phi.shape[1])
    return rng.integers(-2, 3, size=size) if Phi.dtype.kind == "i" else rng.normal(size=size)


def _pair_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _any_points(rng):
        m = len(Phi)
        for count in (m, m + 1):
            other = _like(rng, Phi, count)
            yield Case((rng.normal(size=m), rng.normal(size=count), Phi @ other.T), label)


def _norm_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _any_points(rng):
        yield Case((rng.uniform(0.5, 2, size=len(Phi)), Phi @ Phi.T), label)


def _projection_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, Phi) in enumerate(_independent(rng), start=2):
        Z = _like(rng, Phi, m)
        yield Case((Phi @ Phi.T, Phi @ Z.T, rng.normal(size=m)), label)


def _rest_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, Phi) in enumerate(_independent(rng), start=2):
        Z = _like(rng, Phi, m)
        yield Case((Phi @ Phi.T, Phi @ Z.T, Z @ Z.T, rng.normal(size=m)), label)
    K = Phi @ Phi.T
    yield Case((K[:4, :4], K[:4, :2], K[:2, :2], rng.normal(size=2)), "centres that are training points themselves")


def _offset_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _independent(rng):
        yield Case((Phi @ Phi.T, rng.normal(size=len(Phi)) + 5, float(rng.uniform(0.1, 2))), label)


def _network_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _any_points(rng):
        yield Case((Phi @ Phi.T, rng.normal(size=len(Phi)), float(rng.uniform(0.1, 1))), label)


def _descent_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _any_points(rng):
        n = len(Phi)
        gamma, eta = (float(v) for v in rng.uniform(0.1, 1, size=2))
        yield Case((rng.normal(size=n), Phi @ Phi.T, rng.normal(size=n), gamma, eta), label)


# Piece 1: inner products and norms of functions


def _inner_product(c: Any, d: Any, K_zu: Any) -> float:
    return float(c @ K_zu @ d)


def equal_indices_only(c, d, K_zu):
    return float(np.sum(c * d * np.diag(K_zu)))


def _norm(c: Any, K: Any) -> float:
    return float(np.sqrt(c @ K @ c))


def square_of_the_norm(c, K):
    return float(c @ K @ c)


def length_of_the_coefficients(c, K):
    return float(np.linalg.norm(c))


# Piece 2: the projection onto the span, and what it leaves


def _project(K: Any, K_xz: Any, c: Any) -> Any:
    return ridge.dual_weights(K, K_xz @ c, ridge=0.0)


def values_at_the_points(K, K_xz, c):
    return K_xz @ c


def _rest(K: Any, K_xz: Any, K_zz: Any, c: Any) -> float:
    values = K_xz @ c
    return float(c @ K_zz @ c - values @ ridge.dual_weights(K, values, ridge=0.0))


def norm_of_all(K, K_xz, K_zz, c):
    return float(c @ K_zz @ c)


def values_squared(K, K_xz, K_zz, c):
    return float(c @ K_zz @ c - np.sum((K_xz @ c) ** 2))


# Piece 3: the offset


def _fit_with_offset(K: Any, t: Any, lam: float) -> tuple[Any, float]:
    a, b = ridge.dual_weights_with_offset(K, t, ridge=lam)
    return a, float(b)


def mean_first(K, t, lam):
    b = np.mean(t)
    return np.linalg.solve(K + lam * np.eye(len(t)), t - b), float(b)


def mean_of_what_is_left(K, t, lam):
    a = np.linalg.solve(K + lam * np.eye(len(t)), t)
    return a, float(np.mean(t - K @ a))


def offset_penalised(K, t, lam):
    a = np.linalg.solve(K + 1 + lam * np.eye(len(t)), t)
    return a, float(np.sum(a))


# Piece 4: the regularization network (algorithm 3)


def _network(K: Any, y: Any, gamma: float) -> Any:
    return ridge.regularization_network(K, y, gamma=gamma)


def number_of_points_forgotten(K, y, gamma):
    return np.linalg.solve(K + gamma * np.eye(len(y)), y)


def identity_forgotten(K, y, gamma):
    return np.linalg.solve(K + len(y) * gamma, y)


# Piece 5: descent in function space


def _descend(alpha: Any, K: Any, y: Any, gamma: float, eta: float) -> Any:
    return alpha - eta * (2 * gamma * alpha - 2 / len(y) * (y - K @ alpha))


def descent_in_the_coefficients(alpha, K, y, gamma, eta):
    return alpha - eta * K @ (2 * gamma * alpha - 2 / len(y) * (y - K @ alpha))


def sum_of_residuals(alpha, K, y, gamma, eta):
    return alpha - eta * (2 * gamma * alpha - 2 * (y - K @ alpha))


# Piece 6: the claim that the closed form is the only solution

_WRONG_FORM = (
    "Return three things: X, 2 to 100 points as the rows of an (n, d) array; y, a target for each; and alpha, a "
    "coefficient for each. All entries must lie between −1000 and 1000."
)
_SAME_POINTS = (
    "Two of your points coincide. That makes K singular, but it is too easy: take points that are all different, and "
    "more of them than inputs."
)
_CLOSED_FORM = (
    "Your coefficients are those of the closed form (K + nγI)⁻¹y, or within 0.1 of them. Add a vector v to them "
    "that changes no value of f: one with Kv = 0."
)
_ANOTHER_FUNCTION = (
    "Your coefficients differ from the closed form, but so does your function, and only one function minimises R. "
    "The difference v between your coefficients and the closed form has to satisfy Kv = 0: for the linear kernel, Σ "
    "v_i x_i = 0. That requires points that are linearly dependent."
)


def _another_solution() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    return X, y, np.linalg.solve(X @ X.T + 2 * _GAMMA * np.eye(2), y) + np.array([2.0, -1.0])


def _verify_another_solution(answer: Any) -> str:
    try:
        X, y, alpha = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if X.ndim != 2 or not 2 <= len(X) <= 100 or X.shape[1] == 0 or y.shape != (len(X),) or alpha.shape != y.shape:
        return _WRONG_FORM
    if not all((np.abs(part) <= 1000).all() for part in (X, y, alpha)):
        return _WRONG_FORM
    if len(np.unique(X, axis=0)) < len(X):
        return _SAME_POINTS
    v = alpha - ridge.regularization_network(Linear()(X), y, gamma=_GAMMA)
    if np.abs(v).max() < 0.1:
        return _CLOSED_FORM
    # f(x) = (sum_i alpha_i x_i) . x, so the functions agree if this sum does.
    return "" if np.abs(X.T @ v).max() <= 1e-9 * max(1.0, np.abs(X).max()) * np.abs(v).sum() else _ANOTHER_FUNCTION


def independent_points():
    return np.eye(2), np.array([1.0, 1.0]), np.array([2.0, -1.0])


def the_closed_form_itself():
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    return X, y, np.linalg.solve(X @ X.T + 0.2 * np.eye(2), y)


def the_same_point_twice():
    return np.ones((2, 1)), np.array([1.0, 1.0]), np.array([5.0, -5.0])


PIECES = (
    Piece(
        "inner_product",
        1,
        _inner_product,
        _pair_cases,
        [
            Mistake(
                equal_indices_only,
                "This pairs the first centre of f with the first of g, the second with the second, and so on. Eq. (1) "
                "sums over all pairs (i, j), even if f and g have different numbers of centres: cᵀ K_zu d.",
            ),
        ],
    ),
    Piece(
        "norm",
        1,
        _norm,
        _norm_cases,
        [
            Mistake(
                square_of_the_norm, "This is ‖f‖² = ⟨f, f⟩. The norm itself is its square root; see below eq. (1)."
            ),
            Mistake(
                length_of_the_coefficients,
                "This is the length of c, which is not a property of the function: the bumps k(z_i, ·) are not "
                "orthonormal. Eq. (1) with g = f gives ‖f‖² = cᵀKc.",
            ),
        ],
    ),
    Piece(
        "project",
        2,
        _project,
        _projection_cases,
        [
            Mistake(
                values_at_the_points,
                "These are the values g(x_i). The projection also has these values, but the question asks for its "
                "coefficients: solve Kβ = (g(x_1), …, g(x_n)), which is eq. (3).",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "rest",
        2,
        _rest,
        _rest_cases,
        [
            Mistake(
                norm_of_all,
                "This is ‖g‖², both parts together. By Pythagoras, ‖g_⊥‖² = ‖g‖² − ‖g_∥‖²: subtract the projection's "
                "share.",
            ),
            Mistake(
                values_squared,
                "This subtracts the sum of the squared values g(x_i)². The projection's squared norm is βᵀKβ with the "
                "β of eq. (3); see eq. (1).",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "fit_with_offset",
        3,
        _fit_with_offset,
        _offset_cases,
        [
            Mistake(
                mean_first,
                "This sets b to the mean of the targets and fits a to the rest. The best b is the mean of t − Ka, "
                "which depends on a: solve for both at once, with the two conditions from eq. (4).",
            ),
            Mistake(
                mean_of_what_is_left,
                "This fits a without an offset and then takes b from the residuals. With b in the model a different a "
                "is better: solve for both at once, with the two conditions from eq. (4).",
            ),
            Mistake(
                offset_penalised,
                "This matches the kernel k + 1, a constant feature whose weight is penalised like any other. In eq. "
                "(4) the offset is free, which requires that the residuals (and so the a_i) sum to 0.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "network",
        2,
        _network,
        _network_cases,
        [
            Mistake(
                number_of_points_forgotten,
                "This matches γ on the diagonal. The risk of eq. (5) averages the errors, and multiplying by ℓ gives "
                "the penalty ℓγ: (K + ℓγI)α = y, algorithm 3.",
            ),
            Mistake(
                identity_forgotten,
                "This matches K + ℓγ, which adds ℓγ to every entry. Algorithm 3 has ℓγI: only the diagonal grows.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "descend",
        2,
        _descend,
        _descent_cases,
        [
            Mistake(
                descent_in_the_coefficients,
                "This matches the gradient with respect to α, which has one more factor K. Eq. (6) moves the function: "
                "read off the coefficient of each k(x_i, ·) on both sides, and there is no K in front.",
            ),
            Mistake(
                sum_of_residuals,
                "This matches a sum of squared errors. Eq. (6) has 2/ℓ in front of the residuals: the risk is a mean.",
            ),
        ],
    ),
    Claim(
        "another_solution",
        2,
        _another_solution,
        _verify_another_solution,
        [
            Mistake(independent_points, _ANOTHER_FUNCTION),
            Mistake(the_closed_form_itself, _CLOSED_FORM),
            Mistake(the_same_point_twice, _SAME_POINTS),
        ],
    ),
)

checks = seeded(PIECES)
