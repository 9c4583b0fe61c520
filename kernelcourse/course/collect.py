"""Put the submissions in a platform's zip file into the folder `submitted`, and record when they arrived.

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
from .handed import MOST_FILES, is_notebook
from .roster import spelling
from .transplant import LARGEST, printable

_CANVAS = re.compile(r"[^_]+_(?:LATE_)?(?P<who>\d+)_\d+_(?P<file>.+)")
_MOODLE = re.compile(r"(?P<who>.+?)_\d+_assignsubmission_file_*(?P<file>.*)")
_METADATA = "submission_metadata.yml"


@dataclass(frozen=True)
class Entry:
    """A notebook in a zip file, the names that may identify its author, and the time, if the platform gives one."""

    who: list[str]
    name: str
    longer: str  # includes the student's own folders, for a second file of the same name
    info: zipfile.ZipInfo
    time: str = ""


@dataclass
class Arrived:
    """One student's notebooks in a zip file, and when they arrived."""

    files: dict[str, bytes] = field(default_factory=dict)
    time: str = ""

    def add(self, entry: Entry, archive: zipfile.ZipFile) -> str:
        """Accept a notebook; if it cannot be accepted, return what is wrong with it."""
        size = sum(map(len, self.files.values())) + entry.info.file_size
        if size > LARGEST or len(self.files) >= MOST_FILES:
            return "is too much for one submission"
        try:
            content = archive.read(entry.info)
        except Exception as error:  # noqa: BLE001 - encrypted, damaged, an unknown method: zipfile raises all kinds
            return f"cannot be unpacked ({error})"
        name = entry.longer if entry.name in self.files else entry.name
        self.files[name if len(name.encode()) < 256 else name[-60:]] = content  # the longest name a file system allows
        self.time = max(self.time, entry.time)
        return ""


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

    course.sources(assignment)
    people = _people(course)
    lines: list[str] = []
    arrived: dict[str, Arrived] = defaultdict(Arrived)
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in _entries(archive):
                names, name = printable(" or ".join(entry.who)), printable(entry.name)
                students = {student for one in entry.who if (student := people.find(one))}
                if not students:
                    lines.append(f"{names}: no student on the roster has this name, or several do; {name} is left out")
                for student in sorted(students):
                    if trouble := arrived[student].add(entry, archive):
                        lines.append(f"{student}: {name} {trouble}; it is left out")
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise CourseError(f"{path} cannot be read as a zip file: {error}") from error
    if not arrived and not lines:
        raise CourseError(f"no notebook in {path} is named as Gradescope, Canvas or Moodle name them")
    submitted = course.root / "submitted"
    for student, one in arrived.items():
        if not one.files:
            continue
        _replace(submitted / student / assignment, one.files)
    found = {student: one for student, one in arrived.items() if one.files}
    note_received(submitted, assignment, {student: one.time for student, one in found.items() if one.time})
    return sorted(found), lines


def _entries(archive: zipfile.ZipFile) -> Iterator[Entry]:
    """The notebooks in a platform's file; a group's notebook appears once for each member.

    Inner folders are the student's own and can have any name; only the outermost folder says who handed them in.
    """
    infos = [info for info in archive.infolist() if not info.is_dir() and info.file_size <= LARGEST]
    paths = {info.filename: PurePosixPath(info.filename).parts for info in infos}
    lists = [info for info in infos if paths[info.filename][-1:] == (_METADATA,) and not _students_own(info)]
    outermost = min(lists, key=lambda info: len(paths[info.filename]), default=None)
    known = _gradescope(archive.read(outermost)) if outermost else {}
    beside = paths[outermost.filename][:-1] if outermost else ()
    for info in infos:
        parts = paths[info.filename]
        if not is_notebook(info.filename):
            continue
        for position, part in enumerate(parts):
            inner = parts[position + 1 :]
            if part in known and parts[:position] == beside:
                for who in known[part][0]:
                    yield Entry(who, parts[-1], "-".join(inner), info, known[part][1])
                break
            match = None if known else _MOODLE.fullmatch(part) or (None if inner else _CANVAS.fullmatch(part))
            if match:
                name = inner[-1] if inner else match["file"]
                yield Entry([match["who"]], name, "-".join(inner) or name, info)
                break


def _students_own(info: zipfile.ZipInfo) -> bool:
    """Whether the file lies in a student's folder from Moodle, where a list of submissions cannot be trusted."""
    return any(map(_MOODLE.fullmatch, PurePosixPath(info.filename).parts))


def _gradescope(content: bytes) -> dict[str, tuple[list[list[str]], str]]:
    """The submitters (each under several names) and the time for each folder, from Gradescope's own list."""
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
    """A value from Gradescope's list, whose keys begin with a colon."""
    return entry.get(f":{key}", entry.get(key)) if isinstance(entry, dict) else None


def _time(value: Any) -> str:
    from .received import in_utc

    try:
        return in_utc(str(value))
    except ValueError:
        return ""


class _People:
    """The roster, indexed by every name that a platform may use."""

    def __init__(self, students: Iterable[Any]) -> None:
        self.by_name: dict[str, str] = {}
        for who in students:
            names = [who.id, who.lms_user_id, who.email, f"{who.first_name or ''} {who.last_name or ''}".strip()]
            for name in filter(None, names):
                taken = self.by_name.setdefault(spelling(name), who.id)
                if taken != who.id:
                    self.by_name[spelling(name)] = ""  # two people share the name

    def find(self, name: str) -> str:
        return self.by_name.get(spelling(name), "")


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
