"""A limit on how much a diagnosis may try, counted in steps of the student's code and not in seconds.

The count is the same on a busy machine, in a sandbox and in a browser, and so are the hints.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from types import FrameType
from typing import Any

from ..calling import is_students
from ..limits import own_time

STEPS = 400_000  # the steps for one diagnosis; each round of a loop takes one step
CALL, RUN, COMPILE = 5, 100, 300  # how many steps each of these counts as; a call is one that the student's lines make
_CLOCK = 3.0  # processor seconds of this thread, after which a diagnosis with slow steps ends
_INLINED = {"<listcomp>", "<setcomp>", "<dictcomp>"}  # these are separate calls up to Python 3.11

_students = cache(is_students)


class Effort:
    """The steps that are left: calls that the student's code makes, and rounds of its loops."""

    def __init__(self, steps: int = STEPS) -> None:
        self.left, self.floor, self.end = steps, 0, own_time() + _CLOCK

    def spend(self, steps: int = 1) -> None:
        """Take steps from what is left; raise TimeoutError if there are not enough."""
        self.left -= steps
        if self.left < self.floor or own_time() > self.end:
            raise TimeoutError

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        """Count the calls that the student's own lines make; `calling.watched` runs this as a profiler."""
        if event == "call":
            caller = None if frame.f_code.co_name in _INLINED else frame.f_back
        else:
            caller = frame if event == "c_call" else None
        if caller is not None and _students(caller.f_code.co_filename):
            self.spend(CALL)

    @property
    def over(self) -> bool:
        return self.left <= 0 or own_time() > self.end

    @contextlib.contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """Within this context, at most `steps` of the remaining steps may be taken."""
        self.floor = max(0, self.left - steps)
        try:
            yield
        finally:
            self.floor = 0
