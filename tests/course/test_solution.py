"""`kernelcourse solution`: shown when the instructor's file allows it, and not before."""

from datetime import date

import nbformat
import pytest

from kernelcourse.course import solution
from kernelcourse.course.check import Row
from kernelcourse.course.cli import main
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course
from tests.course.conftest import HERE, temporary_course

NAME = "01-dual-representation"
PIECES = ["kernel", "objective", "gradient", "primal_weights", "dual_from_primal", "primal_from_dual", "dual_objective"]
PIECES += [
    "gram_matrix",
    "dual_weights",
    "predict",
    "multiplications",
    "dual_pays",
    "kernel_regression",
    "not_a_kernel",
]


@pytest.fixture
def course(tmp_path):
    return temporary_course(tmp_path, HERE, NAME)


def reveal(course, text):
    (course.solutions / "reveal.toml").write_text(text, encoding="utf-8")


def show(course, *arguments):
    return main(["solution", "01", "--course", str(course.root), *arguments])


def test_from_its_date_on_the_solution_is_printed_without_marks_and_hidden_tests(course, capsys):
    reveal(course, f'default = "never"\n"{NAME}" = 2020-02-29\n')
    assert show(course) == 0
    text = capsys.readouterr().out
    assert "## 5 The dual solution (4 points)" in text
    assert "    return np.linalg.solve(K + lam * np.eye(len(K)), t)" in text
    assert "**Rubric (2 points).**" in text
    for mark in ("SOLUTION", "HIDDEN", "check.hidden", "check("):
        assert mark not in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('default = "never"', "your instructor has not released it."),
        ("", "your instructor has not released it."),
        (None, "your instructor has not released it."),
        ("default = 9999-12-31", "it can be seen from 9999-12-31 on."),
    ],
)
def test_before_that_it_is_not_shown(course, text, reason, capsys):
    if text is not None:
        reveal(course, text)
    assert show(course) == 1
    assert capsys.readouterr().out == f"The solution of {NAME} is not shown: {reason}\n"


def test_the_day_itself_counts():
    day = date(2027, 3, 1)
    assert solution.why_not(day, {}, today=day) == ""
    assert solution.why_not(day, {}, today=date(2027, 2, 28)) == "it can be seen from 2027-03-01 on."


def test_full_marks_open_it_and_one_wrong_piece_does_not(course, monkeypatch, capsys, tmp_path):
    reveal(course, 'default = "full marks"')
    checked = []

    def rows(path, *, seconds):
        checked.append(path)
        return [*(Row(name, 1, name != wrong) for name in names), Row("why-dual", 2, None)]

    monkeypatch.setattr(solution, "check", rows)
    names, wrong = PIECES, "predict"
    assert show(course) == 1
    assert "once all checks are right. So far: 13 of 14 points." in capsys.readouterr().out
    assert checked == [course.exercises / NAME / "dual-representation.ipynb"]
    wrong = ""
    target = tmp_path / "solved.ipynb"
    assert show(course, "--notebook", "mine.ipynb", "--out", str(target)) == 0
    assert checked[-1].name == "mine.ipynb" and capsys.readouterr().out == f"{target}\n"
    solved = nbformat.read(target, as_version=4)
    nbformat.validate(solved)
    assert not any("HIDDEN" in cell.source or "SOLUTION" in cell.source for cell in solved.cells)
    names = PIECES[:3]  # another notebook, all of it right
    assert show(course) == 1
    assert "is not the notebook of this assignment" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("default = 3", "has 3, but expected"),
        ('default = "soon"', "has 'soon', but expected"),
        ("default = ", "cannot be read"),
        ('"07-none" = "never"', "names '07-none', but expected"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(course, text, words):
    reveal(course, text)
    with pytest.raises(CourseError, match=f"reveal.toml {words}"):
        solution.policy(course, NAME)


def test_an_assignment_goes_by_its_number_and_an_unknown_one_is_refused(course, capsys):
    assert solution.named(HERE, "11") == "11-beyond-n-squared"
    assert solution.named(HERE, NAME) == NAME
    assert main(["solution", "07", "--course", str(course.root)]) == 2
    assert "no assignment is called '07'" in capsys.readouterr().err


def test_the_repository_reveals_after_full_marks():
    assert solution.policy(HERE, NAME) == "full marks"
    assert solution.policy(Course(HERE.root / "nowhere"), NAME) == "never"
