r"""Three models that take a feature map: ridge regression, logistic regression and the support vector machine.

For m features and any number of points, a pass over blocks of rows sums up an m x m matrix, and one linear system
gives a step. Ridge regression needs one pass; FALKON takes more passes but needs no such matrix. The other two minimise
$\sum_i \ell(y_i\, w^\top \phi(x_i)) + \frac{\text{ridge}}{2} w^\top P\, w$ over w, with labels $\pm 1$, by Newton's
method, with one pass per step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.logistic import logistic
from ..algorithms.newton import newton
from ..linalg import cholesky, cholesky_solve, conjugate_gradients, triangular_solve
from ..validation import Array, real, warn, whole
from .blocks import MEMORY
from .chunks import is_dask, labels, map_sum, numbers
from .maps import FeatureMap

__all__ = ["FalkonFit", "NewtonFit", "falkon", "feature_logistic", "feature_ridge", "feature_svm"]


def _add_normal_terms(sums: list[Array], Phi: Array, t: Array) -> None:
    r"""Add $\Phi^\top\Phi$ and $\Phi^\top t$."""
    G, b = sums
    G += Phi.T @ Phi
    b += t @ Phi


def _prepared(features: FeatureMap, X: Any) -> Any:
    """Points in memory, prepared once for all passes; the chunks of a dask array are prepared where they are."""
    return X if is_dask(X) else features.prepare(X)


def feature_ridge(features: FeatureMap, X: Any, t: Any, *, ridge: float, memory: int = MEMORY) -> Array:
    r"""The w that minimises $\frac12 \lVert t - \Phi w\rVert^2 + \frac{\text{ridge}}{2} w^\top P\, w$, in one pass:

    $$(\Phi^\top\Phi + \text{ridge}\, P)\, w = \Phi^\top t.$$

    With landmarks this is Nyström ridge regression, $(K_{ZX} K_{XZ} + \text{ridge}\, K_{ZZ})\, w = K_{ZX}\, t$; with
    every point a landmark it is kernel ridge regression. It takes $O(nm^2)$ time and $O(m^2)$ memory plus a block.

    Forming $\Phi^\top\Phi$ squares the condition number $\kappa$ of $\tilde K + \text{ridge}\, I$. It warns if
    $\kappa^2$ leaves too few digits; `falkon` does not square it.

    >>> from kernelcourse import LandmarkFeatures, Linear
    >>> feature_ridge(LandmarkFeatures(Linear(), [[1.0]]), np.array([[1.0], [2.0]]), np.array([3.0, 6.0]), ridge=5.0)
    array([1.5])
    """
    X, t, ridge = _prepared(features, X), numbers(t, X), real(ridge, "ridge", above=0)
    G, b = map_sum(_add_normal_terms, ((features.m, features.m), (features.m,)), features, X, t, memory=memory)
    _add_penalty(G, features.penalty(), ridge)
    return cholesky_solve(cholesky(G), b)


def _add_penalty(G: Array, P: Array, ridge: float) -> None:
    """Add ridge P to the normal matrix in place, and warn if too few digits will be left."""
    # The eigenvalues of K~ = Phi P^-1 Phi' are about those of P times n / m; its trace bounds the largest.
    condition = np.trace(G) / max(np.trace(P), np.finfo(float).tiny) / ridge
    if condition**2 * np.finfo(float).eps > 1e-2:
        warn(
            f"ridge={ridge:g} leaves a condition number of about {condition:.0e}, and the normal equations square it: "
            "few digits are left. A larger ridge avoids this, and so does Falkon with enough iterations"
        )
    P *= ridge
    G += P


class FalkonFit(NamedTuple):
    """The result of `falkon`."""

    w: Array  # a weight for each landmark
    iterations: int
    residuals: list[float]  # relative norms of the preconditioned residual, one per iteration


def falkon(
    features: FeatureMap, X: Any, t: Any, *, ridge: float, iterations: int = 20, tol: float = 1e-7, memory: int = MEMORY
) -> FalkonFit:
    r"""The w of `feature_ridge` without its $m \times m$ normal matrix (Rudi, Carratino and Rosasco 2017).

    With $K_{ZZ} = L L^\top$, $\frac{n}{m} L^\top L + \text{ridge}\, I = A A^\top$ and $w = L^{-\top} A^{-\top} \beta$,
    the normal equations become

    $$A^{-1} \bigl(L^{-1} K_{ZX} K_{XZ}\, L^{-\top} + \text{ridge}\, I\bigr) A^{-\top} \beta
      = A^{-1} L^{-1} K_{ZX}\, t.$$

    Where the landmarks are like the other points, $K_{ZX} K_{XZ} \approx \frac{n}{m} K_{ZZ}^2$, the matrix is close to
    the identity, and a dozen or two iterations are enough, whatever n is. Each takes one pass over the points, $O(nm)$
    kernel values; the two Cholesky factors take $O(m^3)$. It stops after `iterations`, or at a residual of `tol`.

    >>> from kernelcourse import LandmarkFeatures, Linear
    >>> fit = falkon(LandmarkFeatures(Linear(), [[1.0]]), np.array([[1.0], [2.0]]), np.array([3.0, 6.0]), ridge=5.0)
    >>> fit.w, fit.iterations
    (array([1.5]), 1)
    """
    ridge, tol = real(ridge, "ridge", above=0), real(tol, "tol", at_least=0)
    iterations, t = whole(iterations, "iterations", at_least=1), numbers(t, X)
    P, m = _prepared(features, X), features.m
    L = cholesky(features.penalty())
    S = len(X) / m * (L.T @ L)
    S.flat[:: m + 1] += ridge
    A = cholesky(S)

    def times(beta: Array) -> Array:
        u = triangular_solve(A, beta, transposed=True)
        w = triangular_solve(L, u, transposed=True)
        (product,) = map_sum(partial(_add_round_trip, w=w), ((m,),), features, P, t, memory=memory)
        return triangular_solve(A, triangular_solve(L, product) + ridge * u)

    (target,) = map_sum(partial(_add_round_trip, w=None), ((m,),), features, P, t, memory=memory)
    target = triangular_solve(A, triangular_solve(L, target))
    beta, residuals = conjugate_gradients(times, target, iterations=iterations, tol=tol)
    w = triangular_solve(L, triangular_solve(A, beta, transposed=True), transposed=True)
    return FalkonFit(w, len(residuals), residuals)


def _add_round_trip(sums: list[Array], Phi: Array, t: Array, *, w: Array | None) -> None:
    r"""Add $K_{ZX} K_{XZ}\, w$, using each block of kernel values twice; without a w, add $K_{ZX}\, t$."""
    sums[0] += (t if w is None else Phi @ w) @ Phi


Loss = Callable[[Array], tuple[Array, Array, Array]]  # maps margins z to the value, slope and curvature at each


def logistic_loss(z: Array) -> tuple[Array, Array, Array]:
    r"""$\ell(z) = \log(1 + e^{-z})$ (lecture S), its slope and curvature."""
    miss = logistic(-z)
    return np.logaddexp(0, -z), -miss, miss * logistic(z)


def rounded_hinge(z: Array, *, h: float) -> tuple[Array, Array, Array]:
    r"""The hinge $\max(0, 1 - z)$ with its kink rounded off over $1 \pm h$; it lies at most $h/4$ above the hinge."""
    over = np.clip((1 + h - z) / (2 * h), 0.0, 1.0)  # 0 beyond the kink, 1 before it
    return np.where(over < 1, h * over**2, 1 - z), -over, np.where((over > 0) & (over < 1), 1 / (2 * h), 0.0)


class NewtonFit(NamedTuple):
    """The result of Newton's method."""

    w: Array
    passes: int  # over all points
    objective: float


