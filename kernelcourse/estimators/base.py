"""What every estimator shares: scikit-learn's conventions, kept without importing scikit-learn.

An estimator is a shell, a dataclass with its parameters as fields. `fit` checks and prepares the data once, calls a
pure function of `kernelcourse.algorithms` and stores what that returns in names that end in an underscore. `predict`
reads those and nothing else: a parameter that is set later takes effect at the next `fit`. Every class is abstract
or final: a method that fits in another way is another class.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..kernels.kernel import Kernel, refuse_overflow
from ..validation import Array, from_sklearn, objects, owned, points, same_kind, same_length, take, vector

__all__ = ["Classifier", "Estimator", "NotFittedError", "Regressor"]


class NotFittedError(ValueError, AttributeError):
    """`predict` was called before `fit`."""


class Estimator(metaclass=ABCMeta):
    """Parameters are fields; the names of fitted attributes end in an underscore."""

    kind: ClassVar[str]  # "classifier" or "regressor"
    kernel_: Kernel  # the kernel that it was fitted with, if any
    X_: Any  # the training points
    f_: Expansion  # what it learned, if that is a sum over the training points
    _agreement: Callable[[Any, Any], float]  # the score, from the targets and the predictions

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the points X and their targets y."""

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """The prediction for each point."""

    def score(self, X: Any, y: Any) -> float:
        r"""A regressor's $R^2 = 1 - \sum_i (y_i - f(x_i))^2 / \sum_i (y_i - \bar y)^2$, or a classifier's accuracy."""
        return self._agreement(y, self.predict(X))

    @abstractmethod
    def _decide(self, scores: Array) -> Any:
        """The predictions that follow from the values of the fitted function."""

    @classmethod
    @functools.cache
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` adds those of a kernel, as `kernel__sigma`, or `kernel__0__c` for a sum."""
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, value in list(params.items()):
                params |= _of_kernel(name, value)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. Kernels are immutable: `kernel__sigma=2` puts a changed copy in its place."""
        changed: dict[str, Any] = {}  # all are checked before any is set
        # Whole kernels first, so that set_params(kernel=..., kernel__sigma=...) means what it says.
        for name, value in sorted(params.items(), key=lambda item: item[0].count("__")):
            owner, _, field = name.partition("__")
            before: Any = changed.get(owner, getattr(self, owner, None))
            valid = self._parameter_names()
            if owner not in valid or (field and name not in _of_kernel(owner, before)):
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {valid!r}.")
            changed[owner] = before.with_parameters(**{field: value}) if field else value
        for name, value in changed.items():
            setattr(self, name, value)
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "fit" in cls.__dict__:
            cls.fit = _all_or_nothing(cls.fit)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        defaults, params = inspect.signature(type(self).__init__).parameters, self.get_params(deep=False).items()
        changed = [f"{name}={value!r}" for name, value in params if repr(value) != repr(defaults[name].default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type=self.kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if self.kind == "classifier" else None,
            regressor_tags=RegressorTags() if self.kind == "regressor" else None,
            input_tags=InputTags(),
        )

    def _training_points(self, X: Any) -> Any:
        """A checked copy of the training points: what the user does to X later must not change the predictions."""
        if "kernel" not in self._parameter_names():
            return self._with_columns(X, self._points(X).copy())
        self.kernel_ = a_kernel(self.kernel, "kernel")  # type: ignore[attr-defined]
        self.X_ = self._with_columns(X, owned(self._points(X)))
        return self.X_

    def _prepared_points(self, X: Any) -> Any:
        """The training points as the kernel's formula takes them."""
        X = self._training_points(X)
        return self.kernel_.prepare(X)

    def _with_columns(self, X: Any, checked: Any) -> Any:
        self.__dict__.pop("n_features_in_", None)
        self.__dict__.pop("feature_names_in_", None)
        if getattr(checked, "ndim", 0) == 2:  # not a list of lists of symbols
            self.n_features_in_ = checked.shape[1]
            columns = getattr(X, "columns", None)
            if columns is not None and all(isinstance(c, str) for c in columns):
                self.feature_names_in_ = np.asarray(columns, dtype=object)
        return checked

    def _test_points(self, X: Any) -> Any:
        self._require_fitted()
        checked = self._points(X)
        expected = getattr(self, "n_features_in_", None)
        if expected is not None and np.shape(checked)[1:] != (expected,):
            found, own = np.shape(checked)[1], type(self).__name__
            raise ValueError(f"X has {found} features, but {own} is expecting {expected} features as input")
        names, columns = getattr(self, "feature_names_in_", None), getattr(X, "columns", None)
        if names is not None and columns is not None and list(columns) != list(names):
            raise ValueError(
                "The feature names should match those that were passed during fit. "
                f"fit had {list(names)}, X has {list(columns)}"
            )
        return checked

    def _expanded(self, X: Any) -> Array:
        X = self._test_points(X)
        return self.f_(X)

    def _points(self, X: Any) -> Any:
        """Rows of numbers, or for a kernel on objects a list of them, which the kernel checks when it prepares them."""
        if getattr(self, "kernel_", None) is None or self.kernel_.on_vectors:
            return moderate(points(X, "X"), "X")
        X = objects(X, "X")
        return X if isinstance(X, np.ndarray) else list(X)

    def _require_fitted(self) -> None:
        if not [name for name in self.__dict__ if name.endswith("_") and not name.startswith("_")]:
            error = from_sklearn("sklearn.exceptions", "NotFittedError", NotFittedError)
            raise error(f"This {type(self).__name__} instance is not fitted yet: call fit(X, y) first.")

    def _targets(self, y: Any, n: int) -> Any:
        if y is None:
            own = type(self).__name__
            raise ValueError(f"requires y to be passed, but the target y is None: {own} learns from targets")
        array = one_column(y)
        if array.ndim != 1:
            raise ValueError(f"y must be 1-D, one target for each point, got shape {array.shape}")
        same_length(array, "y", n)
        return array


def _of_kernel(name: str, value: Any) -> dict[str, Any]:
    """The parameters of a kernel, and of the kernels inside it, as `kernel__kernel__sigma`."""
    inner = value.parameters() if isinstance(value, Kernel) else {}
    return {f"{name}__{field}": parameter for field, parameter in inner.items()}


def _all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A `fit` that fails leaves the estimator as it was, fitted to other data or not at all."""

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


def moderate(X: Array, name: str) -> Array:
    """Points whose squares can be summed as floats; others are refused before they turn into inf and NaN."""
    if (largest := max(X.max(), -X.min())) > 1e150:
        raise OverflowError(f"{name} reaches {largest:.1e}, expected at most 1e150: squares may be too large")
    return X


def a_kernel(value: Any, name: str) -> Kernel:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be a Kernel such as Gaussian(1.0), got {value!r}")
    return value


def one_column(y: Any) -> Any:
    """Targets as an array; a single column, as in a data frame, becomes a vector, with a warning."""
    array = np.asarray(y)
    if array.dtype.kind in "US" and isinstance(y, (list, tuple)) and not all(isinstance(v, (str, bytes)) for v in y):
        raise ValueError("y holds labels of different kinds, text and others: labels such as 1 and '1' would be merged")
    if array.ndim != 2 or array.shape[1] != 1:
        return array
    advice = "Please change the shape of y to (n_samples,), for example using ravel()."
    category = from_sklearn("sklearn.exceptions", "DataConversionWarning", UserWarning)
    warnings.warn(f"A column-vector y was passed when a 1d array was expected. {advice}", category, stacklevel=5)
    return array[:, 0]


def constant_of(weights: Array, offset: str) -> Any:
    r"""The b of $\sum_i w_i (k(x_i, x) + 1) = \sum_i w_i k(x_i, x) + b$; without the 1 it is 0."""
    return weights.sum(axis=0) if offset == "penalised" else 0.0


def gram(kernel: Kernel, P: Any, offset: str = "none") -> Array:
    """The Gram matrix of prepared points, or that of k + 1 for a penalised offset. The caller may overwrite it."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel.formula(P, P)
        # By Cauchy-Schwarz no entry exceeds the largest diagonal entry: checking n values covers all n * n.
        refuse_overflow(kernel, np.diagonal(K))
    if offset == "penalised":
        K += 1.0
    return K


def prepared(kernel: Kernel, X: Any, name: str = "X") -> Any:
    """Points as the kernel's formula takes them, checked for values too large for a float."""
    P = kernel.prepare(X, name)
    kernel._finite_diagonal(P, name)
    return P


@dataclass(frozen=True, eq=False)
class Expansion:
    r"""$f(x) = \sum_i w_i\, k(x_i, x)$: what a kernel method has learned, and all that it needs to predict."""

    kernel: Kernel
    points: Any  # prepared points with non-zero weights
    weights: Array  # (m,), or (m, k) for k functions

    @classmethod
    def over(cls, P: Any, weights: Array, kernel: Kernel) -> Self:
        """The function with a weight for each prepared point; points whose weight is 0 are left out."""
        kept = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=1))
        if len(kept) == len(weights):
            return cls(kernel, P, weights)
        kept = kept if len(kept) else np.zeros(1, dtype=int)
        return cls(kernel, take(P, kept), weights[kept])

    def __call__(self, X: Any) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.kernel.expand(self.kernel.prepare(X), self.points, self.weights)
        refuse_overflow(self.kernel, values)
        return values


class Regressor(Estimator):
    """Predicts numbers; `score` is the coefficient of determination R²."""

    kind = "regressor"

    def _decide(self, scores: Array) -> Array:
        return scores

    def _numbers(self, t: Any, n: int) -> Array:
        return moderate(vector(self._targets(t, n), "y", length=n), "y")

    def _agreement(self, y: Any, prediction: Array) -> float:
        y = vector(self._targets(y, len(prediction)), "y")
        if len(y) == 1:
            raise ValueError("R² of one point is undefined: score more points, or use the metric mean_squared_error")
        residual = float(((y - prediction) ** 2).sum())
        if np.ptp(y) == 0:  # R² is undefined; this is scikit-learn's answer
            return 1.0 if residual == 0 else 0.0
        return 1.0 - residual / float(((y - y.mean()) ** 2).sum())


class Classifier(Estimator):
    """Predicts one of two or more labels of any kind; `score` is the accuracy."""

    kind = "classifier"
    classes_: Any
    decision_function: Callable[[Any], Array]  # if a classifier computes scores first: see `predict`

    def _encode(self, y: Any, n: int) -> Any:
        """The labels as class numbers 0..k-1; `classes_` keeps the labels themselves."""
        y = self._targets(y, n)
        if y.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must hold labels")
        if y.dtype == object and any(label is None or label != label for label in y):
            raise ValueError("y contains NaN or None; every point needs a label")
        if y.dtype.kind == "f":
            if not np.isfinite(y).all():
                raise ValueError("y contains NaN or inf; every label must be finite")
            if (y != np.round(y)).any():
                raise ValueError(f"Unknown label type: continuous. y holds {y[y != np.round(y)][0]}, expected classes")
        try:
            self.classes_, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise TypeError(f"y must hold labels of one kind that can be sorted: {error}") from error
        if len(self.classes_) < 2:
            raise ValueError(f"y holds only one class, {self.classes_[0]!r}: a classifier needs at least two")
        return codes

    def _problems(self, y: Any, n: int) -> list[Any]:
        return one_against_rest(self._encode(y, n), len(self.classes_))

    def predict(self, X: Any) -> Any:
        """The label of each point, by the sign of its decision value or by the largest of several."""
        return self._decide(self.decision_function(X))

    def _decide(self, scores: Array) -> Any:
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _agreement(self, y: Any, prediction: Any) -> float:
        y = self._targets(y, len(prediction))
        same_kind(y, "y", prediction, "the predicted labels")
        return float(np.mean(prediction == y))


class ProbabilisticClassifier(Classifier):
    """A classifier with probabilities: one against the rest, scaled to sum to 1, or a `softmax` of its scores."""

    softmax: ClassVar[bool] = False

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, accurate even where a probability is too small for a float."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0, np.column_stack([scores, -scores]))  # log s(z) = -log(1 + exp(-z))
        weights = scores if self.softmax else -np.logaddexp(0, -scores)
        return weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)


def one_against_rest(codes: Any, n_classes: int) -> list[Any]:
    """Two classes: one vector of signs, +1 for the second. More: one vector per class, +1 for that class."""
    positive = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == c, 1.0, -1.0) for c in positive]


def side_by_side(columns: list[Array]) -> Array:
    """One vector for two classes, one column per class for more."""
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
