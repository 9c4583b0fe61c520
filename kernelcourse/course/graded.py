"""What is known about an assignment after grading: results, gradebook and the texts of the answers, combined."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .engine import nbgrader_api
from .errors import CourseError
from .folder import Course
from .handed import students_with
from .notebooks import read_source
from .variants import read_variants

NOT_GRADED, NOTHING = "handed in, not graded yet", "no submission"
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
    cell: str = ""  # the check cell that it belongs to


@dataclass(frozen=True)
class CellScore:
    """The gradebook's entry for a cell."""

    name: str
    points: float
    score: float
    by_hand: bool = False  # a person gave the score, or extra credit
    waits: bool = False


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
    penalty: float = 0.0  # the points lost for lateness
    waits: bool = False  # whether an answer is still to be graded by hand
    reason: str = ""  # why there is no grade
    cells: list[CellScore] = field(default_factory=list)
    pieces: list[PieceResult] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    variant: str = ""  # this student's own numbers, in words
    literals: frozenset[str] = frozenset()  # the same numbers as a program writes them

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.first_name, self.last_name))) or self.student

    @property
    def ungraded(self) -> bool:
        return self.reason == NOT_GRADED


@dataclass
class Graded:
    """An assignment with all its submissions."""

    assignment: str
    points: float
    submissions: list[Submission]
    endings: list[Ending]
    absent: list[Submission]  # enrolled but without a grade; `reason` says why
    given: dict[str, list[str]]  # answer -> texts that say nothing about its author: the stub and the solution
    answer_of: dict[str, str] = field(default_factory=dict)  # check cell -> the answer that it is about


def graded(course: Course, assignment: str) -> Graded:
    """Gather everything; refuse if nothing has been graded."""
    sources = course.sources(assignment)
    endings: list[Ending] = []
    points, submissions, enrolled = _from_gradebook(course, assignment, endings)
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
    for student in students_with(course.root / "submitted", assignment):
        if student not in submissions:
            enrolled.setdefault(student, Submission(student)).reason = NOT_GRADED
            endings.append(Ending(student, "not graded", "Submitted, but not graded yet."))
    absent = [one for student, one in sorted(enrolled.items()) if student not in submissions]
    endings += [Ending(one.student, NOTHING, "Enrolled, nothing handed in.") for one in absent if one.reason == NOTHING]
    variants = read_variants(course.root, assignment)
    for student, submission in submissions.items():
        submission.variant, submission.literals = variants.in_words(student), variants.literals(student)
        for source in sources:
            submission.answers |= _answers(
                course.root / "autograded" / student / assignment / f"{source.stem}.ipynb", source.stem
            )
    ordered = sorted(submissions.values(), key=lambda one: one.student)
    answer_of = {check: answer for source in sources for check, answer, _ in _parts(read_source(source), source.stem)}
    return Graded(assignment, points, ordered, endings, absent, _given(course, assignment), answer_of)


_CELLS = """
    SELECT who.student_id, cell.name, coalesce(grades.max_score, tasks.max_score, 0), auto_score, manual_score,
           extra_credit, needs_manual_grade
    FROM grade JOIN base_cell AS cell ON cell.id = grade.cell_id
    LEFT JOIN grade_cells AS grades ON grades.id = cell.id LEFT JOIN task_cells AS tasks ON tasks.id = cell.id
    JOIN submitted_notebook AS notebook ON notebook.id = grade.notebook_id
    JOIN submitted_assignment AS who ON who.id = notebook.assignment_id
    JOIN assignment ON assignment.id = who.assignment_id WHERE assignment.name = :name ORDER BY cell.rowid
"""  # one query: the objects of nbgrader's interface send one for each student and cell


