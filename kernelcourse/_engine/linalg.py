"""Linear algebra in place: LAPACK and BLAS where numpy would copy, or read both triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from .. import linalg, validation
from ..algorithms import newton
from ..linalg import EPS, largest_row_sum, norm_in_doubt, nuggets, solve_by_eigenvalues
from ..seam import accelerates, always
from ..validation import Array, slices
from .threads import compiled, in_threads, one_thread

TILE = 128  # rows and columns of a matrix that are compared at a time


@accelerates(validation.square)
def square(K: Any, name: str = "K") -> Any:
    """Fast path: K itself if it is finite and exactly symmetric; otherwise the full checks word the error."""
    if type(K) is not np.ndarray or K.dtype != np.float64 or K.ndim != 2 or K.shape[0] != K.shape[1]:
        return NotImplemented
    if not K.size or not (K.flags.c_contiguous and K.flags.writeable):
        return NotImplemented
    if (loops := compiled(K.size)) is None:
        return K if np.isfinite(K.sum()) and validation.is_symmetric(K) else NotImplemented
    seen: list[bool] = []
    in_threads(lambda rows: seen.append(loops.symmetric(K, rows.start, rows.stop)), _tiles(K), K.size)
    return K if all(seen) else NotImplemented


@accelerates(validation.is_symmetric)
def is_symmetric(K: Array, slack: float = 0.0) -> bool:
    """Tile by tile: a tile and its mirror image fit into the processor's cache, and no second matrix is needed."""
    if K.size < TILE**2 and not always():
        return NotImplemented
    apart: list[slice] = []

    def compare(rows: slice) -> None:
        for columns in _tiles(K)[rows.start // TILE :]:
            one, other = K[rows, columns], K[columns, rows].T
            if not apart and not (np.array_equal(one, other) if slack == 0 else np.abs(one - other).max() <= slack):
                apart.append(rows)

    in_threads(compare, _tiles(K), K.size)
    return not apart


def _tiles(K: Array) -> list[slice]:
    return list(slices(len(K), TILE))


@accelerates(linalg.solve_ridge, rtol=1e-9, atol=1e-9)
def solve_ridge(K: Array, t: Array, ridge: float, *, overwrite: bool = False, quiet: bool = False) -> Array:
    """The factor takes the place of K, or of one copy; its condition is estimated from the factor."""
    A = K if overwrite and K.flags.c_contiguous and K.flags.writeable else np.array(K, order="C", dtype=float)
    diagonal = np.diag(A) + ridge
    np.fill_diagonal(A, diagonal)
    norm, reciprocal_condition = norm_in_doubt(A, ridge), 0.0
    if not factor(A):
        reciprocal_condition = float(lapack.dpocon(A.T, norm, uplo="L")[0]) if norm > 0 else np.inf
        if reciprocal_condition > len(A) * EPS:
            return lapack.dpotrs(A.T, t, lower=1)[0]
    np.fill_diagonal(A, diagonal)  # the lower triangle, which is all that is read from here on, is as it was
    return solve_by_eigenvalues(A, t, ridge, reciprocal_condition, quiet=quiet)


@accelerates(linalg.solve_ridges, rtol=1e-8, atol=1e-8)
def solve_ridges(K: Array, t: Array, ridges: Array) -> Array:
    r"""All ridges from one reduction $K = Q T Q^\top$.

    T is tridiagonal. The reduction takes about a third of the time of the eigendecomposition. As
    $(K + \text{ridge}\, I)^{-1} t = Q (T + \text{ridge}\, I)^{-1} Q^\top t$, each ridge then needs one system that is
    solved in O(n). Ridges close to the rounding error of K are left to the definition.
    """
    n = len(K)
    if n == 1 or np.min(ridges) <= 1e3 * n * EPS * largest_row_sum(K):
        return NotImplemented
    H, d, e, tau, _ = lapack.dsytrd(K, lower=1, lwork=int(lapack.dsytrd_lwork(n, lower=1)[0]))
    # Q does not change the first entry. On the others it is a product of reflections, which H holds below its diagonal.
    # They are moved together in place, column by column: a copy would be as large as K.
    flat = H.ravel(order="K")
    for j in range(n - 1):
        flat[j * (n - 1) : (j + 1) * (n - 1)] = flat[j * n + 1 : (j + 1) * n]
    reflections = flat[: (n - 1) ** 2].reshape(n - 1, n - 1, order="F")

    def rotate(B: Array, trans: str) -> Array:
        below = np.asfortranarray(B[1:])
        room = int(lapack.dormqr("L", trans, reflections, tau, below, -1)[1][0])
        return np.vstack([B[:1], lapack.dormqr("L", trans, reflections, tau, below, room)[0]])

    s = rotate(t[:, None], "T")[:, 0]
    solved = np.empty((n, len(ridges)))
    for j, ridge in enumerate(ridges):
        _, _, solved[:, j], failed = lapack.dptsv(d + ridge, e, s)
        if failed:
            return NotImplemented
    return rotate(solved, "N")


@accelerates(linalg.cholesky, rtol=1e-9, atol=1e-9)
def cholesky(A: Array) -> Array:
    """In place of one copy of A, stored by columns."""
    for nugget in nuggets(A):
        L = np.array(A, order="F", dtype=float)
        L.flat[:: len(L) + 1] += nugget
        L, failed = lapack.dpotrf(L, lower=1, overwrite_a=1)
        if not failed:
            return L
    return NotImplemented


@accelerates(linalg.triangular_solve, rtol=1e-9, atol=1e-9)
def triangular_solve(L: Array, b: Array, *, transposed: bool = False) -> Array:
    """By substitution: a triangular matrix needs no factorisation."""
    return solve_triangular(L, b, lower=True, trans=int(transposed), check_finite=False)


@accelerates(linalg.add_squares)
def add_squares(G: Array, Phi: Array) -> Any:
    """BLAS's `dsyrk`: half of the products and no second matrix."""
    m = Phi.shape[1]
    if not Phi.size or G.shape != (m, m) or G.dtype != float or not G.flags.f_contiguous or not G.flags.writeable:
        return NotImplemented
    blas.dsyrk(1.0, np.ascontiguousarray(Phi, dtype=float).T, beta=1.0, c=G, lower=1, overwrite_c=1)
    return None


def factor(A: Array) -> int:
    r"""Overwrite A, which is stored by rows, with its Cholesky factor on and above the diagonal.

    The factor is L transposed, because LAPACK stores by columns. Returns 0, or the row where the factorisation failed.
    """
    return lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=0)[1]


@accelerates(linalg.symmetric_product)
def symmetric_product(K: Array, v: Array) -> Array:
    """Only one triangle is read: half the time where memory is the limit."""
    if v.ndim > 1 or not K.flags.forc or (len(K) < 500 and not always()):  # a small K is in the processor's cache
        return NotImplemented
    return blas.dsymv(1.0, K if K.flags.f_contiguous else K.T, v)  # K is symmetric


@accelerates(newton.newton_by_products)
def newton_by_products(K: Array, *rest: Any) -> tuple[Array | None, int]:
    """The same steps. For few points a second thread costs a product more time than it saves."""
    with one_thread(len(K) < 4000):
        return newton.newton_by_products.plain(K, *rest)  # type: ignore[attr-defined]


def add_multiple(f: Array, c: float, x: Array) -> None:
    """f += c x, in one pass over both; numpy takes two."""
    blas.daxpy(x, f, len(f), c)
