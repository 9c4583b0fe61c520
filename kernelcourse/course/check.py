"""Run the visible checks of a notebook in a fresh kernel, as the grader will, and print what came of each piece."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checking.piece import NOT_WRITTEN
from .errors import CourseError

BY_HAND = "read by your instructor"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    piece: str
    points: float
    earned: float | None  # None: graded by hand
    hint: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK", help="the notebook, an .ipynb file")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS", help="for one cell (default: 120)")


def run(args: argparse.Namespace) -> int:
    notebook = execute(args.notebook, timeout=args.timeout)
    rows = table(notebook)
    if not rows:
        raise CourseError(f"{args.notebook} has no checks: is it a notebook of this course?")
    print(render(rows, width=shutil.get_terminal_size().columns))
    return 0 if all(row.earned is None or row.earned >= row.points for row in rows) else 1


def execute(path: Path, *, timeout: int) -> Any:
    """The notebook after a run from top to bottom; a cell that fails does not stop the others."""
    if not path.is_file():
        raise CourseError(f"there is no notebook {path}")
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from tqdm import tqdm

    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, AttributeError, TypeError, KeyError) as error:  # nbformat's words for "not a notebook"
        raise CourseError(f"{path} is not a notebook") from error
    progress = tqdm(total=len(notebook.cells), unit="cell", leave=False, disable=None)  # None: for terminals only
    client = NotebookClient(
        notebook,
        timeout=timeout,
        startup_timeout=600,  # a kernel that cannot start dies at once; one on a busy machine may take minutes
        kernel_name="python3",
        allow_errors=True,
        extra_arguments=["--log-level=ERROR"],  # the kernel's own remarks do not concern a student
        resources={"metadata": {"path": str(path.resolve().parent)}},
        on_cell_start=lambda cell, cell_index: progress.update(cell_index - progress.n),
    )
    try:
        client.execute()
    except CellTimeoutError as error:
        raise CourseError(
            f"a cell took more than {timeout} seconds: an endless loop? (--timeout allows more)"
        ) from error
    except DeadKernelError as error:
        raise CourseError("the kernel died while running the notebook: out of memory?") from error
    finally:
        progress.close()
    return notebook


def table(notebook: Any) -> list[Row]:
    """What came of each piece, read from the outputs of an executed notebook."""
    rows = []
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if not meta.get("grade"):
            continue
        if meta.get("solution"):
            rows.append(Row(meta["grade_id"], meta["points"], None, BY_HAND))
        else:
            rows.extend(_checked(cell, meta))
    return rows


def _checked(cell: Any, meta: Any) -> list[Row]:
    records = [record for output in cell.outputs for record in output.get("metadata", {}).get("kernelcourse", [])]
    if records:
        return [Row(record["piece"], record["points"], record["earned"], _advice(record)) for record in records]
    errors = [output for output in cell.outputs if output.output_type == "error"]
    if errors:
        return [Row(meta["grade_id"], meta["points"], 0, f"{errors[0].ename}: {errors[0].evalue}")]
    return [Row(meta["grade_id"], meta["points"], meta["points"])]


def _advice(record: Any) -> str:
    if record["mistake"] == NOT_WRITTEN or not record["hint"]:
        return record["problem"]
    return record["hint"]


def render(rows: list[Row], *, width: int) -> str:
    """The table as text."""
    name_width = max(len(row.piece) for row in rows)
    lines = []
    for row in rows:
        mark = "✎" if row.earned is None else "✓" if row.earned >= row.points else "✗"
        earned = "–" if row.earned is None else f"{row.earned:g}"
        head = f"{mark} {row.piece:<{name_width}}  {earned:>3} of {row.points:<3g}"
        hint = textwrap.wrap(row.hint, max(width - len(head) - 2, 30)) or [""]
        lines.append(f"{head}  {hint[0]}".rstrip())
        lines.extend(" " * (len(head) + 2) + line for line in hint[1:])
    checked = [row for row in rows if row.earned is not None]
    by_hand = sum(row.points for row in rows if row.earned is None)
    total = f"{sum(row.earned or 0 for row in checked):g} of {sum(row.points for row in checked):g} points"
    lines.append(f"\n{total}" + (f", and {by_hand:g} more {BY_HAND}" if by_hand else ""))
    return "\n".join(lines)