def _from_gradebook(
    course: Course, assignment: str, endings: list[Ending]
) -> tuple[float, dict[str, Submission], dict[str, Submission]]:
    """The maximum points, the submissions, and everybody who is enrolled, by student."""
    if not (course.root / "gradebook.db").is_file():
        return 0.0, {}, {}
    from nbgrader.api import MissingEntry
    from sqlalchemy import text

    with nbgrader_api(course) as api, api.gradebook as gradebook:
        try:
            points = gradebook.find_assignment(assignment).max_score
        except MissingEntry:
            return 0.0, {}, {}
        enrolled = {who.id: _profile(who, reason=NOTHING) for who in gradebook.students}
        submissions = {}
        for entry in gradebook.assignment_submissions(assignment):
            penalty = entry.late_submission_penalty
            one = submissions[entry.student.id] = _profile(entry.student)
            one.points, one.penalty = max(0.0, entry.score - penalty), penalty
            one.waits = bool(entry.needs_manual_grade)
            endings += _times(entry, penalty)
        for student, name, most, auto, manual, extra, waits in gradebook.db.execute(text(_CELLS), {"name": assignment}):
            if student in submissions:
                score = (manual if manual is not None else auto or 0) + (extra or 0)
                by_hand = manual is not None or bool(extra)
                cell = CellScore(name, most, score, by_hand, bool(waits) and manual is None)
                submissions[student].cells.append(cell)
    return points, submissions, enrolled


def _profile(who: Any, reason: str = "") -> Submission:
    names = (who.first_name or "", who.last_name or "", who.email or "", who.lms_user_id or "")
    return Submission(who.id, *names, reason=reason)


def _times(entry: Any, penalty: float) -> list[Ending]:
    """What to report about the time at which a submission arrived."""
    student = entry.student.id
    if entry.assignment.duedate is None:
        return []
    if entry.timestamp is None:
        return [Ending(student, "no time stamp", "No collector noted when it arrived: it counts as on time.")]
    from .merge import in_words, seconds_late  # imported here because it loads nbgrader, which takes long

    late = seconds_late(entry)
    extended = ", extension considered" if entry.extension else ""
    text = f"{in_words(late)[0].upper()}{in_words(late)[1:]}{extended}: {penalty:.4g} points off."
    return [Ending(student, "late", text)] if late > 0 else []


def _add_result(submission: Submission, result: Mapping[str, Any]) -> list[Ending]:
    """Enter the pieces of a result into the submission; return what was odd."""
    student = submission.student
    endings = [
        Ending(student, str(ending["kind"]), str(ending["text"]), str(ending.get("notebook", "")))
        for ending in result["endings"]
    ]
    if result.get("unsafe"):
        endings.append(Ending(student, "no sandbox", "Graded with --unsafe: the code ran with your permissions."))
    for notebook in result["notebooks"].values():
        for record in notebook["pieces"]:
            submission.pieces.append(
                PieceResult(
                    str(record["piece"]),
                    float(record["points"]),
                    float(record["earned"]),
                    str(record["problem"]),
                    str(record["hint"]),
                    str(record["mistake"]),
                    str(record.get("cell", "")),
                )
            )
    return endings


def _given(course: Course, assignment: str) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for source in course.sources(assignment):
        stub = _answers(course.exercises / assignment / f"{source.stem}.ipynb", source.stem)
        for texts in (stub, _segments(read_source(source), source.stem)):
            for answer, text in texts.items():
                given.setdefault(answer, []).append(text)
    return given


def _answers(path: Path, stem: str) -> dict[str, str]:
    """The texts of the answers in a notebook that we wrote; none if the notebook is missing."""
    import nbformat

    if not path.is_file() or path.is_symlink() or path.stat().st_size > _LONGEST_NOTEBOOK:
        return {}
    try:
        return _segments(nbformat.read(path, as_version=4), stem)
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return {}


def _segments(notebook: Any, stem: str) -> dict[str, str]:
    return {answer: text for _, answer, text in _parts(notebook, stem)}


def _parts(notebook: Any, stem: str) -> Iterator[tuple[str, str, str]]:
    """Each check with its answer's name and text: that of the answer cell and of the cells added around it."""
    name, written = "", list[str]()
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code":
            continue
        if meta.get("solution"):
            name = name or meta["grade_id"]
        if meta.get("grade") and not meta.get("solution"):
            yield meta["grade_id"], f"{stem}: {name or meta['grade_id']}", "\n\n".join(written)
            name, written = "", []
        elif not meta.get("locked"):
            written.append(cell.source)
