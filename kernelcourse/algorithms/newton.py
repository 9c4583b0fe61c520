"""Newton's method, as logistic and softmax regression use it: halved steps, and a ridge that comes down by decades."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..linalg import solve_ridge
from ..validation import Array, real, whole


def newton(
    x: Array,
    gradient: Callable[[Array, float], Array],
    direction: Callable[[Array, Array, float], Array],
    ridges: list[float],
    tol: float,
    max_iterations: int,
    weights: Callable[[Array], Array] = lambda x: x,
) -> tuple[Array, int, float]:
    """A zero of `gradient` at the last of the ridges, the steps that led there and the largest entry left over.

    A step is halved until the gradient's norm falls. The norm is the measure, not the objective: close to the minimum
    the objective no longer changes in its last digit while the gradient still has half its digits to lose. `weights`
    are what the ridge penalises, where that is not all of x.
    """
    tol, max_iterations = real(tol, "tol", above=0), whole(max_iterations, "max_iterations", at_least=1)
    rough = 0.02 * np.abs(gradient(x, ridges[-1])).max()  # good enough for the start of the next ridge
    iterations = 0
    for ridge in ridges:
        while iterations < max_iterations:
            g = gradient(x, ridge)
            # Where every point is fitted well both terms of the gradient are small: tol is then relative to them.
            goal = tol * min(1.0, ridge * np.abs(weights(x)).max()) if ridge == ridges[-1] else rough
            if np.abs(g).max() <= goal:
                break
            d, t = direction(x, g, ridge), 1.0
            while t > 1e-10 and not np.linalg.norm(gradient(x + t * d, ridge)) <= (1 - 1e-4 * t) * np.linalg.norm(g):
                t /= 2
            if t <= 1e-10:
                break  # no step helps: only rounding is left
            x, iterations = x + t * d, iterations + 1
    return x, iterations, float(np.abs(gradient(x, ridges[-1])).max())


def decades_down_to(ridge: float, *, scale: float) -> list[float]:
    """Ridges from about `scale` down to `ridge`, each a tenth of the one before."""
    decades = max(0, int(np.log10(max(scale, ridge)) - np.log10(ridge)))
    return [ridge * 10.0**j for j in range(decades, 0, -1)] + [ridge]


def solve_weighted(K: Array, p: Array, R: Array, ridge: float) -> Array:
    r"""Solve $(\text{ridge}\, I + \operatorname{diag}(p)\, K)\, D = R$ as a symmetric system, $D = w\, B^{-1} (R / w)$
    with $w = \sqrt p$ and $B = \text{ridge}\, I + \operatorname{diag}(w)\, K \operatorname{diag}(w)$.

    Without a warning where B is singular: a rough Newton direction is put right by the next step.
    """
    w = np.maximum(np.sqrt(p), 1e-100)  # a saturated point has p = 0 to working precision
    return (w * solve_ridge(w[:, None] * K * w, (R.T / w).T, ridge, quiet=True).T).T


def stopped_before(name: str, iterations: int, norm: float, tol: float, ridge: float) -> str:
    return (
        f"{name} stopped after {iterations} iterations with gradient norm {norm:.1e} > tol={tol:g}; "
        f"a ridge larger than {ridge:g}, a larger tol or more max_iterations would let it finish"
    )


def penalty(ridge: float) -> float:
    """`ridge` as a positive number, with the reason why 0 will not do."""
    if real(ridge, "ridge", at_least=0) == 0:
        raise ValueError(
            "ridge must be > 0, got 0: on separable data the plain likelihood has no maximum (the weights grow for "
            "ever). logistic_gradient_descent with ridge=0 runs a stated number of iterations towards it"
        )
    return float(ridge)
