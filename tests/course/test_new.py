"""A new assignment from the template, and what the commands say that they have written."""

import ast
import re

import pytest

from kernelcourse.course import new, release
from kernelcourse.course.cli import main
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course


@pytest.fixture
def course(tmp_path, monkeypatch):
    """An empty course; nothing is released, since that needs nbgrader and takes seconds."""

    def released(course, assignment, *, term=None, students=()):
        return [course.exercises / assignment / f"{term}.ipynb"]

    monkeypatch.setattr(new, "release", released)
    monkeypatch.setattr(release, "release", released)
    (tmp_path / "nbgrader_config.py").touch()
    return Course(tmp_path)


def test_a_new_assignment_is_named_throughout(course, capsys):
    assert main(["new", "12-string-kernels", "--course", str(course.root)]) == 0
    source = course.solutions / "12-string-kernels" / "string-kernels.md"
    checks = course.solutions / "12-string-kernels" / "checks.py"
    written = [source, checks, course.exercises / "12-string-kernels" / "None.ipynb"]
    assert capsys.readouterr().out.splitlines() == [str(path.relative_to(course.root)) for path in written]
    for path in (source, checks):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"{{(\w+)}}", text)) == {"count"}  # which differs from student to student
        assert "tring kernels" in text
    assert 'catalogue("string-kernels").checks(SEED)' in source.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(checks.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "mine", ["solutions/12-string-kernels/string-kernels.md", "solutions/12-string-kernels/checks.py"]
)
def test_nothing_that_is_there_is_written_over(course, mine):
    path = course.root / mine
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(CourseError, match="already exists"):
        new.new(course, "12-string-kernels")
    assert path.read_text() == "mine"
    assert {p.name for p in course.root.rglob("*") if p.is_file()} == {"nbgrader_config.py", path.name}


def test_a_release_says_what_it_has_written_for_the_term(course, capsys):
    for assignment in ("01-a", "02-b"):
        (course.solutions / assignment).mkdir(parents=True)
        (course.solutions / assignment / f"{assignment[3:]}.md").touch()
    assert main(["release", "--term", "2027", "--course", str(course.root)]) == 0
    assert capsys.readouterr().out.splitlines() == ["exercises/01-a/2027.ipynb", "exercises/02-b/2027.ipynb"]
    assert main(["release", "02-b", "--course", str(course.root)]) == 0
    assert capsys.readouterr().out.splitlines() == ["exercises/02-b/None.ipynb"]


def test_a_release_names_every_file_that_students_need(course, capsys):
    (course.solutions / "01-a").mkdir(parents=True)
    (course.solutions / "01-a" / "a.md").touch()
    for name in ("2027.checks.json", "2027.commitment.json", "other.checks.json"):
        path = course.exercises / "01-a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert main(["release", "--term", "2027", "--course", str(course.root)]) == 0
    written = [f"exercises/01-a/2027{ending}" for ending in (".ipynb", ".checks.json", ".commitment.json")]
    assert capsys.readouterr().out.splitlines() == written
