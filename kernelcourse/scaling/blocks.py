r"""Row blocks: products with a Gram matrix that is never formed, in memory that does not depend on n.

`memory` is a number of bytes. It bounds what one block of rows takes, including its temporaries; what a method keeps
for itself (an m x m matrix, a vector of n weights) comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..estimators.base import prepared
from ..kernels.kernel import Kernel
from ..linalg import conjugate_gradients
from ..seam import definition
from ..validation import Array, real, slices, vector, warn, whole

__all__ = ["cg_ridge"]

MEMORY = 256 * 2**20
_COPIES = 4  # arrays of a block's size that a kernel's formula may hold at once


def row_bytes(columns: int) -> int:
    """The bytes that a row of `columns` kernel values takes, including the temporaries of a formula."""
    return 8 * columns * _COPIES


def block_rows(columns: int, *, memory: int = MEMORY) -> int:
    """The number of rows of `columns` kernel values in a block."""
    memory = whole(memory, "memory", at_least=1)
    row = row_bytes(columns)
    if memory < row:
        raise ValueError(f"memory must be at least {row} bytes, enough for one row of {columns} values, got {memory}")
    return memory // row


@definition
def row_blocks(n: int, columns: int, *, memory: int = MEMORY) -> Iterator[slice]:
    """Slices that cover the rows 0, ..., n - 1 in order."""
    return slices(n, block_rows(columns, memory=memory))


Shapes = tuple[tuple[int, ...], ...]


@definition
def sum_over_blocks(
    add: Callable[..., None], shapes: Shapes, features: Any, P: Any, y: Any, *, memory: int = MEMORY
) -> list[Any]:
    """Sums of these shapes over all points; `add(sums, Phi, y)` adds the terms of a block of features and targets."""
    sums = [np.zeros(shape) for shape in shapes]
    for block in row_blocks(len(P), features.m, memory=memory):
        add(sums, features.rows(P[block]), y[block])
    return sums


def cg_ridge(
    kernel: Kernel, X: Any, t: Any, *, ridge: float, tol: float = 1e-8, max_iterations: int = 1000, memory: int = MEMORY
) -> tuple[Array, int]:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ (lecture B, eq. 10) by conjugate gradients, without forming K.

    Each iteration computes K again, block by block: $O(n^2 d)$ time, but memory for only a block and five vectors.
    After j iterations the error has fallen like $((\sqrt\kappa - 1)/(\sqrt\kappa + 1))^j$ or faster; $\kappa$ is
    the condition number of $K + \text{ridge}\, I$. It stops when $\lVert t - (K + \text{ridge}\, I) a\rVert \le$ `tol`
    $\lVert t\rVert$, and warns if it never reaches this. Returns `a` and the number of iterations.

    >>> from kernelcourse.kernels import Linear
    >>> cg_ridge(Linear(), [[1.0], [2.0]], [3.0, 6.0], ridge=5.0)
    (array([0.3, 0.6]), 1)
    """
    P = prepared(kernel, X)
    t, ridge = vector(t, "t", length=len(P)), real(ridge, "ridge", above=0)
    tol, max_iterations = real(tol, "tol", above=0), whole(max_iterations, "max_iterations", at_least=1)
    entries = len(P) * block_rows(len(P), memory=memory)

    def times(a: Array) -> Array:
        return kernel.expand(P, P, a, entries=entries) + ridge * a

    a, residuals = conjugate_gradients(times, t, iterations=max_iterations, tol=tol)
    if residuals and residuals[-1] > tol:
        warn(
            f"cg_ridge: relative residual {residuals[-1]:.1e} > tol={tol:g} after {len(residuals)} iterations; "
            "a larger ridge needs fewer iterations"
        )
    return a, len(residuals)
