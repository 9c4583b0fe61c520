"""Enter students into the gradebook from a list that Canvas or Moodle exports, or from nbgrader's own.

Canvas: Grades, Export. Moodle: Grades, Export, Plain text file. Students already known get the new names; none are
removed. The files that `kernelcourse report` writes contain the ids, by which the platform recognises its students.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from .errors import CourseError
from .folder import Course, add_course_argument
from .tables import read_table

_IDS = {  # the columns that identify a student in each list; the first that is not empty counts
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
    """Enter the students on a list; return their ids."""
    from nbgrader.api import Gradebook

    from .engine import load_config

    students: dict[str, dict[str, str]] = {}
    for student, profile in read_roster(path):
        if students.setdefault(student, profile) != profile:
            raise CourseError(
                f"{path}: {student!r} is the id of two people, {_name(students[student])} and {_name(profile)}"
            )
    with Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id) as gradebook:
        for student, profile in students.items():
            gradebook.update_or_create_student(student, **profile)
    return list(students)


def enrolled(course: Course) -> set[str]:
    """The ids of all students in the gradebook."""
    from nbgrader.api import Gradebook

    from .engine import load_config
    from .merge import patiently

    def read() -> set[str]:
        with Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id) as gradebook:
            return {who.id for who in gradebook.students}

    return patiently(read)


def spelling(name: str) -> str:
    """The common form of names that differ only in capitals, spaces or the encoding of an accent.

    >>> spelling(" Zoe\u0308  ROE") == spelling("Zo\u00eb Roe")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def read_roster(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Ids and profiles of the students on a list."""
    from .handed import is_student

    columns, rows = read_table(path)
    kind = next((kind for kind, ids in _IDS.items() if set(ids) & set(columns) and _named(kind, columns)), "")
    if not kind:
        known = "Student and SIS Login ID (Canvas), First name and ID number (Moodle), id (nbgrader)"
        raise CourseError(f"{path} has the columns {', '.join(columns)[:200]}; expected {known}")
    for line, cells in rows:
        student = next((cells[name] for name in _IDS[kind] if cells.get(name)), "")
        if kind == "moodle" and student == cells.get("Email address"):
            student = student.partition("@")[0]
        if not student or (kind == "canvas" and cells["Student"].lower() in ("student, test", "points possible")):
            continue
        if not is_student(student):
            raise CourseError(f"{path}, line {line}: {student!r} cannot be a student's id")
        yield student, _profile(kind, cells)


def _name(profile: Mapping[str, str]) -> str:
    return " ".join(filter(None, (profile.get("first_name"), profile.get("last_name")))) or "one without a name"


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
