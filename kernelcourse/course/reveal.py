"""Publish the hidden inputs of an assignment, so that students can replay their grades.

The release named the secret by its hash. Accept no more submissions of the assignment afterwards.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from .errors import CourseError
from .folder import VARIANTS, Course, add_course_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="for example 01-dual-representation")
    parser.add_argument("--anyway", action="store_true", help="reveal it even if it is not due yet for everybody")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    secret, files = reveal(course, args.assignment, anyway=args.anyway)
    for path in files:
        print(path.relative_to(course.root))
    with_files = " and the files above" if files else ""
    print(f"secret of {args.assignment}: {secret}")
    print(f"Give students the secret{with_files}. They run: kernelcourse replay NOTEBOOK.ipynb --secret {secret}")
    return 0


def reveal(course: Course, assignment: str, *, anyway: bool = False) -> tuple[str, list[Path]]:
    """The secret of an assignment, and the files with its hidden cases where they are not in the package."""
    import nbformat

    from ..checking.checks import catalogue, checks_in
    from ..checking.recorded import ENDING, HIDDEN_ENDING
    from .notebooks import replace_file, seed_of
    from .recording import record_hidden
    from .secret import assignment_secret
    from .variants import read_variants

    course.sources(assignment)
    released = {notebook: "" for notebook in sorted((course.exercises / assignment).glob("*.ipynb"))}
    if not released:
        raise CourseError(f"{assignment} is not released in {course.root}")
    for student in sorted(read_variants(course.root, assignment).seeds):
        own = course.root / VARIANTS / student / assignment
        released |= {own / notebook.name: student for notebook in list(released) if not released[notebook]}
    if not anyway and (due := _last_due(course, assignment)) and due > datetime.now(UTC):
        raise CourseError(f"{assignment} is due on {due:%Y-%m-%d %H:%M} UTC, with all extensions: reveal it then")
    secret = assignment_secret(course.root, assignment)
    files = []
    for notebook, student in released.items() if course.checks(assignment) is not None else ():
        stem = notebook.stem
        with checks_in(course.solutions / assignment):
            content = record_hidden(catalogue(stem), stem, seed_of(nbformat.read(notebook, as_version=4)), secret)
        promised = json.loads(notebook.with_name(f"{stem}{ENDING}").read_bytes())["hidden"]
        if hashlib.sha256(content).hexdigest() != promised:
            raise CourseError(
                f"the hidden inputs of {assignment} are not those that its release promised: were the checks, the "
                "secret or a package changed since? Release it again, or go back to the versions that the results name"
            )
        files.append(course.root / "revealed" / assignment / student / f"{stem}{HIDDEN_ENDING}")
        replace_file(files[-1], content)
    return secret, files


def _last_due(course: Course, assignment: str) -> datetime | None:
    """When the assignment is due for the last student, in UTC."""
    from nbgrader.api import MissingEntry

    from .due import read_extensions
    from .engine import nbgrader_api

    with nbgrader_api(course) as api, api.gradebook as gradebook:
        try:
            entry = gradebook.find_assignment(assignment)
        except MissingEntry:
            return None
        if entry.duedate is None:
            return None
        dates = [entry.duedate, *(each.duedate for each in entry.submissions if each.duedate)]
        dates += [until for (_, name), until in read_extensions(course).items() if name == assignment]
        return max(dates).replace(tzinfo=UTC)
