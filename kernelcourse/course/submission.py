"""Grade one submission: bytes in, bytes out. This may happen in this process, in another, or on another machine.

The steps are those that nbgrader's own `autograde` takes with the course's configuration, and nbgrader's rule turns
outputs into points. Its gradebook is not involved: scores are entered later, by one writer.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .engine import load_config
from .folder import CONFIG, Course
from .handed import Handed
from .notebooks import parse_once
from .receipt import NAME, receipt, versions
from .secret import fingerprint
from .transplant import assign, transplant
from .variants import Variants

_ONE_AT_A_TIME = threading.Lock()  # the secret is in the process's environment during grading


@dataclass(frozen=True)
class Task:
    """What is the same for all submissions of a run."""

    assignment: str
    course: dict[str, bytes]  # configuration and release, by their paths in the course folder
    locked: dict[str, dict[str, str]]  # notebook -> locked cell -> its source, hidden tests included
    secret: str
    unsafe: bool
    run: str  # names the run, to tell an interrupted run from the next
    shelf: str = ""  # where the sandboxes' libraries are, if they are on this machine
    variants: Variants = field(default_factory=Variants)  # the students who have their own notebook


@dataclass(frozen=True)
class Graded:
    """The outcome of a submission."""

    result: dict[str, Any]
    files: dict[str, bytes]  # the autograded notebooks


def course_files(course: Course, assignment: str) -> dict[str, bytes]:
    """The files of a course that grading an assignment needs: its configuration, its release, its checks."""
    files = {CONFIG: (course.root / CONFIG).read_bytes()}
    folder = course.exercises / assignment
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith((".checks.json", ".commitment.json")):  # for students' machines
            files[f"exercises/{assignment}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    checks = course.checks(assignment)
    return files if checks is None else files | {f"solutions/{assignment}/{checks.name}": checks.read_bytes()}


def grade_submission(task: Task, student: str, handed: Handed) -> Graded:
    """Grade a student's files, in a separate folder."""
    task = own_task(task, student)
    with _ONE_AT_A_TIME, tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder).resolve())
        for name, content in task.course.items():
            _write(course.root / name, content)
        steps = _steps(course, task)

        def run(stem: str, notebook: Any) -> Any:
            resources = {"nbgrader": {"notebook": stem, "assignment": task.assignment, "student": student}}
            for step in steps:
                notebook, resources = step(notebook, resources)
            return notebook

        return put_together(task, student, handed, run)


def own_task(task: Task, student: str) -> Task:
    """The task with the notebooks that this student was given."""
    if student not in task.variants.seeds:
        return task
    import nbformat

    notebooks = {
        f"exercises/{task.assignment}/{stem}.ipynb": nbformat.writes(task.variants.notebook(student, stem)).encode()
        for stem in task.variants.releases
    }
    return replace(task, course=task.course | notebooks, locked=task.variants.locked_cells(student))


def put_together(task: Task, student: str, handed: Handed, run: Callable[[str, Any], Any]) -> Graded:
    """The result of a submission whose notebooks `run` executes and judges."""
    import nbformat

    start = time.monotonic()
    task = own_task(task, student)
    folder = f"exercises/{task.assignment}/"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbformat's warnings about old notebooks
        releases = {stem: parse_once(task.course[f"{folder}{stem}.ipynb"]) for stem in sorted(task.locked)}
        found = assign(handed.files, releases, handed.saved)
        texts = {stem: [cell.text for cell in cells if cell.code] for stem, cells in found.cells.items()}
        noted = [*found.endings, *task.variants.endings(student, texts)]
        endings = [*handed.endings, *(ending.record for ending in noted)]
        notebooks, files = {}, _support_files(task)
        for stem, cells in found.cells.items():
            notebook = transplant(cells, releases[stem])
            restore(notebook, task.locked[stem])
            notebook = run(stem, notebook)
            notebooks[stem] = _scores(notebook, unsafe=task.unsafe)
            endings += [dict(ending) for ending in notebook.metadata["kernelcourse"]["endings"]]
            files[f"{stem}.ipynb"] = (nbformat.writes(notebook, version=4).rstrip("\n") + "\n").encode()
    if handed.received:
        files["timestamp.txt"] = handed.received.encode()
    result = {
        "student": student,
        "assignment": task.assignment,
        "endings": endings,
        "notebooks": notebooks,
        "seed": fingerprint(task.secret),
        "unsafe": task.unsafe,
        "seconds": round(time.monotonic() - start, 3),
        "received": handed.received,
        "digest": handed.digest,
        "run": task.run,
        "release": release_digest(task.course),
        "versions": versions(),
    }
    return with_receipt(Graded(result, files), task.secret)


