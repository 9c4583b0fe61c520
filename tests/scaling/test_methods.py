"""Blocks, landmarks, random features and solvers as pure functions: identities, statistics, oracles."""

import os
from collections import Counter
from functools import partial

import dask.array as da
import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import given
from hypothesis import strategies as st
from sklearn.kernel_approximation import Nystroem

from kernelcourse import (
    FourierFeatures,
    Gaussian,
    KernelCourseWarning,
    LandmarkFeatures,
    Laplacian,
    Linear,
    Matern,
    NystromLogisticRegression,
    RationalQuadratic,
    cg_ridge,
    dual_weights,
    falkon,
    feature_logistic,
    feature_ridge,
    feature_svm,
    gram_error,
    kmeans_landmarks,
    leverage_landmarks,
    leverage_scores,
    random_fourier,
    uniform_landmarks,
)
from kernelcourse.linalg import cholesky
from kernelcourse.scaling.blocks import row_blocks, sum_over_blocks
from kernelcourse.scaling.models import logistic_loss, rounded_hinge
from kernelcourse.seam import engine

rng = np.random.default_rng(1)
X = rng.normal(size=(300, 4))
t = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
y = np.sign(t)
Z = X[:25]
STATIONARY = [
    Gaussian(0.8),
    Matern(1.2, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern(0.7, nu=3.3),
    RationalQuadratic(1.1, alpha=0.7),
    Laplacian(2.0),
]


# ---------------------------------------------------------------- blocks


@given(n=st.integers(0, 200), columns=st.integers(1, 50), rows=st.integers(1, 30))
def test_blocks_cover_the_rows_in_order_and_keep_to_the_memory(n, columns, rows):
    memory = 8 * 4 * columns * rows
    blocks = list(row_blocks(n, columns, memory=memory))
    assert [i for block in blocks for i in range(block.start, block.stop)] == list(range(n))
    assert all(8 * columns * (block.stop - block.start) <= memory for block in blocks)


def test_a_block_stays_in_the_cache_whatever_the_memory_allows():
    with engine("on"):
        assert next(row_blocks(10**6, 1000, memory=2**40)).stop * 1000 * 8 <= 8 * 2**20
    with engine("off"):
        assert next(row_blocks(10**6, 1000, memory=2**40)).stop == 10**6


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_shares_of_the_blocks_add_up_in_however_many_threads(threads, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    features, ridge = LandmarkFeatures(Gaussian(1.0), Z), 0.5
    Phi, seen = Gaussian(1.0)(X, Z), Counter()

    def add(sums, part, rows):
        np.testing.assert_allclose(part, Phi[rows], rtol=1e-12)
        sums[0] += part.sum()
        sums[1] += part.T @ part
        seen[id(sums)] += len(part)
        assert len(part) <= 9 // int(threads)

    memory = 8 * 4 * 25 * 9
    with engine("on"):
        shapes, rows = ((), (25, 25)), np.arange(len(X))
        total, squares = sum_over_blocks(add, shapes, features, features.prepare(X), rows, memory=memory)
    assert len(seen) == int(threads) and max(seen.values()) - min(seen.values()) <= 1
    np.testing.assert_allclose(total, Phi.sum(), rtol=1e-12)
    np.testing.assert_allclose(squares, Phi.T @ Phi, rtol=1e-12)
    w = np.linalg.solve(Phi.T @ Phi + ridge * Gaussian(1.0)(Z), Phi.T @ t)
    for found in (
        feature_ridge(features, X, t, ridge=ridge, memory=memory),
        falkon(features, X, t, ridge=ridge, iterations=60, memory=memory).w,
    ):
        np.testing.assert_allclose(Phi @ found, Phi @ w, atol=1e-5)


def test_few_rows_have_fewer_shares_than_threads(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    two, targets = np.array([[1.0], [2.0]]), np.array([3.0, 6.0])
    assert feature_ridge(LandmarkFeatures(Linear(), [[1.0]]), two, targets, ridge=5.0) == pytest.approx([1.5])


@pytest.mark.filterwarnings("error")
def test_features_too_large_for_single_precision_are_left_to_the_definition(rng):
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, 1, -1)
    model = NystromLogisticRegression(Linear(), m=2, ridge=1.0, rng=0)
    assert (model.fit(1e60 * X, y).predict(1e60 * X) == y).mean() > 0.8


def test_the_blocked_product_is_the_product(rng):
    a = rng.normal(size=(25, 2))
    K = Gaussian(1.0)(X, Z)
    for entries in (25, 25 * 7, 2**20):
        np.testing.assert_allclose(Gaussian(1.0).times(X, Z, a, entries=entries), K @ a, atol=1e-13)
        np.testing.assert_allclose(Gaussian(1.0).times(X, Z, a[:, 0], entries=entries), K @ a[:, 0], atol=1e-13)
    with pytest.raises(ValueError, match="a has shape"):
        Gaussian(1.0).times(X, Z, a[:3])


def test_conjugate_gradients_solve_the_dual_system():
    a, iterations = cg_ridge(Gaussian(1.0), X, t, ridge=0.5, tol=1e-12)
    np.testing.assert_allclose(a, dual_weights(Gaussian(1.0)(X), t, ridge=0.5), atol=1e-9)
    assert 5 < iterations < 300
    a, iterations = cg_ridge(Gaussian(1.0), X, np.zeros(300), ridge=0.5)
    assert iterations == 0 and not a.any()
    with pytest.warns(KernelCourseWarning, match="after 3 iterations"):
        cg_ridge(Gaussian(1.0), X, t, ridge=1e-6, max_iterations=3)
    for memory in (8 * 4 * 300, 8 * 4 * 300 * 7):
        blocked, _ = cg_ridge(Gaussian(1.0), X, t, ridge=0.5, tol=1e-12, memory=memory)
        np.testing.assert_allclose(blocked, dual_weights(Gaussian(1.0)(X), t, ridge=0.5), atol=1e-9)
    with pytest.raises(ValueError, match="memory must be at least 9600 bytes"):
        cg_ridge(Gaussian(1.0), X, t, ridge=0.5, memory=9599)


@pytest.mark.parametrize("features", [LandmarkFeatures(Gaussian(1.0), Z), random_fourier(Gaussian(1.0), 4, 30, rng=0)])
def test_the_normal_equations_do_not_depend_on_the_blocks(features):
    Phi = features(X)
    expected = np.linalg.solve(Phi.T @ Phi + 10 * features.penalty(), Phi.T @ t)
    for memory in (8 * 4 * 30, 8 * 4 * 30 * 64, 2**28):
        w = feature_ridge(features, X, t, ridge=10.0, memory=memory)
        np.testing.assert_allclose(Phi @ w, Phi @ expected, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- ridge


def test_nystrom_ridge_is_scikit_learns_pipeline():
    gamma, ridge = 0.3, 0.1
    peer = Nystroem(kernel="rbf", gamma=gamma, n_components=25, random_state=0).fit(X)
    line = sklearn.linear_model.Ridge(alpha=ridge, fit_intercept=False).fit(peer.transform(X), t)
    features = LandmarkFeatures(Gaussian.from_gamma(gamma), peer.components_)
    w = feature_ridge(features, X, t, ridge=ridge)
    np.testing.assert_allclose(features(X) @ w, line.predict(peer.transform(X)), atol=1e-8)


def test_ridge_on_random_features_is_scikit_learns():
    features = random_fourier(Gaussian(1.0), 4, 50, rng=0)
    peer = sklearn.linear_model.Ridge(alpha=0.3, fit_intercept=False).fit(features(X), t)
    np.testing.assert_allclose(feature_ridge(features, X, t, ridge=0.3), peer.coef_, atol=1e-9)


def test_falkon_converges_to_the_direct_solution():
    features = LandmarkFeatures(Gaussian(2.0), X[:60])
    direct = features(X) @ feature_ridge(features, X, t, ridge=0.1)
    gaps = []
    for iterations in (2, 12, 40):
        fit = falkon(features, X, t, ridge=0.1, iterations=iterations, tol=0.0)
        assert fit.iterations == iterations == len(fit.residuals)
        gaps.append(np.abs(features(X) @ fit.w - direct).max())
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2] and gaps[2] < 1e-4
    early = falkon(features, X, t, ridge=0.1, iterations=100, tol=1e-3)
    assert early.iterations < 40 and early.residuals[-1] <= 1e-3 < early.residuals[-2]


def test_falkon_stands_a_ridge_that_normal_equations_do_not():
    features = LandmarkFeatures(Gaussian(3.0), X)
    K = Gaussian(3.0)(X)
    exact = K @ dual_weights(K, t, ridge=1e-5)
    fit = falkon(features, X, t, ridge=1e-5, iterations=200, tol=1e-12)
    assert np.abs(features(X) @ fit.w - exact).max() < 1e-4


def test_landmarks_twice_over_are_no_obstacle():
    twice = LandmarkFeatures(Gaussian(1.0), np.repeat(Z, 2, axis=0))
    once = LandmarkFeatures(Gaussian(1.0), Z)
    for solve in (feature_ridge, lambda *args, **kw: falkon(*args, **kw, iterations=60).w):
        wanted = once(X) @ solve(once, X, t, ridge=0.1)
        np.testing.assert_allclose(twice(X) @ solve(twice, X, t, ridge=0.1), wanted, atol=1e-5)


def test_landmarks_without_features_predict_zero():
    origin = LandmarkFeatures(Linear(), np.zeros((2, 4)))
    assert not feature_ridge(origin, X, t, ridge=1.0).any()
    assert not falkon(origin, X, t, ridge=1.0).w.any()


def test_a_matrix_no_kernel_makes_is_refused():
    with pytest.raises(ValueError, match="positive semidefinite, but it has the eigenvalue -1"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(OverflowError, match="too large"):
        cholesky(np.array([[np.inf, 0.0], [0.0, 1.0]]))


# ---------------------------------------------------------------- random Fourier features


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_random_features_are_unbiased(kernel):
    x, z = np.array([[0.0, 0.3]]), np.array([[0.5, -0.4]])
    draws = 4000
    generator = np.random.default_rng(7)
    estimates = np.array(
        [(phi(x) @ phi(z).T).item() for phi in (random_fourier(kernel, 2, 8, rng=generator) for _ in range(draws))]
    )
    error = estimates.std() / draws**0.5
    assert abs(estimates.mean() - kernel(x, z).item()) < 4 * error  # about 0.005: a wrong law is far outside
    assert error < 0.01


def test_the_variance_falls_like_one_over_m():
    x, z = np.array([[0.0, 0.3]]), np.array([[0.5, -0.4]])
    generator = np.random.default_rng(3)
    variances = []
    for m in (4, 16, 64):
        estimates = [random_fourier(Gaussian(1.0), 2, m, rng=generator) for _ in range(2000)]
        variances.append(np.var([(phi(x) @ phi(z).T).item() for phi in estimates]))
    ratios = np.array(variances[:-1]) / variances[1:]
    np.testing.assert_allclose(ratios, 4, rtol=0.15)
    k, k_2 = Gaussian(1.0)(x, z).item(), Gaussian(1.0)(2 * x, 2 * z).item()
    assert variances[0] == pytest.approx((1 + k_2 - 2 * k**2) / 4, rel=0.15)  # m/2 = 2 frequencies


def test_a_point_with_itself_is_exact():
    phi = random_fourier(Gaussian(0.3), 4, 12, rng=0)
    np.testing.assert_allclose((phi(X) ** 2).sum(axis=1), 1)
    assert phi.m == 12 and phi(X).shape == (300, 12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: random_fourier(Gaussian(1.0), 2, 5), "even"),
        (lambda: random_fourier(Gaussian(1.0), 0, 4), "d must be"),
        (lambda: random_fourier(Linear(), 2, 4), "no spectral density"),
        (lambda: FourierFeatures(np.ones((3, 2)))(X), "X must have 3 columns"),
    ],
)
def test_bad_requests_for_random_features(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# ---------------------------------------------------------------- landmarks


@given(n=st.integers(1, 60), seed=st.integers(0, 1000), data=st.data())
def test_landmarks_are_different_rows_in_order(n, seed, data):
    m = data.draw(st.integers(1, n))
    points = np.random.default_rng(seed).integers(0, 4, size=(n, 2)).astype(float)  # repeats are likely
    for rows in (
        uniform_landmarks(n, m, rng=seed),
        kmeans_landmarks(points, m, rng=seed),
        leverage_landmarks(Gaussian(1.0), points, m, ridge=0.1, rng=seed),
    ):
        assert len(rows) == m and (np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < n


@pytest.mark.parametrize("choose", [kmeans_landmarks, lambda X, m: uniform_landmarks(len(X), m)])
def test_more_landmarks_than_points(choose):
    with pytest.raises(ValueError, match="got 5 landmarks for n_samples=4"):
        choose(X[:4], 5)


def test_uniform_landmarks_are_uniform():
    counts = np.bincount(np.concatenate([uniform_landmarks(10, 3, rng=seed) for seed in range(2000)]), minlength=10)
    assert np.abs(counts - 600).max() < 4 * (2000 * 0.3 * 0.7) ** 0.5


def test_kmeans_landmarks_find_every_cluster(rng):
    clusters = np.concatenate(
        [rng.normal(scale=0.01, size=(size, 2)) + 10 * i for i, size in enumerate((500, 3, 2, 1))]
    )
    chosen = clusters[kmeans_landmarks(clusters, 4, rng=0)]
    assert len(np.unique(np.round(chosen / 10), axis=0)) == 4


def test_leverage_scores_from_all_points_are_exact():
    K = Gaussian(1.0)(X)
    exact = np.diag(K @ np.linalg.inv(K + 0.5 * np.eye(300)))
    np.testing.assert_allclose(leverage_scores(Gaussian(1.0), X, X, ridge=0.5), exact, atol=1e-9)
    exact = leverage_scores(Gaussian(2.0), X, X, ridge=0.5)
    approximate = leverage_scores(Gaussian(2.0), X, X[::2], ridge=0.5, memory=8 * 4 * 150 * 7)
    assert np.corrcoef(approximate, exact)[0, 1] > 0.8 and (approximate <= 1).all()


def test_leverage_landmarks_do_better_than_uniform_ones_on_lopsided_data(rng):
    crowd = np.concatenate([rng.normal(scale=0.1, size=(480, 2)), rng.uniform(-6, 6, size=(20, 2))])
    kernel = Gaussian(1.0)

    def error(rows):
        return gram_error(kernel, LandmarkFeatures(kernel, crowd[rows]), crowd, rng=0).relative

    by_score = np.mean([error(leverage_landmarks(kernel, crowd, 30, ridge=0.01, rng=seed)) for seed in range(5)])
    uniform = np.mean([error(uniform_landmarks(500, 30, rng=seed)) for seed in range(5)])
    assert by_score < 0.6 * uniform


# ---------------------------------------------------------------- logistic regression and support vector machine


@pytest.mark.parametrize("loss", [logistic_loss, partial(rounded_hinge, h=0.5)])
def test_derivatives_of_the_losses(loss):
    z, h = np.array([-3.0, 0.2, 0.6, 1.0, 1.3, 4.0]), 1e-6
    value, slope, curvature = loss(z)
    up, down = loss(z + h), loss(z - h)
    np.testing.assert_allclose((up[0] - down[0]) / (2 * h), slope, atol=1e-8)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * h), curvature, atol=1e-8)
    assert (value >= 0).all()


def test_the_rounded_hinge_is_close_to_the_hinge():
    z = np.linspace(-2, 4, 1001)
    gap = rounded_hinge(z, h=0.1)[0] - np.maximum(0, 1 - z)
    assert gap.min() >= -1e-15 and gap.max() == pytest.approx(0.1 / 4, rel=1e-3)


def test_logistic_regression_is_scikit_learns():
    features = random_fourier(Gaussian(1.0), 4, 40, rng=0)
    fit = feature_logistic(features, X, y, ridge=0.5)
    peer = sklearn.linear_model.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(fit.w, peer.fit(features(X), y).coef_[0], atol=1e-4)


def test_the_support_vector_machine_is_optimal_within_its_promise():
    features = LandmarkFeatures(Gaussian(1.0), Z)
    fit = feature_svm(features, X, y, lam=0.003)
    Phi, P = features(X), features.penalty()

    def hinge_objective(w):
        return np.maximum(0, 1 - y * (Phi @ w)).mean() + 0.003 * w @ P @ w

    assert hinge_objective(fit.w) <= fit.objective <= hinge_objective(fit.w) + 0.00025
    for seed in range(20):  # no direction decreases it by more than the rounding of the kink
        step = np.linalg.solve(P, np.random.default_rng(seed).normal(size=25))
        for size in (1e-3, -1e-3, 1e-2, -1e-2):
            assert hinge_objective(fit.w + size * step / np.linalg.norm(step)) > hinge_objective(fit.w) - 0.00025


def test_too_few_passes_are_said():
    features = LandmarkFeatures(Gaussian(1.0), Z)
    with pytest.warns(KernelCourseWarning, match="feature_logistic stopped after 2 passes"):
        feature_logistic(features, X, y, ridge=1e-3, max_passes=2)
    with pytest.warns(KernelCourseWarning, match="feature_svm"):
        feature_svm(features, X, y, lam=1e-4, max_passes=5)


FUNCTIONS = [
    lambda t: feature_ridge(LandmarkFeatures(Gaussian(1.0), Z), X, t, ridge=1.0),
    lambda t: falkon(LandmarkFeatures(Gaussian(1.0), Z), X, t, ridge=1.0).w,
    lambda t: feature_logistic(LandmarkFeatures(Gaussian(1.0), Z), X, t, ridge=1.0).w,
    lambda t: feature_svm(LandmarkFeatures(Gaussian(1.0), Z), X, t, lam=0.01).w,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_targets_are_checked_and_may_be_a_list(function):
    for wrong, words in [
        (np.r_[y, 1.0, 1.0], "has 302 entries, expected 300"),
        (np.where(np.arange(300) == 7, np.nan, y), r"contains NaN \(first at index \(7,\)\)"),
        (y[:, None], "must be 1-D"),
        (["up"] * 300, "must hold numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            function(wrong)
    np.testing.assert_array_equal(function(y.tolist()), function(y))


@pytest.mark.parametrize("wrap", [np.asarray, lambda a: da.from_array(a, chunks=100)], ids=["numpy", "dask"])
@pytest.mark.parametrize("solve", [feature_logistic, feature_svm])
def test_labels_other_than_plus_and_minus_one_are_refused(solve, wrap):
    penalty = {"lam": 0.01} if solve is feature_svm else {"ridge": 1.0}
    with pytest.raises(ValueError, match=r"y must hold the labels -1 and \+1, got \[0. 1.\]"):
        solve(LandmarkFeatures(Gaussian(1.0), Z), wrap(X), wrap((y > 0).astype(float)), **penalty)


@pytest.mark.parametrize("base", [Gaussian, Matern, RationalQuadratic, Laplacian])
def test_a_subclass_may_have_another_spectral_density(base):
    class Narrow(base):
        def formula(self, X, Z):
            return super().formula(X, Z) ** 4

    with pytest.raises(ValueError, match=r"no spectral density is known for .*Narrow"):
        random_fourier(Narrow(1.0), 2, 10)


def test_features_share_no_array_with_the_caller(rng):
    landmarks, frequencies = X[:5].copy(), rng.normal(size=(4, 6))
    maps = [LandmarkFeatures(Gaussian(1.0), landmarks), FourierFeatures(frequencies)]
    before = [phi(X) for phi in maps]
    landmarks[:] = frequencies[:] = 0
    for phi, features in zip(maps, before, strict=True):
        np.testing.assert_array_equal(phi(X), features)
