"""Compiled loops and threads: whether a job is worth them, and how it is divided.

Both change the speed, and an answer only within its tolerance in `kernelcourse.seam`. `KERNELCOURSE_FAST=0` in the
environment turns the compiled loops off.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from ..seam import always
from ..validation import slices

S = TypeVar("S")
T = TypeVar("T")
_alone = ContextVar("alone", default=False)  # whether this is one of several jobs that run in parallel
Loops = Any  # the module of compiled loops, or None

SLAB = 2**20  # entries of a Gram matrix processed at a time: 8 MB
WORTH_CALLING = 2**12  # elementary steps, such as entries of a matrix; for fewer, numpy is as fast
CALL = 2**9  # elementary steps that take as long as the numpy calls of a short loop's body
WORTH_A_THREAD = 2**21  # elementary steps: 2 ms, about as long as a thread waits for a processor that is busy
SPINNING = 2**25  # steps in the time for which the linear algebra's threads wait for the next product by spinning


def compiled(work: float) -> Loops:
    """The compiled loops for a job of `work` elementary steps; None if plain numpy should do it."""
    if os.environ.get("KERNELCOURSE_FAST") == "0" or (work < WORTH_CALLING and not always()):
        return None
    return _loops()


@cache
def _loops() -> Loops:
    try:
        return import_module(".loops", __package__)
    except ImportError:  # the package was built without a compiler, or on another kind of machine
        return None


def in_rows(A: Any) -> Any:
    """A in C order and writable, as the compiled loops expect; a copy only if A is not."""
    return np.require(A, dtype=np.float64, requirements=["C", "W"])


def slabs(n: int, columns: int, entries: int = SLAB) -> Iterator[slice]:
    """Cut n rows into slabs of at most `entries` entries, or of one row where a row has more.

    >>> [(s.start, s.stop) for s in slabs(5, 100, entries=250)]
    [(0, 2), (2, 4), (4, 5)]
    """
    return slices(n, max(1, entries // max(1, columns)))


def threads() -> int:
    """How many threads a job may use: as many as the linear algebra may use, or one if other jobs run beside it."""
    if _alone.get():
        return 1
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if (stated := os.environ.get(name, "")).isdigit():
            return max(1, min(available, int(stated)))
    return available


def in_threads(work: Callable[[slice], Any], parts: Iterable[slice], steps: int, *, products: bool = False) -> None:
    """Call `work`, which releases the GIL, for every part, in threads if it takes enough steps.

    With `products`, the linear algebra uses one thread per part; where that cannot be set, one part runs at a time.
    """
    parts, count = list(parts), 1
    if len(parts) > 1 and steps >= WORTH_A_THREAD:  # a small job does not wait for the search for BLAS libraries
        count = min(workers() if products else threads(), len(parts))
    if count == 1:
        for part in parts:
            work(part)
        return
    with one_thread(products):
        _map(count, work, parts)


@cache
def controller() -> Any:
    """The BLAS libraries already loaded when this is first called; None without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


def workers() -> int:
    """How many jobs `side_by_side` does at a time."""
    return threads() if controller() is not None else 1  # each job's linear algebra gets one thread


def side_by_side(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """The results of independent jobs, in order; they run in threads, with one linear-algebra thread each.

    Many small products in two threads slow each other down. Without threadpoolctl, the jobs run one after another.
    """
    if len(jobs) == 1:
        return [jobs[0]()]
    count = min(workers(), len(jobs))
    with one_thread():
        return _map(count, _in_one_thread, jobs) if count > 1 else [job() for job in jobs]


_lock = threading.Lock()
_inside = 0  # callers currently inside `one_thread`
_before: list[tuple[Any, int]] = []  # each pool, and how many threads it had


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Within this context, the linear algebra uses one thread: for short products, a second costs more than it saves.

    A BLAS library has one pool for all threads of a program. The first caller sets the limit, and the last one to leave
    restores the old number: if each caller restored what it found, one would restore another's limit.
    """
    global _inside
    if not wanted or controller() is None:
        yield
        return
    pools = controller().lib_controllers
    with _lock:
        if _inside == 0:
            _before[:] = [(pool, pool.num_threads) for pool in pools]
            _set_threads([(pool, 1) for pool in pools])
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set_threads(_before)


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    for pool, count in counts:
        pool.set_num_threads(count)
        if hasattr(pool, "clear_controlling_thread"):  # otherwise threadpoolctl lets only this thread change it again
            pool.clear_controlling_thread()


def _in_one_thread(job: Callable[[], T]) -> T:
    _alone.set(True)  # in the job's own context
    return job()


def _map(count: int, work: Callable[[S], T], parts: Sequence[S]) -> list[T]:
    """Call `work` for every part in `count` threads, with this thread's settings of the engine and numpy's warnings."""
    from concurrent.futures import ThreadPoolExecutor

    contexts = [copy_context() for _ in parts]
    with ThreadPoolExecutor(count) as pool:  # map raises what was raised in a thread
        return list(pool.map(lambda context, part: context.run(work, part), contexts, parts))
