"""Estimators: scikit-learn's own checks, its tools applied to ours, and peers as oracles."""

import pickle
import subprocess
import sys
from copy import deepcopy
from datetime import date

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge as PeerKernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelcourse import (
    MLP,
    Constant,
    Gaussian,
    Hamming,
    Intersection,
    KernelLogisticRegression,
    KernelNeighbors,
    KernelPerceptron,
    KernelRidge,
    KernelSVM,
    Laplacian,
    Linear,
    LogisticRegression,
    Matern,
    NystromRidge,
    Perceptron,
    Polynomial,
    Positions,
    RegularizationNetwork,
    Ridge,
    SemiparametricRidge,
    ShortestPath,
    SoftmaxRegression,
    Spectrum,
    monomials,
)
from kernelcourse.estimators.classifiers import votes

REGRESSORS = [
    Ridge(),
    Ridge(offset="free"),
    Ridge(offset="penalised"),
    KernelRidge(),
    KernelRidge(offset="free"),
    KernelRidge(Laplacian(2.0), offset="penalised"),
    RegularizationNetwork(),
    SemiparametricRidge(),
]
CLASSIFIERS = [
    Perceptron(max_epochs=50),  # on data that cannot be separated, it takes all of them
    KernelPerceptron(max_epochs=50),
    KernelNeighbors(),
    LogisticRegression(),
    KernelLogisticRegression(),
    SoftmaxRegression(),
    KernelSVM(),
    KernelSVM(offset="free"),
    KernelSVM(offset="penalised"),
    MLP(epochs=40),
]


@parametrize_with_checks(REGRESSORS + CLASSIFIERS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
t = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 2.0
y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "yes", "no")
three = np.array(["red", "green", "blue"])[np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.5, 0.5])]
new = rng.normal(size=(20, 3))


def test_kernel_ridge_is_scikit_learns():
    ours = KernelRidge(Gaussian.from_gamma(0.4), ridge=0.3).fit(X, t)
    peer = PeerKernelRidge(kernel="rbf", gamma=0.4, alpha=0.3).fit(X, t)
    np.testing.assert_allclose(ours.predict(new), peer.predict(new), rtol=1e-9)
    np.testing.assert_allclose(ours.a_, peer.dual_coef_, rtol=1e-9)


@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
def test_primal_and_dual_ridge_predict_the_same(offset):
    primal = Ridge(lambda X: monomials(X, 2), ridge=0.7, offset=offset).fit(X, t)
    dual = KernelRidge(Polynomial(2), ridge=0.7, offset=offset).fit(X, t)
    np.testing.assert_allclose(primal.predict(new), dual.predict(new), rtol=1e-8)


def test_a_free_offset_is_scikit_learns_intercept():
    ours = Ridge(ridge=0.7, offset="free").fit(X, t)
    peer = sklearn.linear_model.Ridge(alpha=0.7).fit(X, t)
    np.testing.assert_allclose(ours.w_, peer.coef_)
    assert ours.b_ == pytest.approx(peer.intercept_)
    np.testing.assert_allclose(
        KernelRidge(Linear(), ridge=0.7, offset="free").fit(X, t).predict(new), peer.predict(new)
    )


def test_changing_the_data_after_fitting_changes_nothing():
    data = X.copy()
    model = KernelRidge().fit(data, t)
    before = model.predict(new)
    data[:] = 0
    np.testing.assert_array_equal(model.predict(new), before)


def test_a_narrow_gaussian_has_the_same_neighbours_as_a_wide_one():
    wide, narrow = (KernelNeighbors(Gaussian(sigma), kappa=3).fit(X, three) for sigma in (5.0, 0.1))
    assert (wide.predict(new) == narrow.predict(new)).all()


def test_regularization_network_is_ridge_with_ell_gamma():
    network = RegularizationNetwork(Gaussian(1.0), gamma=0.02).fit(X, t)
    np.testing.assert_allclose(network.alpha_, KernelRidge(Gaussian(1.0), ridge=60 * 0.02).fit(X, t).a_)


