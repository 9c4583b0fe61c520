r"""Ridge regression with m features and any number of points: one pass, an m x m matrix, one system."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from ..linalg import add_squares
from ..validation import Array, real, vector, warn
from .blocks import MEMORY, Rows, sum_over_blocks
from .engine import map_sum, numbers
from .maps import FeatureMap


def normal_equations(features: FeatureMap, X: Any, t: Any, *, memory: int = MEMORY) -> tuple[Array, Array]:
    r"""$\Phi^\top\Phi$ (its lower triangle; the rest is not touched) and $\Phi^\top t$, block by block of rows.

    A block of $\Phi$ is made, added to the matrix by one symmetric rank update (BLAS `syrk`) and forgotten.

    >>> from kernelcourse.kernels import Linear
    >>> from kernelcourse.scaling.maps import LandmarkFeatures
    >>> normal_equations(LandmarkFeatures(Linear(), [[1.0]]), np.array([[1.0], [2.0]]), np.array([3.0, 6.0]))
    (array([[5.]]), array([15.]))
    """

    t = vector(t, "t", length=len(X))

    def work(blocks: Iterable[Rows]) -> tuple[Array, Array]:
        G, b = np.zeros((features.m, features.m), order="F"), np.zeros(features.m)
        for block, Phi in blocks:
            add_squares(G, Phi)
            b += t[block] @ Phi
        return G, b

    G, b = sum_over_blocks(work, features, X, memory=memory)
    return G, b


def factor_with_nugget(A: Array) -> Array:
    r"""The lower Cholesky factor of A with a little added to its diagonal, in place; only A's lower triangle is read.

    What is added is of the size of the rounding errors that A carries already. A nearly singular positive semidefinite
    matrix, as $K_{ZZ}$ is for every smooth kernel, becomes positive definite by it.
    """
    nugget = max(np.finfo(float).eps * float(np.trace(A)), np.finfo(float).tiny)
    diagonal = np.einsum("ii->i", A)
    if not np.isfinite(nugget):
        raise OverflowError("the matrix to factor has entries too large for a float: scale the data down")
    for _ in range(8):
        diagonal += nugget
        factor, failed = linalg.lapack.dpotrf(A, lower=1, clean=0)
        if not failed:
            return factor
        nugget *= 10
    raise ValueError("the penalty matrix is not positive semidefinite: no kernel makes such a matrix")


def feature_ridge(features: FeatureMap, X: Any, t: Any, *, ridge: float, memory: int = MEMORY) -> Array:
    r"""The w that minimises $\frac12 \lVert t - \Phi w\rVert^2 + \frac{\text{ridge}}{2} w^\top P\, w$, in one pass:

    $$(\Phi^\top\Phi + \text{ridge}\, P)\, w = \Phi^\top t.$$

    With landmarks this is Nyström ridge regression, $(K_{ZX} K_{XZ} + \text{ridge}\, K_{ZZ})\, w = K_{ZX}\, t$; with
    every point a landmark it is kernel ridge regression. Time $O(nm^2)$, memory $O(m^2)$ and a block of rows.

    Forming $\Phi^\top\Phi$ squares the condition number $\kappa$ of $\tilde K + \text{ridge}\, I$. A warning says where
    $\kappa^2$ eats up the digits that there are; `falkon` does not square it.

    >>> from kernelcourse.kernels import Linear
    >>> from kernelcourse.scaling.maps import LandmarkFeatures
    >>> feature_ridge(LandmarkFeatures(Linear(), [[1.0]]), np.array([[1.0], [2.0]]), np.array([3.0, 6.0]), ridge=5.0)
    array([1.5])
    """
    ridge, t = real(ridge, "ridge", above=0), numbers(t, X)
    G, b = map_sum(partial(normal_equations, features, memory=memory), X, t)
    P = features.penalty()
    # The eigenvalues of K~ = Phi P^-1 Phi' are about those of P times n / m; its trace bounds the largest.
    condition = np.trace(G) / max(np.trace(P), np.finfo(float).tiny) / ridge
    if condition**2 * np.finfo(float).eps > 1e-2:
        warn(
            f"ridge={ridge:g} leaves a condition number of about {condition:.0e}, and the normal equations square it: "
            "few digits are left. A larger ridge avoids this, and so does Falkon with enough iterations"
        )
    P *= ridge
    G += P
    del P
    return linalg.cho_solve((factor_with_nugget(G), True), b, overwrite_b=True, check_finite=False)
