"""How estimators are built: shallow classes, what fit stores, how often points are prepared, parameters, offsets."""

import inspect
import pickle
import warnings
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV

from kernelcourse import (
    MLP,
    Falkon,
    FourierLogisticRegression,
    FourierRidge,
    FourierSVM,
    Gaussian,
    Kernel,
    KernelLogisticRegression,
    KernelNeighbors,
    KernelPerceptron,
    KernelRidge,
    KernelSVM,
    Linear,
    LogisticRegression,
    Matern,
    NystromLogisticRegression,
    NystromRidge,
    NystromSVM,
    Perceptron,
    Polynomial,
    RegularizationNetwork,
    Ridge,
    SemiparametricRidge,
    SoftmaxRegression,
    Spectrum,
    grid_search,
    k_fold,
)
from kernelcourse.estimators.base import Estimator

rng = np.random.default_rng(5)
X = rng.normal(size=(50, 3))
t = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 2.0
y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "yes", "no")
three = np.array(["red", "green", "blue"])[np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.5, 0.5])]
new = rng.normal(size=(20, 3))

WITH_KERNEL = [
    KernelRidge(),
    KernelRidge(offset="penalised"),
    RegularizationNetwork(),
    KernelPerceptron(max_epochs=20, offset="penalised"),
    KernelNeighbors(Polynomial(2)),
    KernelLogisticRegression(offset="penalised"),
    KernelSVM(offset="free"),
]
ON_FEATURES = [
    NystromRidge(m=20),
    FourierRidge(m=20),
    Falkon(m=20, ridge=5.0),
    NystromLogisticRegression(m=20),
    FourierLogisticRegression(m=20),
    NystromSVM(m=20),
    FourierSVM(m=20),
]
OTHERS = [
    KernelNeighbors(),
    SemiparametricRidge(),
    Ridge(offset="penalised"),
    Perceptron(max_epochs=20),
    LogisticRegression(),
    SoftmaxRegression(),
    MLP(epochs=3),
]
ALL = WITH_KERNEL + ON_FEATURES + OTHERS


def fitted(model, labels=y):
    return clone(model).fit(X, t if is_regressor(model) else labels)


def below(cls):
    return [found for sub in cls.__subclasses__() if ours(sub) for found in (sub, *below(sub))]


def ours(cls):
    return cls.__module__.startswith("kernelcourse.")


# ---------------------------------------------------------------- classes


def test_every_class_is_abstract_or_final_and_none_is_deep():
    classes = set(below(Estimator))
    assert {type(model) for model in ALL} == {cls for cls in classes if not inspect.isabstract(cls)}
    for cls in classes:
        assert len(cls.__mro__) - 1 <= 5, f"{cls.__name__} inherits from {cls.__mro__}"
        assert inspect.isabstract(cls) or not any(map(ours, cls.__subclasses__())), f"{cls.__name__} is not final"


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_signatures_name_the_parameters_and_their_defaults(model):
    signature = inspect.signature(type(model))
    assert list(signature.parameters) == list(model.get_params(deep=False))
    assert all(parameter.default is not inspect.Parameter.empty for parameter in signature.parameters.values())
    assert repr(type(model)()) == f"{type(model).__name__}()"


# ---------------------------------------------------------------- what fit stores


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_no_parameter_is_read_after_fitting(model):
    model = fitted(model)
    names, read = set(model.get_params(deep=False)), []

    class Watched(type(model)):
        def __getattribute__(self, name):
            if name in names and "get_params" not in {frame.function for frame in inspect.stack(0)[1:3]}:
                read.append(name)
            return super().__getattribute__(name)

    wanted = model.predict(new)
    model.__class__ = Watched
    np.testing.assert_array_equal(model.predict(new), wanted)
    for name in ("decision_function", "predict_proba", "parts", "gram_error"):
        getattr(model, name, np.shape)(new)
    assert read == []


@dataclass(frozen=True)
class Counted(Gaussian):
    sizes: ClassVar[list] = []

    def prepare(self, X, name="X"):
        self.sizes.append(len(X))
        return super().prepare(X, name)


@pytest.mark.parametrize(
    "model", [*WITH_KERNEL, NystromRidge(m=20), Falkon(m=20, ridge=5.0), NystromSVM(m=20)], ids=repr
)
def test_points_are_prepared_once_in_fit_and_once_in_predict(model):
    Counted.sizes.clear()
    model = clone(model).set_params(kernel=Counted(1.0)).fit(X, t if is_regressor(model) else y)
    landmarks = [20] if hasattr(model, "landmarks") else []
    assert sorted(Counted.sizes) == [*landmarks, 50]
    Counted.sizes.clear()
    model.predict(new[:7])
    assert Counted.sizes == [7]


