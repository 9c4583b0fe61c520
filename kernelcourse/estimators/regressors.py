"""Regression: ridge in feature space and in the dual, regularization networks, semi-parametric models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..algorithms import ridge as algorithms
from ..kernels.kernel import Kernel, NoFiniteFeatureMap
from ..kernels.vectors import Gaussian, Linear
from ..validation import Array, offset_word, points, real
from .base import Expansion, Regressor, a_kernel, constant_of, gram

__all__ = ["KernelRidge", "Parts", "RegularizationNetwork", "Ridge", "SemiparametricRidge"]


@dataclass(eq=False, repr=False)
class Ridge(Regressor):
    r"""Ridge regression in feature space: $w = (\text{ridge}\, I + \Phi^\top\Phi)^{-1} \Phi^\top t$ (lecture B, eq. 5).

    `phi` maps n points to the (n, M) design matrix, for example `lambda X: monomials(X, 3)`; None means $\phi(x) = x$.
    `offset` is "none", "penalised" (lecture S: X and t are centred, and one more feature, 1, is penalised like every
    other) or "free" (a bias without penalty, the b of lecture I). Fitted: `w_`, `b_` (0 without an offset).

    >>> Ridge(ridge=5.0).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]])
    array([4.5])
    """

    phi: Callable[[Any], Any] | None = None
    ridge: float = 1.0
    offset: str = "none"

    def _design(self, X: Any) -> Array:
        return X if self.phi_ is None else points(self.phi_(X), "phi(X)")

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the M x M normal equations."""
        ridge, offset = real(self.ridge, "ridge", at_least=0), offset_word(self.offset)
        if self.phi is not None and not callable(self.phi):
            raise TypeError(f"phi must be a function of the points, got {self.phi!r}")
        self.phi_ = self.phi
        X = self._training_points(X)
        t = self._numbers(y, len(X))
        self._origin = X.mean(axis=0) if offset == "penalised" else 0.0
        Phi = self._design(X - self._origin)
        if offset == "none":
            self.w_, self.b_ = algorithms.primal_weights(Phi, t, ridge=ridge), 0.0
        elif offset == "penalised":
            *w, bias = algorithms.primal_weights(np.column_stack([Phi, np.ones(len(t))]), t - t.mean(), ridge=ridge)
            self.w_, self.b_ = np.array(w), float(bias + t.mean())
        else:
            phi_mean, t_mean = Phi.mean(axis=0), t.mean()
            self.w_ = algorithms.primal_weights(Phi - phi_mean, t - t_mean, ridge=ridge)
            self.b_ = float(t_mean - phi_mean @ self.w_)
        return self

    def predict(self, X: Any) -> Array:
        r"""$y(x) = w^\top \phi(x) + b$."""
        return self._design(self._test_points(X) - self._origin) @ self.w_ + self.b_