def test_the_two_parts_of_a_semiparametric_fit():
    model = SemiparametricRidge(0.3 * Gaussian(0.5), 2 * Linear() + 1, ridge=0.1).fit(X, t)
    parts = model.parts(new)
    np.testing.assert_allclose(parts.total, parts.nonparametric + parts.parametric)
    np.testing.assert_allclose(parts.total, model.predict(new))
    np.testing.assert_allclose(parts.parametric, (2 * Linear() + 1).features(new) @ model.w_)
    np.testing.assert_allclose(
        model.predict(new), KernelRidge(0.3 * Gaussian(0.5) + 2 * Linear() + 1, 0.1).fit(X, t).predict(new)
    )
    far = model.parts(np.full((1, 3), 100.0))
    assert abs(far.nonparametric[0]) < 1e-12 < abs(far.parametric[0])


def test_logistic_regression_is_scikit_learns():
    ours = LogisticRegression(ridge=0.5, offset="none").fit(X, y)
    peer = sklearn.linear_model.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), peer.predict_proba(new), atol=1e-6)
    np.testing.assert_allclose(
        KernelLogisticRegression(Linear(), ridge=0.5).fit(X, y).predict_proba(new), peer.predict_proba(new), atol=1e-6
    )


def test_softmax_regression_is_scikit_learns_and_the_kernels():
    peer = sklearn.linear_model.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=1000).fit(X, three)
    ours = SoftmaxRegression(ridge=0.5, offset="none").fit(X, three)
    dual = KernelLogisticRegression(Linear(), ridge=0.5).fit(X, three)
    np.testing.assert_allclose(ours.predict_proba(new), peer.predict_proba(new), atol=1e-5)
    np.testing.assert_allclose(dual.predict_proba(new), ours.predict_proba(new), atol=1e-7)


def test_the_svm_with_offset_is_scikit_learns():
    n, C = len(X), 2.0
    ours = KernelSVM(Gaussian.from_gamma(0.5), lam=1 / (2 * n * C), offset="free", gap=1e-10).fit(X, y)
    peer = sklearn.svm.SVC(C=C, gamma=0.5, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(new), peer.decision_function(new), atol=1e-4)
    assert set(peer.support_) == set(ours.support_)


@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
def test_one_against_one_asks_the_svm_of_each_pair(offset):
    """With the C for all points; the class with the most wins is predicted; among equals the largest sum decides."""
    lam, k, codes = 0.01, Gaussian(1.0), np.unique(three, return_inverse=True)[1]
    model = KernelSVM(k, lam=lam, offset=offset, gap=1e-9).fit(X, codes)
    wins, sums = np.zeros((2, len(new), 3))
    for number, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.flatnonzero((codes == i) | (codes == j))
        pair = KernelSVM(k, lam=lam * len(X) / len(rows), offset=offset, gap=1e-9).fit(X[rows], codes[rows])
        scores = pair.decision_function(new)
        np.testing.assert_allclose(model.c_[rows, number], pair.c_, atol=1e-5)
        assert not np.delete(model.c_[:, number], rows).any()
        for c, sign in ((i, -1), (j, 1)):
            wins[:, c] += sign * scores > 0
            sums[:, c] += sign * scores
    expected = [max(range(3), key=lambda c: (wins[p, c], sums[p, c])) for p in range(len(new))]
    assert model.predict(new).tolist() == expected
    assert model.decision_function(new).shape == (len(new), 3)
    assert model.support_.tolist() == np.flatnonzero(np.abs(model.c_).max(axis=1) > 1e-8).tolist()


def test_one_against_one_is_scikit_learns():
    ours = KernelSVM(Gaussian(1.0), lam=1 / (2 * len(X) * 5.0), offset="free", gap=1e-9).fit(X, three)
    peer = sklearn.svm.SVC(C=5.0, gamma=0.5, tol=1e-9).fit(X, three)
    votes = np.sort(np.round(peer.decision_function(new)), axis=1)
    clear = votes[:, -1] > votes[:, -2]  # ties are broken by different rules
    assert (ours.predict(new) == peer.predict(new))[clear].all() and clear.mean() > 0.9


