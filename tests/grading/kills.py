"""`kill -9` at random moments, with real sandboxes, then `--resume`: `python -m tests.grading.kills --rounds 10`.

Each round grades a small class, is killed and resumed several times, and then runs to completion. No student may be
lost or appear twice in the gradebook, results that were complete at a kill must stay as they were, no sandbox may be
left running, and the grades must equal those of an undisturbed run. The seed is printed; `--seed` repeats the moments.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from nbgrader.api import Gradebook

from kernelcourse.course.folder import Course
from tests.course.conftest import HERE
from tests.grading.hostile.submission import ASSIGNMENT, RIGHT, WRONG, honest, small_course

STUDENTS = 8
PATIENCE = 60  # seconds for the processes of a killed run to end


def state(course):
    """Everything that grading leaves behind, without run names and times."""
    with Gradebook(course.gradebook) as gradebook:
        entries = [
            (one.student.id, notebook)
            for one in gradebook.assignment_submissions(ASSIGNMENT)
            for notebook in one.notebooks
        ]
        grades = {
            (student, entry.name): (entry.auto_score, entry.manual_score, entry.needs_manual_grade)
            for student, notebook in entries
            for entry in notebook.grades
        }
        comments = {
            (student, entry.name): entry.auto_comment for student, notebook in entries for entry in notebook.comments
        }
    files = {
        str(path.relative_to(course.root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (course.root / "autograded").rglob("*")
        if path.is_file()
    }
    results = {
        student: {key: value for key, value in json.loads(content).items() if key not in ("run", "seconds")}
        for student, content in stored(course).items()
    }
    return grades, comments, files, results


def stored(course):
    """The complete results, as bytes."""
    places = (course.root / ".grading" / ASSIGNMENT).glob("*/result.json")
    return {path.parent.name: path.read_bytes() for path in places}


def make_class(folder):
    """A small course with submissions that are right, or wrong in some answers."""
    course, released = small_course(folder, HERE)
    for number in range(STUDENTS):
        answers = RIGHT | {name: text for bit, (name, text) in enumerate(WRONG.items()) if number >> bit & 1}
        submission = honest(released, answers)
        submission.insert(f"number = {number}")
        submission.write(course.root / "submitted" / f"student-{number}" / ASSIGNMENT)
    return course


def start(course, *options):
    command = [sys.executable, "-m", "kernelcourse", "grade", ASSIGNMENT, "--jobs", "2", *options]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    return subprocess.Popen(command, cwd=course.root, **quiet)


def finish(course, *options):
    assert start(course, *options).wait() == 0


def begun(course, run):
    """Wait until a run has made its plan or has ended; return that moment."""
    plan = course.root / ".grading" / f"{ASSIGNMENT}.run.json"
    while not plan.exists() and run.poll() is None:
        time.sleep(0.01)
    return time.monotonic()


def kill_after(course, seconds, *, everything, resume):
    """Kill a run this long after it made its plan, alone or with all its processes; return whether it was running."""
    run = start(course, *(["--resume"] if resume else []))
    end = begun(course, run) + seconds
    while time.monotonic() < end and run.poll() is None:
        time.sleep(0.01)
    family = psutil.Process(run.pid).children(recursive=True) if run.poll() is None else []
    for process in [*(family if everything else ()), run]:
        if process.pid == run.pid and run.poll() is not None:
            continue
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    run.wait()
    _, left = psutil.wait_procs(family, timeout=PATIENCE)
    assert not left, f"the killed run left {left} running"
    return run.returncode == -signal.SIGKILL


def one_round(course, expected, seconds, *, kills, rng):
    """Grade with this many kills along the way; return how many of them hit the run while it was working."""
    came = 0
    for number in range(kills):
        before = stored(course)
        came += kill_after(course, rng.uniform(0, seconds), everything=rng.random() < 0.5, resume=number > 0)
        after = stored(course)
        assert all(after.get(student) == content for student, content in before.items()), (
            "a complete result has changed"
        )
    before = stored(course)
    finish(course, "--resume")
    assert all(stored(course)[student] == content for student, content in before.items()), "graded twice"
    assert state(course) == expected, "the grades differ from those of an undisturbed run"
    assert not (course.root / ".grading" / "history").exists(), "a submission was counted twice"
    assert not list((course.root / ".grading").glob("drafts/*")), "drafts are left behind"
    return came


def main(rounds, kills, seed):
    print(f"seed {seed}: {rounds} rounds of {kills} kills, {STUDENTS} students", flush=True)
    with TemporaryDirectory() as folder:
        course = make_class(Path(folder).resolve() / "class")
        whole = Course(course.root.with_name("whole"))
        shutil.copytree(course.root, whole.root)
        finish(whole)
        run = start(whole, "--regrade")
        begin = begun(whole, run)
        assert run.wait() == 0
        seconds = time.monotonic() - begin
        expected = state(whole)
        assert len(expected[3]) == STUDENTS and len({str(one) for one in expected[0].values()}) > 1
        for number in range(rounds):
            again = Course(course.root.with_name(f"round-{number}"))
            shutil.copytree(course.root, again.root)
            came = one_round(again, expected, seconds, kills=kills, rng=random.Random(f"{seed} {number}"))
            print(f"round {number + 1}: {came} of {kills} kills hit a working run; all grades are equal", flush=True)
            shutil.rmtree(again.root)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kills", type=int, default=3, help="kills in each round")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    arguments = parser.parse_args()
    main(arguments.rounds, arguments.kills, arguments.seed)
