r"""FALKON: Nyström ridge regression by conjugate gradients with a preconditioner from the landmarks alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from ..validation import Array, real, whole
from .blocks import MEMORY, Rows, conjugate_gradients, sum_over_blocks
from .engine import map_sum, numbers
from .maps import LandmarkFeatures
from .normal import factor_with_nugget


class FalkonFit(NamedTuple):
    """What `falkon` found."""

    w: Array  # a weight for each landmark
    iterations: int
    residuals: list[float]  # relative norms of the preconditioned residual, one an iteration


def falkon(
    features: LandmarkFeatures,
    X: Any,
    t: Any,
    *,
    ridge: float,
    iterations: int = 20,
    tol: float = 1e-7,
    memory: int = MEMORY,
) -> FalkonFit:
    r"""The w of `feature_ridge` without its $m \times m$ normal matrix (Rudi, Carratino and Rosasco 2017).

    With $K_{ZZ} = T^\top T$, $\frac{n}{m} T T^\top + \text{ridge}\, I = A^\top A$ and $w = T^{-1} A^{-1} \beta$ the
    normal equations become

    $$A^{-\top} \bigl(T^{-\top} K_{ZX} K_{XZ}\, T^{-1} + \text{ridge}\, I\bigr) A^{-1} \beta
      = A^{-\top} T^{-\top} K_{ZX}\, t.$$

    Where the landmarks are like the other points, $K_{ZX} K_{XZ} \approx \frac{n}{m} K_{ZZ}^2$, the matrix is close to
    the identity, and a dozen or two of iterations are enough whatever n. Each takes one pass over the points, $O(nm)$
    kernel values; the two Cholesky factors take $O(m^3)$. Stops after `iterations`, or at a residual of `tol`.

    >>> from kernelcourse.kernels import Linear
    >>> fit = falkon(LandmarkFeatures(Linear(), [[1.0]]), np.array([[1.0], [2.0]]), np.array([3.0, 6.0]), ridge=5.0)
    >>> fit.w, fit.iterations
    (array([1.5]), 1)
    """
    ridge, tol = real(ridge, "ridge", above=0), real(tol, "tol", at_least=0)
    iterations, t = whole(iterations, "iterations", at_least=1), numbers(t, X)
    n, m = len(X), features.m
    T = np.triu(factor_with_nugget(features.penalty()).T)
    S = T @ T.T
    S *= n / m
    S.flat[:: m + 1] += ridge
    A = linalg.cholesky(S, lower=False, overwrite_a=True, check_finite=False)

    def solve(U: Array, v: Array, *, transposed: bool) -> Array:
        return linalg.solve_triangular(U, v, trans=int(transposed), check_finite=False)

    def to_weights(beta: Array) -> Array:
        return solve(T, solve(A, beta, transposed=False), transposed=False)

    def times(beta: Array) -> Array:
        u = solve(A, beta, transposed=False)
        (product,) = map_sum(partial(_round_trip, features, solve(T, u, transposed=False), memory=memory), X, t)
        return solve(A, solve(T, product, transposed=True) + ridge * u, transposed=True)

    (target,) = map_sum(partial(_transposed, features, memory=memory), X, t)
    b = solve(A, solve(T, target, transposed=True), transposed=True)
    beta, residuals = conjugate_gradients(times, b, iterations=iterations, tol=tol)
    return FalkonFit(to_weights(beta), len(residuals), residuals)


def _round_trip(features: LandmarkFeatures, w: Array, X: Any, t: Any, *, memory: int) -> tuple[Array]:
    r"""$K_{ZX} K_{XZ}\, w$: each block of kernel values serves twice."""

    def work(blocks: Iterable[Rows]) -> tuple[Array]:
        product = np.zeros(features.m)
        for _, Phi in blocks:
            product += (Phi @ w) @ Phi
        return (product,)

    (product,) = sum_over_blocks(work, features, X, memory=memory)
    return (product,)


def _transposed(features: LandmarkFeatures, X: Any, t: Any, *, memory: int) -> tuple[Array]:
    r"""$K_{ZX}\, t$."""

    def work(blocks: Iterable[Rows]) -> tuple[Array]:
        product = np.zeros(features.m)
        for block, Phi in blocks:
            product += t[block] @ Phi
        return (product,)

    (product,) = sum_over_blocks(work, features, X, memory=memory)
    return (product,)
