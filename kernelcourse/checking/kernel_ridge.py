"""Assignment 04, kernel ridge: its pieces and their usual mistakes (lecture S; lecture K, kernelized regression)."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial, prod
from typing import Any

import numpy as np

from .. import features
from ..algorithms import ridge
from ..kernels import Polynomial
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_SOLVE_TOLERANCE = 1e-8
_SOLVE_REASON = (
    "the systems have condition number below 1e4 (lam >= 0.1, entries of order 1), so even an explicit inverse "
    "keeps more than 8 of the 16 digits"
)


def _shapes(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Points in arrays of all the shapes to try, far from the origin so that centring matters."""
    yield "one point, one input", rng.normal(size=(1, 1)) + 2
    yield "one point", rng.normal(size=(1, 3)) + 1
    yield "one input", rng.normal(size=(3, 1)) + 1
    yield "whole numbers", rng.integers(-2, 5, size=(3, 2)) + np.array([[0, 0], [3, 0], [0, 3]])
    yield "repeated points", (rng.normal(size=(2, 2)) + 1)[[0, 1, 0]]
    yield "more inputs than points", rng.normal(size=(2, 4)) + 1
    yield "", rng.normal(size=(6, 3)) + 1


def _targets(rng: np.random.Generator, label: str, n: int) -> np.ndarray:
    return rng.integers(1, 6, size=n) if label == "whole numbers" else rng.normal(size=n) + 2


def _lam(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.2, 2))


# Piece 1: ridge with centring and a penalised bias


def _training_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, X in _shapes(rng):
        yield Case((X, _targets(rng, label, len(X))), label)


def _centred(X: Any, y: Any) -> tuple[Any, Any]:
    return ridge.centred_with_bias(X, y)[:2]


def ones_centred_too(X, y):
    X = np.column_stack([X, np.ones(len(X))])
    return X - X.mean(axis=0), y - y.mean()


def targets_left_alone(X, y):
    return np.column_stack([X - X.mean(axis=0), np.ones(len(X))]), y


def one_mean_for_all_inputs(X, y):
    return np.column_stack([X - X.mean(), np.ones(len(X))]), y - y.mean()


def _test_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, X) in enumerate(_shapes(rng), start=1):
        Z = rng.normal(size=(m, X.shape[1]))
        yield Case((X, _targets(rng, label, len(X)), Z, _lam(rng)), label)


def _ridge_predict(X: Any, y: Any, Z: Any, lam: float) -> Any:
    centred = ridge.centred_with_bias(X, y)
    return centred.extend(Z) @ ridge.primal_weights(centred.X, centred.t, ridge=lam) + centred.t_mean


def own_mean_for_the_test_points(X, y, Z, lam):
    A = X - X.mean(axis=0)
    w = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ (y - y.mean()))
    return (Z - Z.mean(axis=0)) @ w + y.mean()


def mean_not_added_back(X, y, Z, lam):
    A = X - X.mean(axis=0)
    w = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ (y - y.mean()))
    return (Z - X.mean(axis=0)) @ w


def raw_test_points(X, y, Z, lam):
    A = X - X.mean(axis=0)
    w = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ (y - y.mean()))
    return Z @ w + y.mean()


# Piece 2: the dual (lecture S), and with a mean of squares (lecture K)


def _ridge_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, X in _shapes(rng):
        yield Case((X, _targets(rng, label, len(X)), _lam(rng)), label)


def _dual_ridge(X: Any, y: Any, lam: float) -> tuple[Any, Any]:
    X = np.asarray(X, dtype=float)
    a = ridge.dual_weights(X @ X.T, y, ridge=lam)
    return a, ridge.primal_from_dual(a, X)


def divided_by_lambda(X, y, lam):
    a = np.linalg.solve(X @ X.T + np.eye(len(X)) / lam, y)
    return a, X.T @ a


def weights_of_the_targets(X, y, lam):
    return np.linalg.solve(X @ X.T + lam * np.eye(len(X)), y), X.T @ y


def fitted_values_for_w(X, y, lam):
    a = np.linalg.solve(X @ X.T + lam * np.eye(len(X)), y)
    return a, X @ X.T @ a


