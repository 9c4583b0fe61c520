"""Show the solution of an assignment, once your instructor allows it: answers, model texts and rubrics.

The file solutions/reveal.toml says when: "never", after "full marks" in the checks, or from a given date.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from datetime import date, datetime
from pathlib import Path
from typing import Any

from ..checking.limits import seconds_per_piece
from .check import Row, calls, check, is_check
from .errors import CourseError
from .folder import Course, add_course_argument
from .notebooks import give_stable_ids, read_notebook, read_source, seed_of, write_notebook
from .variants import fill_source

POLICY = "reveal.toml"
NEVER, FULL_MARKS = "never", "full marks"
_MARKS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION *\n?", re.MULTILINE)
_HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS[^\n]*\n?", re.MULTILINE | re.DOTALL)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="its name or just its number")
    parser.add_argument("--notebook", type=Path, metavar="FILE", help="your notebook (default: the one in exercises/)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the solved notebook to a file")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    assignment = named(course, args.assignment)
    sources = course.sources(assignment)
    if args.out is not None and len(sources) > 1:
        raise CourseError(f"{assignment} has {len(sources)} notebooks: --out is for one")
    mine = {source: args.notebook or course.exercises / assignment / f"{source.stem}.ipynb" for source in sources}
    if refusal := why_not(policy(course, assignment), mine, today=date.today()):
        print(f"The solution of {assignment} is not shown: {refusal}")
        return 1
    for source in sources:
        solved = solution(source, mine[source])
        if args.out is None:
            print(as_text(solved))
        else:
            write_notebook(solved, args.out)
            print(args.out)
    return 0


def named(course: Course, name: str) -> str:
    """The assignment with this name, or the only one whose name begins with it."""
    fitting = [one for one in course.assignments() if one == name or one.startswith(f"{name}-")]
    return fitting[0] if len(fitting) == 1 else name  # the caller then refuses this name


def policy(course: Course, assignment: str) -> str | date:
    """When the solution of an assignment may be shown: a date, "full marks" or "never", which is the default."""
    path = course.solutions / POLICY
    if not path.is_file():
        return NEVER
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{POLICY} cannot be read: {error}") from error
    if unknown := set(table) - {"default", *course.assignments()}:
        raise CourseError(f'{POLICY} names {min(unknown)!r}, but expected "default" or the name of an assignment')
    rule = table.get(assignment, table.get("default", NEVER))
    if isinstance(rule, datetime):
        rule = rule.date()
    if rule not in (NEVER, FULL_MARKS) and not isinstance(rule, date):
        raise CourseError(f'{POLICY} has {rule!r}, but expected "{NEVER}", "{FULL_MARKS}" or a date such as 2027-06-30')
    return rule


def why_not(rule: str | date, mine: dict[Path, Path], *, today: date) -> str:
    """Why a solution must not be shown yet; nothing if it may be. `mine` maps each source to the student's notebook."""
    if isinstance(rule, date):
        return "" if today >= rule else f"it can be seen from {rule.isoformat()} on."
    if rule == NEVER:
        return "your instructor has not released it."
    rows: list[Row] = []
    for source, path in mine.items():
        found = [row for row in check(path, seconds=seconds_per_piece()) if row.earned is not None]
        asked = {call.piece for cell in solution(source).cells if is_check(cell) for call in calls(cell.source)}
        if not asked <= {row.piece for row in found}:
            return f"{path.name} is not the notebook of this assignment."
        rows += found
    if all(row.passed for row in rows):
        return ""
    earned, points = sum(row.earned or 0 for row in rows), sum(row.points for row in rows)
    return f"it can be seen once all checks are right. So far: {earned:g} of {points:g} points."


def solution(source: Path, mine: Path | None = None) -> Any:
    """The solved notebook, without marks and hidden tests; with the student's own numbers, if there are any."""
    notebook = read_source(source)
    fill_source(notebook, source, seed_of(read_notebook(mine)) if mine is not None and mine.is_file() else None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = _HIDDEN.sub("", _MARKS.sub("", cell.source)).rstrip()
    give_stable_ids(notebook)
    return notebook


def as_text(notebook: Any) -> str:
    """The headings, and the answer to each part."""
    lines = []
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            lines.append(cell.source)
        elif cell.cell_type == "markdown":
            lines += re.findall(r"^#+ .*$", cell.source, re.MULTILINE)
    return "\n\n".join(lines)


def rubric(source: Path, grade_id: str, seed: int | None = None) -> str:
    """The rubric of a written answer, with the numbers that belong to a seed; empty if it has no rubric."""
    notebook = read_source(source)
    fill_source(notebook, source, seed)
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade_id") == grade_id and cell.cell_type == "markdown":
            found = re.search(r"^\*\*Rubric\b.*", cell.source, re.MULTILINE | re.DOTALL)
            return found[0] if found else ""
    return ""
