"""Systems with a positive semidefinite matrix, on numpy alone: Cholesky, ridges, conjugate gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .seam import definition
from .validation import Array, slices, warn

EPS, TINY = np.finfo(float).eps, np.finfo(float).tiny
SLACK = 1e-5  # an eigenvalue above -SLACK max_i K_ii counts as rounding, even for a K stored in single precision


@definition
def solve_ridge(K: Array, t: Array, ridge: float, *, overwrite: bool = False, quiet: bool = False) -> Array:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ by Cholesky; `t` may be a vector or have several columns.

    Where the matrix is singular or indefinite to working precision, an eigendecomposition takes over, and a warning
    says so: directions whose eigenvalue is lost in rounding get weight 0. They do not contribute to the function
    $\sum_i a_i k(x_i, \cdot)$. For a ridge of 0, this function is the limit of the solutions as the ridge goes to 0.

    `overwrite=True` allows K to be overwritten, so that no second n x n matrix is needed. `quiet=True` suppresses the
    warning; a filter would do so for all threads of the process.

    >>> solve_ridge(np.eye(2), np.array([2.0, 4.0]), ridge=1.0)
    array([1., 2.])
    """
    A = K + ridge * np.eye(len(K))
    try:
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return solve_by_eigenvalues(A, t, ridge, 0.0, quiet=quiet)
    if (norm := norm_in_doubt(A, ridge)) > 0:
        reciprocal_condition = 1 / (norm * largest_row_sum(np.linalg.inv(A)))
        if not reciprocal_condition > len(A) * EPS:
            return solve_by_eigenvalues(A, t, ridge, reciprocal_condition, quiet=quiet)
    return cholesky_solve(L, t)


def norm_in_doubt(A: Array, ridge: float) -> float:
    r"""The norm $\max_i \sum_j |A_{ij}|$ of A = K + ridge I, or 0 if the ridge is too large for it to matter.

    K has no negative eigenvalue, so all eigenvalues of A lie between the ridge and the trace of A.
    """
    with np.errstate(over="ignore"):
        if ridge > 1e6 * len(A) * EPS * np.trace(A):
            return 0.0
        norm = largest_row_sum(A)
    if not np.isfinite(norm):
        raise OverflowError("the matrix to solve with has sums of entries too large for a float: scale the data down")
    return norm


def largest_row_sum(A: NDArray[Any]) -> float:
    r"""$\max_i \sum_j |A_{ij}|$, the norm used for the condition number of a symmetric matrix."""
    return max(float(np.abs(A[rows]).sum(axis=1).max()) for rows in slices(len(A), 64))


def solve_by_eigenvalues(A: Array, t: Array, ridge: float, reciprocal_condition: float, *, quiet: bool) -> Array:
    """Solve A a = t, A = K + ridge I, in the directions whose eigenvalue is not lost in rounding, and warn."""
    trouble = f"is singular to working precision (reciprocal condition number {reciprocal_condition:.1e})"
    if reciprocal_condition == 0:
        trouble = "is not numerically positive definite (its Cholesky factorisation broke down)"
    values, Q = np.linalg.eigh(A)
    refuse_negative(values - ridge)
    keep = values > len(A) * EPS * np.abs(values).max()
    if not quiet:
        warn(
            f"K + ridge*I with ridge={ridge:g} {trouble}; solved by eigendecomposition, leaving out "
            f"{len(A) - keep.sum()} of {len(A)} directions. A larger ridge avoids this."
        )
    Q = Q[:, keep]
    return (Q / values[keep]) @ (Q.T @ t)


