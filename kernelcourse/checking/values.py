"""Copy, compare and measure plain values of every type.

Sparse matrices and data frames are recognised by the name of their class and kept as a `Sparse` or a `Frame`, so that
neither scipy nor pandas is imported unless a function is to be called with one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix by value: its stored entries and their positions."""

    shape: tuple[int, ...]
    where: np.ndarray  # one row of indices per entry
    entries: np.ndarray
    form: str = "csr"
    array: bool = False  # scipy's sparse arrays multiply like arrays, its sparse matrices like matrices

    def made(self) -> Any:
        """The matrix as a scipy object."""
        from scipy import sparse

        kind = "array" if self.array else "matrix"
        coordinates = (self.entries.copy(), tuple(self.where.T.copy()))
        return getattr(sparse, f"coo_{kind}")(coordinates, shape=self.shape).asformat(self.form)


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame by value, or a series, which is a frame of one column without a header row."""

    columns: list[Any]
    index: list[Any]
    data: list[Any]  # one array, or list of texts and the like, per column
    kinds: list[str]  # what pandas calls the types of the columns
    series: bool = False

    def made(self) -> Any:
        """The data frame as a pandas object."""
        pd = import_module("pandas")  # pandas is not a requirement: a caller who passes a data frame has it

        data = {i: pd.Series(fresh(column), index=self.index) for i, column in enumerate(self.data)}
        for i, kind in enumerate(self.kinds):
            data[i] = data[i].astype(kind)
        frame = pd.DataFrame(data, index=pd.Index(self.index))
        if self.series:
            return data[0].rename(self.columns[0])
        frame.columns = pd.Index(self.columns)
        return frame


def by_value(value: Any) -> Any:
    """The value itself; a `Sparse` in place of a sparse matrix, a `Frame` in place of a data frame."""
    root = type(value).__module__.partition(".")[0]
    if root == "scipy" and hasattr(value, "tocoo"):
        return _sparse(value)
    if root == "pandas" and {"DataFrame", "Series"} & {kind.__name__ for kind in type(value).__mro__}:
        return _frame(value)
    return value


def _sparse(value: Any) -> Sparse:
    entries = value.tocoo()
    places = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    where = np.stack([np.asarray(place, dtype=np.int64) for place in places], axis=1)
    array = type(value).__name__.endswith("_array")
    return Sparse(tuple(int(side) for side in value.shape), where, np.asarray(entries.data), str(value.format), array)


def _frame(value: Any) -> Frame:
    series = not hasattr(value, "columns")
    columns = [value.name] if series else value.columns.tolist()
    parts = [value] if series else [value.iloc[:, i] for i in range(len(columns))]
    data: list[Any] = []
    for part in parts:
        array = part.to_numpy()
        if array.dtype.kind in "biufc":
            data.append(array)
        else:  # texts, dates and pandas' own types; a missing value is None
            texts = part.astype(str) if array.dtype.kind in "mM" else part
            data.append([None if gone else item for item, gone in zip(texts.tolist(), part.isna(), strict=True)])
    index = value.index.astype(str) if value.index.dtype.kind in "mM" else value.index
    return Frame(columns, index.tolist(), data, [str(part.dtype) for part in parts], series)


def aligned(one: Sparse, other: Sparse) -> tuple[np.ndarray, np.ndarray]:
    """The entries of two sparse matrices wherever one of them has any; duplicate entries are added up."""
    places, inverse = np.unique(np.concatenate([one.where, other.where]), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    sums = []
    for matrix, at in ((one, inverse[: len(one.where)]), (other, inverse[len(one.where) :])):
        total = np.zeros(len(places), dtype=matrix.entries.dtype)
        np.add.at(total, at, matrix.entries)
        sums.append(total)
    return sums[0], sums[1]


def fresh(value: Any, lay_out: Callable[[np.ndarray], np.ndarray] = np.copy) -> Any:
    """A copy that shares nothing mutable with the original; `lay_out` copies the arrays."""
    if isinstance(value, np.ndarray):
        return lay_out(value)
    if type(value) in (list, tuple):
        return type(value)(fresh(item, lay_out) for item in value)
    if type(value) is dict:
        return {key: fresh(item, lay_out) for key, item in value.items()}
    if type(value) in (set, bytearray):
        return type(value)(value)
    plain = by_value(value)
    return plain.made() if isinstance(plain, (Sparse, Frame)) else value


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are equal to the last bit. What is not plain counts as unchanged.

    >>> same({"a": [1, float("nan")]}, {"a": [1, float("nan")]}), same([1, 2], [2, 1]), same(1, True)
    (True, False, False)
    """
    one, other = by_value(one), by_value(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_arrays(one, other)
    if isinstance(one, Sparse):
        return one.shape == other.shape and _same_arrays(*aligned(one, other))
    if isinstance(one, Frame):
        return all(same(getattr(one, part), getattr(other, part)) for part in ("columns", "index", "data", "kinds"))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one), list(other)) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (float, complex, np.floating, np.complexfloating)):
        return bool(one == other) or (one != one and other != other)
    if isinstance(one, (str, bytes, bytearray, int, Fraction, Decimal, set, frozenset, np.generic)) or one is None:
        return bool(one == other)
    return True


def _same_arrays(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "O":
        return same(one.ravel().tolist(), other.ravel().tolist())
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fcmM")


def size(value: Any) -> int:
    """How many numbers and letters a reader has to look at."""
    value = by_value(value)
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, (str, bytes, bytearray)):
        return max(len(value), 1)
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(map(size, value))
    if isinstance(value, dict):
        return sum(size(key) + size(item) for key, item in value.items())
    if isinstance(value, Sparse):
        return value.entries.size
    return sum(map(size, value.data)) if isinstance(value, Frame) else 1
