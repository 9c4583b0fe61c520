"""Lecture I, row by row: kernel perceptron, kernel nearest neighbours, representer theorem, regularization networks."""

import math

import cvxopt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from kernelcourse import (
    Gaussian,
    KernelNeighbors,
    KernelPerceptron,
    KernelRidge,
    Linear,
    Polynomial,
    RegularizationNetwork,
    decision_values,
    dual_gradient,
    dual_objective,
    dual_weights,
    dual_weights_with_offset,
    kernel_neighbors,
    kernel_perceptron,
    kernel_perceptron_by_the_book,
    kernel_svm,
    logistic_newton,
    monomials,
    nearest,
    predict,
    primal_from_dual,
    regularization_network,
    rings,
    squared_distances_to,
    two_moons,
)

seeds = st.integers(0, 10_000)


def gaussian(x, z, sigma=1.0):
    return math.exp(-sum((x - z) ** 2) / (2 * sigma**2))


def labelled(seed, n=12):
    """Points in the plane with random labels: only a narrow kernel separates them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.choice([-1, 1], size=n)


# I1: kernel perceptron, algorithm 1


def narrow(x, z):
    return gaussian(x, z, sigma=0.5)


def algorithm_1(X, y, k):
    alpha = [0] * len(X)
    K = [[k(x, z) for z in X] for x in X]
    while True:
        mistake = False
        for i in range(len(X)):
            score = sum(alpha[j] * y[j] * K[j][i] for j in range(len(X)))
            if y[i] * score <= 0:
                alpha[i] += 1
                mistake = True
        if not mistake:
            return alpha


@pytest.mark.parametrize("seed", range(6))
def test_I1_kernel_perceptron_is_algorithm_1_line_by_line(seed):
    X, y = labelled(seed)
    alpha = algorithm_1(X, y, narrow)
    for version in (kernel_perceptron, kernel_perceptron_by_the_book):
        fit = version(Gaussian(0.5)(X), y)
        assert fit.alpha.tolist() == alpha
        assert fit.mistakes == sum(alpha)
        assert fit.separated


@pytest.mark.parametrize("seed", range(3))
def test_I1_hypothesis_is_the_sign_of_a_weighted_sum(seed):
    X, y = labelled(seed)
    Z = np.random.default_rng(seed + 100).normal(size=(9, 2))
    alpha = algorithm_1(X, y, narrow)
    h = [np.sign(sum(alpha[i] * y[i] * narrow(X[i], z) for i in range(len(X)))) for z in Z]
    assert KernelPerceptron(Gaussian(0.5)).fit(X, y).predict(Z).tolist() == h


def test_I1_ends_with_every_training_point_right():
    X, y = rings(80, noise=0.1, rng=0)
    model = KernelPerceptron(Gaussian(0.5)).fit(X, y)
    assert model.separated_ == [True]
    assert model.predict(X).tolist() == y.tolist()


# I2: kernel nearest neighbours, algorithm 2


def algorithm_2(x, X, y, k, kappa):
    S = list(range(len(X)))
    S_kappa = []
    while len(S_kappa) < kappa:
        j = min(S, key=lambda i: math.sqrt(max(0.0, k(x, x) - 2 * k(x, X[i]) + k(X[i], X[i]))))
        S_kappa.append(j)
        S.remove(j)
    return S_kappa, np.sign(sum(y[i] for i in S_kappa) / kappa)


KERNELS = [
    (Linear(), lambda x, z: float(x @ z)),
    (Gaussian(1.0), gaussian),
    (Polynomial(3), lambda x, z: (x @ z + 1) ** 3),
]


@pytest.mark.parametrize("kappa", [1, 3, 5])
@pytest.mark.parametrize(("k", "by_hand"), KERNELS, ids=["linear", "gaussian", "cubic"])
def test_I2_kernel_neighbours_is_algorithm_2_line_by_line(k, by_hand, kappa):
    X, y = labelled(3, n=25)
    Z = np.random.default_rng(4).normal(size=(10, 2))
    expected = [algorithm_2(z, X, y, by_hand, kappa) for z in Z]
    D = squared_distances_to(k(Z, X), k.diag(Z), k.diag(X))
    assert nearest(D, kappa).tolist() == [neighbours for neighbours, _ in expected]
    labels = [label for _, label in expected]
    assert kernel_neighbors(k(Z, X), k.diag(Z), k.diag(X), y, kappa=kappa).tolist() == labels
    assert KernelNeighbors(k, kappa=kappa).fit(X, y).predict(Z).tolist() == labels


@given(seeds)
def test_I2_distance_is_that_of_the_features(seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    k = Polynomial(2)
    expected = [[np.linalg.norm(p - q) ** 2 for q in monomials(X, 2)] for p in monomials(Z, 2)]
    np.testing.assert_allclose(squared_distances_to(k(Z, X), k.diag(Z), k.diag(X)), expected, rtol=1e-7, atol=1e-9)


def test_I2_every_radial_kernel_gives_the_neighbours_of_the_plane():
    X, y = two_moons(60, rng=0)
    Z = two_moons(40, rng=1).X
    in_the_plane = KernelNeighbors(Linear(), kappa=5).fit(X, y).predict(Z)
    assert KernelNeighbors(Gaussian(0.7), kappa=5).fit(X, y).predict(Z).tolist() == in_the_plane.tolist()
    # A kernel that is not radial has different distances and neighbours.
    D_plane = squared_distances_to(Z @ X.T, (Z**2).sum(axis=1), (X**2).sum(axis=1))
    k = Polynomial(3)
    D_cubic = squared_distances_to(k(Z, X), k.diag(Z), k.diag(X))
    assert (nearest(D_cubic, 5) != nearest(D_plane, 5)).any()


# I3: the representer theorem

GAMMA = 0.3
LOSSES = {
    "squared": lambda f, y: np.sum((y - f) ** 2),
    "hinge": lambda f, y: np.sum(np.maximum(0, 1 - y * f)),
    "logistic": lambda f, y: np.sum(np.logaddexp(0, -y * f)),
    "absolute": lambda f, y: np.sum(np.abs(y - f)),
}


def few_points_many_features(seed=0):
    """Six points with fifteen features: most of feature space is not spanned by them."""
    X, y = labelled(seed, n=6)
    return X, y, monomials(X, 4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [lambda s: s, lambda s: math.exp(s), lambda s: s**3], ids=["s", "exp s", "s^3"])
def test_I3_projecting_onto_the_span_keeps_the_loss_and_lowers_the_penalty(loss, penalty):
    X, y, Phi = few_points_many_features()
    w = 0.3 * np.random.default_rng(1).normal(size=Phi.shape[1])
    alpha = np.linalg.solve(Polynomial(4)(X), Phi @ w)  # the projection of w is sum_i alpha_i phi(x_i)
    w_parallel = primal_from_dual(alpha, Phi)
    w_orthogonal = w - w_parallel
    np.testing.assert_allclose(Phi @ w_orthogonal, 0, atol=1e-8)
    norm = alpha @ Polynomial(4)(X) @ alpha
    np.testing.assert_allclose(norm, w_parallel @ w_parallel, rtol=1e-8)
    assert LOSSES[loss](Phi @ w, y) == pytest.approx(LOSSES[loss](predict(Polynomial(4)(X), alpha), y), rel=1e-8)
    assert penalty(norm) < penalty(w @ w)


def test_I3_minimiser_over_all_of_feature_space_is_in_the_span_squared_loss():
    X, y, Phi = few_points_many_features()
    M = Phi.shape[1]
    # Every w in R^M competes here, not only combinations of the points.
    w = np.linalg.lstsq(np.vstack([Phi, math.sqrt(GAMMA) * np.eye(M)]), np.append(y, np.zeros(M)), rcond=None)[0]
    a = dual_weights(Polynomial(4)(X), y, ridge=GAMMA)
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, rtol=1e-6, atol=1e-9)


def test_I3_minimiser_over_all_of_feature_space_is_in_the_span_logistic_loss():
    X, y, Phi = few_points_many_features()

    def risk(w):
        margins = y * (Phi @ w)
        gradient = -Phi.T @ (y / (1 + np.exp(margins))) + GAMMA * w
        return np.logaddexp(0, -margins).sum() + GAMMA / 2 * w @ w, gradient

    start = np.random.default_rng(2).normal(size=Phi.shape[1])  # outside the span
    w = minimize(risk, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    a = logistic_newton(Polynomial(4)(X), (y + 1) // 2, ridge=GAMMA).a
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, atol=1e-6)


def test_I3_minimiser_over_all_of_feature_space_is_in_the_span_hinge_loss():
    X, y, Phi = few_points_many_features()
    n, M = Phi.shape
    # Minimise (1/n) sum xi + GAMMA |w|^2 over (w, xi) with y_i w'phi_i >= 1 - xi_i and xi >= 0: a quadratic program.
    P = np.diag(np.append(2 * GAMMA * np.ones(M), np.zeros(n)))
    G = np.block([[-y[:, None] * Phi, -np.eye(n)], [np.zeros((n, M)), -np.eye(n)]])
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    solution = cvxopt.solvers.qp(
        cvxopt.matrix(P),
        cvxopt.matrix(np.append(np.zeros(M), np.ones(n) / n)),
        cvxopt.matrix(G),
        cvxopt.matrix(np.append(-np.ones(n), np.zeros(n))),
        options=options,
    )
    w = np.array(solution["x"])[:M, 0]
    fit = kernel_svm(Polynomial(4)(X), y, lam=GAMMA, gap=1e-10)
    np.testing.assert_allclose(primal_from_dual(fit.alpha * y, Phi), w, atol=1e-5)
    np.testing.assert_allclose(decision_values(Polynomial(4)(X), fit.alpha, y), Phi @ w, atol=1e-4)


def test_I3_with_an_offset_the_minimiser_is_a_combination_of_kernels_plus_b():
    X, y, Phi = few_points_many_features()
    t = y + 5.0
    M = Phi.shape[1]
    # Least squares over every w and b, where b has no row in the penalty.
    A = np.block([[Phi, np.ones((len(t), 1))], [math.sqrt(GAMMA) * np.eye(M), np.zeros((M, 1))]])
    *w, b = np.linalg.lstsq(A, np.append(t, np.zeros(M)), rcond=None)[0]
    a, offset = dual_weights_with_offset(Polynomial(4)(X), t, ridge=GAMMA)
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, rtol=1e-5, atol=1e-8)
    assert offset == pytest.approx(b, rel=1e-7)
    Z = np.random.default_rng(3).normal(size=(5, 2))
    model = KernelRidge(Polynomial(4), ridge=GAMMA, offset="free").fit(X, t)
    np.testing.assert_allclose(model.predict(Z), monomials(Z, 4) @ w + b, rtol=1e-5, atol=1e-7)


# I4: the regularised empirical risk and its functional derivative


def regularised_risk(alpha, X, y, gamma):
    """Lecture I's (1/l) sum (y_i - f(x_i))^2 + gamma |f|^2 for f = sum alpha_i k(x_i, .), by sums alone."""
    ell = len(X)
    f = [sum(alpha[i] * gaussian(X[i], X[j]) for i in range(ell)) for j in range(ell)]
    norm = sum(alpha[i] * alpha[j] * gaussian(X[i], X[j]) for i in range(ell) for j in range(ell))
    return sum((y[j] - f[j]) ** 2 for j in range(ell)) / ell + gamma * norm


