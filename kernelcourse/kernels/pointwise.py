"""Functions that a user writes, applied to every point, whether they take one point or all rows at once."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from ..validation import Array, objects


def apply(function: Callable[..., Any], X: Any, name: str) -> Any:
    """Apply a function of one point, or of all rows at once, to every point of X; `name` is its name in errors.

    For arrays, both ways of writing it are accepted. To tell them apart, it is tried on at most four rows together, on
    some of them alone, and on a single point. If the results agree, it is a function of all rows. After at most seven
    such trials, it is called once for all rows, or once for each point. It gets copies, so it may work in place.
    """
    X = _array_if_numbers(objects(X, "X"))
    if isinstance(X, np.ndarray) and X.ndim == 2:
        with np.errstate(all="ignore"):
            some = _few_rows(X)
            found = _try(function, X[some])
            if found is not None and found.ndim and len(found) == len(some):
                if mixed := not _row_by_row(function, X[some], found):
                    mixed = _mixes_points(function, X[some], found)
                else:
                    every = np.asarray(function(X.copy()))
                    mixed = every.ndim > 0 and len(every) == len(X) and not _same(every[some], found)
                    if not mixed:
                        return every
                if mixed:
                    raise ValueError(
                        f"{name} gives a point one value by itself and another among other points, but it must depend "
                        f"on that point only: compute a mean or a scale beforehand, outside {name}"
                    )
        X = X.copy()
    values = [function(x) for x in X]
    return np.array(values) if isinstance(values[0], (np.ndarray, numbers.Real)) else values


def _few_rows(X: Array) -> list[int]:
    """The first row, the last row, and the first and the last of the rows that differ from the first row."""
    others = np.flatnonzero((X[0] != X).any(axis=1))
    return sorted({0, len(X) - 1, *others[:1].tolist(), *others[-1:].tolist()})


def _row_by_row(function: Callable[..., Any], X: Array, found: Any) -> bool:
    """Are these rows what the function gives for the first and the last row by themselves?"""
    if not all(_same(_try(function, row[None]), value[None]) for row, value in ((X[0], found[0]), (X[-1], found[-1]))):
        return False
    point = _try(function, X[0])
    return point is None or point.ndim > 1 or _same(point, found[0])


def _mixes_points(function: Callable[..., Any], X: Array, found: Any) -> bool:
    """Does the function take all rows and mix them, for example by subtracting their mean?

    A function of one point may accept many and return nonsense, as `lambda x: x[::-1]` does. Then the order of the
    rows matters, or a matrix of one row gives what the point gives.
    """
    alone, point = _try(function, X[:1]), _try(function, X[0])
    if len(X) < 3 or alone is None or alone.shape != found[:1].shape:
        return False
    if point is not None and (point.shape != alone[0].shape or _same(point, alone[0])):
        return False
    return _same(_try(function, np.roll(X, 1, axis=0)), np.roll(found, 1, axis=0))


def _same(a: Any, b: Any) -> bool:
    return a is not None and a.shape == b.shape and np.allclose(a, b, equal_nan=True)


def _try(function: Callable[..., Any], X: Array) -> Any:
    """The result as an array of numbers, or None: a function of one point may fail on many in any way."""
    try:
        result = np.asarray(function(X.copy()))
    except Exception:  # noqa: BLE001 - the function is the user's
        return None
    return result if result.dtype.kind in "fiub" else None


def _array_if_numbers(X: Any) -> Any:
    """Rows of numbers, lists of them included, as an array; other objects as they are."""
    if not isinstance(X, (list, tuple)) or not isinstance(X[0], (list, tuple)):
        return X
    try:
        array = np.array(X)
    except ValueError:  # rows of different lengths
        return X
    return array if array.dtype.kind in "fiub" else X
