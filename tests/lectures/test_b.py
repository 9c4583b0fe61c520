"""Lecture B, row by row: the dual representation and the construction of kernels."""

import math
import tracemalloc
from collections import Counter
from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcourse import (
    BagOfWords,
    Bilinear,
    Constant,
    Cosine,
    Gaussian,
    Intersection,
    InvalidKernel,
    KernelNeighbors,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Ridge,
    ShortestPath,
    Spectrum,
    Subsequence,
    Subset,
    TfIdf,
    WeisfeilerLehman,
    dual_from_primal,
    dual_gradient,
    dual_objective,
    dual_weights,
    gaussian_basis,
    identity_basis,
    is_psd,
    is_valid_kernel,
    monomials,
    polynomial_basis,
    predict,
    primal_from_dual,
    primal_gradient,
    primal_objective,
    primal_weights,
    sigmoid_basis,
    small_graphs,
)

seeds = st.integers(0, 10_000)
ridges = st.floats(1e-2, 1e2)


def problem(seed, *, n=None, M=None):
    """A design matrix and targets, with more points than features or vice versa."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 9))
    M = M or int(rng.integers(1, 9))
    return rng.normal(size=(n, M)), 2 * rng.normal(size=n)


def cloud(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def matrix(function, X, Z):
    """All values of a function of two points."""
    return np.array([[function(x, z) for z in Z] for x in X])


# B1: parametric against memory-based prediction


def fitted_numbers(model):
    """How many numbers a fitted model keeps from training for prediction."""
    return sum(np.size(value) for name, value in vars(model).items() if name.endswith("_"))


def test_B1_parametric_prediction_needs_only_w():
    X, t = problem(0, n=20, M=3)
    Z = cloud(1, 5, 3)
    model = Ridge(ridge=0.5).fit(X, t)
    w, expected = model.w_.copy(), model.predict(Z)
    X[:], t[:] = 0, 0  # the training data are gone
    np.testing.assert_array_equal(model.predict(Z), expected)
    np.testing.assert_allclose([sum(w_j * z_j for w_j, z_j in zip(w, z, strict=True)) for z in Z], expected)


@pytest.mark.parametrize(
    ("model", "memory"),
    [
        (KernelRidge(Gaussian(1.0)), lambda model: model.f_.points),
        (KernelNeighbors(kappa=1), lambda model: model.points_),
    ],
)
def test_B1_memory_based_prediction_needs_the_training_points(model, memory):
    X = cloud(2, 12, 2)
    y = np.arange(12) % 2
    model.fit(X, y)
    np.testing.assert_array_equal(memory(model), X)
    before = model.predict(X)
    memory(model)[:] = memory(model)[::-1] + 1.0
    assert (model.predict(X) != before).any()


def test_B1_memory_grows_with_the_data_only_where_the_data_are_the_memory():
    def carried(model, n):
        return fitted_numbers(model.fit(cloud(3, n, 2), np.arange(n) % 2))

    assert carried(Ridge(), 10) == carried(Ridge(), 100)
    for model in (KernelRidge(), KernelNeighbors()):
        assert carried(model, 100) >= carried(model, 10) + 90 * 2  # at least the two coordinates of each point


# B2: a kernel is an inner product of features, eq. (1)

WITH_FEATURES = [
    Linear(),
    Polynomial(3),
    Polynomial(2, offset=0.0),
    Cosine(),
    Constant(2.0),
    Bilinear([[2.0, 1.0], [1.0, 3.0]]),
    Polynomial(2) + 0.5 * Linear(),
    Linear() * Polynomial(2),
]


@pytest.mark.parametrize("k", WITH_FEATURES, ids=repr)
def test_B2_kernel_is_the_inner_product_of_features(k):
    X, Z = cloud(4, 6, 2), cloud(5, 4, 2)
    expected = matrix(lambda u, v: sum(a * b for a, b in zip(u, v, strict=True)), k.features(X), k.features(Z))
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("k", [*WITH_FEATURES, Gaussian(0.7), Laplacian(1.3), Matern(1.0)], ids=repr)
def test_B2_kernel_is_symmetric(k):
    X, Z = cloud(6, 6, 2), cloud(7, 4, 2)
    np.testing.assert_allclose(k(X, Z), k(Z, X).T, rtol=1e-12)
    np.testing.assert_array_equal(k(X), k(X).T)


# B3: the regularised sum of squares, eq. (2) to (5)


@given(seeds, ridges)
def test_B3_objective_is_both_lines_of_equation_2(seed, lam):
    Phi, t = problem(seed)
    w = cloud(seed + 1, 1, Phi.shape[1])[0]
    by_sums = 0.5 * sum((w @ phi_n - t_n) ** 2 for phi_n, t_n in zip(Phi, t, strict=True)) + lam / 2 * (w @ w)
    expanded = 0.5 * w @ (lam * np.eye(len(w)) + Phi.T @ Phi) @ w - w @ Phi.T @ t + 0.5 * t @ t
    J = primal_objective(w, Phi, t, ridge=lam)
    np.testing.assert_allclose(J, by_sums, rtol=1e-10)
    np.testing.assert_allclose(J, expanded, rtol=1e-8)


@given(seeds, ridges)
def test_B3_gradient_is_the_difference_quotient(seed, lam):
    Phi, t = problem(seed)
    M = Phi.shape[1]
    w = cloud(seed + 1, 1, M)[0]
    # J is quadratic, so the central difference is exact for any step.
    quotient = [
        (primal_objective(w + e, Phi, t, ridge=lam) - primal_objective(w - e, Phi, t, ridge=lam)) / 2 for e in np.eye(M)
    ]
    np.testing.assert_allclose(primal_gradient(w, Phi, t, ridge=lam), quotient, rtol=1e-8, atol=1e-8)


@given(seeds, ridges)
def test_B3_primal_solution_is_equation_5_and_no_other_w_is_better(seed, lam):
    Phi, t = problem(seed)
    M = Phi.shape[1]
    w = primal_weights(Phi, t, ridge=lam)
    np.testing.assert_allclose(w, np.linalg.inv(lam * np.eye(M) + Phi.T @ Phi) @ Phi.T @ t, rtol=1e-7, atol=1e-9)
    best = primal_objective(w, Phi, t, ridge=lam)
    for step in cloud(seed + 2, 5, M):
        # Around the minimum, J grows by half of step' (lam I + Phi'Phi) step, exactly.
        growth = 0.5 * (lam * step @ step + (Phi @ step) @ (Phi @ step))
        np.testing.assert_allclose(primal_objective(w + step, Phi, t, ridge=lam), best + growth, rtol=1e-9)


# B4: w = Phi'a and a_n = -(1/lam) (w'phi(x_n) - t_n), eq. (6) and (7)


@given(seeds, ridges)
def test_B4_w_is_a_sum_of_features_weighted_by_residuals(seed, lam):
    Phi, t = problem(seed)
    w = primal_weights(Phi, t, ridge=lam)
    a = [-(w @ phi_n - t_n) / lam for phi_n, t_n in zip(Phi, t, strict=True)]
    np.testing.assert_allclose(dual_from_primal(w, Phi, t, ridge=lam), a, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sum(a_n * phi_n for a_n, phi_n in zip(a, Phi, strict=True)), w, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(primal_from_dual(a, Phi), w, rtol=1e-6, atol=1e-8)


@given(seeds, ridges)
def test_B4_elsewhere_the_two_equations_disagree_by_the_gradient(seed, lam):
    Phi, t = problem(seed)
    w = cloud(seed + 1, 1, Phi.shape[1])[0]
    a = dual_from_primal(w, Phi, t, ridge=lam)
    gradient = (lam * np.eye(len(w)) + Phi.T @ Phi) @ w - Phi.T @ t
    np.testing.assert_allclose(lam * (w - primal_from_dual(a, Phi)), gradient, rtol=1e-8, atol=1e-8)


# B5: the dual objective, eq. (8)


@given(seeds, ridges)
def test_B5_dual_objective_equals_primal_objective_at_w_from_a(seed, lam):
    Phi, t = problem(seed)
    a = cloud(seed + 1, 1, len(t))[0]
    w = sum(a_n * phi_n for a_n, phi_n in zip(a, Phi, strict=True))
    J_w = 0.5 * sum((w @ phi_n - t_n) ** 2 for phi_n, t_n in zip(Phi, t, strict=True)) + lam / 2 * (w @ w)
    np.testing.assert_allclose(dual_objective(a, Phi @ Phi.T, t, ridge=lam), J_w, rtol=1e-9)


@given(seeds, ridges)
def test_B5_dual_objective_is_the_four_terms_of_equation_8(seed, lam):
    Phi, t = problem(seed)
    K, a = Phi @ Phi.T, cloud(seed + 1, 1, len(t))[0]
    four_terms = 0.5 * a @ K @ K @ a - a @ K @ t + 0.5 * t @ t + lam / 2 * a @ K @ a
    np.testing.assert_allclose(dual_objective(a, K, t, ridge=lam), four_terms, rtol=1e-8)


@given(seeds, ridges)
def test_B5_dual_gradient_is_the_difference_quotient(seed, lam):
    Phi, t = problem(seed)
    K, a = Phi @ Phi.T, cloud(seed + 1, 1, len(t))[0]
    quotient = [
        (dual_objective(a + e, K, t, ridge=lam) - dual_objective(a - e, K, t, ridge=lam)) / 2 for e in np.eye(len(t))
    ]
    np.testing.assert_allclose(dual_gradient(a, K, t, ridge=lam), quotient, rtol=1e-8, atol=1e-7)


# B6: Gram matrix (9), dual solution (10), prediction (11)


def test_B6_gram_matrix_holds_all_inner_products():
    X = cloud(8, 7, 2)
    phi = np.array([[x**2, math.sqrt(2) * x * y, y**2] for x, y in X])
    K = Polynomial(2, offset=0.0)(X)
    for n in range(7):
        for m in range(7):
            assert K[n, m] == pytest.approx(sum(phi[n] * phi[m]), rel=1e-12)


@given(seeds, ridges)
def test_B6_dual_solution_is_equation_10(seed, lam):
    X, t = problem(seed, M=2)
    K = matrix(lambda x, z: math.exp(-sum((x - z) ** 2) / 2), X, X)
    expected = np.linalg.inv(K + lam * np.eye(len(t))) @ t
    np.testing.assert_allclose(dual_weights(Gaussian(1.0)(X), t, ridge=lam), expected, rtol=1e-7, atol=1e-9)


@given(seeds, ridges)
def test_B6_prediction_is_every_line_of_equation_11(seed, lam):
    X, t = problem(seed, M=2)
    k, z = Polynomial(2), cloud(seed + 1, 1, 2)
    Phi, phi_z = k.features(X), k.features(z)[0]
    a = dual_weights(k(X), t, ridge=lam)
    w = primal_weights(Phi, t, ridge=lam)
    k_z = [(x @ z[0] + 1) ** 2 for x in X]
    lines = [
        w @ phi_z,
        a @ Phi @ phi_z,
        phi_z @ Phi.T @ a,
        k_z @ np.linalg.inv(Phi @ Phi.T + lam * np.eye(len(t))) @ t,
        sum(a_n * k_n for a_n, k_n in zip(a, k_z, strict=True)),
    ]
    np.testing.assert_allclose(lines, predict(k(z, X), a)[0], rtol=1e-6, atol=1e-8)


# B7: N x N against M x M


@pytest.mark.parametrize(("n", "M"), [(30, 3), (3, 30), (8, 8), (1, 5), (5, 1)])
def test_B7_primal_and_dual_agree_whichever_is_smaller(n, M):
    Phi, t = problem(9, n=n, M=M)
    test = cloud(10, 6, M)
    w = primal_weights(Phi, t, ridge=0.3)
    a = dual_weights(Phi @ Phi.T, t, ridge=0.3)
    assert (w.shape, a.shape) == ((M,), (n,))
    np.testing.assert_allclose(test @ w, predict(test @ Phi.T, a), rtol=1e-9, atol=1e-9)


def peak_floats(function):
    """The largest number of float64 values that a call holds at one time, beyond those held before."""
    function()  # what it imports or caches does not count
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


def test_B7_the_dual_pays_where_there_are_more_features_than_points():
    n, M = 10, 400
    Phi, t = problem(11, n=n, M=M)
    K = Phi @ Phi.T
    assert peak_floats(lambda: primal_weights(Phi, t, ridge=1.0)) > M**2
    assert peak_floats(lambda: dual_weights(K, t, ridge=1.0)) < M**2 / 20
    wide, targets = problem(12, n=M, M=n)
    K = wide @ wide.T
    assert peak_floats(lambda: primal_weights(wide, targets, ridge=1.0)) < M**2 / 20
    assert peak_floats(lambda: dual_weights(K, targets, ridge=1.0)) > M**2


# B8: linear, stationary and homogeneous (radial) kernels

ON_VECTORS = [
    Linear(),
    Polynomial(2),
    Cosine(),
    Constant(3.0),
    Gaussian(0.8),
    Matern(1.2, nu=0.5),
    RationalQuadratic(1.0, alpha=2.0),
    Matern(1.0, nu=2.5),
    Laplacian(1.5),
    Periodic(2.0),
    Gaussian(1.0) + Linear(),
    Gaussian(1.0) + 2.0 * Matern(1.0, nu=0.5),
    Gaussian(1.0) * Laplacian(1.0),
    Gaussian(1.0).on([0]),
    Gaussian(1.0).on([0]) * Gaussian(1.0).on([1]),
    Gaussian(1.0).exp(),
    Laplacian(1.0) ** 2,
    Gaussian(1.0).polynomial([1.0, 2.0]),
    (Gaussian(1.0) + 1).normalized(),
]


@pytest.mark.parametrize("k", ON_VECTORS, ids=repr)
def test_B8_stationary_means_unmoved_by_translations(k):
    X, Z = cloud(13, 6, 2), cloud(14, 5, 2)
    shift = np.array([0.7, -1.9])
    assert k.is_stationary == np.allclose(k(X + shift, Z + shift), k(X, Z), rtol=1e-9)


PRODUCT_OF_COLUMNS = Gaussian(1.0).on([0]) * Gaussian(1.0).on([1])  # radial as a whole, though no factor is


@pytest.mark.parametrize("k", [k for k in ON_VECTORS if k != PRODUCT_OF_COLUMNS], ids=repr)
def test_B8_radial_means_unmoved_by_translations_and_rotations(k):
    X, Z = cloud(15, 6, 2), cloud(16, 5, 2)
    angle = 0.6
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    shift = np.array([0.7, -1.9])
    assert k.is_radial == np.allclose(k(X @ rotation + shift, Z @ rotation + shift), k(X, Z), rtol=1e-9)


def test_B8_what_a_kernel_claims_of_itself_is_never_too_much():
    assert all(k.is_stationary for k in ON_VECTORS if k.is_radial)
    assert not PRODUCT_OF_COLUMNS.is_radial


def test_B8_identity_features_give_the_linear_kernel():
    X, Z = cloud(17, 4, 3), cloud(18, 5, 3)
    expected = matrix(lambda x, z: sum(x_j * z_j for x_j, z_j in zip(x, z, strict=True)), X, Z)
    np.testing.assert_allclose(Linear()(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(identity_basis(X) @ identity_basis(Z).T, expected, rtol=1e-12)


# B9: the algorithm summary


@given(seeds, ridges)
def test_B9_a_feature_map_and_its_kernel_give_the_same_answer(seed, lam):
    X, t = problem(seed, M=2)
    Z = cloud(seed + 1, 5, 2)
    Phi, k = monomials(X, 2), Polynomial(2)
    K_3a = Phi @ Phi.T
    K_3b = matrix(lambda x, z: (x @ z + 1) ** 2, X, X)
    a = np.linalg.solve(K_3a + lam * np.eye(len(t)), t)  # step 4
    test_stage = matrix(lambda x, z: (x @ z + 1) ** 2, Z, X) @ a
    np.testing.assert_allclose(dual_weights(K_3a, t, ridge=lam), a, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(dual_weights(K_3b, t, ridge=lam), a, rtol=1e-6, atol=1e-8)
    for model in (KernelRidge(k, ridge=lam), Ridge(lambda X: monomials(X, 2), ridge=lam)):
        np.testing.assert_allclose(model.fit(X, t).predict(Z), test_stage, rtol=1e-6, atol=1e-7)


# B10: feature maps


def test_B10_identity_features_are_the_inputs():
    X = cloud(19, 5, 3)
    np.testing.assert_array_equal(identity_basis(X), X)
    assert identity_basis(X) is not X


@pytest.mark.parametrize("M", [0, 1, 2, 5])
def test_B10_polynomial_features_are_the_powers_from_0_to_M(M):
    x = cloud(20, 6, 1)[:, 0]
    expected = [[math.prod([x_n] * power) for power in range(M + 1)] for x_n in x]
    np.testing.assert_allclose(polynomial_basis(x, degree=M), expected, rtol=1e-12)
    np.testing.assert_allclose(polynomial_basis(x[:, None], degree=M), expected, rtol=1e-12)


# B11: basis functions and the kernels that they induce, eq. (12)

CENTERS = np.linspace(-1, 1, 9)
BASES = {
    "polynomial": (lambda x: polynomial_basis(x, degree=4), [lambda x, p=p: x**p for p in range(5)]),
    "gaussian": (
        lambda x: gaussian_basis(x, centers=CENTERS, width=0.3),
        [lambda x, c=c: math.exp(-((x - c) ** 2) / (2 * 0.3**2)) for c in CENTERS],
    ),
    "sigmoid": (
        lambda x: sigmoid_basis(x, centers=CENTERS, width=0.2),
        [lambda x, c=c: 1 / (1 + math.exp(-(x - c) / 0.2)) for c in CENTERS],
    ),
}


@pytest.mark.parametrize("name", BASES)
def test_B11_induced_kernel_sums_products_of_basis_functions(name):
    basis, functions = BASES[name]
    X, Z = np.random.default_rng(21).uniform(-1, 1, size=(2, 12, 1))
    expected = matrix(lambda x, z: sum(phi(x[0]) * phi(z[0]) for phi in functions), X, Z)
    induced = Linear().after(basis)
    np.testing.assert_allclose(induced(X, Z), expected, rtol=1e-10)
    np.testing.assert_allclose(induced.features(X), [[phi(x[0]) for phi in functions] for x in X], rtol=1e-10)
    assert is_psd(induced(X))


def test_B11_gaussian_basis_functions_induce_a_bump_around_each_point():
    x = np.linspace(-0.5, 0.5, 41)[:, None]
    row = Linear().after(BASES["gaussian"][0])(np.array([[0.25]]), x)[0]
    assert abs(x[row.argmax(), 0] - 0.25) < 0.06
    assert row[0] < 0.4 * row.max()


# B12: (x'z)^2 and its feature map, eq. (13) and (14)


@given(seeds)
def test_B12_square_of_the_inner_product_has_three_features(seed):
    X, Z = cloud(seed, 4, 2), cloud(seed + 1, 3, 2)

    def phi(x):
        return np.array([x[0] ** 2, math.sqrt(2) * x[0] * x[1], x[1] ** 2])

    expected = matrix(lambda x, z: phi(x) @ phi(z), X, Z)
    k = Polynomial(2, offset=0.0)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((Linear() ** 2)(X, Z), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(k.features(X), [phi(x) for x in X], rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_B12_in_d_dimensions_there_are_as_many_features_as_pairs(d):
    assert Polynomial(2, offset=0.0).features(cloud(22, 2, d)).shape[1] == d * (d + 1) // 2
    assert (Linear() ** 2).features(cloud(22, 2, d)).shape[1] == d**2  # the same kernel with other features


# B13: positive semidefinite Gram matrices

NOT_KERNELS = {
    "distance": lambda x, z: np.linalg.norm(x - z),
    "negative inner product": lambda x, z: -(x @ z),
    "shifted square": lambda x, z: (x @ z - 1) ** 2,
    "squared distance": lambda x, z: sum((x - z) ** 2),
    "cosine of the distance in the plane": lambda x, z: math.cos(np.linalg.norm(x - z)),
    "box": lambda x, z: float(np.linalg.norm(x - z) < 1),
    "sine of the sum": lambda x, z: math.sin(x.sum() + z.sum()),
    "one-sided": lambda x, z: x[0] * z[0] * (2 if x[0] > z[0] else 1),
}


def every_principal_minor_is_nonnegative(A):
    n = len(A)
    chosen = (list(rows) for size in range(1, n + 1) for rows in combinations(range(n), size))
    return all(np.linalg.det(A[np.ix_(rows, rows)]) >= -1e-9 for rows in chosen)


@given(seeds)
def test_B13_is_psd_agrees_with_the_principal_minors(seed):
    rng = np.random.default_rng(seed)
    F = rng.integers(-2, 3, size=(4, int(rng.integers(1, 5)))).astype(float)
    A = F @ F.T  # positive semidefinite, and often singular
    assert is_psd(A)
    A[0, 1] += rng.integers(-2, 3)
    A[1, 0] = A[0, 1]
    assert is_psd(A) == every_principal_minor_is_nonnegative(A)


@given(seeds)
def test_B13_sufficient_every_psd_matrix_is_a_gram_matrix(seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(5, int(rng.integers(1, 6))))
    K = F @ F.T
    values, Q = np.linalg.eigh(K)
    phi = Q * np.sqrt(np.maximum(values, 0))  # row n is phi(x_n)
    np.testing.assert_allclose(Linear()(phi), K, atol=1e-10)


@pytest.mark.parametrize("name", NOT_KERNELS)
def test_B13_necessary_a_counterexample_proves_that_a_function_is_no_kernel(name):
    k = NOT_KERNELS[name]
    verdict = is_valid_kernel(k, rng=0)
    assert not verdict
    if verdict.a is None:  # not even symmetric
        x, z = verdict.points
        assert k(x, z) != k(z, x)
    else:
        quadratic_form = sum(
            a_i * a_j * k(x_i, x_j)
            for a_i, x_i in zip(verdict.a, verdict.points, strict=True)
            for a_j, x_j in zip(verdict.a, verdict.points, strict=True)
        )
        assert quadratic_form < 0
        assert quadratic_form == pytest.approx(verdict.value, rel=1e-6)


@pytest.mark.parametrize("k", [Gaussian(1.0), Laplacian(1.0), Polynomial(3), Periodic(1.0)], ids=repr)
def test_B13_no_counterexample_is_found_to_a_kernel(k):
    assert is_valid_kernel(k, rng=0, trials=60)


# B14: the ten construction rules, Bishop (6.13) to (6.22)

A_PSD = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.4]]


def linear(x, z):
    return float(x @ z)


def gaussian(x, z):
    return math.exp(-sum((x - z) ** 2) / 2)


def squared(x, z):
    return (x @ z + 1) ** 2


RULES = {
    "6.13 c k1": (2.5 * Gaussian(1.0), lambda x, z: 2.5 * gaussian(x, z)),
    "6.14 f k1 f": (
        Linear().weighted(lambda x: math.sin(x[0]) - 0.2),
        lambda x, z: (math.sin(x[0]) - 0.2) * linear(x, z) * (math.sin(z[0]) - 0.2),
    ),
    "6.15 q(k1)": (
        Linear().polynomial([0.5, 0.0, 2.0, 1.0]),
        lambda x, z: 0.5 + 2.0 * linear(x, z) ** 2 + linear(x, z) ** 3,
    ),
    "6.16 exp k1": (Linear().exp(), lambda x, z: math.exp(linear(x, z))),
    "6.17 k1 + k2": (Gaussian(1.0) + Linear(), lambda x, z: gaussian(x, z) + linear(x, z)),
    "6.18 k1 k2": (Polynomial(2) * Gaussian(1.0), lambda x, z: squared(x, z) * gaussian(x, z)),
    "6.19 k3(phi, phi)": (
        Gaussian(1.0).after(lambda x: np.array([x[0] * x[1], abs(x[2])])),
        lambda x, z: math.exp(-((x[0] * x[1] - z[0] * z[1]) ** 2 + (abs(x[2]) - abs(z[2])) ** 2) / 2),
    ),
    "6.20 x'Ax'": (
        Bilinear(A_PSD),
        lambda x, z: sum(x[i] * A_PSD[i][j] * z[j] for i in range(3) for j in range(3)),
    ),
    "6.21 ka + kb": (
        Gaussian(1.0).on([0, 2]) + Linear().on(1),
        lambda x, z: gaussian(x[[0, 2]], z[[0, 2]]) + x[1] * z[1],
    ),
    "6.22 ka kb": (
        Gaussian(1.0).on([0, 2]) * Polynomial(2).on(1),
        lambda x, z: gaussian(x[[0, 2]], z[[0, 2]]) * (x[1] * z[1] + 1) ** 2,
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_B14_each_rule_combines_values_as_it_says(rule):
    k, by_hand = RULES[rule]
    X, Z = cloud(23, 7, 3), cloud(24, 5, 3)
    np.testing.assert_allclose(k(X, Z), matrix(by_hand, X, Z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(k.diag(X), [by_hand(x, x) for x in X], rtol=1e-10)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_B14_each_rule_gives_positive_semidefinite_gram_matrices(rule, seed):
    K = RULES[rule][0](cloud(seed, 12, 3))
    values = np.linalg.eigvalsh(K)
    assert values[0] > -1e-10 * values[-1]


BROKEN_RULES = {
    "6.13": (lambda: -0.5 * Linear(), lambda x, z: -0.5 * linear(x, z)),
    "6.15": (lambda: Linear().polynomial([0.0, 1.0, -1.0]), lambda x, z: linear(x, z) - linear(x, z) ** 2),
    "6.17": (lambda: Gaussian(1.0) - Linear(), lambda x, z: gaussian(x, z) - linear(x, z)),
    "6.20": (lambda: Bilinear([[1.0, 2.0], [2.0, 1.0]]), lambda x, z: x @ np.array([[1.0, 2.0], [2.0, 1.0]]) @ z),
}


@pytest.mark.parametrize("rule", BROKEN_RULES)
def test_B14_a_broken_rule_is_refused_and_has_a_counterexample(rule):
    construct, function = BROKEN_RULES[rule]
    with pytest.raises(InvalidKernel):
        construct()
    assert not is_valid_kernel(function, sample=lambda n, rng: rng.normal(size=(n, 2)), rng=0)


# B15: exp(x'x'/sigma^2) and the Gaussian kernel, eq. (16) and (17)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_B15_gaussian_kernel_assembled_from_the_rules(sigma):
    X, Z = cloud(25, 5, 3), cloud(26, 4, 3)
    exponential = (Linear() / sigma**2).exp()  # (6.13), then (6.16)
    assembled = exponential.weighted(lambda x: math.exp(-x @ x / (2 * sigma**2)))  # (6.14)
    np.testing.assert_allclose(exponential(X, Z), matrix(lambda x, z: math.exp(x @ z / sigma**2), X, Z), rtol=1e-11)
    np.testing.assert_allclose(assembled(X, Z), Gaussian(sigma)(X, Z), rtol=1e-10)


def test_B15_gaussian_kernel_to_the_last_digits():
    X, Z = cloud(27, 4, 2), cloud(28, 4, 2)

    def exactly(x, z):
        with mpmath.workdps(40):
            squared_distance = sum((mpmath.mpf(x_j) - mpmath.mpf(z_j)) ** 2 for x_j, z_j in zip(x, z, strict=True))
            return float(mpmath.exp(-squared_distance / (2 * mpmath.mpf(0.7) ** 2)))

    expected = matrix(exactly, X, Z)
    np.testing.assert_allclose(Gaussian(0.7)(X, Z), expected, rtol=1e-13)


# B16: symbolic inputs

UNIVERSE = ["a", "b", "c", "d"]
SETS = [set(chosen) for size in range(5) for chosen in combinations(UNIVERSE, size)]


def test_B16_subset_kernel_is_two_to_the_size_of_the_intersection():
    expected = [[2 ** len(A & B) for B in SETS] for A in SETS]
    np.testing.assert_allclose(Subset()(SETS), expected)
    np.testing.assert_allclose(Intersection()(SETS), [[len(A & B) for B in SETS] for A in SETS])


def test_B16_subset_kernel_counts_common_subsets():
    k = Subset(universe=UNIVERSE)
    indicators = np.array([[float(U <= A) for U in SETS] for A in SETS])  # one feature per subset U
    np.testing.assert_allclose(k(SETS), indicators @ indicators.T)
    assert sorted(map(tuple, k.features(SETS).T)) == sorted(map(tuple, indicators.T))  # the same, in another order


def test_B16_subset_kernel_by_the_rules():
    np.testing.assert_allclose(Subset()(SETS), (math.log(2) * Intersection()).exp()(SETS), rtol=1e-12)


WORDS = ["banana", "bandana", "ananas", "cab", "", "aaaa"]


def test_B16_spectrum_kernel_counts_common_substrings():
    def counts(s):
        return Counter(s[i : i + 2] for i in range(len(s) - 1))

    expected = [[sum(counts(s)[u] * counts(t)[u] for u in counts(s)) for t in WORDS] for s in WORDS]
    np.testing.assert_allclose(Spectrum(2)(WORDS), expected)


def test_B16_subsequence_kernel_weighs_every_common_subsequence():
    decay = 0.6

    def phi(s):
        weights = Counter()
        for places in combinations(range(len(s)), 3):
            weights["".join(s[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return weights

    expected = [[sum(phi(s)[u] * phi(t)[u] for u in phi(s)) for t in WORDS] for s in WORDS]
    np.testing.assert_allclose(Subsequence(3, decay=decay)(WORDS), expected, rtol=1e-12)


DOCUMENTS = ["the cat sat on the mat", "The dog sat.", "a cat, a dog!", "stars"]


def tokens(document):
    return document.lower().replace(",", "").replace(".", "").replace("!", "").split()


def test_B16_bag_of_words_is_the_inner_product_of_word_counts():
    bags = [Counter(tokens(document)) for document in DOCUMENTS]
    expected = [[sum(A[w] * B[w] for w in A) for B in bags] for A in bags]
    np.testing.assert_allclose(BagOfWords()(DOCUMENTS), expected)


def test_B16_tf_idf_weighs_rare_words_more():
    bags = [Counter(tokens(document)) for document in DOCUMENTS]
    idf = {w: 1 + math.log(5 / (1 + sum(w in bag for bag in bags))) for bag in bags for w in bag}
    expected = [[sum(idf[w] ** 2 * A[w] * B[w] for w in A) for B in bags] for A in bags]
    np.testing.assert_allclose(TfIdf.fit(DOCUMENTS)(DOCUMENTS), expected, rtol=1e-12)


def graph_pair():
    first, second = small_graphs(6, rng=3).graphs[:2]
    return [first, second]


def test_B16_weisfeiler_lehman_compares_neighbourhoods():
    def counts(graph):
        # Labels as nested tuples: a node's own, and the sorted ones around it.
        labels = [(label, ()) for label in graph.labels]
        total = Counter((0, label) for label in labels)
        for h in (1, 2):
            around = [[labels[j] for j in range(len(labels)) if graph.adjacency[i, j]] for i in range(len(labels))]
            labels = [(label, tuple(sorted(others, key=repr))) for label, others in zip(labels, around, strict=True)]
            total.update((h, label) for label in labels)
        return total

    graphs = graph_pair()
    expected = [[sum(counts(G)[part] * counts(H)[part] for part in counts(G)) for H in graphs] for G in graphs]
    np.testing.assert_allclose(WeisfeilerLehman(2)(graphs), expected)


def test_B16_shortest_path_kernel_compares_distances_between_labels():
    def counts(graph):
        m = len(graph.labels)
        D = np.where(graph.adjacency == 1, 1.0, np.inf)
        np.fill_diagonal(D, 0)
        for k, i, j in product(range(m), repeat=3):  # Floyd and Warshall
            D[i, j] = min(D[i, j], D[i, k] + D[k, j])
        pairs = combinations(range(m), 2)
        return Counter((frozenset({graph.labels[i], graph.labels[j]}), D[i, j]) for i, j in pairs)

    graphs = graph_pair()
    expected = [[sum(counts(G)[part] * counts(H)[part] for part in counts(G)) for H in graphs] for G in graphs]
    np.testing.assert_allclose(ShortestPath()(graphs), expected)


@pytest.mark.parametrize(
    ("k", "objects"),
    [
        (Subset(), SETS),
        (Spectrum(2), WORDS),
        (Subsequence(2, decay=0.5), WORDS),
        (BagOfWords(), DOCUMENTS),
        (WeisfeilerLehman(2), small_graphs(9, rng=0).graphs),
        (ShortestPath(), small_graphs(9, rng=0).graphs),
    ],
    ids=lambda value: type(value).__name__,
)
def test_B16_kernels_on_objects_are_positive_semidefinite(k, objects):
    assert is_psd(k(objects))
