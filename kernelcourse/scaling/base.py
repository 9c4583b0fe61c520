"""What the estimators for many points share: rows in blocks or chunks, features drawn at fitting, a weight for each."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from ..estimators.base import KernelMixin, Regressor, ScoringClassifier, one_against_rest, side_by_side
from ..estimators.classifiers import ProbabilisticClassifier
from ..kernels.kernel import Kernel
from ..kernels.vectors import Gaussian
from ..validation import Array, choice, generator, points, real, whole
from . import landmarks as choose
from .blocks import MEMORY, row_blocks
from .engine import dask_rows, dask_vector, distinct, gather, is_dask, map_rows
from .maps import FeatureMap, FourierFeatures, GramError, LandmarkFeatures, gram_error, random_fourier
from .newton import feature_logistic, feature_svm
from .normal import feature_ridge

LANDMARKS = ("uniform", "kmeans++", "leverage")
_ENOUGH = 1000
_POOL = 20_000  # k-means++ and leverage scores choose among so many points drawn uniformly, or 10 m if that is more


class RowsMixin(KernelMixin):
    """Points that are not copied: rows of an array, objects in a list, or a dask array chunked along its rows."""

    memory: int
    memory_: int

    def _points(self, X: Any) -> Any:
        if is_dask(X):
            return dask_rows(X)
        return _moderate(points(X)) if self.kernel_.on_vectors else super()._points(X)

    def _training_points(self, X: Any) -> Any:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel such as Gaussian(1.0), got {self.kernel!r}")
        self.kernel_, self.memory_ = self.kernel, whole(self.memory, "memory", at_least=1)
        self.__dict__.pop("n_features_in_", None)
        self.__dict__.pop("feature_names_in_", None)
        checked = self._points(X)
        if getattr(checked, "ndim", 0) == 2:  # not a list of lists of symbols
            self.n_features_in_ = checked.shape[1]
            columns = getattr(X, "columns", None)
            if columns is not None and all(isinstance(c, str) for c in columns):
                self.feature_names_in_ = np.asarray(columns, dtype=object)
        return checked


def _moderate(X: Array) -> Array:
    if max(X.max(), -X.min()) > 1e150:
        raise OverflowError("X reaches beyond 1e150: its squares are too large for a float, scale it down")
    return X


class FeaturesMixin(RowsMixin):
    """An estimator of the form $f(x) = w^\\top \\phi(x)$; `features_` is $\\phi$."""

    m: int | None
    rng: Any
    features_: FeatureMap
    w_: Array

    def _draw_features(self, X: Any, ridge: float) -> FeatureMap:
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        """$w^\\top \\phi(x)$ in blocks of rows; one column for each column of w."""
        X = self._test_points(X)  # type: ignore[attr-defined]
        if is_dask(X):
            columns = None if self.w_.ndim == 1 else self.w_.shape[1]
            return map_rows(self._scores, X, columns=columns, dtype=float)
        scores = np.empty((len(X), *self.w_.shape[1:]))
        for block in row_blocks(len(X), self.features_.m, memory=self.memory_):
            scores[block] = self.features_(X[block]) @ self.w_
        return scores

    def gram_error(self, X: Any, sample: int = 500, rng: Any = 0) -> GramError:
        """How far the approximate kernel is from the exact one, on a random sample of the points X."""
        X = self._test_points(X)  # type: ignore[attr-defined]
        if is_dask(X):
            rows = np.sort(generator(rng).choice(len(X), size=min(len(X), sample), replace=False))
            X = gather(X, rows)
        return gram_error(self.kernel_, self.features_, X, sample=sample, rng=rng)


class NystromMixin(FeaturesMixin):
    """Features from landmarks, chosen by the method that `landmarks` names."""

    landmarks: str

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008 - kernels are immutable
        m: int | None = None,
        landmarks: str = "uniform",
        ridge: float = 1.0,
        memory: int = MEMORY,
        rng: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.m = m
        self.landmarks = landmarks
        self.ridge = ridge
        self.memory = memory
        self.rng = rng

    def _draw_features(self, X: Any, ridge: float) -> LandmarkFeatures:
        n, rng = len(X), generator(self.rng)
        how = choice(self.landmarks, "landmarks", LANDMARKS)
        m = min(n, _ENOUGH) if self.m is None else whole(self.m, "m", at_least=1)
        if how == "uniform" or m > n:
            rows = choose.uniform_landmarks(n, m, rng=rng)
            return LandmarkFeatures(self.kernel_, self._at(X, rows))
        pool = self._at(X, choose.uniform_landmarks(n, min(n, max(_POOL, 10 * m)), rng=rng))
        if how == "kmeans++":
            if not self.kernel_.on_vectors:
                raise ValueError(f"landmarks='kmeans++' needs points that are vectors, {self.kernel_!r} takes others")
            rows = choose.kmeans_landmarks(pool, m, rng=rng)
        else:
            share = ridge * len(pool) / n  # the pool stands for all points: the same ridge per point
            rows = choose.leverage_landmarks(self.kernel_, pool, m, ridge=share, rng=rng, memory=self.memory_)
        return LandmarkFeatures(self.kernel_, choose.take(pool, rows))

    def _at(self, X: Any, rows: np.ndarray) -> Any:
        return gather(X, rows) if is_dask(X) else choose.take(X, rows)


class FourierMixin(FeaturesMixin):
    """Random Fourier features of a stationary kernel on vectors."""

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008 - kernels are immutable
        m: int | None = None,
        ridge: float = 1.0,
        memory: int = MEMORY,
        rng: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.m = m
        self.ridge = ridge
        self.memory = memory
        self.rng = rng

    def _draw_features(self, X: Any, ridge: float) -> FourierFeatures:
        if not self.kernel_.on_vectors:
            raise ValueError(f"random Fourier features need a stationary kernel on vectors, {self.kernel_!r} is none")
        m = _ENOUGH if self.m is None else self.m
        return random_fourier(self.kernel_, X.shape[1], m, rng=self.rng)


class RowsRegressor(Regressor):
    """Targets that may be a dask array."""

    def _numbers_of(self, X: Any, y: Any) -> Any:
        return dask_vector(y, X) if is_dask(X) else self._numbers(y, len(X))


class FeatureRegressor(FeaturesMixin, RowsRegressor):
    """A regressor with a weight for each feature."""

    def predict(self, X: Any) -> Any:
        r"""$f(x) = w^\top \phi(x)$, in blocks of rows."""
        return self._scores(X)


class FeatureRidge(FeatureRegressor):
    """Ridge regression on the features."""

    ridge: float

    def fit(self, X: Any, y: Any) -> Self:
        """Accumulate the m x m normal equations and solve them."""
        ridge = real(self.ridge, "ridge", above=0)
        X = self._training_points(X)
        t = self._numbers_of(X, y)
        self.features_ = self._draw_features(X, ridge)
        self.w_ = feature_ridge(self.features_, X, t, ridge=ridge, memory=self.memory_)
        return self


class FeatureClassifier(FeaturesMixin, ScoringClassifier):
    """A classifier with a weight for each feature; one against the rest for more than two classes."""

    def _signs(self, X: Any, y: Any) -> list[Any]:
        if not is_dask(X):
            codes = self._encode(y, len(X))
            return one_against_rest(codes, len(self.classes_))
        y = dask_vector(y, X)
        found = distinct(y)
        self._encode(found, len(found))
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [y.map_blocks(partial(_plus_minus, label=label), dtype=float) for label in positive]

    def decision_function(self, X: Any) -> Any:
        r"""$w^\top \phi(x)$, in blocks of rows; one column a class if there are more than two."""
        return self._scores(X)

    def predict(self, X: Any) -> Any:
        """The label of each point: the class with the largest decision value."""
        if is_dask(X):
            return map_rows(self.predict, self._test_points(X), columns=None, dtype=self.classes_.dtype)
        return super().predict(X)


def _plus_minus(y: Any, *, label: Any) -> Array:
    return np.where(y == label, 1.0, -1.0)


class FeatureLogisticRegression(FeatureClassifier, ProbabilisticClassifier):
    """Logistic regression on the features."""

    ridge: float

    def fit(self, X: Any, y: Any) -> Self:
        """Newton's method; a step is one pass over the points."""
        ridge = real(self.ridge, "ridge", above=0)
        X = self._training_points(X)
        problems = self._signs(X, y)
        self.features_ = self._draw_features(X, 4 * ridge)  # the logistic loss curves at most 1/4 as much
        fits = [feature_logistic(self.features_, X, s, ridge=ridge, memory=self.memory_) for s in problems]
        self.w_ = side_by_side([fit.w for fit in fits])
        self.n_iter_ = max(fit.passes for fit in fits)
        return self

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of `predict_proba`, accurate also where a probability is too small for a float."""
        if is_dask(X):
            X, k = self._test_points(X), len(self.classes_)
            return map_rows(self.predict_log_proba, X, columns=k, dtype=float)
        return super().predict_log_proba(X)

    def _log_weights(self, scores: Array) -> Array:
        return -np.logaddexp(0, -scores)


class FeatureSVM(FeatureClassifier):
    """The support vector machine on the features."""

    lam: float

    def fit(self, X: Any, y: Any) -> Self:
        """Newton's method on a hinge whose kink is rounded off ever less."""
        lam = real(self.lam, "lam", above=0)
        X = self._training_points(X)
        problems = self._signs(X, y)
        self.features_ = self._draw_features(X, 2 * len(X) * lam)
        fits = [feature_svm(self.features_, X, s, lam=lam, memory=self.memory_) for s in problems]
        self.w_ = side_by_side([fit.w for fit in fits])
        self.n_iter_ = max(fit.passes for fit in fits)
        return self
