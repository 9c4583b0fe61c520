"""What the commands understand: every argument, its type and its default."""

import io
import sys
from pathlib import Path

import pytest

from kernelcourse.course.cli import COMMANDS, build_parser, main
from kernelcourse.course.errors import CourseError

HERE = {"course": Path()}
GRADE = {
    "assignment": "01-a",
    "student": [],
    "jobs": 0,
    "cluster": "",
    "resume": False,
    "regrade": False,
    "unsafe": False,
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("check a.ipynb", {"notebook": Path("a.ipynb"), "timeout": 10, "piece": [], "why": False, "watch": False}),
        (
            "check a.ipynb --timeout 5 --piece f --piece g --why --watch",
            {"notebook": Path("a.ipynb"), "timeout": 5, "piece": ["f", "g"], "why": True, "watch": True},
        ),
        ("progress", {"folder": Path(), "page": None}),
        ("progress mine --page p.html", {"folder": Path("mine"), "page": Path("p.html")}),
        ("release", {"assignments": [], "term": None, **HERE}),
        ("release 01-a 02-b --term 2027-spring", {"assignments": ["01-a", "02-b"], "term": "2027-spring", **HERE}),
        ("grade 01-a", {**GRADE, **HERE}),
        (
            "grade 01-a --student ada --student bob --jobs 3 --cluster x:1 --resume --regrade --unsafe --course c",
            GRADE
            | {"student": ["ada", "bob"], "jobs": 3, "cluster": "x:1", "course": Path("c")}
            | {"resume": True, "regrade": True, "unsafe": True},
        ),
        ("amend 01-a", {"assignment": "01-a", "renamed": [], "term": None, "jobs": 0, "unsafe": False, "write": False}),
        (
            "amend 01-a --renamed a=b --renamed c=d --term 2027-spring --jobs 3 --unsafe --write --course c",
            {"renamed": ["a=b", "c=d"], "term": "2027-spring", "jobs": 3, "course": Path("c")}
            | {"unsafe": True, "write": True},
        ),
        ("due 01-a", {"assignment": "01-a", "time": "", "student": "", **HERE}),
        ("due 01-a 2027-03-01 --student ada", {"assignment": "01-a", "time": "2027-03-01", "student": "ada", **HERE}),
        ("report 01-a", {"assignment": "01-a", "out": None, **HERE}),
        ("report 01-a --out r.html --course c", {"assignment": "01-a", "out": Path("r.html"), "course": Path("c")}),
        ("solution 01", {"assignment": "01", "notebook": None, "out": None, **HERE}),
        (
            "solution 01 --notebook a.ipynb --out b.ipynb --course c",
            {"assignment": "01", "notebook": Path("a.ipynb"), "out": Path("b.ipynb"), "course": Path("c")},
        ),
        ("new 12-strings", {"name": "12-strings", **HERE}),
        (
            "replay ada 01-a",
            {"what": ["ada", "01-a"], "secret": "", "receipt": None, "timeout": 120, "unsafe": False, **HERE},
        ),
    ],
)
def test_every_argument_is_understood(line, expected):
    arguments = vars(build_parser().parse_args(line.split()))
    assert arguments.pop("command") == line.split()[0]
    assert arguments.pop("run").__module__ == f"kernelcourse.course.{line.split()[0]}"
    assert {name: arguments[name] for name in expected} == expected


@pytest.mark.parametrize(
    "line", ["", "grades 01-a", "grade", "report", "new", "check", "grade 01-a --jobs many", "check a --timeout 0"]
)
def test_what_is_missing_or_misspelt_is_said(line, capsys):
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2 and "usage: kernelcourse" in capsys.readouterr().err


def test_the_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {summary}" in told for name, summary in COMMANDS.items())


def test_an_error_of_the_course_is_one_line_and_exit_code_2(monkeypatch, capsys):
    def fail(args):
        raise CourseError("there is no such thing")

    monkeypatch.setattr("kernelcourse.course.report.run", fail)
    assert main(["report", "01-a"]) == 2
    assert capsys.readouterr() == ("", "kernelcourse report: there is no such thing\n")


def test_a_console_that_does_not_know_a_tick_shows_something_else(monkeypatch):
    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", console)
    monkeypatch.setattr("kernelcourse.course.report.run", lambda args: print("✓") or 0)
    assert main(["report", "01-a"]) == 0
    console.flush()
    assert console.buffer.getvalue() == b"?\n"


def test_a_module_of_ours_that_is_missing_is_a_bug_and_one_of_others_is_named(monkeypatch, capsys):
    def missing(name):
        def run(args):
            raise ModuleNotFoundError("gone", name=name)

        return run

    monkeypatch.setattr("kernelcourse.course.report.run", missing("nbgrader.apps"))
    assert main(["report", "01-a"]) == 2
    assert capsys.readouterr().err == 'kernelcourse report needs nbgrader: pip install "kernelcourse[instructor]"\n'
    for ours in ("kernelcourse.gone", None):
        monkeypatch.setattr("kernelcourse.course.report.run", missing(ours))
        with pytest.raises(ModuleNotFoundError, match="gone"):
            main(["report", "01-a"])
