"""Make the students' notebooks from the solutions: nbgrader takes the solutions and hidden tests out.

Before that, the assignment is tried out: the solution must get full marks, the stub nothing, and every usual mistake
must be recognised. Without --term, the numbers are those in the book; with it, data and test cases are drawn anew from
a seed that belongs to the term. With --per-student, every student on a list also gets their own notebook, in
variants/, with different data and cases, and different numbers where the checks list PARAMETERS. In the course's own
repository, the fingerprints of mistakes, on which hints are based, are brought up to date.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import __version__
from ..checking.checks import FILE, catalogue, checks_in, has_pieces
from ..checking.recorded import ENDING
from . import fingerprints
from .engine import load_config, nbgrader_api, succeed
from .errors import CourseError
from .folder import Course, add_course_argument
from .notebooks import pair, read_source, replace_file, seed_of, set_seed, term_seed, write_notebook
from .recording import record
from .rehearsal import rehearse
from .roster import read_roster
from .secret import assignment_secret, commitment
from .variants import fill_source, record_file

COMMITMENT = ".commitment.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignments", nargs="*", metavar="ASSIGNMENT", help="one or more (default: all)")
    parser.add_argument("--term", help="draw new data and test cases for this term, for example 2027-spring")
    parser.add_argument(
        "--per-student", type=Path, metavar="FILE", help="also write a variant for each student in this CSV file"
    )
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    students = [student for student, _ in read_roster(args.per_student)] if args.per_student else []
    for assignment in args.assignments or course.assignments():
        for notebook in release(course, assignment, term=args.term, students=students):
            beside = [notebook.with_name(f"{notebook.stem}{ending}") for ending in (ENDING, COMMITMENT)]
            for path in [notebook, *filter(Path.is_file, beside)]:  # what to give to students
                print(path.relative_to(course.root))
        if (course.root / "kernelcourse" / "checking").is_dir():
            for table in fingerprints.build(course, assignment):
                print(table.relative_to(course.root))
    return 0


def release(course: Course, assignment: str, *, term: str | None = None, students: Collection[str] = ()) -> list[Path]:
    """Write the released notebooks of an assignment and enter it into the gradebook; return the notebooks' paths.

    These students, and those who already have a variant, get their own variants as well.
    """
    if assignment in ("amended", "drafts", "history", "library", "lock", "seed", "variants"):
        raise CourseError(f"{assignment!r} is not a name for an assignment: grading keeps files of its own under it")
    config = load_config(course)
    with TemporaryDirectory() as folder:
        workshop = Course(Path(folder).resolve())
        sources = lay_out_sources(course, workshop, assignment, term)
        secret = assignment_secret(course.root, assignment)
        rehearse(course.solutions / assignment, sources, secret, config)
        with nbgrader_api(workshop, config=config, gradebook=course.gradebook) as api:
            generate(api, assignment)
        made = workshop.exercises / assignment
        target = course.exercises / assignment
        for name_of_file, content in for_students(course, assignment, sources, secret, named=term is not None).items():
            replace_file(made / name_of_file, content)
        files = {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
        for name in sorted(files):
            _publish(made / name, target / name)
    for path in sorted(target.rglob("*")):
        if path.is_file() and path.relative_to(target) not in files:
            path.unlink()
    made_for_all = [target / name for name in sorted(files) if name.suffix == ".ipynb"]
    if students or record_file(course.root, assignment).is_file():
        from .per_student import release_to_each

        return [*made_for_all, *release_to_each(course, assignment, students, config)]
    return made_for_all


def generate(api: Any, assignment: str) -> None:
    result = api.generate_assignment(assignment)
    if not result["success"] and re.search("Cannot (add|modify|remove)", result.get("log") or ""):
        raise CourseError(
            f"{assignment} has been graded, and its cells have changed since: run `kernelcourse amend {assignment}`, "
            "which grades everything again and shows whose points change"
        )
    succeed(result, f"release {assignment}")


def for_students(
    course: Course, assignment: str, sources: dict[str, Any], secret: str, *, named: bool
) -> dict[str, bytes]:
    """What accompanies the notebooks: checks that are not in the package, and the name of the secret.

    The book's own notebooks, released without a term, are the same everywhere and name no secret.
    """
    found = {}
    for stem, notebook in sources.items():
        with checks_in(course.solutions / assignment):
            if course.checks(assignment) is not None:
                checks = record(catalogue(stem), stem, seed_of(notebook), secret)
                found[f"{stem}{ENDING}"] = checks
            elif named and has_pieces(stem):
                content = {"notebook": stem, "kernelcourse": __version__, "commitment": commitment(secret)}
                found[f"{stem}{COMMITMENT}"] = (json.dumps(content, indent=1) + "\n").encode()
    return found


def lay_out_sources(
    course: Course, workshop: Course, assignment: str, term: str | None, *, filled: bool = True
) -> dict[str, Any]:
    """Copy the source for nbgrader; return its notebooks, with their solutions.

    Places for a student's own values are filled according to the notebook's seed, or left as they are.
    """
    sources = course.sources(assignment)
    destination = workshop.solutions / assignment
    ignored = shutil.ignore_patterns("*.md", "*.ipynb", ".*", "__pycache__", FILE)
    shutil.copytree(course.solutions / assignment, destination, ignore=ignored)
    notebooks = {}
    for source in sources:
        pair(source)
        notebook = notebooks[source.stem] = read_source(source)
        if term is not None:
            set_seed(notebook, term_seed(term))
        if filled:
            fill_source(notebook, source)
        write_notebook(notebook, destination / f"{source.stem}.ipynb")
    return notebooks


def _publish(made: Path, target: Path) -> None:
    if made.suffix == ".ipynb":
        import nbformat

        write_notebook(nbformat.read(made, as_version=4), target)
    else:
        replace_file(target, made.read_bytes())
