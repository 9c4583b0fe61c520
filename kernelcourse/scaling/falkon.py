r"""FALKON: Nyström ridge regression by conjugate gradients with a preconditioner from the landmarks alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..validation import Array, real, whole
from .blocks import MEMORY, Rows, conjugate_gradients, sum_over_blocks
from .chunks import is_dask, map_sum, numbers
from .factors import cholesky, triangular
from .maps import LandmarkFeatures


class FalkonFit(NamedTuple):
    """What `falkon` found."""

    w: Array  # a weight for each landmark
    iterations: int
    residuals: list[float]  # relative norms of the preconditioned residual, one per iteration


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

    With $K_{ZZ} = L L^\top$, $\frac{n}{m} L^\top L + \text{ridge}\, I = A A^\top$ and $w = L^{-\top} A^{-\top} \beta$
    the normal equations become

    $$A^{-1} \bigl(L^{-1} K_{ZX} K_{XZ}\, L^{-\top} + \text{ridge}\, I\bigr) A^{-\top} \beta
      = A^{-1} L^{-1} K_{ZX}\, t.$$

    Where the landmarks are like the other points, $K_{ZX} K_{XZ} \approx \frac{n}{m} K_{ZZ}^2$, the matrix is close to
    the identity, and a dozen or two iterations are enough, whatever n is. Each takes one pass over the points, $O(nm)$
    kernel values; the two Cholesky factors take $O(m^3)$. Stops after `iterations`, or at a residual of `tol`.

    >>> from kernelcourse.kernels import Linear
    >>> fit = falkon(LandmarkFeatures(Linear(), [[1.0]]), np.array([[1.0], [2.0]]), np.array([3.0, 6.0]), ridge=5.0)
    >>> fit.w, fit.iterations
    (array([1.5]), 1)
    """
    ridge, tol = real(ridge, "ridge", above=0), real(tol, "tol", at_least=0)
    iterations, t = whole(iterations, "iterations", at_least=1), numbers(t, X)
    P = X if is_dask(X) else features.prepare(X)
    n, m = len(P), features.m
    L = cholesky(features.penalty())
    S = L.T @ L
    S *= n / m
    S.flat[:: m + 1] += ridge
    A = cholesky(S)
    del S

    def times(beta: Array) -> Array:
        u = triangular(A, beta, transposed=True)
        w = triangular(L, u, transposed=True)
        (product,) = map_sum(partial(_round_trip, w=w, memory=memory), features, P, t)
        return triangular(A, triangular(L, product) + ridge * u)

    (target,) = map_sum(partial(_round_trip, w=None, memory=memory), features, P, t)
    beta, residuals = conjugate_gradients(times, triangular(A, triangular(L, target)), iterations=iterations, tol=tol)
    w = triangular(L, triangular(A, beta, transposed=True), transposed=True)
    return FalkonFit(w, len(residuals), residuals)


def _round_trip(features: LandmarkFeatures, P: Any, t: Any, *, w: Array | None, memory: int) -> tuple[Array]:
    r"""$K_{ZX} K_{XZ}\, w$, for which each block of kernel values serves twice; without a w $K_{ZX}\, t$."""

    def work(blocks: Iterable[Rows]) -> tuple[Array]:
        product = np.zeros(features.m)
        for block, Phi in blocks:
            product += (t[block] if w is None else Phi @ w) @ Phi
        return (product,)

    (product,) = sum_over_blocks(work, features, P, memory=memory)
    return (product,)