def feature_logistic(
    features: FeatureMap,
    X: Any,
    y: Any,
    *,
    ridge: float,
    tol: float = 1e-10,
    max_passes: int = 100,
    memory: int = MEMORY,
) -> NewtonFit:
    r"""Logistic regression with m features (lecture S). It minimises

    $$\sum_i \log(1 + e^{-y_i f(x_i)}) + \tfrac{\text{ridge}}{2} w^\top P\, w, \qquad f = w^\top \phi.$$

    Newton's method runs until a step promises to lower the objective by less than a fraction `tol`. Labels are -1, +1.

    >>> from kernelcourse import LandmarkFeatures, Linear
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> feature_logistic(LandmarkFeatures(Linear(), [[1.0]]), X, y, ridge=1.0).w.round(3)
    array([1.007])
    """
    ridge, most = real(ridge, "ridge", above=0), whole(max_passes, "max_passes", at_least=1)
    fit, enough = _newton(features, X, y, [(logistic_loss, tol)], ridge, most, memory)
    if not enough:
        warn(f"feature_logistic stopped after {fit.passes} passes; a larger ridge or max_passes would help")
    return fit


def feature_svm(
    features: FeatureMap, X: Any, y: Any, *, lam: float, tol: float = 1e-6, max_passes: int = 300, memory: int = MEMORY
) -> NewtonFit:
    r"""The support vector machine with m features (lecture K7). It minimises

    $$\tfrac1n \sum_i \max(0, 1 - y_i f(x_i)) + \lambda\, w^\top P\, w, \qquad f = w^\top \phi.$$

    Newton's method needs a curvature, so the hinge's kink is rounded off over $1 \pm h$, and h shrinks to 0.001. Only
    points with $|y_i f(x_i) - 1| < h$ enter the second derivative. Apart from `tol`, the objective ends at
    most 0.00025 above the optimum of the hinge. Labels are -1 and +1.

    >>> from kernelcourse import LandmarkFeatures, Linear
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> feature_svm(LandmarkFeatures(Linear(), [[1.0]]), X, y, lam=0.1).w.round(2)
    array([1.])
    """
    ridge, most = 2 * len(X) * real(lam, "lam", above=0), whole(max_passes, "max_passes", at_least=1)
    losses = [(partial(rounded_hinge, h=h), 1e-3) for h in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)]
    fit, enough = _newton(features, X, y, [*losses, (partial(rounded_hinge, h=0.001), tol)], ridge, most, memory)
    if not enough:
        warn(f"feature_svm stopped after {fit.passes} passes; a larger lam or max_passes would help")
    return fit._replace(objective=fit.objective / len(X))


