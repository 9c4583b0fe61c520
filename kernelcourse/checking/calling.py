"""Calling a student's function: nothing that it does escapes, everything that matters is noted."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from .cases import Case

_CHECKING = str(Path(__file__).parent)
_LIBRARY = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Outcome:
    """What came of one call."""

    case: Case
    value: Any = None
    error: BaseException | None = None
    changed: tuple[int, ...] = ()  # positions of arguments that were written on
    library_calls: tuple[str, ...] = ()  # functions of kernelcourse that were called
    printed: str = ""


def call(function: Callable[..., Any], case: Case) -> Outcome:
    """Call the function on the case. What it prints or warns of is kept, not shown: stderr counts as failure."""
    args = case.fresh()
    output = io.StringIO()
    calls: list[str] = []
    value, error = None, None
    with warnings.catch_warnings(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        warnings.simplefilter("ignore")
        try:
            with _library_calls_noted(calls):
                value = function(*args)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - whatever a student's code raises becomes a report
            error = raised
    changed = tuple(
        i for i, (before, after) in enumerate(zip(case.args, args, strict=True)) if not _same(before, after)
    )
    return Outcome(case, value, error, changed, tuple(dict.fromkeys(calls)), output.getvalue())


def _same(before: Any, after: Any) -> bool:
    return not isinstance(before, np.ndarray) or np.array_equal(before, after)


@contextlib.contextmanager
def _library_calls_noted(calls: list[str]) -> Iterator[None]:
    """Note every call that enters the library from outside, under whatever name the student imported it."""

    def outside(frame: FrameType | None) -> bool:
        name = frame.f_code.co_filename if frame else ""
        return not name.startswith(_LIBRARY) or name.startswith(_CHECKING)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not outside(frame) and outside(frame.f_back):
            calls.append(f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}")

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(previous)


def student_line(error: BaseException) -> str:
    """The line of the student's own code where the error came from, or nothing if it cannot be told.

    Frames of installed packages and of these checks are no help to a student; the deepest of the others is.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_LIBRARY, sys.prefix, sys.base_prefix, "<frozen"))
        and "site-packages" not in frame.filename
    ]
    if not frames or not frames[-1].line:
        return ""
    return f"line {frames[-1].lineno} of {frames[-1].name}:  {frames[-1].line}"
