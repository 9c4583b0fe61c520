"""One writer puts results into their places: the result's folder, the gradebook in one transaction, the notebooks.

nbgrader's `update_or_create_submission` commits at every step, so that a killed run would leave half a submission.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from .engine import load_config
from .errors import CourseError
from .folder import Course
from .secret import grading_folder
from .submission import Graded

_STUDENTS = ("grade", "comment", "submitted_notebook", "submitted_assignment", "student")


def result_folder(course: Course, assignment: str, student: str) -> Path:
    return grading_folder(course.root) / assignment / student


def read_result(course: Course, assignment: str, student: str) -> dict[str, Any] | None:
    """The result of a submission, or nothing if there is none that can be read."""
    try:
        result = json.loads((result_folder(course, assignment, student) / "result.json").read_bytes())
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) else None


def is_merged(course: Course, assignment: str, student: str) -> bool:
    """Whether the gradebook has the result."""
    return (result_folder(course, assignment, student) / "merged").exists()


def store(course: Course, graded: Graded) -> None:
    """Write a result into its folder, in one step."""
    result = graded.result
    drafts = grading_folder(course.root) / "drafts"
    drafts.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=drafts))
    for name, content in graded.files.items():
        _write_through(draft / "autograded" / name, content)
    _write_through(draft / "result.json", json.dumps(result, indent=1).encode())
    _put(draft, result_folder(course, result["assignment"], result["student"]), drafts)


def _write_through(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put(draft: Path, place: Path, drafts: Path) -> None:
    """Move a folder to its place; what was there goes."""
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


class Writer:
    """The one who enters results of an assignment into the gradebook. What it has done once changes nothing again."""

    def __init__(self, course: Course, assignment: str) -> None:
        from nbgrader.api import Gradebook

        self.course, self.assignment = course, assignment
        self.gradebook = Gradebook(course.gradebook, load_config(course).CourseDirectory.course_id)
        self.names: dict[str, str] = {}
        for notebook in self.gradebook.find_assignment(assignment).notebooks:
            for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells):
                self.names |= {cell.id: cell.name for cell in cells}

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.gradebook.close()

    def merge(self, student: str) -> dict[str, Any]:
        """Bring a stored result into the gradebook and its notebooks to `autograded/`."""
        result = read_result(self.course, self.assignment, student)
        if result is None:
            raise CourseError(f"the result of {student} cannot be read: grade {self.assignment} again")
        folder = result_folder(self.course, self.assignment, student)
        with self.gradebook.db.no_autoflush:
            self._enter(result)
        notebooks = folder / "autograded"
        if notebooks.exists():
            for path in notebooks.rglob("*"):
                path.chmod(0o755 if path.is_dir() else 0o444)
            target = self.course.root / "autograded" / student / self.assignment
            _put(notebooks, target, grading_folder(self.course.root) / "drafts")
        _write_through(folder / "merged", result["digest"].encode())
        return result

    def _enter(self, result: dict[str, Any]) -> None:
        """Enter scores and comments in one transaction; manual scores, comments and extra credit stay as they are."""
        submission = self._submission(result["student"])
        if result["timestamp"]:
            submission.timestamp = datetime.fromisoformat(result["timestamp"])
        for notebook in submission.notebooks:
            entry = result["notebooks"][notebook.name]
            notebook.late_submission_penalty = entry["late_penalty"]
            for grade in notebook.grades:
                grade.auto_score = entry["scores"][self.names[grade.cell_id]]
                grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
            for comment in notebook.comments:
                comment.auto_comment = entry["comments"][self.names[comment.cell_id]]
        self.gradebook.db.commit()

    def _submission(self, student: str) -> Any:
        """The student's submission; made, with all its parts, if it is new. Nothing is committed here."""
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


def empty_gradebook(course: Course) -> bytes:
    """The course's gradebook as it was before any student: assignments, notebooks, cells."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "gradebook.db"
        source = sqlite3.connect(course.root / "gradebook.db")
        target = sqlite3.connect(copy)
        with target:
            source.backup(target)
            for table in _STUDENTS:
                target.execute(f"DELETE FROM {table}")
        target.execute("VACUUM")
        source.close()
        target.close()
        return copy.read_bytes()
