"""How large matrices of kernel values are filled: tile by tile, one triangle of a Gram matrix, in threads.

A tile stays in a processor's cache while one operation after the other passes over it, and what is computed on and
above the diagonal is copied to below it: no Gram matrix is filled twice, and each is symmetric to the last digit.
Where only the product of a matrix with some weights is wanted, its tiles are used and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from .. import fast
from ..validation import Array

ENTRIES = 2**17  # of a tile in a matrix, some rows of it: 1 MB
ROWS, COLUMNS = 48, 256  # of a tile that is used and forgotten: 96 kB
SMALL_PRODUCT = 2**18  # multiplications that OpenBLAS does in one thread: so ours need not wait for its own
MOST_COLUMNS = 32  # with more, one matrix product is faster than the difference of every pair

Tile = Callable[[slice, slice], Array]  # the values for some rows and columns, which the caller may change


def of_products(X: Array, Z: Array, profile: Callable[[Array], Array]) -> Array:
    r"""`profile` of all $x_i^\top z_j$."""
    K = _inner_products(X, Z)
    return _fill(K, lambda rows, columns: profile(K[rows, columns]), symmetric=Z is X)


def of_distances(X: Array, Z: Array, metric: str, profile: Callable[[Array], Array]) -> Array:
    """`profile` of all distances, each computed from its own difference: nothing cancels."""
    return _fill(np.empty((len(X), len(Z))), _distances(X, Z, metric, profile), symmetric=Z is X)


def exp_of_squared_distances(X: Array, Z: Array, factor: float) -> Array:
    r"""All $\exp(\text{factor}\, \lVert x_i - z_j \rVert^2)$, where factor < 0.

    Without compiled loops, $\lVert x_i\rVert^2 - 2 x_i^\top z_j + \lVert z_j\rVert^2$ takes all distances from one
    product. Its rounding stays below 1e-10 in the exponent; where it would not, each distance is computed by itself.
    """
    if (loops := _loops(X, Z)) is not None:
        return _compiled(loops, X, Z, factor, squared=True)
    return _fill(*_exp_of_squared_distances(X, Z, factor), symmetric=Z is X)


def exp_of_absolute_distances(X: Array, Z: Array, factor: float) -> Array:
    r"""All $\exp(\text{factor}\, \lVert x_i - z_j \rVert_1)$, where factor < 0."""
    if (loops := _loops(X, Z)) is not None:
        return _compiled(loops, X, Z, factor, squared=False)
    return of_distances(X, Z, "cityblock", lambda D: _exp(D, factor))


def weighted_exp_of_distances(X: Array, Z: Array, weights: Array, factor: float, *, squared: bool) -> Array:
    """The matrix of `exp_of_squared_distances`, or of absolute ones, times weights, without the matrix."""
    if (loops := _loops(X, Z)) is not None:
        X_, Z_T = fast.in_rows(X), fast.in_rows(Z.T)
        columns = fast.in_rows(weights.reshape(len(Z), -1).T)
        sums = np.zeros((len(X), len(columns)))

        def work(rows: slice) -> None:
            loops.weighted_exp_of_distances(X_, Z_T, columns, sums, rows.start, rows.stop, squared, factor)

        fast.in_threads(work, fast.slabs(len(X), len(Z), ENTRIES), len(X) * len(Z))
        return sums.reshape(len(X), *weights.shape[1:])
    if not squared:
        return _weigh(_distances(X, Z, "cityblock", lambda D: _exp(D, factor)), len(X), weights)
    if X.shape[1] * ROWS * COLUMNS <= SMALL_PRODUCT:
        return _weigh(_exp_of_squared_distances(X, Z, factor, at_once=False)[1], len(X), weights)
    parts = [X[rows] for rows in fast.slabs(len(X), len(Z))]
    return np.concatenate([exp_of_squared_distances(part, Z, factor) @ weights for part in parts])


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


def _inner_products(X: Array, Z: Array, scale: float = 1.0) -> Array:
    r"""All $x_i^\top z_j$ times `scale`; where Z is X, only those on and above the diagonal, and 0 below it."""
    if Z is X:
        return blas.dsyrk(scale, np.ascontiguousarray(X).T, trans=1, lower=1).T
    return (X if scale == 1 else scale * X) @ Z.T


def _exp_of_squared_distances(X: Array, Z: Array, factor: float, *, at_once: bool = True) -> tuple[Array, Tile]:
    """Room for the matrix, and its tiles: from one product for all, or from one for each."""
    room = np.empty((len(X), len(Z))) if at_once else np.empty((0, 0))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0)  # distances do not change, but far from the origin the three terms would cancel badly
        A = X - mean
        B = A if Z is X else Z - mean
        a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        rounding = np.finfo(float).eps * (a.max() + b.max())
    if not rounding * -factor < 0.5e-10:
        return room, _distances(X, Z, "sqeuclidean", lambda D: _exp(D, factor))
    if at_once:
        room = _inner_products(A, B, -2 * factor)
    a, b, A, B_T = factor * a, factor * b, -2 * factor * A, np.ascontiguousarray(B.T)

    def tile(rows: slice, columns: slice) -> Array:
        D = room[rows, columns] if at_once else A[rows] @ B_T[:, columns]
        D += b[columns]
        D += a[rows, None]
        np.minimum(D, 0, out=D)
        if at_once and Z is X:
            np.fill_diagonal(D, 0)  # where the tile begins
        return np.exp(D, out=D)

    return room, tile


def _distances(X: Array, Z: Array, metric: str, profile: Callable[[Array], Array]) -> Tile:
    from scipy.spatial.distance import cdist

    return lambda rows, columns: profile(cdist(X[rows], Z[columns], metric))


def _exp(D: Array, factor: float) -> Array:
    D *= factor
    return np.exp(D, out=D)


def _fill(K: Array, tile: Tile, *, symmetric: bool) -> Array:
    """Put the tiles into K, in threads; of a symmetric K what lies below the diagonal follows from what lies above."""
    n, m = K.shape

    def work(rows: slice) -> None:
        columns = slice(rows.start if symmetric else 0, m)
        K[rows, columns] = tile(rows, columns)
        if symmetric:
            square = K[rows, rows]
            below = np.tri(len(square), k=-1, dtype=bool)
            square[below] = square.T[below]
            K[rows.stop :, rows] = K[rows, rows.stop :].T

    fast.in_threads(work, fast.slabs(n, m, ENTRIES), n * m)
    return K


def _weigh(tile: Tile, n: int, weights: Array) -> Array:
    """The sums over all columns of tile values times weights, in threads."""
    sums = np.zeros((n, *weights.shape[1:]))

    def work(rows: slice) -> None:
        for columns in _cut(0, len(weights), COLUMNS):
            # not `@`, which for a vector would start threads of its own
            sums[rows] += np.einsum("ij,j...->i...", tile(rows, columns), weights[columns])

    fast.in_threads(work, _cut(0, n, ROWS), n * len(weights))
    return sums


def _cut(first: int, last: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, last)) for start in range(first, last, size)]


def _loops(X: Array, Z: Array) -> fast.Loops:
    return fast.compiled(len(X) * len(Z)) if X.shape[1] <= MOST_COLUMNS else None


def _compiled(loops: fast.Loops, X: Array, Z: Array, factor: float, *, squared: bool) -> Array:
    K = np.empty((len(X), len(Z)))
    X_, Z_T = fast.in_rows(X), fast.in_rows(Z.T)

    def work(rows: slice) -> None:
        loops.exp_of_distances(X_, Z_T, K, rows.start, rows.stop, Z is X, squared, factor)

    fast.in_threads(work, fast.slabs(len(X), len(Z), ENTRIES), K.size)
    return K