def _newton(
    features: FeatureMap, X: Any, y: Any, losses: list[tuple[Loss, float]], ridge: float, most: int, memory: int
) -> tuple[NewtonFit, bool]:
    """Newton steps on one loss after another, each to its tolerance; also says whether `most` passes were enough."""
    y, X, P, passes = labels(y, X), _prepared(features, X), features.penalty(), 0

    def at(w: Array, loss: Loss) -> tuple[float, Array, Array]:
        """The objective, its gradient and its second derivative, in one pass over the points."""
        nonlocal passes
        passes += 1
        add = partial(_add_newton_terms, loss=loss, w=w)
        value, slope, H = map_sum(add, ((), (len(w),), (len(w), len(w))), features, X, y, memory=memory)
        Pw = P @ w
        return float(value + ridge / 2 * (w @ Pw)), slope + ridge * Pw, H

    def step(w: Array, here: tuple[Any, ...], tol: float) -> tuple[Array, float] | None:
        objective, gradient, H = here
        if passes >= most:
            return None
        d = -cholesky_solve(cholesky(H + ridge * P), gradient)
        promise = -float(gradient @ d)  # twice what the quadratic model expects to gain
        return None if promise <= 2 * tol * objective else (d, promise)

    w = np.zeros(features.m)
    for loss, tol in losses:
        w, (objective, *_), _ = newton(w, partial(at, loss=loss), partial(step, tol=tol), smallest=1e-6)
    return NewtonFit(w, passes, objective), passes < most


def _add_newton_terms(sums: list[Array], Phi: Array, y: Array, *, loss: Loss, w: Array) -> None:
    value, gradient, H = sums
    values, slopes, curvatures = loss(y * (Phi @ w))
    value += values.sum()
    gradient += (y * slopes) @ Phi
    bent = curvatures > 0
    scaled = Phi[bent] * np.sqrt(curvatures[bent])[:, None]
    H += scaled.T @ scaled
