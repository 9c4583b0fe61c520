"""The command line."""

import importlib
import platform
import subprocess
import sys

import nbformat
import pytest

import kernelcourse
from kernelcourse.course import check, cli
from kernelcourse.course.errors import CourseError
from kernelcourse.course.new import new
from tests.course.conftest import HERE, temporary_course


def code(source, **meta):
    return nbformat.v4.new_code_cell(
        source, metadata={"nbgrader": {"grade": True, "solution": False, **meta}} if meta else {}
    )


def test_notebooks_are_read_and_checked_without_the_grammars_that_take_seconds_to_build():
    program = (
        "import sys, kernelcourse.course, nbformat\n"
        "nbformat.validate(nbformat.v4.new_notebook())\n"
        "try: nbformat.validate({'cells': 1})\n"
        "except nbformat.ValidationError: print(sys.modules.get('rfc3987_syntax'))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["None"]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A small notebook with a right, a wrong, a half-right and a missing answer."""
    path = tmp_path_factory.mktemp("student") / "mine.ipynb"
    written = {"nbgrader": {"grade": True, "solution": True, "grade_id": "why", "points": 2}}
    cells = [
        code("from kernelcourse.checking import dual_representation\ncheck = dual_representation.checks(1)"),
        code("check(gram_matrix=lambda Phi: Phi @ Phi.T)", grade_id="right", points=1),
        code("check(gram_matrix=lambda Phi: Phi.T @ Phi)", grade_id="wrong", points=1),
        code("check(gram_matrix=lambda Phi: Phi @ Phi.T, predict=lambda K, a: K)", grade_id="half", points=2),
        code("check(dual_weights=dual_weights)", grade_id="missing", points=2),
        code("1 + 1", grade_id="plain", points=1),
        nbformat.v4.new_markdown_cell("Because.", metadata=written),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.fixture(scope="module")
def executed(notebook):
    return check.execute(notebook, timeout=600)


def test_the_table_tells_pieces_points_and_hints(executed):
    rows = {(row.piece, row.points): row for row in check.table(executed)}
    assert [row.earned for row in check.table(executed)] == [1, 0, 1, 0, 0, 1, None]
    assert rows["missing", 2].hint == "NameError: name 'dual_weights' is not defined"
    text = check.render(check.table(executed), width=100)
    assert "✗ gram_matrix    0 of 1    This is ΦᵀΦ, features against features" in text
    assert "✎ why" in text
    assert text.endswith("3 of 7 points, and 2 more read by your instructor")
    assert max(map(len, text.splitlines())) <= 100


def test_a_notebook_shows_a_line_or_one_box_and_never_our_traceback(executed):
    right, wrong, half = (executed.cells[i].outputs for i in (1, 2, 3))
    assert [output.output_type for output in right] == ["display_data"]
    assert "right on" in right[0].data["text/html"]
    assert [output.output_type for output in wrong] == ["display_data", "error"]
    assert "<table" in wrong[0].data["text/html"]
    assert wrong[1].ename == "CheckFailed"
    assert len(wrong[1].traceback) == 1
    assert "kernelcourse/" not in str(wrong)
    assert [output.output_type for output in half] == ["execute_result"]
    assert half[0].data["text/plain"] == "1"


def test_check_exits_with_1_if_something_is_wrong(notebook, executed, monkeypatch, capsys):
    monkeypatch.setattr(check, "execute", lambda path, timeout: executed)
    assert cli.main(["check", str(notebook)]) == 1
    assert "3 of 7 points" in capsys.readouterr().out
    executed_well = nbformat.v4.new_notebook(cells=[executed.cells[1]])
    monkeypatch.setattr(check, "execute", lambda path, timeout: executed_well)
    assert cli.main(["check", str(notebook)]) == 0


@pytest.mark.parametrize("content", ["not json", "[1, 2]", '{"cells": 3}', ""])
def test_check_of_something_else_says_so(tmp_path, content, capsys):
    path = tmp_path / "x.ipynb"
    path.write_text(content, encoding="utf-8")
    assert cli.main(["check", str(path)]) == 2
    assert "is not a notebook" in capsys.readouterr().err


def test_check_of_a_missing_file_says_so(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path / "none.ipynb")]) == 2
    assert "there is no notebook" in capsys.readouterr().err


def test_check_of_an_endless_loop_says_so(tmp_path, capsys):
    path = tmp_path / "loop.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("while True: pass")]), path)
    assert cli.main(["check", str(path), "--timeout", "1"]) == 2
    assert "more than 1 seconds" in capsys.readouterr().err


def test_check_of_a_notebook_without_checks_says_so(notebook, monkeypatch, capsys):
    monkeypatch.setattr(check, "execute", lambda path, timeout: nbformat.v4.new_notebook())
    assert cli.main(["check", str(notebook)]) == 2
    assert "has no checks" in capsys.readouterr().err


def test_the_progress_bar_is_for_terminals_only(tmp_path, monkeypatch, capsys):
    path = tmp_path / "two.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[code("1"), code("2"), code("3")]), path)
    check.execute(path, timeout=60)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    check.execute(path, timeout=60)
    assert "0/3 [" in capsys.readouterr().err


def test_python_m_is_the_same_program():
    done = subprocess.run(
        [sys.executable, "-m", "kernelcourse", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"kernelcourse {kernelcourse.__version__}"


def test_the_parser_loads_nothing_heavy():
    program = "from kernelcourse.course.cli import build_parser; build_parser(); import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"nbgrader", "nbclient", "nbformat", "jupytext", "IPython", "matplotlib"} & set(loaded)


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "jupytext", None)
    course = temporary_course(tmp_path, HERE, "01-dual-representation")
    assert cli.main(["release", "--course", str(course.root)]) == 2
    assert 'kernelcourse release needs jupytext: pip install "kernelcourse[instructor]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "module", "system", "words"),
    [
        ("check", "nbclient.exceptions", "Windows", 'check needs nbclient: pip install "kernelcourse[check]"'),
        ("grade", "distributed", "Linux", 'grade needs distributed: pip install "kernelcourse[cluster]"'),
        (
            "grade",
            "nbgrader",
            "Darwin",
            'grade needs nbgrader: pip install "kernelcourse[instructor]" (grading needs Linux, and this is Darwin)',
        ),
        (
            "grade",
            "fcntl",
            "Windows",
            "grade needs fcntl, which Python does not have here: grading needs Linux, and this is Windows",
        ),
    ],
)
def test_a_missing_module_says_what_helps(command, module, system, words, monkeypatch, capsys):
    def run(args):
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(importlib.import_module(f"kernelcourse.course.{command}"), "run", run)
    assert cli.main([command, "something"]) == 2
    assert capsys.readouterr().err == f"kernelcourse {words}\n"


@pytest.mark.parametrize("name", ["string-kernels", "11_strings", "11-", "../11-x", "11-Strings", "11-a+b"])
def test_new_refuses_names_that_would_break(name):
    with pytest.raises(CourseError, match="is no name for an assignment"):
        new(HERE, name)


def test_new_does_not_overwrite():
    with pytest.raises(CourseError, match="is already there"):
        new(HERE, "01-dual-representation")
