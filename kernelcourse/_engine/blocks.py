"""Sums over blocks of rows, in threads, and neighbours without a matrix of all distances."""

from collections.abc import Callable, Iterator
from functools import partial, reduce
from operator import iadd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import neighbors
from ..estimators import classifiers
from ..kernels.kernel import Kernel
from ..kernels.vectors import squared_norms
from ..scaling import blocks
from ..seam import accelerates, always
from ..validation import Array, slices
from . import threads
from .steps import first_of_rows, reached

MOST_COLUMNS = 4  # with more, a tree compares most pairs of points
WORTH_A_TREE = 250  # points per column
MORE = 3  # neighbours that a tree finds beyond those needed, because some may be equally near
SPARE = 5  # and products, after which all points have to be looked at
IN_THREADS = 4000  # points whose neighbours a tree finds in threads; for fewer, these gain little and start late
PAIRS = 2**17  # of points, whose products are compared at a time: 1 MB
HIGH = 256  # points at most, whose neighbours are looked for together
CACHE = 6 * 2**20  # bytes of the processor's cache that the blocks of all threads may take


@accelerates(classifiers.nearest_points, rtol=0, atol=0)
def nearest_points(X: Array, Z: Array, kappa: int, metric: str) -> NDArray[np.intp]:
    """A tree or matrix products find all candidates, allowing for rounding; exact distances decide among these few.

    For other metrics, all distances are computed, in slabs of rows.
    """
    if metric != "euclidean":
        from scipy.spatial.distance import cdist

        distances = (cdist(X[rows], Z, metric) for rows in threads.slabs(len(X), len(Z)))
        return np.concatenate([neighbors.nearest(D, kappa) for D in distances])
    d = X.shape[1]
    if d <= MOST_COLUMNS and (min(len(Z) // d, len(X)) >= WORTH_A_TREE or always()):
        return _by_a_tree(X, Z, kappa)
    return _among_all(X, Z, kappa)


def _by_a_tree(X: Array, Z: Array, kappa: int, more: int = MORE, tree: Any = None) -> NDArray[np.intp]:
    """Ask for a few more points than needed; where the last of them is as near as the last one needed, for many more,
    and where these are not enough, try all."""
    from scipy.spatial import cKDTree

    places, tree = np.arange(1, min(len(Z), kappa + more) + 1), tree or cKDTree(Z, balanced_tree=False)
    distances, found = tree.query(X, k=places, workers=threads.threads() if len(X) >= IN_THREADS else 1)
    found.sort(axis=1)  # so that equally near points stay in order
    in_doubt = distances[:, -1] <= (1 + 1e-9) * distances[:, kappa - 1]
    found[in_doubt] = 0
    squares = sum((x[:, None] - z[found]) ** 2 for x, z in zip(X.T, Z.T, strict=True))
    nearest = np.take_along_axis(found, np.argsort(squares, axis=1, kind="stable")[:, :kappa], axis=1)
    if in_doubt.any():
        retry = _among_all if more > MORE else partial(_by_a_tree, more=8 * MORE, tree=tree)
        nearest[in_doubt] = retry(X[in_doubt], Z, kappa)
    return nearest


def _among_all(X: Array, Z: Array, kappa: int) -> NDArray[np.intp]:
    places, loops = min(len(Z), kappa + SPARE), threads.compiled(len(X) * len(Z))
    nearest = np.empty((len(X), places), dtype=np.intp)
    mean = Z.mean(axis=0)
    kind: Any = np.float64
    far = 2 * mean @ mean > squared_norms(Z).mean()  # from the origin, so that sums would cancel

    def moved(P: Array, rows: Any, kind: Any = float) -> Array:
        return (P[rows] - mean if far else P[rows]).astype(kind, copy=False)

    def half_norms(P: Array) -> Array:
        return np.concatenate([squared_norms(moved(P, rows)) / 2 for rows in slices(len(P), HIGH)])

    half = half_norms(Z)
    sizes = 2 * (half_norms(X) + half.max())[:, None]
    rough = slack = 1e-14 * (X.shape[1] + 1) * sizes
    # Single precision takes half the time. Where one point is much farther out than the others, it decides too little.
    if 1e-15 < half.max() < 100 * half.mean() and sizes.max() < 1e30:
        kind, rough = np.float32, 2**-23 * (X.shape[1] + 4) * sizes

    def decide(own: NDArray[np.intp], i: NDArray[np.intp], j: NDArray[np.intp]) -> None:
        """Exact distances decide for these rows, whose candidates are the pairs own[i], j in order."""
        if loops is not None:
            squares = loops.squares_of_pairs(threads.in_rows(X), threads.in_rows(Z), own[i], j)
        else:
            few = slices(len(i), max(1, PAIRS // X.shape[1]))
            squares = np.concatenate([np.square(X[own[i[pairs]]] - Z[j[pairs]]).sum(axis=1) for pairs in few])
        nearest[own, :kappa] = first_of_rows(i, j, squares, kappa)

    def compare(own: NDArray[np.intp]) -> None:
        """In double precision, with all points at once."""
        A = moved(X, own)
        S = np.concatenate([A @ moved(Z, part).T for part in slices(len(Z), HIGH)], axis=1)
        S -= half  # half of |x|^2 - |x - z|^2
        i, j = np.divmod(np.flatnonzero(reached(S, kappa)[:, None] - slack[own] <= S), len(Z))
        keys, close = -S[i, j], np.zeros(len(own), dtype=bool)
        nearest[own, :kappa] = first_of_rows(i, j, keys, kappa)
        gaps = np.diff(keys[np.lexsort((keys, i))])  # between neighbours in order; i is sorted
        close[i[1:][(i[1:] == i[:-1]) & (gaps <= slack[own[i[1:]], 0])]] = True
        if close.any():
            decide(own[close], (np.cumsum(close) - 1)[i[close[i]]], j[close[i]])

    def work(rows: slice) -> None:
        own = np.arange(rows.start, rows.stop)
        if loops is not None:
            A, best = moved(X, rows, kind), np.full((len(own), places), -np.inf)
            for part in slices(len(Z), max(1, PAIRS // len(own))):
                S = A @ moved(Z, part, kind).T
                loops.insert_largest(S, half[part], part.start, best, nearest[rows])
            gaps = best[:, :-1] - best[:, 1:]
            close = (gaps[:, :kappa] <= rough[rows]).any(axis=1)  # too close to order
            found = best[:, kappa - 1] - best[:, -1] > rough[rows, 0]  # all candidates
            if len(some := own[close & found]):
                decide(some, np.repeat(np.arange(len(some)), places), np.sort(nearest[some], axis=1).ravel())
            own = own[close & ~found]
        for few in threads.slabs(len(own), len(Z)):
            compare(own[few])

    steps, height = len(X) * len(Z), HIGH
    if steps >= threads.WORTH_A_THREAD:
        height = min(HIGH, max(1, len(X) // (2 * threads.threads())))
    threads.in_threads(work, slices(len(X), height), steps, products=True)
    return nearest[:, :kappa]


@accelerates(classifiers.labels_in_feature_space, rtol=0, atol=0)
def labels_in_feature_space(kernel: Kernel, P: Any, Q: Any, labels: Any, kappa: int) -> Any:
    """Work in slabs of rows, so that no matrix of all kernel values is formed."""
    plain, slabs = classifiers.labels_in_feature_space.plain, threads.slabs(len(P), len(Q))  # type: ignore[attr-defined]
    return np.concatenate([plain(kernel, P[rows], Q, labels, kappa) for rows in slabs])


@accelerates(blocks.row_blocks)
def row_blocks(n: int, columns: int, *, memory: int = blocks.MEMORY) -> Iterator[slice]:
    """Smaller blocks, which stay in the processor's cache and are never written to memory."""
    return slices(n, min(blocks.block_rows(columns, memory=memory), max(64, CACHE // (8 * columns))))


@accelerates(blocks.sum_over_blocks, rtol=1e-10, atol=1e-10)
def sum_over_blocks(
    add: Callable[..., None], shapes: blocks.Shapes, features: Any, P: Any, y: Any, *, memory: int = blocks.MEMORY
) -> list[Any]:
    """Each thread takes a share of the rows; `memory` is the limit for all threads together."""
    several = len(list(row_blocks(len(P), features.m, memory=memory))) > 1
    if not several or (count := max(threads.workers(), 2 * always())) < 2:
        return NotImplemented
    each = max(min(memory, 4 * CACHE) // count, blocks.row_bytes(features.m))  # a fourth is for the block itself
    one = partial(blocks.sum_over_blocks.plain, memory=each)  # type: ignore[attr-defined]
    jobs = [partial(one, add, shapes, features, P[rows], y[rows]) for rows in slices(len(P), -(-len(P) // count))]
    return [reduce(iadd, sums) for sums in zip(*threads.side_by_side(jobs), strict=True)]  # added in place to the first
