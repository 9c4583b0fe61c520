from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from kernelcourse.algorithms.ridge import (
    centred_with_bias,
    dual_from_primal,
    dual_gradient,
    dual_objective,
    dual_weights,
    dual_weights_with_offset,
    predict,
    primal_from_dual,
    primal_gradient,
    primal_objective,
    primal_weights,
    regularization_network,
    ridge_from_gamma,
    ridge_from_mean_risk,
)
from kernelcourse.validation import KernelCourseWarning

seeds = st.integers(0, 10_000)
ridges = st.floats(1e-3, 1e3)


def problem(seed=0, *, n=9, M=4):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, M))
    return Phi, Phi @ rng.normal(size=M) + rng.normal(size=n) + 2.0


def gaussian(X, Z):
    return np.exp(-0.5 * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


# The primal


def test_primal_objective_is_the_sum_written_out():
    Phi, t = problem()
    w = np.array([1.0, -2.0, 0.5, 3.0])
    by_hand = 0.5 * sum((w @ phi_n - t_n) ** 2 for phi_n, t_n in zip(Phi, t, strict=True)) + 0.35 * sum(w**2)
    assert primal_objective(w, Phi, t, ridge=0.7) == pytest.approx(by_hand)


def test_primal_gradient_matches_finite_differences():
    Phi, t = problem()
    w = np.array([1.0, -2.0, 0.5, 3.0])
    numeric = approx_fprime(w, lambda v: primal_objective(v, Phi, t, ridge=0.7))
    np.testing.assert_allclose(primal_gradient(w, Phi, t, ridge=0.7), numeric, rtol=1e-5)


def test_primal_weights_match_scikit_learn():
    Phi, t = problem()
    oracle = Ridge(alpha=0.7, fit_intercept=False).fit(Phi, t).coef_
    np.testing.assert_allclose(primal_weights(Phi, t, ridge=0.7), oracle, rtol=1e-10)


@given(seed=seeds, ridge=ridges)
def test_the_gradient_vanishes_at_the_primal_weights(seed, ridge):
    Phi, t = problem(seed)
    w = primal_weights(Phi, t, ridge=ridge)
    scale = np.abs(Phi.T @ t).max()
    assert np.abs(primal_gradient(w, Phi, t, ridge=ridge)).max() < 1e-10 * scale


# From primal to dual and back


@given(seed=seeds, ridge=ridges)
def test_primal_to_dual_and_back_at_the_minimiser(seed, ridge):
    Phi, t = problem(seed)
    w = primal_weights(Phi, t, ridge=ridge)
    a = dual_from_primal(w, Phi, t, ridge=ridge)
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a, dual_weights(Phi @ Phi.T, t, ridge=ridge), rtol=1e-6, atol=1e-8)


def test_away_from_the_minimiser_the_round_trip_does_not_close():
    Phi, t = problem()
    w = primal_weights(Phi, t, ridge=0.7) + 0.1
    assert not np.allclose(primal_from_dual(dual_from_primal(w, Phi, t, ridge=0.7), Phi), w)


# The dual


@given(seed=seeds, ridge=st.floats(0, 100))
def test_dual_objective_equals_the_primal_one_at_the_same_function(seed, ridge):
    Phi, t = problem(seed)
    a = np.random.default_rng(seed + 1).normal(size=len(t))
    primal = primal_objective(primal_from_dual(a, Phi), Phi, t, ridge=ridge)
    assert dual_objective(a, Phi @ Phi.T, t, ridge=ridge) == pytest.approx(primal)


def test_dual_objective_is_equation_8_term_by_term():
    Phi, t = problem()
    K, a = Phi @ Phi.T, np.arange(9.0)
    equation_8 = 0.5 * a @ K @ K @ a - a @ K @ t + 0.5 * t @ t + 0.35 * a @ K @ a
    assert dual_objective(a, K, t, ridge=0.7) == pytest.approx(equation_8)


def test_dual_gradient_matches_finite_differences():
    Phi, t = problem()
    K, a = Phi @ Phi.T, np.linspace(-1, 1, 9)
    numeric = approx_fprime(a, lambda v: dual_objective(v, K, t, ridge=0.7))
    np.testing.assert_allclose(dual_gradient(a, K, t, ridge=0.7), numeric, rtol=1e-4, atol=1e-4)


