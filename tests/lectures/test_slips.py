"""Where the lectures need care: each slip with a computed counterexample, and what the library does instead."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcourse import (
    Gaussian,
    InvalidKernel,
    KernelNeighbors,
    KernelRidge,
    Linear,
    Polynomial,
    RegularizationNetwork,
    Ridge,
    center,
    centred_with_bias,
    dual_gradient,
    dual_objective,
    dual_weights,
    is_psd,
    is_valid_kernel,
    kernel_neighbors,
    kernel_perceptron_list,
    kernel_svm,
    nearest,
    noisy_sinc,
    predict,
    primal_weights,
    ridge_from_gamma,
    ridge_from_mean_risk,
    svm_objective,
    two_moons,
    vote,
)

seeds = st.integers(0, 10_000)


def cloud(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


# B: the distance is not a kernel


def test_slip_the_distance_is_not_positive_semidefinite():
    x = np.array([0.0, 1.0, 2.0])
    K = np.array([[abs(p - q) for q in x] for p in x])
    assert not is_psd(K)
    a = np.array([1.0, -2.0, 1.0])  # the second difference: no sum of the form a'Ka may be negative
    assert a @ K @ a == -4.0


def test_slip_even_two_points_prove_it():
    verdict = is_valid_kernel(lambda x, z: np.linalg.norm(x - z), rng=0)
    assert not verdict
    r = np.linalg.norm(verdict.points[0] - verdict.points[1])
    np.testing.assert_allclose(np.linalg.eigvalsh([[0, r], [r, 0]]), [-r, r])  # zeros on the diagonal, and not all 0
    assert verdict.value == pytest.approx(-r)


def test_slip_the_negative_distance_is_a_kernel_once_centred():
    # What is true of the distance: -|x - z| is conditionally positive definite. Centred at any point it is a kernel.
    X = cloud(0, 10, 2)

    def k(x, z):
        return np.linalg.norm(x) + np.linalg.norm(z) - np.linalg.norm(x - z)

    assert is_psd(np.array([[k(x, z) for z in X] for x in X]))
    assert is_valid_kernel(k, rng=0, trials=40)


# H: the constants in a k1 + b k2 must not be negative


def test_slip_a_negative_constant_breaks_the_sum():
    with pytest.raises(InvalidKernel):
        Linear() + (-1.0) * Gaussian(1.0)
    with pytest.raises(InvalidKernel):
        Linear() - Gaussian(1.0)
    verdict = is_valid_kernel(lambda X, Z: Linear()(X, Z) - Gaussian(1.0)(X, Z), rng=0)
    assert not verdict
    # One point is proof enough: at the origin, the difference is 0 - 1.
    assert Linear()([[0.0]])[0, 0] - Gaussian(1.0)([[0.0]])[0, 0] == -1.0


def test_slip_some_differences_are_kernels_all_the_same():
    # That the rule does not apply does not prove the contrary: (x'z + 1)^2 - 1 = (x'z)^2 + 2 x'z.
    X = cloud(1, 8, 2)
    difference = Polynomial(2)(X) - 1
    np.testing.assert_allclose(difference, (Polynomial(2, offset=0.0) + 2.0 * Linear())(X), atol=1e-10)
    assert is_psd(difference)


# H: an epoch of the kernel perceptron costs O(n |L| d), not O(n d)


def counted_perceptron(X, y, epochs):
    """The perceptron with a list L, and how many kernel values each epoch uses."""
    L, per_epoch = [], []
    for _ in range(epochs):
        evaluations = 0
        for i in range(len(X)):
            score = 0.0
            for j in L:
                score += y[j] * math.exp(-sum((X[j] - X[i]) ** 2) / 0.18)
                evaluations += 1
            if y[i] * score <= 0:
                L.append(i)
        per_epoch.append(evaluations)
    return L, per_epoch


def test_slip_a_check_costs_as_many_kernel_values_as_the_list_is_long():
    X, y = two_moons(40, noise=0.3, rng=0)
    L, per_epoch = counted_perceptron(X, y, epochs=4)
    fit = kernel_perceptron_list(Gaussian(0.3)(X), y, max_epochs=4)
    assert fit.mistakes_list == L
    # Once the list has stopped growing, an epoch uses exactly n |L| values.
    L, per_epoch = counted_perceptron(X, y, epochs=fit.epochs + 30)
    assert per_epoch[-1] == 40 * len(L)
    assert per_epoch[-1] > 5 * 40  # far from one kernel value per point


def test_slip_on_hard_data_the_cost_of_an_epoch_grows_with_n_squared():
    rng = np.random.default_rng(2)
    costs = []
    for n in (20, 40, 80):
        X, y = rng.normal(size=(n, 2)), rng.choice([-1, 1], size=n)
        costs.append(counted_perceptron(X, y, epochs=2)[1][-1])
    assert costs[1] > 3 * costs[0]  # O(n d) would double it
    assert costs[2] > 3 * costs[1]


# Three lambdas and three widths


@given(seeds, st.floats(1e-3, 1.0))
def test_slip_lambda_of_B_is_ell_gamma_of_I_is_n_lambda_of_K(seed, lam):
    X, t = cloud(seed, 8, 2), cloud(seed + 1, 1, 8)[0]
    n = len(t)
    K = Gaussian(1.0)(X)
    # Each lecture's own stationarity condition, by hand: B and S, then I, then K.
    by_B = np.linalg.solve(K + (n * lam) * np.eye(n), t)
    np.testing.assert_allclose(dual_weights(K, t, ridge=ridge_from_gamma(lam, ell=n)), by_B, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(dual_weights(K, t, ridge=ridge_from_mean_risk(lam, n=n)), by_B, rtol=1e-6, atol=1e-9)
    network = RegularizationNetwork(Gaussian(1.0), gamma=lam).fit(X, t)
    np.testing.assert_allclose(network.alpha_, by_B, rtol=1e-6, atol=1e-9)


def test_slip_one_number_in_three_formulas_gives_different_fits():
    X, t, _ = noisy_sinc(50, rng=0)
    B = KernelRidge(Gaussian(1.0), ridge=0.1).fit(X, t).predict(X)
    K = KernelRidge(Gaussian(1.0), ridge=ridge_from_mean_risk(0.1, n=50)).fit(X, t).predict(X)
    assert np.abs(B - K).max() > 0.1
    # And K's penalty at a fixed lambda weighs more and more as points are added.
    assert ridge_from_mean_risk(0.1, n=500) == 10 * ridge_from_mean_risk(0.1, n=50)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.5])
def test_slip_two_sigma_squared_is_h_squared_is_one_over_gamma(sigma):
    X, Z = cloud(2, 4, 2), cloud(3, 5, 2)
    h, gamma = math.sqrt(2) * sigma, 1 / (2 * sigma**2)
    B = [[math.exp(-sum((x - z) ** 2) / (2 * sigma**2)) for z in Z] for x in X]
    for k in (Gaussian(sigma), Gaussian.from_h(h), Gaussian.from_gamma(gamma)):
        np.testing.assert_allclose(k(X, Z), B, rtol=1e-10)
        assert (k.sigma, k.h, k.gamma) == pytest.approx((sigma, h, gamma))
    assert not np.allclose(Gaussian(1.3)(X, Z), Gaussian.from_h(1.3)(X, Z), rtol=1e-3)


# K and I: with a singular K the coefficients are not unique, the function is


@given(seeds, st.floats(1e-2, 1.0))
def test_slip_with_a_singular_K_other_coefficients_give_the_same_function(seed, lam):
    X = cloud(seed, 7, 2)
    t = cloud(seed + 1, 1, 7)[0]
    K = Linear()(X)  # seven points, rank two
    a = dual_weights(K, t, ridge=7 * lam)
    null = np.linalg.eigh(K)[1][:, :5]
    other = a + null @ np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    assert np.abs(other - a).max() > 0.1
    # Both make the derivative 0 and reach the same minimum...
    for solution in (a, other):
        np.testing.assert_allclose(dual_gradient(solution, K, t, ridge=7 * lam), 0, atol=1e-8)
    J = dual_objective(a, K, t, ridge=7 * lam)
    assert dual_objective(other, K, t, ridge=7 * lam) == pytest.approx(J, rel=1e-9)
    # ... and they are the same function, on new points as well.
    Z = cloud(seed + 2, 5, 2)
    np.testing.assert_allclose(predict(Linear()(Z, X), other), predict(Linear()(Z, X), a), atol=1e-8)
    # But only one of them solves the lecture's last line, (K + n lam I) a = t.
    np.testing.assert_allclose(K @ a + 7 * lam * a, t, atol=1e-8)
    assert np.abs(K @ other + 7 * lam * other - t).max() > 1e-3


def test_slip_with_a_strictly_positive_definite_K_the_minimum_is_the_only_one():
    X, t = cloud(4, 7, 2), cloud(5, 1, 7)[0]
    K = Gaussian(0.5)(X)
    assert np.linalg.eigvalsh(K)[0] > 1e-6
    a = dual_weights(K, t, ridge=0.7)
    best = dual_objective(a, K, t, ridge=0.7)
    for direction in np.eye(7):
        assert dual_objective(a + direction, K, t, ridge=0.7) > best + 1e-6


# I: algorithm 2 says nothing about ties


def test_slip_the_sign_of_an_even_vote_can_be_0():
    y = np.array([-1, 1])
    assert np.sign(y.mean()) == 0  # the lecture's formula has no answer
    X = np.array([[0.0], [3.0]])
    model = KernelNeighbors(Linear(), kappa=2).fit(X, y)
    assert model.predict([[1.0], [2.0]]).tolist() == [-1, 1]  # ours: the class of the nearest among the tied
    assert vote([[1, -1], [-1, 1]]).tolist() == [1, -1]


def test_slip_of_two_points_at_the_same_distance_the_first_counts_as_nearer():
    assert nearest([[2.0, 1.0, 1.0, 1.0]], 2).tolist() == [[1, 2]]
    k = Linear()
    X, z = np.array([[1.0], [-1.0]]), np.array([[0.0]])
    for y in ([1, -1], [-1, 1]):
        assert kernel_neighbors(k(z, X), k.diag(z), k.diag(X), y, kappa=1).tolist() == [y[0]]


@given(seeds)
def test_slip_where_the_vote_is_clear_the_lecture_s_sign_is_what_we_give(seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1, 1], size=(6, 5))  # five neighbours cannot tie
    assert vote(labels).tolist() == np.sign(labels.mean(axis=1)).tolist()


# S: a penalised bias against a free one


@given(seeds, st.floats(1e-2, 100.0))
def test_slip_for_linear_features_of_centred_inputs_the_bias_is_exactly_0(seed, lam):
    X, t = cloud(seed, 12, 3) + 5, cloud(seed + 1, 1, 12)[0] + 20
    centred = centred_with_bias(X, t)
    *w, bias = primal_weights(centred.X, centred.t, ridge=lam)
    assert bias == pytest.approx(0, abs=1e-12)  # "won't usually be exactly zero", says the lecture
    # So penalising it costs nothing: the predictions are those of a free bias.
    Z = cloud(seed + 2, 5, 3)
    penalised = Ridge(ridge=lam, offset="penalised").fit(X, t).predict(Z)
    free = Ridge(ridge=lam, offset="free").fit(X, t).predict(Z)
    np.testing.assert_allclose(penalised, free, rtol=1e-9)
    np.testing.assert_allclose(penalised, (Z - X.mean(axis=0)) @ w + t.mean(), rtol=1e-9)


def test_slip_it_costs_something_where_features_of_centred_inputs_are_not_centred():
    X, t = cloud(6, 40, 2), 3 + cloud(7, 40, 2)[:, 0] + cloud(6, 40, 2)[:, 0] ** 2
    X = X - X.mean(axis=0)
    Z = cloud(8, 20, 2)
    for k in (Polynomial(2, offset=0.0), Gaussian(1.0)):
        penalised = KernelRidge(k, ridge=1.0, offset="penalised").fit(X, t).predict(Z)
        free = KernelRidge(k, ridge=1.0, offset="free").fit(X, t).predict(Z)
        # The free bias by hand: minimise |t - Ka - b|^2 + a'Ka over a and b.
        K = k(X)
        system = np.block([[K + np.eye(40), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
        *a, b = np.linalg.solve(system, np.append(t, 0.0))
        np.testing.assert_allclose(free, k(Z, X) @ a + b, rtol=1e-8)
        difference = np.abs(penalised - free).max()
        assert 1e-3 < difference < 0.2 * np.ptp(t)  # a little


def test_slip_centring_the_features_makes_the_difference_vanish():
    X, t = cloud(9, 30, 2), cloud(10, 1, 30)[0] + 4
    Z = cloud(11, 6, 2)
    K = Gaussian(1.0)(X)
    a = dual_weights(center(K) + 1, t - t.mean(), ridge=0.5)
    penalised = (center(Gaussian(1.0)(Z, X), K) + 1) @ a + t.mean()
    free = KernelRidge(Gaussian(1.0), ridge=0.5, offset="free").fit(X, t).predict(Z)
    np.testing.assert_allclose(penalised, free, rtol=1e-9)


# K: the handwritten hinge loss lost its "1 -"


def test_slip_without_the_1_the_hinge_objective_is_minimised_by_nothing_at_all():
    X, y = two_moons(40, noise=0.2, rng=1)
    K = Gaussian(0.5)(X)
    lam = 0.01

    def without_the_1(alpha):
        margins = y * (K @ (alpha * y))
        return np.maximum(0, -margins).mean() + lam * (alpha * y) @ K @ (alpha * y)

    fit = kernel_svm(K, y, lam=lam)
    assert without_the_1(np.zeros(40)) == 0 < without_the_1(fit.alpha)  # without the term, 0 would be the answer
    assert svm_objective(np.zeros(40), K, y, lam=lam) == 1.0  # with it, 0 has a loss of 1 at every point
    assert fit.objective < 0.7
