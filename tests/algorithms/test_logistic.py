"""Kernel logistic regression and softmax: the objectives, the lecture's algorithms, and Newton's method."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

from kernelcourse.algorithms import logistic as algorithms
from kernelcourse.algorithms.logistic import (
    logistic,
    logistic_functional_gradient,
    logistic_gradient_descent,
    logistic_newton,
    logistic_newton_cg,
    logistic_objective,
    logistic_sgd,
    logistic_sgd_by_the_book,
    primal_logistic_gradient_descent,
)
from kernelcourse.algorithms.softmax import (
    cross_entropy,
    kernel_softmax,
    one_hot,
    primal_softmax,
    softmax,
)
from kernelcourse.linalg import solve_ridge
from kernelcourse.validation import KernelCourseWarning

matrices = arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-1e3, 1e3))


def overlapping(seed=0, *, n=30, D=3, k=2):
    """Features and labels 0, ..., k - 1 of classes that overlap."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return rng.normal(size=(n, D)) + 0.7 * labels[:, None] * np.arange(1, D + 1) / D, labels


def gaussian_gram(X, sigma=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / (2 * sigma**2))


# ---------------------------------------------------------------- logistic, softmax, cross-entropy


@given(z=arrays(float, 7, elements=st.floats(-1e300, 1e300)))
def test_logistic_is_a_probability_and_symmetric_without_overflow(z):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = logistic(z)
    assert ((s >= 0) & (s <= 1)).all()
    np.testing.assert_allclose(s + logistic(-z), 1.0, rtol=1e-15)


def test_logistic_keeps_its_relative_precision_in_the_lower_tail():
    np.testing.assert_allclose(logistic([-40.0, -700.0]), np.exp([-40.0, -700.0]), rtol=1e-14)


@given(Z=matrices, shift=st.floats(-1e3, 1e3))
def test_softmax_rows_are_probabilities_and_ignore_a_shift(Z, shift):
    P = softmax(Z)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(softmax(Z + shift), P, rtol=1e-9, atol=1e-300)


def test_softmax_of_two_classes_is_the_logistic_of_their_difference():
    Z = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(softmax(Z)[:, 1], logistic(Z[:, 1] - Z[:, 0]), rtol=1e-13)


def test_one_hot_marks_the_label_and_keeps_room_for_absent_classes():
    np.testing.assert_array_equal(one_hot([2, 0, 2], 4), [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]])


def test_cross_entropy_is_the_log_probability_of_the_right_classes():
    P = softmax(np.random.default_rng(1).normal(size=(4, 3)))
    assert cross_entropy(P, one_hot([0, 2, 1, 2], 3)) == pytest.approx(-np.log(P[[0, 1, 2, 3], [0, 2, 1, 2]]).sum())


def test_cross_entropy_at_the_ends():
    assert cross_entropy([[1.0, 0.0]], [[1, 0]]) == 0.0
    assert cross_entropy([[0.0, 1.0]], [[1, 0]]) == np.inf


@given(seed=st.integers(0, 1000))
def test_cross_entropy_is_least_at_the_true_distribution(seed):
    P, Q = softmax(np.random.default_rng(seed).normal(size=(2, 4)))
    assert cross_entropy([P], [P]) <= cross_entropy([Q], [P]) + 1e-12


# ---------------------------------------------------------------- objectives and gradients


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_logistic_gradient_is_the_finite_difference_of_the_objective(ridge):
    Phi, y = overlapping()
    K, a = Phi @ Phi.T, np.random.default_rng(1).normal(size=len(y)) / 10
    slopes = approx_fprime(a, lambda a: logistic_objective(a, K, y, ridge=ridge), 1e-7)
    gradient = K @ logistic_functional_gradient(a, K, y, ridge=ridge)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-4)


def softmax_residual(A, K, labels, ridge):
    return softmax(K @ A) - one_hot(labels, A.shape[1]) + ridge * A


def test_the_functional_gradient_is_the_formula():
    Phi, y = overlapping(n=9)
    K, a = Phi @ Phi.T, np.random.default_rng(3).normal(size=9)
    np.testing.assert_allclose(
        logistic_functional_gradient(a, K, y, ridge=0.7), logistic(K @ a) - y + 0.7 * a, atol=1e-14
    )


