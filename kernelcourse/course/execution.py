"""Run a notebook's cells one after another, in a kernel that is replaced if a cell kills it or never ends."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checking.limits import PATIENCE, VARIABLE
from .errors import CourseError

# Python's own traceback of a process that dies or hangs, written when no other code in the process can still run.
_PROLOGUE = """
def _note_the_line():
    import faulthandler
    file = open({file!r}, "w")
    faulthandler.enable(file)
    events = get_ipython().events
    events.register("pre_run_cell", lambda *_: faulthandler.dump_traceback_later({seconds}, file=file))
    events.register("post_run_cell", lambda *_: faulthandler.cancel_dump_traceback_later())
_note_the_line(); del _note_the_line
"""
_FRAME = re.compile(r'File ".*ipykernel_\d+[/\\]\d+\.py", line (\d+) in (\S+)')
_GRACE = 5.0  # seconds in which a hanging process can write its position


@dataclass(frozen=True)
class Ran:
    """The outcome of a cell: its outputs and, if it killed the kernel, a sentence about it, with the line if known."""

    outputs: list[Any] = field(default_factory=list)
    trouble: str = ""
    line: str = ""

    @property
    def error(self) -> Any:
        """The first error among the outputs, or None."""
        return next((output for output in self.outputs if output.output_type == "error"), None)

    @property
    def text(self) -> str:
        """The outputs that are not errors, as a terminal shows them."""
        shown = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in self.outputs]
        return "\n".join(text.rstrip("\n") for text in shown if text)

    @property
    def records(self) -> list[Any]:
        """The verdicts of checks among the outputs, as plain data."""
        return [record for output in self.outputs for record in output.get("metadata", {}).get("kernelcourse", [])]


class Runner:
    """Runs cells in a kernel. After a crash or a hang, a fresh kernel first reruns the earlier cells.

    `seconds` is the processor time of one piece; a cell may take `PATIENCE` times as long by the clock.
    """

    def __init__(self, folder: Path, *, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.past: list[str] = []
        self.client: Any = None
        self.stack = ExitStack()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stack.close()

    def run(self, source: str, *, remember: bool = True, sources: Sequence[str] = ()) -> Ran:
        """Run a cell; if it is to be remembered, it is run again in the next kernel should this one die.

        `sources` holds the cells in which to look for the line that caused a crash.
        """
        while self.client is None:
            self._start()
        ran = self._run(source, [*sources, source])
        if remember and not ran.trouble:
            self.past.append(source)
        return ran

    def _start(self) -> None:
        """Start a kernel and bring it to the state of the last one; a cell that kills this one as well is forgotten."""
        import nbformat
        from nbclient import NotebookClient

        folder = self.stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        self.notes = Path(folder) / "traceback"
        self.client = NotebookClient(
            nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell()]),
            timeout=int(PATIENCE * self.seconds + _GRACE + 1),
            startup_timeout=600,  # a kernel that cannot start dies at once; one on a busy machine may take minutes
            kernel_name="python3",
            allow_errors=True,
            shutdown_kernel="immediate",
            extra_arguments=["--log-level=ERROR"],  # the kernel's own remarks do not concern a student
            resources={"metadata": {"path": str(self.folder)}},
            log=_silent(),
        )
        self.stack.enter_context(self.client.setup_kernel(env=os.environ | {VARIABLE: f"{self.seconds:g}"}))
        prologue = _PROLOGUE.format(file=str(self.notes), seconds=PATIENCE * self.seconds)
        for source in [prologue, *self.past]:
            if self._run(source, []).trouble:
                if source == prologue:
                    raise CourseError("the kernel dies before a cell has run: does `jupyter console` work here?")
                self.past.remove(source)
                return

    def _run(self, source: str, sources: Sequence[str]) -> Ran:
        import nbformat
        from nbclient.exceptions import CellTimeoutError, DeadKernelError

        cell = nbformat.v4.new_code_cell(source)
        try:
            self.client.execute_cell(cell, 0)
        except CellTimeoutError:
            trouble = f"It did not come to an end: stopped after {PATIENCE * self.seconds:g} s of wall-clock time."
        except DeadKernelError:
            trouble = "It killed the kernel. Does it need more memory than there is?"
        else:
            return Ran(cell.outputs)
        line = _line(self.notes, sources)
        self.stack.close()
        self.client = None
        return Ran(cell.outputs, trouble, line)


def _silent() -> logging.Logger:
    """A silent logger for nbclient, whose errors we report in our own words."""
    log = logging.getLogger(f"{__name__}.nbclient")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return log


def _line(notes: Path, sources: Sequence[str]) -> str:
    """The deepest line of the notebook's own code in Python's last traceback, if it wrote one."""
    try:
        found = _FRAME.search(notes.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    if found is None:
        return ""
    number, name = int(found[1]), found[2]
    homes = [source for source in sources if name == "<module>" or re.search(rf"\bdef {re.escape(name)}\b", source)]
    text = line_of(homes[-1], number) if homes else ""
    return f"line {number}" + ("" if name == "<module>" else f" of {name}") + (f":  {text}" if text else "")


def line_of(source: str, number: int) -> str:
    """A line of a cell by its number, counted as IPython does, from the first line that is not empty."""
    lines = re.sub(r"\A(?:[ \t]*\n)+", "", source).splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
