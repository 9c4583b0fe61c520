"""Where the fast paths come from: loops that numba compiles, and threads over slabs of rows.

Both change speed, never an answer. `KERNELCOURSE_FAST=0` in the environment does without the compiled loops, as does an
installation without numba (`pip install kernelcourse[fast]`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

Loops = Any  # the module of compiled loops, or None

SLAB = 2**20  # entries of a Gram matrix that are worked on at a time: 8 MB
WORTH_COMPILING = 2**19  # below so many entries or elementary steps, importing numba takes longer than the job
WORTH_A_THREAD = 2**16


def compiled(work: float) -> Loops:
    """`kernelcourse.compiled` for a job of so many elementary steps, or None where plain numpy is to do it.

    >>> compiled(10) is None
    True
    """
    if work < WORTH_COMPILING or os.environ.get("KERNELCOURSE_FAST") == "0":
        return None
    return _loops()


@cache
def _loops() -> Loops:
    try:
        return import_module(".compiled", __package__)
    except (ImportError, RuntimeError):  # no numba, or nowhere to keep what it compiles
        return None


def in_rows(A: Any) -> Any:
    """A as the compiled loops want it, row after row and writable; a copy only where it is not."""
    return np.require(A, dtype=np.float64, requirements=["C", "W"])


def threads() -> int:
    """How many threads a job may use: the processors we may run on, or fewer if the linear algebra is told so."""
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


def in_threads(work: Callable[[slice], Any], parts: Iterable[slice], entries: int) -> None:
    """Call `work` for every part, in threads where so many entries are worth it.

    It pays for what releases the interpreter: numpy's loops over arrays, and our compiled ones.
    """
    parts = list(parts)
    count = min(threads(), len(parts))
    if count < 2 or entries < WORTH_A_THREAD:
        for part in parts:
            work(part)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:
        for _ in pool.map(work, parts):  # which raises what went wrong in a thread
            pass