def test_the_functional_gradient_keeps_its_digits_where_the_fit_is_certain():
    r = logistic_functional_gradient([50.0, -50.0], np.eye(2), [1, 0], ridge=0.0)
    np.testing.assert_allclose(r, [-np.exp(-50), np.exp(-50)], rtol=1e-12)
    A = kernel_softmax([[1e-3]], [0], ridge=1e-30, n_classes=2)  # the rows of A are such errors, divided by the ridge
    np.testing.assert_allclose(1e-30 * A[0, 0], 1 / (1 + np.exp(1e-3 * (A[0, 0] - A[0, 1]))), rtol=1e-6)


def test_the_objective_does_not_overflow_and_counts_the_penalty_once():
    assert logistic_objective([1000.0, 1000.0], np.eye(2), [0, 1], ridge=0.0) == pytest.approx(1000.0)
    extra = logistic_objective([1.0, 2.0], np.eye(2), [0, 1], ridge=3.0)
    assert extra - logistic_objective([1.0, 2.0], np.eye(2), [0, 1], ridge=0.0) == pytest.approx(3 / 2 * 5)


# ---------------------------------------------------------------- gradient descent


def test_gradient_descent_with_ridge_0_is_the_lectures_loop():
    Phi, y = overlapping()
    K, a = Phi @ Phi.T, np.zeros(len(y))
    for _ in range(20):
        a = a + 0.05 * (y - 1 / (1 + np.exp(-K @ a)))
    np.testing.assert_allclose(logistic_gradient_descent(K, y, step=0.05, iterations=20), a, rtol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_primal_and_dual_gradient_descent_agree_after_every_step(ridge):
    Phi, y = overlapping(n=12, D=4)
    for iterations in range(15):
        a = logistic_gradient_descent(Phi @ Phi.T, y, step=0.1, iterations=iterations, ridge=ridge)
        w = primal_logistic_gradient_descent(Phi, y, step=0.1, iterations=iterations, ridge=ridge)
        np.testing.assert_allclose(Phi.T @ a, w, rtol=1e-10, atol=1e-13)


def test_every_step_below_the_stated_bound_decreases_the_objective():
    Phi, y = overlapping()
    K = Phi @ Phi.T
    step = 1.99 / (0.5 + np.linalg.eigvalsh(K)[-1] / 4)
    path = [
        logistic_objective(logistic_gradient_descent(K, y, step=step, iterations=j, ridge=0.5), K, y, ridge=0.5)
        for j in range(15)
    ]
    assert (np.diff(path) < 0).all()


def test_gradient_descent_stops_at_tol_where_newton_arrives():
    Phi, y = overlapping()
    K = gaussian_gram(Phi)
    a = logistic_gradient_descent(K, y, step=0.2, iterations=10_000, ridge=0.5, tol=1e-9)
    left = np.abs(logistic_functional_gradient(a, K, y, ridge=0.5)).max()
    assert 1e-11 < left <= 1e-9
    np.testing.assert_allclose(a, logistic_newton(K, y, ridge=0.5).a, atol=1e-8)


def test_gradient_descent_warns_when_tol_is_out_of_reach():
    Phi, y = overlapping()
    with pytest.warns(KernelCourseWarning, match="after 3 iterations"):
        logistic_gradient_descent(Phi @ Phi.T, y, step=0.01, iterations=3, tol=1e-6)


@pytest.mark.parametrize("descend", [logistic_gradient_descent, primal_logistic_gradient_descent])
def test_a_step_at_which_the_penalty_explodes_is_refused(descend):
    with pytest.raises(ValueError, match=r"step must be < 2 / ridge = 0\.2"):
        descend(np.eye(2), [0, 1], step=0.2, iterations=5, ridge=10.0)
    assert np.isfinite(descend(np.eye(2), [0, 1], step=0.19, iterations=5, ridge=10.0)).all()


# ---------------------------------------------------------------- stochastic gradient descent


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_sgd_with_q_kept_up_to_date_is_sgd_by_the_book(ridge):
    Phi, y = overlapping()
    K = gaussian_gram(Phi)
    fast = logistic_sgd(K, y, step=0.3, steps=400, rng=7, ridge=ridge)
    slow = logistic_sgd_by_the_book(K, y, step=0.3, steps=400, rng=7, ridge=ridge)
    np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-12)