def test_the_points_with_a_weight_are_kept_and_no_others():
    model = KernelSVM(Gaussian(2.0), lam=0.01).fit(X, y)
    assert 0 < len(model.support_) < len(X) == len(model.X_)
    np.testing.assert_array_equal(model.f_.points, X[model.support_])
    np.testing.assert_array_equal(model.f_.weights, model.c_[model.support_])
    words = ["aabb", "abab", "cdcd", "ccdd", "a", "c"]
    text = KernelPerceptron(Spectrum(1)).fit(words, [0, 0, 1, 1, 0, 1])
    assert len(text.f_.points) == np.count_nonzero(text.c_) < len(words)
    assert list(text.predict(words)) == [0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Spectrum(1)], ids=repr)
def test_without_any_weight_the_function_is_zero(kernel):
    points = X[:3] if kernel.on_vectors else ["ab", "bc", "cd"]
    model = KernelRidge(kernel).fit(points, np.zeros(3))
    assert not model.f_.weights.any()
    np.testing.assert_array_equal(model.predict(points), np.zeros(3))


@pytest.mark.parametrize("model", [*WITH_KERNEL, NystromRidge(m=20), SemiparametricRidge()], ids=repr)
def test_no_array_of_the_caller_is_kept(model):
    data, target = X.copy(), t.copy() if is_regressor(model) else y.copy()
    model = clone(model).fit(data, target)
    kept = pickle.dumps(model)
    data[:], target[:] = 9.0, target[0]
    assert pickle.dumps(model) == kept
    np.testing.assert_array_equal(deepcopy(model).predict(new), pickle.loads(kept).predict(new))


def test_a_matrix_that_a_kernel_keeps_is_not_overwritten():
    @dataclass(frozen=True)
    class Stored(Kernel):
        def formula(self, X, Z):
            return K

    K = Gaussian(1.0)(X)
    before = K.copy()
    for kernel in (Stored(), Stored().after(lambda x: x)):
        for model in (KernelRidge(kernel), KernelSVM(kernel, offset="penalised")):
            model.fit(X, t if is_regressor(model) else y)
            np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("model", [KernelRidge(), KernelSVM(), NystromRidge(m=20)], ids=repr)
def test_kernel_values_beyond_a_float_are_named(model):
    model = clone(model).set_params(kernel=Polynomial(8))
    target = t if is_regressor(model) else y
    with pytest.raises(OverflowError, match=r"Polynomial\(degree=8, offset=1.0\) is too large for a float at X\[0\]"):
        clone(model).fit(1e60 * X, target)
    with pytest.raises(OverflowError, match=r"is too large for a float at X\[3\]: scale X down"):
        model.fit(X, target).predict(np.where(np.arange(20)[:, None] == 3, 1e60, new))


# ---------------------------------------------------------------- parameters of composite kernels


def test_parts_of_a_kernel_have_parameters_by_number():
    model = KernelRidge(0.5 * Gaussian(1.0) + Linear())
    params = model.get_params()
    assert params["kernel__0__c"] == 0.5 and params["kernel__0__kernel__sigma"] == 1.0
    assert (params["kernel__0"], params["kernel__1"]) == (0.5 * Gaussian(1.0), Linear())
    model.set_params(kernel__0__kernel__sigma=3.0, kernel__1=Polynomial(2), kernel__1__degree=4, ridge=2.0)
    assert repr(model) == "KernelRidge(kernel=0.5 * Gaussian(sigma=3.0) + Polynomial(degree=4, offset=1.0), ridge=2.0)"
    assert clone(model).get_params() == model.get_params() == deepcopy(model).get_params()
    nested = KernelRidge((Gaussian(1.0) * Matern(2.0) + 1).normalized())
    assert nested.set_params(kernel__kernel__0__1__nu=2.5).kernel.kernel.parts[0].parts[1] == Matern(2.0, nu=2.5)


@pytest.mark.parametrize("change", [{"kernel__0__c": -1.0}, {"kernel__7": Linear()}, {"kernel__1__sigma": 1.0}])
def test_a_change_of_parts_that_fails_changes_nothing(change):
    model = KernelRidge(0.5 * Gaussian(1.0) + Linear())
    before = repr(model)
    with pytest.raises(ValueError, match=r"rule 6\.13|Invalid parameter 'kernel__"):
        model.set_params(ridge=7.0, kernel__0__kernel__sigma=2.0, **change)
    assert repr(model) == before


