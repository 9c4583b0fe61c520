"""Lecture S, row by row: kernel ridge and logistic regression, polynomial and Gaussian kernels, running times."""

import math
import tracemalloc
from collections import Counter
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from kernelcourse import (
    C_from_lam,
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelSVM,
    Linear,
    Polynomial,
    Ridge,
    centred_with_bias,
    choose_kernel,
    decision_values,
    dual_weights,
    gaussian_mixture,
    grid_search,
    k_fold,
    kernel_svm_with_offset,
    leave_one_out,
    logistic,
    logistic_gradient_descent,
    logistic_objective,
    logistic_sgd,
    logistic_sgd_by_the_book,
    mean_squared_error,
    monomial_count,
    monomials,
    noisy_sinc,
    predict,
    primal_from_dual,
    primal_logistic_gradient_descent,
    primal_weights,
    truncated_gaussian,
)

seeds = st.integers(0, 10_000)
ridges = st.floats(1e-2, 1e2)


def cloud(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def regression(seed, n=12, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n) + 1.0


def binary(seed, n=12, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, size=n)


def s(z):
    return 1 / (1 + math.exp(-z))


def exponents(d, p):
    """Every monomial of degree 0 to p in d variables, by trying all exponents."""
    return [m for m in product(range(p + 1), repeat=d) if sum(m) <= p]


# S1: how many monomials


@pytest.mark.parametrize(("d", "p"), [(1, 1), (1, 5), (2, 2), (3, 4), (5, 3), (4, 0)])
def test_S1_count_of_monomials_is_exact(d, p):
    assert monomial_count(d, p) == len(exponents(d, p)) == monomials(cloud(0, 1, d), p).shape[1]


def test_S1_degree_4_in_100_inputs_makes_4_6_million():
    count = 1
    for i in range(1, 5):  # (d + p) choose p, factor by factor
        count = count * (100 + i) // i
    assert monomial_count(100, 4) == count == 4_598_126


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_S1_count_grows_like_d_to_the_p(p):
    ratios = [monomial_count(d, p) / d**p for d in (10, 100, 1000, 10_000)]
    assert ratios == sorted(ratios, reverse=True)  # it decreases to 1 / p! and never falls below it
    assert 1 / math.factorial(p) < ratios[-1] < 1.01 / math.factorial(p)


# S2: centring and a penalised bias


@given(seeds, ridges)
def test_S2_normal_equations_with_the_bias_penalised(seed, lam):
    X, y = regression(seed)
    mu_X, mu_y = X.mean(axis=0), y.mean()
    design = np.column_stack([X - mu_X, np.ones(len(y))])  # the ones are not centred
    w = np.linalg.solve(design.T @ design + lam * np.eye(4), design.T @ (y - mu_y))
    centred = centred_with_bias(X, y)
    np.testing.assert_allclose(primal_weights(centred.X, centred.t, ridge=lam), w, rtol=1e-7, atol=1e-10)
    Z = cloud(seed + 1, 5, 3)
    expected = np.column_stack([Z - mu_X, np.ones(5)]) @ w + mu_y
    np.testing.assert_allclose(centred.extend(Z) @ w + centred.t_mean, expected, rtol=1e-10)
    np.testing.assert_allclose(Ridge(ridge=lam, offset="penalised").fit(X, y).predict(Z), expected, rtol=1e-7)


def free_bias(Phi, y, lam):
    """The normal equations with I', which has a 0 where the bias is, written by hand."""
    design = np.column_stack([Phi, np.ones(len(y))])
    penalty = lam * np.diag([1.0] * Phi.shape[1] + [0.0])
    return np.linalg.solve(design.T @ design + penalty, design.T @ y)


@given(seeds, ridges)
def test_S2_free_bias_solves_the_normal_equations_with_a_zero_for_the_bias(seed, lam):
    X, y = regression(seed)
    *w, b = free_bias(X, y, lam)
    model = Ridge(ridge=lam, offset="free").fit(X, y)
    np.testing.assert_allclose(model.w_, w, rtol=1e-7, atol=1e-10)
    assert model.b_ == pytest.approx(b, rel=1e-7)


@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
def test_S2_what_penalising_the_bias_costs(lam):
    X, y = regression(7, n=40)
    X = X - X.mean(axis=0)
    y = y - y.mean()
    design = np.column_stack([X**2, np.ones(len(y))])  # squares of centred inputs are not centred

    def cost(w):
        return np.sum((design @ w - y) ** 2) + lam * w[:-1] @ w[:-1]

    penalised = primal_weights(design, y, ridge=lam)
    free = Ridge(lambda X: X**2, ridge=lam, offset="free").fit(X, y)
    assert cost(np.append(free.w_, free.b_)) < cost(penalised)
    assert 0 < abs(penalised[-1]) < abs(free.b_)  # the penalty pulls the bias towards 0


# S3: dual ridge


@given(seeds, ridges, st.integers(1, 8), st.integers(1, 8))
def test_S3_dual_ridge_gives_w_and_the_same_predictions(seed, lam, n, d):
    X, y = regression(seed, n=n, d=d)
    Z = cloud(seed + 1, 4, d)
    a = dual_weights(X @ X.T, y, ridge=lam)
    np.testing.assert_allclose((X @ X.T + lam * np.eye(n)) @ a, y, rtol=1e-7, atol=1e-9)
    w = primal_from_dual(a, X)
    np.testing.assert_allclose(w, sum(a_i * X_i for a_i, X_i in zip(a, X, strict=True)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((X.T @ X + lam * np.eye(d)) @ w, X.T @ y, rtol=1e-6, atol=1e-8)
    h = [sum(a[i] * (X[i] @ z) for i in range(n)) for z in Z]
    np.testing.assert_allclose(predict(Linear()(Z, X), a), h, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(Z @ primal_weights(X, y, ridge=lam), h, rtol=1e-6, atol=1e-8)


def test_S3_in_the_dual_a_penalised_bias_is_the_constant_kernel_added():
    X, y = regression(8)
    X = X - X.mean(axis=0)
    Z = cloud(9, 5, 3)
    design = np.column_stack([monomials(X, 2, offset=0.0), np.ones(len(y))])
    w = np.linalg.solve(design.T @ design + 2.0 * np.eye(design.shape[1]), design.T @ (y - y.mean()))
    expected = np.column_stack([monomials(Z, 2, offset=0.0), np.ones(5)]) @ w + y.mean()
    k = Polynomial(2, offset=0.0)
    np.testing.assert_allclose(KernelRidge(k, ridge=2.0, offset="penalised").fit(X, y).predict(Z), expected, rtol=1e-8)
    a = dual_weights((k + 1)(X), y - y.mean(), ridge=2.0)
    np.testing.assert_allclose(predict((k + 1)(Z, X), a) + y.mean(), expected, rtol=1e-8)


# S4: the polynomial kernel and its theorem


@pytest.mark.parametrize(("d", "p"), [(1, 1), (1, 6), (2, 2), (2, 5), (3, 3), (5, 2)])
def test_S4_polynomial_kernel_is_the_inner_product_of_all_monomials(d, p):
    X, Z = cloud(10, 4, d), cloud(11, 3, d)
    expected = [[(sum(x * z) + 1) ** p for z in Z] for x in X]
    np.testing.assert_allclose(Polynomial(p)(X, Z), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(monomials(X, p) @ monomials(Z, p).T, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("d", "p"), [(1, 3), (2, 2), (2, 4), (3, 3)])
def test_S4_features_are_every_monomial_times_the_root_of_its_multinomial_coefficient(d, p):
    # Multiply out (x_1 z_1 + ... + x_d z_d + 1)^p: one term chosen from each of p brackets, where d stands for the 1.
    coefficients = Counter()
    for chosen in product(range(d + 1), repeat=p):
        coefficients[tuple(chosen.count(j) for j in range(d))] += 1
    X = cloud(12, 5, d)
    columns = [math.sqrt(c) * np.prod(X**m, axis=1) for m, c in coefficients.items()]
    assert set(coefficients) == set(exponents(d, p))
    ours = monomials(X, p).T
    order = np.argsort(ours[:, 0]), np.argsort([column[0] for column in columns])
    np.testing.assert_allclose(ours[order[0]], np.array(columns)[order[1]], rtol=1e-10)


def test_S4_worked_example_of_the_lecture():
    x = np.array([0.5, -2.0])
    r = math.sqrt(2)
    listed = [x[0] ** 2, x[1] ** 2, r * x[0] * x[1], r * x[0], r * x[1], 1.0]
    np.testing.assert_allclose(sorted(Polynomial(2).features([x])[0]), sorted(listed), rtol=1e-12)


# S5: running times of the three ridge algorithms


def counting(kernel_class):
    """A kernel that counts the pairs of points it is evaluated at."""

    class Counting(kernel_class):
        pairs = 0

        def formula(self, X, Z):
            type(self).pairs += len(X) * len(Z)
            return super().formula(X, Z)

    return Counting


def test_S5_kernel_ridge_evaluates_n_squared_pairs_to_train_and_n_for_each_test_point():
    X, y = regression(13, n=25)
    CountingPolynomial = counting(Polynomial)
    model = KernelRidge(CountingPolynomial(3)).fit(X, y)
    assert CountingPolynomial.pairs == 25**2
    model.predict(cloud(14, 7, 3))
    assert CountingPolynomial.pairs == 25**2 + 7 * 25


def peak_floats(function):
    """The largest number of float64 values that a call holds at one time, beyond those held before."""
    function()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


def test_S5_kernel_ridge_needs_less_room_than_the_polynomial_has_terms():
    n, d = 20, 30
    X, y = regression(15, n=n, d=d)
    D = monomial_count(d, 4)  # 46,376 terms
    assert peak_floats(lambda: KernelRidge(Polynomial(4)).fit(X, y).predict(X)) < D / 4
    assert peak_floats(lambda: KernelRidge(Linear().after(lambda X: monomials(X, 2))).fit(X, y)) > n * monomial_count(
        d, 2
    )


class Flops:
    """Matrix arithmetic that counts its multiplications."""

    def __init__(self):
        self.count = 0

    def product(self, A, B):
        self.count += A.size * (B.shape[1] if B.ndim == 2 else 1)
        return A @ B

    def solve(self, A, b):
        self.count += len(A) ** 3 // 3  # elimination
        return np.linalg.solve(A, b)


def three_ridge_algorithms(X, y, Z, p, lam):
    """Primal, dual without the kernel trick, kernel: predictions at Z, multiplications in training and per point."""
    Phi, Phi_Z = monomials(X, p), monomials(Z, p)
    n, D = Phi.shape

    train, test = Flops(), Flops()
    w = train.solve(train.product(Phi.T, Phi) + lam * np.eye(D), train.product(Phi.T, y))
    yield "primal", test.product(Phi_Z, w), train.count, test.count / len(Z)

    train, test = Flops(), Flops()
    a = train.solve(train.product(Phi, Phi.T) + lam * np.eye(n), y)
    yield "dual", test.product(test.product(Phi_Z, Phi.T), a), train.count, test.count / len(Z)

    train, test = Flops(), Flops()
    a = train.solve((train.product(X, X.T) + 1) ** p + lam * np.eye(n), y)
    yield "kernel", test.product((test.product(Z, X.T) + 1) ** p, a), train.count, test.count / len(Z)


@pytest.mark.parametrize(("n", "d", "p"), [(10, 3, 3), (40, 2, 2), (8, 6, 3)])
def test_S5_three_algorithms_same_predictions_at_the_predicted_cost(n, d, p):
    X, y = regression(16, n=n, d=d)
    Z = cloud(17, 6, d)
    D = monomial_count(d, p)
    Phi, Phi_Z = monomials(X, p), monomials(Z, p)
    ours = {
        "primal": Phi_Z @ primal_weights(Phi, y, ridge=1.0),
        "dual": predict(Phi_Z @ Phi.T, dual_weights(Phi @ Phi.T, y, ridge=1.0)),
        "kernel": KernelRidge(Polynomial(p), ridge=1.0).fit(X, y).predict(Z),
    }
    predicted = {
        "primal": (D**3 / 3 + D**2 * n, D),
        "dual": (n**3 / 3 + n**2 * D, n * D),
        "kernel": (n**3 / 3 + n**2 * d, n * d),
    }
    for name, h, train, test in three_ridge_algorithms(X, y, Z, p, lam=1.0):
        np.testing.assert_allclose(ours[name], h, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(ours[name], ours["kernel"], rtol=1e-5, atol=1e-6)
        assert predicted[name][0] <= train + 1 <= 1.5 * predicted[name][0]  # lower-order terms are added
        assert predicted[name][1] <= test <= 1.5 * predicted[name][1]


# S6: kernel logistic regression by batch gradient descent


def batch_descent(K, y, epsilon, iterations):
    n = len(y)
    a = [0.0] * n
    for _ in range(iterations):
        scores = [sum(K[i][j] * a[j] for j in range(n)) for i in range(n)]
        a = [a[i] + epsilon * (y[i] - s(scores[i])) for i in range(n)]
    return a


@given(seeds, st.integers(0, 12))
def test_S6_batch_gradient_descent_is_the_lecture_s_loop(seed, iterations):
    X, y = binary(seed, n=6)
    K = Gaussian(1.0)(X)
    a = logistic_gradient_descent(K, y, step=0.3, iterations=iterations)
    np.testing.assert_allclose(a, batch_descent(K, y, 0.3, iterations), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("iterations", [0, 1, 2, 10, 100])
def test_S6_primal_and_dual_take_the_same_way(iterations):
    X, y = binary(18)
    Phi = monomials(X, 2)
    a = logistic_gradient_descent(Polynomial(2)(X), y, step=0.01, iterations=iterations)
    w = primal_logistic_gradient_descent(Phi, y, step=0.01, iterations=iterations)
    by_hand = np.zeros(Phi.shape[1])
    for _ in range(iterations):
        by_hand = by_hand + 0.01 * Phi.T @ (y - 1 / (1 + np.exp(-Phi @ by_hand)))
    np.testing.assert_allclose(w, by_hand, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, rtol=1e-8, atol=1e-10)


def test_S6_prediction_is_the_logistic_function_of_the_sum():
    X, y = binary(19)
    Z = cloud(20, 5, 2)
    model = KernelLogisticRegression(Gaussian(1.0), ridge=0.5).fit(X, y)
    h = [s(sum(model.a_[i] * math.exp(-sum((X[i] - z) ** 2) / 2) for i in range(len(X)))) for z in Z]
    np.testing.assert_allclose(model.predict_proba(Z)[:, 1], h, rtol=1e-9)
    assert model.predict(Z).tolist() == [int(p > 0.5) for p in h]  # the sign of the sum is enough
    np.testing.assert_allclose(logistic([-2.0, 0.0, 3.0]), [s(-2.0), 0.5, s(3.0)], rtol=1e-12)


def test_S6_descent_lowers_the_cross_entropy_at_every_step():
    X, y = binary(21)
    K = Gaussian(1.0)(X)

    def cross_entropy(a):
        p = [s(score) for score in K @ a]
        return -sum(math.log(p_i) if y_i else math.log(1 - p_i) for p_i, y_i in zip(p, y, strict=True))

    path = [logistic_gradient_descent(K, y, step=0.3, iterations=i) for i in range(8)]
    values = [cross_entropy(a) for a in path]
    np.testing.assert_allclose([logistic_objective(a, K, y, ridge=0.0) for a in path], values, rtol=1e-10)
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.8 * values[0]


# S7: dual stochastic gradient descent


@pytest.mark.parametrize("seed", range(4))
def test_S7_dual_sgd_keeps_q_equal_to_Ka(seed):
    X, y = binary(seed, n=9)
    n, epsilon = len(y), 0.4
    K = Gaussian(1.0)(X)
    drawn = np.random.default_rng(seed).integers(n, size=60)
    a, q = np.zeros(n), np.zeros(n)
    for i in drawn:
        error = y[i] - s(q[i])
        a[i] += epsilon * error
        q += epsilon * error * K[:, i]
        np.testing.assert_allclose(q, K @ a, rtol=1e-9, atol=1e-11)
    for version in (logistic_sgd, logistic_sgd_by_the_book):
        np.testing.assert_allclose(version(K, y, step=epsilon, steps=60, rng=seed), a, rtol=1e-9, atol=1e-12)


def test_S7_dual_sgd_is_primal_sgd():
    X, y = binary(22)
    Phi = monomials(X, 2)
    w = np.zeros(Phi.shape[1])
    for i in np.random.default_rng(5).integers(len(y), size=80):
        w += 0.05 * (y[i] - s(Phi[i] @ w)) * Phi[i]
    a = logistic_sgd(Polynomial(2)(X), y, step=0.05, steps=80, rng=5)
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, rtol=1e-8, atol=1e-10)


def test_S7_a_step_changes_one_dual_weight():
    X, y = binary(23)
    K = Gaussian(1.0)(X)
    drawn = np.random.default_rng(1).integers(len(y), size=30)
    for steps in range(1, 30):
        before = logistic_sgd(K, y, step=0.5, steps=steps - 1, rng=1)
        after = logistic_sgd(K, y, step=0.5, steps=steps, rng=1)
        assert np.flatnonzero(after != before).tolist() == [drawn[steps - 1]]


# S8: running times of logistic regression


def primal_batch(flops, Phi, y, epsilon, iterations):
    w = np.zeros(Phi.shape[1])
    for _ in range(iterations):
        errors = np.array([y_i - s(z_i) for y_i, z_i in zip(y, flops.product(Phi, w), strict=True)])
        w += epsilon * flops.product(Phi.T, errors)
    return w


def dual_batch(flops, K, y, epsilon, iterations):
    a = np.zeros(len(K))
    for _ in range(iterations):
        a += epsilon * np.array([y_i - s(q_i) for y_i, q_i in zip(y, flops.product(K, a), strict=True)])
    return a


def primal_stochastic(flops, Phi, y, epsilon, drawn):
    w = np.zeros(Phi.shape[1])
    for i in drawn:
        (z,) = flops.product(Phi[[i]], w)
        w += flops.product(Phi[[i]].T, np.array([epsilon * (y[i] - s(z))]))
    return w


def dual_stochastic(flops, K, y, epsilon, drawn):
    a, q = np.zeros(len(K)), np.zeros(len(K))
    for i in drawn:
        step = epsilon * (y[i] - s(q[i]))
        a[i] += step
        q += flops.product(K[:, [i]], np.array([step]))
    return a


def test_S8_batch_costs_nDj_primal_and_n2D_or_n2d_plus_n2j_dual():
    n, d, j, epsilon = 9, 4, 7, 0.02
    X, y = binary(24, n=n, d=d)
    Phi = monomials(X, 3)
    D = Phi.shape[1]
    K = Polynomial(3)(X)

    primal, dual, kernel = Flops(), Flops(), Flops()
    w = primal_batch(primal, Phi, y, epsilon, j)
    a = dual_batch(dual, dual.product(Phi, Phi.T), y, epsilon, j)
    a_kernel = dual_batch(kernel, (kernel.product(X, X.T) + 1) ** 3, y, epsilon, j)
    assert primal.count == 2 * n * D * j
    assert dual.count == n**2 * D + n**2 * j
    assert kernel.count == n**2 * d + n**2 * j

    np.testing.assert_allclose(w, primal_logistic_gradient_descent(Phi, y, step=epsilon, iterations=j), rtol=1e-8)
    for weights in (a, a_kernel):
        np.testing.assert_allclose(weights, logistic_gradient_descent(K, y, step=epsilon, iterations=j), rtol=1e-7)


def test_S8_stochastic_costs_Dj_primal_and_n2D_or_n2d_plus_nj_dual():
    n, d, j, epsilon = 9, 4, 50, 0.02
    X, y = binary(25, n=n, d=d)
    Phi = monomials(X, 3)
    D = Phi.shape[1]
    drawn = np.random.default_rng(3).integers(n, size=j)

    primal, dual, kernel = Flops(), Flops(), Flops()
    w = primal_stochastic(primal, Phi, y, epsilon, drawn)
    a = dual_stochastic(dual, dual.product(Phi, Phi.T), y, epsilon, drawn)
    a_kernel = dual_stochastic(kernel, (kernel.product(X, X.T) + 1) ** 3, y, epsilon, drawn)
    assert primal.count == 2 * D * j
    assert dual.count == n**2 * D + n * j
    assert kernel.count == n**2 * d + n * j

    expected = logistic_sgd(Polynomial(3)(X), y, step=epsilon, steps=j, rng=3)
    for weights in (a, a_kernel):
        np.testing.assert_allclose(weights, expected, rtol=1e-7)
    np.testing.assert_allclose(primal_from_dual(expected, Phi), w, rtol=1e-7, atol=1e-9)


def test_S8_the_kernel_is_evaluated_once_however_many_iterations_follow():
    X, y = binary(26, n=20)
    CountingGaussian = counting(Gaussian)
    K = CountingGaussian(1.0)(X)
    for iterations in (1, 50):
        logistic_gradient_descent(K, y, step=0.1, iterations=iterations)
        logistic_sgd(K, y, step=0.1, steps=iterations, rng=0)
    assert CountingGaussian.pairs == 20**2


# S9: alternative testing


@given(seeds)
def test_S9_primal_weights_once_give_the_kernel_s_predictions(seed):
    X, y = binary(seed, n=8)
    Z = cloud(seed + 1, 6, 2)
    k = Polynomial(3)
    a = logistic_gradient_descent(k(X), y, step=0.01, iterations=20)
    w = sum(a_i * phi for a_i, phi in zip(a, k.features(X), strict=True))
    np.testing.assert_allclose(primal_from_dual(a, k.features(X)), w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(logistic(k.features(Z) @ w), logistic(predict(k(Z, X), a)), rtol=1e-8)


@pytest.mark.parametrize(("n", "m", "primal_is_cheaper"), [(60, 60, True), (60, 4, False), (4, 60, False)])
def test_S9_primal_testing_pays_where_both_sets_exceed_D_over_d(n, m, primal_is_cheaper):
    d, p = 3, 3
    X, Z = cloud(27, n, d), cloud(28, m, d)
    CountingPolynomial = counting(Polynomial)
    predict(CountingPolynomial(p)(Z, X), np.ones(n))
    by_kernel = CountingPolynomial.pairs * d
    by_weights = Polynomial(p).features(X).size + Polynomial(p).features(Z).size  # nD for w, then mD
    assert (min(n, m) > monomial_count(d, p) / d) == primal_is_cheaper
    assert (by_weights < by_kernel) == primal_is_cheaper


# S10: the infinite feature vector of the Gaussian kernel


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_S10_first_features_of_the_gaussian_kernel_on_the_line(sigma):
    x = np.array([[-1.2], [0.0], [0.7]])
    expected = [
        [math.exp(-(v**2) / (2 * sigma**2)) * v**j / (sigma**j * math.sqrt(math.factorial(j))) for j in range(7)]
        for v in x[:, 0]
    ]
    np.testing.assert_allclose(truncated_gaussian(x, sigma=sigma, degree=6), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("degree", [0, 1, 3, 6, 10])
def test_S10_truncation_leaves_out_exactly_the_rest_of_the_exponential_series(degree):
    x, z, sigma = 1.1, 0.9, 0.8
    A, B = (truncated_gaussian([[v]], sigma=sigma, degree=degree) for v in (x, z))
    with mpmath.workdps(30):
        s2 = mpmath.mpf(sigma) ** 2
        rest = mpmath.nsum(lambda j: (mpmath.mpf(x) * z / s2) ** j / mpmath.factorial(j), [degree + 1, mpmath.inf])
        left_out = float(mpmath.exp(-(mpmath.mpf(x) ** 2 + mpmath.mpf(z) ** 2) / (2 * s2)) * rest)
    assert Gaussian(sigma)([[x]], [[z]])[0, 0] - (A @ B.T)[0, 0] == pytest.approx(left_out, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_S10_inner_products_converge_to_the_kernel(d):
    X = np.random.default_rng(29).uniform(-1, 1, size=(6, d))
    errors = []
    for degree in (1, 4, 8, 14):
        Phi = truncated_gaussian(X, sigma=1.0, degree=degree)
        errors.append(np.abs(Phi @ Phi.T - Gaussian(1.0)(X)).max())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6


# S11: a hypothesis as a sum of Gaussians


def test_S11_hypothesis_is_a_sum_of_gaussians_on_the_training_points():
    X = np.array([[0.0], [1.0], [2.5], [4.0]])
    model = KernelRidge(Gaussian(0.6), ridge=0.1).fit(X, [1.0, -1.0, 1.5, -0.5])
    assert sorted(np.sign(model.a_)) == [-1, -1, 1, 1]  # two hills and two valleys
    Z = np.linspace(-2, 6, 33)[:, None]
    hills = list(zip(model.a_, X[:, 0], strict=True))
    expected = [sum(a_j * math.exp(-((x_j - z) ** 2) / (2 * 0.36)) for a_j, x_j in hills) for z in Z[:, 0]]
    np.testing.assert_allclose(model.predict(Z), expected, rtol=1e-9, atol=1e-15)


def test_S11_near_points_vote_and_far_away_nobody_does():
    X, t = noisy_sinc(30, rng=0)[:2]
    model = KernelRidge(Gaussian(0.8), ridge=0.1).fit(X, t)
    np.testing.assert_allclose(model.predict([[1000.0], [-1000.0]]), 0, atol=1e-12)
    # A training point's target moves the hypothesis far more near that point than at the other end.
    moved = t.copy()
    i = X[:, 0].argmax()
    moved[i] += 1
    change = np.abs(KernelRidge(Gaussian(0.8), ridge=0.1).fit(X, moved).predict(X) - model.predict(X))
    assert change[i] > 100 * change[X[:, 0].argmin()]


# S12: sigma by validation, bias against variance

SIGMAS = (0.05, 1.0, 30.0)


def test_S12_leave_one_out_is_n_fits_each_tested_on_the_point_left_out():
    X, t, _ = noisy_sinc(15, rng=1)
    path = leave_one_out(Gaussian(1.0)(X), t, ridges=[0.1, 1.0])
    for column, lam in enumerate((0.1, 1.0)):
        for i in range(15):
            rest = [j for j in range(15) if j != i]
            K = [[math.exp(-((X[p, 0] - X[q, 0]) ** 2) / 2) for q in rest] for p in rest]
            a = np.linalg.solve(np.array(K) + lam * np.eye(14), t[rest])
            f = sum(a_j * math.exp(-((X[j, 0] - X[i, 0]) ** 2) / 2) for a_j, j in zip(a, rest, strict=True))
            assert path.residuals[i, column] == pytest.approx(t[i] - f, rel=1e-8)


def test_S12_validation_chooses_a_sigma_between_the_extremes():
    X, t, truth = noisy_sinc(60, rng=2)
    by_leave_one_out = choose_kernel([Gaussian(sigma) for sigma in SIGMAS], X, t, ridges=[0.1])
    grid = {"kernel__sigma": SIGMAS, "ridge": [0.1]}
    by_folds = grid_search(KernelRidge(), X, t, grid, k_fold(60, 5, rng=0), metric=mean_squared_error)
    assert by_leave_one_out.kernel.sigma == by_folds.best["kernel__sigma"] == 1.0
    Z = np.linspace(-9, 9, 100)[:, None]
    errors = [mean_squared_error(truth(Z), KernelRidge(Gaussian(s), ridge=0.1).fit(X, t).predict(Z)) for s in SIGMAS]
    assert np.argmin(errors) == 1  # and rightly so


def test_S12_larger_sigma_more_bias_and_less_variance():
    Z = np.linspace(-8, 8, 50)[:, None]
    bias, variance = [], []
    for sigma in (0.3, 1.5, 6.0):
        fits = []
        for seed in range(40):
            X, t, truth = noisy_sinc(40, noise=0.2, rng=seed)
            fits.append(KernelRidge(Gaussian(sigma), ridge=0.01).fit(X, t).predict(Z))
        bias.append(np.mean((np.mean(fits, axis=0) - truth(Z)) ** 2))
        variance.append(np.mean(np.var(fits, axis=0)))
    assert variance == sorted(variance, reverse=True)
    assert bias[-1] > 2 * bias[1]


# S13: the soft-margin SVM with a Gaussian kernel


def mixture_and_machine(n=150, lam=0.005):
    mixture = gaussian_mixture(n, rng=0)
    k = Gaussian(0.8)
    return mixture, k, kernel_svm_with_offset(k(mixture.X), mixture.y, lam=lam, gap=1e-9), lam


def test_S13_support_vectors_lie_on_or_inside_the_margin():
    mixture, k, fit, lam = mixture_and_machine()
    C = C_from_lam(lam, n=len(mixture.y))
    f = decision_values(k(mixture.X), fit.alpha, mixture.y, b=fit.b)
    margin = mixture.y * f
    on, outside, inside = fit.margin_support, margin > 1 + 1e-4, margin < 1 - 1e-4
    assert len(on) > 0
    np.testing.assert_allclose(margin[on], 1, atol=1e-4)
    np.testing.assert_allclose(fit.alpha[outside], 0, atol=1e-6 * C)
    np.testing.assert_allclose(fit.alpha[inside], C, rtol=1e-6)
    assert 0 < len(fit.support) < len(mixture.y)


def test_S13_boundary_and_margins_depend_on_the_support_vectors_alone():
    mixture, k, fit, _ = mixture_and_machine()
    Z = mixture.sample(30, rng=1).X
    S = fit.support
    f = [
        sum(fit.alpha[i] * mixture.y[i] * math.exp(-sum((mixture.X[i] - z) ** 2) / (2 * 0.64)) for i in S) + fit.b
        for z in Z
    ]
    model = KernelSVM(k, lam=0.005, offset="free", gap=1e-9).fit(mixture.X, mixture.y)
    np.testing.assert_allclose(model.decision_function(Z), f, atol=1e-5)


def test_S13_bayes_boundary_is_where_the_two_densities_meet():
    mixture = gaussian_mixture(10, rng=3)
    Z = mixture.sample(40, rng=4).X

    def density(z, means):
        return np.mean([multivariate_normal.pdf(z, mean=m, cov=np.eye(2) / 5) for m in means])

    log_odds = [math.log(density(z, mixture.means_plus) / density(z, mixture.means_minus)) for z in Z]
    np.testing.assert_allclose(mixture.bayes_log_odds(Z), log_odds, rtol=1e-8, atol=1e-10)
    assert mixture.bayes_label(Z).tolist() == np.sign(log_odds).tolist()


def test_S13_the_machine_comes_close_to_the_bayes_rule():
    mixture, k, _, lam = mixture_and_machine()
    test = mixture.sample(2000, rng=5)
    bayes = np.mean(mixture.bayes_label(test.X) != test.y)
    gaussian = np.mean(KernelSVM(k, lam=lam, offset="free").fit(mixture.X, mixture.y).predict(test.X) != test.y)
    linear = np.mean(KernelSVM(Linear(), lam=lam, offset="free").fit(mixture.X, mixture.y).predict(test.X) != test.y)
    assert bayes < gaussian < bayes + 0.06
    assert gaussian < linear


# S14: most featurizations have no fast kernel


def depends_on_the_inner_product_alone(phi):
    """Rotate both points in the same way: x'z stays the same, and so does every kernel that is a function of it."""
    X = cloud(30, 6, 2)
    c, s_ = math.cos(0.7), math.sin(0.7)
    turned = X @ np.array([[c, -s_], [s_, c]])
    k = Linear().after(phi)
    return np.allclose(k(X), k(turned), rtol=1e-8)


def test_S14_only_the_multinomial_weights_turn_monomials_into_a_function_of_the_inner_product():
    assert depends_on_the_inner_product_alone(lambda X: monomials(X, 3))
    rng = np.random.default_rng(31)
    D = monomial_count(2, 3)
    others = [rng.uniform(0.5, 2.0, size=D) for _ in range(100)]
    assert not any(depends_on_the_inner_product_alone(lambda X, c=c: c * monomials(X, 3)) for c in others)
    # Nor do the monomials with every weight equal to 1, as they are usually written first.
    assert not depends_on_the_inner_product_alone(
        lambda X: np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i, j in exponents(2, 3)])
    )


def test_S14_leaving_out_one_monomial_takes_the_fast_kernel_away():
    for left_out in range(1, monomial_count(2, 2)):  # without the constant it is (x'z + 1)^2 - 1, still fast
        assert not depends_on_the_inner_product_alone(lambda X, j=left_out: np.delete(monomials(X, 2), j, axis=1))
    assert depends_on_the_inner_product_alone(lambda X: np.delete(monomials(X, 2), 0, axis=1))


def test_S14_without_a_formula_a_kernel_value_costs_all_features():
    d, p = 30, 3
    X = cloud(32, 2, d)
    D = monomial_count(d, p)
    weights = np.random.default_rng(33).uniform(0.5, 2.0, size=D)
    slow = Linear().after(lambda X: weights * monomials(X, p))
    assert peak_floats(lambda: slow(X)) > D
    assert peak_floats(lambda: Polynomial(p)(X)) < D / 4