@definition
def cholesky(A: Array) -> Array:
    r"""The lower triangular L with $L L^\top = A + \text{nugget}\, I$; only A's lower triangle is read.

    The nugget is the size of the rounding errors already in A. It makes a nearly singular positive semidefinite
    matrix, such as the Gram matrix of a smooth kernel, positive definite; where it does not, it is raised tenfold at a
    time. Once it is too large to count as rounding, A is refused.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    for nugget in nuggets(A):
        try:
            return np.linalg.cholesky(A + nugget * np.eye(len(A)))
        except np.linalg.LinAlgError:
            continue
    raise indefinite(A)


def nuggets(A: Array) -> Array:
    """The values that `cholesky` adds to the diagonal, one after another, until the factorisation succeeds."""
    with np.errstate(over="ignore"):
        first, last = max(EPS * float(np.trace(A)), TINY), SLACK * float(np.abs(np.diag(A)).max())
    if not np.isfinite(first):
        raise OverflowError("the matrix to factor has a trace too large for a float: scale the data down")
    tries = 1 + max(0, int(np.ceil(np.log10(max(last, first) / first))))
    return first * 10.0 ** np.arange(tries)


@definition
def triangular_solve(L: NDArray[Any], b: Array, *, transposed: bool = False) -> Array:
    r"""Solve $L x = b$, or $L^\top x = b$, for a lower triangular L."""
    return np.linalg.solve(np.tril(L).T if transposed else np.tril(L), b)


def cholesky_solve(L: NDArray[Any], b: Array) -> Array:
    r"""Solve $L L^\top x = b$.

    >>> cholesky_solve(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([8.0, 12.0]))
    array([1., 2.])
    """
    return triangular_solve(L, triangular_solve(L, b), transposed=True)


@definition
def symmetric_product(K: Array, v: Array) -> Array:
    """K v for a symmetric K."""
    return K @ v


def conjugate_gradients(
    times: Callable[[Array], Array],
    b: Array,
    *,
    iterations: int,
    tol: float,
    inner: Callable[[Array, Array], Any] = np.vdot,
) -> tuple[Array, list[float]]:
    r"""Solve $Ax = b$ for a positive definite A given by its products; return x and the residuals.

    `inner` is an inner product in which A is self-adjoint, if $u^\top v$ is not one. If it gives one number per column,
    every column is a separate system, and the residual is the largest of them. Residuals are relative, one per product.
    The method ends at a residual of `tol`, after `iterations` steps, or in a direction without positive curvature.

    >>> conjugate_gradients(lambda v: 2 * v, np.array([4.0]), iterations=5, tol=1e-9)
    (array([2.]), [0.0])
    """
    x, r, p = np.zeros_like(b), b.copy(), b
    rr = first = inner(r, r)
    residuals: list[float] = []
    while len(residuals) < iterations and (rr > tol**2 * first).any():
        Ap = times(p)
        curvature = inner(p, Ap)
        if not (curvature > 0).all():
            break
        step = rr / curvature
        x += step * p
        r -= step * Ap
        rr, before = inner(r, r), rr
        p = r + (rr / before) * p
        residuals.append(max(0.0, float((rr / first).max())) ** 0.5)
    return x, residuals


def refuse_indefinite(K: Array, slack: float) -> None:
    """Refuse a K with an eigenvalue below -slack: the objective would have no minimum."""
    try:
        np.linalg.cholesky(K + max(slack, TINY) * np.eye(len(K)))
    except np.linalg.LinAlgError:
        raise indefinite(K) from None


def indefinite(K: Array) -> ValueError:
    """The error for a K that is not a Gram matrix."""
    return ValueError(
        f"K must be positive semidefinite, but it has the eigenvalue {np.linalg.eigvalsh(K)[0]:.3g}: it is not the "
        "Gram matrix of a kernel, and the objective has no minimum"
    )


def refuse_negative(eigenvalues: Array) -> None:
    """Refuse a K with an eigenvalue that is negative beyond the rounding of single precision."""
    if (low := eigenvalues.min()) < -1e-6 * np.abs(eigenvalues).max():
        raise ValueError(f"K must be positive semidefinite, but it has the eigenvalue {low:.3g}: no kernel gives that")
