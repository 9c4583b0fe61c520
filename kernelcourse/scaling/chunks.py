"""One map and one sum over chunks of rows, in this thread or, with dask, on threads or a cluster.

A numpy array (or a list of objects) is one chunk. A `dask.array` has one chunk for each chunk of its rows; its tasks
run on whatever scheduler is active: threads unless there is a `distributed.Client`. Partial sums are added in the order
of the chunks, in a tree that depends only on their number, so that the numbers do not depend on which task finished
first, on the number of workers, or on a worker that died and whose chunks were computed again elsewhere.
"""

import math
from collections.abc import Callable
from functools import partial, reduce, wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..validation import signs, vector
from .blocks import Shapes, sum_over_blocks

Method = TypeVar("Method", bound=Callable[..., Any])
_FAN_IN = 8  # how many partial sums one task adds


def is_dask(values: Any) -> bool:
    """Is this a dask collection? Checked without importing dask."""
    return type(values).__module__.partition(".")[0] == "dask"


def dask_rows(X: Any, name: str = "X") -> Any:
    """A dask array of points, chunked along its rows, with all sizes known."""
    import dask.array as da

    if not isinstance(X, da.Array):
        raise TypeError(f"{name} must be a dask.array, got {type(X).__name__}: pass {name}.to_dask_array(lengths=True)")
    if X.ndim != 2:
        raise ValueError(f"{name} must be 2-D, one point per row, got shape {X.shape}. Reshape your data")
    _refuse_strange_chunks(X, name)
    if X.shape[1] == 0:
        raise ValueError(f"{name} has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X.rechunk({1: -1})


def dask_vector(y: Any, X: Any) -> Any:
    """Targets as a dask array chunked like X."""
    import dask.array as da

    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if not isinstance(y, da.Array):
        y = da.from_array(np.asarray(y), chunks=-1)
    if y.ndim != 1:
        raise ValueError(f"y must be 1-D, one target for each point, got shape {y.shape}")
    _refuse_strange_chunks(y, "y")
    if len(y) != len(X):
        raise ValueError(f"y has {len(y)} entries, expected {len(X)}")
    return y.rechunk((X.chunks[0],))


def numbers(t: Any, X: Any) -> Any:
    """A number for each point of X, chunked like X if X has chunks."""
    return dask_vector(t, X) if is_dask(X) else vector(t, "t", length=len(X))


def labels(y: Any, X: Any) -> Any:
    """A label -1 or +1 for each point of X, chunked like X if X has chunks."""
    return dask_vector(y, X).map_blocks(signs, dtype=float) if is_dask(X) else signs(y, length=len(X))


def _refuse_strange_chunks(array: Any, name: str) -> None:
    if any(math.isnan(size) for axis in array.chunks for size in axis):
        advice = f"call {name}.compute_chunk_sizes() first (a filter or a data frame leaves the sizes unknown)"
        raise ValueError(f"{name} has chunks of unknown size: {advice}")
    if not isinstance(array._meta, np.ndarray):
        raise TypeError(
            f"{name} has chunks of type {type(array._meta).__name__}, expected dense numpy arrays: "
            f"pass {name}.map_blocks(lambda block: block.toarray())"
        )
    if array.shape[0] == 0:
        found = f"shape={array.shape}, {len(array.chunks[0])} chunk(s)"
        raise ValueError(f"{name} has 0 sample(s) ({found}) while a minimum of 1 is required.")


def map_sum(add: Callable[..., None], shapes: Shapes, features: Any, X: Any, y: Any, *, memory: int) -> list[Any]:
    """`sum_over_blocks` over all chunks; points in memory are already prepared."""
    if not is_dask(X):
        return sum_over_blocks(add, shapes, features, X, y, memory=memory)
    import dask

    shared = dask.delayed((add, shapes, features, memory), traverse=False)  # one copy for all chunks
    task, total = dask.delayed(_on_chunk), dask.delayed(_added)
    first = np.cumsum([0, *X.chunks[0]])
    chunks = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), X.chunks[0], first, strict=False)
    parts = [task(shared, X_i, y_i, int(start)) for X_i, y_i, size, start in chunks if size > 0]
    while len(parts) > 1:
        parts = [total(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return dask.compute(parts[0])[0]


def by_chunks(method: Method) -> Method:
    """Let a prediction method take a dask array and return one, with a row or a number per point."""

    @wraps(method)
    def call(self: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(self, X)
        X = dask_rows(X)
        one = method(self, np.zeros((1, X.shape[1])))  # gives the shape and the type, and checks the columns
        shape = {"drop_axis": 1} if one.ndim == 1 else {"chunks": (X.chunks[0], (one.shape[1],))}
        return X.map_blocks(partial(method, self), dtype=one.dtype, meta=one[:0], **shape)

    return cast("Method", call)


def gather(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a dask array, in memory."""
    found = np.asarray(X[rows].compute(), dtype=float)
    strange = rows[~np.isfinite(found).all(axis=1)]
    if len(strange):
        raise ValueError(f"X contains NaN or inf (first in row {strange[0]}); every entry must be finite")
    return found


def distinct(y: Any) -> np.ndarray:
    """The values that occur in a dask vector, sorted."""
    import dask

    found = dask.compute(*[dask.delayed(np.unique)(chunk) for chunk in y.to_delayed().ravel()])
    return np.unique(np.concatenate([chunk for chunk in found if len(chunk)]))


def _on_chunk(shared: tuple[Any, ...], X: Any, y: Any, first: int) -> list[Any]:
    add, shapes, features, memory = shared
    try:
        return map_sum(add, shapes, features, features.prepare(X), vector(y, "y"), memory=memory)
    except (ValueError, TypeError, OverflowError) as error:
        raise type(error)(f"in the chunk of rows {first} to {first + len(X) - 1}: {error}") from error


def _added(parts: list[list[Any]]) -> list[Any]:
    return [reduce(np.add, sums) for sums in zip(*parts, strict=True)]
