"""Your own course, from an empty folder to a grade that a student replays, as the instructors' page describes it."""

import json
import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbgrader.api import Gradebook
from traitlets.config import Config

from kernelcourse.checking import CheckFailed, NoChecks, catalogue, checks_in
from kernelcourse.course import amend, doctor, rehearsal
from kernelcourse.course.amend import Amended, Given, _pair, _restore, _state
from kernelcourse.course.cli import main
from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course
from kernelcourse.course.init import init
from kernelcourse.course.notebooks import read_source
from kernelcourse.course.recording import record
from kernelcourse.course.replay import _held_against
from kernelcourse.course.secret import commitment
from tests.course import own_course
from tests.course.conftest import temporary_course
from tests.course.own_course import ASSIGNMENT, CHECKS, PAGE, SOURCE, STEM, Walk, commands
from tests.grading.somebody import run_as_somebody

sandboxed = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names the package")


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "course"
    folder.mkdir()
    before = os.getcwd()
    walk = Walk(folder)
    try:
        walk.run(commands())
    finally:
        os.chdir(before)
    return walk


def said(log, start):
    """What was printed by the commands that begin with these words."""
    return "".join(entry["out"] for entry in log if entry["line"].startswith(start))


def points(folder):
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        return {each.student.id: each.score for each in gradebook.assignment_submissions(ASSIGNMENT)}


def assert_all_went_well(log, folder):
    assert [entry["line"] for entry in log if entry["code"]] == []
    assert "3 graded, 0 left as they were, 0 failed" in said(log, "kernelcourse grade")
    assert "the same verdict, byte for byte" in said(log, "kernelcourse replay ada")
    assert "Every piece has the points stated on the receipt." in said(log, "kernelcourse replay sorting")
    assert "cleo     1/7       2/8       +1" in said(log, "kernelcourse amend")
    assert points(folder) == {"ada": 8, "bob": 0, "cleo": 2}


@sandboxed
def test_every_command_of_the_page_works_in_an_empty_folder(walk):
    assert len(walk.log) > 12
    assert_all_went_well(walk.log, walk.folder)


