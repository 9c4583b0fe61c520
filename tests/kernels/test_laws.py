"""The laws that every kernel obeys, in one suite: symmetry, PSD, diagonal, features, printing, immutability."""

import dataclasses
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcourse import *  # noqa: F403 - eval(repr(k)) needs every name of the contract
from kernelcourse import (
    BagOfWords,
    Bilinear,
    Constant,
    Cosine,
    Gaussian,
    Hamming,
    Laplacian,
    Linear,
    Matern,
    NoFiniteFeatureMap,
    Periodic,
    Polynomial,
    Positions,
    RationalQuadratic,
    ShortestPath,
    Spectrum,
    Subsequence,
    Subset,
    TfIdf,
    WeisfeilerLehman,
    is_psd,
)

D = 3

FINITE = [  # kernels on vectors with a finite feature map
    Constant(2.0),
    Linear(),
    Bilinear([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]),
    Polynomial(1),
    Polynomial(3),
    Polynomial(2, offset=0.0),
    Polynomial(2, offset=0.3),
    Cosine(),
    Linear() + Constant(1.0),
    Linear() * Polynomial(2),
    0.5 * Linear(),
    0.0 * Linear(),
    Linear() ** 3,
    (Linear() + 1) ** 2,
    Linear().polynomial([0.0, 1.0, 0.5]),
    Polynomial(2).normalized(),
    (2 * Linear() + 3).normalized() * Linear(),
    Linear().on(0) + Polynomial(2).on([1, 2]),
    Linear().on(slice(0, 2)) * Linear().on(2),
]
INFINITE = [
    Gaussian(0.7),
    Gaussian.from_h(2.0),
    Gaussian.from_gamma(0.3),
    Laplacian(1.5),
    Matern(0.8, nu=0.5),
    RationalQuadratic(1.2, alpha=0.5),
    Matern(1.0, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern(1.0, nu=2.5),
    Matern(2.0, nu=0.9),
    Periodic(period=2.0, length=0.8),
    (0.1 * Linear()).exp(),
    0.5 * Gaussian(1.0) + Linear(),
    Gaussian(1.0) * Linear() * Linear(),
    3 * (Gaussian(1.0) + Linear()) * Laplacian(1.0),
    Gaussian(1.0) ** 2,
    (Gaussian(1.0) * Linear() + 1).normalized(),
    Gaussian(1.0).on([0, 2]) + Linear().on([1]),
    Gaussian(1.0).exp().polynomial([1.0, 0.0, 2.0]),
]
VECTORS = FINITE + INFINITE
WITH_FUNCTIONS = [
    Linear().weighted(lambda x: np.exp(-x @ x / 8)),
    Gaussian(1.0).weighted(lambda X: X[:, 0]),
    Linear().after(lambda x: np.array([x[0] * x[1], x[2]])),
    Polynomial(2).after(np.tanh),
]
SETS = [{1, 2}, {2, 3, 4}, set(), {1, 2, 3, 4}, {4}]
WORDS = ["abab", "babb", "aaab", "bbbb", "abba"]
TEXTS = ["the cat sat", "the cat and the dog", "a dog barks", "", "cat cat cat"]
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
GRAPHS = [
    (PATH, ["C", "O", "C"]),
    (1 - np.eye(3), ["C", "C", "O"]),
    (np.zeros((2, 2)), ["C", "O"]),
    (PATH, ["C", "C", "C"]),
]
OBJECTS = [
    (Subset(), SETS),
    (Subset(universe=[1, 2, 3, 4]), SETS),
    (Spectrum(2), WORDS),
    (Spectrum(2, alphabet="ab"), WORDS),
    (Subsequence(2, decay=0.5), WORDS),
    (Hamming(0.5), WORDS),
    (Positions(), WORDS),
    (BagOfWords(), TEXTS),
    (BagOfWords(vocabulary=["cat", "dog", "the"]), TEXTS),
    (TfIdf.fit(TEXTS), TEXTS),
    (WeisfeilerLehman(2), GRAPHS),
    (ShortestPath(), GRAPHS),
    (0.5 * Spectrum(2) + Hamming(0.5) * Spectrum(1), WORDS),
    (Spectrum(2).normalized() + 1, WORDS),
    (Gaussian(1.0).after(lambda word: np.array([word.count("a"), word.count("b")])), WORDS),
]


def name(case):
    return repr(case[0] if isinstance(case, tuple) else case)[:70]


def points(fewest, most):
    point = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=D, max_size=D)
    return st.lists(point, min_size=fewest, max_size=most).map(np.array)


@cache
def pairs():
    """Pairs of point sets chosen by hypothesis: once for all kernels, since drawing takes longer than checking laws."""
    drawn = []

    @given(X=points(1, 6), Z=points(1, 6))
    def draw(X, Z):
        drawn.append((X, Z))

    draw()
    return drawn


