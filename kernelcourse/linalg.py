"""Solving with a positive semidefinite matrix plus a ridge, stably and with a word when the easy road is closed; and
the products, factors and sums in place that such methods are made of."""

from __future__ import annotations

import ctypes

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from ._engine.lapack import call
from ._engine.threads import slabs
from .validation import Array, warn


def solve_ridge(K: Array, t: Array, ridge: float, *, overwrite: bool = False, quiet: bool = False) -> Array:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ by Cholesky; `t` may be a vector or have several columns.

    Where the matrix is singular or indefinite to working precision, an eigendecomposition takes over, and a warning
    says so: directions whose eigenvalue is lost in rounding get weight 0. They do not contribute to the function
    $\sum_i a_i k(x_i, \cdot)$, which is the limit of the ridge solutions as the ridge goes to 0.

    `overwrite=True` lets the factor take the place of K, so that no second n x n matrix is needed. `quiet=True` does
    without the warning: filters of warnings belong to the process, not to one of its threads.

    >>> solve_ridge(np.eye(2), np.array([2.0, 4.0]), ridge=1.0)
    array([1., 2.])
    """
    n = len(K)
    A = K if overwrite and K.flags.c_contiguous and K.flags.writeable else np.array(K, order="C")
    diagonal = np.diag(A) + ridge
    np.fill_diagonal(A, diagonal)
    # K has no negative eigenvalue, so all of the sum are between the ridge and the trace: often that is all one needs
    # to know of its condition. If not, the norm has to be taken before the factor takes A's place.
    rounding = n * np.finfo(float).eps
    easy = bool(ridge > 1e6 * rounding * diagonal.sum())
    norm = 0.0 if easy else largest_row_sum(A)
    if not np.isfinite(norm):
        raise OverflowError("the matrix to solve with has entries too large for a float: scale the data down")
    if not factor(A):
        reciprocal_condition = np.inf if easy else lapack.dpocon(A.T, norm, uplo="L")[0]
        if reciprocal_condition > rounding:
            return lapack.dpotrs(A.T, t, lower=1)[0]
        trouble = f"is singular to working precision (reciprocal condition number {reciprocal_condition:.1e})"
    else:
        trouble = "is not numerically positive definite (its Cholesky factorisation broke down)"
    np.fill_diagonal(A, diagonal)
    values, Q = linalg.eigh(A, check_finite=False)
    refuse_negative(values - ridge)
    keep = values > n * np.finfo(float).eps * max(abs(values[0]), abs(values[-1]))
    if not quiet:
        warn(
            f"K + ridge*I with ridge={ridge:g} {trouble}; solved by eigendecomposition, leaving out "
            f"{n - keep.sum()} of {n} directions. A larger ridge avoids this."
        )
    Q = Q[:, keep]
    return (Q / values[keep]) @ (Q.T @ t)


def times(K: Array, v: Array) -> Array:
    """K v for a symmetric K, of which only one triangle is read: half the time where memory is what limits it.

    >>> times(np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 6.])
    """
    K = np.asarray(K, dtype=float)
    K = K if K.flags.forc else np.ascontiguousarray(K)  # by rows or by columns is the same, but for the triangle
    product = np.empty(len(K))
    call("dsymv", b"U", len(K), 1.0, K, len(K), np.ascontiguousarray(v, dtype=float), 1, 0.0, product, 1)
    return product


def add_multiple(f: Array, c: float, x: Array) -> None:
    """f += c x, in one pass over both; numpy takes two.

    >>> f = np.array([1.0, 2.0])
    >>> add_multiple(f, 3.0, np.array([1.0, 10.0]))
    >>> f
    array([ 4., 32.])
    """
    blas.daxpy(x, f, len(f), c)


def add_squares(G: Array, Phi: Array) -> None:
    r"""Add $\Phi^\top \Phi$ to the lower triangle of G, which is stored by columns, in place.

    BLAS's `dsyrk`, as scipy.linalg.blas has it, but other threads may go on meanwhile.

    >>> G = np.zeros((2, 2), order="F")
    >>> add_squares(G, np.array([[1.0, 2.0]]))
    >>> G
    array([[1., 0.],
           [2., 4.]])
    """
    Phi = np.ascontiguousarray(Phi, dtype=float)
    k, m = Phi.shape
    if G.shape != (m, m) or G.dtype != float or not G.flags.f_contiguous or not G.flags.writeable:
        raise ValueError(f"G must be a writable {m} x {m} matrix of floats stored by columns, got shape {G.shape}")
    call("dsyrk", b"L", b"N", m, k, 1.0, Phi, max(1, m), 1.0, G, max(1, m))


def factor(A: Array) -> int:
    r"""Put the Cholesky factor of A, which is stored by rows, in the place of what is on and above its diagonal.

    It is L transposed: LAPACK counts by columns. Returns 0, or at which row the factorisation broke down.

    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> factor(A), A
    (0, array([[2., 1.],
           [2., 2.]]))
    """
    failed = ctypes.c_int(0)
    call("dpotrf", b"L", len(A), A, max(1, len(A)), failed)
    return failed.value


def solve_ridges(K: Array, t: Array, ridges: Array) -> Array:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ for every ridge, a column each, from one reduction $K = Q T Q^\top$.

    T is tridiagonal. It takes about a third of the time of the eigendecomposition and, as
    $(K + \text{ridge}\, I)^{-1} t = Q (T + \text{ridge}\, I)^{-1} Q^\top t$, leaves a system that is solved in O(n) for
    each ridge. The ridges have to be clear of the rounding of K.

    >>> solve_ridges(np.eye(2), np.array([2.0, 4.0]), np.array([1.0, 3.0]))
    array([[1. , 0.5],
           [2. , 1. ]])
    """
    n = len(K)
    if n == 1:
        return t[:, None] / (K + ridges)
    H, d, e, tau, _ = lapack.dsytrd(K, lower=1, lwork=int(lapack.dsytrd_lwork(n, lower=1)[0]))
    # Q leaves the first entry alone; below, it is a product of reflections that H holds under its diagonal.
    reflections = np.asfortranarray(H[1:, : n - 1])

    def rotate(B: Array, trans: str) -> Array:
        below = np.asfortranarray(B[1:])
        room = int(lapack.dormqr("L", trans, reflections, tau, below, -1)[1][0])
        return np.vstack([B[:1], lapack.dormqr("L", trans, reflections, tau, below, room)[0]])

    s = rotate(t[:, None], "T")[:, 0]
    solved = np.empty((n, len(ridges)))
    for j, ridge in enumerate(ridges):
        _, _, solved[:, j], failed = lapack.dptsv(d + ridge, e, s)
        if failed:
            solved[:, j] = rotate(solve_ridge(K, t, float(ridge))[:, None], "T")[:, 0]
    return rotate(solved, "N")


