"""The command line."""

import importlib
import platform
import subprocess
import sys

import pytest

import kernelcourse
from kernelcourse.course import cli
from kernelcourse.course.errors import CourseError
from kernelcourse.course.new import new
from tests.course.conftest import HERE, temporary_course


def test_notebooks_are_read_and_checked_without_the_grammars_that_take_seconds_to_build():
    program = (
        "import sys, kernelcourse.course, nbformat\n"
        "nbformat.validate(nbformat.v4.new_notebook())\n"
        "try: nbformat.validate({'cells': 1})\n"
        "except nbformat.ValidationError: print(sys.modules.get('rfc3987_syntax'))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["None"]


def test_the_grammars_are_ruled_out_by_importing_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", object())
    del sys.modules["rfc3987_syntax"]
    importlib.reload(kernelcourse.course)
    assert sys.modules["rfc3987_syntax"] is None


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
    with pytest.raises(CourseError, match="is not a name for an assignment"):
        new(HERE, name)


def test_new_does_not_overwrite():
    with pytest.raises(CourseError, match="already exists"):
        new(HERE, "01-dual-representation")
