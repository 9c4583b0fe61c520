"""Regression: ridge in feature space and in the dual, regularization networks, semi-parametric models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from ..algorithms import ridge as algorithms
from ..kernels.kernel import Kernel, NoFiniteFeatureMap
from ..kernels.vectors import Gaussian, Linear
from ..linalg import largest_row_sum, solve_ridges
from ..validation import Array, choice, points, real
from .base import KernelMixin, Regressor

OFFSETS = ("none", "penalised", "free")


class Ridge(Regressor):
    r"""Ridge regression in feature space: $w = (\text{ridge}\, I + \Phi^\top\Phi)^{-1} \Phi^\top t$ (lecture B, eq. 5).

    `phi` maps n points to the (n, M) design matrix, for example `lambda X: monomials(X, 3)`; None is $\phi(x) = x$.
    `offset` is "none", "penalised" (lecture S: X and t are centred, and one more feature, 1, is penalised like every
    other) or "free" (a bias that costs nothing, the b of lecture I).

    Fitted: `w_`, `b_` (0 without an offset).

    >>> Ridge(ridge=5.0).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]])
    array([4.5])
    """

    def __init__(self, phi: Callable[[Any], Any] | None = None, ridge: float = 1.0, offset: str = "none") -> None:
        self.phi = phi
        self.ridge = ridge
        self.offset = offset

    def _design(self, X: Any) -> Array:
        return X if self.phi_ is None else points(self.phi_(X), "phi(X)")

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the M x M normal equations."""
        ridge, offset = real(self.ridge, "ridge", at_least=0), choice(self.offset, "offset", OFFSETS)
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


class KernelRidge(KernelMixin, Regressor):
    r"""Ridge regression in the dual: $a = (K + \text{ridge}\, I)^{-1} t$, $y(x) = k(x)^\top a$ (lecture B, eq. 10, 11).

    The same predictions as `Ridge` with the kernel's features, from an n x n system. `ridge` is what is added to the
    diagonal: $\lambda$ in lectures B and S, $n\lambda$ in lecture K, $\ell\gamma$ in lecture I. `offset` is "none",
    "penalised" (the constant kernel 1 added, t centred, and X too where points are vectors) or "free".

    Fitted: `a_`, `b_`, `X_`.

    >>> KernelRidge(Linear(), ridge=5.0).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]])
    array([4.5])
    """

    def __init__(self, kernel: Kernel = Gaussian(1.0), ridge: float = 1.0, offset: str = "none") -> None:  # noqa: B008 - kernels are immutable
        self.kernel = kernel
        self.ridge = ridge
        self.offset = offset

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the n x n dual system."""
        ridge, offset = real(self.ridge, "ridge", at_least=0), choice(self.offset, "offset", OFFSETS)
        X = self._training_points(X)
        t = self._numbers(y, len(X))
        self._origin = X.mean(axis=0) if offset == "penalised" and self.kernel_.on_vectors else None
        self.X_ = self._shifted(X)
        K = self.kernel_(self.X_)
        b: Any
        if offset == "none":
            self.a_, b = algorithms.dual_weights(K, t, ridge=ridge, overwrite_K=True), 0.0
        elif offset == "penalised":
            K += 1.0
            self.a_ = algorithms.dual_weights(K, t - t.mean(), ridge=ridge, overwrite_K=True)
            b = float(self.a_.sum() + t.mean())
        else:
            self.a_, b = algorithms.dual_weights_with_offset(K, t, ridge=ridge)
        self.b_ = b
        return self

    path = "ridge"
    path_in_threads = False  # its one long reduction keeps the interpreter to itself

    def _along_path(self, K: Array, y: Any, K_test: Array, ridges: list[Any]) -> list[Array] | None:
        """The predictions for many ridges, from one reduction of K; None where they want a fit each."""
        values = np.array([real(ridge, "ridge", at_least=0) for ridge in ridges])
        t = self._numbers(y, len(K))
        rounding = 1e3 * len(K) * np.finfo(float).eps * largest_row_sum(K)
        if choice(self.offset, "offset", OFFSETS) != "none" or values.min() <= rounding:
            return None
        return list((K_test @ solve_ridges(K, t, values)).T)

    def _shifted(self, X: Any) -> Any:
        return X if self._origin is None else X - self._origin

    def predict(self, X: Any) -> Array:
        r"""$y(x) = \sum_n a_n k(x_n, x) + b$."""
        return self._expansion(self._shifted(self._test_points(X)), self.a_) + self.b_


class RegularizationNetwork(KernelMixin, Regressor):
    r"""Lecture I, algorithm 3: $\alpha = (\ell\gamma I + K)^{-1} y$, the minimiser of
    $\frac1\ell \sum_i (y_i - f(x_i))^2 + \gamma \lVert f\rVert^2$.

    Fitted: `alpha_`, `X_`.

    >>> RegularizationNetwork(Linear(), gamma=2.5).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]])
    array([4.5])
    """

    def __init__(self, kernel: Kernel = Gaussian(1.0), gamma: float = 0.01) -> None:  # noqa: B008
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the system with $\\ell\\gamma$ on the diagonal."""
        X = self._training_points(X)
        y = self._numbers(y, len(X))
        self.alpha_ = algorithms.regularization_network(self.kernel_(X), y, gamma=self.gamma)
        self.X_ = X
        return self

    def predict(self, X: Any) -> Array:
        r"""$h(x) = \sum_i \alpha_i k(x_i, x)$."""
        return self._expansion(self._test_points(X), self.alpha_)


