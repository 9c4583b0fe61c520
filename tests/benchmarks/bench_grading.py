"""Grading: `kernelcourse grade`, with sandboxes and verdicts outside them, against plain `nbgrader autograde`.

The submissions are the released notebook of the first assignment with all its cells and with answers filled in; every
other one contains mistakes. We grade a class of 300, so that the program's start-up counts as much as in a real class.
To save time, nbgrader grades only the first fifteen of them, and a run with one job grades thirty. All of it takes
about six minutes on two cores. The goal is at most 0.9 s of a core per submission.
`make bench ONLY=grading FLAGS=--save` writes what the instructor's page shows.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
STUDENTS, ALONE_STUDENTS, STOCK_STUDENTS = 300, 30, 15
REPEATS = 2
CLASS, WORKERS = 10_000, 50
STOCK = (
    'c = get_config()\nc.CourseDirectory.course_id = "kernelcourse"\nc.CourseDirectory.source_directory = "solutions"\n'
)


def name_of(number: int) -> str:
    return f"student-{number:03}"


def make_class(folder: Path) -> Course:
    """A released assignment, and complete submissions that are right or contain some mistakes."""
    course = temporary_course(folder, HERE, ASSIGNMENT)
    release(course, ASSIGNMENT)
    with nbgrader_api(course) as api:
        graded = Graded(HERE, course, ASSIGNMENT, api)
        for number in range(STUDENTS):
            wrong = {name: p.mistakes[number // 2 % len(p.mistakes)] for name, p in graded.pieces.items() if p.mistakes}
            complete = graded.perfect()
            graded.submit(name_of(number), complete if number % 2 else with_wrong_answers(graded, complete, wrong))
    return course


def program(*arguments: str, course: Course, group: Path | None = None) -> Callable[[], object]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def join() -> None:
        if group:
            (group / "run" / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    return lambda: subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *arguments],
        cwd=course.root,
        env=os.environ | {"PATH": path, "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=join,
    )


@contextmanager
def control_group() -> Iterator[Path | None]:
    """A control group that counts processor time, where one can be made: no parent learns what sandboxes use.

    The programs run in a group inside, beside which a grader makes those of its sandboxes.
    """
    made = None
    for top in (Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")):
        group = top / f"kernelcourse-{os.getpid()}"
        if (top / "cgroup.procs").exists():
            with suppress(OSError):
                (group / "run").mkdir(parents=True)
                made = group
                break
    yield made
    if made:
        (made / "run").rmdir()
        made.rmdir()


def used(group: Path | None) -> float:
    """The seconds of processor time that all processes of a group have used; NaN if there is no group."""
    if group is None:
        return math.nan
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(counts["usage_usec"]) / 1e6


def peak_memory(job: Callable[[], object]) -> float:
    """The peak memory of all processes that a run starts, in MB: for one student, a job and the program around it."""
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
    with tempfile.TemporaryDirectory() as folder, control_group() as group:
        ours = make_class(Path(folder).resolve() / "ours")
        stock = Course(Path(folder).resolve() / "stock")
        shutil.copytree(ours.root, stock.root)
        for number in range(STOCK_STUDENTS, STUDENTS):
            shutil.rmtree(stock.root / "submitted" / name_of(number))
        (stock.root / CONFIG).write_text(STOCK, encoding="utf-8")
        some = ("--student", name_of(1))
        grading = ("kernelcourse", "grade", ASSIGNMENT, "--regrade")
        first = [word for number in range(ALONE_STUDENTS) for word in ("--student", name_of(number))]
        one = program(*grading, "--jobs", "1", *first, course=ours, group=group)
        two = program(*grading, "--jobs", "2", course=ours, group=group)
        single = program(*grading, *some, course=ours, group=group)
        peer = program("nbgrader", "autograde", ASSIGNMENT, "--force", course=stock, group=group)
        single()
        program("nbgrader", "autograde", ASSIGNMENT, *some, course=stock)()  # both have now read their files once
        record: dict[str, Any] = {
            "machine": harness.machine(),
            "submissions": STUDENTS,
            "one submissions": ALONE_STUDENTS,
            "stock submissions": STOCK_STUDENTS,
        }

        def measure(name: str, job: Callable[[], object]) -> None:
            before = used(group)
            record.setdefault(name, []).append(timeit(job, number=1))
            if group:
                record.setdefault(f"{name} processor", []).append(used(group) - before)

        for _ in range(REPEATS):
            measure("two", two)
            measure("stock", peer)
            measure("single", single)
        measure("one", one)
        record["memory"] = peak_memory(single)
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    (harness.RESULTS / "grading.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\n## grading\n\n{for_the_book(record)}", flush=True)
    return [record]


def for_the_book(record: dict[str, Any]) -> str:
    """What the page on grading says about times, memory and a very large class."""
    number, few = record["submissions"], record["stock submissions"]
    alone = record.get("one submissions", number)
    two, one, stock, single = (statistics.median(record[name]) for name in ("two", "one", "stock", "single"))
    core = 2 * two / number  # core-seconds: two jobs keep two cores busy
    ratios = sorted(b / few / (2 * a / number) for a, b in zip(record["two"], record["stock"], strict=True))
    minutes = CLASS / WORKERS * core / 60
    machine = record["machine"]
    lines = [
        "| the first assignment | submissions | seconds | seconds each | per minute |",
        "|---|---|---|---|---|",
        f"| `nbgrader autograde`, no sandbox, {machine['nbgrader']} | {few} | {stock:.0f} | {stock / few:.2f} "
        f"| {60 * few / stock:.0f} |",
        f"| `kernelcourse grade --jobs 1` | {alone} | {one:.0f} | {one / alone:.2f} | {60 * alone / one:.0f} |",
        f"| `kernelcourse grade --jobs 2` | {number} | {two:.0f} | {two / number:.2f} | {60 * number / two:.0f} |",
        "",
        f"Per core, a submission takes {core:.2f} s here and {stock / few:.2f} s with nbgrader, which uses one core. "
        f"`kernelcourse grade` is **{statistics.median(ratios):.1f} times** as fast. The two programs ran alternately, "
        f"and this factor was between {ratios[0]:.1f} and {ratios[-1]:.1f}. To save time, nbgrader graded only {few} "
        f"of the {number} submissions.",
        "",
        f"A run with one student takes at most {record['memory']:.0f} MB: the program, the job's grader and its "
        "sandbox.",
        "",
        *_processor_time(record),
        f"At {core:.1f} s of a core per submission, {CLASS:,} submissions on {WORKERS} workers with one core each "
        f"would take {minutes:.0f} minutes. The single writer of the gradebook would then have "
        f"{1000 * core / WORKERS:.0f} milliseconds for each of them. One submission alone takes "
        f"{single:.1f} s, including the time to start the program.",
        "",
        f"Measured on {machine['cores']} cores with Python {machine['python']}. The load average was "
        f"{machine.get('load', 'not known')} before the first run that was timed.",
    ]
    return "\n".join(lines) + "\n"


def _processor_time(record: dict[str, Any]) -> list[str]:
    """The time that other programs on the machine affect least, where it was counted."""
    if "two processor" not in record:
        return []
    ours = statistics.median(record["two processor"]) / record["submissions"]
    theirs = statistics.median(record["stock processor"]) / record["stock submissions"]
    times = f"{ours:.2f} s here and {theirs:.2f} s with nbgrader"
    return [f"In processor time, with start-up included, a submission takes {times}.", ""]
