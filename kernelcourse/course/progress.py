"""Show how far you have got: pieces, points and the last try at every assignment, read from the saved notebooks.

Nothing is run: what counts is what the checks said when the notebook was last saved.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from ..checking.progress import Progress, Standing
from .check import calls, is_check
from .errors import CourseError
from .notebooks import read_notebook, replace_file

_STUB = "YOUR ANSWER HERE"
# copies of notebooks that are not where a student works
_ELSEWHERE = {"solutions", "submitted", "autograded", "feedback", "_build", "node_modules", "site-packages"}


@dataclass(frozen=True)
class Assignment:
    """The progress that a saved notebook shows."""

    title: str
    path: Path
    progress: Progress
    written: int  # written answers given
    asked: int
    saved: datetime

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns of the overview."""
        progress = self.progress
        tried = any(one.right is not None for one in progress.standings)
        return (
            self.title,
            f"{progress.right} of {len(progress.standings)}",
            f"{progress.earned:g} of {progress.points:g}",
            f"{self.written} of {self.asked}",
            f"{self.saved:%Y-%m-%d %H:%M}" if tried or self.written else "–",
        )


COLUMNS = ("assignment", "pieces", "points", "written", "last try")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path(),
        metavar="FOLDER",
        help="where your notebooks are (default: here)",
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page for a browser as well")


def run(args: argparse.Namespace) -> int:
    assignments = find(args.folder)
    print(render(assignments))
    if args.page is not None:
        replace_file(args.page, page(assignments).encode())
        print(f"\n{args.page}")
    return 0


def find(folder: Path) -> list[Assignment]:
    """The assignments in a folder and below it, sorted by title; of two copies, the one saved last."""
    if not folder.is_dir():
        raise CourseError(f"there is no folder {folder}")
    found: dict[str, Assignment] = {}
    for path in _notebooks(folder):
        try:
            one = assignment(read_notebook(path), path)
        except CourseError:  # a file that is not a notebook
            continue
        if one is not None and (one.title not in found or found[one.title].saved < one.saved):
            found[one.title] = one
    if not found:
        raise CourseError(f"no notebook of this course in {folder} or below it: name the folder that holds yours")
    return [found[title] for title in sorted(found)]


def _notebooks(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and path.name not in _ELSEWHERE:
            yield from _notebooks(path)
        elif path.suffix == ".ipynb":
            yield path


def assignment(notebook: Any, path: Path) -> Assignment | None:
    """The progress that a saved notebook shows; None if it does not belong to the course."""
    checks = [cell for cell in notebook.cells if is_check(cell)]
    if not checks:
        return None
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = re.search(r"^# +(.+?) *$", text, re.MULTILINE)
    written = [cell for cell in notebook.cells if _is_written(cell)]
    return Assignment(
        heading[1] if heading else path.stem,
        path,
        Progress([standing for cell in checks for standing in _standings(cell)]),
        sum(cell.source.strip() not in ("", _STUB) for cell in written),
        len(written),
        datetime.fromtimestamp(path.stat().st_mtime),
    )


def _is_written(cell: Any) -> bool:
    meta = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "markdown" and bool(meta.get("grade")) and bool(meta.get("solution"))


def _standings(cell: Any) -> list[Standing]:
    """The pieces of a check cell, from its saved outputs; for a cell that was not run, only its points are known."""
    meta = cell.metadata["nbgrader"]
    names = [call.piece for call in calls(cell.source)] or [meta["grade_id"]]
    share = meta["points"] / len(names)
    records = {
        record["piece"]: record
        for output in cell.outputs
        for record in output.get("metadata", {}).get("kernelcourse", [])
    }
    if records:
        return [Standing(name, one["points"], one["earned"] >= one["points"]) for name, one in records.items()]
    failed = any(output.output_type == "error" for output in cell.outputs)
    passed = cell.execution_count is not None and not failed and not calls(cell.source)
    return [Standing(name, share, False if failed else passed or None) for name in names]


def render(assignments: list[Assignment]) -> str:
    """The overview as text."""
    rows = [COLUMNS, *(one.cells for one in assignments), _total(assignments)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines[:-1], "", lines[-1]])


def _total(assignments: list[Assignment]) -> tuple[str, ...]:
    whole = Progress([standing for one in assignments for standing in one.progress.standings])
    return (
        "all",
        f"{whole.right} of {len(whole.standings)}",
        f"{whole.earned:g} of {whole.points:g}",
        f"{sum(one.written for one in assignments)} of {sum(one.asked for one in assignments)}",
        "",
    )


def page(assignments: list[Assignment]) -> str:
    """The overview as a page; each assignment opens to its pieces."""
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    rows = "".join(map(_row, assignments))
    total = "".join(f"<td>{escape(text)}</td>" for text in _total(assignments))
    return _PAGE.replace(
        "{table}", f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody><tfoot><tr>{total}</tr></tfoot>"
    )


def _row(one: Assignment) -> str:
    title, *others = one.cells
    pieces = "".join(f"<li>{escape(line)}</li>" for line in repr(one.progress).splitlines()[:-1])
    opened = f"<details><summary>{escape(title)}</summary><ul>{pieces}</ul></details>"
    share = f"{100 * one.progress.earned / one.progress.points if one.progress.points else 0:.0f}%"
    bar = f'<span class="meter" aria-hidden="true"><span style="width:{share}"></span></span> '
    cells = [f"<td>{bar if i == 1 else ''}{escape(text)}</td>" for i, text in enumerate(others)]
    return f'<tr><th scope="row">{opened}</th>{"".join(cells)}</tr>'


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>My progress</title>
<style>
body { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif }
div { overflow-x: auto } table { border-collapse: collapse } ul { list-style: none; padding-left: 1rem }
th, td { padding: .3rem .8rem; border-bottom: 1px solid; text-align: left; vertical-align: top; font-weight: normal }
thead th, tfoot td { font-weight: bold } td { white-space: nowrap } summary { cursor: pointer }
.meter { display: inline-block; width: 5rem; height: .7rem; border: 1px solid }
.meter > span { display: block; height: 100%; background: currentColor }
</style>
</head>
<body>
<h1>My progress</h1>
<p>From the notebooks as they were saved; open an assignment to see its pieces.</p>
<div tabindex="0" role="region" aria-label="Progress by assignment"><table>{table}</table></div>
</body>
</html>
"""
