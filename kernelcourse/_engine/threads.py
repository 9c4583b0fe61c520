"""Where the fast paths come from: loops that numba compiles, and threads over slabs of rows.

Both change speed, never an answer. `KERNELCOURSE_FAST=0` in the environment does without the compiled loops, as does an
installation without numba (`pip install kernelcourse[fast]`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..seam import always
from . import pools

Array = NDArray[np.float64]
T = TypeVar("T")
_here = threading.local()  # what is true of this thread only
Loops = Any  # the module of compiled loops, or None

SLAB = 2**20  # entries of a Gram matrix that are worked on at a time: 8 MB
WORTH_COMPILING = 2**19  # below so many entries or elementary steps, importing numba takes longer than the job
WORTH_A_THREAD = 2**16
_LINE = 8  # numbers that memory hands to the processor at a time


def compiled(work: float) -> Loops:
    """The compiled loops for a job of so many elementary steps, or None where plain numpy is to do it.

    >>> compiled(10) is None
    True
    """
    if (work < WORTH_COMPILING and not always()) or os.environ.get("KERNELCOURSE_FAST") == "0":
        return None
    return _loops()


@cache
def _loops() -> Loops:
    try:
        return import_module(".loops", __package__)
    except (ImportError, RuntimeError):  # no numba, or nowhere to keep what it compiles
        return None


def in_rows(A: Any) -> Any:
    """A as the compiled loops want it, row after row and writable; a copy only where it is not."""
    return np.require(A, dtype=np.float64, requirements=["C", "W"])


def in_lanes(Z: Array) -> Array:
    """Z transposed, for the compiled loops: its rows start where the processor's vectors do, and have columns to spare.

    >>> in_lanes(np.array([[1.0, 2.0]]))[:, :1]
    array([[1.],
           [2.]])
    """
    m, d = Z.shape
    width = -(-m // _LINE) * _LINE
    room = np.zeros(d * width + _LINE)
    first = -room.ctypes.data // room.itemsize % _LINE
    Z_T = room[first : first + d * width].reshape(d, width)
    Z_T[:, :m] = Z.T
    return Z_T


def threads() -> int:
    """How many threads a job may use: the processors we may run on, or fewer if the linear algebra is told so.

    A job that is one of several side by side has one.
    """
    if getattr(_here, "side_by_side", False):
        return 1
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if (stated := os.environ.get(name, "")).isdigit():
            return max(1, min(available, int(stated)))
    return available


def slabs(n: int, columns: int, entries: int = SLAB) -> Iterator[slice]:
    """Cut n rows into slabs of at most so many entries, a row at least.

    >>> [(s.start, s.stop) for s in slabs(5, 100, entries=250)]
    [(0, 2), (2, 4), (4, 5)]
    """
    rows = max(1, entries // max(1, columns))
    return (slice(first, min(first + rows, n)) for first in range(0, n, rows))


def in_threads(work: Callable[[slice], Any], parts: Iterable[slice], entries: int, *, products: bool = False) -> None:
    """Call `work` for every part, in threads where so many entries are worth it.

    It pays for what releases the interpreter: numpy's loops over arrays, and our compiled ones; `products` too, if the
    linear algebra uses one thread for each.
    """
    parts = list(parts)
    count = min(threads(), len(parts))
    if count < 2 or entries < WORTH_A_THREAD:
        for part in parts:
            work(part)
        return
    from concurrent.futures import ThreadPoolExecutor

    with one_thread(products), ThreadPoolExecutor(count) as pool:
        for _ in pool.map(work, parts):  # which raises what went wrong in a thread
            pass


def can_limit() -> bool:
    """Whether the linear algebra can be told to use one thread."""
    return pools.controller() is not None


def workers() -> int:
    """How many jobs `side_by_side` does at a time."""
    return threads() if can_limit() else 1


def side_by_side(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """The results of jobs that do not depend on each other, in order; in threads if that is worth while.

    The linear algebra is told to use one thread for each of them: many small products in two threads get in each
    other's way. That takes threadpoolctl; where it is missing, one job follows the other.

    >>> side_by_side([lambda: 1, lambda: 2])
    [1, 2]
    """
    if len(jobs) == 1:
        return [jobs[0]()]
    count = min(workers(), len(jobs))
    with one_thread():
        if count < 2:
            return [job() for job in jobs]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(_in_one_thread, jobs))


def _in_one_thread(job: Callable[[], T]) -> T:
    _here.side_by_side = True
    try:
        return job()
    finally:
        _here.side_by_side = False


def one_thread(wanted: bool = True) -> AbstractContextManager[Any]:
    """Within it the linear algebra uses one thread: for short products, where two cost more than they save."""
    return pools.limited() if wanted and can_limit() else nullcontext()
