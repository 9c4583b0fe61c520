"""Grade one submission: bytes in, bytes out. It may happen in this process, in another, or on another machine."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from .engine import load_config, nbgrader_api, succeed
from .folder import CONFIG, Course
from .notebooks import write_notebook
from .receipt import NAME, receipt, versions
from .secret import fingerprint
from .transplant import LARGEST, Ending, assign, transplant

_MOST = 50  # notebooks of a submission
_ONE_AT_A_TIME = threading.Lock()  # nbgrader changes the process's folder while it works


@dataclass(frozen=True)
class Task:
    """What is the same for all submissions of a run."""

    assignment: str
    course: dict[str, bytes]  # configuration, release and an empty gradebook, by their paths in the course folder
    secret: str
    unsafe: bool
    run: str  # names the run, so that an interrupted one can be told from the next
    shelf: str = ""  # where the sandboxes' libraries are, if that is on this machine


@dataclass(frozen=True)
class Graded:
    """What came of a submission."""

    result: dict[str, Any]
    files: dict[str, bytes]  # the autograded notebooks


def read_submission(folder: Path) -> dict[str, bytes]:
    """The notebooks of a submission and its time stamp. Links are not followed, other files not looked at.

    Small files come first: what is left out, if they are too many or too large together, is no student's work.
    """
    found: dict[str, bytes] = {}
    entries = [entry for entry in os.scandir(folder) if _is_wanted(entry.name)] if folder.is_dir() else []
    for entry in sorted(entries, key=lambda entry: (entry.stat(follow_symlinks=False).st_size, entry.name))[:_MOST]:
        room = LARGEST + 1 - sum(map(len, found.values()))
        if room <= 0:
            break
        try:
            descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        with open(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                found[entry.name] = file.read(room)
    return found


def _is_wanted(name: str) -> bool:
    return name == "timestamp.txt" or name.endswith(".ipynb")


def digest(submission: dict[str, bytes]) -> str:
    """The same for the same files."""
    total = hashlib.sha256()
    for name, content in sorted(submission.items()):
        total.update(os.fsencode(name) + f"\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def course_files(course: Course, assignment: str) -> dict[str, bytes]:
    """The files of a course that grading an assignment needs; support files count as the source's and the release's."""
    files = {CONFIG: (course.root / CONFIG).read_bytes()}
    folder = course.exercises / assignment
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith((".checks.json", ".commitment.json")):  # for students' machines
            files[f"exercises/{assignment}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
            if path.suffix != ".ipynb":
                files[f"solutions/{assignment}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    checks = course.checks(assignment)
    return files if checks is None else files | {f"solutions/{assignment}/{checks.name}": checks.read_bytes()}


def grade_submission(task: Task, student: str, submission: dict[str, bytes]) -> Graded:
    """Grade the files of a student with nbgrader, in a folder and a gradebook of their own."""
    start = time.monotonic()
    with _ONE_AT_A_TIME, tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder).resolve())
        for name, content in task.course.items():
            _write(course.root / name, content)
        odd = _lay_out(course, task.assignment, student, submission)
        config = load_config(course)
        config.GradeSafely.shelf = task.shelf or _own_shelf()
        if task.unsafe:
            config.GradeSafely.unsafe = True
        config.GradeSafely.secret = task.secret
        with warnings.catch_warnings(), nbgrader_api(course, config=config) as api:
            warnings.simplefilter("ignore")  # nbgrader's own, about its database
            succeed(api.autograde(task.assignment, student), f"grade {student}")
            notebooks, more = _read_grades(api, task.assignment, student)
        made = course.root / "autograded" / student / task.assignment
        files = {path.relative_to(made).as_posix(): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    odd += _complete(notebooks, files)
    result = {
        "student": student,
        "assignment": task.assignment,
        "endings": odd,
        "notebooks": notebooks,
        "seed": fingerprint(task.secret),
        "unsafe": task.unsafe,
        "seconds": round(time.monotonic() - start, 3),
        "digest": digest(submission),
        "run": task.run,
        "versions": versions(),
        **more,
    }
    return Graded(result, files | {NAME: receipt(result, task.secret)})


@cache
def _own_shelf() -> str:
    folder = tempfile.mkdtemp(prefix="kernelcourse-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _lay_out(course: Course, assignment: str, student: str, submission: dict[str, bytes]) -> list[dict[str, str]]:
    """Write the submission as nbgrader expects it; return what is odd about it."""
    import nbformat

    released = sorted((course.exercises / assignment).glob("*.ipynb"))
    releases = {path.stem: nbformat.read(path, as_version=4) for path in released}
    found = assign({name: content for name, content in submission.items() if name.endswith(".ipynb")}, releases)
    folder = course.root / "submitted" / student / assignment
    for stem, cells in found.cells.items():
        write_notebook(transplant(cells, releases[stem]), folder / f"{stem}.ipynb")
    if "timestamp.txt" in submission:
        if _is_time(submission["timestamp.txt"]):
            _write(folder / "timestamp.txt", submission["timestamp.txt"])
        else:
            found.endings.append(Ending("unreadable time stamp", "timestamp.txt holds no time; it was not looked at."))
    return [ending.record for ending in found.endings]


def _is_time(content: bytes) -> bool:
    from nbgrader.utils import parse_utc

    if len(content) > 100:  # it would take the parser minutes to find that out
        return False
    try:
        return isinstance(parse_utc(content.decode().strip()), datetime)
    except Exception:  # noqa: BLE001 - the parser raises whatever it likes
        return False


def _read_grades(api: Any, assignment: str, student: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scores that nbgrader gave, its comments, and what else belongs into the gradebook."""
    notebooks = {}
    with api.gradebook as gradebook:
        submission = gradebook.find_submission(assignment, student)
        timestamp = submission.timestamp.isoformat() if submission.timestamp else None
        for notebook in submission.notebooks:
            notebooks[notebook.name] = {
                "scores": {grade.name: grade.auto_score for grade in notebook.grades},
                "comments": {comment.name: comment.auto_comment for comment in notebook.comments},
                "late_penalty": notebook.late_submission_penalty,
            }
    return notebooks, {"timestamp": timestamp}


def _complete(notebooks: dict[str, Any], files: dict[str, bytes]) -> list[dict[str, str]]:
    """Add what the checks said of each piece; return what was odd while the notebooks ran."""
    import nbformat

    odd = []
    for stem, notebook in notebooks.items():
        graded = nbformat.reads(files[f"{stem}.ipynb"].decode(), as_version=4)
        outputs = [output for cell in graded.cells if cell.cell_type == "code" for output in cell.outputs]
        records = [record for output in outputs for record in output.get("metadata", {}).get("kernelcourse", [])]
        notebook["pieces"] = [dict(record) for record in records]
        odd += [dict(ending) for ending in graded.metadata["kernelcourse"]["endings"]]
    return odd
