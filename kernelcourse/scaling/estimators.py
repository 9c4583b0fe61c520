r"""Estimators for many points: fit and predict with m features in blocks of rows, on numpy and on dask arrays.

Each takes what its exact counterpart in `kernelcourse.estimators` takes, and m. None stands for 1000 features, or n
landmarks where there are fewer points. How many are enough? Under the usual assumptions some $\sqrt n \log n$ landmarks
keep the statistical accuracy of exact kernel ridge regression (Rudi, Carratino and Rosasco 2017).

A `dask.array` for X (and y) stays where it is: fitting maps over its chunks, predicting returns a dask array.
"""

from __future__ import annotations

from typing import Any, Self

from ..kernels.kernel import Kernel
from ..kernels.vectors import Gaussian
from ..validation import owned, real, warn
from .base import (
    FeatureLogisticRegression,
    FeatureRegressor,
    FeatureRidge,
    FeatureSVM,
    FourierMixin,
    NystromMixin,
    RowsMixin,
    RowsRegressor,
)
from .blocks import MEMORY, cg_ridge, gram_product
from .engine import is_dask, map_rows
from .falkon import falkon


class CGRidge(RowsMixin, RowsRegressor):
    r"""Exact kernel ridge regression by conjugate gradients: $(K + \text{ridge}\, I)\, a = t$, and K is never formed.

    What `KernelRidge` finds, in memory for a block of rows; the time stays $O(n^2)$, for each iteration. Fitted: `a_`,
    `X_`, `n_iter_`.

    >>> from kernelcourse import Linear
    >>> CGRidge(Linear(), ridge=5.0).fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]]).round(6)
    array([4.5])
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008 - kernels are immutable
        ridge: float = 1.0,
        tol: float = 1e-8,
        max_iterations: int = 1000,
        memory: int = MEMORY,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.tol = tol
        self.max_iterations = max_iterations
        self.memory = memory

    def fit(self, X: Any, y: Any) -> Self:
        """Conjugate gradients to a relative residual of `tol`."""
        if is_dask(X):
            raise TypeError("CGRidge needs every pair of points: pass X.compute(), or use NystromRidge or Falkon")
        X = self._training_points(X)
        t = self._numbers(y, len(X))
        self.X_ = owned(X)  # what the user does to X later must not change the predictions
        self.a_, self.n_iter_ = cg_ridge(
            self.kernel_,
            self.X_,
            t,
            ridge=self.ridge,
            tol=self.tol,
            max_iterations=self.max_iterations,
            memory=self.memory_,
        )
        return self

    def predict(self, X: Any) -> Any:
        r"""$y(x) = \sum_n a_n k(x_n, x)$, in blocks of rows."""
        X = self._test_points(X)
        if is_dask(X):
            return map_rows(self.predict, X, columns=None, dtype=float)
        return gram_product(self.kernel_, X, self.X_, self.a_, memory=self.memory_)


class NystromRidge(NystromMixin, FeatureRidge):
    r"""Ridge regression in the span of m landmarks Z: $f(x) = w^\top k_Z(x)$ (Williams and Seeger 2001),

    $$(K_{ZX} K_{XZ} + \text{ridge}\, K_{ZZ})\, w = K_{ZX}\, t .$$

    `ridge` is that of `KernelRidge`, to which this is equal if every point is a landmark. `landmarks` is "uniform",
    "kmeans++" or "leverage". One pass over the points, $O(nm^2)$ time, $O(m^2)$ memory besides a block of at most
    `memory` bytes. Fitted: `w_`, `features_` (its `Z` are the landmarks).

    >>> import numpy as np
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> NystromRidge(Gaussian(1.0), m=20, ridge=1e-3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9999
    True
    """


class FourierRidge(FourierMixin, FeatureRidge):
    r"""Ridge regression on m random Fourier features of a stationary kernel (Rahimi and Recht 2007).

    `ridge` is that of `KernelRidge`, which this tends to as m grows. Fitted: `w_`, `features_`.

    >>> import numpy as np
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> FourierRidge(Gaussian(1.0), m=60, ridge=1e-3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9999
    True
    """


class Falkon(NystromMixin, FeatureRegressor):
    r"""`NystromRidge` by preconditioned conjugate gradients (Rudi, Carratino and Rosasco 2017): see `falkon`.

    It takes $O(nm)$ time for each of at most `iterations` passes over the points, where `NystromRidge` takes $O(nm^2)$
    once: the better choice for m in the thousands. The smaller ridge / n, the more iterations it needs; stopped too
    early it can be far from the solution, and warns. Fitted: `w_`, `features_`, `n_iter_`,
    `residuals_`.

    >>> import numpy as np
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> Falkon(Gaussian(1.0), m=20, ridge=1e-3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9999
    True
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008
        m: int | None = None,
        landmarks: str = "uniform",
        ridge: float = 1.0,
        iterations: int = 20,
        tol: float = 1e-7,
        memory: int = MEMORY,
        rng: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.m = m
        self.landmarks = landmarks
        self.ridge = ridge
        self.iterations = iterations
        self.tol = tol
        self.memory = memory
        self.rng = rng

    def fit(self, X: Any, y: Any) -> Self:
        """At most `iterations` passes over the points, or fewer to a relative residual of `tol`."""
        ridge = real(self.ridge, "ridge", above=0)
        X = self._training_points(X)
        t = self._numbers_of(X, y)
        features = self._draw_features(X, ridge)
        fit = falkon(features, X, t, ridge=ridge, iterations=self.iterations, tol=self.tol, memory=self.memory_)
        if fit.residuals and fit.residuals[-1] > 0.01:
            warn(
                f"Falkon stopped after {fit.iterations} iterations, with a relative residual of "
                f"{fit.residuals[-1]:.2g}: raise iterations or ridge, or take NystromRidge"
            )
        self.features_, self.w_, self.n_iter_, self.residuals_ = features, fit.w, fit.iterations, fit.residuals
        return self


class NystromLogisticRegression(NystromMixin, FeatureLogisticRegression):
    r"""Kernel logistic regression in the span of m landmarks; one against the rest for more than two classes.

    With every point a landmark and two classes it is `KernelLogisticRegression`. Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> NystromLogisticRegression(Gaussian(0.5), m=4, ridge=0.1).fit(X, y).predict_proba(X)[:, 1].round(1)
    array([0.2, 0.2, 0.8, 0.8])
    """


class FourierLogisticRegression(FourierMixin, FeatureLogisticRegression):
    r"""Logistic regression on m random Fourier features; one against the rest for more than two classes.

    Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> FourierLogisticRegression(Gaussian(0.5), m=100, ridge=0.1).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """


class NystromSVM(NystromMixin, FeatureSVM):
    r"""The support vector machine in the span of m landmarks; `lam` is lecture K's $\lambda$, as in `KernelSVM`.

    Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> NystromSVM(Gaussian(0.5), m=4, lam=0.01).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008
        m: int | None = None,
        landmarks: str = "uniform",
        lam: float = 0.01,
        memory: int = MEMORY,
        rng: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.m = m
        self.landmarks = landmarks
        self.lam = lam
        self.memory = memory
        self.rng = rng


class FourierSVM(FourierMixin, FeatureSVM):
    r"""The support vector machine on m random Fourier features; `lam` is lecture K's $\lambda$, as in `KernelSVM`.

    Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> FourierSVM(Gaussian(0.5), m=100, lam=0.01).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008
        m: int | None = None,
        lam: float = 0.01,
        memory: int = MEMORY,
        rng: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.m = m
        self.lam = lam
        self.memory = memory
        self.rng = rng
