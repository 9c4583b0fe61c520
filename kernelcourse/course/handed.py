"""What a student handed in, read from the folder `submitted` without following a link.

A folder or a file that is a link is not opened: it may lead to the solutions, to another student's work or to a secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .transplant import LARGEST, Ending, listed, printable

MOST_FILES = 50  # notebooks in a submission
_NOTEBOOK = re.compile(r"\.ipynb(\.json|\.txt)?$", re.IGNORECASE)  # browsers append a file extension that they know
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass
class Handed:
    """A submission's notebooks, when each was saved, when the collector received them, and what is odd about them."""

    files: dict[str, bytes] = field(default_factory=dict)
    saved: dict[str, float] = field(default_factory=dict)
    received: str = ""  # ISO, in UTC
    endings: list[dict[str, str]] = field(default_factory=list)

    def odd(self, kind: str, text: str) -> None:
        self.endings.append(Ending(kind, text).record)

    @property
    def digest(self) -> str:
        """A hash of the notebooks that does not depend on when they arrived."""
        total = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            total.update(os.fsencode(name) + f"\0{len(content)}\0".encode())
            total.update(content)
        for ending in self.endings:  # a link replaced by a file makes a different submission
            total.update(ending["kind"].encode())
        return total.hexdigest()


def students_with(submitted: Path, assignment: str) -> list[str]:
    """The students whose folder contains this assignment, or may contain it but cannot be read."""
    return [name for name in _folders_with(submitted, assignment) if is_student(name)]


def misnamed(submitted: Path, assignment: str) -> list[str]:
    """Folders that contain this assignment under a name that cannot be a student's."""
    return [name for name in _folders_with(submitted, assignment) if not is_student(name)]


def _folders_with(submitted: Path, assignment: str) -> list[str]:
    found = []
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(submitted):
            try:
                os.lstat(submitted / name / assignment)
            except PermissionError:
                pass
            except OSError:  # missing, or a file where the folder should be
                continue
            found.append(name)
    return sorted(found)


def is_student(name: str) -> bool:
    """Whether a folder's name can be a student's id in nbgrader's gradebook: text without control characters.

    >>> is_student("ada"), is_student("a\\nb"), is_student("\\udcff"), is_student("..")
    (True, False, False, False)
    """
    return name.isprintable() and 0 < len(name) <= 128 and name[0] != "." and not set(name) & {"/", "\\"}


def is_notebook(name: str) -> bool:
    """Whether a file has a notebook's extension, which some browsers capitalise or lengthen.

    >>> [is_notebook(name) for name in ("a.ipynb", "a.IPYNB", "a.ipynb.txt", "a.ipynb.zip")]
    [True, True, True, False]
    """
    return bool(_NOTEBOOK.search(name))


def read_handed(submitted: Path, student: str, assignment: str) -> Handed:
    """Read a submission. Files other than notebooks are ignored.

    Small files come first: if there are too many or they are too large together, what is left out is not real work.
    """
    handed = Handed()
    try:
        with _opened(submitted, student, assignment) as folder:
            _read_notebooks(folder, handed)
    except _Odd as odd:
        handed.odd(*odd.args)
    except OSError as error:
        handed.odd("unreadable folder", f"The folder cannot be read: {error.strerror}.")
    return handed


class _Odd(Exception):
    """The kind and the text of an ending."""


@contextlib.contextmanager
def _opened(submitted: Path, *parts: str) -> Iterator[int]:
    """A descriptor for a folder in `submitted`; no part of its path may be a link."""
    folder = os.open(submitted, os.O_RDONLY)
    try:
        for position, part in enumerate(parts):
            mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
            path = "/".join(parts[: position + 1])
            if stat.S_ISLNK(mode):
                raise _Odd("link", f"The folder submitted/{path} is a link; it was not followed.")
            if not stat.S_ISDIR(mode):
                raise _Odd("missing folder", f"submitted/{path} is not a folder.")
            inner = os.open(part, _READ, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _read_notebooks(folder: int, handed: Handed) -> None:
    found = {name: os.stat(name, dir_fd=folder, follow_symlinks=False) for name in os.listdir(folder)}
    ours = Counter((entry.st_dev, entry.st_ino) for entry in found.values())
    notebooks = {name: entry for name, entry in found.items() if is_notebook(name)}
    for name, entry in sorted(notebooks.items(), key=lambda item: (item[1].st_size, item[0]))[:MOST_FILES]:
        room = LARGEST + 1 - sum(map(len, handed.files.values()))
        if room <= 0:
            break
        if stat.S_ISLNK(entry.st_mode):
            handed.odd("link", f"{printable(name)} is a link; it was not followed.")
        elif not stat.S_ISREG(entry.st_mode):
            handed.odd("unreadable file", f"{printable(name)} is not a regular file.")
        elif entry.st_nlink > ours[entry.st_dev, entry.st_ino] and not owns(os.fstat(folder), entry):
            handed.odd("link", f"{printable(name)} is a hard link to a file elsewhere; put a copy in its place.")
        else:
            _read(folder, name, entry, room, handed)
    if not notebooks and (others := sorted(found.keys() - {"timestamp.txt"})):
        handed.odd("no notebook", f"The folder holds no notebook, only {listed(others)}.")


def owns(folder: os.stat_result, file: os.stat_result) -> bool:
    """Whether a file is certainly the work of the student in whose folder it is: it may be a link to another file.

    Where submissions belong to the person who grades, the file that a link leads to may belong to that person too.
    """
    return folder.st_uid == file.st_uid != os.geteuid()


def _read(folder: int, name: str, entry: os.stat_result, room: int, handed: Handed) -> None:
    try:
        with open(os.open(name, _READ, dir_fd=folder), "rb") as file:
            opened = os.fstat(file.fileno())
            if (opened.st_dev, opened.st_ino) == (entry.st_dev, entry.st_ino):
                handed.files[name] = file.read(room)
                handed.saved[name] = entry.st_mtime
    except OSError as error:
        handed.odd("unreadable file", f"{printable(name)} cannot be read: {error.strerror}.")
