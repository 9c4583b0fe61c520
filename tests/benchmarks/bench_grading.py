"""Grading: `kernelcourse grade` with sandboxes and verdicts outside, against plain `nbgrader autograde`.

The same twenty submissions of the first assignment, in turns. The goal is half of nbgrader's time on two cores.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelcourse.course.folder import CONFIG, Course
from tests.benchmarks.harness import Row, alone, compare
from tests.course.conftest import (
    HERE,
    Graded,
    nbgrader_api,
    plan_mistakes,
    release,
    temporary_course,
    with_wrong_answers,
)

ASSIGNMENT = "01-dual-representation"
STUDENTS = 20
CLASS, WORKERS = 10_000, 50
STOCK = (
    'c = get_config()\nc.CourseDirectory.course_id = "kernelcourse"\nc.CourseDirectory.source_directory = "solutions"\n'
)


def make_class(folder: Path) -> Course:
    """A released assignment and submissions that are right, or wrong here and there."""
    course = temporary_course(folder, HERE, ASSIGNMENT)
    release(course, ASSIGNMENT)
    with nbgrader_api(course) as api:
        graded = Graded(HERE, course, ASSIGNMENT, api)
        mistakes = list(plan_mistakes(graded).values())
        for number in range(STUDENTS):
            chosen = {} if number % 2 else mistakes[number // 2 % len(mistakes)]
            graded.submit(f"student-{number:02}", with_wrong_answers(graded, chosen))
    return course


def program(*arguments: str, course: Course) -> Callable[[], object]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return lambda: subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *arguments],
        cwd=course.root,
        env=os.environ | {"PATH": path, "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def peak_memory(job: Callable[[], object]) -> float:
    """The most that a grader's process and its sandbox took together, in MB, while a job of one student runs."""
    import threading

    import psutil

    peak = 0.0
    over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.1):
            used = 0.0
            for process in psutil.Process().children(recursive=True):
                try:
                    used += process.memory_full_info().pss
                except psutil.Error:
                    continue
            peak = max(peak, used / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    job()
    over.set()
    watcher.join()
    return peak


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        ours = make_class(Path(folder).resolve() / "ours")
        stock = Course(Path(folder).resolve() / "stock")
        shutil.copytree(ours.root, stock.root)
        (stock.root / CONFIG).write_text(STOCK, encoding="utf-8")
        graded = [
            program("kernelcourse", "grade", ASSIGNMENT, "--regrade", "--jobs", str(n), course=ours) for n in (1, 2)
        ]
        peer = program("nbgrader", "autograde", ASSIGNMENT, "--force", course=stock)
        job = f"{STUDENTS} submissions"
        rows = [
            compare(
                f"{job}, two jobs", graded[1], "nbgrader autograde", peer, repeats=3, note="at least 2 is the goal"
            ),
            alone(f"{job}, one job", graded[0]),
        ]
        some = program("kernelcourse", "grade", ASSIGNMENT, "--regrade", "--student", "student-01", course=ours)
        one = alone("1 submission", some)
        memory = peak_memory(some)
    each = (rows[1].ours - one.ours) / (STUDENTS - 1)  # without the start of the program
    hours = CLASS / WORKERS * each / 3600
    paper = (
        f"{each:.2f} s each once started; {CLASS:,} on {WORKERS} workers: {hours:.1f} h; {memory:.0f} MB with sandbox"
    )
    return [*rows, Row(**{**vars(one), "note": paper})]
