"""The ranges of the numbers that the library accepts: at the bound, and just beyond it."""

import numpy as np
import pytest

import kernelcourse as kc

rng = np.random.default_rng(0)
X = rng.normal(size=(8, 2))
K = kc.Gaussian(1.0)(X)
t = X[:, 0] + X[:, 1] ** 2
y = np.where(np.arange(8) % 3 == 0, 1.0, -1.0)
zeros_and_ones = (y + 1) / 2
a = np.linspace(-1, 1, 8)
A = np.column_stack([a, -a])
landmarks = kc.LandmarkFeatures(kc.Gaussian(1.0), X[:3])
network = kc.init_network([2, 3, 1], rng=0)


def sgd(**numbers):
    settings = {"step": 0.1, "epochs": 1, "batch_size": 4, "rng": 0} | numbers
    return kc.sgd(network, X, t[:, None], loss=kc.squared_error, **settings)


def descent(**numbers):
    return kc.logistic_gradient_descent(K, zeros_and_ones, **({"step": 0.1, "iterations": 2} | numbers))


def primal_descent(**numbers):
    return kc.primal_logistic_gradient_descent(X, zeros_and_ones, **({"step": 0.1, "iterations": 2} | numbers))


def falkon(**numbers):
    return kc.falkon(landmarks, X, t, **({"ridge": 1.0, "iterations": 2} | numbers))


