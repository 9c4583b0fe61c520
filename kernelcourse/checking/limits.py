"""A time limit for answers, so that checking an endless loop comes to an end.

Where Python has SIGALRM (Linux, macOS) an alarm checks the clocks ten times a second. Elsewhere (Windows, a browser,
a thread) a trace function checks them while lines of the student's code run. Neither can interrupt a call inside numpy
that never returns: then the kernel has to be restarted, which `kernelcourse check` does automatically.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from .calling import is_students

VARIABLE = "KERNELCOURSE_SECONDS"
PATIENCE = 5  # seconds of wall-clock time for each second of processor time, as in grading
_TICK = 0.1


class TookTooLong(BaseException):
    """The time is up. It is not an `Exception`: an answer that catches every `Exception` must not catch this."""


def own_time() -> float:
    """Processor seconds of this thread. In a browser, which cannot measure them, a tenth of the elapsed time: Python is
    about ten times slower there."""
    return time.thread_time() if hasattr(time, "thread_time") else time.monotonic() / 10


def seconds_per_piece() -> float:
    """The processor time that calls of one function may take in one check; an environment variable can change it."""
    text = os.environ.get(VARIABLE, "")
    try:
        seconds = float(text or 10)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(f"{VARIABLE} is {text!r}, expected a positive number of seconds")
    return seconds


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the enclosed code once it has used this much processor time.

    In wall-clock time it may take `PATIENCE` times as long: on a busy machine an answer has to wait for a processor.
    A browser does not count processor time, which stays at 0 there, so wall-clock time decides.
    """
    cpu, clock = time.process_time(), time.monotonic()
    patience = PATIENCE if cpu > 0 else 1
    over = False

    def look(*_: Any) -> None:
        late = time.process_time() - cpu > seconds or time.monotonic() - clock > patience * seconds
        if late and not over:
            raise TookTooLong

    with _watch(look):
        try:
            yield
        finally:
            over = True


def _watch(look: Callable[..., None]) -> AbstractContextManager[None]:
    if not hasattr(signal, "SIGALRM") or not hasattr(signal, "setitimer"):  # Windows; a browser
        return _traced(look)
    try:
        previous = signal.signal(signal.SIGALRM, look)
    except ValueError:  # only the main thread may set a handler
        return _traced(look)
    return _alarmed(previous)


@contextmanager
def _alarmed(previous: Any) -> Iterator[None]:
    timer = signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, previous or signal.SIG_DFL)


@contextmanager
def _traced(look: Callable[..., None]) -> Iterator[None]:
    due = time.monotonic() + _TICK

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal due
        if event == "call" and not is_students(frame.f_code.co_filename):
            return None
        if time.monotonic() > due:
            due = time.monotonic() + _TICK
            look()
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(previous)
