"""Assignment 01, dual representation: its pieces and their usual mistakes (lecture B, eq. 1 to 11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import ridge
from ..features import polynomial_basis
from ..kernels import Gaussian, Linear
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_SOLVE_TOLERANCE = 1e-8
_SOLVE_REASON = (
    "the systems have condition number below 1e4 (lam >= 0.1, entries of order 1), so even an explicit inverse "
    "keeps more than 8 of the 16 digits"
)


def _shapes(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Design matrices of all the shapes to try."""
    yield "one point, one feature", rng.normal(size=(1, 1))
    yield "one point", rng.normal(size=(1, 3))
    yield "one feature", rng.normal(size=(3, 1))
    yield "whole numbers", rng.integers(-2, 3, size=(3, 2))
    yield "repeated points", rng.normal(size=(2, 2))[[0, 1, 0]]
    yield "more features than points", rng.normal(size=(2, 4))
    yield "", rng.normal(size=(6, 3))


def _lam(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.1, 3))


def _primal_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _shapes(rng):
        yield Case((rng.normal(size=Phi.shape[1]), Phi, rng.normal(size=len(Phi)), _lam(rng)), label)


def _target_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _shapes(rng):
        yield Case((Phi, rng.normal(size=len(Phi)), _lam(rng)), label)


def _design_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _shapes(rng):
        yield Case((Phi,), label)


def _weight_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _shapes(rng):
        yield Case((rng.normal(size=len(Phi)), Phi), label)


def _dual_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _shapes(rng):
        yield Case((rng.normal(size=len(Phi)), Phi @ Phi.T, rng.normal(size=len(Phi)), _lam(rng)), label)


def _gram_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, Phi in _shapes(rng):
        yield Case((Phi @ Phi.T, rng.normal(size=len(Phi)), _lam(rng)), label)


def _test_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, Phi) in enumerate(_shapes(rng), start=1):
        Phi_test = rng.normal(size=(m, Phi.shape[1]))
        K_test = rng.integers(-2, 3, size=(m, len(Phi))) if label == "whole numbers" else Phi_test @ Phi.T
        yield Case((K_test, rng.normal(size=len(Phi))), label)


def _kernel_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((2, 3, 2), "whole numbers")
    yield Case((float(rng.uniform(0.5, 2)), float(rng.uniform(-2, -0.5)), 0), "the constant feature alone")
    yield Case((0.0, float(rng.normal()), 3), "x = 0")
    for degree in range(1, 6):
        x, z = rng.uniform(-1.5, 1.5, size=2)
        yield Case((float(x), float(z), degree))


def _size_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1, 1), "one point, one feature")
    yield Case((7, 7), "as many features as points")
    for size in (10, 100, 1000, 1000):
        N, M = (int(k) for k in rng.integers(1, size, size=2))
        yield Case((N, N + M))
        yield Case((N + M, N))


def _regression_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, X) in enumerate(_shapes(rng), start=1):
        Z = rng.normal(size=(m, X.shape[1]))
        yield Case((X, rng.normal(size=len(X)), Z, float(rng.uniform(0.5, 2)), _lam(rng)), label)


# Piece 1: a kernel is an inner product of features (eq. 1)


def _kernel(x: float, z: float, degree: int) -> float:
    return float(polynomial_basis([x], degree)[0] @ polynomial_basis([z], degree)[0])


def no_constant(x, z, degree):
    return float(sum((x * z) ** i for i in range(1, degree + 1)))


def one_feature_short(x, z, degree):
    return float(sum((x * z) ** i for i in range(degree)))


def power_of_the_sum(x, z, degree):
    return float((x * z + 1) ** degree)


# Piece 2: the primal problem (eq. 2, 3, 5)


def _objective(w: Any, Phi: Any, t: Any, lam: float) -> float:
    return ridge.primal_objective(w, Phi, t, ridge=lam)


def no_halves(w, Phi, t, lam):
    return float(np.sum((Phi @ w - t) ** 2) + lam * w @ w)


