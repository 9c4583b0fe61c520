"""Check and prepare once, then compute: how often a function, a parser and the checks are called."""

import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import kernelcourse
from kernelcourse import (
    BagOfWords,
    Constant,
    Gaussian,
    Kernel,
    KernelRidge,
    Laplacian,
    Linear,
    Polynomial,
    Spectrum,
)
from kernelcourse.kernels import CountKernel, DotProduct, Radial, VectorKernel, rules
from kernelcourse.kernels import kernel as interface
from kernelcourse.kernels.pointwise import apply
from kernelcourse.kernels.vectors import squared_distances
from kernelcourse.seam import engine

X = np.random.default_rng(0).normal(size=(40, 3))
Z = np.random.default_rng(1).normal(size=(9, 3))


class Counting:
    """A function that records how many rows it was called with."""

    def __init__(self, function):
        self.function, self.rows = function, []

    def __call__(self, x):
        self.rows.append(len(x) if np.ndim(x) == 2 else 1)
        return self.function(x)


EXPRESSIONS = [
    lambda phi: Linear().after(phi),
    lambda phi: Linear().after(phi) + Gaussian(1.0),
    lambda phi: (Linear().after(phi) * Linear().after(phi) + 2 * Gaussian(1.0).after(phi)).normalized(),
    lambda phi: (1e-3 * (Linear().after(phi) + 1) ** 2).exp().normalized() + Polynomial(2),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_map_of_all_rows_makes_one_pass_over_the_points(expression):
    phi = Counting(lambda A: np.column_stack([A, A**2]))
    k = expression(phi)
    for call, sets in (
        (lambda: k(X), [40]),
        (lambda: k(X, Z), [40, 9]),
        (lambda: k.diag(X), [40]),
        (lambda: k.times(X, Z, np.ones(9), entries=9), [40, 9]),
    ):
        phi.rows.clear()
        call()
        assert [n for n in phi.rows if n > 4] == sets
        assert len(phi.rows) <= 8 * len(sets)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_map_of_one_point_is_called_once_for_each(expression):
    phi = Counting(lambda x: np.array([x[0], x[1] * x[2]]) if x.ndim == 1 else 1 / 0)
    expression(phi)(X, Z)
    assert len(phi.rows) <= len(X) + len(Z) + 2 * 7


def test_weights_make_one_pass_too():
    f = Counting(lambda A: A[:, 0])
    ((Gaussian(1.0).weighted(f) + 1) * Linear())(X)
    assert [n for n in f.rows if n > 4] == [40]


def test_a_map_that_mixes_points_is_seen_where_many_rows_are_alike():
    alike = np.vstack([np.tile([1.0, 2.0], (20, 1)), [[5.0, 6.0], [7.0, 9.0]], np.tile([1.0, 2.0], (20, 1))])
    for mixing in (lambda A: A - A.mean(axis=0), lambda A: A if len(A) < 10 else 2 * A):
        with pytest.raises(ValueError, match="among other points"):
            apply(mixing, alike, "phi")
    np.testing.assert_array_equal(apply(lambda x: x[::-1], np.ones((5, 2)) * [1, 2], "phi"), np.ones((5, 2)) * [2, 1])


@pytest.fixture
def parsed(monkeypatch):
    """The arguments of all calls of `CountKernel.parse`."""
    calls, plain = [], CountKernel.parse
    monkeypatch.setattr(CountKernel, "parse", lambda self, obj: calls.append(obj) or plain(self, obj))
    return calls


def test_a_string_is_parsed_once_whatever_the_depth(parsed):
    A, S, T = Spectrum(2), ["abab", "baba", "aabb"], ["bb"]
    k = (A + 2 * A).normalized() * A + (A**2).exp()
    for call, sets in ((lambda: k(S), S), (lambda: k(S, T), S + T), (lambda: k.diag(S), S)):
        parsed.clear()
        call()
        assert parsed == sets
    parsed.clear()
    (Spectrum(2) + Spectrum(2)).times(S * 10, S, np.ones(3), entries=1)  # equal kernels, in thirty blocks of one row
    assert parsed == S * 10 + S
    parsed.clear()
    (BagOfWords() + Spectrum(2))(S)  # two kernels, which count different parts
    assert len(parsed) == 6


@pytest.mark.parametrize(
    "k",
    [
        Gaussian(1.0),
        0.5 * Gaussian(1.0) + Linear(),
        ((Gaussian(1.0) + Linear()) * Polynomial(2) + 1).normalized() ** 2,
        Gaussian(1.0).on([0, 2]) + Linear().on([1]) * Laplacian(1.0).on(slice(0, 2)),
        Linear().exp().weighted(lambda A: A[:, 0]),
    ],
    ids=repr,
)
def test_an_array_is_checked_once(k, monkeypatch):
    checked = []
    for module in (interface, rules):
        plain = module.points
        monkeypatch.setattr(module, "points", lambda A, name="X", plain=plain: checked.append(name) or plain(A, name))
    k(X)
    assert checked == ["X"]
    k(X, Z)
    assert checked == ["X", "X", "Z"]


@pytest.mark.parametrize(
    "k",
    [
        Gaussian(1.0) + Linear(),
        (Linear().after(np.tanh) + 1).normalized(),
        Gaussian(1.0).weighted(lambda A: A[:, 0]) * Constant(2.0),
    ],
    ids=repr,
)
def test_rows_are_taken_from_prepared_points(k):
    P, K = k.prepare(X), k(X)
    assert len(P) == 40
    for rows in (slice(3, 11), np.array([5, 2, 2])):
        np.testing.assert_allclose(k.formula(P[rows], P), K[rows], rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(k.diagonal(P[rows]), np.diag(K)[rows], rtol=1e-12, atol=1e-12)
    words = ["abab", "b", "ba"]
    k = (Spectrum(1) + 1).normalized()
    P = k.prepare(words)
    np.testing.assert_array_equal(k.formula(P[np.array([2, 0])], P[1:]), k([words[2], words[0]], words[1:]))


# ---------------------------------------------------------------- kernels that users write


class Quadratic(VectorKernel):
    """Two lines, and a count of the calls."""

    calls = 0

    def formula(self, X, Z):
        type(self).calls += 1
        return (X @ Z.T + 1) ** 2


@pytest.fixture
def quadratic():
    Quadratic.calls = 0
    return Quadratic()


def test_a_formula_runs_once_for_one_matrix(quadratic):
    np.testing.assert_allclose(quadratic(X.tolist()), Polynomial(2)(X))
    assert Quadratic.calls == 1
    quadratic(X.tolist(), Z)
    (2 * quadratic + Linear())(X)
    assert Quadratic.calls == 3
    np.testing.assert_allclose(quadratic.diag(X), Polynomial(2).diag(X))
    assert Quadratic.calls == 5  # of 32 points and of 8
    Quadratic.calls = 0
    KernelRidge(quadratic, ridge=0.1).fit(X, X[:, 0]).predict(Z)
    assert Quadratic.calls <= 2


@pytest.mark.parametrize("wrap", [lambda k: k, lambda k: 2 * k, lambda k: (k + 1) * k])
def test_what_is_not_finite_is_refused_without_a_diagonal(quadratic, wrap):
    with pytest.raises(OverflowError, match="not finite"):
        wrap(quadratic)([[1e160]])
    with pytest.raises(OverflowError, match="not finite"):
        wrap(quadratic).times([[0.0], [1.0]], [[1e160]], [1.0])
    with pytest.raises(ValueError, match="3 and 2"):
        wrap(quadratic)(X, Z[:, :2])


def test_a_kernel_in_two_lines_of_each_kind():
    class Triangle(Radial):
        def profile(self, r):
            return np.maximum(0, 1 - r)

    class Cubic(DotProduct):
        def profile(self, s):
            return s**3

    class Letters(CountKernel):
        def counts(self, obj):
            return {letter: obj.count(letter) for letter in obj}

    line = [[0.0], [0.5], [2.0]]
    np.testing.assert_array_equal(Triangle()(line), [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    assert Triangle().is_radial and Triangle().is_stationary
    np.testing.assert_allclose(Cubic()(X, Z), (Linear() ** 3)(X, Z))
    np.testing.assert_array_equal(Letters()(("banana", "ban")), [[14, 6], [6, 3]])


def test_a_users_profile_is_called_once_in_the_callers_thread(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    called = []

    class Bump(Radial):
        def profile(self, r):
            called.append((threading.current_thread(), r.shape))
            return 1 / (1 + r**2)

    many = np.random.default_rng(0).normal(size=(700, 3))
    np.testing.assert_allclose(Bump()(many), 1 / (1 + squared_distances(many, many)), rtol=1e-12)
    assert called == [(threading.main_thread(), (700, 700))]


def test_a_formula_may_give_whole_numbers_and_keep_them():
    kept = np.ones((3, 3), dtype=int)

    class Stored(Kernel):
        def formula(self, X, Z):
            return kept

    for k in (Stored(), Stored().after(lambda x: x), Stored() + 1):
        P = k.prepare(["a", "b", "c"])
        K = k.formula(P, P)
        assert K.dtype == float
        K += 5
    assert (kept == 1).all()


# ---------------------------------------------------------------- parameters


def test_parameters_are_named_by_the_way_to_them():
    k = 0.5 * Gaussian(2.0) + Linear()
    assert list(k.parameters()) == ["0", "0__c", "0__kernel", "0__kernel__sigma", "1"]
    assert k.parameters()["0__kernel__sigma"] == 2.0
    assert Gaussian(3.0).parameters() == {"sigma": 3.0} and Linear().parameters() == {}
    assert Quadratic().parameters() == {}
    assert not hasattr(k, "get_params")  # scikit-learn would mistake the kernel for an estimator


@pytest.mark.parametrize(
    ("k", "changes", "expected"),
    [
        (Gaussian(1.0), {"sigma": 2.0}, Gaussian(2.0)),
        (0.5 * Gaussian(2.0) + Linear(), {"0__c": 3.0, "0__kernel__sigma": 1.0}, 3.0 * Gaussian(1.0) + Linear()),
        (Linear() + Gaussian(1.0), {"0": Gaussian(5.0), "0__sigma": 7.0}, Gaussian(7.0) + Gaussian(1.0)),
        (Linear() * Polynomial(2), {"1__degree": 3, "1__offset": 0.0}, Linear() * Polynomial(3, offset=0.0)),
        (Gaussian(1.0).on([0]).normalized(), {"kernel__kernel__sigma": 2.0}, Gaussian(2.0).on([0]).normalized()),
        (Linear(), {}, Linear()),
    ],
)
def test_a_kernel_with_other_parameters_is_a_new_kernel(k, changes, expected):
    before = repr(k)
    assert k.with_parameters(**changes) == expected
    assert k.with_parameters(**k.parameters()) == k
    assert repr(k) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"2": Linear()}, "no parameter '2'; it has 0, 0__c"),
        ({"0__sigma": 1.0}, "no parameter 'sigma'; it has c, kernel"),
        ({"0__c__x": 1.0}, "c of .* is 0.5, which has no parameter 'x'"),
        ({"0__c": 2.0, "0__kernel__sigma": -1.0}, "sigma must be"),
        ({"1": 3}, "must be a Kernel"),
    ],
)
def test_parameters_that_do_not_exist_are_named(changes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        (0.5 * Gaussian(2.0) + Linear()).with_parameters(**changes)


@dataclass(frozen=True)
class Shifted(VectorKernel):
    """A user's kernel with a parameter."""

    shift: float = 1.0

    def formula(self, X, Z):
        return (X - self.shift) @ (Z - self.shift).T


def test_a_users_fields_are_parameters():
    k = Shifted(2.0) + Linear()
    assert k.with_parameters(**{"0__shift": 0.0})(X) == pytest.approx(2 * Linear()(X))


@pytest.mark.parametrize("state", ["off", "on", "always"])
def test_a_formula_of_its_own_is_never_replaced(state):
    class Narrow(Gaussian):
        def formula(self, X, Z):
            return super().formula(X, Z) ** 4

    with engine(state):
        np.testing.assert_allclose(Narrow(1.0)(X), Gaussian(0.5)(X), rtol=1e-12)
        np.testing.assert_allclose(Narrow(1.0).times(X, Z, Z[:, 0]), Gaussian(0.5)(X, Z) @ Z[:, 0], rtol=1e-12)


# ---------------------------------------------------------------- names that have changed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (lambda: kernelcourse.centre(np.eye(2)), lambda: kernelcourse.center(np.eye(2)), "centre is now called center"),
        (
            lambda: kernelcourse.normalise(2 * np.eye(2)),
            lambda: kernelcourse.normalize(2 * np.eye(2)),
            "normalise is now called normalize",
        ),
    ],
)
def test_an_old_name_works_and_says_the_new_one(old, new, message):
    with pytest.warns(DeprecationWarning, match=message) as seen:
        found = old()
    assert np.array_equal(found, new())
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new()


def test_lecture_k_calls_the_length_h():
    assert Laplacian.from_h(2.0) == Laplacian(2.0) and Laplacian(2.0).h == 2.0
