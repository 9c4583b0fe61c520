"""Grading: `kernelcourse grade` with sandboxes and verdicts outside, against plain `nbgrader autograde`.

The same twenty submissions of the first assignment, in turns, about five minutes in all. The goal is 0.9 s of a core
for a submission, against the seconds that nbgrader takes on one core. `make bench ONLY=grading FLAGS=--save` writes
what the instructor's page shows.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from timeit import timeit
from typing import Any

from kernelcourse.course.folder import CONFIG, Course
from tests.benchmarks import harness
from tests.course.conftest import (
    HERE,
    Graded,
    nbgrader_api,
    release,
    temporary_course,
    with_wrong_answers,
)

ASSIGNMENT = "01-dual-representation"
STUDENTS = 20
REPEATS = 2
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
        for number in range(STUDENTS):
            wrong = {name: p.mistakes[number // 2 % len(p.mistakes)] for name, p in graded.pieces.items() if p.mistakes}
            graded.submit(f"student-{number:02}", with_wrong_answers(graded, {} if number % 2 else wrong))
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
    """The most that all processes of a run took together, in MB: of one student, a job and the program around it."""
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


def run() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        ours = make_class(Path(folder).resolve() / "ours")
        stock = Course(Path(folder).resolve() / "stock")
        shutil.copytree(ours.root, stock.root)
        (stock.root / CONFIG).write_text(STOCK, encoding="utf-8")
        some = ("--student", "student-01")
        grading = ("kernelcourse", "grade", ASSIGNMENT, "--regrade")
        one, two = (program(*grading, "--jobs", str(jobs), course=ours) for jobs in (1, 2))
        single = program(*grading, *some, course=ours)
        peer = program("nbgrader", "autograde", ASSIGNMENT, "--force", course=stock)
        single()
        program("nbgrader", "autograde", ASSIGNMENT, *some, course=stock)()  # both have now read their files once
        pairs = [(timeit(two, number=1), timeit(peer, number=1)) for _ in range(REPEATS)]
        record = {
            "machine": harness.machine(),
            "submissions": STUDENTS,
            "two": [pair[0] for pair in pairs],
            "stock": [pair[1] for pair in pairs],
            "one": [timeit(one, number=1)],
            "single": [timeit(single, number=1) for _ in range(REPEATS)],
            "memory": peak_memory(single),
        }
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    (harness.RESULTS / "grading.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\n## grading\n\n{for_the_book(record)}", flush=True)
    return [record]


def for_the_book(record: dict[str, Any]) -> str:
    """What the page on grading says about times, memory and a very large class."""
    number = record["submissions"]
    two, one, stock, single = (statistics.median(record[name]) for name in ("two", "one", "stock", "single"))
    core = 2 * two / number  # seconds of a core: two jobs keep two of them busy
    ratios = sorted(b / (2 * a) for a, b in zip(record["two"], record["stock"], strict=True))
    minutes = CLASS / WORKERS * core / 60
    machine = record["machine"]
    lines = [
        f"| {number} submissions of the first assignment | seconds | seconds each | per minute |",
        "|---|---|---|---|",
        f"| `nbgrader autograde`, no sandbox, {machine['nbgrader']} | {stock:.0f} | {stock / number:.2f} "
        f"| {60 * number / stock:.0f} |",
        f"| `kernelcourse grade --jobs 1` | {one:.0f} | {one / number:.2f} | {60 * number / one:.0f} |",
        f"| `kernelcourse grade --jobs 2` | {two:.0f} | {two / number:.2f} | {60 * number / two:.0f} |",
        "",
        f"Per core, a submission takes {core:.2f} s here and {stock / number:.2f} s with nbgrader, which uses one: "
        f"**{statistics.median(ratios):.1f} times** as fast ({ratios[0]:.1f} to {ratios[-1]:.1f}; the runs took "
        f"turns). A run with one student takes at most {record['memory']:.0f} MB: the program, the job's grader and "
        "its sandbox.",
        "",
        f"At {core:.1f} s of a core per submission, {CLASS:,} submissions on {WORKERS} workers with one core each "
        f"would take {minutes:.0f} minutes. The single writer of the gradebook would then have "
        f"{1000 * core / WORKERS:.0f} milliseconds for each of them. One submission alone takes "
        f"{single:.1f} s, the start of the program included.",
        "",
        f"Measured on {machine['cores']} cores with Python {machine['python']}, other programs running: the load was "
        f"{machine.get('load', 'not known')} at the end.",
    ]
    return "\n".join(lines) + "\n"
