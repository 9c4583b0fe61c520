"""Cholesky factors of nearly singular matrices, systems with them, and systems known by their products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..seam import definition
from ..validation import Array


def cholesky(A: Array) -> Array:
    r"""The L of $A = L L^\top$ after a little was added to the diagonal of A, in place; A's lower triangle is read.

    What is added is of the size of the rounding errors that A carries already. A nearly singular positive semidefinite
    matrix, as $K_{ZZ}$ is for every smooth kernel, becomes positive definite by it.

    >>> cholesky(np.array([[4.0, 0.0], [2.0, 5.0]])).round(6)
    array([[2., 0.],
           [1., 2.]])
    """
    nugget = max(np.finfo(float).eps * float(np.trace(A)), np.finfo(float).tiny)
    if not np.isfinite(nugget):
        raise OverflowError("the matrix to factor has entries too large for a float: scale the data down")
    diagonal = np.einsum("ii->i", A)
    for _ in range(8):
        diagonal += nugget
        try:
            return np.asarray(np.linalg.cholesky(A), dtype=float)
        except np.linalg.LinAlgError:
            nugget *= 10
    raise ValueError("the penalty matrix is not positive semidefinite: no kernel makes such a matrix")


@definition
def triangular_solve(L: Array, b: Array, *, transposed: bool = False) -> Array:
    r"""Solve $L x = b$ for a lower triangular L, or $L^\top x = b$.

    >>> triangular_solve(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([4.0, 4.0]))
    array([2., 1.])
    """
    return np.asarray(np.linalg.solve(L.T if transposed else L, b), dtype=float)


def cholesky_solve(L: Array, b: Array) -> Array:
    r"""Solve $L L^\top x = b$.

    >>> cholesky_solve(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([4.0, 6.0]))
    array([0.5, 1. ])
    """
    return triangular_solve(L, triangular_solve(L, b), transposed=True)


def conjugate_gradients(
    times: Callable[[Array], Array], b: Array, *, iterations: int, tol: float
) -> tuple[Array, list[float]]:
    r"""Solve $Ax = b$ for a positive definite A known by its products, and the relative residual after each of them.

    >>> conjugate_gradients(lambda v: 2 * v, np.array([4.0]), iterations=5, tol=1e-9)
    (array([2.]), [0.0])
    """
    x, r = np.zeros_like(b), b.copy()
    p, rr, goal = r, float(r @ r), float(b @ b)
    residuals: list[float] = []
    while len(residuals) < iterations and rr > tol**2 * goal:
        Ap = times(p)
        step = rr / float(p @ Ap)
        x = x + step * p
        r = r - step * Ap
        rr, before = float(r @ r), rr
        p = r + (rr / before) * p
        residuals.append((rr / goal) ** 0.5)
    return x, residuals