@sandboxed
def test_every_command_of_the_page_works_for_an_ordinary_user(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("every other test already runs without rights")
    folder = tmp_path / "course"
    folder.mkdir()
    seen = [own_course.ROOT / part for part in ("tests", "book", "solutions")]
    done = run_as_somebody("-m", "tests.course.own_course", str(folder), sees=seen, owns=[folder])
    assert done.returncode == 0, done.stderr
    assert_all_went_well(json.loads(done.stdout.splitlines()[-1]), folder)


@sandboxed
def test_words_dicts_and_plain_assertions_are_graded_and_mistakes_recognised(walk):
    result = json.loads((walk.folder / ".grading" / ASSIGNMENT / "cleo" / "result.json").read_bytes())
    pieces = {piece["piece"]: piece for piece in result["notebooks"][STEM]["pieces"]}
    assert pieces["merge_sort"]["mistake"] == "in_place" and pieces["merge_sort"]["hint"] == "Sort a copy."
    assert pieces["count"]["problem"] == "The key 'b' is missing." and pieces["unsorted"]["earned"] == 2
    assert result["notebooks"][STEM]["scores"]["check-steps"] == 0
    assert {"kernelcourse", "python", "numpy"} <= result["versions"].keys()


@sandboxed
def test_students_get_neither_a_reference_nor_a_hidden_input(walk):
    given = [*(walk.folder / "exercises").rglob("*.*"), *(walk.folder / "feedback").rglob("*.*")]
    given += (walk.folder / "autograded").rglob("*.*")
    hidden = json.loads((walk.folder / "revealed" / ASSIGNMENT / f"{STEM}.hidden.json").read_bytes())
    record = json.loads((walk.folder / "exercises" / ASSIGNMENT / f"{STEM}.checks.json").read_bytes())
    visible, inputs = ({json.dumps(case["args"]) for case in one["pieces"][0]["cases"]} for one in (record, hidden))
    assert inputs
    inputs -= visible  # both contain some fixed inputs and, by chance, a drawn one
    for path in given:
        text = path.read_text(encoding="utf-8")
        assert path.name != "checks.py" and "reference_sort" not in text and hidden["secret"] not in text
        assert not any(each in json.dumps(json.loads(text)) for each in inputs if path.suffix == ".json")
    assert "def verify" in str(record) and "def in_order" in str(record) and "sorted(words, reverse" not in str(record)


@sandboxed
def test_the_checks_beside_a_notebook_say_what_the_instructors_say(walk, monkeypatch):
    monkeypatch.chdir(walk.folder / "exercises" / ASSIGNMENT)
    check = catalogue(STEM).checks(1)
    assert repr(check(merge_sort=sorted)) == "✓ merge_sort: right on 4 inputs (3 of 3 points)"
    for wrong, hint in ((lambda w: sorted(w)[::-1], "downwards"), (lambda w: w.sort() or w, "Sort a copy")):
        with pytest.raises(CheckFailed, match=hint):
            check(merge_sort=wrong)
    with pytest.raises(CheckFailed, match="These words are sorted"):
        check(unsorted=lambda: [])
    with pytest.raises(NoChecks, match="hidden inputs of merge_sort are not here"):
        check.hidden(merge_sort=sorted)
    with pytest.raises(NoChecks, match="for the seed 1, not 2"):
        catalogue(STEM).checks(2)


@sandboxed
def test_a_replay_with_other_files_or_another_secret_is_refused(walk, tmp_path, monkeypatch, capsys):
    home = shutil.copytree(walk.folder / "cleo", tmp_path / "cleo")
    monkeypatch.chdir(home)
    assert main(["replay", f"{STEM}.ipynb", "--secret", "guessed"]) == 2
    assert "not the secret that the release named" in capsys.readouterr().err
    hidden = home / f"{STEM}.hidden.json"
    hidden.write_bytes(hidden.read_bytes() + b" ")
    assert main(["replay", f"{STEM}.ipynb", "--secret", walk.secret]) == 2
    assert "not the file that the release promised" in capsys.readouterr().err
    assert main(["replay", f"{STEM}.ipynb"]) == 2 and main(["replay", "none.ipynb", "--secret", "x"]) == 2
    course = ["--course", str(walk.folder)]
    assert main(["replay", "nobody", ASSIGNMENT, *course]) == 2
    assert "nobody has no grade" in capsys.readouterr().err


@sandboxed
def test_what_was_not_promised_cannot_be_revealed_and_nothing_before_it_is_due(walk, tmp_path, capsys):
    course = Course(shutil.copytree(walk.folder, tmp_path / "course", symlinks=True))
    with Gradebook(course.gradebook) as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2100-01-01 00:00 UTC")
    assert main(["reveal", ASSIGNMENT, "--course", str(course.root)]) == 2
    assert "is due on 2100-01-01 00:00 UTC" in capsys.readouterr().err
    assert main(["reveal", ASSIGNMENT, "--anyway", "--course", str(course.root)]) == 0
    checks = course.checks(ASSIGNMENT)
    checks.write_text(checks.read_text(encoding="utf-8").replace("(3, 5)", "(3, 6)"), encoding="utf-8")
    assert main(["reveal", ASSIGNMENT, "--anyway", "--course", str(course.root)]) == 2
    assert "not those that its release promised" in capsys.readouterr().err


def test_the_example_on_the_page_can_be_loaded(tmp_path):
    blocks = [block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]
    (example,) = [block for block in blocks if "PIECES" in block]
    (tmp_path / "checks.py").write_text(example, encoding="utf-8")
    with checks_in(tmp_path):
        assert catalogue("anything").checks(seed=1)(merge_sort=sorted).earned == 3


# Before a release


@pytest.fixture
def rehearsed(tmp_path):
    """Try out a source and its checks; return what is wrong, in the words `release` uses."""

    def rehearse(source=SOURCE, checks=CHECKS):
        folder = tmp_path / ASSIGNMENT
        folder.mkdir(exist_ok=True)
        (folder / f"{STEM}.md").write_text(source, encoding="utf-8")
        if checks:
            (folder / "checks.py").write_text(checks, encoding="utf-8")
        rehearsal.rehearse(folder, {STEM: read_source(folder / f"{STEM}.md")}, "secret", None)

    return rehearse


@pytest.mark.parametrize(
    ("source", "checks", "problem"),
    [
        (("return sorted(words)", "return words"), None, "the solution of merge_sort does not get full marks: Item"),
        (("return sorted(words)", "return words"), None, "the solution fails in check-steps"),
        (("    ### BEGIN SOLUTION\n    return sorted(words)\n    ### END SOLUTION", "    return sorted(words)"), None,
         "the stub already gets points for merge_sort"),
        (("check-sort, locked: true, points: 5", "check-sort, locked: true, points: 4"), None,
         r"check-sort gives 4 points, but its pieces are worth 5 \(merge_sort 3, count 2\)"),
        (None, ("reverse=True", "reverse=False"), "the mistake descending of merge_sort passes the visible cases"),
        (None, ("def in_place(words):\n", "def in_place(words):\n    return sorted(words, reverse=True)\n"),
         "the mistake in_place of merge_sort is taken for descending"),
        (None, ("return {word: (1, set", "return {word: (object(), set"), "one_each of count is not recognised"),
        (None, ("(words.count(word), set(word))", "object()"), "the reference of count does not pass"),
        (("SEED = 1", "import pandas, json\nSEED = 1"), None, "import pandas, which the sandbox does not have"),
        (None, ("PIECES = [", "PIECES = ("), "checks.py cannot be used: SyntaxError"),
        (None, ("PIECES = [", "PIECES = [1, "), "must list objects of type Piece and Claim"),
    ],
)  # fmt: skip
def test_an_assignment_that_does_not_work_is_not_released_and_the_piece_is_named(rehearsed, source, checks, problem):
    changed = SOURCE.replace(*source) if source else SOURCE, CHECKS.replace(*checks) if checks else CHECKS
    assert changed != (SOURCE, CHECKS)
    with pytest.raises(CourseError, match=f"{ASSIGNMENT} is not released: .*{problem}"):
        rehearsed(*changed)


def test_an_assignment_that_works_is_released_with_plain_assertions_alone_too(rehearsed):
    rehearsed()
    source = SOURCE.replace("from kernelcourse.checking import catalogue", "import math")
    source = source.replace('check = catalogue("sorting-algorithms").checks(SEED)', "")
    for name in ("merge_sort=merge_sort, count=count", "unsorted=unsorted"):
        first = name.partition("=")[0]
        source = source.replace(f"check({name})", f"assert {first}.__call__").replace(f"check.hidden({name})", "")
    source = source.replace("assert merge_sort.__call__", 'assert merge_sort(words=["b", "a"]) == ["a", "b"]')
    rehearsed(source.replace("assert unsorted.__call__", "assert math.isclose(len(unsorted()), 2)"), checks=None)


def test_references_and_mistakes_are_tried_on_visible_and_hidden_cases(tmp_path):
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8")
    with checks_in(tmp_path):
        assert list(rehearsal._mistakes(STEM, {"merge_sort", "count"}, 1)) == []


def code_cell(source, **meta):
    kind = {"grade": False, "solution": False, "locked": False, "grade_id": source[:3] or "x", "points": 2} | meta
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": kind})


def test_modules_that_the_sandbox_lacks_are_named():
    source = "import kernelcourse.kernels, json, numpy.linalg\nfrom sklearn.svm import SVC\n"
    notebook = nbformat.v4.new_notebook(cells=[code_cell(source, solution=True)])
    assert rehearsal._not_in_the_sandbox(notebook, Config()) == ["sklearn"]


def test_a_stub_does_not_find_what_the_solution_has_defined(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which IPython replaces
    check = code_cell("assert x == 3", grade=True, locked=True)
    solved, stub = (nbformat.v4.new_notebook(cells=[code_cell(text, solution=True), check]) for text in ("x = 3", ""))
    try:
        assert [rehearsal._grade(notebook, solved)[0].earned for notebook in (solved, stub)] == [2, 0]
    finally:
        InteractiveShell.clear_instance()


def test_a_receipt_for_another_secret_is_told_and_the_replay_fails():
    told = ["The receipt names a different secret: ask your instructor."]
    receipt = {"commitment": commitment("words"), "pieces": {STEM: {"count": [2, 2]}}, "versions": {}}
    record = {"piece": "count", "earned": 2}
    assert _held_against(receipt, [record], "other words") == (told, False)
    assert _held_against(receipt, [record], "words") == (["Every piece has the points stated on the receipt."], True)
    told = ["These differ from the receipt:", "count: 1 here, 2 on the receipt"]
    assert _held_against(receipt, [record | {"earned": 1}], "words") == (told, False)


def test_a_claim_must_not_be_verified_by_its_reference(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text(CHECKS.replace("words == sorted(words)", "words == reference_sort(words)"), encoding="utf-8")
    with checks_in(tmp_path), pytest.raises(CourseError, match="the claim unsorted uses the reference reference_sort"):
        record(catalogue(STEM), STEM, 1, "secret")
    path.write_text(CHECKS.replace("verify, [", "lambda words: '', ["), encoding="utf-8")
    with checks_in(tmp_path), pytest.raises(CourseError, match="the claim unsorted as a function"):
        record(catalogue(STEM), STEM, 1, "secret")


def test_a_file_of_checks_that_is_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoChecks, match=r"put mine\.checks\.json, which came with the notebook, beside it"):
        catalogue("mine")
    for content in ("{", "[]", '{"pieces": [{}], "seed": 1, "commitment": ""}'):
        Path("mine.checks.json").write_text(content)
        with pytest.raises(NoChecks, match="is not a file of checks"):
            catalogue("mine")


# init and doctor


def test_init_writes_over_nothing(tmp_path, capsys):
    (tmp_path / "students.csv").write_text("mine")
    assert main(["init", str(tmp_path)]) == 0
    assert "students.csv (exists already: left as it is)" in capsys.readouterr().out
    assert (tmp_path / "students.csv").read_text() == "mine"
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert not any(init(tmp_path).values())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with pytest.raises(CourseError, match="is a file"):
        init(tmp_path / "students.csv")


def test_doctor_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(doctor, "_PACKAGES", {"instructor": ("no_such_package",)})
    assert main(["doctor", "--course", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "apt install bubblewrap" in out or "exists for Linux only" in out
    assert (
        'no no_such_package: pip install "kernelcourse[instructor]"' in out and "`kernelcourse init` makes one" in out
    )


def test_doctor_says_what_happens_without_control_groups(monkeypatch):
    monkeypatch.setattr("kernelcourse.course.control_group.home", lambda: None)
    assert doctor._control_groups().startswith("none can be made here: each sandbox has its own limits")


def test_a_renaming_has_two_names():
    assert _pair("old=new") == ("old", "new")
    for text in ("old", "=new", "old="):
        with pytest.raises(CourseError, match="OLD=NEW"):
            _pair(text)


def test_amending_says_whose_points_change_and_that_nothing_is_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "nbgrader_config.py").touch()
    before, after = {"ada": (8.0, 8.0), "cleo": (1.0, 7.0)}, {"ada": (8.0, 8.0), "cleo": (2.0, 8.0), "eve": (3.0, 8.0)}
    done = Amended("01-a", Course(tmp_path), before, after, ["cleo: the comment on gone"])
    monkeypatch.setattr(amend, "amend", lambda *what, **how: done)
    assert main(["amend", "01-a", "--course", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "student  before    after     change",
        "cleo     1/7       2/8       +1",
        "eve      –         3/8       +3",
        "01-a: 3 graded again, points change for 2",
        "no longer belongs to any cell: cleo: the comment on gone (--renamed OLD=NEW names one)",
        "Nothing has been written yet: run the same command with --write.",
    ]


def test_an_assignment_is_graded_again_once_something_that_counts_has_changed(tmp_path):
    counts = [
        "nbgrader_config.py",
        "gradebook.db",
        "solutions/a/a.md",
        "solutions/a/data/x.csv",
        "submitted/ada/a/a.ipynb",
    ]
    others = ["solutions/a/a.ipynb", "solutions/a/checks.pyc", "solutions/b/b.md", "submitted/ada/b/b.ipynb"]
    for name in [*counts, *others]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before", encoding="ascii")

    def state():
        return _state(Course(tmp_path), "a", None, False)

    for name in [*counts, *others]:
        before = state()
        (tmp_path / name).write_text("behind", encoding="ascii")
        assert (state() != before) == (name in counts), name


def test_what_people_entered_is_entered_again_and_what_has_no_cell_any_more_is_named(tmp_path):
    course = temporary_course(tmp_path)
    with nbgrader_api(course) as api, api.gradebook as gradebook:
        gradebook.add_assignment("a")
        gradebook.add_notebook("n", "a")
        gradebook.add_grade_cell("sum", "n", "a", max_score=2, cell_type="code")
        gradebook.add_solution_cell("why", "n", "a")
        gradebook.add_student("ada")
        gradebook.add_submission("a", "ada")
    given = Given({"total": (1.5, None), "gone": (None, 2.0)}, {"why": "Well said.", "gone": "Too short."})
    lost = _restore(course, "a", {"ada": given}, {"total": "sum"})
    assert lost == ["ada: the manual score of gone, 2", "ada: the comment on gone"]
    with Gradebook(course.gradebook) as gradebook:
        assert gradebook.find_grade("sum", "n", "a", "ada").manual_score == 1.5
        assert gradebook.find_comment("why", "n", "a", "ada").manual_comment == "Well said."
