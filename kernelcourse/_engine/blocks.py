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
from ..scaling import blocks
from ..seam import accelerates, always
from ..validation import Array, slices
from . import gram, threads
from .steps import first_of_rows, reached

CACHE = 6 * 2**20  # bytes of the processor's cache that a block of rows may take


@accelerates(classifiers.nearest_points, rtol=0, atol=0)
def nearest_points(X: Array, Z: Array, kappa: int, metric: str) -> NDArray[np.intp]:
    """Compiled loops or matrix products, without a matrix of all distances; other metrics in slabs of rows.

    The product finds all candidates, allowing for its rounding; exact distances then decide among these few.
    """
    if metric != "euclidean":
        from scipy.spatial.distance import cdist

        distances = (cdist(X[rows], Z, metric) for rows in threads.slabs(len(X), len(Z)))
        return np.concatenate([neighbors.nearest(D, kappa) for D in distances])
    nearest = np.empty((len(X), kappa), dtype=np.intp)
    if (loops := gram.loops_for(X, Z)) is not None:
        gram.by_rows(loops.nearest_points, X, Z, nearest)
        return nearest
    mean = Z.mean(axis=0)
    A, B = X - mean, Z - mean
    a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    slack = 1e-14 * X.shape[1] * (a + b.max())
    A, B = np.column_stack([A, np.ones(len(A))]), np.column_stack([B, -b / 2])
    for rows in threads.slabs(len(X), len(Z)):
        S = A[rows] @ B.T  # half of |x|^2 - |x - z|^2
        i, j = np.divmod(np.flatnonzero((reached(S, kappa) - slack[rows])[:, None] <= S), len(Z))
        in_doubt = len(i) > kappa * len(S)  # or two values of a row are too close for their order to be certain
        if not in_doubt:
            in_doubt = (np.diff(np.sort(S[i, j].reshape(-1, kappa), axis=1)) <= slack[rows, None]).any()
        keys = np.square(X[rows][i] - Z[j]).sum(axis=1) if in_doubt else -S[i, j]
        nearest[rows] = first_of_rows(i, j, keys, kappa)
    return nearest


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
    count = max(threads.workers(), 2 * always())
    if count < 2 or len(list(row_blocks(len(P), features.m, memory=memory))) < 2:
        return NotImplemented
    one = partial(blocks.sum_over_blocks.plain, memory=max(memory // count, blocks.row_bytes(features.m)))  # type: ignore[attr-defined]
    jobs = [partial(one, add, shapes, features, P[rows], y[rows]) for rows in slices(len(P), -(-len(P) // count))]
    return [reduce(iadd, sums) for sums in zip(*threads.side_by_side(jobs), strict=True)]  # added in place to the first
