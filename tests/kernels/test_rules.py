"""The construction rules as users write them: printing, flattening, equality, refusals (lecture B14, K3, H2)."""

import dataclasses
import sys

import numpy as np
import pytest
from sklearn.metrics import pairwise

from kernelcourse import (
    Bilinear,
    Constant,
    Cosine,
    Gaussian,
    InvalidKernel,
    Kernel,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    is_psd,
)
from kernelcourse.kernels.rules import row_kronecker
from kernelcourse.seam import engine

X = np.random.default_rng(0).normal(size=(7, 3))
Z = np.random.default_rng(1).normal(size=(4, 3))


@pytest.mark.parametrize(
    ("ours", "peer"),
    [
        (Linear(), lambda A, B: pairwise.linear_kernel(A, B)),
        (Polynomial(3, offset=0.5), lambda A, B: pairwise.polynomial_kernel(A, B, degree=3, gamma=1, coef0=0.5)),
        (Gaussian.from_gamma(0.3), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3)),
        (Laplacian(length=2.0), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.5)),
        (Cosine(), lambda A, B: pairwise.cosine_similarity(A, B)),
    ],
)
def test_values_agree_with_scikit_learn(ours, peer):
    np.testing.assert_allclose(ours(X, Z), peer(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours(X), peer(X, X), rtol=1e-12, atol=1e-14)


def test_gaussian_process_kernels_agree_with_scikit_learn():
    from sklearn.gaussian_process import kernels as gp

    for nu in (0.5, 0.9, 1.5, 2.5, 7.3):
        np.testing.assert_allclose(Matern(1.3, nu=nu)(X, Z), gp.Matern(1.3, nu=nu)(X, Z), rtol=1e-10)
    np.testing.assert_allclose(
        RationalQuadratic(1.3, alpha=0.7)(X, Z), gp.RationalQuadratic(1.3, alpha=0.7)(X, Z), rtol=1e-12
    )
    line, other = X[:, :1], Z[:, :1]
    np.testing.assert_allclose(
        Periodic(period=1.7, length=0.6)(line, other), gp.ExpSineSquared(0.6, periodicity=1.7)(line, other), rtol=1e-12
    )


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 3.5, 10.5, 20.5, 49.5, 99.5])
def test_half_integers_have_a_closed_form(nu):
    near = Matern(1.3, nu=nu + 1e-9) if nu < 99 else Matern(1.3, nu=nu - 1e-9)  # by Bessel functions
    np.testing.assert_allclose(Matern(1.3, nu=nu)(X, Z), near(X, Z), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(Matern(1.3, nu=nu)([[0.0], [1e6]]), np.eye(2))
    line = np.linspace(0, 3, 60)[:, None]
    assert is_psd(Matern(0.5, nu=nu)(line))


@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_a_rough_matern_kernel_falls_at_once(nu):
    r = np.array([1e-12, 1e-10, 5e-9, 1e-7])  # k is 1 - c r ** (2 nu) near 0
    fallen = 1 - Matern(1.0, nu=nu)([[0.0]], r[:, None])[0]
    np.testing.assert_allclose(
        fallen / r ** (2 * nu), fallen[-1] / r[-1] ** (2 * nu), rtol=0.1, atol=1e-15 / r[0] ** (2 * nu)
    )


def test_without_scipy_a_matern_kernel_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with engine("off"):
        np.testing.assert_allclose(Matern(1.0, nu=0.5)(X), np.exp(-np.linalg.norm(X[:, None] - X, axis=2)))
        with pytest.raises(ImportError, match=r"nu=0.9\) needs scipy; without it nu must be 1/2, 3/2"):
            Matern(1.0, nu=0.9)(X)


def test_widths_of_the_three_lectures():
    k = Gaussian(sigma=0.8)
    r2 = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(k(X, Z), np.exp(-r2 / (2 * 0.8**2)))
    np.testing.assert_allclose(k(X, Z), np.exp(-r2 / k.h**2))
    np.testing.assert_allclose(k(X, Z), np.exp(-k.gamma * r2))
    np.testing.assert_allclose(Gaussian.from_h(k.h).sigma, k.sigma)
    np.testing.assert_allclose(Gaussian.from_gamma(k.gamma).sigma, k.sigma)


def test_expressions_print_as_mathematics():
    g, lin = Gaussian(1.0), Linear()
    assert repr(0.5 * g + lin) == "0.5 * Gaussian(sigma=1.0) + Linear()"
    assert repr((g + lin) * lin) == "(Gaussian(sigma=1.0) + Linear()) * Linear()"
    assert repr(g * lin * 2 * lin) == "2.0 * Gaussian(sigma=1.0) * Linear() * Linear()"
    assert repr((g * lin) ** 2) == "(Gaussian(sigma=1.0) * Linear()) ** 2"
    assert repr((lin**2) ** 3) == "(Linear() ** 2) ** 3"
    assert repr((lin + 1).exp()) == "(Linear() + Constant(c=1.0)).exp()"
    assert repr((2 * lin).exp()) == "(2.0 * Linear()).exp()"
    assert repr(lin / 4) == "0.25 * Linear()"
    assert repr(1 + lin) == "Constant(c=1.0) + Linear()"


def test_tiny_points_have_an_angle_and_near_ones_are_no_more_than_alike():
    np.testing.assert_allclose(Cosine()([[1e-200, 1e-200], [3.0, 0.0]]), [[1, 0.5**0.5], [0.5**0.5, 1]])
    r = np.logspace(-8, -3, 2000)[:, None]
    assert all(Matern(1.0, nu=nu)(r, [[0.0]]).max() <= 1 for nu in (0.3, 0.9, 1.7, 5.3, 19.9, 33.3))


def test_too_many_features_are_refused():
    one_row = np.ones((1, 4000))
    with pytest.raises(ValueError, match="16,000,000 features, too many"):
        row_kronecker(one_row, one_row)


def test_latex_puts_parentheses_where_needed():
    assert ((Linear() + 1) * Linear()).latex() == r"\left(x^{\top} x' + 1\right) \cdot x^{\top} x'"
    assert "{x}_{[0,2]}" in Gaussian(1.0).on([0, 2]).latex()
    assert r"\phi(x)" in Linear().after(np.tanh).latex()
    k = r"\left(x^{\top} x'\right)"
    assert Linear().polynomial([1, 1, 0, 2, 1]).latex() == rf"\left(1\, + {k} + 2\,{k}^{{3}} + {k}^{{4}}\right)"
    assert (1 * Linear()).latex() == Linear().latex() != (2 * Linear()).latex() == rf"2 \cdot {Linear().latex()}"


def test_sums_and_products_flatten_and_commute():
    a, b, c = Gaussian(1.0), Linear(), Polynomial(2)
    assert len((a + b + c).parts) == len((a + (b + c)).parts) == 3
    assert len((a * b * c).parts) == len((a * (b * c)).parts) == 3
    assert a + b + c == c + a + b and hash(a + b + c) == hash(c + a + b)
    assert a + b != a + b + b and a + b != a * b
    assert sum([a, b, c]) == a + b + c
    assert 2 * (3 * a) == 6 * a == a * 6
    assert (2 * a) * (3 * b) == 6 * (a * b)
    assert np.float64(2.0) * a == 2 * a
    assert a + 0 is a


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (lambda: -1 * Linear(), "6.13"),
        (lambda: -Linear(), "6.13"),
        (lambda: Linear() + -2.0, "6.13"),
        (lambda: Constant(-1.0), "6.13"),
        (lambda: Linear().polynomial([1.0, -2.0]), "6.15"),
        (lambda: Polynomial(2, offset=-1.0), "6.15"),
        (lambda: Bilinear([[1.0, 2.0], [2.0, 1.0]]), "6.20"),
        (lambda: Bilinear([[1.0, 2.0], [0.0, 1.0]]), "6.20"),
        (lambda: Gaussian(1.0) - Linear(), "a, b >= 0"),
        (lambda: 1 - Linear(), "a, b >= 0"),
    ],
)
def test_a_broken_rule_is_named(broken, rule):
    with pytest.raises(InvalidKernel, match=rule):
        broken()