def half_forgotten_on_the_penalty(w, Phi, t, lam):
    return float(np.sum((Phi @ w - t) ** 2) / 2 + lam * w @ w)


def mean_of_squares(w, Phi, t, lam):
    return float(np.mean((Phi @ w - t) ** 2) / 2 + lam / 2 * w @ w)


def norm_not_squared(w, Phi, t, lam):
    return float(np.sum((Phi @ w - t) ** 2) / 2 + lam / 2 * np.linalg.norm(w))


def _gradient(w: Any, Phi: Any, t: Any, lam: float) -> Any:
    return ridge.primal_gradient(w, Phi, t, ridge=lam)


def penalty_forgotten(w, Phi, t, lam):
    return Phi.T @ (Phi @ w - t)


def twice_the_gradient(w, Phi, t, lam):
    return 2 * (Phi.T @ (Phi @ w - t) + lam * w)


def residual_reversed(w, Phi, t, lam):
    return lam * w + Phi.T @ (t - Phi @ w)


def _primal_weights(Phi: Any, t: Any, lam: float) -> Any:
    return ridge.primal_weights(Phi, t, ridge=lam)


def identity_missing_primal(Phi, t, lam):
    return np.linalg.solve(Phi.T @ Phi + lam, Phi.T @ t)


def ridge_times_n_primal(Phi, t, lam):
    return np.linalg.solve(Phi.T @ Phi + len(Phi) * lam * np.eye(Phi.shape[1]), Phi.T @ t)


def ridge_forgotten_primal(Phi, t, lam):
    return np.linalg.pinv(Phi) @ t


# Piece 3: there and back (eq. 6, 7)


def _dual_from_primal(w: Any, Phi: Any, t: Any, lam: float) -> Any:
    return ridge.dual_from_primal(w, Phi, t, ridge=lam)


def sign_of_the_residual(w, Phi, t, lam):
    return (Phi @ w - t) / lam


def not_divided_by_lambda(w, Phi, t, lam):
    return t - Phi @ w


def multiplied_by_lambda(w, Phi, t, lam):
    return lam * (t - Phi @ w)


def transpose_forgotten(a, Phi):
    return Phi @ a


def averaged_over_points(a, Phi):
    return Phi.T @ a / len(a)


# Piece 4: the dual objective (eq. 8)


def _dual_objective(a: Any, K: Any, t: Any, lam: float) -> float:
    return ridge.dual_objective(a, K, t, ridge=lam)


def penalty_on_a(a, K, t, lam):
    return float(np.sum((K @ a - t) ** 2) / 2 + lam / 2 * a @ a)


def constant_dropped(a, K, t, lam):
    return float(a @ K @ K @ a / 2 - a @ K @ t + lam / 2 * a @ K @ a)


def one_gram_matrix_short(a, K, t, lam):
    return float(a @ K @ a / 2 - a @ K @ t + t @ t / 2 + lam / 2 * a @ K @ a)


def cross_term_added(a, K, t, lam):
    return float(a @ K @ K @ a / 2 + a @ K @ t + t @ t / 2 + lam / 2 * a @ K @ a)


# Piece 5: Gram matrix, dual solution, prediction (eq. 9, 10, 11)


def _gram_matrix(Phi: Any) -> Any:
    return Linear()(Phi)


def features_by_features(Phi):
    return Phi.T @ Phi


def entry_by_entry(Phi):
    return Phi * Phi


def divided_by_n(Phi):
    return Phi @ Phi.T / len(Phi)


def _dual_weights(K: Any, t: Any, lam: float) -> Any:
    return ridge.dual_weights(K, t, ridge=lam)


def identity_missing(K, t, lam):
    return np.linalg.solve(K + lam, t)


def ridge_times_n(K, t, lam):
    return np.linalg.solve(K + len(K) * lam * np.eye(len(K)), t)


def ridge_subtracted(K, t, lam):
    return np.linalg.solve(K - lam * np.eye(len(K)), t)


