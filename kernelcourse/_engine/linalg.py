"""Linear algebra in place: LAPACK and BLAS where numpy would copy, or read both triangles.

scipy's wrappers keep the GIL, so threads that share a job multiply with numpy.
"""

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from .. import linalg, validation
from ..algorithms import newton
from ..linalg import EPS, norm_in_doubt, nuggets, solve_by_eigenvalues
from ..seam import accelerates, always
from ..validation import Array, slices
from .threads import compiled, in_threads, one_thread

SMALL = 1000  # rows; a matrix takes at most 8 MB
STRIP, WIDTH = 128, 512  # rows and columns of a matrix compared with its transpose at a time: both fit into the cache


@accelerates(validation.is_symmetric)
def is_symmetric(K: Array, slack: float = 0.0) -> bool:
    """One tile at a time, right of the diagonal: half the comparisons, and no second matrix."""
    if K.size < STRIP**2 and not always():
        return NotImplemented
    loops, apart = compiled(K.size) if K.flags.forc else None, list[slice]()
    A = K if K.flags.c_contiguous else K.T

    def compare(rows: slice) -> None:
        if loops is not None:
            apart.extend([] if apart or loops.rows_are_symmetric(A, rows.start, rows.stop, slack) else [rows])
            return
        for columns in slices(len(K), WIDTH, rows.start):
            with np.errstate(invalid="ignore", over="ignore"):
                if not apart and not np.abs(K[rows, columns] - K[columns, rows].T).max() <= slack:
                    apart.append(rows)

    in_threads(compare, slices(len(K), STRIP), K.size // 4)  # half of the comparisons, each of half a step
    return not apart


@accelerates(linalg.solve_ridge, rtol=1e-9, atol=1e-9)
def solve_ridge(K: Array, t: Array, ridge: float, *, overwrite: bool = False, quiet: bool = False) -> Array:
    """The factor overwrites K, or one copy of it; the condition number is estimated from the factor."""
    A = K if overwrite and K.flags.c_contiguous and K.flags.writeable else np.array(K, order="C", dtype=float)
    diagonal = np.diag(A) + ridge
    np.fill_diagonal(A, diagonal)
    norm, reciprocal_condition = norm_in_doubt(A, ridge), 0.0
    if (found := _factored(A)) is not None:
        triangle, lower = found
        reciprocal_condition = float(lapack.dpocon(triangle, norm, uplo="UL"[lower])[0]) if norm > 0 else np.inf
        if reciprocal_condition > len(A) * EPS:
            return lapack.dpotrs(triangle, t, lower=lower)[0]
    np.fill_diagonal(A, diagonal)  # restores the lower triangle, the only part read from here on
    return solve_by_eigenvalues(A, t, ridge, reciprocal_condition, quiet=quiet)


def _factored(A: Array) -> tuple[Array, int] | None:
    """The Cholesky factor of A, stored by columns, and whether it is the lower one; None if there is none.

    A large A is overwritten; it costs less memory. A small one is left to numpy: scipy has a BLAS library of its own,
    whose second thread would wait milliseconds for a processor on which the one of numpy's last product is spinning.
    """
    if len(A) > SMALL:
        return None if factor(A) else (A.T, 1)
    try:
        return np.linalg.cholesky(A).astype(float, copy=False).T, 0
    except np.linalg.LinAlgError:
        return None


@accelerates(linalg.cholesky, rtol=1e-9, atol=1e-9)
def cholesky(A: Array) -> Array:
    """The factor overwrites one copy of A, stored by columns; a small one is left to numpy, as in `_factored`."""
    if len(A) <= SMALL and not always():
        return NotImplemented
    for nugget in nuggets(A):
        L = np.array(A, order="F", dtype=float)
        L.flat[:: len(L) + 1] += nugget
        L, failed = lapack.dpotrf(L, lower=1, overwrite_a=1)
        if not failed:
            return L
    return NotImplemented


@accelerates(linalg.triangular_solve, rtol=1e-9, atol=1e-9)
def triangular_solve(L: Array, b: Array, *, transposed: bool = False) -> Array:
    """Solve by substitution: a triangular matrix needs no factorisation. LAPACK's routine is slower than BLAS's."""
    rows = L.flags.c_contiguous  # as stored by columns, the transpose
    A, options = (L.T if rows else L), {"lower": int(not rows)}
    if b.ndim == 1:
        return blas.dtrsv(A, b, trans=int(transposed != rows), **options)
    return blas.dtrsm(1.0, A, b, trans_a=int(transposed != rows), **options)


def factor(A: Array) -> int:
    r"""Overwrite A, which is stored by rows, with its Cholesky factor on and above the diagonal.

    The factor is L transposed, because LAPACK stores by columns. Returns 0, or the row where the factorisation failed.
    """
    return lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=0)[1]


@accelerates(linalg.symmetric_product)
def symmetric_product(K: Array, v: Array) -> Array:
    """Only one triangle is read, which halves the time where memory is the bottleneck."""
    if v.ndim > 1 or not K.flags.forc or (len(K) < 500 and not always()):  # a small K fits in the cache
        return NotImplemented
    return blas.dsymv(1.0, K if K.flags.f_contiguous else K.T, v)  # K is symmetric


@accelerates(newton.newton_by_products)
def newton_by_products(K: Array, *rest: Any) -> tuple[Array | None, int]:
    """The same steps. For few points, a second thread would cost each product more time than it saves."""
    with one_thread(len(K) < 4000):
        return newton.newton_by_products.plain(K, *rest)  # type: ignore[attr-defined]


def add_multiple(f: Array, c: float, x: Array) -> None:
    """f += c x, in one pass over both; numpy takes two."""
    blas.daxpy(x, f, len(f), c)
