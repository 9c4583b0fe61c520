r"""Ridge regression, primal and dual: functions of the design matrix Phi or of the Gram matrix K.

`ridge` is exactly what is added to the diagonal. The lectures write it in three ways:
$\lambda$ (lectures B and S), $\ell\gamma$ (lecture I, see `ridge_from_gamma`) and $n\lambda$ (lecture K, see
`ridge_from_mean_risk`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..linalg import solve_ridge
from ..validation import Array, numeric, points, real, same_length, square, vector, whole

__all__ = [
    "Centred", "centred_with_bias", "dual_from_primal", "dual_gradient", "dual_objective", "dual_weights",
    "dual_weights_with_offset", "predict", "primal_from_dual", "primal_gradient", "primal_objective", "primal_weights",
    "regularization_network", "ridge_from_gamma", "ridge_from_mean_risk",
]  # fmt: skip


def _columns(values: ArrayLike, name: str, *, length: int | None = None) -> Array:
    """`values` as one vector, or as several in columns, one for each output."""
    array = numeric(values, name)
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise ValueError(f"{name} must be 1-D, or 2-D with a column for each output, got shape {array.shape}")
    same_length(array, name, length)
    return array


def _primal(w: ArrayLike, Phi: ArrayLike, t: ArrayLike, ridge: float) -> tuple[Array, Array, Array, float]:
    Phi = points(Phi, "Phi")
    n, M = Phi.shape
    return vector(w, "w", length=M), Phi, vector(t, "t", length=n), real(ridge, "ridge", at_least=0)


def _dual(a: ArrayLike, K: ArrayLike, t: ArrayLike, ridge: float) -> tuple[Array, Array, Array, float]:
    K = square(K)
    return vector(a, "a", length=len(K)), K, vector(t, "t", length=len(K)), real(ridge, "ridge", at_least=0)


def primal_objective(w: ArrayLike, Phi: ArrayLike, t: ArrayLike, *, ridge: float) -> float:
    r"""The regularised sum of squares (lecture B, eq. 2)

    $$J(w) = \tfrac12 \|\Phi w - t\|^2 + \tfrac{\text{ridge}}{2}\, w^\top w.$$

    >>> primal_objective([1.5], [[1.0], [2.0]], [3.0, 6.0], ridge=5.0)
    11.25
    """
    w, Phi, t, ridge = _primal(w, Phi, t, ridge)
    residual = Phi @ w - t
    return float(0.5 * residual @ residual + 0.5 * ridge * w @ w)


def primal_gradient(w: ArrayLike, Phi: ArrayLike, t: ArrayLike, *, ridge: float) -> Array:
    r"""The gradient $\nabla J(w) = (\text{ridge}\, I + \Phi^\top\Phi)\, w - \Phi^\top t$ (lecture B, eq. 3).

    >>> primal_gradient([1.5], [[1.0], [2.0]], [3.0, 6.0], ridge=5.0)
    array([0.])
    """
    w, Phi, t, ridge = _primal(w, Phi, t, ridge)
    return ridge * w + Phi.T @ (Phi @ w - t)


def primal_weights(Phi: ArrayLike, t: ArrayLike, *, ridge: float) -> Array:
    r"""Solve the M x M system $(\text{ridge}\, I + \Phi^\top\Phi)\, w = \Phi^\top t$ (lecture B, eq. 5).

    `t` may have several columns, one per output; then `w` has as many.

    >>> primal_weights([[1.0], [2.0]], [3.0, 6.0], ridge=5.0)
    array([1.5])
    """
    Phi = points(Phi, "Phi")
    t = _columns(t, "t", length=len(Phi))
    return solve_ridge(Phi.T @ Phi, Phi.T @ t, real(ridge, "ridge", at_least=0), overwrite=True)


def dual_from_primal(w: ArrayLike, Phi: ArrayLike, t: ArrayLike, *, ridge: float) -> Array:
    r"""The dual weights as residuals, $a = -\frac{1}{\text{ridge}} (\Phi w - t)$ (lecture B, eq. 6 and 7).

    At the minimiser of $J(w)$ these are the weights with $w = \Phi^\top a$.

    >>> dual_from_primal([1.5], [[1.0], [2.0]], [3.0, 6.0], ridge=5.0)
    array([0.3, 0.6])
    """
    w, Phi, t, ridge = _primal(w, Phi, t, real(ridge, "ridge", above=0))
    return -(Phi @ w - t) / ridge


def primal_from_dual(a: ArrayLike, Phi: ArrayLike) -> Array:
    r"""The weights as a combination of training points, $w = \Phi^\top a = \sum_n a_n\, \phi(x_n)$ (lecture B, eq. 7).

    Computed once, `w` serves any number of test points (lecture S, alternative testing).

    >>> primal_from_dual([0.3, 0.6], [[1.0], [2.0]])
    array([1.5])
    """
    Phi = points(Phi, "Phi")
    return Phi.T @ _columns(a, "a", length=len(Phi))


def dual_objective(a: ArrayLike, K: ArrayLike, t: ArrayLike, *, ridge: float) -> float:
    r"""The objective in the dual weights (lecture B, eq. 8), equal to $J(w)$ at $w = \Phi^\top a$:

    $$J(a) = \tfrac12 a^\top K K a - a^\top K t + \tfrac12 t^\top t + \tfrac{\text{ridge}}{2}\, a^\top K a.$$

    The first three terms are half of $\|Ka - t\|^2$. They are computed in this form to avoid cancellation.

    >>> dual_objective([0.3, 0.6], [[1.0, 2.0], [2.0, 4.0]], [3.0, 6.0], ridge=5.0)
    11.25
    """
    a, K, t, ridge = _dual(a, K, t, ridge)
    f = K @ a
    return float(0.5 * (f - t) @ (f - t) + 0.5 * ridge * a @ f)


def dual_gradient(a: ArrayLike, K: ArrayLike, t: ArrayLike, *, ridge: float) -> Array:
    r"""The gradient of (8), $\nabla J(a) = K\,\bigl((K + \text{ridge}\, I)\, a - t\bigr)$ (lecture B, towards eq. 10).

    The factor K in front is why a singular K leaves the weights undetermined: any vector that K maps to 0 may be added.

    >>> dual_gradient([0.0, 0.0], [[1.0, 2.0], [2.0, 4.0]], [3.0, 6.0], ridge=5.0)
    array([-15., -30.])
    """
    a, K, t, ridge = _dual(a, K, t, ridge)
    return K @ (K @ a + ridge * a - t)


def dual_weights(K: ArrayLike, t: ArrayLike, *, ridge: float, overwrite_K: bool = False) -> Array:
    r"""Solve $(K + \text{ridge}\, I)\, a = t$ (lecture B, eq. 10; lecture S; lecture K with $\text{ridge} = n\lambda$).

    `t` may have several columns, one per output; then `a` has as many. `overwrite_K=True` saves the memory of a second
    n x n matrix, but destroys K.

    >>> dual_weights([[1.0, 2.0], [2.0, 4.0]], [3.0, 6.0], ridge=5.0)
    array([0.3, 0.6])
    """
    K = square(K)
    t = _columns(t, "t", length=len(K))
    return solve_ridge(K, t, real(ridge, "ridge", at_least=0), overwrite=overwrite_K)


def predict(K_test: ArrayLike, a: ArrayLike) -> Array:
    r"""Predict $y(x') = k(x')^\top a = \sum_n a_n\, k(x_n, x')$ at each test point (lecture B, eq. 11).

    `K_test` has a row for each test point and a column for each training point.

    >>> predict([[3.0, 6.0]], [0.3, 0.6])  # x' = 3, trained on x = 1, 2: w x' = 1.5 * 3
    array([4.5])
    """
    a = _columns(a, "a")
    return points(K_test, "K_test", columns=len(a)) @ a


def ridge_from_mean_risk(lam: float, *, n: int) -> float:
    r"""The ridge for $\frac1n \sum_i (f(x_i) - y_i)^2 + \lambda \|f\|^2$ (lecture K): it is $n\lambda$.

    >>> ridge_from_mean_risk(0.5, n=20)
    10.0
    """
    return whole(n, "n", at_least=1) * real(lam, "lam", at_least=0)


def ridge_from_gamma(gamma: float, *, ell: int) -> float:
    r"""The ridge for $\frac1\ell \sum_i (y_i - f(x_i))^2 + \gamma \|f\|^2$ (lecture I): it is $\ell\gamma$.

    >>> ridge_from_gamma(0.5, ell=20)
    10.0
    """
    return whole(ell, "ell", at_least=1) * real(gamma, "gamma", at_least=0)


def regularization_network(K: ArrayLike, y: ArrayLike, *, gamma: float) -> Array:
    r"""Lecture I, algorithm 3: $\alpha = (\ell\gamma I + K)^{-1} y$, the dual weights under another name.

    >>> regularization_network([[1.0, 0.0], [0.0, 1.0]], [2.0, 4.0], gamma=0.5)
    array([1., 2.])
    """
    K = square(K)
    y = _columns(y, "y", length=len(K))
    return solve_ridge(K, y, ridge_from_gamma(gamma, ell=len(K)))


def dual_weights_with_offset(K: ArrayLike, t: ArrayLike, *, ridge: float) -> tuple[Array, float | Array]:
    r"""Dual weights `a` and an offset `b` that is not penalised (the representer theorem's $b$, lecture I):

    $$\min_{a,\,b}\ \tfrac12 \|t - Ka - b 1\|^2 + \tfrac{\text{ridge}}{2}\, a^\top K a, \qquad
      \begin{pmatrix} K + \text{ridge}\, I & 1 \\ 1^\top & 0 \end{pmatrix}
      \begin{pmatrix} a \\ b \end{pmatrix} = \begin{pmatrix} t \\ 0 \end{pmatrix}.$$

    The last row says $1^\top a = 0$. With the centring matrix $H = I - \frac1n 1 1^\top$, the system becomes
    $(HKH + \text{ridge}\, I)\, a = H t$, and $b$ is the mean of $t - Ka$: a free offset amounts to centring features
    and targets. Predict with `predict(K_test, a) + b`. With several outputs, `b` has one entry for each.

    >>> a, b = dual_weights_with_offset([[1.0, -1.0], [-1.0, 1.0]], [10.0, 14.0], ridge=2.0)
    >>> a, b
    (array([-0.5,  0.5]), 12.0)
    """
    K = square(K)
    t, ridge, n = _columns(t, "t", length=len(K)), real(ridge, "ridge", at_least=0), len(K)
    # HKH maps 1 to 0 even if K is invertible. The right-hand side is orthogonal to 1, so another eigenvalue for 1 does
    # not change the solution; the mean of K's eigenvalues keeps the system as well conditioned as K.
    along_ones = np.trace(K) / n
    HKH = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    HKH += along_ones / n
    a = solve_ridge(HKH, t - t.mean(axis=0), ridge, overwrite=True)
    b = (t - K @ a).mean(axis=0)
    return a, (float(b) if t.ndim == 1 else b)


class Centred(NamedTuple):
    """Inputs centred and extended by a 1, targets centred, and the means that were subtracted."""

    X: Array  # (n, d + 1)
    t: Array  # (n,) or (n, m)
    x_mean: Array  # (d,)
    t_mean: Array  # () or (m,)

    def extend(self, Z: ArrayLike) -> Array:
        """Treat new points like the training points: subtract the training mean and append a 1."""
        Z = points(Z, "Z", columns=len(self.x_mean))
        return np.column_stack([Z - self.x_mean, np.ones(len(Z))])


def centred_with_bias(X: ArrayLike, t: ArrayLike) -> Centred:
    r"""Centre X and t, then append a column of ones that is not centred (lecture S, kernel ridge regression).

    Plain ridge on the result penalises the bias, the weight of that column, like every other weight; that is what
    makes w a combination of the training points. In the Gram matrix the column is the constant kernel 1:
    $X X^\top = X_c X_c^\top + 1 1^\top$. Predict with `centred.extend(Z) @ w + centred.t_mean`.

    These linear features are orthogonal to the ones, so the penalty costs nothing: the bias is 0 with or without it.
    With other features of the centred inputs, such as squares, `dual_weights_with_offset` gives different predictions.

    >>> centred = centred_with_bias([[1.0], [3.0]], [10.0, 14.0])
    >>> centred.X
    array([[-1.,  1.],
           [ 1.,  1.]])
    >>> w = primal_weights(centred.X, centred.t, ridge=2.0)
    >>> centred.extend([[4.0]]) @ w + centred.t_mean
    array([14.])
    """
    X = points(X)
    t = _columns(t, "t", length=len(X))
    x_mean, t_mean = X.mean(axis=0), t.mean(axis=0)
    return Centred(np.column_stack([X - x_mean, np.ones(len(X))]), t - t_mean, x_mean, t_mean)
