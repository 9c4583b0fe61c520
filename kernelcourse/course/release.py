"""Make the students' notebooks from the solutions: nbgrader takes the solutions and hidden tests out.

Without --term the numbers are those of the book; with it, data and test cases are drawn anew from a seed that belongs
to the term. In the course's own repository the fingerprints of mistakes, which hints stand on, are brought up to date.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from . import fingerprints
from .engine import load_config, nbgrader_api, succeed
from .folder import Course, add_course_argument
from .notebooks import pair, read_source, replace_file, set_seed, term_seed, write_notebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignments", nargs="*", metavar="ASSIGNMENT", help="which ones (default: all)")
    parser.add_argument("--term", help="draw new data and test cases for this term, for example 2027-spring")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    for assignment in args.assignments or course.assignments():
        for notebook in release(course, assignment, term=args.term):
            print(notebook.relative_to(course.root))
        if (course.root / "kernelcourse" / "checking").is_dir():
            for table in fingerprints.build(course, assignment):
                print(table.relative_to(course.root))
    return 0


def release(course: Course, assignment: str, *, term: str | None = None) -> list[Path]:
    """Write the released notebooks of an assignment and enter it into the gradebook; return the notebooks' paths."""
    with TemporaryDirectory() as folder:
        workshop = Course(Path(folder).resolve())
        _lay_out_sources(course, workshop, assignment, term)
        with nbgrader_api(workshop, config=load_config(course), gradebook=course.gradebook) as api:
            succeed(api.generate_assignment(assignment), f"release {assignment}")
        made = workshop.exercises / assignment
        target = course.exercises / assignment
        files = {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
        for name in sorted(files):
            _publish(made / name, target / name)
    for path in sorted(target.rglob("*")):
        if path.is_file() and path.relative_to(target) not in files:
            path.unlink()
    return [target / name for name in sorted(files) if name.suffix == ".ipynb"]


def _lay_out_sources(course: Course, workshop: Course, assignment: str, term: str | None) -> None:
    sources = course.sources(assignment)
    destination = workshop.solutions / assignment
    shutil.copytree(course.solutions / assignment, destination, ignore=shutil.ignore_patterns("*.md", "*.ipynb", ".*"))
    for source in sources:
        pair(source)
        notebook = read_source(source)
        if term is not None:
            set_seed(notebook, term_seed(term))
        write_notebook(notebook, destination / f"{source.stem}.ipynb")


def _publish(made: Path, target: Path) -> None:
    if made.suffix == ".ipynb":
        import nbformat

        write_notebook(nbformat.read(made, as_version=4), target)
    else:
        replace_file(target, made.read_bytes())