@pytest.mark.parametrize(
    "broken",
    [
        lambda: Gaussian(0.0),
        lambda: Gaussian(-1.0),
        lambda: Gaussian(np.nan),
        lambda: Gaussian("wide"),
        lambda: Gaussian.from_h(0),
        lambda: Gaussian.from_gamma(-1),
        lambda: Polynomial(0),
        lambda: Polynomial(2.5),
        lambda: Matern(1.0, nu=0.0),
        lambda: Matern(1.0, nu=1000.0),
        lambda: Linear() ** 0.5,
        lambda: Linear() ** 0,
        lambda: Linear() / 0,
        lambda: Linear().polynomial([]),
        lambda: Linear().weighted(3),
        lambda: Linear().after("phi"),
        lambda: Linear().on([]),
        lambda: Linear().on(["a"]),
        lambda: Linear().on(5)(X),
        lambda: Linear() + "k",
        lambda: Linear() * [1],
        lambda: Bilinear([[1.0, 2.0]]),
        lambda: Bilinear(np.eye(2))(X),
        lambda: Linear().weighted(lambda X: [1.0, 2.0])(X),
        lambda: Linear().after(lambda x: np.nan)(X),
    ],
)
def test_bad_parameters_are_refused(broken):
    with pytest.raises((ValueError, TypeError)) as caught:
        broken()
    assert len(str(caught.value)) > 15


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[np.nan]], "NaN"),
        ([[np.inf]], "inf"),
        ([], "2-D"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((2, 0)), "0 feature"),
        ([1.0, 2.0], "Reshape your data"),
        ([["a"]], "numbers"),
        ([[1.0], [1.0, 2.0]], "rectangular"),
        ([[1j]], "Complex"),
    ],
)
@pytest.mark.parametrize("k", [Gaussian(1.0), Linear(), Polynomial(2), Gaussian(1.0) + Linear()], ids=repr)
def test_bad_points_are_named(k, points, words):
    with pytest.raises((ValueError, TypeError), match=words):
        k(points)
    with pytest.raises((ValueError, TypeError), match="Z"):
        k([[1.0]], points)
    with pytest.raises(TypeError, match="None"):
        k(None)


