"""Corner cases that can go wrong silently: cancellation, overflow, misinterpreted functions, incomplete fits."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.pipeline import Pipeline

import kernelcourse
from kernelcourse import (
    MLP,
    Bilinear,
    Constant,
    Cosine,
    Gaussian,
    KernelLogisticRegression,
    KernelNeighbors,
    KernelRidge,
    KernelSVM,
    Laplacian,
    Linear,
    LogisticRegression,
    Matern,
    Perceptron,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Ridge,
    SemiparametricRidge,
    SoftmaxRegression,
    accuracy,
    alignment,
    alignment_weights,
    dual_weights,
    gaussian_basis,
    grid_search,
    is_psd,
    is_valid_kernel,
    k_fold,
    leave_one_out,
    mean_squared_error,
    monomials,
    target_alignment,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
t = X[:, 0] + 0.1 * rng.normal(size=30)
y = np.where(X[:, 0] > 0, "b", "a")


@pytest.mark.parametrize(
    "phi",
    [
        lambda x: x / np.linalg.norm(x),
        lambda x: x[::-1],
        lambda x: np.exp(x) / np.exp(x).sum(),
        lambda x: x[:2],
        lambda x: np.append(x, x[0] * x[1]),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_a_map_of_one_point_is_applied_to_each(phi, n):
    one_by_one = np.array([phi(x) for x in X[:n]])
    np.testing.assert_allclose(Linear().after(phi)(X[:n]), one_by_one @ one_by_one.T)
    np.testing.assert_allclose(Linear().after(phi)(X[:n].tolist()), one_by_one @ one_by_one.T)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_a_map_of_all_rows_is_applied_at_once(n):
    def phi(X):
        return np.column_stack([X, X**2])

    np.testing.assert_allclose(Linear().after(phi)(X[:n]), phi(X[:n]) @ phi(X[:n]).T)
    np.testing.assert_allclose(Linear().after(lambda x: x / np.linalg.norm(x))(X[:n]), Cosine()(X[:n]))


def test_distances_of_far_clusters_and_narrow_widths_do_not_cancel():
    two = np.vstack([X, 1e8 + X])
    exact = np.exp(-cdist(two, two, "sqeuclidean") / 2)
    np.testing.assert_allclose(Gaussian(1.0)(two), exact, atol=1e-9)
    assert is_psd(Gaussian(1.0)(two))
    assert Gaussian(1e-8)([[1.0], [1 + 1e-8], [-1.0]])[0, 1] == pytest.approx(np.exp(-0.5), rel=1e-6)
    np.testing.assert_allclose(np.diag(Gaussian(1e-7)(X, X.copy())), 1.0)


@pytest.mark.parametrize(
    "K",
    [
        lambda: Matern(1.0, nu=1.5)([[0.0], [1e160]]),
        lambda: Matern(1.0, nu=0.9)([[0.0], [1e160]]),
        lambda: Periodic(1.0, 1e-200)([[0.0], [0.5]]),
        lambda: Gaussian(1.0)([[1e308], [-1e308]]),
    ],
)
def test_infinitely_far_is_not_similar(K):
    np.testing.assert_array_equal(K(), np.eye(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: Periodic()([[1e308], [-1e308]]),
        lambda: monomials([[1e200]], 2),
        lambda: (Linear() ** 3).features([[1e200]]),
        lambda: (Linear() ** 3).features([[1e200, 0.0]]),  # infinity times 0
        lambda: Polynomial(2000).features([[0.1]]),
        lambda: Linear()([[10**400]]),
        lambda: Ridge().fit([[1e200], [1.0]], [1, 2]),
        lambda: MLP().fit([[1e200], [1.0]], [1, 2]),
        lambda: LogisticRegression().fit(X * 1e200, y),
        lambda: SoftmaxRegression().fit(X * 1e200, y),
        lambda: Perceptron().fit(X * 1e200, y),
        lambda: (Linear() + 1).diag([[1e200]]),
    ],
)
def test_too_large_is_said(call):
    with np.errstate(over="raise", invalid="raise"), pytest.raises(OverflowError, match=r"too large|too far"):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: (Linear() ** 20).features(np.ones((2, 10))), "too many"),
        (lambda: gaussian_basis([1.0], [], 1.0), "centers"),
        (lambda: dual_weights([[1.0, 2.0], [2.0, 1.0]], [1, -1], ridge=0.5), "positive semidefinite"),
        (lambda: leave_one_out([[1.0, 2.0], [2.0, 1.0]], [1, -1], ridges=[0.5]), "positive semidefinite"),
        (lambda: dual_weights([[1e-9, 5e-9], [0.0, 1e-9]], [1, 2], ridge=1e-9), "symmetric"),
        (lambda: Linear()(np.ma.array([[1.0], [2.0]], mask=[[0], [1]])), "mask"),
        (lambda: Linear()(np.array([["1"], ["2"]], dtype=object)), "text"),
        (lambda: Linear()(np.empty((0, 2), dtype=str)), "numbers"),
        (lambda: KernelSVM().fit(X, t + 1j), "Complex"),
        (lambda: KernelSVM().fit(X, np.array([np.nan, 1.0] * 15, dtype=object)), "NaN"),
        (lambda: KernelSVM(offset="yes").fit(X, y), "offset"),
        (lambda: Perceptron(shuffle="no").fit(X, y), "shuffle"),
        (lambda: MLP(hidden=16).fit(X, y), "hidden"),
        (lambda: Ridge(phi="x").fit(X, t), "phi"),
        (lambda: Gaussian(10**400), "sigma"),
        (lambda: k_fold(4, 2, rng=-1), "rng"),
        (lambda: Linear().on(2.5), "columns"),
        (lambda: Linear().polynomial(3), "coefficients"),
        (lambda: Linear().after(np.tanh)([]), "X"),
        (lambda: Linear().after(np.tanh)(None), "X"),
        (lambda: alignment_weights([np.full((3, 3), 0.1), np.eye(3)], [1.0, 2.0, 4.0]), "constant"),
        (lambda: alignment_weights([np.eye(3)], [0.1, 0.1, 0.1]), "constant"),
        (lambda: target_alignment(np.full((3, 3), 0.1), [1.0, 2.0, 4.0]), "constant"),
        (lambda: accuracy([[1], [2]], [1, 2]), "1-D"),
        (lambda: accuracy([], []), "empty"),
        (lambda: mean_squared_error([], []), "empty"),
        (lambda: is_valid_kernel(3), "k must"),
        (lambda: is_valid_kernel(Linear(), trials=0), "trials"),
        (lambda: is_valid_kernel(Linear(), []), "sample"),
        (lambda: is_valid_kernel(Bilinear(np.eye(5)), rng=0), "sample"),
        (lambda: grid_search(Ridge(), X, t, {"ridge": [1.0]}, []), "folds"),
        (lambda: grid_search(Ridge(), X, t, {"ridge": [1.0]}, k_fold(30, 3), lambda a, b: 0.0), "larger_is_better"),
        (lambda: KernelRidge().set_params(kernel__foo=1.0), "Invalid parameter"),
        (lambda: KernelRidge().set_params(ridge__x=1.0), "Invalid parameter"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_a_search_may_be_told_what_is_good_and_leaves_its_estimator_alone():
    pipe = Pipeline([("k", KernelRidge(Linear(), ridge=1.0))])
    grid = {"k__ridge": [1e6, 1e-2]}
    folds = (fold for fold in k_fold(30, 3, rng=0))  # used up after one pass
    found = grid_search(pipe, X, t, grid, folds, lambda a, b: -mean_squared_error(a, b), larger_is_better=True)
    assert found.best == {"k__ridge": 1e-2} and np.isfinite(found.scores).all()
    assert pipe.named_steps["k"].ridge == 1.0


def test_a_failed_fit_loses_nothing():
    model = KernelRidge().fit(X, t)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y has 3"):
        model.fit(X[:, :2], t[:3])
    np.testing.assert_array_equal(model.predict(X), before)
    fresh = KernelRidge()
    with pytest.raises(ValueError, match="y has 3"):
        fresh.fit(X, t[:3])
    with pytest.raises(ValueError, match="not fitted"):
        fresh.predict(X)


def test_parameters_of_a_kernel_inside_a_kernel_can_be_set():
    model = SemiparametricRidge(0.5 * Gaussian(1.0), Linear())
    assert model.get_params()["kernel__kernel__sigma"] == 1.0
    assert model.set_params(kernel__kernel__sigma=3.0).kernel == 0.5 * Gaussian(3.0)


def test_constant_columns_and_targets_do_not_explode():
    data = np.column_stack([X[:, 0], np.full(30, 0.1)])
    model = MLP(epochs=20).fit(data, y)
    np.testing.assert_allclose(model.predict_proba(data + np.array([0, 1e-9])), model.predict_proba(data), atol=1e-6)
    assert Ridge().fit(X, np.full(30, 0.1)).score(X, np.full(30, 0.1)) == 0.0


def test_probabilities_keep_their_logarithms():
    for model in (LogisticRegression(1e-3), KernelLogisticRegression(Linear(), 1e-3), SoftmaxRegression(1e-3)):
        log_p = model.fit(X, y).predict_log_proba(1e4 * X)
        assert np.isfinite(log_p).all() and log_p.min() < -1000
        np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    p = LogisticRegression(1e-3).fit(X, three).predict_proba(1e4 * X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_scores_take_a_column_of_labels_for_what_it_is():
    model = KernelNeighbors(kappa=1).fit(X, y)
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.score(X, y[:, None]) == 1.0


def test_the_hunt_takes_kernels_that_overflow_or_have_a_dimension():
    assert is_valid_kernel(Linear().exp(), rng=0)
    assert is_valid_kernel(Bilinear(np.eye(2)), rng=0)


def test_numbers_of_any_kind_scale_a_kernel():
    assert np.array(2.0) * Linear() == Fraction(4, 2) * Linear() == 2 * Linear()
    assert 1 * Linear() == Linear() == (0.5 * Linear()) * 2
    assert Constant(1.0) + np.float32(1) == Constant(1.0) + 1


def test_small_numbers_print_as_latex_that_can_be_set():
    assert "10^{-5})^2" in Gaussian(1e-5).latex()
    assert Linear().on([0, 1]).on([0]).latex().startswith("{{x}_{[0]}}_{[0,1]}")


def test_alignment_of_large_and_small_matrices():
    assert alignment([[1e160]], [[1e-160]]) == pytest.approx(1.0)


def test_the_learned_kernel_is_that_of_the_learned_features():
    model = MLP(epochs=5).fit(X, y)
    np.testing.assert_allclose(model.kernel()(X), model.features(X) @ model.features(X).T)


def test_a_rational_quadratic_tends_to_the_gaussian():
    line = np.linspace(0, 1, 40)[:, None]
    for alpha in (1e8, 1e13, 1e16):
        K = RationalQuadratic(1.0, alpha=alpha)(line)
        np.testing.assert_allclose(K, Gaussian(1.0)(line), atol=1e-8)
        assert is_psd(K, tol=1e-13)


@pytest.mark.parametrize("nu", [3.3, 19.5, 20.5, 40.0, 60.0, 100.0])
def test_a_smooth_matern_kernel_has_no_negative_eigenvalue(nu):
    for length in (0.3, 1.0, 10.0):
        assert is_psd(Matern(length, nu=nu)(np.linspace(0, 1, 60)[:, None]), tol=1e-13)


@pytest.mark.parametrize("nu", [20.5, 33.5, 99.5])
def test_a_smooth_matern_kernel_is_its_closed_form(nu):
    r, p = np.linspace(0, 3, 200), round(nu - 0.5)
    s = np.sqrt(2 * nu) * r
    factors = [math.factorial(p + i) / (math.factorial(i) * math.factorial(p - i)) for i in range(p + 1)]
    exact = np.exp(-s) * sum(float(c) * (2 * s) ** (p - i) / 1.0 for i, c in enumerate(factors))
    exact *= math.factorial(p) / math.factorial(2 * p)
    np.testing.assert_allclose(Matern(1.0, nu=nu)([[0.0]], r[:, None])[0], exact, rtol=1e-11)


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, RationalQuadratic, Matern])
@pytest.mark.parametrize("width", [1e-300, 1e-310])
def test_a_tiny_width_tells_all_points_apart_without_a_warning(kernel, width):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(kernel(width)([[0.0], [1.0], [30.0]]), np.eye(3))


def test_a_gram_matrix_in_single_precision_is_symmetric():
    s = np.random.default_rng(3).uniform(0.5, 2, size=(30, 1)).astype(np.float32)
    K = (s * Gaussian(1.0)(X).astype(np.float32)) * s.T
    assert not np.array_equal(K, K.T)
    np.testing.assert_allclose(dual_weights(K, t, ridge=1.0), dual_weights((K + K.T) / 2, t, ridge=1.0), atol=1e-5)


def test_numbers_that_differ_are_printed_so():
    K = np.array([[1.0, 1.0], [1.0000012, 1.0]])
    with pytest.raises(ValueError, match=r"K\[0, 1\] = 1.0 and K\[1, 0\] = 1.0000012"):
        dual_weights(K, [1.0, 2.0], ridge=1.0)


def test_a_learned_kernel_stays_when_its_network_is_trained_again():
    model = MLP(hidden=(4,), epochs=5).fit(X, y)
    k = model.kernel()
    K, prediction = k(X), KernelRidge(k).fit(X, t)
    before = prediction.predict(X)
    model.fit(X[::-1], y)
    np.testing.assert_array_equal(k(X), K)
    np.testing.assert_array_equal(prediction.predict(X), before)


def test_a_function_under_its_old_name_is_called_so():
    K = np.diag([1.0, 4.0])
    with pytest.warns(DeprecationWarning, match="normalise is now called normalize"):
        np.testing.assert_array_equal(kernelcourse.normalise(K), kernelcourse.normalize(K))
    assert kernelcourse.normalise.__name__ == kernelcourse.normalise.__qualname__ == "normalise"
