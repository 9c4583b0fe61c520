r"""Estimators for many points: fit and predict with m features in blocks of rows, on numpy and on dask arrays.

Each takes the kernel and penalty of its exact counterpart in `kernelcourse.estimators`, and m, but no offset. `m=None`
means 1000 features, or n landmarks if n < 1000. How many are enough? Under the usual assumptions, $O(\sqrt n \log n)$
landmarks keep the statistical accuracy of exact kernel ridge regression (Rudi, Carratino and Rosasco 2017).

A `dask.array` for X (and y) stays where it is: fitting maps over its chunks, and predicting returns a dask array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..estimators.base import Classifier, Estimator, ProbabilisticClassifier, Regressor, a_kernel, side_by_side
from ..kernels.kernel import Kernel
from ..kernels.vectors import Gaussian
from ..seam import definition
from ..validation import Array, generator, real, warn, whole
from .blocks import MEMORY, row_blocks
from .chunks import by_chunks, dask_rows, dask_vector, distinct, gather, is_dask
from .maps import GramError, draw_features, gram_error
from .models import NewtonFit, falkon, feature_logistic, feature_ridge, feature_svm

__all__ = [
    "Falkon", "FourierLogisticRegression", "FourierRidge", "FourierSVM", "NystromLogisticRegression",
    "NystromRidge", "NystromSVM",
]  # fmt: skip


class Model(NamedTuple):
    """A model that takes a feature map."""

    solve: Callable[..., Any]
    strength: str  # the name of its penalty
    as_ridge: Callable[[float, int], float]  # the equivalent ridge for n points, for leverage scores


def _one_pass(features: Any, X: Any, t: Any, **options: Any) -> NewtonFit:
    return NewtonFit(feature_ridge(features, X, t, **options), 1, np.nan)


RIDGE = Model(_one_pass, "ridge", lambda ridge, n: ridge)
FALKON = Model(falkon, "ridge", lambda ridge, n: ridge)
LOGISTIC = Model(feature_logistic, "ridge", lambda ridge, n: 4 * ridge)  # its loss has at most 1/4 of the curvature
SVM = Model(feature_svm, "lam", lambda lam, n: 2 * n * lam)


@definition
def fit_each(model: Model, features: Any, X: Any, problems: list[Any], options: dict[str, Any]) -> list[Any]:
    """The model's fit on the features for each vector of targets."""
    return [model.solve(features, X, targets, **options) for targets in problems]


@dataclass(eq=False, repr=False)
class OnFeatures(Estimator):
    r"""A feature map $\phi$, drawn by `fit`, and a model that finds the w of $f(x) = w^\top \phi(x)$.

    The points are rows of an array, objects in a list, or a dask array chunked along its rows. They are not copied.
    """

    kernel: Kernel = Gaussian(1.0)
    m: int | None = None
    _: KW_ONLY
    memory: int = MEMORY
    rng: Any = 0
    model: ClassVar[Model]

    def _training_points(self, X: Any) -> Any:
        self.kernel_, self.memory_ = a_kernel(self.kernel, "kernel"), whole(self.memory, "memory", at_least=1)
        return self._with_columns(X, dask_rows(X) if is_dask(X) else self._points(X))

    def _scores(self, X: Any) -> Array:
        r"""$w^\top \phi(x)$ in blocks of rows; one column per class if there are more than two."""
        X = self._test_points(X)
        P = self.features_.prepare(X)
        scores = np.empty((len(P), *self.w_.shape[1:]))
        for block in row_blocks(len(P), self.features_.m, memory=self.memory_):
            scores[block] = self.features_.rows(P[block]) @ self.w_
        return scores

    @by_chunks
    def predict(self: Any, X: Any) -> Any:
        """The value of f at each point, or the label that follows from it."""
        return self._decide(self._scores(X))

    def gram_error(self, X: Any, sample: int = 500, rng: Any = 0) -> GramError:
        """How far the approximate kernel is from the exact one, on a random sample of the points X."""
        if is_dask(X):
            X = gather(dask_rows(X), np.sort(generator(rng).choice(len(X), size=min(len(X), sample), replace=False)))
        return gram_error(self.kernel_, self.features_, self._test_points(X), sample=sample, rng=rng)

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the features, and find the weights in passes over blocks of rows."""
        fits = self._fits(X, y)
        self.w_ = side_by_side([fit.w for fit in fits])
        self.n_iter_ = max(fit.passes for fit in fits)
        return self

    def _fits(self, X: Any, y: Any, **options: Any) -> list[Any]:
        """The model's fit on the features, or one fit for each one-against-rest problem."""
        model = self.model
        strength = real(getattr(self, model.strength), model.strength, above=0)
        X = self._training_points(X)
        problems = self._problems_of(X, y)
        how, ridge = getattr(self, "landmarks", None), model.as_ridge(strength, len(X))
        self.features_ = draw_features(
            self.kernel_, X, self.m, landmarks=how, ridge=ridge, memory=self.memory_, rng=self.rng
        )
        options |= {model.strength: strength, "memory": self.memory_}
        return fit_each(model, self.features_, X, problems, options)

    def _problems_of(self: Any, X: Any, y: Any) -> list[Any]:
        if self.kind == "regressor":
            return [dask_vector(y, X) if is_dask(X) else self._numbers(y, len(X))]
        if not is_dask(X):
            return self._problems(y, len(X))
        y = dask_vector(y, X)
        found = distinct(y)
        self._encode(found, len(found))
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [2.0 * (y == label) - 1.0 for label in positive]