def test_different_numbers_of_columns_are_named():
    with pytest.raises(ValueError, match="3 and 2"):
        Gaussian(1.0)(X, Z[:, :2])


def test_sparse_input_is_refused_kindly():
    from scipy import sparse

    with pytest.raises(TypeError, match="toarray"):
        Linear()(sparse.csr_array(X))


@pytest.mark.parametrize(
    ("k", "points"),
    [
        (Polynomial(400), [[1e3]]),
        (Linear().exp(), [[100.0]]),
        (Linear() ** 200, [[1e2]]),
        (Linear().polynomial([1] * 300), [[1e2]]),
    ],
)
def test_overflow_is_an_error_not_an_inf(k, points):
    with pytest.raises(OverflowError, match="too large"):
        k(points)
    with pytest.raises(OverflowError, match="too large"):
        k([[0.0]], points)
    with pytest.raises(OverflowError, match="too large"):
        k.diag(points)


def test_integer_input_does_not_wrap_around():
    big = np.array([[2**40, 3]], dtype=np.int64)
    assert Linear()(big)[0, 0] == pytest.approx(float(2**80) + 9)
    np.testing.assert_allclose(Polynomial(5)(np.array([[7, 9]], dtype=np.int8)), 131.0**5)


def test_distances_survive_far_from_the_origin():
    far = 1e8 + np.array([[0.0], [1.0]])
    np.testing.assert_allclose(Gaussian(1.0)(far), Gaussian(1.0)(far - 1e8))
    np.testing.assert_allclose(Matern(1.0, nu=0.5)(far, far.copy()), Matern(1.0, nu=0.5)(far - 1e8))


