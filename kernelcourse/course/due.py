"""Set or show the due date of an assignment, and extensions for individual students.

Due dates are nbgrader's own, in the gradebook. Extensions are in extensions.csv in the course folder, because nbgrader
can extend only what has been handed in. Extensions that were granted in nbgrader count for students without an entry
there. The next run of `kernelcourse grade` computes the penalties again; no submission is run again for it.
"""

from __future__ import annotations

import argparse
import csv
import io
from datetime import datetime
from typing import Any

from .errors import CourseError
from .folder import Course, add_course_argument
from .notebooks import replace_file
from .tables import rows_with

FILE = "extensions.csv"
_COLUMNS = ("student", "assignment", "until")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="for example 01-dual-representation")
    parser.add_argument("time", nargs="?", default="", metavar="TIME", help="such as '2027-03-01 23:59 Europe/Vienna'")
    parser.add_argument("--student", default="", metavar="S", help="only this student: an extension until TIME")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    course.sources(args.assignment)
    if args.student and not args.time:
        raise CourseError(f"say how long the extension of {args.student} lasts, for example '2027-03-01 23:59 UTC'")
    if args.student:
        extend(course, args.assignment, args.student, args.time)
    elif args.time:
        set_due(course, args.assignment, args.time)
    for line in shown(course, args.assignment):
        print(line)
    return 0


def moment(text: str) -> datetime:
    """A time in UTC, without a zone, as nbgrader stores it."""
    from .received import in_utc

    try:
        return datetime.fromisoformat(in_utc(text).removesuffix(" UTC"))
    except ValueError:
        raise CourseError(f"{text!r} is not a time; write one like '2027-03-01 23:59 Europe/Vienna'") from None


def set_due(course: Course, assignment: str, time: str) -> None:
    """Enter the due date into the gradebook."""
    when = moment(time)
    with _gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(assignment, duedate=when)


def extend(course: Course, assignment: str, student: str, until: str) -> None:
    """Record an extension; it replaces an earlier one for the same assignment."""
    known = read_extensions(course) | {(student, assignment): moment(until)}
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows([*key, f"{when} UTC"] for key, when in sorted(known.items()))
    replace_file(course.root / FILE, text.getvalue().encode())


def read_extensions(course: Course) -> dict[tuple[str, str], datetime]:
    """The time until which an assignment is extended, by student and assignment."""
    path = course.root / FILE
    found = {}
    for line, row in rows_with(path, _COLUMNS):
        try:
            found[row["student"], row["assignment"]] = moment(row["until"])
        except CourseError as error:
            raise CourseError(f"{path}, line {line}: {error}") from None
    return found


def shown(course: Course, assignment: str) -> list[str]:
    """The due date and the extensions, one per line."""
    with _gradebook(course) as gradebook:
        due = gradebook.find_assignment(assignment).duedate
        roster = {who.id for who in gradebook.students}
    lines = [f"{assignment}: due {due} UTC" if due else f"{assignment}: no due date"]
    for (student, name), until in sorted(read_extensions(course).items()):
        if name == assignment:
            unknown = "" if student in roster else " (this id is not on the roster)"
            lines.append(f"{student}: until {until} UTC{unknown}")
    return lines


def _gradebook(course: Course) -> Any:
    from nbgrader.api import Gradebook

    from .engine import load_config

    if not (course.root / "gradebook.db").is_file():
        raise CourseError("there is no gradebook yet: run `kernelcourse release` first")
    return Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id)
