"""Ridge solves: exact where they can be, and honest where they cannot."""

import mpmath
import numpy as np
import pytest

from kernelcourse import Gaussian, KernelCourseWarning, dual_weights
from kernelcourse._engine.linalg import factor
from kernelcourse.linalg import (
    cholesky,
    cholesky_solve,
    conjugate_gradients,
    solve_ridge,
    symmetric_product,
    triangular_solve,
)
from kernelcourse.seam import engine, tolerances


def test_ill_conditioned_solves_against_fifty_digits():
    x = np.linspace(0, 1, 12)[:, None]
    K = Gaussian(0.5)(x)
    t = np.sin(5 * x[:, 0])
    for ridge in (1e-2, 1e-6, 1e-9):
        with mpmath.workdps(50):
            exact = mpmath.lu_solve(mpmath.matrix(K.tolist()) + ridge * mpmath.eye(12), mpmath.matrix(t.tolist()))
        exact = np.array([float(v) for v in exact])
        a = solve_ridge(K, t, ridge)
        assert np.abs(K @ a - K @ exact).max() < 1e-7, "the function is accurate even where its coefficients are not"
        if ridge >= 1e-6:
            np.testing.assert_allclose(a, exact, rtol=1e-7)


def test_a_singular_matrix_without_ridge_gets_the_limit_and_a_warning():
    K = np.ones((3, 3))
    t = np.array([1.0, 2.0, 6.0])
    with pytest.warns(KernelCourseWarning, match="leaving out 2 of 3"):
        a = solve_ridge(K, t, 0.0)
    np.testing.assert_allclose(K @ a, t.mean())
    np.testing.assert_allclose(K @ a, K @ solve_ridge(K, t, 1e-6), rtol=1e-5)
    assert np.linalg.norm(a) < 3, "the smallest coefficients of that function; a small ridge gives huge ones"


def test_an_indefinite_matrix_falls_back_with_a_warning():
    K = np.diag([1.0, 1.0, -1e-14])
    with pytest.warns(KernelCourseWarning, match="Cholesky"):
        a = solve_ridge(K, np.array([1.0, 2.0, 0.0]), 0.0)
    np.testing.assert_allclose(a, [1, 2, 0])


def test_the_warning_points_at_the_users_line():
    with pytest.warns(KernelCourseWarning) as caught:
        dual_weights(np.ones((2, 2)), [1.0, 1.0], ridge=0.0)
    assert caught[0].filename == __file__


def test_several_right_hand_sides_and_inputs_left_alone():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    K, T = A @ A.T, rng.normal(size=(5, 2))
    before = K.copy(), T.copy()
    np.testing.assert_allclose((K + 0.1 * np.eye(5)) @ solve_ridge(K, T, 0.1), T)
    assert (before[0] == K).all() and (before[1] == T).all()


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize("kept", ["rows", "columns", "every second", "single precision"])
def test_a_symmetric_product_however_the_matrix_is_kept(kept, n):
    rng = np.random.default_rng(n)
    A, v = rng.normal(size=(2 * n, 2 * n)), rng.normal(size=2 * n)[::2]
    A += A.T
    if kept == "every second":
        K = A[::2, ::2]
    else:
        K = A[:n, :n].copy(order="F" if kept == "columns" else "C")
        K = K.astype(np.float32) if kept == "single precision" else K
    np.testing.assert_allclose(
        symmetric_product(K, v), K @ v, atol=1e-12 * n if kept != "single precision" else 1e-4 * n
    )


def test_a_factor_in_place_leaves_the_other_triangle_alone():
    K = Gaussian(1.0)(np.random.default_rng(0).normal(size=(40, 3))) + np.eye(40)
    A = K.copy()
    assert factor(A) == 0
    U = np.triu(A)
    np.testing.assert_allclose(U.T @ U, K, atol=1e-13)
    np.testing.assert_array_equal(np.tril(A, -1), np.tril(K, -1))
    assert factor(np.diag([1.0, 2.0, -3.0, 4.0])) == 3


@pytest.mark.parametrize("solve", [solve_ridge, cholesky, triangular_solve])
def test_twins_may_differ_in_the_last_digits_only(solve):
    assert all(0 < apart <= 1e-9 for apart in tolerances[solve.plain].values())


@pytest.mark.parametrize("state", ["on", "off"])
@pytest.mark.parametrize(
    ("K", "trouble"),
    [
        (np.ones((3, 3)), "broke down.* leaving out 2 of 3"),
        (np.array([[1.0, 1 - 3e-16], [1 - 3e-16, 1.0]]), "reciprocal condition number .* leaving out 1 of 2"),
    ],
)
def test_the_same_warning_with_and_without_the_engine(state, K, trouble):
    with engine(state), pytest.warns(KernelCourseWarning, match=trouble):
        np.testing.assert_allclose(K @ solve_ridge(K, np.ones(len(K)), 0.0), 1.0)


@pytest.mark.parametrize("state", ["on", "off"])
def test_a_gram_matrix_that_is_singular_up_to_rounding_has_a_factor(state):
    K = Gaussian(3.0)(np.linspace(0, 1, 200)[:, None])  # of rank 10 or so
    with engine(state):
        L = cholesky(K)
        np.testing.assert_allclose(L @ L.T, K, atol=1e-12)
        np.testing.assert_array_equal(L, np.tril(L))
        np.testing.assert_allclose(K @ cholesky_solve(L, K[:, 3]), K[:, 3], atol=1e-6)
        with pytest.raises(ValueError, match="K must be positive semidefinite, but it has the eigenvalue -1:"):
            cholesky(np.diag([1.0, 2.0, -1.0]))
        with np.errstate(over="raise"), pytest.raises(OverflowError, match="too large for a float"):
            cholesky(np.diag([1e308, 1e308]))


def test_conjugate_gradients_in_another_inner_product():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    M, W, b = A @ A.T + np.eye(30), rng.uniform(0.1, 1, size=30), rng.normal(size=30)
    solution = np.linalg.solve(np.eye(30) + W[:, None] * M, b)  # not symmetric, but self-adjoint in u'Mv
    x, residuals = conjugate_gradients(
        lambda v: v + W * (M @ v), b, iterations=200, tol=1e-12, inner=lambda u, v: u @ M @ v
    )
    np.testing.assert_allclose(x, solution, atol=1e-9)
    assert residuals[-1] <= 1e-12 < residuals[-2]
    assert len(conjugate_gradients(lambda v: M @ v, b, iterations=3, tol=1e-12)[1]) == 3


def test_conjugate_gradients_end_where_the_curvature_is_not_positive():
    x, residuals = conjugate_gradients(lambda v: -v, np.ones(3), iterations=10, tol=1e-9)
    assert residuals == [] and (x == 0).all()


def test_conjugate_gradients_of_several_columns_solve_each():
    rng = np.random.default_rng(0)
    A = [B @ B.T + np.eye(6) for B in rng.normal(size=(3, 6, 6))]
    b = rng.normal(size=(6, 3)) * [1.0, 1e3, 1e-3]

    def times(V):
        return np.column_stack([A_j @ v for A_j, v in zip(A, V.T, strict=True)])

    x, residuals = conjugate_gradients(
        times, b, iterations=50, tol=1e-12, inner=lambda U, V: np.einsum("ij,ij->j", U, V)
    )
    np.testing.assert_allclose(x, np.column_stack([np.linalg.solve(A_j, v) for A_j, v in zip(A, b.T, strict=True)]))
    assert residuals[-1] <= 1e-12 and len(residuals) < 20
