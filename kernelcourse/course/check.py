"""Run the visible checks of a notebook in a fresh kernel, as the grader will, and report the result of each piece.

A piece that never ends or kills the kernel costs only its own points: the others are checked in a fresh kernel.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checking.piece import NOT_WRITTEN
from .errors import CourseError
from .execution import Ran, Runner, line_of
from .notebooks import read_notebook
from .transplant import defined_names

BY_HAND = "read by your instructor"
_LOOK = 0.5  # seconds between two checks of a watched file
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Row:
    """The outcome of one piece: a line in the table and, where there is more to say, a box."""

    piece: str
    points: float
    earned: float | None  # None: graded by hand
    said: str = ""
    box: str = ""

    @property
    def passed(self) -> bool:
        return self.earned is None or self.earned >= self.points


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK", help="the notebook, an .ipynb file")
    parser.add_argument("--piece", action="append", default=[], metavar="NAME", help="one piece (can be repeated)")
    parser.add_argument("--why", action="store_true", help="say more about what is wrong")
    parser.add_argument("--watch", action="store_true", help="check again whenever the notebook is saved")
    parser.add_argument(
        "--timeout", type=_seconds, default=10, metavar="SECONDS", help="processor time for one piece (default: 10)"
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text}")
    return seconds


def run(args: argparse.Namespace) -> int:
    if not args.watch:
        return _once(args)
    try:
        while True:
            saved = _time_of(args.notebook)
            print("\033[2J\033[H", end="")  # clear the screen
            try:
                _once(args)
            except CourseError as error:  # the file may be half written, or the next save may put it right
                print(error)
            print("\nWaiting for the next save; press Ctrl-C to stop.", flush=True)
            while _time_of(args.notebook) == saved:
                time.sleep(_LOOK)
    except KeyboardInterrupt:
        return 0


def _time_of(path: Path) -> float:
    return path.stat().st_mtime if path.is_file() else 0.0  # an editor may be replacing it right now


def _once(args: argparse.Namespace) -> int:
    start = time.monotonic()
    rows = check(args.notebook, pieces=args.piece, seconds=args.timeout, why=args.why)
    print(render(rows, width=shutil.get_terminal_size().columns))
    print(f"checked in {time.monotonic() - start:.1f} s")
    return 0 if all(row.passed for row in rows) else 1


def check(path: Path, *, pieces: list[str] | tuple[str, ...] = (), seconds: float, why: bool = False) -> list[Row]:
    """The outcome of each piece of a notebook, or of the named pieces, after a run from top to bottom."""
    from tqdm import tqdm

    notebook = read_notebook(path)
    wanted = _wanted(notebook, path, pieces)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" or _meta(cell).get("grade")]
    if pieces:
        last = max(i for i, cell in enumerate(cells) if any(id(cell) == key for key, _ in wanted))
        cells = cells[: last + 1]
    rows: list[Row] = []
    with (
        Runner(path.resolve().parent, seconds=seconds) as runner,
        tqdm(total=len(cells), unit="cell", leave=False, disable=None) as bar,  # None: for terminals only
    ):
        attempt = _Attempt(runner, why)
        for cell in cells:
            if not is_check(cell):
                if _meta(cell).get("grade"):
                    rows += [] if pieces else [Row(_meta(cell)["grade_id"], _meta(cell)["points"], None, BY_HAND)]
                else:
                    attempt.run(cell.source)
            else:
                chosen = [call for key, call in wanted if key == id(cell)]
                rows += attempt.check(cell, chosen)
            bar.update()
    return rows


@dataclass(frozen=True)
class Call:
    """The check of one piece, as a line of code."""

    piece: str
    source: str


def is_check(cell: Any) -> bool:
    """Whether a cell contains checks that can be run automatically."""
    return cell.cell_type == "code" and bool(_meta(cell).get("grade")) and not _meta(cell).get("solution")


def calls(source: str) -> list[Call]:
    """The pieces that a check cell checks, one call each; none if it does anything else.

    >>> calls("check(a=a, b=b)")
    [Call(piece='a', source='check(a=a)'), Call(piece='b', source='check(b=b)')]
    """
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return []
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or not all(keyword.arg for keyword in call.keywords):
        return []
    name = ast.unparse(call.func)
    return [Call(word.arg or "", f"{name}({word.arg}={ast.unparse(word.value)})") for word in call.keywords]


def _meta(cell: Any) -> Any:
    return cell.metadata.get("nbgrader", {})


def _wanted(notebook: Any, path: Path, pieces: list[str] | tuple[str, ...]) -> list[tuple[int, Call]]:
    """The checks to run, each with its cell."""
    found = [(id(cell), call) for cell in notebook.cells if is_check(cell) for call in calls(cell.source)]
    if not any(map(is_check, notebook.cells)):
        raise CourseError(f"{path} has no checks: is it a notebook of this course?")
    known = [call.piece for _, call in found]
    if unknown := [piece for piece in pieces if piece not in known]:
        raise CourseError(f"--piece: no piece of {path.name} is called {unknown[0]!r}; there are: {', '.join(known)}")
    return [(key, call) for key, call in found if not pieces or call.piece in pieces]


class _Attempt:
    """One run of a notebook; it records which cells failed, so that a missing name can be explained."""

    def __init__(self, runner: Runner, why: bool) -> None:
        self.runner, self.why = runner, why
        self.sources: list[str] = []
        self.broken: dict[str, str] = {}  # name -> why the cell that defines it failed
        self.first = ""  # why the first failing cell failed

    def run(self, source: str) -> None:
        self.sources.append(source)
        ran = self.runner.run(source, sources=self.sources)
        if reason := _failure(ran, source):
            self.first = self.first or reason
            self.broken |= dict.fromkeys(defined_names([source]), reason)

    def check(self, cell: Any, chosen: list[Call]) -> Iterator[Row]:
        """The rows for a check cell, one per piece if it consists of pieces."""
        if calls(cell.source):
            yield from map(self._piece, chosen)
            return
        ran = self.runner.run(cell.source, remember=False, sources=self.sources)
        if ran.records:
            yield from (self._row(record, ran) for record in ran.records)
        else:
            meta, problem = _meta(cell), self._explained(ran, cell.source)
            yield Row(meta["grade_id"], meta["points"], 0 if problem else meta["points"], problem)

    def _piece(self, call: Call) -> Row:
        ran = self.runner.run(call.source, remember=False, sources=self.sources)
        if ran.records:
            return self._row(ran.records[0], ran)
        points = self.runner.run(f"check.pieces[{call.piece!r}].points", remember=False).text
        worth = float(points) if re.fullmatch(r"\d+(\.\d+)?", points) else 1
        return Row(call.piece, worth, 0, self._explained(ran, call.source))

    def _row(self, record: Any, ran: Ran) -> Row:
        name, points, earned = record["piece"], record["points"], record["earned"]
        if earned >= points:
            return Row(name, points, earned)
        if record["mistake"] == NOT_WRITTEN:
            return Row(name, points, earned, record["problem"])
        more = self.runner.run(f"check.why({name!r})", remember=False) if self.why else Ran()
        return Row(name, points, earned, box="\n".join(filter(None, (ran.text, more.text))))

    def _explained(self, ran: Ran, source: str) -> str:
        """What is wrong with a check that gave no verdict; the cause of a missing name is further up."""
        missing = re.fullmatch(r"name '(\w+)' is not defined", ran.error.evalue) if ran.error is not None else None
        if missing is None:
            return _failure(ran, source)
        if reason := self.broken.get(missing[1]) or (self.first if missing[1] == "check" else ""):
            return f"The cell that defines `{missing[1]}` failed: {reason}"
        return f"No cell above this check defines `{missing[1]}`."


def _failure(ran: Ran, source: str) -> str:
    """How a cell failed, and in which line; empty if it did not fail."""
    if ran.trouble:
        return f"{ran.trouble} {ran.line}".rstrip()
    if ran.error is None:
        return ""
    error = ran.error
    at = re.search(r", line (\d+)\)$", error.evalue) or re.search(
        r"Cell In\[\d+\], line (\d+)", _ANSI.sub("", "\n".join(error.traceback))
    )
    message = re.sub(r" \([^()]*, line \d+\)$", "", error.evalue)
    where = f" in line {at[1]}: {line_of(source, int(at[1]))}" if at else ""
    return f"{error.ename}: {message}{where}"


def render(rows: list[Row], *, width: int) -> str:
    """The boxes that explain what is wrong, then the table, whose last line adds up the points."""
    name_width = max((len(row.piece) for row in rows), default=0)
    lines = [f"{row.box}\n" for row in rows if row.box]
    for row in rows:
        mark = "✎" if row.earned is None else "✓" if row.passed else "✗"
        earned = "–" if row.earned is None else f"{row.earned:g}"
        head = f"{mark} {row.piece:<{name_width}}  {earned:>3} of {row.points:<3g}"
        said = textwrap.wrap(row.said or ("see above" if row.box else ""), max(width - len(head) - 2, 30)) or [""]
        lines.append(f"{head}  {said[0]}".rstrip())
        lines.extend(" " * (len(head) + 2) + line for line in said[1:])
    checked = [row for row in rows if row.earned is not None]
    by_hand = sum(row.points for row in rows if row.earned is None)
    total = f"{sum(row.earned or 0 for row in checked):g} of {sum(row.points for row in checked):g} points"
    lines.append(f"\n{total}" + (f", and {by_hand:g} more {BY_HAND}" if by_hand else ""))
    return "\n".join(lines)
