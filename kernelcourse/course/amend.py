"""Change an assignment that has been graded: add, rename or drop a check, or change its points.

Everything is graded again in a copy of the course, and a table says whose points change. Nothing else is written unless
you pass --write. Manual scores, comments and extra credit stay; --renamed says which cell they belong to now.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import CourseError
from .folder import CONFIG, VARIANTS, Course, add_course_argument
from .variants import record_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="for example 01-dual-representation")
    parser.add_argument(
        "--renamed", action="append", default=[], metavar="OLD=NEW", help="a cell that was renamed (can be repeated)"
    )
    parser.add_argument("--term", help="the term given at the release")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="how many at a time (default: one per core)")
    parser.add_argument("--unsafe", action="store_true", help="run code with your permissions, without a sandbox")
    parser.add_argument("--write", action="store_true", help="put the new release, results and grades in place")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    course = Course.around(args.course)
    renamed = dict(_pair(text) for text in args.renamed)
    amended = amend(course, args.assignment, renamed, term=args.term, jobs=args.jobs, unsafe=args.unsafe)
    print("\n".join(_table(amended)))
    if args.write:
        write(course, amended)
        print(f"{args.assignment}: the new release, results and grades are in place")
    else:
        print("Nothing has been written yet: run the same command with --write.")
    return 0


def _pair(text: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not (old and sign and new):
        raise CourseError(f"--renamed expects OLD=NEW, the names of two cells, got {text!r}")
    return old, new


@dataclass
class Given:
    """What people have entered for a student, apart from the points of the checks."""

    scores: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)  # by cell: manual, extra credit
    comments: dict[str, str] = field(default_factory=dict)
    extension: Any = None
    timestamp: Any = None


@dataclass
class Amended:
    """A copy of the course in which the assignment has its new form."""

    assignment: str
    copy: Course
    before: dict[str, tuple[float, float]]  # points and the most that could be earned, by student
    after: dict[str, tuple[float, float]]
    lost: list[str]  # entries that no longer belong to any cell


def amend(
    course: Course,
    assignment: str,
    renamed: Mapping[str, str] | None = None,
    *,
    term: str | None = None,
    jobs: int = 0,
    unsafe: bool = False,
) -> Amended:
    """Release and grade an assignment from its present source, in a copy of the course.

    Work already done with the same source, submissions and gradebook is not repeated.
    """
    from .secret import grading_folder
    from .workshop import copy_course

    course.sources(assignment)
    place = grading_folder(course.root) / "amended" / assignment
    state = _state(course, assignment, term, unsafe)
    mark = place / "state"
    if not mark.is_file() or mark.read_text(encoding="ascii") != state:
        shutil.rmtree(place, ignore_errors=True)
        copy = copy_course(course, assignment, place / "course")
        shutil.rmtree(copy.exercises, ignore_errors=True)
        _regrade(copy, assignment, term=term, jobs=jobs, unsafe=unsafe)
        shutil.copy(copy.root / "gradebook.db", place / "checks.db")
        mark.write_text(state, encoding="ascii")
    copy = Course(place / "course")
    shutil.copy(place / "checks.db", copy.root / "gradebook.db")
    given = _given(course, assignment)
    lost = _restore(copy, assignment, given, renamed or {})
    if any(each.extension for each in given.values()):
        _grade(copy, assignment, jobs=jobs, unsafe=unsafe)  # nothing is left to grade, but this computes the penalties
    return Amended(assignment, copy, _points(course, assignment), _points(copy, assignment), lost)


def _state(course: Course, assignment: str, term: str | None, unsafe: bool) -> str:
    """A hash of everything that the new grades depend on."""
    from .. import __version__

    total = hashlib.sha256(f"{__version__} {term} {unsafe}".encode())
    files = [course.root / CONFIG, course.root / "gradebook.db", *(course.solutions / assignment).rglob("*")]
    files += [*(course.root / "submitted").glob(f"*/{assignment}/*"), record_file(course.root, assignment)]
    for path in sorted(path for path in files if path.is_file() and path.suffix != ".pyc"):
        if path.parent == course.solutions / assignment and path.suffix == ".ipynb":
            continue  # the source's .ipynb twin
        total.update(f"\0{path.relative_to(course.root)}\0".encode(errors="surrogateescape"))
        total.update(path.read_bytes())
    return total.hexdigest()


def _regrade(copy: Course, assignment: str, *, term: str | None, jobs: int, unsafe: bool) -> None:
    """Release the new form in a copy of the course whose gradebook has no submissions for it, and grade everybody."""
    from nbgrader.api import Gradebook

    from .release import release

    with Gradebook(copy.gradebook) as gradebook:
        for submission in gradebook.assignment_submissions(assignment):
            gradebook.remove_submission(assignment, submission.student.id)
        for notebook in list(gradebook.find_assignment(assignment).notebooks):
            gradebook.remove_notebook(notebook.name, assignment)
    release(copy, assignment, term=term)
    _grade(copy, assignment, jobs=jobs, unsafe=unsafe)


def _grade(copy: Course, assignment: str, *, jobs: int, unsafe: bool) -> None:
    from .grade import grade

    with contextlib.redirect_stdout(io.StringIO()):
        failed = [result for result in grade(copy, assignment, jobs=jobs, unsafe=unsafe) if "failure" in result]
    if failed:
        students = ", ".join(result["student"] for result in failed)
        raise CourseError(f"not graded again: {students}. {failed[0]['failure']}")


def _given(course: Course, assignment: str) -> dict[str, Given]:
    """What people have entered for each student."""
    from nbgrader.api import Gradebook

    found = {}
    with Gradebook(course.gradebook) as gradebook:
        for submission in gradebook.assignment_submissions(assignment):
            given = found[submission.student.id] = Given(extension=submission.extension, timestamp=submission.timestamp)
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    if grade.manual_score is not None or grade.extra_credit is not None:
                        given.scores[grade.name] = grade.manual_score, grade.extra_credit
                for comment in notebook.comments:
                    if comment.manual_comment is not None:
                        given.comments[comment.name] = comment.manual_comment
    return found


def _restore(copy: Course, assignment: str, given: Mapping[str, Given], renamed: Mapping[str, str]) -> list[str]:
    """Re-enter what people had entered; return what no longer belongs to any cell."""
    from nbgrader.api import Gradebook

    lost = []
    with Gradebook(copy.gradebook) as gradebook:
        for submission in gradebook.assignment_submissions(assignment):
            mine = given.get(submission.student.id, Given())
            submission.extension = mine.extension
            submission.timestamp = mine.timestamp or submission.timestamp
            grades = {grade.name: grade for notebook in submission.notebooks for grade in notebook.grades}
            comments = {each.name: each for notebook in submission.notebooks for each in notebook.comments}
            for name, (manual, extra) in mine.scores.items():
                grade = grades.get(renamed.get(name, name))
                if grade is None:
                    lost.append(
                        f"{submission.student.id}: the manual score of {name}, {extra if manual is None else manual:g}"
                    )
                    continue
                grade.manual_score, grade.extra_credit = manual, extra
                grade.needs_manual_grade = grade.auto_score is None and manual is None
            for name, text in mine.comments.items():
                comment = comments.get(renamed.get(name, name))
                if comment is None:
                    lost.append(f"{submission.student.id}: the comment on {name}")
                else:
                    comment.manual_comment = text
        gradebook.db.commit()
    return lost


def _points(course: Course, assignment: str) -> dict[str, tuple[float, float]]:
    from nbgrader.api import Gradebook

    with Gradebook(course.gradebook) as gradebook:
        return {
            each.student.id: (max(0.0, each.score - each.late_submission_penalty), each.max_score)
            for each in gradebook.assignment_submissions(assignment)
        }


def _table(amended: Amended) -> Iterator[str]:
    changed = 0
    width = max(map(len, [*amended.after, "student"]))
    for student in sorted(amended.after):
        new, most = amended.after[student]
        old, once = amended.before.get(student, (None, most))
        if old == new and once == most:
            continue
        if not changed:
            yield f"{'student':<{width}}  before    after     change"
        changed += 1
        before = "–" if old is None else f"{old:g}/{once:g}"
        yield f"{student:<{width}}  {before:<8}  {f'{new:g}/{most:g}':<8}  {new - (old or 0):+g}"
    yield f"{amended.assignment}: {len(amended.after)} graded again, points change for {changed}"
    yield from (f"no longer belongs to any cell: {line} (--renamed OLD=NEW names one)" for line in amended.lost)


def write(course: Course, amended: Amended) -> None:
    """Put the new release, results, notebooks and grades in place, the gradebook last.

    If it is interrupted, running it again finishes the work: the copy is removed only when everything is done.
    """
    from .grade import _alone
    from .secret import grading_folder

    copy, assignment = amended.copy, amended.assignment
    with _alone(course):
        for part in (Path("exercises"), Path(".grading")):
            _replace(copy.root / part / assignment, course.root / part / assignment)
        for folder in sorted(copy.root.glob(f"autograded/*/{assignment}")) + sorted(
            copy.root.glob(f"{VARIANTS}/*/{assignment}")
        ):
            _replace(folder, course.root / folder.relative_to(copy.root))
        if (variants := record_file(copy.root, assignment)).is_file():
            shutil.copy(variants, record_file(course.root, assignment))
        os.replace(copy.root / "gradebook.db", course.root / "gradebook.db")
        shutil.rmtree(grading_folder(course.root) / "amended" / assignment, ignore_errors=True)


def _replace(new: Path, old: Path) -> None:
    """Replace a folder by a copy of another, which stays in case a second try is needed."""
    draft = old.with_name(f".{old.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(new, draft)
    if old.exists():
        for path in [old, *old.rglob("*")]:  # nbgrader makes its folders read-only
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(old)
    draft.rename(old)
