"""The course folder: where its solutions, exercises and gradebook are."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from ..checking.checks import FILE
from .errors import CourseError

CONFIG = "nbgrader_config.py"
VARIANTS = "variants"  # the folder with each student's own notebooks


@dataclass(frozen=True)
class Course:
    """A folder that contains nbgrader_config.py and the folders `solutions` and `exercises`."""

    root: Path

    @classmethod
    def around(cls, start: Path) -> Course:
        """The course that contains a path."""
        start = start.resolve()
        for folder in (start, *start.parents):
            if (folder / CONFIG).is_file():
                return cls(folder)
        raise CourseError(f"no {CONFIG} in {start} or above it: run this in the course folder, or use --course FOLDER")

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def exercises(self) -> Path:
        return self.root / "exercises"

    @property
    def gradebook(self) -> str:
        """The address of nbgrader's gradebook."""
        return f"sqlite:///{(self.root / 'gradebook.db').as_posix()}"

    def checks(self, assignment: str) -> Path | None:
        """The file of checks beside the source, if there is one; plain assertions need none."""
        path = self.solutions / assignment / FILE
        return path if path.is_file() else None

    def assignments(self) -> list[str]:
        """The names of all assignments, in order."""
        return sorted({source.parent.name for source in self.solutions.glob("*/*.md")})

    def sources(self, assignment: str) -> list[Path]:
        """The text files in which the notebooks of an assignment are written."""
        found = sorted((self.solutions / assignment).glob("*.md"))
        if not found:
            known = ", ".join(self.assignments()) or "none yet"
            raise CourseError(f"no assignment is called {assignment!r}; there are: {known}")
        return found


def add_course_argument(parser: argparse.ArgumentParser) -> None:
    """The option that names the course folder."""
    parser.add_argument(
        "--course", type=Path, default=Path(), metavar="FOLDER", help="the course folder (default: the one you are in)"
    )


def valid_name(name: str) -> str:
    """Refuse assignment names that a file system, a module or nbgrader would choke on."""
    if not re.fullmatch(r"\d\d-[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise CourseError(f"{name!r} is not a name for an assignment: use digits and words, like 12-string-kernels")
    return name