class Parts(NamedTuple):
    """A semi-parametric prediction and what it is made of: `total = nonparametric + parametric`."""

    total: Array
    nonparametric: Array
    parametric: Array


class SemiparametricRidge(KernelMixin, Regressor):
    r"""Ridge with the kernel $k + k_p$, and f split into its two parts (lecture K10):

    $$f(x) = \sum_i a_i k(x_i, x) + \sum_i a_i k_p(x_i, x) = f_{np}(x) + w^\top \phi_p(x).$$

    Lecture K's $c_1, c_2$ are factors of the kernels: `SemiparametricRidge(c1 * Gaussian(1.0), c2 * Linear())`.
    Fitted: `a_`, `X_`, and the parametric weights `w_` where that kernel has finite features.

    >>> model = SemiparametricRidge(0.1 * Gaussian(1.0), Linear(), ridge=0.1).fit([[1.0], [2.0]], [3.0, 6.0])
    >>> model.parts([[30.0]]).nonparametric.round(6)
    array([0.])
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008
        parametric: Kernel = Linear(),  # noqa: B008
        ridge: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.parametric = parametric
        self.ridge = ridge

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual system of the sum of the two kernels."""
        ridge = real(self.ridge, "ridge", at_least=0)
        if not isinstance(self.parametric, Kernel):
            raise TypeError(f"parametric must be a Kernel such as Linear(), got {self.parametric!r}")
        X = self._training_points(X)
        t = self._numbers(y, len(X))
        self.parametric_ = self.parametric
        self.a_ = algorithms.dual_weights((self.kernel_ + self.parametric_)(X), t, ridge=ridge)
        self.X_ = X
        return self

    @property
    def w_(self) -> Array:
        """The weights of the parametric part, $w = \\Phi_p^\\top a$."""
        self._require_fitted()
        try:
            Phi = self.parametric_.features(self.X_)
        except NoFiniteFeatureMap as error:  # so that hasattr(model, "w_") is False
            raise AttributeError(f"w_ does not exist: {error}") from error
        return algorithms.primal_from_dual(self.a_, Phi)

    def parts(self, X: Any) -> Parts:
        """The prediction, and its non-parametric and parametric part."""
        X = self._test_points(X)
        nonparametric = algorithms.predict(self.kernel_(X, self.X_), self.a_)
        parametric = algorithms.predict(self.parametric_(X, self.X_), self.a_)
        return Parts(nonparametric + parametric, nonparametric, parametric)

    def predict(self, X: Any) -> Array:
        """The sum of the two parts."""
        return self.parts(X).total
