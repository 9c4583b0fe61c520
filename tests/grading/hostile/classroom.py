"""A class of attackers and honest students, graded in one run, on a monitored machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.folder import Course
from kernelcourse.course.grade import grade
from kernelcourse.course.schedule import processors

from .submission import ASSIGNMENT, Place, Submission, copied_course


def limit(course: Course, *, seconds: float = 20, patience: float = 10) -> None:
    """Set a cell's limit on processor time, and its wall-clock limit as a multiple of that.

    No honest cell comes near the usual limits, however busy the machine is.
    """
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"c.GradeSafely.timeout = {seconds}\nc.GradeSafely.patience = {patience}\n")


@dataclass
class Classroom:
    """A course before and after grading."""

    course: Course
    released: dict
    place: Place
    callers: list = field(default_factory=list)

    def submit(self, submissions: Mapping[str, Submission]) -> None:
        for student, submission in submissions.items():
            submission.write(self.course.root / "submitted" / student / ASSIGNMENT)

    def grade(self, endless: Collection[str] = (), *, regrade: bool = False) -> dict[str, dict]:
        """The results, by student. Those whose code never ends come last, with limits that they reach quickly."""
        everybody = {path.name for path in (self.course.root / "submitted").iterdir()}
        results = self._grade(everybody - set(endless), regrade)
        if endless:
            config = self.course.root / "nbgrader_config.py"
            before = config.read_bytes()
            limit(self.course, seconds=1, patience=15)
            results |= self._grade(endless, regrade)
            config.write_bytes(before)
        return results

    def _grade(self, students: Collection[str], regrade: bool) -> dict[str, dict]:
        results = grade(self.course, ASSIGNMENT, sorted(students), jobs=min(2, processors()), regrade=regrade)
        return {result["student"]: result for result in results}

    def scores(self) -> dict[str, dict[str, float]]:
        """The points of every cell in the gradebook, by student."""
        with nbgrader_api(self.course) as api, api.gradebook as gradebook:
            return {
                submission.student.id: {
                    grade.name: grade.score for notebook in submission.notebooks for grade in notebook.grades
                }
                for submission in gradebook.assignment_submissions(ASSIGNMENT)
            }


@contextmanager
def classroom(folder: Path, home: Course) -> Iterator[Classroom]:
    """A small course, a file that nobody should touch, and a port to which nobody should connect."""
    folder.mkdir(exist_ok=True)
    course, released = copied_course(folder / "course", home, folder.with_name("small-course"))
    limit(course)
    canary = folder / "canary"
    canary.write_text("untouched", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        room = Classroom(course, released, Place(course.root, canary, server.getsockname()[1]))
        threading.Thread(target=_answer, args=(server, room.callers), daemon=True).start()
        yield room


def _answer(server: socket.socket, callers: list) -> None:
    with contextlib.suppress(OSError):  # the server is closed
        while True:
            connection, address = server.accept()
            callers.append(address)
            connection.close()


def digests(*places: Path) -> dict[str, str]:
    """The digest of every file."""
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 100_000_000
    }


def shared(factory: Any) -> Path:
    """A temporary folder that all processes of a test run share."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def once(factory: Any, name: str, make: Callable[[Path], dict]) -> dict:
    """What `make` returns, given a folder: made by the first test process that needs it, and shared by all."""
    record = shared(factory) / f"{name}.json"
    with FileLock(f"{record}.lock"):
        if not record.exists():
            record.write_text(json.dumps(make(record.with_suffix(""))), encoding="utf-8")
    return json.loads(record.read_text(encoding="utf-8"))