def assert_laws(k, X, Z):
    K = k(X)
    assert K.shape == (len(X), len(X))
    assert np.array_equal(K, K.T), "the Gram matrix is exactly symmetric"
    assert is_psd(K, tol=1e-9)
    np.testing.assert_allclose(k.diag(X), np.diag(K), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(k(X, Z), k(Z, X).T, rtol=1e-9, atol=1e-12)
    joint = k(list(X) + list(Z))
    scale = np.abs(joint).max() + 1
    np.testing.assert_allclose(joint[: len(X), len(X) :], k(X, Z), rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("k", VECTORS + WITH_FUNCTIONS, ids=name)
def test_a_kernel_on_vectors_is_symmetric_psd_and_consistent(k):
    for X, Z in pairs():
        assert_laws(k, X, Z)
        assert_laws(k, np.vstack([X, X]), X)  # repeated points


@pytest.mark.parametrize("case", OBJECTS, ids=name)
def test_a_kernel_on_objects_is_symmetric_psd_and_consistent(case):
    k, objects = case
    assert_laws(k, objects, objects[:2])
    assert_laws(k, objects[:1], objects + objects)


@pytest.mark.parametrize("k", FINITE + [k for k in WITH_FUNCTIONS if "Gaussian" not in repr(k)], ids=name)
def test_features_give_the_kernel(k):
    for X, Z in pairs():
        Phi, Psi = k.features(X), k.features(Z)
        np.testing.assert_allclose(Phi @ Psi.T, k(X, Z), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(Phi @ Phi.T, k(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [k for k in INFINITE], ids=name)
def test_infinite_features_are_refused_with_a_reason(k):
    with pytest.raises(NoFiniteFeatureMap, match="feature"):
        k.features(np.ones((2, D)))


@pytest.mark.parametrize("k", VECTORS + [k for k, _ in OBJECTS if "after" not in repr(k)], ids=name)
def test_the_printed_form_is_the_kernel(k):
    assert eval(repr(k)) == k
    assert hash(eval(repr(k))) == hash(k)
    assert k._repr_latex_().startswith("$") and k._repr_latex_().endswith("$")
    assert k._repr_latex_().count("{") == k._repr_latex_().count("}")


@pytest.mark.parametrize("k", VECTORS + [k for k, _ in OBJECTS if "after" not in repr(k)], ids=name)
def test_kernels_are_immutable_and_picklable(k):
    for field in dataclasses.fields(k):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(k, field.name, 1)
    assert pickle.loads(pickle.dumps(k)) == k


@given(X=points(2, 2), Z=points(2, 2), shift=points(1, 1), turn=points(D, D))
def test_stationary_and_radial_mean_what_they_say(X, Z, shift, turn):
    Q, _ = np.linalg.qr(turn + 4 * np.eye(D))
    for k in VECTORS:
        if k.is_stationary:
            np.testing.assert_allclose(k(X + shift, Z + shift), k(X, Z), rtol=1e-6, atol=1e-9, err_msg=repr(k))
        if k.is_radial:
            np.testing.assert_allclose(k(X @ Q, Z @ Q), k(X, Z), rtol=1e-6, atol=1e-9, err_msg=repr(k))


@pytest.mark.parametrize("k", [*VECTORS, Gaussian().weighted(np.sin)], ids=name)
def test_what_a_kernel_depends_on_is_said_by_yes_or_no(k):
    assert isinstance(k.is_stationary, bool) and isinstance(k.is_radial, bool)
    assert k.is_stationary or not k.is_radial  # the distance is a function of the difference


@pytest.mark.parametrize("k", [k for k in VECTORS if not k.is_stationary], ids=name)
def test_a_kernel_not_called_stationary_is_not(k):
    if k == 0.0 * Linear():
        return  # zero: stationary by accident
    X = np.array([[0.5, 1.0, -0.7], [1.5, -1.0, 0.3], [0.2, 0.1, 2.0]])
    shift = np.array([[1.0, 2.0, 3.0]])
    assert not np.allclose(k(X), k(X + shift), rtol=1e-6)


def test_the_classes_are_shallow():
    for k in [*VECTORS, *WITH_FUNCTIONS, *(k for k, _ in OBJECTS)]:
        assert len(type(k).__mro__) <= 5 + 1, type(k)  # and object


@pytest.mark.parametrize("k", [Laplacian(1.0), Periodic(2.0), Gaussian(1.0).on([0, 2])], ids=name)
def test_stationary_but_not_radial(k):
    X = np.array([[0.5, 1.0, -0.7], [1.5, -1.0, 0.3]])
    Q, _ = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))
    assert k.is_stationary and not k.is_radial
    assert not np.allclose(k(X), k(X @ Q), rtol=1e-6)