def test_searches_take_parameters_of_parts():
    grid = {"kernel__0__c": [0.1, 1.0], "kernel__0__kernel__sigma": [0.5, 2.0], "ridge": [0.01, 1.0]}
    model = KernelRidge(0.5 * Gaussian(1.0) + Linear())
    folds = k_fold(50, 3, rng=0)
    ours, peer = grid_search(model, X, t, grid, folds), GridSearchCV(model, grid, cv=folds).fit(X, t)
    np.testing.assert_allclose(ours.scores, peer.cv_results_["mean_test_score"], rtol=1e-8)
    assert ours.best == peer.best_params_
    assert ours.estimator.kernel.parts[0].c == ours.best["kernel__0__c"]
    assert model.kernel == 0.5 * Gaussian(1.0) + Linear()


# ---------------------------------------------------------------- one meaning of offset


@pytest.mark.parametrize("labels", [y, three], ids=["two", "three"])
@pytest.mark.parametrize(
    "model", [KernelLogisticRegression(ridge=0.3), KernelPerceptron(max_epochs=9), KernelSVM(gap=1e-9)], ids=repr
)
def test_a_penalised_offset_is_the_kernel_plus_one(model, labels):
    by_word = clone(model).set_params(kernel=Gaussian(1.5), offset="penalised").fit(X, labels)
    by_hand = clone(model).set_params(kernel=Gaussian(1.5) + 1).fit(X, labels)
    np.testing.assert_allclose(by_word.decision_function(new), by_hand.decision_function(new), rtol=1e-9, atol=1e-9)
    assert not np.any(by_hand.b_)


@pytest.mark.parametrize("offset", ["none", "penalised"])
@pytest.mark.parametrize(
    ("primal", "dual", "labels"),
    [
        (Perceptron(max_epochs=5), KernelPerceptron(max_epochs=5), y),
        (LogisticRegression(ridge=0.5), KernelLogisticRegression(ridge=0.5), y),
        (SoftmaxRegression(ridge=0.5), KernelLogisticRegression(ridge=0.5), y == "yes"),
        (SoftmaxRegression(ridge=0.5), KernelLogisticRegression(ridge=0.5), three),
    ],
)
def test_a_word_means_the_same_in_the_primal_and_in_the_dual(primal, dual, labels, offset):
    primal = clone(primal).set_params(offset=offset).fit(X, labels)
    dual = clone(dual).set_params(offset=offset, kernel=Linear())
    if isinstance(primal, SoftmaxRegression) and len(primal.classes_) == 2:
        primal.set_params(ridge=2 * 0.5).fit(X, labels)  # the penalty is shared by two columns
    np.testing.assert_allclose(primal.decision_function(new), dual.fit(X, labels).decision_function(new), atol=1e-6)


@pytest.mark.parametrize(
    ("model", "old", "word"),
    [
        (Perceptron(max_epochs=9), True, "penalised"),
        (Perceptron(max_epochs=9), False, "none"),
        (LogisticRegression(), True, "penalised"),
        (LogisticRegression(), np.False_, "none"),
        (SoftmaxRegression(), True, "penalised"),
        (SoftmaxRegression(), False, "none"),
        (KernelSVM(), True, "free"),
        (KernelSVM(), False, "none"),
    ],
)
def test_true_and_false_are_still_taken_and_the_word_is_named(model, old, word):
    with pytest.warns(DeprecationWarning, match=f"offset={old} is now written offset='{word}'") as caught:
        before = clone(model).set_params(offset=old).fit(X, three).predict(new)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (clone(model).set_params(offset=word).fit(X, three).predict(new) == before).all()


@pytest.mark.parametrize("model", [Perceptron(), LogisticRegression(), SoftmaxRegression(), KernelPerceptron()])
def test_a_word_without_meaning_for_a_method_is_refused(model):
    with pytest.raises(ValueError, match="offset must be one of 'none', 'penalised', got 'free'"):
        clone(model).set_params(offset="free").fit(X, y)
    with pytest.raises(ValueError, match="offset must be one of 'none', 'penalised', 'free', got True"):
        KernelRidge(offset=True).fit(X, t)


def test_a_search_over_lams_knows_every_offset():
    folds, lams = k_fold(50, 3, rng=0), [1e-3, 0.1]
    for offset in ("none", "penalised", "free"):
        model = KernelSVM(Gaussian(1.5), offset=offset, gap=1e-9)
        found = grid_search(model, X, three, {"lam": lams}, folds).scores
        one_by_one = [
            np.mean([clone(model).set_params(lam=lam).fit(X[a], three[a]).score(X[b], three[b]) for a, b in folds])
            for lam in lams
        ]
        np.testing.assert_allclose(found, one_by_one)