def _gram_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, X in _shapes(rng):
        yield Case((X @ X.T, _targets(rng, label, len(X)), _lam(rng)), label)


def _mean_risk_weights(K: Any, y: Any, lam: float) -> Any:
    return ridge.dual_weights(K, y, ridge=ridge.ridge_from_mean_risk(lam, n=len(y)))


def lambda_of_lecture_s(K, y, lam):
    return np.linalg.solve(K + lam * np.eye(len(K)), y)


def lambda_over_n(K, y, lam):
    return np.linalg.solve(K + lam / len(K) * np.eye(len(K)), y)


def mean_on_both_sides(K, y, lam):
    return np.linalg.solve(K / len(K) + lam * np.eye(len(K)), y)


def _mean_risk_linear(X: Any, y: Any, lam: float) -> Any:
    return ridge.primal_weights(X, y, ridge=ridge.ridge_from_mean_risk(lam, n=len(y)))


def w_with_lambda_of_lecture_s(X, y, lam):
    return np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ y)


def dimension_for_n(X, y, lam):
    d = X.shape[1]
    return np.linalg.solve(X.T @ X + d * lam * np.eye(d), X.T @ y)


def mean_of_the_points(X, y, lam):
    alpha = np.linalg.solve(X @ X.T + len(X) * lam * np.eye(len(X)), y)
    return X.T @ alpha / len(X)


# Piece 3: how many monomials


def _size_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1, 1), "one input, degree 1")
    yield Case((1, int(rng.integers(2, 200))), "one input")
    yield Case((int(rng.integers(2, 5000)), 0), "degree 0")
    yield Case((2, 2), "the example of the lecture")
    for p in (2, 3, 4, 5):
        yield Case((int(rng.integers(2, 2000)), p))


def _monomial_count(d: int, p: int) -> int:
    return features.monomial_count(d, p)


def power_of_d(d, p):
    return d**p


def highest_degree_only(d, p):
    count = 1
    for i in range(1, p + 1):
        count = count * (d - 1 + i) // i
    return count


def each_input_up_to_p(d, p):
    return 1 + d * p


# Piece 4: the polynomial kernel and its features


def _pair_cases(rng: np.random.Generator) -> Iterator[Case]:
    for m, (label, X) in enumerate(_shapes(rng), start=2):
        Z = X[::-1] if label == "whole numbers" else rng.normal(size=(m, X.shape[1]))
        yield Case((X, Z, 1 + m % 4), label)


def _polynomial_kernel(X: Any, Z: Any, p: int) -> Any:
    return Polynomial(p)(X, Z)


def one_forgotten(X, Z, p):
    return (X @ Z.T) ** p


def one_after_the_power(X, Z, p):
    return (X @ Z.T) ** p + 1


def entries_to_the_power(X, Z, p):
    return X**p @ (Z**p).T + 1


def _exponent_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((np.array([int(rng.integers(1, 4))]), 4), "one input")
    yield Case((np.array([1, 1]), 2), "the lecture's mixed term")
    yield Case((np.array([0, 2, 0]), 2), "a pure square")
    yield Case((np.zeros(3, dtype=int), int(rng.integers(2, 6))), "the constant")
    for d in (2, 3, 4, 5):
        p = d + int(rng.integers(2, 7))
        yield Case((rng.multinomial(int(rng.integers(2, p)), np.full(d, 1 / d)), p), "of lower degree than p")
        yield Case((1 + rng.multinomial(p - d, np.full(d, 1 / d)), p), "of degree p")


def _monomial_weight(m: Any, p: int) -> float:
    powers = [int(e) for e in m]
    return float(np.sqrt(factorial(p) / (prod(map(factorial, powers)) * factorial(p - sum(powers)))))


def root_missing(m, p):
    factorials = np.cumprod([1.0, *range(1, p + 1)])
    return factorials[p] / (np.prod(factorials[m]) * factorials[p - np.sum(m)])


def share_of_the_one_forgotten(m, p):
    factorials = np.cumprod([1.0, *range(1, p + 1)])
    return np.sqrt(factorials[p] / np.prod(factorials[m]))


def degree_of_the_monomial_for_p(m, p):
    factorials = np.cumprod([1.0, *range(1, p + 1)])
    return np.sqrt(factorials[np.sum(m)] / np.prod(factorials[m]))