def test_dual_weights_and_predictions_match_scikit_learn():
    X, t = problem(n=20)
    Z = np.random.default_rng(1).normal(size=(7, 4))
    K, K_test = gaussian(X, X), gaussian(Z, X)
    oracle = KernelRidge(alpha=0.3, kernel="precomputed").fit(K, t)
    a = dual_weights(K, t, ridge=0.3)
    np.testing.assert_allclose(a, oracle.dual_coef_, rtol=1e-8)
    np.testing.assert_allclose(predict(K_test, a), oracle.predict(K_test), rtol=1e-8)


@pytest.mark.parametrize(("n", "M"), [(9, 4), (4, 9), (1, 3), (5, 1), (1, 1)])
def test_primal_and_dual_predict_the_same_whichever_is_smaller(n, M):
    Phi, t = problem(n=n, M=M)
    Phi_test = np.random.default_rng(1).normal(size=(3, M))
    a = dual_weights(Phi @ Phi.T, t, ridge=0.7)
    np.testing.assert_allclose(predict(Phi_test @ Phi.T, a), Phi_test @ primal_weights(Phi, t, ridge=0.7), rtol=1e-9)


def test_several_outputs_are_solved_column_by_column():
    Phi, t = problem()
    K, T = Phi @ Phi.T, np.column_stack([t, -2 * t, t**2])
    A = dual_weights(K, T, ridge=0.7)
    W = primal_weights(Phi, T, ridge=0.7)
    for j in range(3):
        np.testing.assert_allclose(A[:, j], dual_weights(K, T[:, j], ridge=0.7))
        np.testing.assert_allclose(W[:, j], primal_weights(Phi, T[:, j], ridge=0.7))
    np.testing.assert_allclose(primal_from_dual(A, Phi), W, atol=1e-12)
    assert predict(K[:2], A).shape == (2, 3)


def test_coefficients_differ_by_the_null_space_but_the_function_does_not():
    Phi, t = problem()  # 9 points, 4 features: K has a null space
    K = Phi @ Phi.T
    a = dual_weights(K, t, ridge=0.7)
    null = np.linalg.svd(Phi.T)[2][-1]
    np.testing.assert_allclose(dual_gradient(a + null, K, t, ridge=0.7), 0, atol=1e-10)
    np.testing.assert_allclose(predict(K, a + null), predict(K, a), atol=1e-12)


def test_duplicates_without_a_ridge_fit_their_mean_and_warn():
    X = np.array([[0.0], [0.0], [1.0]])
    t = np.array([1.0, 3.0, 5.0])
    with pytest.warns(KernelCourseWarning, match="singular|positive definite"):
        a = dual_weights(gaussian(X, X), t, ridge=0.0)
    np.testing.assert_allclose(predict(gaussian(X, X), a), [2.0, 2.0, 5.0], atol=1e-10)


# The lectures' parameters


def test_the_lectures_parameters_become_the_same_ridge():
    assert ridge_from_mean_risk(0.25, n=8) == ridge_from_gamma(0.25, ell=8) == 2.0


def test_ridge_from_mean_risk_minimises_the_risk_of_lecture_k():
    X, y = problem()
    K, lam = gaussian(X, X), 0.05
    alpha = dual_weights(K, y, ridge=ridge_from_mean_risk(lam, n=len(y)))
    risk = lambda v: np.mean((K @ v - y) ** 2) + lam * v @ K @ v  # noqa: E731
    np.testing.assert_allclose(approx_fprime(alpha, risk), 0, atol=1e-6)


def test_regularization_network_minimises_the_risk_of_lecture_i():
    X, y = problem()
    K, gamma = gaussian(X, X), 0.05
    alpha = regularization_network(K, y, gamma=gamma)
    risk = lambda v: np.mean((y - K @ v) ** 2) + gamma * v @ K @ v  # noqa: E731
    np.testing.assert_allclose(approx_fprime(alpha, risk), 0, atol=1e-6)
    np.testing.assert_allclose((9 * gamma * np.eye(9) + K) @ alpha, y)


# A free offset