def test_a_pair_whose_score_is_zero_gives_one_vote_to_the_first_class():
    scores = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 2.0]])  # of the pairs (0, 1), (0, 2) and (1, 2)
    np.testing.assert_array_equal(np.round(votes(scores, 3)), [[2, 1, 0], [1, 0, 2]])


def test_classes_that_win_one_pair_each_are_ordered_by_the_sums_of_their_scores():
    scores = np.array([[1.0, -1.0, 5.0], [5.0, -1.0, 1.0], [1.0, -5.0, 1.0]])  # of (0, 1), (0, 2) and (1, 2)
    found = votes(scores, 3)
    np.testing.assert_array_equal(np.round(found), np.ones((3, 3)))
    np.testing.assert_array_equal(np.argsort(found, axis=1), [[1, 0, 2], [0, 2, 1], [2, 1, 0]])


def test_one_against_the_rest_has_a_score_for_each_class():
    model = KernelSVM(Gaussian(1.0), lam=0.01, multiclass="ovr", gap=1e-9).fit(X, three)
    for c, label in enumerate(np.unique(three)):
        alone = KernelSVM(Gaussian(1.0), lam=0.01, gap=1e-9).fit(X, three == label)
        np.testing.assert_allclose(model.decision_function(new)[:, c], alone.decision_function(new), atol=1e-5)
    with pytest.raises(ValueError, match="multiclass must be one of 'ovo', 'ovr', got 'all'"):
        KernelSVM(multiclass="all").fit(X, three)


def test_neighbours_are_scikit_learns():
    ours = KernelNeighbors(Linear(), kappa=5).fit(X, three)
    peer = KNeighborsClassifier(5, algorithm="brute").fit(X, three)
    proba = peer.predict_proba(new)
    clear = np.sort(proba)[:, -1] > np.sort(proba)[:, -2]  # ties are broken by different rules
    assert (ours.predict(new) == peer.predict(new))[clear].all() and clear.sum() > 15


def test_three_neighbours_vote_by_default():
    line = np.arange(4.0)[:, None]
    assert KernelNeighbors().fit(line, ["a", "b", "b", "a"]).predict([[0.0]]) == ["b"]  # the fourth makes it a tie
    with pytest.raises(ValueError, match="got kappa=3, n_samples=2"):
        KernelNeighbors().fit(line[:2], ["a", "b"])


@pytest.mark.parametrize("model", [KernelPerceptron(Gaussian(0.4)), KernelSVM(Gaussian(0.4), lam=1e-4)], ids=repr)
def test_separable_classes_are_separated(model):
    assert model.fit(X, y).score(X, y) == 1.0
    assert model.fit(X, three).score(X, three) == 1.0


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_labels_of_any_kind_come_back(model):
    for labels in (y, y == "yes", np.where(y == "yes", 7, -3), np.where(y == "yes", 1.0, 0.0), three):
        prediction = clone(model).fit(X, labels).predict(new)
        assert set(prediction) <= set(labels) and prediction.dtype == labels.dtype


def test_two_classes_follow_the_sign_and_more_the_largest():
    model = KernelSVM().fit(X, y)
    assert ((model.decision_function(new) > 0) == (model.predict(new) == "yes")).all()
    model = KernelSVM().fit(X, three)
    assert (model.classes_[model.decision_function(new).argmax(axis=1)] == model.predict(new)).all()


@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
def test_clone_pickle_and_repr(model):
    target = t if is_regressor(model) else y
    fitted = clone(model).fit(X, target)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(new), fitted.predict(new))
    assert repr(clone(model)) == repr(model)
    assert is_classifier(model) != is_regressor(model)


