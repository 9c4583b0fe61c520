"""Turn a folder into a course: configuration, a list of students, a place for assignments, a page on what to do next.

Existing files are left as they are.
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from .errors import CourseError
from .folder import CONFIG

_FILES = {CONFIG: "config.txt", "students.csv": "students.csv", "README.md": "readme.md", ".gitignore": "gitignore.txt"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="default: this one")


def run(args: argparse.Namespace) -> int:
    for name, written in init(args.folder).items():
        print(name if written else f"{name} (exists already: left as it is)")
    return 0


def init(folder: Path) -> dict[str, bool]:
    """Write the files of a course that do not exist yet; return for each whether it was written."""
    folder = folder.resolve()
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file: name a folder")
    made = {}
    for name, template in _FILES.items():
        path = folder / name
        made[name] = not path.exists() and not path.is_symlink()
        if made[name]:
            text = files(__package__).joinpath("template", template).read_text(encoding="utf-8")
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text.replace("{{course}}", _identifier(folder.name)))
    made["solutions/"] = not (folder / "solutions").exists()
    (folder / "solutions").mkdir(exist_ok=True)
    return made


def _identifier(name: str) -> str:
    """A folder's name in a form that nbgrader accepts for a course.

    >>> _identifier("My course (2027)")
    'My-course-2027'
    """
    words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name).split()
    return "-".join(words) or "course"
