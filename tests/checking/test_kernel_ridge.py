"""Correct answers computed in other ways pass the checks of assignment 04."""

from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, kernel_ridge


def centred_by_a_matrix(X, y):
    H = np.eye(len(X)) - np.ones((len(X), len(X))) / len(X)
    return [np.hstack([H @ X, np.ones((len(X), 1))]), H @ y]


def predictions_without_the_ones(X, y, Z, lam):
    A = X - X.mean(axis=0)
    return (Z - X.mean(axis=0)) @ np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1])) @ A.T @ (y - y.mean()) + y.mean()


def predictions_with_a_free_bias(X, y, Z, lam):
    A = np.column_stack([X, np.ones(len(X))])
    penalty = lam * np.diag([1.0] * X.shape[1] + [0.0])
    return np.column_stack([Z, np.ones(len(Z))]) @ np.linalg.solve(A.T @ A + penalty, A.T @ y)


def predictions_by_the_dual(X, y, Z, lam):
    def k(A, B):
        return (A - X.mean(axis=0)) @ (B - X.mean(axis=0)).T + 1

    return k(Z, X) @ np.linalg.solve(k(X, X) + lam * np.eye(len(X)), y - np.mean(y)) + np.mean(y)


def dual_from_the_primal(X, y, lam):
    w = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T @ y)
    return (y - X @ w) / lam, w


def dual_by_svd(X, y, lam):
    U, s, _ = np.linalg.svd(X.astype(float))
    squares = np.zeros(len(X))
    squares[: len(s)] = s**2
    a = U @ ((U.T @ y) / (squares + lam))
    return a, sum(a_i * x_i for a_i, x_i in zip(a, X, strict=True))


def mean_risk_by_the_gradient(K, y, lam):
    n = len(K)
    return np.linalg.solve(K / n + lam * np.eye(n), y / n)


def mean_risk_by_inverse(K, y, lam):
    return np.linalg.inv(K + lam * len(K) * np.eye(len(K))) @ y


def w_of_the_primal(X, y, lam):
    n, d = X.shape
    return np.linalg.solve(X.T @ X / n + lam * np.eye(d), X.T @ y / n)


def w_by_augmented_least_squares(X, y, lam):
    n, d = X.shape
    A = np.vstack([X, np.sqrt(n * lam) * np.eye(d)])
    return np.linalg.lstsq(A, np.concatenate([y, np.zeros(d)]), rcond=None)[0]


def count_degree_by_degree(d, p):
    return sum(comb(d - 1 + degree, degree) for degree in range(p + 1))


def count_by_recursion(d, p):
    table = np.ones((d + 1, p + 1), dtype=int)
    for i, j in product(range(1, d + 1), range(1, p + 1)):
        table[i, j] = table[i - 1, j] + table[i, j - 1]  # without x_i, or divided by it
    return table[d, p]


def polynomial_by_loop(X, Z, p):
    return [[(1 + np.dot(x, z)) ** p for z in Z] for x in X]


def polynomial_by_appended_ones(X, Z, p):
    extended = np.column_stack([X, np.ones(len(X))]), np.column_stack([Z, np.ones(len(Z))])
    return np.einsum("ni,mi->nm", *extended) ** p


def weight_as_a_product_of_binomials(m, p):
    left, ways = p, 1
    for e in m:
        ways *= comb(left, int(e))
        left -= int(e)
    return ways**0.5


def weight_by_factorials(m, p):
    return np.sqrt(factorial(p) / prod(factorial(e) for e in m) / factorial(p - sum(m)))


def features_by_loop(X, E, weights):
    def monomial(x, m):
        return prod(float(x_j) ** e for x_j, e in zip(x, m, strict=True))

    return [[w * monomial(x, m) for m, w in zip(E, weights, strict=True)] for x in X]


def features_column_by_column(X, E, weights):
    Phi = np.tile(weights, (len(X), 1))
    for j in range(X.shape[1]):
        Phi = Phi * X[:, [j]] ** E[:, j]
    return Phi


def gaussian_features_by_recursion(x, sigma, degree):
    columns = [np.exp(-((x / sigma) ** 2) / 2)]
    for j in range(1, degree + 1):
        columns.append(columns[-1] * x / (sigma * np.sqrt(j)))
    return np.stack(columns, axis=1)


