"""Checks on arguments: every message names the argument, what was expected and what was passed."""

import numbers
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .seam import definition

__all__ = ["KernelCourseWarning"]

Array = NDArray[np.float64]


class KernelCourseWarning(UserWarning):
    """A result is less accurate than requested, or had to be computed in another way; the message says why."""


def warn(message: str) -> None:
    """Issue a warning that points to the user's own line, the first one outside this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, KernelCourseWarning, stacklevel=level)


def numeric(values: ArrayLike, name: str) -> Array:
    """`values` as a float64 array of finite numbers."""
    return _finite(_floats(values, name), name)


def _floats(values: ArrayLike, name: str) -> Array:
    if hasattr(values, "toarray"):
        raise TypeError(f"{name} is a sparse matrix, expected a dense array: pass {name}.toarray()")
    if values is None:
        raise TypeError(f"{name} must hold numbers, got None")
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{name} is a masked array, and the mask would be lost: fill it or leave the masked points out")
    try:
        raw = np.asarray(values)
    except ValueError as error:  # ragged nested lists
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from error
    if np.iscomplexobj(raw):
        raise ValueError(f"Complex data not supported: {name} must hold real numbers, got dtype {raw.dtype}")
    if raw.dtype.kind in "USMm":  # text and dates
        raise ValueError(f"{name} must hold numbers, got dtype {raw.dtype}")
    if raw.dtype == object and any(isinstance(v, (str, bytes)) for v in raw.flat):
        raise ValueError(f"{name} must hold numbers, but some entries are text")
    try:
        array = raw.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers, got dtype {raw.dtype}: {error}") from error
    except OverflowError as error:
        raise OverflowError(f"{name} holds a number that is too large for a float") from error
    return array


def _finite(array: Array, name: str) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(array.sum())  # a cheap first test: a sum of finite numbers can overflow too
    if suspect and not np.isfinite(array).all():
        bad = "NaN" if np.isnan(array).any() else "inf"
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} contains {bad} (first at index {where}); every entry must be finite")
    return array


def rows(X: Any) -> Any:
    """The array in a data frame or a series, because iterating over a frame would give its column names."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def objects(X: Any, name: str) -> Any:
    """`X` as a sequence of at least one object."""
    X = rows(X)
    one = isinstance(X, (str, bytes, Set, Mapping)) or not hasattr(X, "__len__")
    if one or (isinstance(X, np.ndarray) and X.ndim == 0):
        raise TypeError(f"{name} must be a list of objects, got {type(X).__name__} {X!r:.60}")
    if len(X) == 0:
        raise ValueError(f"{name} is empty: expected at least one object")
    return X


def owned(X: Any) -> Any:
    """A copy that shares nothing with the caller's array or objects."""
    return X.copy() if isinstance(X, np.ndarray) and X.dtype != object else deepcopy(X)


def points(X: ArrayLike, name: str = "X", *, columns: int | None = None) -> Array:
    """`X` as n points in rows: a finite float array of shape (n, d) with n, d >= 1, d = `columns` if stated."""
    array = _table(numeric(X, name), name)
    if columns is not None and array.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} column{'s' * (columns != 1)}, got shape {array.shape}")
    return array


def _table(array: Array, name: str) -> Array:
    if array.ndim != 2:
        hint = f"{name}[:, None] for {array.size} points on a line, {name}[None, :] for one point"
        hint = f". Reshape your data: {hint}" if array.ndim == 1 else ""
        raise ValueError(f"{name} must be 2-D, one point per row, got shape {array.shape}{hint}")
    for length, what in zip(array.shape, ("sample", "feature"), strict=True):  # scikit-learn's words
        if length == 0:
            raise ValueError(f"{name} has 0 {what}(s) (shape={array.shape}) while a minimum of 1 is required.")
    return array