def fitted_values(K, t, lam):
    return K @ np.linalg.solve(K + lam * np.eye(len(K)), t)


def _predict(K_test: Any, a: Any) -> Any:
    return ridge.predict(K_test, a)


def points_in_columns(K_test, a):
    return K_test.T @ a


def averaged_prediction(K_test, a):
    return K_test @ a / len(a)


def products_not_summed(K_test, a):
    return K_test * a


# Piece 6: N x N against M x M


def _multiplications(N: int, M: int) -> tuple[float, float]:
    return N * M**2 + M**3 / 3, N**2 * M + N**3 / 3


def costs_swapped(N, M):
    return N**2 * M + N**3 / 3, N * M**2 + M**3 / 3


def solving_forgotten(N, M):
    return N * M**2, N**2 * M


def forming_forgotten(N, M):
    return M**3 / 3, N**3 / 3


def _dual_pays(N: int, M: int) -> bool:
    primal, dual = _multiplications(N, M)
    return dual < primal


def with_many_points(N, M):
    return N > M


def tie_counts(N, M):
    return N <= M


# Piece 7: the algorithm summary, from a kernel


def _kernel_regression(X: Any, t: Any, Z: Any, sigma: float, lam: float) -> Any:
    k = Gaussian(sigma)
    return ridge.predict(k(Z, X), ridge.dual_weights(k(X), t, ridge=lam))


def distance_not_squared(X, t, Z, sigma, lam):
    def k(A, B):
        return np.exp(-np.linalg.norm(A[:, None] - B[None], axis=2) / (2 * sigma**2))

    return k(Z, X) @ np.linalg.solve(k(X, X) + lam * np.eye(len(X)), t)


def two_forgotten(X, t, Z, sigma, lam):
    def k(A, B):
        return np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2) / sigma**2)

    return k(Z, X) @ np.linalg.solve(k(X, X) + lam * np.eye(len(X)), t)


def identity_missing_kernel(X, t, Z, sigma, lam):
    def k(A, B):
        return np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2) / (2 * sigma**2))

    return k(Z, X) @ np.linalg.solve(k(X, X) + lam, t)


def targets_not_weights(X, t, Z, sigma, lam):
    def k(A, B):
        return np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2) / (2 * sigma**2))

    return k(Z, X) @ t


# Piece 8: the claim that the distance is a kernel

_WRONG_FORM = (
    "Return two things: X, three points as the rows of a (3, d) array, and y, a vector with three entries. "
    "All entries must be finite."
)
_SAME_POINTS = "Two of your points coincide. Choose three different ones, so that all distances count."
_POSITIVE = (
    "For your y, the sum of y_n y_m k(x_n, x_m) is not negative. All distances are positive, so y needs entries of "
    "both signs to make the sum negative; an eigenvector for a negative eigenvalue is such a y."
)


def _not_a_kernel() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 0.0, -1.0])


def _verify_not_a_kernel(answer: Any) -> str:
    try:
        X, y = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError):
        return _WRONG_FORM
    if X.ndim != 2 or len(X) != 3 or y.shape != (3,) or not (np.isfinite(X).all() and np.isfinite(y).all()):
        return _WRONG_FORM
    K = np.linalg.norm(X[:, None] - X[None], axis=2)
    if (K[np.triu_indices(3, k=1)] == 0).any():
        return _SAME_POINTS
    return "" if y @ K @ y < -1e-12 * K.max() * (y @ y) else _POSITIVE


def all_ones():
    return np.array([[0.0], [1.0], [2.0]]), np.ones(3)


def coinciding_points():
    return np.zeros((3, 1)), np.array([1.0, 0.0, -1.0])


def points_without_vector():
    return np.array([[0.0], [1.0], [2.0]])