def test_scikit_learns_tools_work():
    search = GridSearchCV(KernelRidge(), {"kernel__sigma": [0.5, 1.0, 2.0], "ridge": [0.01, 1.0]}, cv=3).fit(X, t)
    assert search.best_estimator_.kernel.sigma == search.best_params_["kernel__sigma"]
    search = GridSearchCV(KernelSVM(), {"kernel": [Gaussian(1.0), Polynomial(2)], "lam": [1e-3]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all() and search.best_score_ > 0.8
    assert search.best_estimator_.kernel == search.best_params_["kernel"]
    pipe = make_pipeline(StandardScaler(), KernelLogisticRegression(Polynomial(2), ridge=0.1))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.8


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], ValueError, "X is empty: expected at least one object"),
        ("abab", TypeError, "X must be a list of objects, got str 'abab'"),
        ({"ab": 1}, TypeError, "X must be a list of objects, got dict"),
    ],
)
def test_what_is_not_a_list_of_objects_is_named(X, error, message):
    model = KernelRidge(Spectrum(2)).fit(["abab", "bbab"], [1.0, 2.0])
    with pytest.raises(error, match=message):
        model.predict(X)
    with pytest.raises(error, match=message):
        KernelRidge(Spectrum(2)).fit(X, [1.0])


def test_kernels_on_objects_work_with_lists():
    words = ["aabb", "abab", "aaab", "cdcd", "ccdd", "dcdc"]
    labels = ["left"] * 3 + ["right"] * 3
    for model in (KernelPerceptron, KernelNeighbors, KernelSVM, KernelLogisticRegression):
        fitted = model(Spectrum(1).normalized()).fit(words, labels)
        assert list(fitted.predict(["abba", "ddcc"])) == ["left", "right"]
    ridge = KernelRidge(Hamming(0.5) + Constant(1.0), ridge=1e-6).fit(words, np.arange(6.0))
    np.testing.assert_allclose(ridge.predict(words), np.arange(6.0), atol=1e-3)


def test_data_frames_keep_their_column_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelRidge().fit(frame, t)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict(frame), KernelRidge().fit(X, t).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    assert not hasattr(model.fit(X, t), "feature_names_in_")