def regression(seed, ell=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(ell, 2)), rng.normal(size=ell), rng.normal(size=ell)


@given(seeds, st.floats(1e-3, 10))
def test_I4_risk_is_twice_the_dual_objective_over_ell(seed, gamma):
    X, y, alpha = regression(seed)
    ell = len(y)
    expected = regularised_risk(alpha, X, y, gamma)
    assert 2 / ell * dual_objective(alpha, Gaussian(1.0)(X), y, ridge=ell * gamma) == pytest.approx(expected, rel=1e-9)


@given(seeds, st.floats(1e-3, 10))
def test_I4_functional_derivative_along_each_kernel(seed, gamma):
    X, y, alpha = regression(seed)
    ell = len(y)
    k = Gaussian(1.0)(X)
    f = k @ alpha
    # The derivative of the risk in the direction k(x_i, .), as the lecture writes it with the opposite sign.
    lecture = [-2 / ell * sum((y[j] - f[j]) * k[i, j] for j in range(ell)) + 2 * gamma * f[i] for i in range(ell)]
    quotient = [
        (regularised_risk(alpha + e, X, y, gamma) - regularised_risk(alpha - e, X, y, gamma)) / 2 for e in np.eye(ell)
    ]
    np.testing.assert_allclose(lecture, quotient, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(2 / ell * dual_gradient(alpha, k, y, ridge=ell * gamma), quotient, rtol=1e-7, atol=1e-8)


# I5: regularization network, algorithm 3


@given(seeds, st.floats(1e-3, 10))
def test_I5_regularization_network_puts_ell_gamma_on_the_diagonal(seed, gamma):
    X, y, _ = regression(seed)
    ell = len(y)
    K = np.array([[gaussian(x, z) for z in X] for x in X])
    expected = np.linalg.inv(ell * gamma * np.eye(ell) + K) @ y
    alpha = regularization_network(Gaussian(1.0)(X), y, gamma=gamma)
    np.testing.assert_allclose(alpha, expected, rtol=1e-6, atol=1e-9)
    left_over = [y[j] - sum(alpha[m] * K[m, j] for m in range(ell)) - ell * gamma * alpha[j] for j in range(ell)]
    np.testing.assert_allclose(left_over, 0, atol=1e-9)


@given(seeds, st.floats(1e-3, 10))
def test_I5_no_change_of_alpha_lowers_the_regularised_risk(seed, gamma):
    X, y, step = regression(seed)
    alpha = regularization_network(Gaussian(1.0)(X), y, gamma=gamma)
    best = regularised_risk(alpha, X, y, gamma)
    for size in (1.0, -1.0, 0.1, -0.1):
        assert regularised_risk(alpha + size * step, X, y, gamma) > best


def test_I5_hypothesis_is_the_sum_over_training_points():
    X, y, _ = regression(5, ell=20)
    Z = np.random.default_rng(6).normal(size=(7, 2))
    model = RegularizationNetwork(Gaussian(1.0), gamma=0.05).fit(X, y)
    expected = [sum(model.alpha_[i] * gaussian(X[i], z) for i in range(20)) for z in Z]
    np.testing.assert_allclose(model.predict(Z), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.alpha_, dual_weights(Gaussian(1.0)(X), y, ridge=20 * 0.05), rtol=1e-9)
