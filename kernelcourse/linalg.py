"""Solving with a positive semidefinite matrix plus a ridge, stably and with a word when the easy road is closed."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from .validation import Array, warn


def solve_ridge(K: Array, t: Array, ridge: float) -> Array:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ by Cholesky; `t` may be a vector or have several columns.

    Where the matrix is singular or indefinite to working precision, an eigendecomposition takes over, and a warning
    says so: directions whose eigenvalue is lost in rounding get weight 0. They do not contribute to the function
    $\sum_i a_i k(x_i, \cdot)$, which is the limit of the ridge solutions as the ridge goes to 0.

    >>> solve_ridge(np.eye(2), np.array([2.0, 4.0]), ridge=1.0)
    array([1., 2.])
    """
    n = len(K)
    A = K + ridge * np.eye(n)
    if not np.isfinite(A).all():
        raise OverflowError("the matrix to solve with has entries too large for a float: scale the data down")
    try:
        factor = linalg.cho_factor(A, lower=True, check_finite=False)
        reciprocal_condition, _ = lapack.dpocon(factor[0], np.abs(A).sum(axis=0).max(), uplo="L")
        if reciprocal_condition > n * np.finfo(float).eps:
            return linalg.cho_solve(factor, t, check_finite=False)
        trouble = f"is singular to working precision (reciprocal condition number {reciprocal_condition:.1e})"
    except linalg.LinAlgError:
        trouble = "is not numerically positive definite (its Cholesky factorisation broke down)"
    values, Q = linalg.eigh(A, check_finite=False)
    refuse_negative(values - ridge)
    keep = values > n * np.finfo(float).eps * max(abs(values[0]), abs(values[-1]))
    warn(
        f"K + ridge*I with ridge={ridge:g} {trouble}; solved by eigendecomposition, leaving out "
        f"{n - keep.sum()} of {n} directions. A larger ridge avoids this."
    )
    Q = Q[:, keep]
    return (Q / values[keep]) @ (Q.T @ t)


def refuse_negative(eigenvalues: Array) -> None:
    """Refuse a K with an eigenvalue that is negative beyond rounding (of single precision, to be generous)."""
    if eigenvalues.min() < -1e-6 * np.abs(eigenvalues).max():
        raise ValueError(
            f"K must be positive semidefinite, but it has the eigenvalue {eigenvalues.min():.3g} "
            f"beside {eigenvalues.max():.3g}: no kernel makes such a matrix"
        )
