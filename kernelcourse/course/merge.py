"""A single writer stores each result: first its folder, then the gradebook in one transaction, then the notebooks.

nbgrader's `update_or_create_submission` commits at every step, so a killed run would leave half a submission.
Late penalties are computed from the gradebook's own due date and extensions, at every run and for everybody.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from .due import read_extensions
from .engine import load_config
from .errors import CourseError
from .folder import Course
from .secret import grading_folder
from .submission import Graded

WAIT = 60.0  # seconds for another program to release the gradebook
T = TypeVar("T")


class GradebookLocked(CourseError):
    """Another program has locked the gradebook."""


def result_folder(course: Course, assignment: str, student: str) -> Path:
    return grading_folder(course.root) / assignment / student


def read_result(course: Course, assignment: str, student: str) -> dict[str, Any] | None:
    """The result of a submission, or nothing if no result can be read."""
    try:
        result = json.loads((result_folder(course, assignment, student) / "result.json").read_bytes())
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def is_merged(course: Course, assignment: str, student: str) -> bool:
    """Whether the result has been entered into the gradebook."""
    return (result_folder(course, assignment, student) / "merged").exists()


def history_folder(course: Course, assignment: str, student: str) -> Path:
    """Where the results of earlier submissions are, in the order in which they were graded."""
    return grading_folder(course.root) / "history" / assignment / student


def store(course: Course, graded: Graded) -> None:
    """Write a result into its folder, in one step; an earlier submission's result moves to the history."""
    result = graded.result
    before = read_result(course, result["assignment"], result["student"])
    if before is not None and before.get("digest") != result["digest"]:
        _remember(course, result["assignment"], result["student"])
    drafts = grading_folder(course.root) / "drafts"
    drafts.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=drafts))
    for name, content in graded.files.items():
        _write_through(draft / "autograded" / name, content)
    _write_through(draft / "result.json", json.dumps(result, indent=1).encode())
    _put(draft, result_folder(course, result["assignment"], result["student"]), drafts)


def _remember(course: Course, assignment: str, student: str) -> None:
    """Copy the current result and its notebooks to the history."""
    drafts = grading_folder(course.root) / "drafts"
    drafts.mkdir(parents=True, exist_ok=True)
    present = result_folder(course, assignment, student)
    draft = Path(tempfile.mkdtemp(dir=drafts))
    shutil.copy(present / "result.json", draft)
    merged = course.root / "autograded" / student / assignment
    notebooks = present / "autograded" if (present / "autograded").exists() else merged
    if notebooks.is_dir():
        shutil.copytree(notebooks, draft / "autograded", copy_function=shutil.copyfile)
    history = history_folder(course, assignment, student)
    history.mkdir(parents=True, exist_ok=True)
    _put(draft, history / f"{len(list(history.iterdir())) + 1:03}", drafts)


