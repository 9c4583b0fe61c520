"""What is known of an assignment after grading: results, gradebook and the texts of the answers, put together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .engine import nbgrader_api
from .errors import CourseError
from .folder import Course

_LONGEST_NOTEBOOK = 20_000_000  # bytes; our own autograded notebooks are far smaller


@dataclass(frozen=True)
class PieceResult:
    """What a student got for one piece, and what the check said."""

    name: str
    points: float
    earned: float
    problem: str = ""
    hint: str = ""
    mistake: str = ""


@dataclass(frozen=True)
class Ending:
    """Something unusual about a submission."""

    student: str
    kind: str
    text: str
    notebook: str = ""


@dataclass
class Submission:
    """One student's submission."""

    student: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_id: str = ""
    points: float = 0.0
    waits: bool = False  # for an answer to be graded by hand
    pieces: list[PieceResult] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.first_name, self.last_name))) or self.student


@dataclass
class Graded:
    """An assignment with all its submissions."""

    assignment: str
    points: float
    submissions: list[Submission]
    endings: list[Ending]
    given: dict[str, list[str]]  # answer -> texts that say nothing about its author: the stub and the solution


def graded(course: Course, assignment: str) -> Graded:
    """Gather everything; refuse if nothing has been graded."""
    sources = course.sources(assignment)
    endings: list[Ending] = []
    points, submissions = _from_gradebook(course, assignment)
    for path in sorted((course.root / ".grading" / assignment).glob("*/result.json")):
        student = path.parent.name
        if student not in submissions:
            submissions[student] = Submission(student)
            text = "Graded, but not in the gradebook yet: run `kernelcourse grade --resume`."
            endings.append(Ending(student, "not in the gradebook", text))
        try:
            endings += _add_result(submissions[student], json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            text = f"Its result.json cannot be read ({type(error).__name__}): grade it again with --regrade."
            endings.append(Ending(student, "unreadable result", text))
    if not submissions:
        raise CourseError(f"nothing of {assignment} has been graded yet: run `kernelcourse grade {assignment}` first")
    for folder in sorted((course.root / "submitted").glob(f"*/{assignment}")):
        if folder.parent.name not in submissions:
            endings.append(Ending(folder.parent.name, "not graded", "Submitted, but not graded yet."))
    for student, submission in submissions.items():
        for source in sources:
            submission.answers |= _answers(
                course.root / "autograded" / student / assignment / f"{source.stem}.ipynb", source.stem
            )
    ordered = sorted(submissions.values(), key=lambda one: one.student)
    return Graded(assignment, points, ordered, endings, _given(course, assignment))


def _from_gradebook(course: Course, assignment: str) -> tuple[float, dict[str, Submission]]:
    if not (course.root / "gradebook.db").is_file():
        return 0.0, {}
    from nbgrader.api import MissingEntry

    with nbgrader_api(course) as api, api.gradebook as gradebook:
        try:
            points = gradebook.find_assignment(assignment).max_score
        except MissingEntry:
            return 0.0, {}
        submissions = {}
        for entry in gradebook.assignment_submissions(assignment):
            who = entry.student
            submissions[who.id] = Submission(
                who.id,
                who.first_name or "",
                who.last_name or "",
                who.email or "",
                who.lms_user_id or "",
                points=max(0.0, entry.score - entry.late_submission_penalty),
                waits=bool(entry.needs_manual_grade),
            )
    return points, submissions


def _add_result(submission: Submission, result: Mapping[str, Any]) -> list[Ending]:
    """Enter the pieces of a result into the submission; return what was odd."""
    student = submission.student
    endings = [
        Ending(student, str(ending["kind"]), str(ending["text"]), str(ending.get("notebook", "")))
        for ending in result["endings"]
    ]
    if result.get("unsafe"):
        endings.append(Ending(student, "no sandbox", "Graded with --unsafe: the code ran with your rights."))
    for notebook in result["notebooks"].values():
        for record in notebook["pieces"]:
            submission.pieces.append(
                PieceResult(
                    str(record["piece"]),
                    float(record["points"]),
                    float(record["earned"]),
                    *(str(record[key]) for key in ("problem", "hint", "mistake")),
                )
            )
    return endings


def _given(course: Course, assignment: str) -> dict[str, list[str]]:
    from .notebooks import read_source

    given: dict[str, list[str]] = {}
    for source in course.sources(assignment):
        stub = _answers(course.exercises / assignment / f"{source.stem}.ipynb", source.stem)
        for texts in (stub, _segments(read_source(source), source.stem)):
            for answer, text in texts.items():
                given.setdefault(answer, []).append(text)
    return given


def _answers(path: Path, stem: str) -> dict[str, str]:
    """The texts of the answers in a notebook that we wrote; none if it is not there."""
    import nbformat

    if not path.is_file() or path.is_symlink() or path.stat().st_size > _LONGEST_NOTEBOOK:
        return {}
    try:
        return _segments(nbformat.read(path, as_version=4), stem)
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return {}


def _segments(notebook: Any, stem: str) -> dict[str, str]:
    """What a student wrote before each check: the answer cell and the cells that were added around it."""
    segments, name, written = {}, "", list[str]()
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code":
            continue
        if meta.get("solution"):
            name = name or meta["grade_id"]
        if meta.get("grade") and not meta.get("solution"):
            segments[f"{stem}: {name or meta['grade_id']}"] = "\n\n".join(written)
            name, written = "", []
        elif not meta.get("locked"):
            written.append(cell.source)
    return segments
