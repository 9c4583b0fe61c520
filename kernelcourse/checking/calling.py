"""Call a student's function, contain whatever it does, and record everything that matters."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from .. import seam
from .cases import Case
from .values import same

_OURS = tuple(str(Path(__file__).parents[1] / name) for name in ("checking", "course"))  # no student's code is in these
_LIBRARY = str(Path(__file__).parents[1])
# In a browser, Python's prefix is "/". Every path begins with it, so it is left out.
_INSTALLED = tuple({str(Path(os.__file__).parent), sys.prefix, sys.base_prefix} - {"/"})


@dataclass(frozen=True)
class Raised:
    """An error raised in place of a value: the name of its type, its message, and the student's line that raised it."""

    kind: str
    message: str = ""
    line: str = ""
    not_written: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True)
class Outcome:
    """The result of one call."""

    case: Case
    value: Any = None
    error: Raised | None = None
    changed: tuple[int, ...] = ()  # positions of the arguments that the call modified
    library_calls: tuple[str, ...] = ()  # functions of kernelcourse that were called
    printed: str = ""


class Answer(ABC):
    """A function that runs elsewhere, in a sandbox for example: it can only be tried on a case."""

    @abstractmethod
    def try_on(self, case: Case) -> Outcome:
        """Call the function on the case, wherever it runs."""


def call(function: Callable[..., Any] | Answer, case: Case) -> Outcome:
    """Call the function on the case. Its output is kept and not shown: nbgrader treats text on stderr as a failure."""
    if isinstance(function, Answer):
        return function.try_on(case)
    args = case.fresh()
    output = io.StringIO()
    calls: list[str] = []
    value, error = None, None
    with warnings.catch_warnings(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        warnings.simplefilter("ignore")
        try:
            with _library_calls_noted(calls):
                value = function(*args, **case.keywords)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - whatever a student's code raises becomes a report
            error = describe(raised)
    changed = tuple(i for i, (before, after) in enumerate(zip(case.args, args, strict=True)) if not same(before, after))
    return Outcome(case, value, error, changed, tuple(dict.fromkeys(calls)), output.getvalue())


@contextlib.contextmanager
def _library_calls_noted(calls: list[str]) -> Iterator[None]:
    """Record every call that enters the library from outside, under whatever name the student imported the function."""

    def outside(frame: FrameType | None) -> bool:
        name = frame.f_code.co_filename if frame else ""
        return not name.startswith(_LIBRARY) or name.startswith(_OURS)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not outside(frame) and outside(frame.f_back):
            calls.append(".".join(called(frame)))

    with watched(note):
        yield


def called(frame: FrameType) -> tuple[str, str]:
    """The module and the name of the function that a frame runs; a wrapper has the name of its definition."""
    plain = frame.f_locals.get("plain") if frame.f_globals.get("__name__") == seam.__name__ else None
    if plain is not None:
        return plain.__module__, plain.__qualname__
    return frame.f_globals.get("__name__", ""), frame.f_code.co_qualname


@contextlib.contextmanager
def watched(note: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    """Within this context, `note` receives every call. A profiler that is already running, such as %prun's, keeps
    running."""
    previous: Any = sys.getprofile()
    if previous is not None and sys.gettrace() is None:
        sys.settrace(note)
        try:
            yield
        finally:
            sys.settrace(None)
        return
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(previous if callable(previous) else None)
        if hasattr(previous, "enable"):  # a profiler written in C, which only its own method can start again
            previous.enable()


def describe(error: BaseException) -> Raised:
    """What a report needs to know about an error."""
    not_written = isinstance(error, NotImplementedError)
    return Raised(type(error).__name__, _message(error), student_line(error), not_written)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a class of the student's own may fail to print itself
        return ""


def student_line(error: BaseException) -> str:
    """The line of the student's own code where the error came from, or an empty string if it is not known.

    Frames of installed packages and of these checks do not help a student; the deepest other frame does.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_students(frame.filename)]
    if not frames or not frames[-1].line:
        return ""
    return f"line {frames[-1].lineno} of {frames[-1].name}:  {frames[-1].line}"


def is_students(filename: str) -> bool:
    """Whether code is the student's own: neither ours nor that of an installed package."""
    return not filename.startswith((_LIBRARY, "<frozen", *_INSTALLED)) and "site-packages" not in filename
