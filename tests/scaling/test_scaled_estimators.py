"""The estimators for many points: scikit-learn's checks, their exact counterparts, blocks, and bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelcourse import (
    Falkon,
    FourierLogisticRegression,
    FourierRidge,
    FourierSVM,
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelSVM,
    Laplacian,
    NystromLogisticRegression,
    NystromRidge,
    NystromSVM,
    Polynomial,
    Spectrum,
    cg_ridge,
    engine,
)

REGRESSORS = [
    NystromRidge(),
    NystromRidge(landmarks="kmeans++"),
    Falkon(landmarks="leverage"),
    FourierRidge(m=400),
]
CLASSIFIERS = [NystromLogisticRegression(), FourierLogisticRegression(m=100), NystromSVM(), FourierSVM(m=100)]
LANDMARK_MODELS = [NystromRidge(), Falkon(), NystromLogisticRegression(), NystromSVM()]


@parametrize_with_checks(REGRESSORS + CLASSIFIERS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
t = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 2.0
y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "yes", "no")
three = np.array(["red", "green", "blue"])[np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.5, 0.5])]
new = rng.normal(size=(40, 3))


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(2.0), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("ridge", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("model", [NystromRidge(m=150), Falkon(m=150, iterations=150, tol=1e-13)])
def test_with_every_point_a_landmark_it_is_kernel_ridge(model, kernel, ridge):
    exact = KernelRidge(kernel, ridge=ridge).fit(X, t).predict(new)
    approximate = clone(model).set_params(kernel=kernel, ridge=ridge).fit(X, t).predict(new)
    np.testing.assert_allclose(approximate, exact, rtol=0, atol=1e-8 * np.abs(exact).max())


def test_with_every_point_a_landmark_it_is_kernel_logistic_regression():
    exact = KernelLogisticRegression(Gaussian(1.5), ridge=0.3).fit(X, y)
    ours = NystromLogisticRegression(Gaussian(1.5), m=150, ridge=0.3).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), exact.predict_proba(new), atol=1e-5)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(new)), ours.predict_proba(new))


def test_with_every_point_a_landmark_it_is_the_support_vector_machine():
    exact = KernelSVM(Gaussian(1.5), lam=0.01).fit(X, y)
    ours = NystromSVM(Gaussian(1.5), m=150, lam=0.01).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(new), exact.decision_function(new), atol=1e-2
    )  # both to a gap of 1e-4


@pytest.mark.parametrize(
    ("many", "few", "exact"),
    [
        (FourierRidge(Gaussian(1.5), 2000, 0.5), FourierRidge(Gaussian(1.5), 40, 0.5), KernelRidge(Gaussian(1.5), 0.5)),
        (FourierSVM(Gaussian(1.5), 1000, 0.02), FourierSVM(Gaussian(1.5), 40, 0.02), KernelSVM(Gaussian(1.5), 0.02)),
    ],
    ids=["ridge", "svm"],
)
def test_random_features_tend_to_the_exact_method(many, few, exact):
    target = t if is_regressor(exact) else np.where(y == "yes", 1, -1)

    def values(model):
        model.fit(X, target)
        return model.predict(new) if is_regressor(model) else model.decision_function(new)

    wanted = values(exact)
    assert np.abs(values(many) - wanted).max() < 0.3 * np.abs(values(few) - wanted).max()


@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
def test_the_size_of_the_blocks_changes_nothing(model):
    target = t if is_regressor(model) else y

    # Rounding enters an answer times the square of a condition number: a ridge of 10 keeps that below 1000.
    strength = {"lam": 0.05} if hasattr(model, "lam") else {"ridge": 10.0}

    def values(memory):
        with engine("on" if is_regressor(model) else "off"):  # the classifiers' twins need room for all features
            fitted = clone(model).set_params(memory=memory, **strength).fit(X, target)
        return fitted.predict(new) if is_regressor(model) else fitted.decision_function(new)

    whole = values(2**28)
    for memory in (8 * 4 * 150 * 7, 8 * 4 * 150 * 64):  # blocks of 7 and of 64 rows and more
        np.testing.assert_allclose(values(memory), whole, rtol=0, atol=1e-12 * np.abs(whole).max())


def test_predictions_never_form_the_whole_matrix():
    class Watched(Gaussian):
        largest = 0

        def formula(self, X, Z):
            Watched.largest = max(Watched.largest, len(X) * len(Z))
            return super().formula(X, Z)

    memory = 8 * 4 * 30 * 10
    model = NystromRidge(Watched(1.0), m=30, memory=memory).fit(X, t)
    model.predict(np.repeat(new, 5, axis=0))
    assert Watched.largest == 30 * 30  # a block of 10 rows has 300 values, and the landmarks' own matrix has 900
    cg_ridge(Watched(1.0), X, t, ridge=1.0, memory=8 * 4 * 150 * 10)
    assert Watched.largest == 150 * 10


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++", "leverage"])
def test_landmarks_are_points_and_repeatable(landmarks):
    model = NystromRidge(m=12, landmarks=landmarks, rng=3).fit(X, t)
    again = NystromRidge(m=12, landmarks=landmarks, rng=3).fit(X, t)
    other = NystromRidge(m=12, landmarks=landmarks, rng=4).fit(X, t)
    np.testing.assert_array_equal(model.features_.Z, again.features_.Z)
    assert (model.features_.Z != other.features_.Z).any()
    assert len(model.features_.Z) == 12 and all((z == X).all(axis=1).any() for z in model.features_.Z)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_three_classes(model):
    fitted = clone(model).fit(X, three)
    assert fitted.score(X, three) > 0.8
    assert fitted.decision_function(new).shape == (40, 3)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_allclose(fitted.predict_proba(new).sum(axis=1), 1)


def test_the_gram_error_falls_with_the_landmarks_and_vanishes():
    errors = [NystromRidge(Gaussian(2.0), m=m).fit(X, t).gram_error(X).relative for m in (5, 20, 80, 150)]
    assert errors[0] > errors[1] > errors[2] > errors[3] and errors[3] < 1e-7
    assert FourierRidge(Gaussian(2.0), m=20).fit(X, t).gram_error(X, sample=50).points == 50


def test_changing_the_data_after_fitting_changes_nothing():
    model, data = NystromRidge(m=20), X.copy()
    before = model.fit(data, t).predict(new)
    data[:] = 0
    np.testing.assert_array_equal(model.predict(new), before)


def test_kernels_on_objects():
    words = ["aabb", "abab", "aaab", "cdcd", "ccdd", "dcdc"] * 3
    labels = ["left", "left", "left", "right", "right", "right"] * 3
    for landmarks in ("uniform", "leverage"):
        model = NystromSVM(Spectrum(1).normalized(), m=8, landmarks=landmarks).fit(words, labels)
        assert list(model.predict(["abba", "ddcc"])) == ["left", "right"]
    exact = KernelRidge(Spectrum(2), ridge=0.5).fit(words, np.arange(18.0)).a_
    np.testing.assert_allclose(cg_ridge(Spectrum(2), words, np.arange(18.0), ridge=0.5)[0], exact, rtol=1e-7)
    with pytest.raises(ValueError, match="kmeans"):
        NystromRidge(Spectrum(1), m=3, landmarks="kmeans++").fit(words, np.arange(18.0))
    with pytest.raises(ValueError, match="stationary"):
        FourierRidge(Spectrum(1), m=4).fit(words, np.arange(18.0))


@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
def test_clone_and_pickle(model):
    fitted = clone(model).fit(X, t if is_regressor(model) else y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(new), fitted.predict(new))


@pytest.mark.parametrize("model", LANDMARK_MODELS, ids=repr)
def test_more_landmarks_than_points_are_refused(model):
    for landmarks in ("uniform", "leverage"):
        with pytest.raises(ValueError, match="got 151 landmarks for n_samples=150"):
            clone(model).set_params(m=151, landmarks=landmarks).fit(X, t if is_regressor(model) else y)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (NystromRidge(m=0), "m must be a whole number"),
        (NystromRidge(m=2.5), "m must be a whole number"),
        (NystromRidge(landmarks="all"), "landmarks must be one of"),
        (NystromRidge(ridge=0.0), "ridge"),
        (NystromRidge(kernel="rbf"), "kernel must be a Kernel"),
        (NystromRidge(memory=-1), "memory"),
        (NystromRidge(m=100, memory=100), "memory must be at least 3200 bytes"),
        (Falkon(iterations=0), "iterations"),
        (FourierRidge(m=7), "m must be even"),
        (FourierRidge(Polynomial(2)), "spectral density"),
    ],
)
def test_bad_parameters_are_named(model, words):
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X, t)


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((X, t[:5]), "y has 5 entries"),
        ((scipy.sparse.csr_array(X), t), "sparse"),
        ((np.where(X > 2.0, np.nan, X), t), "NaN"),
        ((X, np.where(t > 2.5, np.inf, 1.0)), "inf"),
        ((X * 1e200, t), "1e150"),
        ((X[:0], t[:0]), "0 sample"),
    ],
)
def test_bad_data_is_named(model, data, words):
    with pytest.raises((ValueError, TypeError, OverflowError), match=words):
        clone(model).fit(*data)


def test_falkon_stops_where_it_is_told_to():
    rough, fine = (Falkon(Gaussian(1.0), m=20, ridge=1.0, iterations=50, tol=tol).fit(X, t) for tol in (0.005, 1e-10))
    assert rough.n_iter_ < fine.n_iter_ < 50
    assert rough.residuals_[-1] <= 0.005 and fine.residuals_[-1] <= 1e-10


def test_a_ridge_too_small_for_the_method_is_said():
    from kernelcourse import KernelCourseWarning

    with pytest.warns(KernelCourseWarning, match="Falkon"):
        NystromRidge(Gaussian(30.0), m=100, ridge=1e-9).fit(X, t)
    with pytest.warns(KernelCourseWarning, match="relative residual"):
        Falkon(ridge=1e-4, m=20, iterations=1).fit(X, t)


@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
def test_parameters_take_effect_with_the_next_fit(model):
    fitted = clone(model).fit(X, t if is_regressor(model) else y)
    error = fitted.gram_error(X, sample=20) if hasattr(fitted, "features_") else None
    before = fitted.predict(new)
    fitted.set_params(kernel=Polynomial(7), memory=1)
    np.testing.assert_array_equal(fitted.predict(new), before)
    assert error is None or fitted.gram_error(X, sample=20) == error
