"""How large matrices of kernel values are filled: a slab of rows at a time, one triangle of a Gram matrix, in threads.

A slab is still in the processor's cache when its next operation comes, and what is computed on and above the diagonal
is copied to below it: no Gram matrix is filled twice, and each is symmetric to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from .. import fast
from ..validation import Array

ENTRIES = 2**18  # of a slab: 2 MB
MOST_COLUMNS = 32  # with more, one matrix product is faster than the difference of every pair


def of_products(X: Array, Z: Array, profile: Callable[[Array], Array]) -> Array:
    r"""`profile` of all $x_i^\top z_j$."""
    K = inner_products(X, Z)

    def change(rows: slice, columns: slice) -> None:
        K[rows, columns] = profile(K[rows, columns])

    return _in_slabs(K, change, symmetric=Z is X)


def of_distances(X: Array, Z: Array, metric: str, profile: Callable[[Array], Array]) -> Array:
    """`profile` of all distances, each computed from its own difference: nothing cancels."""
    from scipy.spatial.distance import cdist

    K = np.empty((len(X), len(Z)))

    def change(rows: slice, columns: slice) -> None:
        K[rows, columns] = profile(cdist(X[rows], Z[columns], metric))

    return _in_slabs(K, change, symmetric=Z is X)


def exp_of_squared_distances(X: Array, Z: Array, factor: float) -> Array:
    r"""All $\exp(\text{factor}\, \lVert x_i - z_j \rVert^2)$, where factor < 0.

    Without compiled loops, $\lVert x_i\rVert^2 - 2 x_i^\top z_j + \lVert z_j\rVert^2$ takes all distances from one
    product. Its rounding stays below 1e-10 in the exponent; where it would not, each distance is computed by itself.
    """
    if (loops := _loops(X, Z)) is not None:
        return _compiled(loops, X, Z, factor, squared=True)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0)  # distances do not change, but far from the origin the three terms would cancel badly
        A = X - mean
        B = A if Z is X else Z - mean
        a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        rounding = np.finfo(float).eps * (a.max() + b.max())
    if not rounding * -factor < 0.5e-10:
        return of_distances(X, Z, "sqeuclidean", lambda D: _exp(D, factor))
    K = inner_products(A, B)

    def change(rows: slice, columns: slice) -> None:
        D = K[rows, columns]
        D *= -2
        D += b[columns]
        D += a[rows, None]
        np.maximum(D, 0, out=D)
        if Z is X:
            np.fill_diagonal(D, 0)  # the slab begins on the diagonal
        _exp(D, factor)

    return _in_slabs(K, change, symmetric=Z is X)


def exp_of_absolute_distances(X: Array, Z: Array, factor: float) -> Array:
    r"""All $\exp(\text{factor}\, \lVert x_i - z_j \rVert_1)$, where factor < 0."""
    if (loops := _loops(X, Z)) is not None:
        return _compiled(loops, X, Z, factor, squared=False)
    return of_distances(X, Z, "cityblock", lambda D: _exp(D, factor))


def nearest_points(X: Array, Z: Array, kappa: int) -> NDArray[np.intp]:
    r"""For each $x_i$ the indices of its `kappa` nearest $z_j$, the nearest first; equally near ones stay in order.

    Without compiled loops, one matrix product finds for each row all that can be among the nearest, up to its rounding;
    the distances of those few decide.
    """
    nearest = np.empty((len(X), kappa), dtype=np.intp)
    if (loops := _loops(X, Z)) is not None:
        X_, Z_T = fast.in_rows(X), fast.in_rows(Z.T)

        def work(rows: slice) -> None:
            loops.nearest_points(X_, Z_T, nearest, rows.start, rows.stop)

        fast.in_threads(work, fast.slabs(len(X), len(Z), ENTRIES), len(X) * len(Z))
        return nearest
    mean = Z.mean(axis=0)
    A, B = X - mean, Z - mean
    a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    slack = 1e-14 * X.shape[1] * (a + b.max())
    A, B = np.column_stack([A, np.ones(len(A))]), np.column_stack([B, -b / 2])
    for rows in fast.slabs(len(X), len(Z)):
        S = A[rows] @ B.T  # half of |x|^2 - |x - z|^2
        i, j = np.divmod(np.flatnonzero((_reached(S, kappa) - slack[rows])[:, None] <= S), len(Z))
        distances = np.square(X[rows][i] - Z[j]).sum(axis=1)
        order = np.lexsort((distances, i))  # by rows, the nearest first; a stable sort, so equals stay in order
        first = np.searchsorted(i, np.arange(len(S)))
        nearest[rows] = j[order][first[:, None] + np.arange(kappa)]
    return nearest


def _reached(S: Array, kappa: int, block: int = 64) -> Array:
    """In each row, a number that at least `kappa` entries reach and few others: the kappa-th of the blocks' maxima."""
    m, n = S.shape
    if n < 4 * kappa * block:
        return np.partition(S, n - kappa, axis=1)[:, n - kappa]
    maxima = S[:, : n - n % block].reshape(m, -1, block).max(axis=2)
    return np.partition(maxima, -kappa, axis=1)[:, -kappa]


def inner_products(X: Array, Z: Array) -> Array:
    r"""All $x_i^\top z_j$; where Z is X, only those on and above the diagonal, and 0 below it."""
    if Z is not X:
        return X @ Z.T
    return blas.dsyrk(1.0, np.ascontiguousarray(X).T, trans=1, lower=1).T


def _exp(D: Array, factor: float) -> Array:
    D *= factor
    return np.exp(D, out=D)


def _in_slabs(K: Array, change: Callable[[slice, slice], None], *, symmetric: bool) -> Array:
    """Change K in place, slab by slab; of a symmetric K what lies below the diagonal follows from what lies above."""
    n, m = K.shape

    def work(rows: slice) -> None:
        change(rows, slice(rows.start if symmetric else 0, m))
        if symmetric:
            square = K[rows, rows]
            below = np.tri(len(square), k=-1, dtype=bool)
            square[below] = square.T[below]
            K[rows.stop :, rows] = K[rows, rows.stop :].T

    fast.in_threads(work, fast.slabs(n, m, ENTRIES), n * m)
    return K


def _loops(X: Array, Z: Array) -> fast.Loops:
    return fast.compiled(len(X) * len(Z)) if X.shape[1] <= MOST_COLUMNS else None


def _compiled(loops: fast.Loops, X: Array, Z: Array, factor: float, *, squared: bool) -> Array:
    K = np.empty((len(X), len(Z)))
    X_, Z_T = fast.in_rows(X), fast.in_rows(Z.T)

    def work(rows: slice) -> None:
        loops.exp_of_distances(X_, Z_T, K, rows.start, rows.stop, Z is X, squared, factor)

    fast.in_threads(work, fast.slabs(len(X), len(Z), ENTRIES), K.size)
    return K
