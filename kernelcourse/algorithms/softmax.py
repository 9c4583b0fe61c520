r"""Softmax regression: logistic regression for many classes (lecture H), in function space and with features.

The objective is that of `kernelcourse.algorithms.logistic`, with a column of weights for each class: the cross-entropy
of the labels, summed over the points, plus $\tfrac{\text{ridge}}{2} \|f\|^2$. In function space its gradient has the
coefficients $R = \operatorname{softmax}(KA) - Y + \text{ridge}\, A$, with the labels one-hot in $Y$.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..linalg import refuse_indefinite, solve_ridge
from ..validation import Array, points, square, vector, whole
from .newton import newton_by_products, positive_ridge, solve_weighted, zero_of_gradient

__all__ = ["cross_entropy", "kernel_softmax", "one_hot", "primal_softmax", "softmax"]


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
    P, Y = distributions(points(P, "P"), "P"), distributions(points(Y, "Y"), "Y")
    if P.shape != Y.shape:
        raise ValueError(f"P and Y must have the same shape, got {P.shape} and {Y.shape}")
    with np.errstate(divide="ignore"):
        return -float((Y[Y > 0] * np.log(P[Y > 0])).sum())


def kernel_softmax(
    K: ArrayLike,
    labels: ArrayLike,
    *,
    ridge: float,
    n_classes: int | None = None,
    tol: float = 1e-8,
    max_products: int = 2000,
) -> Array:
    r"""Dual weights $A$, (n, k), at the minimum of the objective

    $$J(A) = -\sum_i \log \operatorname{softmax}(KA)_{i, \text{label}_i}
    + \tfrac{\text{ridge}}{2} \operatorname{tr} A^\top K A.$$

    Labels are 0, ..., k - 1, and each must occur unless `n_classes` states k. The method is Newton's with conjugate
    gradients, as in `logistic_newton_cg`, on all classes at once: an iteration multiplies K by one matrix of k columns,
    $O(kn^2)$. If `max_products` are not enough, factorisations as in `logistic_newton` take over, $O(kn^3)$ per step.

    The rows of $A$ sum to 0. So for k = 2 the two columns are $\mp a/2$ with $a = A_{*1} - A_{*0}$, the penalty is
    half the binary one, and `kernel_softmax` with `2 * ridge` gives the $a$ of `logistic_newton` with `ridge`.

    >>> A = kernel_softmax(np.eye(2), [0, 1], ridge=0.2)
    >>> from kernelcourse.algorithms.logistic import logistic_newton
    >>> bool(np.allclose(A[:, 1] - A[:, 0], logistic_newton(np.eye(2), [0, 1], ridge=0.1).a))
    True
    """
    K, ridge = square(K), positive_ridge(ridge)
    Y = _indicators(labels, len(K), n_classes)

    def curvature(F: Array) -> Callable[[Array], Array]:
        P = _softmax(F)
        return lambda U: P * (U - (P * U).sum(axis=1, keepdims=True))

    A, _ = newton_by_products(K, lambda F: _softmax_errors(F, Y), curvature, Y.shape, ridge, tol, max_products)
    return _by_factorisations(K, Y, ridge, tol) if A is None else A


def _by_factorisations(K: Array, Y: Array, ridge: float, tol: float) -> Array:
    """`kernel_softmax` where products with K are not enough: one system per class, and one that joins them."""
    refuse_indefinite(K, 1e-8 * float(np.abs(K).max()))

    def gradient(A: Array, ridge: float) -> Array:
        return _softmax_errors(K @ A, Y) + ridge * A

    def direction(A: Array, R: Array, ridge: float) -> Array:
        # In class c, with P_c = diag(p_c): (ridge + P_c K) d_c = P_c g - r_c, where g = sum_c P_c K d_c is all that the
        # classes share. So d_c = E_c g + e_c, and g follows from sum_c d_c = 0: the rows of R, and of A, sum to 0.
        P = _softmax(K @ A)
        solved = [
            solve_weighted(K, p_c, np.column_stack([np.diag(p_c), -r_c]), ridge)
            for p_c, r_c in zip(P.T, R.T, strict=True)
        ]
        E, e = np.stack(solved)[:, :, :-1], np.stack(solved)[:, :, -1]  # (k, n, n), (k, n)
        g = solve_ridge(E.sum(axis=0), -e.sum(axis=0), 0.0, quiet=True)
        return (E @ g + e).T

    start, scale = np.zeros(Y.shape), np.trace(K) / len(K)
    return zero_of_gradient(start, gradient, direction, ridge, scale, tol, 300, name="kernel_softmax")[0]


def primal_softmax(
    Phi: ArrayLike,
    labels: ArrayLike,
    *,
    ridge: float,
    n_classes: int | None = None,
    tol: float = 1e-8,
    max_iterations: int = 300,
) -> Array:
    r"""Primal weights $W$, (D, k), by Newton's method: `kernel_softmax` in the primal, $W = \Phi^\top A$. They minimise

    $$J(W) = -\sum_i \log \operatorname{softmax}(\Phi W)_{i, \text{label}_i} + \tfrac{\text{ridge}}{2} \|W\|_F^2.$$

    The method, the meaning of `tol` and the warning are those of `logistic_newton`, with the gradient
    $\Phi^\top(\operatorname{softmax}(\Phi W) - Y) + \text{ridge}\, W$ for $r$. A step costs $O(k^2 n D^2 + k^3 D^3)$.

    >>> W = primal_softmax(np.eye(2), [0, 1], ridge=0.2)
    >>> bool(np.allclose(W, kernel_softmax(np.eye(2), [0, 1], ridge=0.2)))
    True
    """
    Phi, ridge = points(Phi, "Phi"), positive_ridge(ridge)
    Y = _indicators(labels, len(Phi), n_classes)
    D, k = Phi.shape[1], Y.shape[1]

    def gradient(W: Array, ridge: float) -> Array:
        return Phi.T @ _softmax_errors(Phi @ W, Y) + ridge * W

    def direction(W: Array, G: Array, ridge: float) -> Array:
        P = _softmax(Phi @ W)
        curvature = [[P[:, c] * ((c == e) - P[:, e]) for e in range(k)] for c in range(k)]  # k x k, each (n,)
        H = np.block([[(Phi.T * h) @ Phi for h in row] for row in curvature])
        return solve_ridge(H, -G.T.ravel(), ridge, quiet=True).reshape(k, D).T

    start, scale = np.zeros((D, k)), (Phi**2).sum() / len(Phi)
    return zero_of_gradient(start, gradient, direction, ridge, scale, tol, max_iterations, name="primal_softmax")[0]


def _softmax(Z: Array) -> Array:
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def log_softmax(Z: Array) -> Array:
    """log softmax of each row, without overflow and without a logarithm of 0."""
    return Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)


def _softmax_errors(F: Array, Y: Array) -> Array:
    """softmax(F) - Y, where the right class gets minus the sum of the others: p - 1 would lose digits."""
    others = _softmax(F) * (1 - Y)
    return others - Y * others.sum(axis=1, keepdims=True)


def _indicators(labels: ArrayLike, n: int, n_classes: int | None) -> Array:
    """The labels of n points, one-hot; without `n_classes` every class up to the largest label must occur."""
    values = vector(labels, "labels", length=n)
    if n_classes is None:
        found = np.unique(values)
        n_classes = len(found)
        if not np.array_equal(found, np.arange(n_classes)):
            raise ValueError(f"labels must be 0, 1, ..., k - 1 and each must occur, got {found[:5]}: pass n_classes?")
    return one_hot(values, n_classes)


def distributions(P: Array, name: str) -> Array:
    """P itself, after a check that its rows are probabilities."""
    if P.min() < 0 or np.abs(P.sum(axis=1) - 1).max() > 1e-6:
        worst = np.maximum(-P.min(axis=1), np.abs(P.sum(axis=1) - 1)).argmax()
        raise ValueError(f"each row of {name} must be probabilities that sum to 1, got {P[worst]} in row {worst}")
    return P