def with_receipt(graded: Graded, secret: str) -> Graded:
    """The same, with the file that tells a student what the grade is based on."""
    return replace(graded, files=graded.files | {NAME: receipt(graded.result, secret)})


def release_digest(files: dict[str, bytes]) -> str:
    """A name for what the students were given: the same for the same files."""
    given = sorted(
        (name, hashlib.sha256(content).hexdigest()) for name, content in files.items() if name.startswith("exercises/")
    )
    return hashlib.sha256(repr(given).encode()).hexdigest()[:16]


@cache
def _own_shelf() -> str:
    folder = tempfile.mkdtemp(prefix="kernelcourse-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _support_files(task: Task) -> dict[str, bytes]:
    """The files beside the released notebooks, such as data; none of those beside the student's notebooks."""
    folder = f"exercises/{task.assignment}/"
    return {
        name.removeprefix(folder): content
        for name, content in task.course.items()
        if name.startswith(folder) and not name.endswith(".ipynb")
    }


def _steps(course: Course, task: Task) -> list[Any]:
    """The steps for each notebook: running and judging, then whatever else the configuration names.

    nbgrader's steps that enter grades, or repair what the transplant has already repaired, are left out.
    """
    from nbgrader.preprocessors import LimitOutput
    from traitlets.config import LoggingConfigurable

    from .preprocessors import GradeSafely

    class Caller(LoggingConfigurable):
        """Stands in for nbgrader's exporter and converter, from which a step learns where the course is."""

        coursedir = SimpleNamespace(root=str(course.root))

    config = load_config(course)
    config.GradeSafely.shelf = task.shelf or _own_shelf()
    config.GradeSafely.secret = task.secret
    if task.unsafe:
        config.GradeSafely.unsafe = True
    caller = Caller(parent=Caller(config=config))
    named = config.Autograde.get("autograde_preprocessors", [])
    own = [step for step in named if not step.__module__.startswith(("nbgrader.", "nbconvert.", __package__))]
    return [step(parent=caller) for step in (GradeSafely, LimitOutput, *own)]


def restore(notebook: Any, locked: dict[str, str]) -> None:
    """Put back the hidden tests, which no release contains."""
    for cell in notebook.cells:
        ours = cell.metadata.get("nbgrader", {})
        if ours.get("locked") and ours.get("grade_id") in locked:
            cell.source = locked[ours["grade_id"]]


def _scores(notebook: Any, *, unsafe: bool) -> dict[str, Any]:
    """The points that nbgrader's rule gives, its comments, and what the checks said about each piece."""
    from nbgrader import utils

    from .preprocessors import UNSAFE

    log = logging.getLogger(__name__)
    scores: dict[str, float | None] = {}
    comments: dict[str, str | None] = {}
    pieces = []
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if utils.is_grade(cell) or utils.is_task(cell):
            scores[name] = utils.determine_grade(cell, log)[0] if utils.is_grade(cell) else None
        if utils.is_solution(cell) or utils.is_task(cell):
            untouched = cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)
            said = "No response." if untouched and not utils.is_task(cell) else None
            comments[name] = " ".join(filter(None, (said, UNSAFE))) if unsafe else said
        if cell.cell_type == "code":
            records = [record for out in cell.outputs for record in out.get("metadata", {}).get("kernelcourse", [])]
            pieces += [dict(record) | {"cell": name} for record in records]
    return {"scores": scores, "comments": comments, "pieces": pieces}