@dataclass(eq=False, repr=False)
class NystromRidge(OnFeatures, Regressor):
    r"""Ridge regression in the span of m landmarks Z: $f(x) = w^\top k_Z(x)$ (Williams and Seeger 2001),

    $$(K_{ZX} K_{XZ} + \text{ridge}\, K_{ZZ})\, w = K_{ZX}\, t .$$

    `ridge` is as in `KernelRidge`, which this equals if every point is a landmark. `landmarks` is "uniform", "kmeans++"
    or "leverage". It takes one pass over the points, $O(nm^2)$ time, and $O(m^2)$ memory besides a block of at most
    `memory` bytes. Fitted: `w_`, `features_` (its `Z` holds the landmarks).

    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> NystromRidge(Gaussian(1.0), m=20, ridge=1e-3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9999
    True
    """

    landmarks: str = "uniform"
    ridge: float = 1.0
    model = RIDGE


@dataclass(eq=False, repr=False)
class FourierRidge(OnFeatures, Regressor):
    r"""Ridge regression on m random Fourier features of a stationary kernel (Rahimi and Recht 2007).

    `ridge` is as in `KernelRidge`, to which this tends as m grows. Fitted: `w_`, `features_`.

    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> FourierRidge(Gaussian(1.0), m=60, ridge=1e-3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9999
    True
    """

    ridge: float = 1.0
    model = RIDGE


@dataclass(eq=False, repr=False)
class Falkon(OnFeatures, Regressor):
    r"""`NystromRidge` by preconditioned conjugate gradients (Rudi, Carratino and Rosasco 2017): see `falkon`.

    It takes $O(nm)$ time for each of at most `iterations` passes over the points, where `NystromRidge` takes $O(nm^2)$
    once, so it is the better choice for m in the thousands. The smaller ridge / n, the more iterations it needs; it
    warns if it stops with a relative residual above 0.01. Fitted: `w_`, `features_`, `n_iter_`, `residuals_`.

    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> Falkon(Gaussian(1.0), m=20, ridge=1e-3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9999
    True
    """

    landmarks: str = "uniform"
    ridge: float = 1.0
    iterations: int = 20
    tol: float = 1e-7
    model = FALKON

    def fit(self, X: Any, y: Any) -> Self:
        """Iterate at most `iterations` times, one pass over the points each, until the residual reaches `tol`."""
        (fit,) = self._fits(X, y, iterations=self.iterations, tol=self.tol)
        if fit.residuals and fit.residuals[-1] > 0.01:
            reached = f"{fit.iterations} iterations, with a relative residual of {fit.residuals[-1]:.2g}"
            warn(f"Falkon stopped after {reached}: raise iterations or ridge, or use NystromRidge")
        self.w_, self.n_iter_, self.residuals_ = fit.w, fit.iterations, fit.residuals
        return self


@dataclass(eq=False, repr=False)
class NystromLogisticRegression(OnFeatures, ProbabilisticClassifier):
    r"""Kernel logistic regression in the span of m landmarks; one against the rest for more than two classes.

    With every point a landmark and two classes, it is `KernelLogisticRegression`. Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> NystromLogisticRegression(Gaussian(0.5), m=4, ridge=0.1).fit(X, y).predict_proba(X)[:, 1].round(1)
    array([0.2, 0.2, 0.8, 0.8])
    """

    landmarks: str = "uniform"
    ridge: float = 1.0
    model = LOGISTIC
    decision_function = by_chunks(OnFeatures._scores)
    predict_log_proba = by_chunks(ProbabilisticClassifier.predict_log_proba)


@dataclass(eq=False, repr=False)
class FourierLogisticRegression(OnFeatures, ProbabilisticClassifier):
    r"""Logistic regression on m random Fourier features; one against the rest for more than two classes.

    Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> FourierLogisticRegression(Gaussian(0.5), m=100, ridge=0.1).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    ridge: float = 1.0
    model = LOGISTIC
    decision_function = by_chunks(OnFeatures._scores)
    predict_log_proba = by_chunks(ProbabilisticClassifier.predict_log_proba)


@dataclass(eq=False, repr=False)
class NystromSVM(OnFeatures, Classifier):
    r"""The support vector machine in the span of m landmarks; `lam` is lecture K's $\lambda$, as in `KernelSVM`.

    Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> NystromSVM(Gaussian(0.5), m=4, lam=0.01).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    landmarks: str = "uniform"
    lam: float = 0.01
    model = SVM
    decision_function = by_chunks(OnFeatures._scores)


@dataclass(eq=False, repr=False)
class FourierSVM(OnFeatures, Classifier):
    r"""The support vector machine on m random Fourier features; `lam` is lecture K's $\lambda$, as in `KernelSVM`.

    Fitted: `w_`, `features_`, `n_iter_`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> FourierSVM(Gaussian(0.5), m=100, lam=0.01).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    lam: float = 0.01
    model = SVM
    decision_function = by_chunks(OnFeatures._scores)