def largest_row_sum(A: Array) -> float:
    r"""$\max_i \sum_j |A_{ij}|$, the norm of a symmetric matrix that its condition number is stated in."""
    return max(float(np.abs(A[rows]).sum(axis=1).max()) for rows in slabs(len(A), A.shape[1], entries=2**16))


def refuse_indefinite(K: Array, slack: float) -> None:
    """Refuse a K with an eigenvalue below -slack: what is to be minimised would have no minimum."""
    try:
        linalg.cholesky(K + max(slack, np.finfo(float).tiny) * np.eye(len(K)), lower=True, check_finite=False)
    except linalg.LinAlgError:
        raise indefinite(K) from None


def indefinite(K: Array) -> ValueError:
    """What to say of a K that is no Gram matrix."""
    lowest = linalg.eigvalsh(K, subset_by_index=(0, 0), check_finite=False)[0]
    return ValueError(
        f"K must be positive semidefinite, but it has the eigenvalue {lowest:.3g}: it is not the Gram matrix of a "
        "kernel, and the objective has no minimum"
    )


def refuse_negative(eigenvalues: Array) -> None:
    """Refuse a K with an eigenvalue that is negative beyond rounding (of single precision, to be generous)."""
    if eigenvalues.min() < -1e-6 * np.abs(eigenvalues).max():
        raise ValueError(
            f"K must be positive semidefinite, but it has the eigenvalue {eigenvalues.min():.3g} "
            f"beside {eigenvalues.max():.3g}: no kernel makes such a matrix"
        )