def test_sgd_follows_the_primal_update_of_the_lecture():
    Phi, y = overlapping()
    w = np.zeros(Phi.shape[1])
    for i in np.random.default_rng(5).integers(len(y), size=200):
        w = w + 0.1 * (y[i] - 1 / (1 + np.exp(-Phi[i] @ w))) * Phi[i]
    np.testing.assert_allclose(Phi.T @ logistic_sgd(Phi @ Phi.T, y, step=0.1, steps=200, rng=5), w, rtol=1e-9)


def test_sgd_with_a_constant_step_converges_to_the_minimum():
    Phi, y = overlapping()
    K = gaussian_gram(Phi)
    a = logistic_sgd(K, y, step=1.0, steps=5000, rng=0, ridge=0.5)
    np.testing.assert_allclose(a, logistic_newton(K, y, ridge=0.5).a, atol=1e-8)


def test_sgd_takes_its_randomness_from_rng_alone():
    Phi, y = overlapping()
    first, again, other = (logistic_sgd(Phi @ Phi.T, y, step=0.1, steps=20, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(first, logistic_sgd(Phi @ Phi.T, y, step=0.1, steps=20, rng=rng))


# ---------------------------------------------------------------- Newton


def hard_problems():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    noise = (rng.random(80) < 0.5).astype(float)
    separable = (X[:, 0] > 0).astype(float)
    gap = X + np.sign(X[:, :1]) * [1.0, 0.0]
    return {
        "overlapping": (gaussian_gram(X), noise),
        "separable with a gap": (gaussian_gram(gap), separable),
        "nearly separable": (gaussian_gram(X), (X[:, 0] + 0.1 * rng.normal(size=80) > 0).astype(float)),
        "rank 2": (X @ X.T, noise),
        "rank 1, all points the same": (np.ones((80, 80)), noise),
        "duplicates with other labels": (gaussian_gram(np.repeat(X[:40], 2, axis=0), 0.3), noise),
        "no information": (np.zeros((80, 80)), noise),
        "one class": (gaussian_gram(X), np.ones(80)),
        "badly scaled polynomial": ((10 * X @ X.T + 1) ** 6, separable),
    }


@pytest.mark.parametrize("ridge", [1e3, 1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("name", hard_problems())
def test_newton_reaches_a_gradient_norm_of_1e_8(name, ridge):
    K, y = hard_problems()[name]
    fit = logistic_newton(K, y, ridge=ridge)
    residual = logistic(K @ fit.a) - y + ridge * fit.a
    assert np.abs(residual).max() <= 1e-8 * (1 + 1e-6)
    assert fit.gradient_norm == pytest.approx(np.abs(residual).max(), abs=1e-9)
    assert fit.gradient_norm <= 1e-8
    assert fit.objective == pytest.approx(logistic_objective(fit.a, K, y, ridge=ridge))


@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_newton_agrees_with_scikit_learn_on_exact_features(C):
    Phi, y = overlapping(n=60, D=4)
    peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    peer.fit(Phi, y)
    fit = logistic_newton(Phi @ Phi.T, y, ridge=1 / C)
    np.testing.assert_allclose(Phi.T @ fit.a, peer.coef_[0], rtol=1e-5, atol=1e-7)


def test_newton_agrees_with_a_generic_minimiser_of_the_objective():
    Phi, y = overlapping(n=12)
    K = gaussian_gram(Phi)
    fit = logistic_newton(K, y, ridge=0.3)
    peer = minimize(
        lambda a: logistic_objective(a, K, y, ridge=0.3),
        np.zeros(12),
        jac=lambda a: K @ logistic_functional_gradient(a, K, y, ridge=0.3),
        options={"gtol": 1e-9},
    )
    assert fit.objective == pytest.approx(peer.fun, rel=1e-10)
    np.testing.assert_allclose(K @ fit.a, K @ peer.x, atol=1e-5)


@given(seed=st.integers(0, 1000), size=st.floats(1e-4, 10.0))
def test_no_other_weights_have_a_lower_objective(seed, size):
    Phi, y = overlapping(seed, n=10)
    K = Phi @ Phi.T
    fit = logistic_newton(K, y, ridge=0.1)
    other = fit.a + size * np.random.default_rng(seed).normal(size=10)
    assert logistic_objective(other, K, y, ridge=0.1) >= fit.objective


def test_newton_knows_the_answer_for_a_single_point():
    fit = logistic_newton([[2.0]], [1], ridge=0.5)
    assert 0.5 * fit.a[0] == pytest.approx(1 - logistic(2 * fit.a[0]), rel=1e-8)


def test_newton_is_accurate_relative_to_small_weights_on_separable_data():
    # ridge a = s(-a): both sides are about 1e-5, far below what an absolute tolerance of 1e-8 would pin down.
    a = logistic_newton([[1.0]], [1], ridge=1e-6).a[0]
    assert 1e-6 * a == pytest.approx(logistic(-a), rel=1e-7)


def test_swapping_the_classes_flips_the_weights():
    Phi, y = overlapping()
    K = gaussian_gram(Phi)
    np.testing.assert_allclose(logistic_newton(K, 1 - y, ridge=0.1).a, -logistic_newton(K, y, ridge=0.1).a, atol=1e-9)


def test_scaling_kernel_and_ridge_together_scales_the_weights():
    Phi, y = overlapping()
    K = gaussian_gram(Phi)
    np.testing.assert_allclose(
        1e6 * logistic_newton(1e6 * K, y, ridge=1e6 * 0.1).a, logistic_newton(K, y, ridge=0.1).a, rtol=1e-6
    )


def test_newton_warns_when_it_stops_before():
    K, y = hard_problems()["nearly separable"]
    with pytest.warns(KernelCourseWarning, match="logistic_newton stopped after 2 iterations"):
        fit = logistic_newton(K, y, ridge=1e-6, max_iterations=2)
    assert fit.iterations == 2
    assert fit.gradient_norm > 1e-8
    with pytest.warns(KernelCourseWarning, match="primal_softmax stopped after 2 iterations"):
        primal_softmax(K, y, ridge=1e-6, max_iterations=2)


def test_newton_warns_once_when_rounding_stops_it():
    K, y = hard_problems()["rank 1, all points the same"]
    with pytest.warns(KernelCourseWarning, match="a ridge larger than 1e-15") as caught:
        fit = logistic_newton(K, y, ridge=1e-15)
    assert len(caught) == 1
    assert fit.iterations < 100
    assert np.isfinite(fit.a).all()


# ---------------------------------------------------------------- many classes


@pytest.mark.parametrize("ridge", [10.0, 0.1, 1e-6])
@pytest.mark.parametrize("solver", [kernel_softmax, partial(kernel_softmax, max_products=3)])
def test_kernel_softmax_reaches_a_gradient_norm_of_1e_8(solver, ridge):
    X, labels = overlapping(n=60, D=2, k=4)
    for K in (gaussian_gram(X), X @ X.T, np.ones((60, 60)), gaussian_gram(np.repeat(X[:30], 2, axis=0))):
        A = solver(K, labels, ridge=ridge)
        assert np.abs(softmax_residual(A, K, labels, ridge)).max() <= 1e-8
        np.testing.assert_allclose(A.sum(axis=1), 0, atol=1e-9 * np.abs(A).max())


@pytest.mark.parametrize("ridge", [5.0, 0.1, 1e-3])
def test_primal_and_kernel_softmax_are_twins(ridge):
    Phi, labels = overlapping(n=40, k=3)
    A = kernel_softmax(Phi @ Phi.T, labels, ridge=ridge)
    np.testing.assert_allclose(Phi.T @ A, primal_softmax(Phi, labels, ridge=ridge), rtol=1e-6, atol=1e-8)


def test_primal_softmax_agrees_with_scikit_learn():
    Phi, labels = overlapping(n=60, D=4, k=3)
    peer = LogisticRegression(C=1 / 0.2, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(Phi, labels)
    np.testing.assert_allclose(primal_softmax(Phi, labels, ridge=0.2), peer.coef_.T, atol=1e-5)


@pytest.mark.parametrize("ridge", [2.0, 0.05, 1e-5])
def test_softmax_of_two_classes_with_twice_the_ridge_is_logistic_regression(ridge):
    Phi, y = overlapping()
    K = gaussian_gram(Phi)
    A = kernel_softmax(K, y, ridge=2 * ridge)
    np.testing.assert_allclose(A[:, 1] - A[:, 0], logistic_newton(K, y, ridge=ridge).a, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(softmax(K @ A)[:, 1], logistic(K @ (A[:, 1] - A[:, 0])), rtol=1e-9)


def test_renaming_the_classes_moves_the_columns():
    X, labels = overlapping(n=30, k=3)
    K, new_name = gaussian_gram(X), np.array([2, 0, 1])
    A = kernel_softmax(K, labels, ridge=0.1)
    np.testing.assert_allclose(kernel_softmax(K, new_name[labels], ridge=0.1)[:, new_name], A, atol=1e-7)


def test_a_stated_class_that_never_occurs_gets_a_column():
    K = gaussian_gram(overlapping(n=10)[0])
    A = kernel_softmax(K, [0, 1] * 5, ridge=0.5, n_classes=3)
    assert A.shape == (10, 3)
    P = softmax(K @ A)
    assert (P[:, 2] > 0).all()
    assert (P[:, 2] < 1 / 3).all()


def test_softmax_with_a_single_class_is_certain():
    np.testing.assert_array_equal(kernel_softmax(np.eye(3), [0, 0, 0], ridge=1.0), np.zeros((3, 1)))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("fit", [logistic_newton, kernel_softmax, primal_softmax])
def test_no_ridge_is_refused_with_the_reason(fit):
    with pytest.raises(ValueError, match="separable data the plain likelihood has no maximum"):
        fit(np.eye(2), [0, 1], ridge=0.0)


@pytest.mark.parametrize("fit", [logistic_newton, kernel_softmax])
def test_an_indefinite_K_is_refused(fit):
    distances = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match=r"K must be positive semidefinite, but it has the eigenvalue -2"):
        fit(distances, [0, 1, 0], ridge=1.0)


@pytest.mark.parametrize(
    ("K", "y", "message"),
    [
        (np.eye(2), [0, 2], "y must hold the labels 0 and 1"),
        (np.eye(2), [-1, 1], "y must hold the labels 0 and 1"),
        (np.eye(2), [0, 1, 1], "y has 3 entries, expected 2"),
        (np.eye(2), ["a", "b"], "y must hold numbers"),
        (np.eye(2), [0, np.nan], "y contains NaN"),
        (np.ones((2, 3)), [0, 1], "K must be square"),
        ([[1.0, 2.0], [0.0, 1.0]], [0, 1], "K must be symmetric"),
        ([[np.inf, 0.0], [0.0, 1.0]], [0, 1], "K contains inf"),
        (np.empty((0, 0)), [], r"K has 0 sample\(s\)"),
    ],
)
def test_bad_K_and_y_are_named(K, y, message):
    for call in (
        lambda: logistic_newton(K, y, ridge=1.0),
        lambda: logistic_objective(np.zeros(len(y)), K, y, ridge=1.0),
        lambda: logistic_gradient_descent(K, y, step=0.1, iterations=1),
        lambda: logistic_sgd(K, y, step=0.1, steps=1, rng=0),
        lambda: logistic_sgd_by_the_book(K, y, step=0.1, steps=1, rng=0),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: logistic([0.0, np.nan]), "z contains NaN"),
        (lambda: softmax([1.0, 2.0]), "Z must be 2-D"),
        (lambda: one_hot([0, 3], 3), "labels must be whole numbers from 0 to 2"),
        (lambda: one_hot([0, 0.5], 3), "labels must be whole numbers from 0 to 2"),
        (lambda: one_hot([0, 1], 0), "n_classes must be a whole number >= 1"),
        (lambda: cross_entropy([[2.0, 3.0]], [[1, 0]]), "each row of P must be probabilities"),
        (lambda: cross_entropy([[1.5, -0.5]], [[1, 0]]), "each row of P must be probabilities"),
        (lambda: cross_entropy([[0.5, 0.5]], [[1, 0], [0, 1]]), "P and Y must have the same shape"),
        (lambda: kernel_softmax(np.eye(2), [1, 2], ridge=1.0), "each must occur, got"),
        (lambda: kernel_softmax(np.eye(2), [-1, 1], ridge=1.0), "each must occur, got"),
        (lambda: kernel_softmax(np.eye(2), [0, 1, 2], ridge=1.0), "labels has 3 entries"),
        (lambda: primal_softmax(np.eye(2), ["cat", "dog"], ridge=1.0), "labels must hold numbers"),
        (lambda: kernel_softmax(np.eye(2), [0, 1], ridge=-1.0), "ridge must be a finite number >= 0"),
        (lambda: primal_softmax(np.eye(2), [0, 1], ridge=-1.0), "ridge must be a finite number >= 0"),
        (lambda: logistic_functional_gradient([0.0], np.eye(2), [0, 1], ridge=1.0), "a has 1 entries"),
        (lambda: logistic_newton(np.eye(2), [0, 1], ridge=-1.0), "ridge must be a finite number >= 0"),
        (lambda: logistic_newton(np.eye(2), [0, 1], ridge=1.0, tol=0), "tol must be a finite number > 0"),
        (lambda: logistic_newton(np.eye(2), [0, 1], ridge=1.0, max_iterations=0), "max_iterations must be"),
        (lambda: logistic_gradient_descent(np.eye(2), [0, 1], step=0.0, iterations=1), "step must be"),
        (lambda: logistic_gradient_descent(np.eye(2), [0, 1], step=0.1, iterations=-1), "iterations must be"),
        (lambda: logistic_gradient_descent(np.eye(2), [0, 1], step=0.1, iterations=1, tol=-1), "tol must be"),
        (lambda: logistic_sgd(np.eye(2), [0, 1], step=0.1, steps=-1, rng=0), "steps must be"),
        (
            lambda: logistic_sgd(np.eye(2), [0, 1], step=5.0, steps=1, rng=0, ridge=1.0),
            "step must be < 2 / ridge = 2, got 5",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_newton_leaves_the_filters_of_warnings_to_the_process(monkeypatch):
    """All threads share the filters: two solvers that save and restore them in turn leave the wrong ones behind."""

    def refuse(*args, **kwargs):
        raise AssertionError("the filters were touched")

    X, labels = overlapping(n=60)
    X[1] = X[0]
    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", refuse)
        logistic_newton(gaussian_gram(X, sigma=30.0), labels, ridge=1e-9, tol=1e-4)
        kernel_softmax(gaussian_gram(X, sigma=30.0), labels, ridge=1e-9, tol=1e-4)
    np.testing.assert_allclose(solve_ridge(np.ones((3, 3)), np.ones(3), 0.0, quiet=True), 1 / 3)


# ---------------------------------------------------------------- Newton's method by conjugate gradients


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
def test_newton_by_conjugate_gradients_gets_there_alone_and_in_few_products(ridge, monkeypatch):
    Phi, y = overlapping(n=60)
    K = gaussian_gram(Phi, sigma=3.0)
    expected = logistic_newton(K, y, ridge=ridge)

    def refuse(*_, **__):
        pytest.fail("factorisations took over")

    monkeypatch.setattr(algorithms, "logistic_newton", refuse)
    fit = logistic_newton_cg(K, y, ridge=ridge)
    np.testing.assert_allclose(fit.a, expected.a, rtol=1e-6, atol=1e-7)
    assert fit.objective == pytest.approx(expected.objective, rel=1e-12) and fit.gradient_norm < 1e-7
    rank = (np.linalg.eigvalsh(K) > 1e-3 * ridge).sum()  # conjugate gradients need that many products for a Newton step
    assert fit.iterations < 12 * (rank + 2)


def test_factorisations_take_over_where_the_products_do_not_suffice(monkeypatch):
    Phi, y = overlapping(n=20)
    K, asked = gaussian_gram(Phi), []
    monkeypatch.setattr(algorithms, "logistic_newton", lambda K, y, **numbers: asked.append(numbers))
    logistic_newton_cg(K, y, ridge=0.1, tol=1e-9, max_products=3)
    assert asked == [{"ridge": 0.1, "tol": 1e-9}]


def test_probabilities_may_be_rounded_to_six_digits():
    assert cross_entropy([[0.4000005, 0.6]], [[0.0, 1.0]]) == pytest.approx(-np.log(0.6))
    with pytest.raises(ValueError, match="P"):
        cross_entropy([[0.400005, 0.6]], [[0.0, 1.0]])
