"""`kernelcourse grade` from start to finish, with real sandboxes."""

import json
import os
import shutil
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.api import Gradebook

from kernelcourse.course.cli import main
from kernelcourse.course.engine import nbgrader_api, succeed
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course
from kernelcourse.course.grade import grade
from kernelcourse.course.preprocessors import UNSAFE
from kernelcourse.course.received import note_received
from tests.grading.hostile.classroom import limit
from tests.grading.hostile.submission import ASSIGNMENT, POINTS, RIGHT, STEM, WRONG, honest
from tests.grading.somebody import WHO, run_as_somebody

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names the package"
)

HALF = WRONG | {"kernel": RIGHT["kernel"]}
FULL = {name: float(points) for name, points in POINTS.items()}


def submit(course, student, content, name=f"{STEM}.ipynb"):
    folder = course.root / "submitted" / student / ASSIGNMENT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def scores(course, student):
    """The scores in the gradebook."""
    with Gradebook(course.gradebook) as gradebook:
        notebook = gradebook.find_submission_notebook(STEM, ASSIGNMENT, student)
        return {entry.name: entry.auto_score for entry in notebook.grades}


@pytest.fixture(scope="module")
def graded(released, notebook, tmp_path_factory):
    """A graded class with a bit of everything."""
    root = tmp_path_factory.mktemp("graded") / "course"
    shutil.copytree(released.root, root)
    course = Course(root)
    submit(course, "perfect", honest(notebook).notebook)
    note_received(course.root / "submitted", ASSIGNMENT, {"perfect": "2026-01-02 03:04:05 UTC"})
    submit(course, "half", honest(notebook, HALF).notebook)
    submit(course, "renamed", honest(notebook).notebook, "Untitled (2).ipynb")
    submit(course, "broken", b'{"cells": [')
    (root / "submitted" / "absent" / ASSIGNMENT).mkdir(parents=True)
    troubled = honest(notebook)
    troubled.insert("while True: pass", before="kernel")
    troubled.insert("import os; os._exit(1)", before="dual")
    troubled.insert("print('x' * 10**7)", before="not-a-kernel")
    results = grade(course, ASSIGNMENT, jobs=2)
    submit(course, "troubled", troubled.notebook)
    limit(course, seconds=1, patience=200)
    results = {result["student"]: result for result in [*results, *grade(course, ASSIGNMENT, ["troubled"])]}
    return SimpleNamespace(course=course, results=results)


def kinds(result):
    return [ending["kind"] for ending in result["endings"]]


def test_everybody_gets_what_they_earned(graded):
    assert scores(graded.course, "perfect") == scores(graded.course, "renamed") == FULL
    assert scores(graded.course, "half") == dict.fromkeys(FULL, 0.0) | {"check-kernel": 2.0}
    assert scores(graded.course, "broken") == scores(graded.course, "absent") == dict.fromkeys(FULL, 0.0)


def test_bad_ends_are_listed_and_cost_nothing_else(graded):
    assert {name: kinds(result) for name, result in graded.results.items()} == {
        "perfect": [],
        "half": [],
        "renamed": ["wrong file name"],
        "broken": ["unreadable notebook"],
        "absent": ["missing notebook"],
        "troubled": ["timeout", "kernel died", "too much output"],
    }
    assert scores(graded.course, "troubled") == FULL
    assert all(ending["text"] and ending["notebook"] == STEM for ending in graded.results["troubled"]["endings"])


def test_a_result_says_all_that_a_report_needs(graded):
    stored = json.loads((graded.course.root / ".grading" / ASSIGNMENT / "half" / "result.json").read_bytes())
    assert stored == graded.results["half"]
    pieces = {piece["piece"]: piece for piece in stored["notebooks"][STEM]["pieces"]}
    assert list(pieces) == ["kernel", "gram_matrix", "dual_weights", "predict", "not_a_kernel"]
    assert pieces["kernel"]["earned"] == 2 and pieces["predict"]["earned"] == 0 and pieces["predict"]["problem"]
    assert stored["notebooks"][STEM]["scores"] == scores(graded.course, "half")
    assert stored["unsafe"] is False and stored["seconds"] > 0 and len(stored["digest"]) == 64
    assert stored["seed"] and stored["seed"] not in (graded.course.root / ".grading" / "seed").read_text()