# (what takes the number, its name, the bound): the bound itself is allowed, the next number below it is not
AT_LEAST = [
    (descent, "ridge", 0.0),
    (descent, "tol", 0.0),
    (descent, "iterations", 0),
    (primal_descent, "ridge", 0.0),
    (primal_descent, "iterations", 0),
    (lambda steps: kc.logistic_sgd(K, zeros_and_ones, step=0.1, steps=steps, rng=0), "steps", 0),
    (lambda steps: kc.logistic_sgd_by_the_book(K, zeros_and_ones, step=0.1, steps=steps, rng=0), "steps", 0),
    (lambda ridge: kc.logistic_objective(a, K, zeros_and_ones, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.logistic_functional_gradient(a, K, zeros_and_ones, ridge=ridge), "ridge", 0.0),
    (lambda n: kc.one_hot(np.zeros(3), n), "n_classes", 1),
    (lambda kappa: kc.nearest(K, kappa), "kappa", 1),
    (lambda kappa: kc.KernelNeighbors(kappa=kappa).fit(X, y), "kappa", 1),
    (lambda size: kc.init_network([2, size, 1], rng=0), "every entry of sizes", 1),
    (lambda size: kc.MLP(hidden=(size,), epochs=1).fit(X, y), "every entry of hidden", 1),
    (sgd, "ridge", 0.0),
    (sgd, "momentum", 0.0),
    (sgd, "epochs", 0),
    (sgd, "batch_size", 1),
    (lambda n: kc.C_from_lam(1.0, n=n), "n", 1),
    (lambda n: kc.lam_from_C(1.0, n=n), "n", 1),
    (lambda steps: kc.svm_sgd(K, y, lam=0.1, steps=steps, rng=0), "steps", 1),
    (lambda ridge: kc.primal_objective([1.0, 2.0], X, t, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.primal_gradient([1.0, 2.0], X, t, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.primal_weights(X, t, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.dual_objective(a, K, t, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.dual_gradient(a, K, t, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.dual_weights(K, t, ridge=ridge), "ridge", 0.0),
    (lambda ridge: kc.dual_weights_with_offset(K, t, ridge=ridge), "ridge", 0.0),
    (lambda lam: kc.ridge_from_mean_risk(lam, n=3), "lam", 0.0),
    (lambda n: kc.ridge_from_mean_risk(1.0, n=n), "n", 1),
    (lambda gamma: kc.ridge_from_gamma(gamma, ell=3), "gamma", 0.0),
    (lambda ell: kc.ridge_from_gamma(1.0, ell=ell), "ell", 1),
    (lambda ridge: kc.KernelRidge(ridge=ridge).fit(X, t), "ridge", 0.0),
    (lambda ridge: kc.Ridge(ridge=ridge).fit(X, t), "ridge", 0.0),
    (lambda ridge: kc.SemiparametricRidge(ridge=ridge).fit(X, t), "ridge", 0.0),
    (lambda n: kc.minimise_perceptron_loss(K, y, step=0.1, epochs=n, rng=0), "epochs", 1),
    (lambda tol: kc.is_psd(np.eye(2), tol=tol), "tol", 0.0),
    (lambda tol: kc.is_valid_kernel(kc.Linear(), X, rng=0, trials=2, tol=tol), "tol", 0.0),
    (lambda n: kc.is_valid_kernel(kc.Linear(), X, rng=0, trials=n), "trials", 1),
    (lambda noise: kc.noisy_sinc(5, noise=noise, rng=0), "noise", 0.0),
    (lambda noise: kc.rings(6, noise=noise, rng=0), "noise", 0.0),
    (lambda noise: kc.p450_chimeras(noise=noise, rng=0), "noise", 0.0),
    (lambda n: kc.noisy_sinc(n, rng=0), "n", 1),
    (lambda n: kc.noisy_polynomial(n, rng=0), "n", 1),
    (lambda n: kc.trend_and_wiggle(n, rng=0), "n", 1),
    (lambda n: kc.two_moons(n, rng=0), "n", 2),
    (lambda n: kc.p450_chimeras(n, rng=0), "n", 1),
    (lambda n: kc.checkerboard(9, cells=n, rng=0), "cells", 2),
    (lambda weight: kc.TfIdf({"a": weight}), "idf", 0.0),
    (kc.Spectrum, "size", 1),
    (lambda size: kc.Subsequence(size, 0.5), "size", 1),
    (kc.Polynomial, "degree", 1),
    (kc.WeisfeilerLehman, "depth", 0),
    (lambda power: kc.Linear() ** power, "power", 1),
    (lambda n: kc.k_fold(n, 2, rng=0), "n", 2),
    (lambda k: kc.k_fold(8, k, rng=0), "k", 2),
    (lambda n: kc.monte_carlo(n, 1, held_out=0.5, rng=0), "n", 2),
    (lambda n: kc.monte_carlo(8, n, rng=0), "repeats", 1),
    (lambda n: kc.polynomial_basis([1.0, 2.0], n), "degree", 0),
    (lambda d: kc.monomial_count(d, 2), "d", 1),
    (lambda p: kc.monomial_count(2, p), "p", 0),
    (lambda n: kc.monomials(X, n), "degree", 0),
    (lambda c: kc.monomials(X, 2, offset=c), "offset", 0.0),
    (lambda n: kc.truncated_gaussian(X, sigma=1.0, degree=n), "degree", 0),
    (lambda m: kc.uniform_landmarks(8, m, rng=0), "m", 1),
    (lambda d: kc.random_fourier(kc.Gaussian(), d, 4, rng=0), "d", 1),
    (lambda m: kc.random_fourier(kc.Gaussian(), 2, m, rng=0), "m", 2),
    (lambda n: kc.gram_error(kc.Gaussian(), landmarks, X, sample=n, rng=0), "sample", 1),
    (lambda m: kc.NystromRidge(m=m).fit(X, t), "m", 1),
    (falkon, "tol", 0.0),
    (falkon, "iterations", 1),
]
for perceptron, data in [
    (kc.kernel_perceptron, K),
    (kc.kernel_perceptron_by_the_book, K),
    (kc.kernel_perceptron_list, K),
    (kc.perceptron, X),
]:
    AT_LEAST.append((lambda n, f=perceptron, data=data: f(data, y, max_epochs=n), "max_epochs", 1))

# the same where the bound itself is refused and the next number above it is allowed
ABOVE = [
    (descent, "step"),
    (lambda lam: kc.C_from_lam(lam, n=3), "lam"),
    (lambda C: kc.lam_from_C(C, n=3), "C"),
    (lambda gap: kc.kernel_svm(K, y, lam=0.1, gap=gap), "gap"),
    (lambda gap: kc.kernel_svm_by_the_book(K, y, lam=0.1, gap=gap), "gap"),
    (lambda lam: kc.kernel_svm(K, y, lam=lam), "lam"),
    (lambda lam: kc.svm_objective(a, K, y, lam=lam), "lam"),
    (lambda step: kc.minimise_perceptron_loss(K, y, step=step, epochs=1, rng=0), "step"),
    (sgd, "step"),
    (lambda tol: kc.logistic_newton(K, zeros_and_ones, ridge=1.0, tol=tol), "tol"),
    (lambda tol: kc.logistic_newton_cg(K, zeros_and_ones, ridge=1.0, tol=tol), "tol"),
    (lambda ridge: kc.dual_from_primal([1.0, 2.0], X, t, ridge=ridge), "ridge"),
    (lambda ridge: kc.KernelLogisticRegression(ridge=ridge).fit(X, y), "ridge"),
    (lambda ridge: kc.LogisticRegression(ridge=ridge).fit(X, y), "ridge"),
    (lambda ridge: kc.SoftmaxRegression(ridge=ridge).fit(X, y), "ridge"),
    (lambda ridge: kc.feature_ridge(landmarks, X, t, ridge=ridge), "ridge"),
    (lambda ridge: kc.feature_logistic(landmarks, X, zeros_and_ones, ridge=ridge), "ridge"),
    (lambda lam: kc.feature_svm(landmarks, X, y, lam=lam), "lam"),
    (lambda ridge: kc.cg_ridge(kc.Gaussian(), X, t, ridge=ridge), "ridge"),
    (lambda tol: kc.cg_ridge(kc.Gaussian(), X, t, ridge=1.0, tol=tol), "tol"),
    (lambda ridge: kc.leverage_scores(kc.Gaussian(), X, X[:2], ridge=ridge), "ridge"),
    (lambda ridge: kc.FourierRidge(ridge=ridge).fit(X, t), "ridge"),
    (lambda ridge: kc.FourierLogisticRegression(ridge=ridge).fit(X, y), "ridge"),
    (lambda lam: kc.FourierSVM(lam=lam).fit(X, y), "lam"),
    (falkon, "ridge"),
    (lambda decay: kc.Hamming(decay), "decay"),
    (lambda decay: kc.Subsequence(2, decay), "decay"),
    (kc.Gaussian, "sigma"),
    (kc.Gaussian.from_h, "h"),
    (kc.Gaussian.from_gamma, "gamma"),
    (kc.RationalQuadratic, "length"),
    (lambda alpha: kc.RationalQuadratic(alpha=alpha), "alpha"),
    (kc.Matern, "length"),
    (lambda nu: kc.Matern(nu=nu), "nu"),
    (kc.Laplacian, "length"),
    (kc.Periodic, "period"),
    (lambda length: kc.Periodic(length=length), "length"),
    (lambda c: kc.Linear() / c, "divisor"),
    (lambda part: kc.monte_carlo(8, 1, held_out=part, rng=0), "held_out"),
    (lambda width: kc.gaussian_basis([1.0], [0.0], width), "width"),
    (lambda width: kc.sigmoid_basis([1.0], [0.0], width), "width"),
    (lambda sigma: kc.truncated_gaussian(X, sigma=sigma, degree=2), "sigma"),
]


def give(call, name, value):
    return call(**{name: value}) if call in (sgd, descent, primal_descent, falkon) else call(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "name", "bound"), AT_LEAST)
def test_a_number_may_be_at_its_bound_and_not_below(call, name, bound):
    give(call, name, bound)
    with pytest.raises(ValueError, match=rf"\b{name}\b.* must be .*>= {bound:g}, got"):
        give(call, name, bound - 1 if isinstance(bound, int) else -1e-9)


@pytest.mark.parametrize(("call", "name"), ABOVE)
def test_a_number_may_not_be_at_its_bound_where_the_answer_needs_more(call, name):
    for value in (0.0, -1e-9):
        with pytest.raises(ValueError, match=rf"\b{name}\b.* must be .*> 0, got"):
            give(call, name, value)