def degree_counted_only(m, p):
    factorials = np.cumprod([1.0, *range(1, p + 1)])
    return np.sqrt(factorials[p] / (factorials[np.sum(m)] * factorials[p - np.sum(m)]))


def _feature_cases(rng: np.random.Generator) -> Iterator[Case]:
    for p, (label, X) in zip((1, 1, 4, 2, 3, 2, 2), _shapes(rng), strict=True):
        E = np.array(features.exponents(X.shape[1], p))
        weights = np.array([_monomial_weight(m, p) for m in E])
        yield Case((X, E[::-1], weights[::-1]), label)


def _monomial_features(X: Any, E: Any, weights: Any) -> Any:
    return weights * np.prod(np.asarray(X, dtype=float)[:, None, :] ** E[None], axis=2)


def weights_forgotten(X, E, weights):
    return np.prod(X[:, None, :] ** E[None], axis=2)


def powers_summed(X, E, weights):
    return weights * np.sum(X[:, None, :] ** E[None], axis=2)


def exponents_as_factors(X, E, weights):
    return weights * np.prod(X[:, None, :] * E[None], axis=2)


# Piece 5: the Gaussian kernel's features on the line


def _line_cases(rng: np.random.Generator) -> Iterator[Case]:
    def sigma() -> float:
        return float(rng.uniform(0.5, 0.9) if rng.integers(2) else rng.uniform(1.2, 2))

    yield Case((rng.normal(size=1), sigma(), 3), "one point")
    yield Case((rng.normal(size=3), sigma(), 0), "the first feature alone")
    yield Case((np.array([0.0, 1.0]), sigma(), 2), "x = 0 and x = 1")
    yield Case((rng.integers(1, 4, size=3), sigma(), 4), "whole numbers")
    yield Case((rng.normal(size=2)[[0, 1, 0]], sigma(), 2), "repeated points")
    yield Case((rng.uniform(-2, 2, size=4), sigma(), 7))


def _gaussian_features(x: Any, sigma: float, degree: int) -> Any:
    return features.truncated_gaussian(np.asarray(x)[:, None], sigma=sigma, degree=degree)


def root_of_the_factorial_missing(x, sigma, degree):
    factorials = np.cumprod([1.0, *range(1, degree + 1)])
    return np.exp(-(x[:, None] ** 2) / (2 * sigma**2)) * (x[:, None] / sigma) ** np.arange(degree + 1) / factorials


def envelope_missing(x, sigma, degree):
    factorials = np.cumprod([1.0, *range(1, degree + 1)])
    return (x[:, None] / sigma) ** np.arange(degree + 1) / np.sqrt(factorials)


def envelope_too_narrow(x, sigma, degree):
    factorials = np.cumprod([1.0, *range(1, degree + 1)])
    powers = (x[:, None] / sigma) ** np.arange(degree + 1) / np.sqrt(factorials)
    return np.exp(-(x[:, None] ** 2) / sigma**2) * powers


def sigma_missing_in_the_powers(x, sigma, degree):
    factorials = np.cumprod([1.0, *range(1, degree + 1)])
    powers = np.asarray(x, dtype=float)[:, None] ** np.arange(degree + 1) / np.sqrt(factorials)
    return np.exp(-(x[:, None] ** 2) / (2 * sigma**2)) * powers


# Piece 6: alternative testing


def _cost_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((1, 1, 1, 2), "one point each")
    yield Case((10, 10**6, 3, 20), "few training points, many test points")
    yield Case((10**6, 1, 3, 20), "one test point")
    n = int(rng.integers(4, 2000))
    yield Case((n, n, 3, n), "equal costs")
    yield Case((n, n, 4, n), "costs that are nearly equal")
    for n, m, d, D in (
        (50, 50, 5, 200),
        (400, 2, 4, 15),
        (40, 10**4, 10, 286),
        (40, 45, 2, 45),
        (300, 3000, 100, 5151),
    ):
        yield Case((n + int(rng.integers(0, n)), m + int(rng.integers(0, m)), d, D + int(rng.integers(0, D))))
    for _ in range(3):
        n, m, D = (int(10 ** rng.uniform(0, 4)) for _ in range(3))
        yield Case((n, m, int(rng.integers(1, 60)), D))


