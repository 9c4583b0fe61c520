"""What every estimator shares: scikit-learn's conventions, kept without importing scikit-learn.

An estimator is a shell: its `__init__` stores the parameters, `fit` checks the data, calls a pure function of
`kernelcourse.algorithms` and stores what that returns in names that end in an underscore, `predict` combines them. It
reads nothing else: a parameter that is set later takes effect with the next `fit`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from ..kernels.kernel import Kernel
from ..validation import Array, from_sklearn, owned, points, rows, same_kind, same_length, vector


class NotFittedError(ValueError, AttributeError):
    """`predict` was called before `fit`."""


class Estimator:
    """Parameters by name, fitted attributes by underscore."""

    kind: ClassVar[str]  # "classifier" or "regressor"
    path: ClassVar[str | None] = None  # the parameter along which `_along_path` shares the work of many fits

    # --- parameters

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` adds those of a kernel as `kernel__sigma`."""
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, value in list(params.items()):
                params |= _nested(name, value)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. Kernels are immutable: `kernel__sigma=2` puts a changed copy in place."""
        known = self.get_params(deep=True)
        changed: dict[str, Any] = {}  # all are found to be good before one is set
        # Whole kernels first, so that set_params(kernel=..., kernel__sigma=...) means what it says.
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            owner, _, field = name.partition("__")
            if name not in known and name not in _nested(owner, changed.get(owner)):
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. "
                    f"Valid parameters are: {self._parameter_names()!r}."
                )
            before = changed.get(owner, known[owner])
            changed[owner] = _replaced(before, field, value) if field else value
        for name, value in changed.items():
            setattr(self, name, value)
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "fit" in cls.__dict__:
            cls.fit = _all_or_nothing(cls.fit)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # --- what scikit-learn asks for

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type=self.kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if self.kind == "classifier" else None,
            regressor_tags=RegressorTags() if self.kind == "regressor" else None,
            input_tags=InputTags(),
        )

    # --- data

    def _training_points(self, X: Any) -> Any:
        self.__dict__.pop("n_features_in_", None)
        self.__dict__.pop("feature_names_in_", None)
        checked = owned(self._points(X))  # what the user does to X later must not change the predictions
        if isinstance(checked, np.ndarray) and checked.ndim == 2:
            self.n_features_in_ = checked.shape[1]
            columns = getattr(X, "columns", None)
            if columns is not None and all(isinstance(c, str) for c in columns):
                self.feature_names_in_ = np.asarray(columns, dtype=object)
        return checked

    def _test_points(self, X: Any) -> Any:
        self._require_fitted()
        checked = self._points(X)
        wanted = getattr(self, "n_features_in_", None)
        if wanted is not None and np.shape(checked)[1:] != (wanted,):
            raise ValueError(
                f"X has {np.shape(checked)[1]} features, "
                f"but {type(self).__name__} is expecting {wanted} features as input"
            )
        self._require_same_columns(X)
        return checked

    def _points(self, X: Any) -> Any:
        return moderate(points(X, "X"), "X")

    def _require_fitted(self) -> None:
        if not any(name.endswith("_") and not name.startswith("_") for name in self.__dict__):
            error = from_sklearn("sklearn.exceptions", "NotFittedError", NotFittedError)
            raise error(f"This {type(self).__name__} instance is not fitted yet: call fit(X, y) first.")

    def _require_same_columns(self, X: Any) -> None:
        names, columns = getattr(self, "feature_names_in_", None), getattr(X, "columns", None)
        if names is None or columns is None or list(columns) == list(names):
            return
        raise ValueError(
            "The feature names should match those that were passed during fit. "
            f"fit had {list(names)}, X has {list(columns)}"
        )

    def _targets(self, y: Any, n: int) -> Any:
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} learns from targets"
            )
        array = one_column(y)
        if array.ndim != 1:
            raise ValueError(f"y must be 1-D, one target for each point, got shape {array.shape}")
        same_length(array, "y", n)
        return array


def _nested(name: str, value: Any) -> dict[str, Any]:
    """The parameters of a kernel, and of the kernel inside it, as `kernel__kernel__sigma`."""
    found: dict[str, Any] = {}
    if isinstance(value, Kernel) and dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            inner = getattr(value, field.name)
            found[f"{name}__{field.name}"] = inner
            found |= _nested(f"{name}__{field.name}", inner)
    return found


def _replaced(kernel: Any, path: str, value: Any) -> Any:
    """A copy of a kernel with the parameter at the end of the path changed."""
    field, _, rest = path.partition("__")
    return dataclasses.replace(kernel, **{field: _replaced(getattr(kernel, field), rest, value) if rest else value})


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
    """Points whose squares fit a float; others are refused before they turn into inf and NaN."""
    if np.abs(X).max() > 1e150:
        raise OverflowError(
            f"{name} reaches {np.abs(X).max():.1e}: its squares are too large for a float, scale it down"
        )
    return X


def one_column(y: Any) -> Any:
    """Targets as an array; a column of them, as a data frame gives, as a vector, with a warning."""
    array = np.asarray(y)
    if array.dtype.kind in "US" and isinstance(y, (list, tuple)) and not all(isinstance(v, (str, bytes)) for v in y):
        raise ValueError("y holds labels of different kinds, text and others: labels such as 1 and '1' would be one")
    if array.ndim != 2 or array.shape[1] != 1:
        return array
    category = from_sklearn("sklearn.exceptions", "DataConversionWarning", UserWarning)
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples,), for example using ravel().",
        category,
        stacklevel=5,
    )
    return array[:, 0]


class KernelMixin:
    """An estimator whose points are whatever its kernel takes: rows of an array, or a list of objects."""

    kernel: Kernel
    kernel_: Kernel  # the one that it was fitted with
    X_: Any  # the training points

    def _training_points(self, X: Any) -> Any:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel such as Gaussian(1.0), got {self.kernel!r}")
        self.kernel_ = self.kernel
        return super()._training_points(X)  # type: ignore[misc]

    def _points(self, X: Any) -> Any:
        if self.kernel_.on_vectors:
            return moderate(points(X, "X"), "X")
        self.kernel_.diag(X)  # the kernel's own check of its objects
        X = rows(X)
        return X if isinstance(X, np.ndarray) else list(X)

    def _expansion(self, X: Any, weights: Array) -> Array:
        r"""$\sum_i w_i k(x_i, x)$ at each point x, over the points $x_i$ that have a weight."""
        weighty = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=1))
        X_train = self.X_
        if len(weighty) < len(weights):
            weighty = weighty if len(weighty) else np.zeros(1, dtype=int)
            weights = weights[weighty]
            X_train = X_train[weighty] if isinstance(X_train, np.ndarray) else [X_train[i] for i in weighty]
        return self.kernel_.times(X, X_train, weights)


class Regressor(Estimator):
    """Predicts numbers; `score` is the coefficient of determination R²."""

    kind = "regressor"

    def _numbers(self, t: Any, n: int) -> Array:
        return moderate(vector(self._targets(t, n), "y", length=n), "y")

    def predict(self, X: Any) -> Array:
        raise NotImplementedError

    def score(self, X: Any, y: Any) -> float:
        r"""$R^2 = 1 - \sum_i (y_i - f(x_i))^2 / \sum_i (y_i - \bar y)^2$."""
        return self._agreement(y, self.predict(X))

    def _agreement(self, y: Any, prediction: Array) -> float:
        y = vector(self._targets(y, len(prediction)), "y")
        if len(y) == 1:
            raise ValueError(
                "R² of one point is undefined, its target has no variance: score more points at a time, or state "
                "metric=mean_squared_error in a search"
            )
        residual = float(((y - prediction) ** 2).sum())
        if np.ptp(y) == 0:  # then R² is undefined; scikit-learn's answer
            return 1.0 if residual == 0 else 0.0
        return 1.0 - residual / float(((y - y.mean()) ** 2).sum())


class Classifier(Estimator):
    """Predicts one of two or more labels of any kind; `score` is the accuracy."""

    kind = "classifier"
    classes_: Any

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
                raise ValueError(
                    f"Unknown label type: continuous. y holds numbers such as {y[y != np.round(y)][0]}, "
                    "but a classifier wants class labels"
                )
        try:
            self.classes_, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise TypeError(f"y must hold labels of one kind, that can be sorted: {error}") from error
        if len(self.classes_) < 2:
            only = self.classes_[0]
            del self.classes_
            raise ValueError(f"y holds only one class, {only!r}: a classifier needs at least two")
        return codes

    def predict(self, X: Any) -> Any:
        """The label of each point."""
        raise NotImplementedError

    def score(self, X: Any, y: Any) -> float:
        """The fraction of labels predicted correctly."""
        return self._agreement(y, self.predict(X))

    def _agreement(self, y: Any, prediction: Any) -> float:
        y = self._targets(y, len(prediction))
        same_kind(y, "y", prediction, "the predicted labels")
        return float(np.mean(prediction == y))


class ScoringClassifier(Classifier):
    """A classifier that first computes a number: the label follows from its sign, or from the largest of several."""

    def decision_function(self, X: Any) -> Array:
        """A number a point, positive for the second class; with more than two classes one column a class."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """The label of each point: the class with the largest decision value."""
        return self._decide(self.decision_function(X))

    def _decide(self, scores: Array) -> Any:
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def one_against_rest(codes: Any, n_classes: int) -> list[Any]:
    """Two classes: one vector of signs, +1 for the second. More: one vector a class, +1 for that class."""
    positive = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == c, 1.0, -1.0) for c in positive]


def side_by_side(columns: list[Array]) -> Array:
    """One vector for two classes, one column a class for more."""
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