def costs_counted_out(n, m, d, D):
    once = n * D + D * n
    return [m * n * d + m * n, once + m * D + m * D]


def pays_by_ratios(n, m, d, D):
    return np.bool_(2 * D * n + 2 * D * m < n * m * d + n * m)


def a_bend():
    return [[-50], [0], [40]], [9, 0, 9]


def a_bowl_in_the_plane():
    X = np.array([[20, 0], [-20, 0], [0, 20], [0, -20], [0, 0]])
    return X, 3.0 - 1e-4 * np.sum(X**2, axis=1)


ROUTES = {
    centred_by_a_matrix: "centred",
    predictions_without_the_ones: "ridge_predict",
    predictions_with_a_free_bias: "ridge_predict",
    predictions_by_the_dual: "ridge_predict",
    dual_from_the_primal: "dual_ridge",
    dual_by_svd: "dual_ridge",
    mean_risk_by_the_gradient: "mean_risk_weights",
    mean_risk_by_inverse: "mean_risk_weights",
    w_of_the_primal: "mean_risk_linear",
    w_by_augmented_least_squares: "mean_risk_linear",
    count_degree_by_degree: "monomial_count",
    count_by_recursion: "monomial_count",
    polynomial_by_loop: "polynomial_kernel",
    polynomial_by_appended_ones: "polynomial_kernel",
    weight_as_a_product_of_binomials: "monomial_weight",
    weight_by_factorials: "monomial_weight",
    features_by_loop: "monomial_features",
    features_column_by_column: "monomial_features",
    gaussian_features_by_recursion: "gaussian_features",
    costs_counted_out: "testing_costs",
    pays_by_ratios: "primal_testing_pays",
    a_bend: "costly_bias",
    a_bowl_in_the_plane: "costly_bias",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(kernel_ridge.checks(seed)(**{piece: route}), Passed)


LINE = [[-10.0], [0.0], [10.0]]


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "ab",
        (),
        ([1, 2], [1, 2]),
        ([[1.0]], [1.0]),
        (np.zeros((3, 0)), [1, 0, 1]),
        (LINE, [1, 0]),
        (LINE, [np.nan, 0, 1]),
        (LINE, [np.inf, 0, 1]),
        ([[np.nan], [0.0], [1.0]], [1, 0, 1]),
        ([[-1e6], [0.0], [1e6]], [1, 0, 1]),
        (np.zeros((51, 1)), np.arange(51)),
        (np.zeros((3, 11)), [1, 0, 1]),
    ],
    ids=lambda junk: repr(junk)[:30],
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed, match="Return two things"):
        kernel_ridge.checks(1)(costly_bias=lambda: junk)


@pytest.mark.parametrize("y", [[0, 0, 0], [1e-300, 0, 1e-300], [1e308, -1e308, 1e308], [1.0, 1.0 + 1e-12, 1.0]])
def test_targets_of_any_size_are_judged_without_a_warning(y):
    with np.errstate(all="raise", under="ignore"):
        verdict = next(p for p in kernel_ridge.PIECES if p.name == "costly_bias").verify((LINE, y))
    assert ("all the same" in verdict) == (np.ptp(np.array(y) / max(1e-300, max(y))) < 1e-6)


@pytest.mark.parametrize("negative", [1, 2, 25, 49])
def test_inputs_at_the_limit_are_solved_without_a_detour(negative):
    X = np.where(np.arange(50)[:, None] < negative, -100.0, 100.0) * np.ones(10)
    assert kernel_ridge._largest_gap(X, np.linspace(-0.5, 0.5, 50)) >= 0  # a warning would be an error


def test_a_costly_bias_may_be_shown_with_two_to_fifty_points():
    claim = next(piece for piece in kernel_ridge.PIECES if piece.name == "costly_bias")

    def said(n):
        x = np.linspace(-1, 1, n)[:, None]
        return claim.verify((x, x[:, 0] + np.arange(n)))

    form = claim.verify("nothing")
    assert [said(n) == form for n in (1, 2, 50, 51)] == [True, False, False, True]