def test_extreme_widths_stay_finite():
    X = np.array([[0.0], [1.0], [1.0]])
    np.testing.assert_array_equal(Gaussian(1e-200)(X), [[1, 0, 0], [0, 1, 1], [0, 1, 1]])
    np.testing.assert_allclose(Gaussian(1e200)(X), 1.0)
    np.testing.assert_array_equal(Gaussian(1.0)(1e200 * X), [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_weights_and_maps_of_one_point_or_of_all():
    one = Linear().weighted(lambda x: x[0] ** 2)
    every = Linear().weighted(lambda X: X[:, 0] ** 2)
    np.testing.assert_allclose(one(X, Z), every(X, Z))
    square = X[:3]  # as many points as columns: the two must not be mistaken for each other
    np.testing.assert_allclose(one(square), every(square))
    phi = lambda x: np.array([x[0], x[0] * x[1]])  # noqa: E731
    np.testing.assert_allclose(Linear().after(phi)(X[:2]), Linear()(np.array([phi(x) for x in X[:2]])))


def test_a_users_own_kernel_needs_only_a_formula():
    class Minimum(Kernel):
        def formula(self, X, Z):
            return np.minimum.outer(np.ravel(X), np.ravel(Z))

    k = Minimum()
    np.testing.assert_allclose(k([1.0, 3.0]), [[1, 1], [1, 3]])
    np.testing.assert_allclose(k.diag([1.0, 3.0]), [1, 3])
    np.testing.assert_allclose((2 * k + 1)([1.0, 3.0]), [[3, 3], [3, 7]])


@pytest.mark.parametrize(
    "k",
    [
        (2 * Gaussian()) * (0.5 * Linear()),
        dataclasses.replace(2 * Gaussian(), c=1.0),
        dataclasses.replace(2 * (Gaussian() * Linear()), c=1.0),
    ],
    ids=repr,
)
def test_a_factor_of_one_prints_as_what_it_is_equal_to(k):
    assert eval(repr(k)) == k == eval(repr(k)) and hash(eval(repr(k))) == hash(k)
    assert k != 2 * k and 2 * k != k


def test_a_matrix_that_a_formula_keeps_is_not_overwritten():
    kept = Gaussian(1.0)(X)

    class Stored(Kernel):
        def formula(self, X, Z):
            return kept if len(X) > 1 else np.ones((1, 1))

    for k in (Stored(), Stored().after(lambda X: X), Stored() ** 1):
        KernelRidge(k, ridge=0.1, offset="penalised").fit(list(X), X[:, 0])
        K = k(list(X))
        K += 1
    np.testing.assert_array_equal(kept, Gaussian(1.0)(X))


def test_a_norm_below_rounding_is_none():
    k, points = Bilinear([[1.0, 1 / 3], [1 / 3, 1 / 9]]), [[0.7, -2.1], [0.1, -0.3]]
    np.testing.assert_array_equal(k.normalized()(points), np.zeros((2, 2)))
    np.testing.assert_array_equal(k.normalized().diag(points), np.zeros(len(points)))
    with pytest.raises(OverflowError, match=r"too large for a float at X\[1\]"):
        k([[1.0, 2.0], [1e200, 1e200]])


@pytest.mark.parametrize(
    ("map_of_all", "rule"),
    [
        (lambda X: X - X.mean(axis=0), lambda f: Linear().after(f)),
        (lambda X: (X - X.mean(axis=0)) / X.std(axis=0), lambda f: Gaussian(1.0).after(f)),
        (lambda X: X[:, :2] - X[:, :2].mean(axis=0), lambda f: Linear().after(f)),
        (lambda X: X[:, 0] / np.abs(X[:, 0]).max(), lambda f: Linear().weighted(f)),
    ],
)
def test_a_function_of_all_points_together_is_refused(map_of_all, rule):
    with pytest.raises(ValueError, match="gives a point one value by itself and another among other points"):
        rule(map_of_all)(X)


def test_a_map_that_gives_one_number_is_named():
    with pytest.raises(ValueError, match="phi must give a row of numbers for each point of Z, but it gave one number"):
        Linear().after(lambda x: x[0] if len(x) == 2 else x[:1])(X, Z[:, :2])


def test_functions_that_work_in_place_leave_the_points_alone():
    def doubled(X):
        X *= 2
        return X

    def size(x):
        x **= 2
        return x.sum()

    points = X.copy()
    np.testing.assert_array_equal(Linear().after(doubled)(points), 4 * Linear()(X))
    np.testing.assert_allclose(Linear().weighted(size).diag(points), (X**2).sum(axis=1) ** 3)
    np.testing.assert_array_equal(points, X)


def test_a_factor_beyond_floats_is_named():
    for scaled in (lambda: 10**400 * Gaussian(), lambda: Gaussian() * 10**400):
        with pytest.raises(ValueError, match="c must be a finite number, got one too large for a float"):
            scaled()


def test_sums_with_functions_that_have_no_hash_can_be_compared():
    f = np.poly1d([1.0, 0.0])
    assert Linear().weighted(f) + Gaussian() == Gaussian() + Linear().weighted(np.poly1d([1.0, 0.0]))
    assert Linear().weighted(f) + Gaussian() != Linear().weighted(f) + Linear()
    assert Linear() + Linear() + Gaussian() != Linear() + Gaussian() + Gaussian()
