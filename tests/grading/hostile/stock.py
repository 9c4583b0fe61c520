"""The same attacks on plain nbgrader, each in a throwaway copy of the course inside a separate sandbox."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import kernelcourse
from kernelcourse.course.folder import Course

from .submission import ASSIGNMENT, HONEST, RIGHT, STEM, WRONG, Attack, Place, honest, small_course

VICTIM = "victim"
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "kernelcourse"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.ignore = ["*.md", ".*", "__pycache__", "*.pyc"]
c.Execute.timeout = c.ExecutePreprocessor.timeout = 5
"""
DRIVER = """
import json, sys, time
from pathlib import Path
from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.folder import Course
course, assignment, stem, students, patience = json.loads(sys.argv[1])
with nbgrader_api(Course(Path(course))) as api:
    done = {student: api.autograde(assignment, student, create=True)["success"] for student in students}
    time.sleep(patience)
    with api.gradebook as gradebook:
        for student in students:
            try:
                score = gradebook.find_submission(assignment, student).score if done[student] else None
            except Exception as error:
                score = None
            print(json.dumps([student, score]), flush=True)
"""
INSIDE = Path("/tmp/stock")


def stock_course(folder: Path, home: Course) -> tuple[Course, dict]:
    """A course with nbgrader's own configuration, and with a copy of the library that attacks may damage."""
    course, released = small_course(folder / "course", home)
    (course.root / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    source = Path(kernelcourse.__file__).parent
    shutil.copytree(source, folder / "library" / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return course, released


def stock(attack: Attack, course: Course, released: dict) -> str:
    """What plain nbgrader gives the attack, and what it does to the next student."""
    with TemporaryDirectory() as folder:
        work = Path(folder) / "stock"
        shutil.copytree(course.root.parent, work)
        place = Place(INSIDE / "course", INSIDE / "canary")
        (work / "canary").write_text("untouched", encoding="utf-8")
        submitted = work / "course" / "submitted"
        attack.submission(released, place).write(submitted / attack.name / ASSIGNMENT)
        honest(released, WRONG | {"kernel": RIGHT["kernel"]}).write(submitted / VICTIM / ASSIGNMENT)
        honest(released).write(submitted / "honest-1" / ASSIGNMENT)
        scores = _run(work, [attack.name, VICTIM], patience=3 if "second later" in attack.tries else 0)
        harm = []
        if (work / "canary").read_text(encoding="utf-8") != "untouched":
            harm.append("a file elsewhere is overwritten")
    if not scores:
        return "the run does not end" if scores is None else "the run is killed"
    score = scores.get(attack.name)
    text = (
        f"**{score:g}**"
        if score is not None and score > attack.earns
        else "no grade"
        if score is None
        else f"{score:g}"
    )
    if scores.get(VICTIM) != HONEST:
        other = scores.get(VICTIM)
        harm.insert(0, f"the next student gets {'no grade' if other is None else f'{other:g}'} instead of {HONEST:g}")
    return "; ".join([text, *harm])


def _run(work: Path, students: list[str], *, patience: float) -> dict[str, float | None] | None:
    """The scores; empty if the grader was killed, None if it did not finish."""
    arguments = json.dumps([str(INSIDE / "course"), ASSIGNMENT, STEM, students, patience])
    command = ["bwrap", "--die-with-parent", "--unshare-all", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev"]
    command += ["--proc", "/proc", "--size", "1000000000", "--tmpfs", "/tmp", "--bind", str(work), str(INSIDE)]
    command += ["--chdir", str(INSIDE / "course"), "--", sys.executable, "-c", DRIVER, arguments]
    environment = {**os.environ, "HOME": str(INSIDE), "PYTHONPATH": str(INSIDE / "library")}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000,) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000_000,) * 2)

    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60, check=False, preexec_fn=limit
        )
    except subprocess.TimeoutExpired:
        return None
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
