"""Write a report on a graded assignment: a page for the instructor, and points for Canvas and for Moodle.

The page shows the distribution of points, the success rate for each piece, the catalogued mistakes, unusual endings,
and near-identical answers side by side. It contains students' names and texts: keep it to yourself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import lms
from .errors import CourseError
from .folder import Course, add_course_argument
from .graded import graded
from .notebooks import replace_file
from .secret import secret_seed
from .summary import render, summarise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="for example 01-dual-representation")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the page (default: reports/ASSIGNMENT.html in the course folder)"
    )
    parser.add_argument(
        "--anonymous", action="store_true", help="write a page without names, to show to others (no tables of points)"
    )
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    for path in report(Course.around(args.course), args.assignment, out=args.out, anonymous=args.anonymous):
        print(path)
    return 0


def report(course: Course, assignment: str, *, out: Path | None = None, anonymous: bool = False) -> list[Path]:
    """Write the page and, beside it, the files for Canvas and Moodle, which need names; return their paths."""
    page = out or course.root / "reports" / f"{assignment}{'-anonymous' if anonymous else ''}.html"
    if page.is_dir():
        raise CourseError(f"{page} is a folder: name a file in it")
    everything = graded(course, assignment)
    if anonymous:
        from .anonymous import anonymous as without_names

        everything = without_names(everything, secret_seed(course.root))
    files = {page: render(summarise(everything))}
    if not anonymous:
        everybody = sorted([*everything.submissions, *everything.absent], key=lambda one: one.student)
        files[page.with_name(f"{page.stem}-canvas.csv")] = lms.canvas(assignment, everything.points, everybody)
        files[page.with_name(f"{page.stem}-moodle.csv")] = lms.moodle(assignment, everybody)
    for path, text in files.items():
        try:
            replace_file(path, text.encode("utf-8", errors="replace"))
        except OSError as error:
            raise CourseError(f"{path} cannot be written: {error.strerror}") from error
    return list(files)