@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((X, t[:5]), "y has 5 entries"),
        ((X[:, 0], t), "2-D"),
        ((X, None), "None"),
        ((np.where(X > 1.5, np.nan, X), t), "NaN"),
        ((X, np.where(t > 2.5, np.inf, 1.0)), "inf"),
        ((X, np.column_stack([t, t])), "1-D"),
        ((X[:0], t[:0]), "0 sample"),
    ],
)
def test_bad_data_is_named(model, data, words):
    with pytest.raises(ValueError, match=words):
        clone(model).fit(*data)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelRidge(ridge=-1), "ridge"),
        (KernelRidge(offset="maybe"), "offset"),
        (KernelRidge(kernel="rbf"), "kernel must be a Kernel"),
        (SemiparametricRidge(parametric="linear"), "parametric"),
        (RegularizationNetwork(gamma=-1), "gamma"),
        (Ridge(phi=lambda X: X[:, 0]), "phi"),
    ],
)
def test_bad_parameters_are_named_when_fitting(model, words):
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X, t)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelNeighbors(kappa=1000), "kappa"),
        (KernelSVM(lam=0), "lam"),
        (LogisticRegression(ridge=0), "ridge"),
        (MLP(step=-1), "step"),
    ],
)
def test_bad_parameters_of_classifiers_are_named_when_fitting(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_a_single_class_is_refused(model):
    with pytest.raises(ValueError, match="one class"):
        clone(model).fit(X, ["same"] * len(X))


def test_unfitted_and_unknown_parameters():
    with pytest.raises(NotFittedError, match="fit"):
        KernelRidge().predict(X)
    with pytest.raises(ValueError, match="Invalid parameter 'sigma'"):
        KernelRidge().set_params(sigma=1.0)
    with pytest.raises((ValueError, TypeError)):
        KernelRidge().set_params(kernel__width=1.0)
    model = KernelRidge().set_params(kernel__sigma=3.0, kernel=Gaussian(9.0))
    assert model.kernel == Gaussian(3.0)
    assert KernelRidge().kernel == Gaussian(1.0), "the shared default is not changed"


def test_unfitted_without_scikit_learn_in_memory():
    code = (
        "import sys, kernelcourse\n"
        "try: kernelcourse.KernelRidge().predict([[1.0]])\n"
        "except kernelcourse.NotFittedError as e: print('ours', 'sklearn' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["ours", "False"]


def changed_after_fit(model):
    """Other values for all parameters of an estimator that `predict` might wrongly read."""
    other = {
        "kernel": Polynomial(7),
        "parametric": Polynomial(5),
        "phi": lambda X: X[:, :1],
        "offset": "free" if isinstance(model.get_params().get("offset"), str) else False,
        "kappa": 900,
        "ridge": 77.0,
        "lam": 77.0,
        "gamma": 77.0,
        "hidden": (99,),
        "activation": "relu",
    }
    return {name: value for name, value in other.items() if name in model.get_params(deep=False)}


@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
def test_parameters_take_effect_with_the_next_fit(model):
    fitted = clone(model).fit(X, t if is_regressor(model) else y)
    before = fitted.predict(new)
    fitted.set_params(**changed_after_fit(fitted))
    np.testing.assert_array_equal(fitted.predict(new), before)


def test_the_fitted_kernel_and_the_parametric_part_stay():
    model = SemiparametricRidge(Gaussian(1.0), Linear(), ridge=0.1).fit(X, t)
    before, w = model.parts(new), model.w_
    model.set_params(kernel=Gaussian(9.0), parametric=Polynomial(2))
    assert (model.kernel_, model.parametric_) == (Gaussian(1.0), Linear())
    np.testing.assert_array_equal(model.parts(new), before)
    np.testing.assert_array_equal(model.w_, w)


def test_a_setting_that_fails_leaves_every_parameter_as_it_was():
    model = KernelRidge(ridge=0.5)
    with pytest.raises(ValueError, match="sigma must be a finite number > 0, got -1"):
        model.set_params(ridge=5.0, kernel__sigma=-1)
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        model.set_params(kernel=Linear(), width=2)
    assert repr(model) == "KernelRidge(ridge=0.5)"


def test_there_are_no_weights_of_a_part_without_finite_features():
    model = SemiparametricRidge(Gaussian(1.0), Gaussian(3.0)).fit(X, t)
    assert not hasattr(model, "w_")
    with pytest.raises(AttributeError, match=r"w_ does not exist: .*no finite feature map"):
        _ = model.w_


@pytest.mark.parametrize(
    ("kernel", "objects", "change"),
    [
        (Intersection(), [{1, 2}, {2, 3}, {4}], lambda objects: objects[0].clear()),
        (Spectrum(2), np.array(["abab", "bbab", "aaab"], dtype=object), lambda objects: objects.fill("zzzz")),
        (Spectrum(2), ["abab", "bbab", "aaab"], lambda objects: objects.reverse()),
        (ShortestPath(), np.array([[[0, 1], [1, 0]], [[0, 0], [0, 0]]]), lambda objects: objects.fill(0)),
        (Hamming(0.5), [["a", "b"], ["b", "b"]], lambda objects: objects[0].reverse()),
    ],
)
@pytest.mark.parametrize("model", [KernelRidge(), NystromRidge(), KernelNeighbors(kappa=1)], ids=repr)
def test_changing_objects_after_fitting_changes_nothing(model, kernel, objects, change):
    objects, target = deepcopy(objects), np.arange(len(objects))
    new = deepcopy(objects)
    fitted = clone(model).set_params(kernel=kernel).fit(objects, target)
    before = fitted.predict(new)
    change(objects)
    np.testing.assert_array_equal(fitted.predict(new), before)


@pytest.mark.parametrize("kernel", [Hamming(0.5), Hamming(0.5) + 1, Positions().weighted(lambda row: len(set(row)))])
def test_a_data_frame_of_symbols_is_taken_by_its_rows(kernel):
    symbols = [["a", "b"], ["a", "a"], ["b", "b"]]
    frame, target = pd.DataFrame(symbols, columns=["ab", "ba"]), [1.0, 2.0, 3.0]
    model = KernelRidge(kernel).fit(symbols, target)
    np.testing.assert_allclose(kernel(frame), kernel(symbols))
    np.testing.assert_allclose(KernelRidge(kernel).fit(frame, target).predict(frame), model.predict(symbols))


@pytest.mark.parametrize(
    "kernel",
    [
        2 * Gaussian(0.1),
        Gaussian(0.1).on([0]),
        Gaussian(0.1).on([1, 0]).on([0, 1]),
        Gaussian(0.1).normalized(),
        Gaussian(0.1) ** 2,
        Gaussian(0.1).exp(),
        Gaussian(0.1) + Gaussian(0.2) + 1,
        Gaussian(0.1) * Matern(0.1, nu=0.5),
        Laplacian(0.01),
        0.5 * Laplacian(0.01).on(0) + Laplacian(0.02).on(0),
    ],
    ids=repr,
)
def test_neighbours_beyond_the_smallest_kernel_value_are_told_apart(kernel):
    train, test = np.array([[0.0, 0.0], [100.0, 0.0], [300.0, 0.0]]), [[80.0, 0.0], [210.0, 0.0], [20.0, 0.0]]
    model = KernelNeighbors(kernel, kappa=1).fit(train, ["a", "b", "c"])
    assert list(model.predict(test)) == ["b", "c", "a"]


def test_sums_over_different_columns_are_not_taken_for_one_distance():
    kernel = Gaussian(1.0).on([0]) + Gaussian(10.0).on([1])
    model = KernelNeighbors(kernel, kappa=1).fit([[0.0, 5.0], [4.0, 0.0]], ["a", "b"])
    assert list(model.predict([[0.0, 0.0]])) == ["a"]  # which is farther away, but not in the first column


def test_labels_of_different_kinds_are_named():
    numbers = (y == "yes").astype(int)
    model = KernelSVM().fit(X, numbers)
    with pytest.raises(ValueError, match="y and the predicted labels hold labels of different kinds"):
        model.score(X, numbers.astype(str))
    with pytest.raises(ValueError, match="y holds labels of different kinds"):
        KernelSVM().fit(X[:4], [1, "1", 2, "2"])
    with pytest.raises(TypeError, match="y must hold labels of one kind that can be sorted: '<' not supported"):
        KernelSVM().fit(X[:4], [1, date(2026, 1, 1), 2, date(2027, 1, 1)])


def test_a_column_of_targets_is_scored_like_a_vector():
    model = KernelRidge().fit(X, t)
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.score(X, t[:, None]) == model.score(X, t)


def test_the_kernel_machine_is_logistic_regression_for_two_classes_and_softmax_for_more():
    kernel = Linear() + 1
    two = KernelLogisticRegression(kernel, ridge=0.5).fit(X, y).predict_proba(new)
    np.testing.assert_allclose(two, LogisticRegression(ridge=0.5).fit(X, y).predict_proba(new), atol=1e-7)
    many = KernelLogisticRegression(kernel, ridge=0.5).fit(X, three).predict_proba(new)
    np.testing.assert_allclose(many, SoftmaxRegression(ridge=0.5).fit(X, three).predict_proba(new), atol=1e-7)


def test_an_offset_that_is_no_word_is_named():
    with pytest.raises(ValueError, match="offset must be one of 'none', 'penalised', 'free', got array"):
        KernelRidge(offset=np.array(["none", "free"])).fit(X, t)


def test_a_map_that_works_in_place_leaves_the_points_alone():
    def doubled(X):
        X *= 2
        return X

    data = X.copy()
    model = Ridge(doubled).fit(data, t)
    np.testing.assert_array_equal(model.predict(data), Ridge(lambda X: 2 * X).fit(X, t).predict(X))
    np.testing.assert_array_equal(data, X)
