"""The command line: a table of commands, one module each.

A command module has a docstring (its help), `add_arguments(parser)` and `run(args)`, which returns the exit code.
It imports nothing heavy at module level, so that `kernelcourse --help` answers at once.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence
from importlib import import_module

from .. import __version__
from ..checking.checks import NoChecks
from .errors import CourseError

COMMANDS = {
    "init": "turn a folder into a course",
    "doctor": "report what this machine can do, and what to install",
    "check": "run the visible checks of a notebook",
    "progress": "show how far you have got in all assignments",
    "solution": "show a solution, once your instructor allows it",
    "release": "make the students' notebooks from the solutions",
    "roster": "enter students from a Canvas, Moodle or nbgrader list",
    "due": "set or show a due date and extensions",
    "collect": "unpack the zip file of submissions from a platform",
    "grade": "grade submissions, each in a sandbox",
    "report": "write a page about the results of an assignment",
    "new": "start a new assignment",
    "amend": "change an assignment that has been graded",
    "reveal": "publish the hidden inputs of an assignment",
    "replay": "repeat the grading of a submission",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="kernelcourse",
        description="Notebooks that check themselves, for students; releasing and grading them, for instructors.",
    )
    parser.add_argument("--version", action="version", version=f"kernelcourse {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        module = import_module(f".{name}", __package__)
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Exit code 0: all is well; 1: a check failed; 2: the command could not do its work."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a Windows console may be unable to show ✓; better a ? than a crash
            stream.reconfigure(errors="replace")
    args = build_parser().parse_args(argv)
    try:
        return args.run(args)
    except (CourseError, NoChecks) as error:
        print(f"kernelcourse {args.command}: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "kernelcourse":
            raise
        print(f"kernelcourse {args.command} {_missing(args.command, error.name)}", file=sys.stderr)
        return 2


def _missing(command: str, module: str) -> str:
    """What to do about a module that a command cannot import."""
    system = platform.system()
    linux = f"grading needs Linux, and this is {system}" if command == "grade" and system != "Linux" else ""
    if module in sys.stdlib_module_names:
        return f"needs {module}, which Python does not have here" + (f": {linux}" if linux else "")
    package = module.partition(".")[0]
    students = {"check": "check", "progress": "check", "solution": "student"}
    extra = "cluster" if package in ("dask", "distributed") else students.get(command, "instructor")
    return f'needs {package}: pip install "kernelcourse[{extra}]"' + (f" ({linux})" if linux else "")
