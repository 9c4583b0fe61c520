"""Ridge solves: exact where they can be, and honest where they cannot."""

import mpmath
import numpy as np
import pytest

from kernelcourse import Gaussian, KernelCourseWarning, dual_weights
from kernelcourse.linalg import solve_ridge


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
    assert np.linalg.norm(a) < 3, "the smallest coefficients of that function; a small ridge has huge ones"


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
