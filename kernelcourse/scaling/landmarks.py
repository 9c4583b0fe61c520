r"""Which points become landmarks: three ways to choose m of n. Each returns row numbers in increasing order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators.base import gram, take
from ..kernels.kernel import Kernel
from ..linalg import cholesky, triangular_solve
from ..validation import Array, generator, points, real, whole
from .blocks import MEMORY, row_blocks

__all__ = ["kmeans_landmarks", "leverage_landmarks", "leverage_scores", "uniform_landmarks"]


def _count(m: int, n: int) -> int:
    if whole(m, "m", at_least=1) > n:
        raise ValueError(f"m must be at most the number of points: got {m} landmarks for n_samples={n}")
    return int(m)


def uniform_landmarks(n: int, m: int, *, rng: Any = None) -> np.ndarray:
    """m of n row numbers, all sets equally likely.

    >>> uniform_landmarks(10, 3, rng=0)
    array([5, 6, 9])
    """
    return np.sort(generator(rng).choice(n, size=_count(m, n), replace=False))


def kmeans_landmarks(X: Any, m: int, *, rng: Any = None) -> np.ndarray:
    r"""The seeds of k-means++ (Arthur and Vassilvitskii 2007): each drawn with probability $\propto D(x)^2$,

    where $D(x)$ is the distance to the nearest seed drawn so far. The seeds spread out over all regions.
    It takes $O(nmd)$ time.

    >>> kmeans_landmarks([[0.0], [0.0], [9.0], [9.0]], 2, rng=0).tolist() in ([0, 2], [0, 3], [1, 2], [1, 3])
    True
    """
    X, rng = points(X), generator(rng)
    m = _count(m, len(X))
    chosen = [int(rng.integers(len(X)))]
    nearest = np.full(len(X), np.inf)
    while len(chosen) < m:
        difference = X - X[chosen[-1]]
        np.minimum(nearest, np.einsum("ij,ij->i", difference, difference), out=nearest)
        nearest[chosen] = 0.0  # even where rounding has left a distance
        if (total := nearest.sum()) > 0:
            chosen.append(int(rng.choice(len(X), p=nearest / total)))
        else:  # fewer than m different points: the rest are repeats of them
            chosen.append(int(rng.choice(np.setdiff1d(np.arange(len(X)), chosen))))
    return np.sort(chosen)


def leverage_scores(kernel: Kernel, X: Any, Z: Any, *, ridge: float, memory: int = MEMORY) -> Array:
    r"""Approximate ridge leverage scores $\ell_i = \bigl[K (K + \text{ridge}\, I)^{-1}\bigr]_{ii}$ from a pilot set Z,

    $$\hat\ell_i = \tfrac{1}{\text{ridge}} \bigl(k(x_i, x_i) - k_Z(x_i)^\top
      (K_{ZZ} + \tfrac{|Z|}{n} \text{ridge}\, I)^{-1} k_Z(x_i)\bigr)$$

    (Rudi, Calandriello, Carratino and Rosasco 2018), at most 1. A score says how badly the other points
    represent this one; with Z = X it is exact.

    >>> from kernelcourse.kernels import Linear
    >>> leverage_scores(Linear(), [[1.0], [2.0]], [[1.0], [2.0]], ridge=5.0)
    array([0.1, 0.4])
    """
    P, Q, ridge = kernel.prepare(X, "X"), kernel.prepare(Z, "Z"), real(ridge, "ridge", above=0)
    n, m = len(P), len(Q)
    K_ZZ = gram(kernel, Q)
    K_ZZ.flat[:: m + 1] += ridge * m / n
    L = cholesky(K_ZZ)
    scores = kernel.diagonal(P)
    for block in row_blocks(n, m, memory=memory):
        explained = triangular_solve(L, kernel.formula(P[block], Q).T)
        scores[block] -= np.einsum("ij,ij->j", explained, explained)
    return np.clip(scores / ridge, 0.0, 1.0)


def leverage_landmarks(
    kernel: Kernel, X: Any, m: int, *, ridge: float, rng: Any = None, memory: int = MEMORY
) -> np.ndarray:
    r"""m points drawn without repetition, with probabilities proportional to approximate leverage scores.

    The pilot set of the approximation consists of m points drawn uniformly.

    >>> from kernelcourse.kernels import Gaussian
    >>> len(leverage_landmarks(Gaussian(1.0), np.arange(20.0)[:, None], 5, ridge=0.1, rng=0))
    5
    """
    rng, m = generator(rng), _count(m, len(X))
    pilot = uniform_landmarks(len(X), m, rng=rng)
    scores = leverage_scores(kernel, X, take(X, pilot), ridge=ridge, memory=memory)
    scores += 1e-12 * scores.max() + np.finfo(float).tiny  # every point can be drawn, so that m of them can
    return np.sort(rng.choice(len(X), size=m, replace=False, p=scores / scores.sum()))
