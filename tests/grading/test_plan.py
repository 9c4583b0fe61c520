"""Before anything is graded: what a run has to do, and what it refuses at the start. Afterwards: what it leaves."""

import json
import os
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from kernelcourse.course import grade, merge
from kernelcourse.course.check import Row, render
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """A course with five students: not graded, graded but not merged, graded, submitted again, unchanged."""
    graded = {"bob": "1", "cleo": "1", "dan": "1", "eve": "1"}
    submitted = {"ada": "1", "bob": "1", "cleo": "1", "dan": "2", "eve": "1"}
    monkeypatch.setattr(
        merge, "read_result", lambda course, task, who: {"digest": graded[who]} if who in graded else None
    )
    monkeypatch.setattr(merge, "is_merged", lambda course, task, who: who in ("cleo", "dan", "eve"))
    room = SimpleNamespace(course=Course(tmp_path), assignment="01-a", speakers={name: name for name in submitted})
    room.read = lambda student: SimpleNamespace(digest=submitted[student])
    return room


def plan(room, **how):
    students = ["ada", "bob", "cleo", "dan", "eve"]
    return grade._plan(room, students, **({"resume": False, "regrade": False} | how))


def test_a_run_grades_what_is_new_and_says_how_many_it_skips(graded):
    found = plan(graded)
    assert found["students"] == ["ada", "bob", "dan"] and found["skipped"] == 2
    again = plan(graded, regrade=True)
    assert again["students"] == ["ada", "bob", "cleo", "dan", "eve"] and again["skipped"] == 0
    assert again["run"] != found["run"]


def test_a_resumed_run_keeps_its_list_and_its_name(graded):
    first = plan(graded, regrade=True)
    assert plan(graded, resume=True) == first == json.loads(grade._plan_file(graded.course, "01-a").read_bytes())
    assert plan(graded) != first


def test_the_first_run_may_be_told_to_resume(graded):
    assert plan(graded, resume=True)["students"] == ["ada", "bob", "dan"]


@pytest.mark.parametrize("failures", [{}, {"ada": "no"}])
def test_a_run_that_has_failed_for_somebody_can_be_resumed_and_a_finished_one_cannot(graded, failures, monkeypatch):
    room = SimpleNamespace(chosen=lambda students: ["ada"], warnings=lambda: [], **vars(graded))
    monkeypatch.setattr("kernelcourse.course.submitted.Submitted", lambda course, assignment: room)
    monkeypatch.setattr(grade, "_ready", lambda *what: None)
    monkeypatch.setattr(grade._Run, "grade", lambda self, **how: failures)
    (result,) = grade.grade(graded.course, "01-a")
    assert result["failure"] == failures.get("ada", "not graded")
    assert grade._plan_file(graded.course, "01-a").exists() == bool(failures)


def test_the_progress_bar_starts_no_thread_that_forks_would_lose(graded, monkeypatch):
    writer = nullcontext(SimpleNamespace(settle=lambda times: []))
    monkeypatch.setattr(merge, "Writer", lambda course, assignment: writer)
    monkeypatch.setattr(tqdm, "monitor_interval", 10)
    monkeypatch.setattr(tqdm, "monitor", None)
    threads = []
    monkeypatch.setattr(grade._Run, "_stored", lambda self, student: threads.append(tqdm.monitor))
    monkeypatch.setattr(grade._Run, "_graded", lambda self, *what: [])
    graded.times = dict
    run = grade._Run(graded, {"run": "1", "students": ["ada"], "skipped": 0}, unsafe=False)
    assert run.grade(jobs=1, cluster="") == {} and threads == [None, None]


def test_a_result_is_on_the_disk_before_it_is_moved(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    merge._write_through(tmp_path / "folder" / "result.json", b"12345")
    assert synced == [5] and (tmp_path / "folder" / "result.json").read_bytes() == b"12345"


def test_a_machine_that_cannot_make_a_sandbox_is_told_why(tmp_path, monkeypatch):
    bubblewrap = tmp_path / "bwrap"
    bubblewrap.write_text("#!/bin/sh\necho no permissions for namespaces >&2\nexit 1\n")
    bubblewrap.chmod(0o755)
    monkeypatch.setattr("kernelcourse.course.sandbox.find_bubblewrap", lambda: str(bubblewrap))
    course = Course(tmp_path)
    with pytest.raises(CourseError, match="01-a is not released"):
        grade._ready(course, "01-a", unsafe=True)
    (course.exercises / "01-a").mkdir(parents=True)
    (course.exercises / "01-a" / "a.ipynb").touch()
    with pytest.raises(CourseError, match="01-a is not released"):
        grade._ready(course, "01-a", unsafe=True)
    (course.root / "gradebook.db").touch()
    with pytest.raises(CourseError, match=r"cannot make a sandbox here: no permissions for namespaces\. It"):
        grade._ready(course, "01-a", unsafe=False)
    assert grade._ready(course, "01-a", unsafe=True) is None


@pytest.mark.parametrize("width", [30, 48, 49, 60, 79, 100])
def test_hints_fill_the_lines_of_the_table_and_no_more(width):
    hint = "a hint of many short words, " * 8
    (first, *others), _ = (part.splitlines() for part in render([Row("piece", 2, 1, hint)], width=width).split("\n\n"))
    head = "✗ piece    1 of 2    "
    room = max(width - len(head), 30)
    lines = [first.removeprefix(head), *(line.removeprefix(" " * len(head)) for line in others)]
    assert first.startswith(head) and all(line.startswith(" " * len(head)) for line in others)
    assert " ".join(lines) == hint.strip()
    assert all(len(line) <= room for line in lines)
    words = [line.split()[0] for line in lines[1:]]
    assert all(len(line) + 1 + len(word) > room for line, word in zip(lines, words, strict=False))
