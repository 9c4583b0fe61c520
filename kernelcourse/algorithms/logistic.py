r"""Kernel logistic regression (lecture S); for more than two classes see `kernelcourse.algorithms.softmax`.

Everything here minimises one objective: the cross-entropy of the labels, summed over the points, plus
$\tfrac{\text{ridge}}{2} \|f\|^2$. With `ridge=0` that is the plain likelihood of lecture S.

With $f = Ka$ on the training points, the gradient in function space is $\sum_i r_i\, k(x_i, \cdot)$ where
$r = s(Ka) - y + \text{ridge}\, a$. Its coefficients $r$ are what every method here drives to zero; the gradient with
respect to $a$ is $Kr$, which can be 0 although $r$ is not, if $K$ is singular.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..linalg import refuse_indefinite
from ..seam import definition
from ..validation import Array, generator, numeric, points, real, square, vector, warn, whole, zero_one
from .newton import newton_by_products, positive_ridge, solve_weighted, zero_of_gradient

__all__ = [
    "LogisticFit", "logistic", "logistic_functional_gradient", "logistic_gradient_descent", "logistic_newton",
    "logistic_newton_cg", "logistic_objective", "logistic_sgd", "logistic_sgd_by_the_book",
    "primal_logistic_gradient_descent",
]  # fmt: skip


class LogisticFit(NamedTuple):
    """The result of `logistic_newton` or `logistic_newton_cg`, and how close it is to the minimum."""

    a: Array  # dual weights, (n,)
    iterations: int  # Newton steps, or products with K
    gradient_norm: float  # largest entry of |s(Ka) - y + ridge a|
    objective: float


def logistic(z: ArrayLike) -> Array:
    r"""The logistic function $s(z) = 1 / (1 + e^{-z})$ of every entry (lecture S), without overflow at either end.

    >>> logistic([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    return expit(numeric(z, "z"))


def logistic_objective(a: ArrayLike, K: ArrayLike, y: ArrayLike, *, ridge: float) -> float:
    r"""Cross-entropy plus penalty (lecture S, kernel logistic regression),

    $$J(a) = -\sum_i \big[y_i \log s(f_i) + (1 - y_i) \log(1 - s(f_i))\big] + \tfrac{\text{ridge}}{2}\, a^\top K a,
    \qquad f = Ka.$$

    >>> round(logistic_objective([0.0, 0.0], np.eye(2), [0, 1], ridge=1.0), 6)  # 2 log 2
    1.386294
    """
    K, y, ridge = _problem(K, y, ridge)
    a = vector(a, "a", length=len(K))
    return _objective(a, K @ a, y, ridge)


def logistic_functional_gradient(a: ArrayLike, K: ArrayLike, y: ArrayLike, *, ridge: float) -> Array:
    r"""The coefficients of the gradient in function space, $r = s(Ka) - y + \text{ridge}\, a$.

    The gradient of $J$ at $f$ is the function $\sum_i r_i\, k(x_i, \cdot)$; each update of lecture S subtracts `step`
    times this function. At the minimum, $\text{ridge}\, a = y - s(Ka)$: a point's weight is its error divided by the
    ridge.

    >>> logistic_functional_gradient([0.0, 0.0], np.eye(2), [0, 1], ridge=1.0)
    array([ 0.5, -0.5])
    """
    K, y, ridge = _problem(K, y, ridge)
    a = vector(a, "a", length=len(K))
    return _residual(a, K @ a, y, ridge)


def logistic_gradient_descent(
    K: ArrayLike, y: ArrayLike, *, step: float, iterations: int, ridge: float = 0.0, tol: float = 0.0
) -> Array:
    r"""Dual weights by batch gradient descent from $a = 0$ (lecture S, kernel logistic regression),

    $$a \leftarrow a + \text{step}\,\big(y - s(Ka) - \text{ridge}\, a\big).$$

    It stops early once no entry of the bracket exceeds `tol` in absolute value. Every step below
    $2 / (\text{ridge} + \lambda_{\max}(K)/4)$ decreases the objective.

    >>> K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> logistic_gradient_descent(K, [0, 1], step=1.0, iterations=1)
    array([-0.5,  0.5])
    """
    K, y, ridge = _problem(K, y, ridge)
    step, iterations, tol = _stable_step(step, ridge), whole(iterations, "iterations"), real(tol, "tol", at_least=0)
    a = np.zeros(len(y))
    for _ in range(iterations):
        residual = y - expit(K @ a) - ridge * a
        if np.abs(residual).max() <= tol:
            return a
        a = a + step * residual
    norm = np.abs(_residual(a, K @ a, y, ridge)).max()
    if tol > 0 and norm > tol:
        warn(f"logistic_gradient_descent: gradient norm {norm:.1e} > tol={tol:g} after {iterations} iterations")
    return a


def primal_logistic_gradient_descent(
    Phi: ArrayLike, y: ArrayLike, *, step: float, iterations: int, ridge: float = 0.0
) -> Array:
    r"""Primal weights by batch gradient descent from $w = 0$ (lecture S, featurized logistic regression),

    $$w \leftarrow w + \text{step}\,\big(\Phi^\top (y - s(\Phi w)) - \text{ridge}\, w\big).$$

    The twin of `logistic_gradient_descent`: with $K = \Phi\Phi^\top$, $w = \Phi^\top a$ after every step.

    >>> primal_logistic_gradient_descent([[1.0], [-1.0]], [0, 1], step=1.0, iterations=1)
    array([-1.])
    """
    Phi = points(Phi, "Phi")
    y, ridge = zero_one(y, "y", length=len(Phi)), real(ridge, "ridge", at_least=0)
    step = _stable_step(step, ridge)
    w = np.zeros(Phi.shape[1])
    for _ in range(whole(iterations, "iterations")):
        w = w + step * (Phi.T @ (y - expit(Phi @ w)) - ridge * w)
    return w


def logistic_sgd_by_the_book(
    K: ArrayLike, y: ArrayLike, *, step: float, steps: int, rng: np.random.Generator | int | None, ridge: float = 0.0
) -> Array:
    r"""Dual weights by stochastic gradient descent from $a = 0$ (lecture S): at a random point $i$,

    $$a_i \leftarrow a_i + \text{step}\,\big(y_i - s((Ka)_i) - \text{ridge}\, a_i\big).$$

    The functional gradient is a sum over the points, and a step uses its $i$-th term. With `ridge > 0` all terms vanish
    together at the minimum, so a small constant step still converges. The points are drawn in advance, as
    `rng.integers(n, size=steps)`, so that `logistic_sgd` visits the same ones.

    >>> logistic_sgd_by_the_book(np.eye(1), [1], step=2.0, steps=1, rng=0)
    array([1.])
    """
    K, y, ridge = _problem(K, y, ridge)
    step = _stable_step(step, ridge)
    a = np.zeros(len(y))
    for i in generator(rng).integers(len(y), size=whole(steps, "steps")):
        a[i] += step * (y[i] - expit(K[i] @ a) - ridge * a[i])
    return a


def logistic_sgd(
    K: ArrayLike, y: ArrayLike, *, step: float, steps: int, rng: np.random.Generator | int | None, ridge: float = 0.0
) -> Array:
    r"""`logistic_sgd_by_the_book` with $q = Ka$ kept up to date, in $O(n)$ per step (lecture S, dual logistic SGD).

    Only $a_i$ changes, by $\delta$ say, so $q \leftarrow q + \delta K_{*i}$.

    >>> logistic_sgd(np.eye(1), [1], step=2.0, steps=1, rng=0)
    array([1.])
    """
    K, y, ridge = _problem(K, y, ridge)
    step = _stable_step(step, ridge)
    order = generator(rng).integers(len(y), size=whole(steps, "steps"))
    return logistic_steps(K, y, order, step, ridge)


@definition
def logistic_steps(K: Array, y: Array, order: NDArray[np.intp], step: float, ridge: float) -> Array:
    """The dual weights after stochastic steps at these points, one after another."""
    a, q = np.zeros(len(y)), np.zeros(len(y))
    for i in order.tolist():
        delta = step * (y[i] - expit(q[i]) - ridge * a[i])
        a[i] += delta
        q += delta * K[i]  # K is symmetric: its row i is its column i
    return a


def logistic_newton(
    K: ArrayLike, y: ArrayLike, *, ridge: float, tol: float = 1e-8, max_iterations: int = 300
) -> LogisticFit:
    r"""Dual weights at the minimum of `logistic_objective`, by Newton's method.

    A step solves $(WK + \text{ridge}\, I)\, d = -r$ with $r = s(Ka) - y + \text{ridge}\, a$ and
    $W = \operatorname{diag}(s(1-s))$, and is halved until $\|r\|$ falls. The matrix is invertible for every positive
    semidefinite $K$, even a singular one, so such a step always exists. The ridge, which must be positive, is lowered
    tenfold at a time from the scale of $K$, and each solution is the next start. This keeps steps long where classes
    are nearly separable or $K$ is badly scaled. It stops when $\max_i |r_i| \le$ `tol` $\max_i |\text{ridge}\, a_i|$,
    and warns if rounding or `max_iterations` leave $\max_i |r_i| >$ `tol`.

    >>> fit = logistic_newton(np.eye(2), [0, 1], ridge=0.1)
    >>> bool(np.allclose(0.1 * fit.a, np.array([0, 1]) - logistic(fit.a)))
    True
    """
    K, y, ridge = _problem(K, y, positive_ridge(ridge))
    refuse_indefinite(K, 1e-8 * float(np.abs(K).max()))

    def gradient(a: Array, ridge: float) -> Array:
        return _residual(a, K @ a, y, ridge)

    def direction(a: Array, r: Array, ridge: float) -> Array:
        f = K @ a
        return -solve_weighted(K, expit(f) * expit(-f), r, ridge)  # s(-f) is 1 - s(f)

    start, scale = np.zeros(len(K)), np.trace(K) / len(K)
    found = zero_of_gradient(start, gradient, direction, ridge, scale, tol, max_iterations, name="logistic_newton")
    return LogisticFit(*found, _objective(found[0], K @ found[0], y, ridge))


def logistic_newton_cg(
    K: ArrayLike, y: ArrayLike, *, ridge: float, tol: float = 1e-8, max_products: int = 1000
) -> LogisticFit:
    r"""`logistic_newton` without factorisations: conjugate gradients solve each Newton step with products of $K$.

    The matrix of the Newton step, $WK + \text{ridge}\, I$, is not symmetric, but in the inner product of the function
    space, $\langle u, v\rangle = u^\top K v$, it is self-adjoint and positive. There, conjugate gradients need one
    product with $K$ per iteration, $O(n^2)$, and few iterations, since the eigenvalues of $K$ fall fast. `iterations`
    counts products. If `max_products` are not enough, `logistic_newton` takes over.

    >>> fit = logistic_newton_cg(np.eye(2), [0, 1], ridge=0.1)
    >>> bool(np.allclose(fit.a, logistic_newton(np.eye(2), [0, 1], ridge=0.1).a))
    True
    """
    K, y, ridge = _problem(K, y, positive_ridge(ridge))

    def curvature(f: Array) -> Callable[[Array], Array]:
        p = expit(f) * expit(-f)
        return lambda u: p * u

    a, products = newton_by_products(
        K, lambda f: _residual(0.0, f, y, 0.0), curvature, y.shape, ridge, tol, max_products
    )
    if a is None:
        return logistic_newton(K, y, ridge=ridge, tol=tol)
    f = K @ a
    return LogisticFit(a, products, float(np.abs(_residual(a, f, y, ridge)).max()), _objective(a, f, y, ridge))


def expit(z: Array) -> Array:
    """The logistic function; where the exponential overflows, it is 0."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-z))


def _objective(a: Array, f: Array, y: Array, ridge: float) -> float:
    return float(np.logaddexp(0, (1 - 2 * y) * f).sum() + ridge / 2 * (a @ f))


def _residual(a: Array | float, f: Array, y: Array, ridge: float) -> Array:
    """s(f) - y + ridge a, with s(-f) in place of 1 - s(f), which would lose digits."""
    sign = 2 * y - 1
    return ridge * a - sign * expit(-sign * f)


def _problem(K: ArrayLike, y: ArrayLike, ridge: float) -> tuple[Array, Array, float]:
    K = square(K)
    return K, zero_one(y, "y", length=len(K)), real(ridge, "ridge", at_least=0)


def _stable_step(step: float, ridge: float) -> float:
    """`step` as a positive number, small enough that the penalty alone shrinks the weights."""
    step = real(step, "step", above=0)
    if step * ridge >= 2:
        raise ValueError(f"step must be < 2 / ridge = {2 / ridge:g}, got {step:g}: the penalty alone makes it diverge")
    return step