def vector(t: ArrayLike, name: str, *, length: int | None = None) -> Array:
    """`t` as a finite float vector, of the given length if one is stated."""
    array = numeric(t, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {array.shape}")
    same_length(array, name, length)
    return array


def on_a_line(x: ArrayLike, name: str = "x", *, length: int | None = None) -> Array:
    """`x` as a vector of points on a line, given as n >= 1 numbers or as an (n, 1) array."""
    array = numeric(x, name)
    array = vector(array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array, name, length=length)
    if len(array) == 0:
        raise ValueError(f"{name} is empty: expected at least one point")
    return array


def slices(n: int, rows: int, first: int = 0) -> Iterator[slice]:
    """Cut the rows from `first` to n - 1 into slices of `rows` rows; the last may be shorter.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + rows, n)) for start in range(first, n, rows))


def take(P: Any, chosen: Any) -> Any:
    """Some of the points, whether they are rows of an array or objects in a list."""
    return [P[i] for i in chosen] if type(P) in (list, tuple) else P[chosen]


def same_length(values: Any, name: str, length: int | None) -> None:
    """Refuse values whose length is not the stated one."""
    if length is not None and len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries, expected {length}")


def same_kind(labels: Any, name: str, others: Any, other_name: str) -> None:
    """Refuse to compare text with numbers: '1' and 1 are never equal."""
    if _is_text(labels) != _is_text(others):
        texts, rest = (name, other_name) if _is_text(labels) else (other_name, name)
        raise ValueError(f"{name} and {other_name} hold labels of different kinds: {texts} text, {rest} something else")


def _is_text(labels: Any) -> bool:
    return labels.dtype.kind in "US" or (labels.dtype == object and all(isinstance(v, (str, bytes)) for v in labels))


def square(K: ArrayLike, name: str = "K") -> Array:
    """`K` as a finite square float matrix that is symmetric up to rounding."""
    array = _table(_floats(K, name), name)
    if array.shape[0] == array.shape[1] and is_symmetric(array):
        return array
    if (array := _finite(array, name)).shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    if not is_symmetric(array, 1e-6 * float(np.abs(array).max())):  # single precision
        i, j = np.unravel_index(np.argmax(np.abs(array - array.T)), array.shape)
        raise ValueError(
            f"{name} must be symmetric, but {name}[{i}, {j}] = {float(array[i, j])!r} and "
            f"{name}[{j}, {i}] = {float(array[j, i])!r}"
        )
    return array


@definition
def is_symmetric(K: Array, slack: float = 0.0) -> bool:
    """Whether all entries are finite, and none is further than `slack` from its mirror image."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.abs(K - K.T).max() <= slack)  # infinity minus infinity is NaN, and NaN is the largest


def signs(y: ArrayLike, name: str = "y", *, length: int | None = None) -> Array:
    """`y` as a vector of labels -1 and +1."""
    return _two_labels(vector(y, name, length=length), name, (-1, 1), "-1 and +1")


def zero_one(y: ArrayLike, name: str = "y", *, length: int | None = None) -> Array:
    """`y` as a vector of labels 0 and 1."""
    return _two_labels(vector(y, name, length=length), name, (0, 1), "0 and 1")


def _two_labels(y: Array, name: str, labels: tuple[int, int], words: str) -> Array:
    if not np.isin(y, labels).all():
        raise ValueError(f"{name} must hold the labels {words}, got {np.unique(y)[:5]}")
    return y


def real(value: Any, name: str, *, above: float | None = None, at_least: float | None = None) -> float:
    """`value` as a finite float, optionally `> above` or `>= at_least`."""
    wanted = "a finite number" + ("" if above is None else f" > {above:g}")
    wanted += "" if at_least is None else f" >= {at_least:g}"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}, got {value!r}")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError(f"{name} must be {wanted}, got one too large for a float") from error
    too_small = (above is not None and not number > above) or (at_least is not None and not number >= at_least)
    if not np.isfinite(number) or too_small:
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return number


def flag(value: Any, name: str) -> bool:
    """`value` as True or False; anything merely truthy or falsy is refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def whole(value: Any, name: str, *, at_least: int = 0) -> int:
    """`value` as a whole number `>= at_least`."""
    wrong_type = isinstance(value, bool) or not isinstance(value, numbers.Integral)
    if wrong_type or value < at_least:
        kind = TypeError if wrong_type else ValueError
        raise kind(f"{name} must be a whole number >= {at_least}, got {value!r}")
    return int(value)


def choice(value: Any, name: str, allowed: Sequence[str]) -> str:
    """`value` as one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(value)


OFFSETS = ("none", "penalised", "free")


def offset_word(value: Any, allowed: Sequence[str] = OFFSETS, *, true: str | None = None) -> str:
    """`value` as the word for the constant term: there is none, it is penalised like the rest, or it is free.

    Some methods allow only two of the words. Where `offset` used to be True or False, `true` is the word for True.
    """
    if true is not None and isinstance(value, (bool, np.bool_)):
        word = true if value else "none"
        warnings.warn(f"offset={value} is now written offset={word!r}", DeprecationWarning, stacklevel=4)
        return word
    return choice(value, "offset", allowed)


def generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """`rng` as a numpy Generator: a Generator is kept, a whole number seeds a new one, None draws a fresh seed."""
    if isinstance(rng, np.random.RandomState):  # what scikit-learn users often pass
        return np.random.default_rng(rng.randint(2**31))
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not isinstance(rng, numbers.Integral):
        raise TypeError(f"{name} must be a numpy Generator, a whole number or None, got {rng!r}")
    if rng < 0:
        raise ValueError(f"{name} must be a seed >= 0, got {rng!r}")
    return np.random.default_rng(int(rng))


def from_sklearn(module: str, name: str, ours: type) -> type:
    """scikit-learn's class if scikit-learn is already imported, else ours.

    Users of scikit-learn catch `sklearn.exceptions.NotFittedError`; the library itself never imports scikit-learn.
    """
    return getattr(sys.modules.get(module), name, ours)
