"""The threads of BLAS: one for each job while several run side by side, through threadpoolctl.

Most BLAS libraries have one pool for all threads of a program. The first caller that asks for one thread sets the
limit, and the last that leaves restores what was there: if each restored what it had found, one would restore the limit
of another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_inside = 0  # callers that have asked for one thread and not left
_before: list[tuple[Any, int]] = []  # the shared pools, and how many threads each had


@cache
def controller() -> Any:
    """The BLAS libraries that are loaded at the first call; None without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def limited() -> Iterator[None]:
    """Within it BLAS uses one thread, until the last of all callers has left."""
    global _inside
    pools = controller().lib_controllers
    own = [pool for pool in pools if getattr(pool, "threading_layer", "") == "openmp"]  # a pool for each of our threads
    had = _limit(own)
    with _lock:
        if _inside == 0:
            _before[:] = _limit([pool for pool in pools if pool not in own])
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _restore(_before)
        _restore(had)


def _limit(pools: list[Any]) -> list[tuple[Any, int]]:
    had = [(pool, pool.num_threads) for pool in pools]
    _restore([(pool, 1) for pool in pools])
    return [(pool, count) for pool, count in had if count != pool.num_threads]  # some ignore a change by the program


def _restore(counts: list[tuple[Any, int]]) -> None:
    for pool, count in counts:
        pool.set_num_threads(count)
        if hasattr(pool, "clear_controlling_thread"):  # otherwise threadpoolctl lets only this thread change it again
            pool.clear_controlling_thread()
