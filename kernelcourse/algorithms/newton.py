"""Newton's method: steps that are halved until they help, and a ridge that is lowered tenfold at a time."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from ..linalg import conjugate_gradients, solve_ridge, symmetric_product
from ..seam import definition
from ..validation import Array, real, warn, whole


def newton(
    x: Array,
    at: Callable[[Array], tuple[Any, ...]],
    step: Callable[[Array, tuple[Any, ...]], tuple[Array, float] | None],
    smallest: float,
) -> tuple[Array, tuple[Any, ...], int]:
    """Newton's method from x; return the last x, its `at(x)`, and the number of steps.

    The first entry of `at(x)` is the number to decrease. `step(x, at(x))` returns a step and the decrease that it
    promises, or None if x is good enough. A step is halved until it keeps a fraction of its promise. If even the
    fraction `smallest` of a step does not help, only rounding errors are left, and the method ends.
    """
    here, taken = at(x), 0
    while (found := step(x, here)) is not None:
        d, promise = found
        t = 1.0
        while not (there := at(x + t * d))[0] <= here[0] - 1e-4 * t * promise:
            t /= 2
            if t <= smallest:
                return x, here, taken
        x, here, taken = x + t * d, there, taken + 1
    return x, here, taken


def zero_of_gradient(
    x: Array,
    gradient: Callable[[Array, float], Array],
    direction: Callable[[Array, Array, float], Array],
    ridge: float,
    scale: float,
    tol: float,
    max_iterations: int,
    *,
    weights: Callable[[Array], Array] = lambda x: x,
    name: str | None = None,
) -> tuple[Array, int, float]:
    """A zero of `gradient` at this ridge, the number of steps, and the largest entry of the gradient that is left.

    The ridge is lowered tenfold at a time from about `scale`, and each solution is the next start. The steps decrease
    the gradient's norm, not the objective: close to the minimum the objective no longer changes in its last digit while
    the gradient still has half its digits to lose. `weights(x)` is what the ridge penalises, if that is not all of x.
    With a `name`, it warns if an entry above `tol` is left.
    """
    tol, max_iterations = real(tol, "tol", above=0), whole(max_iterations, "max_iterations", at_least=1)
    decades = max(0, int(np.log10(max(scale, ridge)) - np.log10(ridge)))
    rough = 0.02 * np.abs(gradient(x, ridge)).max()  # good enough as a start for the next ridge
    iterations = 0
    for now in [ridge * 10.0**j for j in range(decades, 0, -1)] + [ridge]:
        left = max_iterations - iterations

        def at(x: Array, now: float = now) -> tuple[float, Array]:
            g = gradient(x, now)
            return float(np.linalg.norm(g)), g

        def step(x: Array, here: tuple[Any, ...], now: float = now) -> tuple[Array, float] | None:
            nonlocal left
            norm, g = here
            # If every point is fitted well, both terms of the gradient are small, so tol is relative to them.
            goal = tol * min(1.0, ridge * np.abs(weights(x)).max()) if now == ridge else rough
            if left == 0 or np.abs(g).max() <= goal:
                return None
            left -= 1
            return direction(x, g, now), norm

        x, (_, g), taken = newton(x, at, step, smallest=1e-10)
        iterations += taken
    norm = float(np.abs(g).max())
    if name is not None and norm > tol:
        warn(
            f"{name} stopped after {iterations} iterations with gradient norm {norm:.1e} > tol={tol:g}; "
            f"a ridge larger than {ridge:g}, a larger tol or a larger max_iterations would let it finish"
        )
    return x, iterations, norm


@definition
def newton_by_products(
    K: Array,
    errors: Callable[[Array], Array],
    curvature: Callable[[Array], Callable[[Array], Array]],
    shape: tuple[int, ...],
    ridge: float,
    tol: float,
    max_products: int,
) -> tuple[Array | None, int]:
    r"""Newton's method for $\text{errors}(Ka) + \text{ridge}\, a = 0$, by products with K; return the weights and the
    number of products, or None instead of the weights if `max_products` do not suffice.

    `errors(f)` is the gradient of the loss, and `curvature(f)` multiplies by its derivative. The matrix of a step is
    self-adjoint in the inner product $\langle u, v\rangle = u^\top K v$. Conjugate gradients run on pairs $(u, Ku)$,
    which makes this inner product cheap: each iteration multiplies K by only one new vector or matrix.
    """
    tol, max_products, products = real(tol, "tol", above=0), whole(max_products, "max_products", at_least=1), 0

    def direction(x: Array, r: Array, ridge: float) -> Array:
        nonlocal products
        accuracy = min(0.1, float(np.sqrt(np.abs(r).max())))  # a rough step far from the zero, an exact one close to it
        bend = curvature(x[1])

        def pair(u: Array) -> Array:
            return np.array([u, symmetric_product(K, u)])

        d, residuals = conjugate_gradients(
            lambda u: pair(ridge * u[0] + bend(u[1])),
            pair(-r),
            iterations=max_products - products - 2,
            tol=accuracy,
            inner=lambda u, v: np.vdot(u[0], v[1]),
        )
        products += len(residuals) + 1
        return d if residuals and residuals[-1] <= accuracy else np.zeros_like(x)

    def gradient(x: Array, ridge: float) -> Array:
        return errors(x[1]) + ridge * x[0]

    x = np.zeros((2, *shape))
    (a, _), _, norm = zero_of_gradient(x, gradient, direction, ridge, ridge, tol, max_products, weights=itemgetter(0))
    return (None if norm > tol * min(1.0, ridge * np.abs(a).max()) else a), products


def solve_weighted(K: Array, p: Array, R: Array, ridge: float) -> Array:
    r"""Solve $(\text{ridge}\, I + \operatorname{diag}(p)\, K)\, D = R$ as a symmetric system, $D = w\, B^{-1} (R / w)$
    with $w = \sqrt p$ and $B = \text{ridge}\, I + \operatorname{diag}(w)\, K \operatorname{diag}(w)$.

    There is no warning if B is singular, because the next step corrects a rough Newton direction.
    """
    w = np.maximum(np.sqrt(p), 1e-100)  # a saturated point has p = 0 to working precision
    return (w * solve_ridge(w[:, None] * K * w, (R.T / w).T, ridge, quiet=True).T).T


def positive_ridge(ridge: float) -> float:
    """`ridge` as a positive number, with an error that says why 0 is not allowed."""
    if real(ridge, "ridge", at_least=0) == 0:
        raise ValueError(
            "ridge must be > 0, got 0: on separable data the plain likelihood has no maximum (the weights grow "
            "without bound). logistic_gradient_descent accepts 0, because it stops after a stated number of iterations"
        )
    return float(ridge)