def _testing_costs(n: int, m: int, d: int, D: int) -> tuple[int, int]:
    return m * n * (d + 1), 2 * D * (n + m)


def once_only_part_forgotten(n, m, d, D):
    return m * n * (d + 1), 2 * D * m


def one_test_point(n, m, d, D):
    return n * (d + 1), 2 * D * n + 2 * D


def w_for_every_test_point(n, m, d, D):
    return m * n * (d + 1), m * (2 * D * n + 2 * D)


def _primal_testing_pays(n: int, m: int, d: int, D: int) -> bool:
    kernel, primal = _testing_costs(n, m, d, D)
    return primal < kernel


def rule_of_thumb(n, m, d, D):
    return n > D / d and m > D / d


def w_for_free(n, m, d, D):
    return 2 * D * m < m * n * (d + 1)


def tie_pays(n, m, d, D):
    return 2 * D * (n + m) <= m * n * (d + 1)


# Piece 7: the claim that penalising the bias does little harm once X and y are centred

_WRONG_FORM = (
    "Return two things: X, two to fifty points as the rows of an (n, d) array with entries between −100 and 100, and "
    "y, a target for each. All entries must be finite."
)
_CONSTANT = "Your targets are all the same. Both fits then equal that constant: let the targets vary."
_LITTLE = (
    "The two fits differ by less than a fifth of the range of your targets. Where does a fit of degree 2 need a large "
    "constant, although X and y are centred? Squares of centred inputs are not centred: take targets that are curved, "
    "inputs spread out so far that the other weights cost little, and few enough points that a penalty of 1 still "
    "matters."
)


def _costly_bias() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[-10.0], [0.0], [10.0]]), np.array([1.0, 0.0, 1.0])


def _verify_costly_bias(answer: Any) -> str:
    try:
        X, y = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _WRONG_FORM
    if X.ndim != 2 or not 1 <= X.shape[1] <= 10 or not 2 <= len(X) <= 50 or y.shape != (len(X),):
        return _WRONG_FORM
    if not np.abs(X).max() <= 100 or not np.isfinite(y).all():
        return _WRONG_FORM
    y = y / max(np.abs(y).max(), np.finfo(float).tiny)
    if np.ptp(y) < 1e-6:
        return _CONSTANT
    return "" if _largest_gap(X, (y - y.mean()) / np.ptp(y)) >= 0.2 else _LITTLE


def _largest_gap(X: np.ndarray, t: np.ndarray) -> float:
    """The largest difference, at the training points, between the fits with a penalised and with a free bias."""
    K = Polynomial(2)(X - X.mean(axis=0))
    penalised = K @ ridge.dual_weights(K, t, ridge=1.0)
    a, b = ridge.dual_weights_with_offset(K, t, ridge=1.0)
    return float(np.abs(penalised - (K @ a + b)).max())


def straight_line():
    return np.array([[-10.0], [0.0], [10.0]]), np.array([-1.0, 0.0, 1.0])


def constant_targets():
    return np.array([[-10.0], [0.0], [10.0]]), np.array([5.0, 5.0, 5.0])


def targets_missing():
    return np.array([[-10.0], [0.0], [10.0]])


