r"""Kernel logistic regression (lecture S) and its many-class form, the softmax of lecture H.

Everything here minimises one objective: the cross-entropy of the labels, summed over the points, plus
$\tfrac{\text{ridge}}{2} \|f\|^2$. With `ridge=0` that is the plain likelihood of lecture S.

With $f = Ka$ on the training points, the gradient in function space is $\sum_i r_i\, k(x_i, \cdot)$ where
$r = s(Ka) - y + \text{ridge}\, a$. Its coefficients $r$ are what every method here drives to zero; the gradient with
respect to $a$ is $Kr$, which a singular $K$ can hide.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._engine.threads import compiled, in_rows, one_thread
from ..linalg import add_multiple, refuse_indefinite, solve_ridge, times
from ..validation import (
    Array,
    generator,
    numeric,
    points,
    real,
    same_length,
    square,
    vector,
    warn,
    whole,
    zero_one,
)


class LogisticFit(NamedTuple):
    """What `logistic_newton` found, and how close it came."""

    a: Array  # dual weights, (n,)
    iterations: int  # Newton steps
    gradient_norm: float  # largest entry of |s(Ka) - y + ridge a|
    objective: float


# ---------------------------------------------------------------- two classes: the objective


def logistic(z: ArrayLike) -> Array:
    r"""The logistic function $s(z) = 1 / (1 + e^{-z})$ of every entry (lecture S), without overflow at either end.

    >>> logistic([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    return _s(numeric(z, "z"))


def logistic_objective(a: ArrayLike, K: ArrayLike, y: ArrayLike, *, ridge: float) -> float:
    r"""Cross-entropy plus penalty (lecture S, kernel logistic regression),

    $$J(a) = -\sum_i \big[y_i \log s(f_i) + (1 - y_i) \log(1 - s(f_i))\big] + \tfrac{\text{ridge}}{2}\, a^\top K a,
    \qquad f = Ka.$$

    >>> round(logistic_objective([0.0, 0.0], np.eye(2), [0, 1], ridge=1.0), 6)  # 2 log 2
    1.386294
    """
    K, y, ridge = _problem(K, y, ridge)
    return _objective(vector(a, "a", length=len(K)), K, y, ridge)


def logistic_functional_gradient(a: ArrayLike, K: ArrayLike, y: ArrayLike, *, ridge: float) -> Array:
    r"""The gradient in function space, by its coefficients: $r = s(Ka) - y + \text{ridge}\, a$.

    The gradient of $J$ at $f$ is the function $\sum_i r_i\, k(x_i, \cdot)$; minus `step` times it is the update of
    lecture S. At the minimum $\text{ridge}\, a = y - s(Ka)$: a point's weight is the error it is left with.

    >>> logistic_functional_gradient([0.0, 0.0], np.eye(2), [0, 1], ridge=1.0)
    array([ 0.5, -0.5])
    """
    K, y, ridge = _problem(K, y, ridge)
    return _functional_gradient(vector(a, "a", length=len(K)), K, y, ridge)


def logistic_gradient(a: ArrayLike, K: ArrayLike, y: ArrayLike, *, ridge: float) -> Array:
    r"""The gradient of `logistic_objective` with respect to $a$: $\nabla J(a) = K\,(s(Ka) - y + \text{ridge}\, a)$.

    >>> logistic_gradient([0.0, 0.0], 2 * np.eye(2), [0, 1], ridge=1.0)
    array([ 1., -1.])
    """
    K, y, ridge = _problem(K, y, ridge)
    return K @ _functional_gradient(vector(a, "a", length=len(K)), K, y, ridge)


# ---------------------------------------------------------------- two classes: the lecture's algorithms


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
        residual = y - _s(K @ a) - ridge * a
        if np.abs(residual).max() <= tol:
            return a
        a = a + step * residual
    norm = np.abs(_functional_gradient(a, K, y, ridge)).max()
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
        w = w + step * (Phi.T @ (y - _s(Phi @ w)) - ridge * w)
    return w


def logistic_sgd_by_the_book(
    K: ArrayLike, y: ArrayLike, *, step: float, steps: int, rng: np.random.Generator | int | None, ridge: float = 0.0
) -> Array:
    r"""Dual weights by stochastic gradient descent from $a = 0$ (lecture S): at a random point $i$,

    $$a_i \leftarrow a_i + \text{step}\,\big(y_i - s((Ka)_i) - \text{ridge}\, a_i\big).$$

    The functional gradient is a sum over the points, and a step takes the $i$-th term of it. With `ridge > 0` all
    terms vanish together at the minimum, so a constant step still converges.

    The points are drawn at once, as `rng.integers(n, size=steps)`: `logistic_sgd` visits the same ones.

    >>> logistic_sgd_by_the_book(np.eye(1), [1], step=2.0, steps=1, rng=0)
    array([1.])
    """
    K, y, ridge = _problem(K, y, ridge)
    step = _stable_step(step, ridge)
    a = np.zeros(len(y))
    for i in generator(rng).integers(len(y), size=whole(steps, "steps")):
        a[i] += step * (y[i] - _s(K[i] @ a) - ridge * a[i])
    return a


def logistic_sgd(
    K: ArrayLike, y: ArrayLike, *, step: float, steps: int, rng: np.random.Generator | int | None, ridge: float = 0.0
) -> Array:
    r"""`logistic_sgd_by_the_book` with $q = Ka$ kept up to date, in $O(n)$ a step (lecture S, dual logistic SGD).

    Only $a_i$ changes, by $\delta$ say, so $q \leftarrow q + \delta K_{*i}$.

    >>> logistic_sgd(np.eye(1), [1], step=2.0, steps=1, rng=0)
    array([1.])
    """
    K, y, ridge = _problem(K, y, ridge)
    step = _stable_step(step, ridge)
    a, q = np.zeros(len(y)), np.zeros(len(y))
    order = generator(rng).integers(len(y), size=whole(steps, "steps"))
    if (loops := compiled(steps * len(y))) is not None:
        loops.logistic_sgd(in_rows(K), y, order, step, ridge, a, q)
        return a
    weights, labels = a.tolist(), y.tolist()
    for i in order.tolist():
        delta = step * (labels[i] - _s_of_one(q.item(i)) - ridge * weights[i])
        weights[i] += delta
        add_multiple(q, delta, K[i])  # K is symmetric: its row i is its column i, and contiguous
    return np.array(weights)


# ---------------------------------------------------------------- two classes: to convergence


def logistic_newton(
    K: ArrayLike, y: ArrayLike, *, ridge: float, tol: float = 1e-8, max_iterations: int = 300
) -> LogisticFit:
    r"""Dual weights at the minimum of `logistic_objective`, by Newton's method.

    A step solves $(WK + \text{ridge}\, I)\, d = -r$ with $r = s(Ka) - y + \text{ridge}\, a$ and
    $W = \operatorname{diag}(s(1-s))$, and is halved until $\|r\|$ falls. The matrix is invertible for every positive
    semidefinite $K$, a singular one too, so there is always such a step. The ridge comes down by decades from the
    scale of $K$, each solution the start of the next, which keeps the steps long where classes are nearly separable
    or $K$ is badly scaled.

    It stops when $\max_i |r_i| \le$ `tol` $\max_i |\text{ridge}\, a_i|$, and warns if rounding or `max_iterations`
    leave $\max_i |r_i| >$ `tol`.

    `ridge` must be positive: on separable data the plain likelihood grows for ever along a separating direction and
    has no maximum.

    >>> fit = logistic_newton(np.eye(2), [0, 1], ridge=0.1)
    >>> bool(np.allclose(0.1 * fit.a, np.array([0, 1]) - logistic(fit.a)))
    True
    """
    K, y, ridge = _problem(K, y, _penalty(ridge))
    refuse_indefinite(K, 1e-8 * float(np.abs(K).max()))

    def gradient(a: Array, ridge: float) -> Array:
        return _functional_gradient(a, K, y, ridge)

    def direction(a: Array, r: Array, ridge: float) -> Array:
        f = K @ a
        return -_solve_weighted(K, _s(f) * _s(-f), r, ridge)  # s(-f) is 1 - s(f)

    ridges = _decades_down_to(ridge, scale=np.trace(K) / len(K))
    a, iterations, norm = _newton(np.zeros(len(K)), gradient, direction, ridges, tol, max_iterations)
    if norm > tol:
        warn(_stopped_before("logistic_newton", iterations, norm, tol, ridge))
    return LogisticFit(a, iterations, norm, _objective(a, K, y, ridge))


def logistic_newton_cg(
    K: ArrayLike, y: ArrayLike, *, ridge: float, tol: float = 1e-8, max_products: int = 1000
) -> LogisticFit:
    r"""`logistic_newton` without factorisations: each Newton step by conjugate gradients, in products with $K$ only.

    The matrix of the Newton step, $WK + \text{ridge}\, I$, is not symmetric, but in the inner product of the function
    space, $\langle u, v\rangle = u^\top K v$, it is self-adjoint and positive. There conjugate gradients need one
    product with $K$, $O(n^2)$, an iteration, and few iterations, since the eigenvalues of $K$ fall fast. `iterations`
    counts products.

    The same minimum, `tol` and warning as `logistic_newton`, which takes over if `max_products` are not enough.

    >>> fit = logistic_newton_cg(np.eye(2), [0, 1], ridge=0.1)
    >>> bool(np.allclose(fit.a, logistic_newton(np.eye(2), [0, 1], ridge=0.1).a))
    True
    """
    K, y, ridge = _problem(K, y, _penalty(ridge))
    tol, max_products = real(tol, "tol", above=0), whole(max_products, "max_products", at_least=1)
    with one_thread(len(y) < 4000):
        return _newton_cg(K, y, ridge, tol, max_products)


def _newton_cg(K: Array, y: Array, ridge: float, tol: float, max_products: int) -> LogisticFit:
    sign = 2 * y - 1

    def gradient(a: Array, f: Array) -> Array:
        return ridge * a - sign * _s(-sign * f)  # s(-f) for 1 - s(f), which would cancel

    a, f, products = np.zeros(len(y)), np.zeros(len(y)), 0
    r = gradient(a, f)
    while np.abs(r).max() > tol * min(1.0, ridge * np.abs(a).max()):
        accuracy = min(0.1, np.sqrt(np.abs(r).max()))  # a rough step far away, an exact one close by
        step = _newton_step_by_cg(K, _s(f) * _s(-f), r, ridge, accuracy, max_products - products)
        t = 1.0
        if step is not None:
            d, Kd, took = step
            products += took
            while t > 1e-10 and np.linalg.norm(gradient(a + t * d, f + t * Kd)) > (1 - 1e-4 * t) * np.linalg.norm(r):
                t /= 2
        if step is None or t <= 1e-10:
            return logistic_newton(K, y, ridge=ridge, tol=tol)
        a, f = a + t * d, f + t * Kd
        r = gradient(a, f)
    f = times(K, a)  # rounding has gathered in the one that was kept up to date
    return LogisticFit(a, products, float(np.abs(gradient(a, f)).max()), _objective(a, K, y, ridge))


def _newton_step_by_cg(
    K: Array, p: Array, r: Array, ridge: float, accuracy: float, most: int
) -> tuple[Array, Array, int] | None:
    r"""Solve $(\text{ridge}\, I + \operatorname{diag}(p)\, K)\, d = -r$ by conjugate gradients: d, Kd, products.

    None if `most` products leave the residual above `accuracy` times where it began. All that K is multiplied with
    changes along with it, so that each iteration multiplies only one new vector.
    """
    residual, d, Kd = -r, np.zeros_like(r), np.zeros_like(r)
    K_residual = times(K, residual)
    q, Kq = residual, K_residual
    size = residual @ K_residual
    goal = accuracy**2 * size
    for products in range(1, most):
        if size <= goal:
            return d, Kd, products
        Aq = ridge * q + p * Kq
        curvature = Kq @ Aq
        if not curvature > 0:
            refuse_indefinite(K, 1e-8 * float(np.abs(K).max()))
            return None
        K_Aq = times(K, Aq)
        t = size / curvature
        d, Kd = d + t * q, Kd + t * Kq
        residual, K_residual = residual - t * Aq, K_residual - t * K_Aq
        size, before = residual @ K_residual, size
        q, Kq = residual + size / before * q, K_residual + size / before * Kq
    return None


# ---------------------------------------------------------------- many classes: softmax and cross-entropy


def softmax(Z: ArrayLike) -> Array:
    r"""Probabilities $\hat y_j = e^{z_j} / \sum_l e^{z_l}$ from each row $z$ of `Z` (lecture H), without overflow.

    >>> softmax([[0.0, 0.0], [1000.0, 0.0]])
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _softmax(points(Z, "Z"))


def one_hot(labels: ArrayLike, n_classes: int) -> Array:
    """Class labels 0, 1, ..., n_classes - 1 as indicator rows (lecture H): a 1 in the label's column, else 0.

    >>> one_hot([0, 2], 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    values, classes = vector(labels, "labels"), np.arange(whole(n_classes, "n_classes", at_least=1))
    if not np.isin(values, classes).all():
        raise ValueError(f"labels must be whole numbers from 0 to {n_classes - 1}, got {np.unique(values)[:5]}")
    return (values[:, None] == classes).astype(float)


def cross_entropy(P: ArrayLike, Y: ArrayLike) -> float:
    r"""$-\sum_i \sum_j Y_{ij} \log P_{ij}$, the cross-entropy loss (lecture H) summed over the rows.

    Rows of `P` and `Y` are probabilities; those of `Y` are one-hot where the class is known. The loss is infinite
    where a class that occurs was given probability 0.

    >>> round(cross_entropy([[0.5, 0.5]], [[1, 0]]), 6)  # log 2
    0.693147
    """
    from scipy.special import xlogy

    P, Y = _distributions(P, "P"), _distributions(Y, "Y")
    if P.shape != Y.shape:
        raise ValueError(f"P and Y must have the same shape, got {P.shape} and {Y.shape}")
    return -float(xlogy(Y, P).sum())


def softmax_objective(A: ArrayLike, K: ArrayLike, labels: ArrayLike, *, ridge: float) -> float:
    r"""`logistic_objective` for k classes, with a column of dual weights for each,

    $$J(A) = -\sum_i \log \operatorname{softmax}(KA)_{i, \text{label}_i}
    + \tfrac{\text{ridge}}{2} \operatorname{tr} A^\top K A.$$

    >>> round(softmax_objective(np.zeros((2, 4)), np.eye(2), [0, 3], ridge=1.0), 6)  # 2 log 4
    2.772589
    """
    A, K, Y, ridge = _softmax_problem(A, K, labels, ridge)
    F = K @ A
    return -float((Y * _log_softmax(F)).sum()) + ridge / 2 * float((A * F).sum())


def softmax_functional_gradient(A: ArrayLike, K: ArrayLike, labels: ArrayLike, *, ridge: float) -> Array:
    r"""The gradient of `softmax_objective` in function space, by its coefficients:
    $R = \operatorname{softmax}(KA) - Y + \text{ridge}\, A$ with the labels one-hot in $Y$.

    >>> softmax_functional_gradient(np.zeros((2, 2)), np.eye(2), [0, 1], ridge=1.0)
    array([[-0.5,  0.5],
           [ 0.5, -0.5]])
    """
    A, K, Y, ridge = _softmax_problem(A, K, labels, ridge)
    return _softmax_errors(K @ A, Y) + ridge * A


def softmax_gradient(A: ArrayLike, K: ArrayLike, labels: ArrayLike, *, ridge: float) -> Array:
    r"""The gradient of `softmax_objective` in $A$: $K\,(\operatorname{softmax}(KA) - Y + \text{ridge}\, A)$.

    >>> softmax_gradient(np.zeros((2, 2)), 2 * np.eye(2), [0, 1], ridge=1.0)
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    A, K, Y, ridge = _softmax_problem(A, K, labels, ridge)
    return K @ (_softmax_errors(K @ A, Y) + ridge * A)


# ---------------------------------------------------------------- many classes: to convergence


def kernel_softmax(
    K: ArrayLike,
    labels: ArrayLike,
    *,
    ridge: float,
    n_classes: int | None = None,
    tol: float = 1e-8,
    max_iterations: int = 300,
) -> Array:
    r"""Dual weights $A$, (n, k), at the minimum of `softmax_objective`, by Newton's method.

    Labels are 0, ..., k - 1 and each occurs, unless `n_classes` states k. The method, the meaning of `tol` and the
    warning are those of `logistic_newton`, with $R = \operatorname{softmax}(KA) - Y + \text{ridge}\, A$. A step costs
    $O(kn^3)$ time: the classes are solved one by one and joined by one more system.

    The rows of $A$ sum to 0. So for k = 2 the two columns are $\mp a/2$ with $a = A_{*1} - A_{*0}$, the penalty is
    half of the binary one, and `kernel_softmax` with `2 * ridge` gives the $a$ of `logistic_newton` with `ridge`.

    >>> A = kernel_softmax(np.eye(2), [0, 1], ridge=0.2)
    >>> bool(np.allclose(A[:, 1] - A[:, 0], logistic_newton(np.eye(2), [0, 1], ridge=0.1).a))
    True
    """
    K, ridge = square(K), _penalty(ridge)
    Y = _indicators(labels, len(K), n_classes)
    refuse_indefinite(K, 1e-8 * float(np.abs(K).max()))

    def gradient(A: Array, ridge: float) -> Array:
        return _softmax_errors(K @ A, Y) + ridge * A

    def direction(A: Array, R: Array, ridge: float) -> Array:
        # In class c, with P_c = diag(p_c): (ridge + P_c K) d_c = P_c g - r_c, where g = sum_c P_c K d_c is all that the
        # classes share. So d_c = E_c g + e_c, and g follows from sum_c d_c = 0: the rows of R, and of A, sum to 0.
        P = _softmax(K @ A)
        solved = [
            _solve_weighted(K, p_c, np.column_stack([np.diag(p_c), -r_c]), ridge)
            for p_c, r_c in zip(P.T, R.T, strict=True)
        ]
        E, e = np.stack(solved)[:, :, :-1], np.stack(solved)[:, :, -1]  # (k, n, n), (k, n)
        g = _solve_quietly(E.sum(axis=0), -e.sum(axis=0), 0.0)
        return (E @ g + e).T

    ridges = _decades_down_to(ridge, scale=np.trace(K) / len(K))
    A, iterations, norm = _newton(np.zeros(Y.shape), gradient, direction, ridges, tol, max_iterations)
    if norm > tol:
        warn(_stopped_before("kernel_softmax", iterations, norm, tol, ridge))
    return A


def primal_softmax(
    Phi: ArrayLike,
    labels: ArrayLike,
    *,
    ridge: float,
    n_classes: int | None = None,
    tol: float = 1e-8,
    max_iterations: int = 300,
) -> Array:
    r"""Primal weights $W$, (D, k), by Newton's method: the twin of `kernel_softmax`, $W = \Phi^\top A$. They minimise

    $$J(W) = -\sum_i \log \operatorname{softmax}(\Phi W)_{i, \text{label}_i} + \tfrac{\text{ridge}}{2} \|W\|_F^2.$$

    The method, the meaning of `tol` and the warning are those of `logistic_newton`, with the gradient
    $\Phi^\top(\operatorname{softmax}(\Phi W) - Y) + \text{ridge}\, W$ for $r$. A step costs $O(k^2 n D^2 + k^3 D^3)$.

    >>> W = primal_softmax(np.eye(2), [0, 1], ridge=0.2)
    >>> bool(np.allclose(W, kernel_softmax(np.eye(2), [0, 1], ridge=0.2)))
    True
    """
    Phi, ridge = points(Phi, "Phi"), _penalty(ridge)
    Y = _indicators(labels, len(Phi), n_classes)
    D, k = Phi.shape[1], Y.shape[1]

    def gradient(W: Array, ridge: float) -> Array:
        return Phi.T @ _softmax_errors(Phi @ W, Y) + ridge * W

    def direction(W: Array, G: Array, ridge: float) -> Array:
        P = _softmax(Phi @ W)
        curvature = [[P[:, c] * ((c == e) - P[:, e]) for e in range(k)] for c in range(k)]  # k x k, each (n,)
        H = np.block([[(Phi.T * h) @ Phi for h in row] for row in curvature])
        return _solve_quietly(H, -G.T.ravel(), ridge).reshape(k, D).T

    ridges = _decades_down_to(ridge, scale=(Phi**2).sum() / len(Phi))
    W, iterations, norm = _newton(np.zeros((D, k)), gradient, direction, ridges, tol, max_iterations)
    if norm > tol:
        warn(_stopped_before("primal_softmax", iterations, norm, tol, ridge))
    return W


# ---------------------------------------------------------------- formulas on checked arrays


def _s(z: Array) -> Array:
    from scipy.special import expit

    return expit(z)


def _s_of_one(z: float) -> float:
    """The logistic function of one number: for that, a call of numpy or scipy costs more than the exponential."""
    e = exp(-abs(z))
    return (1.0 if z >= 0 else e) / (1 + e)


def _softmax(Z: Array) -> Array:
    from scipy.special import softmax

    return softmax(Z, axis=1)


def _log_softmax(Z: Array) -> Array:
    return Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)


def _objective(a: Array, K: Array, y: Array, ridge: float) -> float:
    f = K @ a
    margin = (2 * y - 1) * f
    return float(np.logaddexp(0, -margin).sum() + ridge / 2 * (a @ f))


def _functional_gradient(a: Array, K: Array, y: Array, ridge: float) -> Array:
    sign = 2 * y - 1
    return ridge * a - sign * _s(-sign * (K @ a))  # s(-f) for 1 - s(f), which would cancel


def _softmax_errors(F: Array, Y: Array) -> Array:
    """softmax(F) - Y, where the right class gets minus the sum of the others: p - 1 would cancel."""
    others = _softmax(F) * (1 - Y)
    return others - Y * others.sum(axis=1, keepdims=True)


def _solve_weighted(K: Array, p: Array, R: Array, ridge: float) -> Array:
    r"""Solve $(\text{ridge}\, I + \operatorname{diag}(p)\, K)\, D = R$ as a symmetric system, $D = w\, B^{-1} (R / w)$
    with $w = \sqrt p$ and $B = \text{ridge}\, I + \operatorname{diag}(w)\, K \operatorname{diag}(w)$.
    """
    w = np.maximum(np.sqrt(p), 1e-100)  # a saturated point has p = 0 to working precision
    return (w * _solve_quietly(w[:, None] * K * w, (R.T / w).T, ridge).T).T


def _solve_quietly(B: Array, rhs: Array, ridge: float) -> Array:
    """`solve_ridge` for a Newton direction: a rough one is put right by the next step, so its warning is no news."""
    return solve_ridge(B, rhs, ridge, quiet=True)


def _decades_down_to(ridge: float, *, scale: float) -> list[float]:
    """Ridges from about `scale` down to `ridge`, each a tenth of the one before."""
    decades = max(0, int(np.log10(max(scale, ridge)) - np.log10(ridge)))
    return [ridge * 10.0**j for j in range(decades, 0, -1)] + [ridge]


def _newton(
    x: Array,
    gradient: Callable[[Array, float], Array],
    direction: Callable[[Array, Array, float], Array],
    ridges: list[float],
    tol: float,
    max_iterations: int,
) -> tuple[Array, int, float]:
    """A zero of `gradient` at the last of the ridges, the steps that led there and the largest entry left over.

    A step is halved until the gradient's norm falls. The norm is the measure, not the objective: close to the minimum
    the objective no longer changes in its last digit while the gradient still has half its digits to lose.
    """
    tol, max_iterations = real(tol, "tol", above=0), whole(max_iterations, "max_iterations", at_least=1)
    rough = 0.02 * np.abs(gradient(x, ridges[-1])).max()  # good enough for the start of the next ridge
    iterations = 0
    for ridge in ridges:
        while iterations < max_iterations:
            g = gradient(x, ridge)
            # Where every point is fitted well both terms of the gradient are small: tol is then relative to them.
            goal = tol * min(1.0, ridge * np.abs(x).max()) if ridge == ridges[-1] else rough
            if np.abs(g).max() <= goal:
                break
            d, t = direction(x, g, ridge), 1.0
            while t > 1e-10 and not np.linalg.norm(gradient(x + t * d, ridge)) <= (1 - 1e-4 * t) * np.linalg.norm(g):
                t /= 2
            if t <= 1e-10:
                break  # no step helps: only rounding is left
            x, iterations = x + t * d, iterations + 1
    return x, iterations, float(np.abs(gradient(x, ridges[-1])).max())


def _stopped_before(name: str, iterations: int, norm: float, tol: float, ridge: float) -> str:
    return (
        f"{name} stopped after {iterations} iterations with gradient norm {norm:.1e} > tol={tol:g}; "
        f"a ridge larger than {ridge:g}, a larger tol or more max_iterations would let it finish"
    )


# ---------------------------------------------------------------- checks


def _problem(K: ArrayLike, y: ArrayLike, ridge: float) -> tuple[Array, Array, float]:
    K = square(K)
    return K, zero_one(y, "y", length=len(K)), real(ridge, "ridge", at_least=0)


def _softmax_problem(A: ArrayLike, K: ArrayLike, labels: ArrayLike, ridge: float) -> tuple[Array, Array, Array, float]:
    K, A = square(K), points(A, "A")
    same_length(A, "A", len(K))
    return A, K, _indicators(labels, len(K), A.shape[1]), real(ridge, "ridge", at_least=0)


def _penalty(ridge: float) -> float:
    """`ridge` as a positive number, with the reason why 0 will not do."""
    if real(ridge, "ridge", at_least=0) == 0:
        raise ValueError(
            "ridge must be > 0, got 0: on separable data the plain likelihood has no maximum (the weights grow for "
            "ever). logistic_gradient_descent with ridge=0 runs a stated number of iterations towards it"
        )
    return float(ridge)


def _stable_step(step: float, ridge: float) -> float:
    """`step` as a positive number at which the penalty alone shrinks the weights."""
    step = real(step, "step", above=0)
    if step * ridge >= 2:
        raise ValueError(
            f"step is too large: step={step:g} and ridge={ridge:g} multiply the weights by {1 - step * ridge:g} at "
            f"every step; step must be < 2 / ridge = {2 / ridge:g}"
        )
    return step


def _indicators(labels: ArrayLike, n: int, n_classes: int | None) -> Array:
    """The labels of n points, one-hot; without `n_classes` every class up to the largest label must occur."""
    values = vector(labels, "labels", length=n)
    if n_classes is None:
        found = np.unique(values)
        n_classes = len(found)
        if not np.array_equal(found, np.arange(n_classes)):
            raise ValueError(f"labels must be 0, 1, ..., k - 1 and each must occur, got {found[:5]}: state n_classes?")
    return one_hot(values, n_classes)


def _distributions(P: ArrayLike, name: str) -> Array:
    """`P` as rows of probabilities."""
    P = points(P, name)
    if P.min() < 0 or not np.allclose(P.sum(axis=1), 1, rtol=0, atol=1e-6):
        raise ValueError(
            f"each row of {name} must be probabilities that sum to 1, got entries from {P.min():g} to "
            f"{P.max():g} and row sums from {P.sum(axis=1).min():g} to {P.sum(axis=1).max():g}"
        )
    return P