def bordered(K, t, ridge):
    """Oracle: the bordered system, solved as a whole."""
    n = len(K)
    A = np.block([[K + ridge * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.append(t, 0.0))
    return solution[:n], solution[n]


@given(seed=seeds, ridge=ridges)
def test_offset_solves_the_bordered_system(seed, ridge):
    X, t = problem(seed)
    K = gaussian(X, X)
    a, b = dual_weights_with_offset(K, t, ridge=ridge)
    a_oracle, b_oracle = bordered(K, t, ridge)
    np.testing.assert_allclose(a, a_oracle, rtol=1e-7, atol=1e-9)
    assert b == pytest.approx(b_oracle)


def test_offset_is_scikit_learns_intercept_for_the_linear_kernel():
    Phi, t = problem()
    oracle = Ridge(alpha=0.7).fit(Phi, t)
    a, b = dual_weights_with_offset(Phi @ Phi.T, t, ridge=0.7)
    np.testing.assert_allclose(primal_from_dual(a, Phi), oracle.coef_)
    assert b == pytest.approx(oracle.intercept_)


@given(seed=seeds, shift=st.floats(-1e3, 1e3))
def test_a_shift_of_the_targets_moves_only_the_offset(seed, shift):
    X, t = problem(seed)
    K = gaussian(X, X)
    a, b = dual_weights_with_offset(K, t, ridge=0.5)
    a_shifted, b_shifted = dual_weights_with_offset(K, t + shift, ridge=0.5)
    np.testing.assert_allclose(a_shifted, a, atol=1e-10)
    assert b_shifted == pytest.approx(b + shift, abs=1e-9)


def test_offset_without_a_ridge_needs_no_detour_where_k_is_regular():
    K, t = np.diag([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = dual_weights_with_offset(K, t, ridge=0.0)
    a_oracle, b_oracle = bordered(K, t, 0.0)
    np.testing.assert_allclose(a, a_oracle)
    assert b == pytest.approx(b_oracle)


def test_offset_with_a_zero_kernel_and_no_ridge_is_the_mean():
    with pytest.warns(KernelCourseWarning):
        a, b = dual_weights_with_offset(np.zeros((3, 3)), [1.0, 2.0, 6.0], ridge=0.0)
    np.testing.assert_array_equal(a, 0)
    assert b == pytest.approx(3.0)


def test_offset_with_a_singular_kernel_and_no_ridge_is_least_squares():
    X = np.array([[-1.0], [0.0], [4.0], [5.0]])  # rank 1, and the ones are not in the range of K
    t = np.array([1.0, 2.0, 0.0, 7.0])
    with pytest.warns(KernelCourseWarning):
        a, b = dual_weights_with_offset(X @ X.T, t, ridge=0.0)
    slope, intercept = np.polyfit(X[:, 0], t, 1)
    np.testing.assert_allclose(primal_from_dual(a, X), [slope])
    assert b == pytest.approx(intercept)


def test_offset_of_one_point_is_its_target():
    a, b = dual_weights_with_offset([[2.0]], [5.0], ridge=1.0)
    assert (a.tolist(), b) == ([0.0], 5.0)


def test_offset_of_several_outputs():
    X, t = problem()
    K = gaussian(X, X)
    A, B = dual_weights_with_offset(K, np.column_stack([t, -t + 1]), ridge=0.5)
    a, b = dual_weights_with_offset(K, t, ridge=0.5)
    np.testing.assert_allclose(A, np.column_stack([a, -a]), atol=1e-12)
    np.testing.assert_allclose(B, [b, 1 - b])


# A penalised bias


def test_centring_spares_the_column_of_ones():
    X, t = problem()
    centred = centred_with_bias(X, t)
    np.testing.assert_allclose(centred.X.mean(axis=0), [0, 0, 0, 0, 1], atol=1e-15)
    assert centred.t.mean() == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(centred.X[:, :-1] + centred.x_mean, X)
    np.testing.assert_allclose(centred.t + centred.t_mean, t)


def test_the_column_of_ones_is_a_constant_kernel():
    X, t = problem()
    centred = centred_with_bias(X, t)
    X_c = X - X.mean(axis=0)
    np.testing.assert_allclose(centred.X @ centred.X.T, X_c @ X_c.T + 1)


def test_the_penalty_on_the_bias_costs_nothing_for_linear_features():
    X, t = problem()
    Z = np.random.default_rng(1).normal(size=(5, 4))
    centred = centred_with_bias(X, t)
    w = primal_weights(centred.X, centred.t, ridge=3.0)
    assert w[-1] == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(centred.extend(Z) @ w + centred.t_mean, Ridge(alpha=3.0).fit(X, t).predict(Z))


def test_the_penalty_on_the_bias_moves_the_predictions_for_quadratic_features():
    X, t = problem(n=15, M=1)
    x = centred_with_bias(X, t).X  # columns x and 1
    Phi, t = np.column_stack([x, x[:, 0] ** 2]), t - t.mean()
    penalised = Phi @ primal_weights(Phi, t, ridge=3.0)
    free = Ridge(alpha=3.0).fit(Phi[:, [0, 2]], t).predict(Phi[:, [0, 2]])
    difference = np.abs(penalised - free).max()
    assert 1e-3 < difference < 0.3 * t.std()


# Bad input

K2 = np.eye(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dual_weights([[1.0, 2.0]], [1.0], ridge=1.0), "K must be square"),
        (lambda: dual_weights([[1.0, 2.0], [0.0, 1.0]], [1.0, 2.0], ridge=1.0), "K must be symmetric"),
        (lambda: dual_weights(K2, [1.0, 2.0, 3.0], ridge=1.0), "t has 3 entries, expected 2"),
        (lambda: dual_weights(K2, [1.0, np.nan], ridge=1.0), "t contains NaN"),
        (lambda: dual_weights(np.diag([1.0, np.inf]), [1.0, 2.0], ridge=1.0), "K contains inf"),
        (lambda: dual_weights(K2, ["a", "b"], ridge=1.0), "t must hold numbers"),
        (lambda: dual_weights(K2, np.zeros((2, 0)), ridge=1.0), "t must be 1-D, or 2-D"),
        (lambda: dual_weights(K2, np.zeros((2, 1, 1)), ridge=1.0), "t must be 1-D, or 2-D"),
        (lambda: dual_weights(K2, 3.0, ridge=1.0), "t must be 1-D, or 2-D"),
        (lambda: dual_weights(np.zeros((0, 0)), [], ridge=1.0), "K has 0 sample"),
        (lambda: dual_weights(K2, [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: primal_weights([[1.0], [2.0]], [1.0], ridge=1.0), "t has 1 entries, expected 2"),
        (lambda: primal_weights([[1.0], [2.0]], [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: primal_objective([1.0, 2.0], [[1.0], [2.0]], [1.0, 2.0], ridge=1.0), "w has 2 entries.* expected 1"),
        (lambda: primal_objective([1.0], [[1.0], [2.0]], [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: primal_gradient([1.0], [[1.0], [2.0]], [1.0], ridge=1.0), "t has 1 entries"),
        (lambda: primal_gradient([1.0], [[1.0], [2.0]], [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: dual_from_primal([1.0], [[1.0], [2.0]], [1.0, 2.0], ridge=0.0), "ridge must be a finite number > 0"),
        (lambda: primal_from_dual([1.0], [[1.0], [2.0]]), "a has 1 entries, expected 2"),
        (lambda: dual_objective([1.0], K2, [1.0, 2.0], ridge=1.0), "a has 1 entries"),
        (lambda: dual_objective([1.0, 2.0], K2, [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: dual_gradient([1.0, 2.0], K2, [1.0], ridge=1.0), "t has 1 entries"),
        (lambda: dual_gradient([1.0, 2.0], K2, [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: predict(np.ones((2, 3)), [1.0, 2.0]), r"K_test must have 2 columns, got shape \(2, 3\)"),
        (lambda: ridge_from_mean_risk(-1.0, n=2), "lam must be"),
        (lambda: ridge_from_mean_risk(1.0, n=0), "n must be"),
        (lambda: ridge_from_gamma(-1.0, ell=2), "gamma must be"),
        (lambda: ridge_from_gamma(1.0, ell=0), "ell must be"),
        (lambda: regularization_network(K2, [1.0], gamma=1.0), "y has 1 entries"),
        (lambda: regularization_network(K2, [1.0, 2.0], gamma=-1.0), "gamma must be"),
        (lambda: dual_weights_with_offset(K2, [1.0], ridge=1.0), "t has 1 entries"),
        (lambda: dual_weights_with_offset(K2, [1.0, 2.0], ridge=-1.0), "ridge must be"),
        (lambda: centred_with_bias([[1.0], [2.0]], [1.0]), "t has 1 entries"),
        (lambda: centred_with_bias([1.0, 2.0], [1.0, 2.0]), "X must be 2-D"),
        (lambda: centred_with_bias([[1.0], [2.0]], [1.0, 2.0]).extend([[1.0, 2.0]]), "Z must have 1 column, got"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("bad", ["1", None, True, [1.0]])
def test_a_ridge_that_is_no_number_is_named(bad):
    with pytest.raises(TypeError, match="ridge must be a finite number"):
        dual_weights(K2, [1.0, 2.0], ridge=bad)
