"""The threads of the linear algebra: one for each job while several run side by side. threadpoolctl does the work.

Most libraries have one pool for all threads of a program. Who comes first then takes its threads away, and who leaves
last gives them back: two that each remember what they found would give back what the other had left.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_inside = 0  # how many have asked for one thread and not left
_before: list[tuple[Any, int]] = []  # the shared pools, and how many threads each had


@cache
def controller() -> Any:
    """The linear algebra that is loaded by the time that this is asked for; None without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def limited() -> Iterator[None]:
    """Within it the linear algebra uses one thread, whoever else enters and leaves."""
    pools = controller().lib_controllers
    own = [pool for pool in pools if getattr(pool, "threading_layer", "") == "openmp"]  # a pool for each of our threads
    shared = [pool for pool in pools if pool not in own]
    had = _take(own)
    _enter(shared)
    try:
        yield
    finally:
        _leave()
        _give_back(had)


def _enter(pools: list[Any]) -> None:
    global _inside
    with _lock:
        if _inside == 0:
            _before[:] = _take(pools)
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _give_back(_before)
            _before.clear()


def _take(pools: list[Any]) -> list[tuple[Any, int]]:
    had = [(pool, pool.num_threads) for pool in pools]
    for pool in pools:
        pool.set_num_threads(1)
        _open(pool)
    return [(pool, count) for pool, count in had if count != pool.num_threads]  # some heed the user's threads only


def _give_back(had: list[tuple[Any, int]]) -> None:
    for pool, count in had:
        pool.set_num_threads(count)
        _open(pool)


def _open(pool: Any) -> None:
    """Let another thread than this one change the pool next: threadpoolctl keeps others from it."""
    if hasattr(pool, "clear_controlling_thread"):
        pool.clear_controlling_thread()