PIECES = (
    Piece(
        "centred",
        1,
        _centred,
        _training_cases,
        [
            Mistake(
                ones_centred_too,
                "The ones were appended first and centred with the rest: now they are zeros, and there is no bias. "
                "Centre first, then append: 'don't center the 1's'.",
            ),
            Mistake(
                targets_left_alone,
                "X is right, but y is not centred. Centre y too, as y_i − mean(y). Otherwise the penalised bias would "
                "have to carry the mean.",
            ),
            Mistake(
                one_mean_for_all_inputs,
                "This subtracts one number, the mean of all entries of X. Each input has its own mean: X.mean(axis=0).",
            ),
        ],
    ),
    Piece(
        "ridge_predict",
        3,
        _ridge_predict,
        _test_cases,
        [
            Mistake(
                own_mean_for_the_test_points,
                "The test points were centred by their own mean. They must be shifted by the mean of X, like the "
                "training points: a single test point would otherwise always be at 0.",
            ),
            Mistake(
                mean_not_added_back,
                "The predictions are those for y − mean(y). Add the mean of the training targets at the end.",
            ),
            Mistake(
                raw_test_points,
                "The training points were centred, the test points were not. Subtract the mean of X from Z too, before "
                "you apply w.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "dual_ridge",
        2,
        _dual_ridge,
        _ridge_cases,
        [
            Mistake(
                divided_by_lambda,
                "This has I/λ on the diagonal. The dual system is (XXᵀ + λI)a = y: the larger λ, the smaller a.",
            ),
            Mistake(
                weights_of_the_targets,
                "a is right. For w you took Xᵀy; it should be Xᵀa, the training points weighted by their dual weights.",
            ),
            Mistake(
                fitted_values_for_w,
                "a is right. The second value is Ka, the n fitted values. w has a number for each input: Xᵀa.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "mean_risk_weights",
        1,
        _mean_risk_weights,
        _gram_cases,
        [
            Mistake(
                lambda_of_lecture_s,
                "This has λ on the diagonal, as lectures B and S do. Lecture K divides the sum of squares by n; "
                "multiply its cost by n, and the penalty becomes nλ: (K + nλI)α = y.",
            ),
            Mistake(
                lambda_over_n,
                "This has λ/n on the diagonal. Multiply lecture K's cost by n to get rid of the 1/n before the "
                "squares: the penalty is multiplied too and becomes nλ.",
            ),
            Mistake(
                mean_on_both_sides,
                "This solves (K/n + λI)α = y, whose solution is n times too large: the 1/n belongs to y as well. "
                "Multiplied by n, the condition reads (K + nλI)α = y.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "mean_risk_linear",
        1,
        _mean_risk_linear,
        _ridge_cases,
        [
            Mistake(
                w_with_lambda_of_lecture_s,
                "This minimises the sum of squares plus λ‖w‖². Lecture K has the mean of the squares, so nλ is added "
                "to the diagonal.",
            ),
            Mistake(
                dimension_for_n,
                "The diagonal has dλ here. The factor is the number of points n, whichever of the two systems you "
                "solve: it comes from the mean over the points.",
            ),
            Mistake(
                mean_of_the_points,
                "This is (1/n) Σ α_i x_i. There is no 1/n: w = Σ α_i x_i = Xᵀα gives f(x) = wᵀx.",
            ),
        ],
        tolerance=_SOLVE_TOLERANCE,
        tolerance_reason=_SOLVE_REASON,
    ),
    Piece(
        "monomial_count",
        1,
        _monomial_count,
        _size_cases,
        [
            Mistake(
                power_of_d,
                "This is d^p. That is the order of growth, D ∈ Θ(d^p) for fixed p; the exact count ignores the order "
                "of the factors and includes the lower degrees: choose p from d inputs and the constant 1, with "
                "repetition.",
            ),
            Mistake(
                highest_degree_only,
                "These are the monomials of degree exactly p. The features go from degree 0 to p: think of the missing "
                "factors as 1s, one more 'input' to choose from.",
            ),
            Mistake(
                each_input_up_to_p,
                "This counts 1 and the powers x_j, …, x_j^p of each input separately. The mixed terms, x₁x₂ and the "
                "like, are missing.",
            ),
        ],
        tolerance_reason="the answers are whole numbers below 1e8, which floats hold exactly",
    ),
    Piece(
        "polynomial_kernel",
        1,
        _polynomial_kernel,
        _pair_cases,
        [
            Mistake(
                one_forgotten,
                "This is (xᵀz)^p, whose features have degree exactly p. The 1 in (xᵀz + 1)^p brings in the lower "
                "degrees.",
            ),
            Mistake(
                one_after_the_power,
                "This is (xᵀz)^p + 1: a constant and the terms of degree p, with nothing in between. Add 1 first, then "
                "take the power.",
            ),
            Mistake(
                entries_to_the_power,
                "This takes powers of the inputs before the inner product, and no mixed term is left. Take the power "
                "of the number xᵀz + 1.",
            ),
        ],
    ),
    Piece(
        "monomial_weight",
        2,
        _monomial_weight,
        _exponent_cases,
        [
            Mistake(
                root_missing,
                "This is the multinomial coefficient itself. It multiplies xᵐzᵐ and is shared by Φ(x) and Φ(z): each "
                "gets the square root.",
            ),
            Mistake(
                share_of_the_one_forgotten,
                "The factor (p − |m|)! is missing in the denominator: of the p brackets, p − |m| contribute their 1, "
                "and their order does not count either.",
            ),
            Mistake(
                degree_of_the_monomial_for_p,
                "This has |m|! in the numerator. All p brackets of (xᵀz + 1)^p count, including those that contribute "
                "the 1: p! / (m₁! ⋯ m_d! (p − |m|)!).",
            ),
            Mistake(
                degree_counted_only,
                "This counts which |m| of the p brackets contribute an input. It must also count which input each of "
                "them contributes: |m|! / (m₁! ⋯ m_d!) ways.",
            ),
        ],
    ),
    Piece(
        "monomial_features",
        1,
        _monomial_features,
        _feature_cases,
        [
            Mistake(
                weights_forgotten,
                "These are the bare monomials. Multiply each column by its weight, or the inner product is not "
                "(xᵀz + 1)^p.",
            ),
            Mistake(
                powers_summed,
                "This adds the powers x₁^m₁ + … + x_d^m_d. A monomial is their product.",
            ),
            Mistake(
                exponents_as_factors,
                "This multiplies x_j by its exponent. It should be raised to that power: x_j ** m_j.",
            ),
        ],
    ),
    Piece(
        "gaussian_features",
        2,
        _gaussian_features,
        _line_cases,
        [
            Mistake(
                root_of_the_factorial_missing,
                "This divides by j!. In the series of the exponential, 1/j! belongs to Φ_j(x)Φ_j(z), so each of the "
                "two gets 1/√(j!).",
            ),
            Mistake(
                envelope_missing,
                "The factor exp(−x²/2σ²) in front is missing. These are features of exp(xz/σ²), not yet a Gaussian.",
            ),
            Mistake(
                envelope_too_narrow,
                "Your factor in front is exp(−x²/σ²). It should be exp(−x²/2σ²): (x − z)² is divided by 2σ².",
            ),
            Mistake(
                sigma_missing_in_the_powers,
                "Your powers are x^j; they should be (x/σ)^j, since the exponent xz/σ² is shared by x and z.",
            ),
        ],
        tolerance_reason="powers up to (x/σ)^7 and factorials up to 7! carry 14 digits, and no sum is taken",
    ),
    Piece(
        "testing_costs",
        1,
        _testing_costs,
        _cost_cases,
        [
            Mistake(
                once_only_part_forgotten,
                "The primal way first has to compute w = Φ(X)ᵀa, once: 2nD more (features of n points, then the "
                "products with a).",
            ),
            Mistake(
                one_test_point,
                "This is the cost of one test point. There are m of them; only w is computed once.",
            ),
            Mistake(
                w_for_every_test_point,
                "This computes w again for every test point. It is the same for all: 2nD once, then 2D per test point.",
            ),
        ],
        tolerance_reason="the answers are whole numbers below 1e11, which floats hold exactly",
    ),
    Piece(
        "primal_testing_pays",
        1,
        _primal_testing_pays,
        _cost_cases,
        [
            Mistake(
                rule_of_thumb,
                "This is the lecture's rule of thumb, n and m both above D/d. It leaves out constant factors; compare "
                "the two counts themselves.",
            ),
            Mistake(
                w_for_free,
                "Your answers match a count that leaves out computing w. With a single test point that is most "
                "of the work.",
            ),
            Mistake(tie_pays, "At equal counts the primal way does not take fewer multiplications: compare strictly."),
        ],
        tolerance_reason="the answer is True or False, and the counts are whole numbers",
    ),
    Claim(
        "costly_bias",
        2,
        _costly_bias,
        _verify_costly_bias,
        [
            Mistake(straight_line, _LITTLE),
            Mistake(constant_targets, _CONSTANT),
            Mistake(targets_missing, _WRONG_FORM),
        ],
    ),
)

checks = seeded(PIECES)
