"""Put the submissions of a platform's zip file into the folder `submitted`, and note when they came.

Gradescope: Download submissions (its file of times and submitters is read; a group's submission goes to each member).
Canvas: Download submissions. Moodle: Download all submissions. Students are found by the ids and names of the roster
(`kernelcourse roster`). Only notebooks are taken. They replace earlier ones, whose results are kept in the history
when the new ones are graded. For other file names use `nbgrader zip_collect`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from .errors import CourseError
from .folder import Course, add_course_argument

_CANVAS = re.compile(r"(?P<name>[^_/]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>[^/]+\.ipynb)$")
_MOODLE = re.compile(r"(?P<name>[^/]+?)_\d+_assignsubmission_file[_/]*(?P<file>[^/]+\.ipynb)$")
_METADATA = "submission_metadata.yml"


@dataclass
class Arrived:
    """The notebooks of one student in a zip file, and when they came."""

    files: dict[str, bytes] = field(default_factory=dict)
    time: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="for example 01-dual-representation")
    parser.add_argument("file", type=Path, metavar="FILE", help="the zip file that the platform made")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    found, lines = collect(Course.around(args.course), args.assignment, args.file)
    for line in lines:
        print(line)
    print(f"{args.assignment}: {len(found)} submissions are in submitted/")
    return 0


def collect(course: Course, assignment: str, path: Path) -> tuple[list[str], list[str]]:
    """Unpack a platform's file; return the students, and a line for whatever could not be placed."""
    from .received import note_received
    from .transplant import printable

    course.sources(assignment)
    people = _people(course)
    lines: list[str] = []
    arrived: dict[str, Arrived] = defaultdict(Arrived)
    try:
        with zipfile.ZipFile(path) as archive:
            for who, name, content, time in _entries(archive):
                students = [student for one in who if (student := people.find(one))]
                if not students:
                    names = printable(" or ".join(who))
                    lines.append(f"{names}: no one on the roster has this name; {printable(name)} is left out")
                for student in students:
                    arrived[student].files[name] = content
                    arrived[student].time = max(arrived[student].time, time)
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise CourseError(f"{path} cannot be read as a zip file: {error}") from error
    if not arrived and not lines:
        raise CourseError(f"no notebook in {path} has a name as Gradescope, Canvas or Moodle write it")
    submitted = course.root / "submitted"
    for student, one in arrived.items():
        _replace(submitted / student / assignment, one.files)
    note_received(submitted, assignment, {student: one.time for student, one in arrived.items() if one.time})
    return sorted(arrived), lines


def _entries(archive: zipfile.ZipFile) -> Iterator[tuple[list[str], str, bytes, str]]:
    """Who may have handed in, the notebook's name and content, and the time, if the platform tells it."""
    from .transplant import LARGEST

    infos = [info for info in archive.infolist() if not info.is_dir() and info.file_size <= LARGEST]
    metadata = next((info for info in infos if PurePosixPath(info.filename).name == _METADATA), None)
    known = _gradescope(archive.read(metadata)) if metadata else {}
    for info in infos:
        parts = PurePosixPath(info.filename).parts
        if not info.filename.endswith(".ipynb"):
            continue
        if folder := next((part for part in parts if part in known), ""):
            for who in known[folder][0]:
                yield who, parts[-1], archive.read(info), known[folder][1]
        elif match := _CANVAS.search(info.filename) or _MOODLE.search(info.filename):
            who = [match["id"]] if "id" in match.groupdict() else [match["name"]]
            yield who, match["file"], archive.read(info), ""


def _gradescope(content: bytes) -> dict[str, tuple[list[list[str]], str]]:
    """Submitters (each by several names) and time of each folder, from Gradescope's own list."""
    import yaml

    try:
        table = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CourseError(f"{_METADATA} cannot be read: {type(error).__name__}") from error
    found = {}
    for folder, entry in table.items() if isinstance(table, dict) else ():
        submitters = _get(entry, "submitters")
        people = [
            [str(_get(person, key)) for key in ("sid", "email", "name") if _get(person, key)]
            for person in (submitters if isinstance(submitters, list) else [])
        ]
        created = _get(entry, "created_at")
        found[str(folder)] = people, _time(created) if created else ""
    return found


def _get(entry: Any, key: str) -> Any:
    """A value of Gradescope's list, whose keys begin with a colon."""
    return entry.get(f":{key}", entry.get(key)) if isinstance(entry, dict) else None


def _time(value: Any) -> str:
    from .received import in_utc

    try:
        return in_utc(str(value))
    except ValueError:
        return ""


class _People:
    """The roster, by every name that a platform may use."""

    def __init__(self, students: Iterable[Any]) -> None:
        self.by_name: dict[str, str] = {}
        for who in students:
            names = [who.id, who.lms_user_id, who.email, f"{who.first_name or ''} {who.last_name or ''}".strip()]
            for name in filter(None, names):
                taken = self.by_name.setdefault(_plain(name), who.id)
                if taken != who.id:
                    self.by_name[_plain(name)] = ""  # two people have it

    def find(self, name: str) -> str:
        return self.by_name.get(_plain(name), "")


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _people(course: Course) -> _People:
    from nbgrader.api import Gradebook

    from .engine import load_config

    with Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id) as gradebook:
        return _People(gradebook.students)


def _replace(folder: Path, files: dict[str, bytes]) -> None:
    for path in (folder.parent, folder):
        if path.is_symlink():
            raise CourseError(f"{path} is a link: remove it, and collect again")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
