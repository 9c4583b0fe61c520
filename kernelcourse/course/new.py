"""Start a new assignment: a notebook with solutions, and the checks beside it, both ready to be rewritten."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from ..checking.checks import FILE
from .errors import CourseError
from .folder import Course, add_course_argument, valid_name
from .notebooks import replace_file
from .release import release


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="two digits and words, for example 12-string-kernels")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    for path in new(course, args.name):
        print(path.relative_to(course.root))
    return 0


def new(course: Course, name: str) -> list[Path]:
    """Write the source and the checks of a new assignment and release it; return what was written."""
    number, _, stem = valid_name(name).partition("-")
    source = course.solutions / name / f"{stem}.md"
    checks = course.solutions / name / FILE
    for path in (source, checks):
        if path.exists():
            raise CourseError(f"{path} already exists")
    title = stem.replace("-", " ").capitalize()
    words = {"number": number, "title": title, "title_lower": title.lower(), "stem": stem}
    for path, template in ((source, "notebook.md"), (checks, "checks.txt")):
        text = files(__package__).joinpath("template", template).read_text(encoding="utf-8")
        for word, meaning in words.items():
            text = text.replace("{{" + word + "}}", meaning)
        replace_file(path, text.encode())
    return [source, checks, *release(course, name)]
