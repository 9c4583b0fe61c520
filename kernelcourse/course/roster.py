"""Enter students into the gradebook from a list that Canvas or Moodle exports, or from nbgrader's own.

Canvas: Grades, Export. Moodle: Grades, Export, Plain text file. Students who are known get the new names; nobody is
removed. The ids come back in the files that `kernelcourse report` writes: the platform knows its students by them.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from .errors import CourseError
from .folder import Course, add_course_argument

_IDS = {  # who a student is, in the columns of each list; the first that is not empty counts
    "canvas": ("SIS Login ID", "SIS User ID", "ID"),
    "moodle": ("ID number", "Username", "Email address"),
    "nbgrader": ("id",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the list, a CSV file")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    students = enrol(Course.around(args.course), args.file)
    print(f"{len(students)} students are enrolled from {args.file.name}")
    return 0


def enrol(course: Course, path: Path) -> list[str]:
    """Enter the students of a list; return their ids."""
    from nbgrader.api import Gradebook

    from .engine import load_config

    students = dict(read_roster(path))
    with Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id) as gradebook:
        for student, profile in students.items():
            gradebook.update_or_create_student(student, **profile)
    return list(students)


def read_roster(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Ids and profiles of the students in a list."""
    from .handed import is_student

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read as a table: {error}") from error
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = [(name or "").strip() for name in table.fieldnames or ()]
    table.fieldnames = columns
    kind = next((kind for kind, ids in _IDS.items() if set(ids) & set(columns) and _named(kind, columns)), "")
    if not kind:
        known = "Student and SIS Login ID (Canvas), First name and ID number (Moodle), id (nbgrader)"
        raise CourseError(f"{path} has the columns {', '.join(columns)[:200]}; expected {known}")
    for row in table:
        cells = {name: (value or "").strip() for name, value in row.items() if isinstance(value, str)}
        student = next((cells[name] for name in _IDS[kind] if cells.get(name)), "")
        if kind == "moodle" and student == cells.get("Email address"):
            student = student.partition("@")[0]
        if not student or (kind == "canvas" and cells["Student"].lower() in ("student, test", "points possible")):
            continue
        if not is_student(student):
            raise CourseError(f"{path}, line {table.line_num}: {student!r} cannot be a student's id")
        yield student, _profile(kind, cells)


def _named(kind: str, columns: list[str]) -> bool:
    return {"canvas": "Student", "moodle": "First name", "nbgrader": "id"}[kind] in columns


def _profile(kind: str, cells: Mapping[str, str]) -> dict[str, str]:
    if kind == "canvas":
        last, _, first = cells["Student"].partition(",")
        return {"first_name": first.strip(), "last_name": last.strip(), "lms_user_id": cells.get("ID", "")}
    if kind == "moodle":
        last = cells.get("Last name") or cells.get("Surname", "")
        return {"first_name": cells.get("First name", ""), "last_name": last, "email": cells.get("Email address", "")}
    known = ("first_name", "last_name", "email", "lms_user_id")
    return {name: cells[name] for name in known if cells.get(name)}