def _write_through(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put(draft: Path, place: Path, drafts: Path) -> None:
    """Move a folder into place, replacing what was there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        old = Path(tempfile.mkdtemp(dir=drafts))
        place.replace(old)
        _remove(old)
    draft.replace(place)
    for folder in (place, place.parent):
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _remove(folder: Path) -> None:
    for path in folder.rglob("*"):  # nbgrader makes its files read-only
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


def locked_sources(course: Course, assignment: str) -> dict[str, dict[str, str]]:
    """The locked cells of each notebook as they were written, including hidden tests; the gradebook stores them."""
    from nbgrader.api import Gradebook

    def read() -> dict[str, dict[str, str]]:
        with Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id) as gradebook:
            return {
                notebook.name: {cell.name: cell.source for cell in notebook.source_cells if cell.locked}
                for notebook in gradebook.find_assignment(assignment).notebooks
            }

    return patiently(read)


class Writer:
    """Enters results of an assignment into the gradebook. Entering the same result twice changes nothing."""

    def __init__(self, course: Course, assignment: str) -> None:
        from nbgrader.api import Gradebook

        from .policy import Submissions, late_plugin

        self.course, self.assignment = course, assignment
        config = load_config(course)
        self.plugin, self.settings = late_plugin(config), Submissions(config=config)
        self.gradebook = patiently(lambda: Gradebook(course.gradebook, config.CourseDirectory.course_id))
        self.names: dict[str, str] = {}
        for notebook in patiently(lambda: self.gradebook.find_assignment(assignment)).notebooks:
            for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells):
                self.names |= {cell.id: cell.name for cell in cells}

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.gradebook.close()

    def merge(self, student: str) -> dict[str, Any]:
        """Enter a stored result into the gradebook and copy its notebooks to `autograded/`."""
        result = read_result(self.course, self.assignment, student)
        if result is None:
            raise CourseError(f"the result of {student} cannot be read: grade {self.assignment} again")
        if self.settings.counts == "best":
            result = self._best(student, result)
        folder = result_folder(self.course, self.assignment, student)
        self._patiently(lambda: self._enter(result))
        notebooks = folder / "autograded"
        if notebooks.exists():
            for path in notebooks.rglob("*"):
                path.chmod(0o755 if path.is_dir() else 0o444)
            target = self.course.root / "autograded" / student / self.assignment
            _put(notebooks, target, grading_folder(self.course.root) / "drafts")
        _write_through(folder / "merged", result["digest"].encode())
        return result

    def _best(self, student: str, result: dict[str, Any]) -> dict[str, Any]:
        """The best of this result and those of earlier submissions to the same release; it replaces the result."""
        earlier: list[tuple[Path | None, dict[str, Any]]] = []
        for place in sorted(history_folder(self.course, self.assignment, student).glob("*")):
            try:
                earlier.append((place, json.loads((place / "result.json").read_bytes())))
            except (OSError, ValueError):
                continue
        same = [(folder, one) for folder, one in earlier if one.get("release") == result.get("release")]
        folder, best = max(same, key=lambda pair: self._net(student, pair[1]), default=(None, result))
        if folder is None or self._net(student, best) <= self._net(student, result):
            return result
        _remember(self.course, self.assignment, student)
        text = f"An earlier submission counts ({folder.name} in the history): it has more points than the last."
        ending = {"notebook": "", "kind": "earlier submission", "text": text}
        chosen = best | {key: result[key] for key in ("digest", "run")} | {"endings": [*best["endings"], ending]}
        place = result_folder(self.course, self.assignment, student)
        shutil.rmtree(place / "autograded", ignore_errors=True)
        if (folder / "autograded").is_dir():
            shutil.copytree(folder / "autograded", place / "autograded")
        _write_through(place / "result.json", json.dumps(chosen, indent=1).encode())
        return chosen

    def _net(self, student: str, result: Mapping[str, Any]) -> float:
        """The points that the checks gave, minus the penalty for lateness."""
        points = sum(score or 0 for one in result["notebooks"].values() for score in one["scores"].values())
        due = self._due(student)
        if due is None or not result.get("received"):
            return points
        late = (_moment(result["received"]) - due).total_seconds()
        return points - (self._penalty(student, points, late) or 0)

    def _due(self, student: str) -> datetime | None:
        from nbgrader.api import MissingEntry

        try:
            due = self.gradebook.find_submission(self.assignment, student).duedate
        except (MissingEntry, TypeError):  # nbgrader cannot extend an assignment without a due date
            due = self.gradebook.find_assignment(self.assignment).duedate
        return due

    def _enter(self, result: dict[str, Any]) -> None:
        """Enter scores and comments in one transaction; manual scores, comments and extra credit stay as they are."""
        submission = self._submission(result["student"])
        submission.timestamp = _moment(result["received"]) if result.get("received") else None
        for notebook in submission.notebooks:
            entry = result["notebooks"][notebook.name]
            for grade in notebook.grades:
                grade.auto_score = entry["scores"][self.names[grade.cell_id]]
                grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
            for comment in notebook.comments:
                comment.auto_comment = entry["comments"][self.names[comment.cell_id]]
        self.gradebook.db.flush()  # otherwise the notebooks would still have their old points
        self._charge(submission)
        self.gradebook.db.commit()

    def _charge(self, submission: Any) -> None:
        """Compute the late penalty from the due date and the extension that the gradebook has now."""
        late = seconds_late(submission)
        for notebook in submission.notebooks:
            notebook.late_submission_penalty = None
            if late > 0:
                self.gradebook.db.refresh(notebook, ["score"])
                notebook.late_submission_penalty = self._penalty(submission.student_id, notebook.score, late)

    def _penalty(self, student: str, score: float, late: float) -> float | None:
        penalty = self.plugin.late_submission_penalty(student, score, late) if late > 0 else None
        return None if penalty is None else min(max(penalty, 0.0), score)

    def settle(self, received: Mapping[str, str]) -> list[str]:
        """Bring times and penalties up to date with the due date, extensions and manual scores.

        Return a line for everybody whose penalty has changed.
        """
        return self._patiently(lambda: self._settle(received))

    def _settle(self, received: Mapping[str, str]) -> list[str]:
        changes = []
        extensions = read_extensions(self.course)
        for submission in self.gradebook.find_assignment(self.assignment).submissions:
            before = sum(notebook.late_submission_penalty or 0 for notebook in submission.notebooks)
            if received.get(submission.student_id):
                submission.timestamp = _moment(received[submission.student_id])
            until = extensions.get((submission.student_id, self.assignment))
            if until is not None and submission.assignment.duedate is not None:
                submission.extension = max(until - submission.assignment.duedate, timedelta())
            self._charge(submission)
            after = sum(notebook.late_submission_penalty or 0 for notebook in submission.notebooks)
            if abs(after - before) > 1e-9:
                late = in_words(seconds_late(submission))
                changes.append(f"{submission.student_id}: {late}: {after:.4g} points off (before: {before:.4g})")
        self.gradebook.db.commit()
        return sorted(changes)

    def _patiently(self, action: Callable[[], T]) -> T:
        def attempt() -> T:
            try:
                with self.gradebook.db.no_autoflush:
                    return action()
            except BaseException:
                self.gradebook.db.rollback()
                raise

        return patiently(attempt)

    def _submission(self, student: str) -> Any:
        """The student's submission; created, with all its parts, if it is new. Nothing is committed here."""
        from nbgrader.api import Comment, Grade, MissingEntry, Student, SubmittedAssignment, SubmittedNotebook

        session = self.gradebook.db
        try:
            return self.gradebook.find_submission(self.assignment, student)
        except MissingEntry:
            person = session.get(Student, student) or Student(id=student)
        assignment = self.gradebook.find_assignment(self.assignment)
        submission = SubmittedAssignment(assignment=assignment, student=person)
        session.add(submission)
        for notebook in assignment.notebooks:
            mirror = SubmittedNotebook(notebook=notebook, assignment=submission)
            session.add(mirror)
            for cell in [*notebook.grade_cells, *notebook.task_cells]:
                session.add(Grade(cell_id=cell.id, notebook=mirror))
            for cell in [*notebook.solution_cells, *notebook.task_cells]:
                session.add(Comment(cell_id=cell.id, notebook=mirror))
        session.flush()
        return submission


def patiently(action: Callable[[], T]) -> T:
    """Run an action on the gradebook; wait while another program keeps it locked."""
    from sqlalchemy.exc import DBAPIError

    deadline = time.monotonic() + WAIT
    while True:
        try:
            return action()
        except DBAPIError as error:
            if "locked" not in str(error.orig) and "busy" not in str(error.orig):
                raise CourseError(f"the gradebook cannot be used: {error.orig}") from error
            if time.monotonic() > deadline:
                raise GradebookLocked(
                    "another program keeps gradebook.db locked (is the formgrader open, or a copy being made?): close "
                    "it and run the same command with --resume; what is graded is kept"
                ) from error
            time.sleep(0.2)


def seconds_late(submission: Any) -> float:
    """How late a submission arrived, allowing for extensions; nbgrader's own method fails if there is no due date."""
    due = submission.assignment.duedate
    if due is None or submission.timestamp is None:
        return 0.0
    return max(0.0, (submission.timestamp - due - (submission.extension or timedelta())).total_seconds())


def in_words(seconds: float) -> str:
    """A span of time.

    >>> in_words(0), in_words(90), in_words(100_000)
    ('on time', '2 minutes late', '1 day 4 hours late')
    """
    if seconds <= 0:
        return "on time"
    minutes = -int(-seconds // 60)
    if minutes < 120:
        return f"{minutes} minute{'' if minutes == 1 else 's'} late"
    hours = -int(-seconds // 3600)
    days, rest = divmod(hours, 24)
    parts = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in ((days, "day"), (rest, "hour")) if count]
    return f"{' '.join(parts)} late"


def _moment(text: str) -> datetime:
    """A time as nbgrader stores it: in UTC, without a zone."""
    return datetime.fromisoformat(text.removesuffix(" UTC"))