PIECES = (
    Piece(
        "kernel",
        2,
        _kernel,
        _kernel_cases,
        [
            Mistake(
                no_constant,
                "This matches a sum that starts at the first power. The feature map (1, x, x², …) begins with the "
                "constant feature, so the first term is 1; see eq. (1).",
            ),
            Mistake(
                one_feature_short,
                "This matches a sum that stops one power early. Degree p has p + 1 features: range(degree + 1).",
            ),
            Mistake(
                power_of_the_sum,
                "This matches (xz + 1)^p, the kernel of the same monomials with other weights in front. "
                "Here every feature has weight 1: sum the products of equal powers.",
            ),
        ],
    ),
    Piece(
        "objective",
        1,
        _objective,
        _primal_cases,
        [
            Mistake(no_halves, "This is twice J(w): both terms of eq. (2) carry a factor 1/2."),
            Mistake(
                half_forgotten_on_the_penalty,
                "This matches a penalty λ wᵀw. In eq. (2) it is λ/2 · wᵀw, so that the gradient has no stray factor 2.",
            ),
            Mistake(
                mean_of_squares,
                "This matches the mean of the squared errors. Eq. (2) sums them; with a mean, λ means something else.",
            ),
            Mistake(norm_not_squared, "This matches a penalty with ‖w‖. Eq. (2) has its square, wᵀw."),
        ],
    ),
    Piece(
        "gradient",
        1,
        _gradient,
        _primal_cases,
        [
            Mistake(penalty_forgotten, "This is the gradient of the squared errors alone: λw is missing, see eq. (3)."),
            Mistake(twice_the_gradient, "This is twice the gradient: the 1/2 of eq. (2) cancels the 2 of the square."),
            Mistake(
                residual_reversed,
                "This matches t − Φw where Φw − t belongs. Differentiate the square again and watch the signs.",
            ),
        ],
    ),
    Piece(
        "primal_weights",
        2,
        _primal_weights,
        _target_cases,
        [
            Mistake(
                identity_missing_primal,
                "This matches ΦᵀΦ + λ, which adds λ to every entry. Eq. (5) has λI: only the diagonal grows.",
            ),
            Mistake(
                ridge_times_n_primal,
                "This matches Nλ on the diagonal. That is the convention of a mean of squares; eq. (5) has λ itself.",
            ),
            Mistake(ridge_forgotten_primal, "This is plain least squares: λ has no effect. See eq. (5)."),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "dual_from_primal",
        1,
        _dual_from_primal,
        _primal_cases,
        [
            Mistake(sign_of_the_residual, "The sign is reversed: a = −(1/λ)(Φw − t), see below eq. (6)."),
            Mistake(
                not_divided_by_lambda, "These are the residuals t − Φw themselves; a is 1/λ times them, see eq. (6)."
            ),
            Mistake(multiplied_by_lambda, "The residuals are multiplied by λ here; eq. (6) divides by it."),
        ],
    ),
    Piece(
        "primal_from_dual",
        1,
        ridge.primal_from_dual,
        _weight_cases,
        [
            Mistake(
                transpose_forgotten,
                "This matches Φa, whose shape fits only if N = M. Eq. (7) sums the rows of Φ, one for each point, "
                "with weights a_n: that is Φᵀa.",
            ),
            Mistake(averaged_over_points, "This is the mean of a_n φ(x_n). Eq. (7) sums them: no division by N."),
        ],
    ),
    Piece(
        "dual_objective",
        2,
        _dual_objective,
        _dual_cases,
        [
            Mistake(
                penalty_on_a,
                "This matches a penalty λ/2 · aᵀa. The penalty is on wᵀw, and with w = Φᵀa that is aᵀKa; see eq. (8).",
            ),
            Mistake(
                constant_dropped,
                "The constant ½ tᵀt is missing. It does not change the minimiser, but J(a) = J(w) needs it; see eq. "
                "(8).",
            ),
            Mistake(
                one_gram_matrix_short,
                "This matches ½ aᵀKa as the first term. It is ½ ‖Ka‖² = ½ aᵀKKa, because the fit is Ka; see eq. (8).",
            ),
            Mistake(cross_term_added, "The sign of aᵀKt is wrong: expand ½ ‖Ka − t‖² and compare with eq. (8)."),
        ],
    ),
    Piece(
        "gram_matrix",
        1,
        _gram_matrix,
        _design_cases,
        [
            Mistake(
                features_by_features,
                "This is ΦᵀΦ, features against features, M×M. The Gram matrix compares points: ΦΦᵀ, N×N; see eq. (9).",
            ),
            Mistake(entry_by_entry, "This multiplies entry by entry. Eq. (9) takes inner products of rows: use @."),
            Mistake(divided_by_n, "This matches ΦΦᵀ/N. The Gram matrix of eq. (9) has no 1/N."),
        ],
    ),
    Piece(
        "dual_weights",
        2,
        _dual_weights,
        _gram_cases,
        [
            Mistake(
                identity_missing,
                "This matches K + λ instead of K + λI: the identity is missing, and λ is added to every entry; see "
                "eq. (10).",
            ),
            Mistake(
                ridge_times_n,
                "This matches Nλ on the diagonal. That belongs to a risk divided by N; in eq. (10) it is λ itself.",
            ),
            Mistake(
                ridge_subtracted,
                "This matches K − λI. The ridge is added: it lifts the eigenvalues of K away from zero; see eq. (10).",
            ),
            Mistake(
                fitted_values,
                "These are the fitted values Ka, not the weights a. Solve (K + λI)a = t and stop there; see eq. (10).",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "predict",
        1,
        _predict,
        _test_cases,
        [
            Mistake(
                points_in_columns,
                "This matches K_testᵀa. K_test has a row for each test point, so k(x')ᵀa is one of its rows times a; "
                "see eq. (11).",
            ),
            Mistake(averaged_prediction, "This is the mean of a_n k(x_n, x'). Eq. (11) sums: no division by N."),
            Mistake(
                products_not_summed,
                "These are the products a_n k(x_n, x'), one for each training point. Eq. (11) sums them: use @.",
            ),
        ],
    ),
    Piece(
        "multiplications",
        1,
        _multiplications,
        _size_cases,
        [
            Mistake(costs_swapped, "The two counts are swapped: the primal system is M×M and the dual system N×N."),
            Mistake(solving_forgotten, "This counts only forming the matrices; solving a system of size s adds s³/3."),
            Mistake(
                forming_forgotten,
                "This counts only solving the system; each entry of ΦᵀΦ or ΦΦᵀ costs an inner product first.",
            ),
        ],
    ),
    Piece(
        "dual_pays",
        1,
        _dual_pays,
        _size_cases,
        [
            Mistake(
                with_many_points,
                "This says that the dual pays off with many points. Its system is N×N: it pays off when N < M.",
            ),
            Mistake(tie_counts, "For N = M both routes cost the same, so neither is cheaper: compare strictly."),
        ],
    ),
    Piece(
        "kernel_regression",
        3,
        _kernel_regression,
        _regression_cases,
        [
            Mistake(distance_not_squared, "This matches exp(−‖x−z‖/2σ²): the distance in the Gaussian is squared."),
            Mistake(
                two_forgotten,
                "This matches exp(−‖x−z‖²/σ²): the factor 2 of 2σ² is missing. (Lecture K's form, with h, has no "
                "factor 2.)",
            ),
            Mistake(
                identity_missing_kernel,
                "The kernel is right, but this matches K + λ instead of K + λI in step 4; see eq. (10).",
            ),
            Mistake(
                targets_not_weights,
                "This weights the targets t by the kernel. Eq. (11) has the dual weights a, which solve (K + λI)a = t.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Claim(
        "not_a_kernel",
        2,
        _not_a_kernel,
        _verify_not_a_kernel,
        [
            Mistake(all_ones, _POSITIVE),
            Mistake(coinciding_points, _SAME_POINTS),
            Mistake(points_without_vector, _WRONG_FORM),
        ],
    ),
)

checks = seeded(PIECES)