@dataclass(eq=False, repr=False)
class KernelRidge(Regressor):
    r"""Ridge regression in the dual: $a = (K + \text{ridge}\, I)^{-1} t$, $y(x) = k(x)^\top a$ (lecture B, eq. 10, 11).

    It predicts the same as `Ridge` with the kernel's features, from an n x n system. `ridge` is what is added to the
    diagonal: $\lambda$ in lectures B and S, $n\lambda$ in lecture K, $\ell\gamma$ in lecture I. `offset` is "none",
    "penalised" (the constant kernel 1 is added, and t is centred, as is X if points are vectors) or "free".
    Fitted: `a_`, `b_`, `X_`.

    >>> KernelRidge(Linear(), ridge=5.0).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]])
    array([4.5])
    """

    kernel: Kernel = Gaussian(1.0)
    ridge: float = 1.0
    offset: str = "none"

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the n x n dual system."""
        ridge, offset = real(self.ridge, "ridge", at_least=0), offset_word(self.offset)
        X = self._training_points(X)
        self._origin = X.mean(axis=0) if offset == "penalised" and self.kernel_.on_vectors else None
        P = self.kernel_.prepare(self._shifted(X))
        t = self._numbers(y, len(P))
        K = gram(self.kernel_, P, offset)
        b: Any
        if offset == "free":
            self.a_, b = algorithms.dual_weights_with_offset(K, t, ridge=ridge)
        else:
            b = t.mean() if offset == "penalised" else 0.0
            self.a_ = algorithms.dual_weights(K, t - b, ridge=ridge, overwrite_K=True)
        self.b_ = float(b + constant_of(self.a_, offset))
        self.f_ = Expansion.over(P, self.a_, self.kernel_)
        return self

    def _shifted(self, X: Any) -> Any:
        return X if self._origin is None else X - self._origin

    def predict(self, X: Any) -> Array:
        r"""$y(x) = \sum_n a_n k(x_n, x) + b$."""
        X = self._test_points(X)
        return self.f_(self._shifted(X)) + self.b_


@dataclass(eq=False, repr=False)
class RegularizationNetwork(Regressor):
    r"""Lecture I, algorithm 3: $\alpha = (\ell\gamma I + K)^{-1} y$, the minimiser of
    $\frac1\ell \sum_i (y_i - f(x_i))^2 + \gamma \lVert f\rVert^2$. Fitted: `alpha_`, `X_`.

    >>> RegularizationNetwork(Linear(), gamma=2.5).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]])
    array([4.5])
    """

    kernel: Kernel = Gaussian(1.0)
    gamma: float = 0.01

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the system with $\\ell\\gamma$ on the diagonal."""
        P = self._prepared_points(X)
        y = self._numbers(y, len(P))
        self.alpha_ = algorithms.regularization_network(gram(self.kernel_, P), y, gamma=self.gamma)
        self.f_ = Expansion.over(P, self.alpha_, self.kernel_)
        return self

    def predict(self, X: Any) -> Array:
        r"""$h(x) = \sum_i \alpha_i k(x_i, x)$."""
        return self._expanded(X)


class Parts(NamedTuple):
    """A semi-parametric prediction and what it is made of: `total = nonparametric + parametric`."""

    total: Array
    nonparametric: Array
    parametric: Array


@dataclass(eq=False, repr=False)
class SemiparametricRidge(Regressor):
    r"""Ridge with the kernel $k + k_p$, and f split into its two parts (lecture K10):

    $$f(x) = \sum_i a_i k(x_i, x) + \sum_i a_i k_p(x_i, x) = f_{np}(x) + w^\top \phi_p(x).$$

    Lecture K's $c_1, c_2$ are factors of the kernels: `SemiparametricRidge(c1 * Gaussian(1.0), c2 * Linear())`.
    Fitted: `a_`, `X_`, and the parametric weights `w_` if that kernel has finite features.

    >>> model = SemiparametricRidge(0.1 * Gaussian(1.0), Linear(), ridge=0.1).fit([[1.0], [2.0]], [3.0, 6.0])
    >>> model.parts([[30.0]]).nonparametric.round(6)
    array([0.])
    """

    kernel: Kernel = Gaussian(1.0)
    parametric: Kernel = Linear()
    ridge: float = 1.0

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual system of the sum of the two kernels."""
        ridge = real(self.ridge, "ridge", at_least=0)
        self.parametric_ = a_kernel(self.parametric, "parametric")
        X = self._training_points(X)
        t = self._numbers(y, len(X))
        P, Q = self.kernel_.prepare(X), self.parametric_.prepare(X)
        self.a_ = algorithms.dual_weights(gram(self.kernel_, P) + gram(self.parametric_, Q), t, ridge=ridge)
        self._nonparametric_f = Expansion.over(P, self.a_, self.kernel_)
        self._parametric_f = Expansion.over(Q, self.a_, self.parametric_)
        return self

    @property
    def w_(self) -> Array:
        """The weights of the parametric part, $w = \\Phi_p^\\top a$."""
        self._require_fitted()
        try:
            Phi = self.parametric_.feature_rows(self._parametric_f.points)
        except NoFiniteFeatureMap as error:  # so that hasattr(model, "w_") is False
            raise AttributeError(f"w_ does not exist: {error}") from error
        return algorithms.primal_from_dual(self._parametric_f.weights, Phi)

    def parts(self, X: Any) -> Parts:
        """The prediction, and its non-parametric and parametric parts."""
        X = self._test_points(X)
        nonparametric, parametric = self._nonparametric_f(X), self._parametric_f(X)
        return Parts(nonparametric + parametric, nonparametric, parametric)

    def predict(self, X: Any) -> Array:
        """The sum of the two parts."""
        return self.parts(X).total