def test_notebooks_and_time_stamps_are_where_nbgrader_expects_them(graded):
    path = graded.course.root / "autograded" / "perfect" / ASSIGNMENT
    notebook = nbformat.read(path / f"{STEM}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (path / "timestamp.txt").exists()
    with Gradebook(graded.course.gradebook) as gradebook:
        submission = gradebook.find_submission(ASSIGNMENT, "perfect")
        assert str(submission.timestamp) == "2026-01-02 03:04:05"
        assert submission.score == submission.max_score


def test_feedback_shows_the_verdict_and_no_hidden_test(graded):
    with nbgrader_api(graded.course) as api:
        succeed(api.generate_feedback(ASSIGNMENT, "half"), "write feedback")
    page = (graded.course.root / "feedback" / "half" / ASSIGNMENT / f"{STEM}.html").read_text(encoding="utf-8")
    assert "not right yet" in page and "check" in page
    assert "HIDDEN" not in page and "check.hidden" not in page


def test_what_is_graded_is_left_alone_until_it_changes(graded, notebook, tmp_path, capsys):
    course = Course(tmp_path / "copy")
    shutil.copytree(graded.course.root, course.root, symlinks=True)
    before = json.loads((course.root / ".grading" / ASSIGNMENT / "half" / "result.json").read_bytes())
    assert grade(course, ASSIGNMENT, ["half"], resume=True)[0] == before
    assert "0 graded, 1 left as they were" in capsys.readouterr().out
    with Gradebook(course.gradebook) as gradebook:
        given = gradebook.find_grade("check-dual", STEM, ASSIGNMENT, "half")
        given.manual_score, given.extra_credit = 3.5, 0.25
        gradebook.find_comment("dual", STEM, ASSIGNMENT, "half").manual_comment = "see me"
        gradebook.db.commit()
    submit(course, "half", honest(notebook).notebook)
    assert grade(course, ASSIGNMENT, ["half"])[0]["digest"] != before["digest"]
    with Gradebook(course.gradebook) as gradebook:
        given = gradebook.find_grade("check-dual", STEM, ASSIGNMENT, "half")
        assert (given.auto_score, given.manual_score, given.extra_credit) == (4, 3.5, 0.25)
        assert given.needs_manual_grade
        assert gradebook.find_comment("dual", STEM, ASSIGNMENT, "half").comment == "see me"
    assert scores(course, "perfect") == FULL


def test_an_instructor_without_rights_grades_a_class(course, notebook):
    if os.geteuid() != 0:
        pytest.skip("every other test already runs without rights")
    submit(course, "perfect", honest(notebook).notebook)
    troubled = honest(notebook, HALF)
    troubled.insert("import os, threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()\nos._exit(1)")
    submit(course, "troubled", troubled.notebook)
    command = ["-m", "kernelcourse", "grade", ASSIGNMENT, "--jobs", "2", "--course", str(course.root)]
    done = run_as_somebody(*command, owns=[course.root])
    assert done.returncode == 0, done.stderr
    assert "2 graded, 0 left as they were, 0 failed" in done.stdout
    assert "troubled: kernel died" in done.stderr
    assert scores(course, "perfect") == FULL
    assert scores(course, "troubled") == dict.fromkeys(FULL, 0.0) | {"check-kernel": 2.0}
    assert (course.root / "autograded" / "perfect" / ASSIGNMENT / f"{STEM}.ipynb").stat().st_uid == WHO


def test_plain_nbgrader_gives_the_same(graded, course, notebook):
    shutil.copy(graded.course.root / ".grading" / "seed", course.root / ".grading")
    submission = honest(notebook, HALF)
    for check in submission.checks():
        check["metadata"]["tags"] = ["skip-execution"]
    submit(course, "half", submission.notebook)
    with nbgrader_api(course) as api:
        succeed(api.autograde(ASSIGNMENT, "half"), "grade")
    assert scores(course, "half") == scores(graded.course, "half")


def test_without_bubblewrap_only_if_told_so_and_it_shows(course, notebook, monkeypatch, capsys):
    monkeypatch.setenv("PATH", os.devnull)
    submit(course, "perfect", honest(notebook).notebook)
    assert main(["grade", ASSIGNMENT, "--course", str(course.root)]) == 2
    assert "apt install bubblewrap" in capsys.readouterr().err
    assert main(["grade", ASSIGNMENT, "--unsafe", "--course", str(course.root)]) == 0
    assert scores(course, "perfect") == FULL
    with Gradebook(course.gradebook) as gradebook:
        assert UNSAFE in gradebook.find_comment("dual", STEM, ASSIGNMENT, "perfect").auto_comment
    assert (
        json.loads((course.root / ".grading" / ASSIGNMENT / "perfect" / "result.json").read_bytes())["unsafe"] is True
    )


def test_what_cannot_be_done_is_refused_in_words(course, notebook):
    with pytest.raises(CourseError, match="there are: 01-dual-representation"):
        grade(course, "02-nothing")
    with pytest.raises(CourseError, match="nothing to grade"):
        grade(course, ASSIGNMENT)
    submit(course, "somebody", honest(notebook).notebook)
    with pytest.raises(CourseError, match=r"no submission .* by nobody"):
        grade(course, ASSIGNMENT, ["nobody"])
    shutil.rmtree(course.exercises)
    with pytest.raises(CourseError, match="kernelcourse release"):
        grade(course, ASSIGNMENT)
