"""Repeat the grading of a submission.

`kernelcourse replay STUDENT ASSIGNMENT`, for instructors, grades a submission again in a copy of the course and
compares the verdict with the stored one. `kernelcourse replay NOTEBOOK --secret SECRET`, for students, tries their
notebook on the hidden inputs that the instructor has revealed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..checking.recorded import ENDING, HIDDEN_ENDING
from .errors import CourseError
from .folder import Course, add_course_argument
from .receipt import NAME, verdict, versions
from .secret import commitment, revealed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="+", metavar="WHAT", help="STUDENT ASSIGNMENT, or NOTEBOOK")
    parser.add_argument("--secret", default="", help="the secret that the instructor has revealed")
    parser.add_argument(
        "--receipt", type=Path, metavar="FILE", help=f"the receipt in the feedback (default: {NAME}, if it exists)"
    )
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS", help="time for one cell (default: 120)")
    parser.add_argument("--unsafe", action="store_true", help="run without a sandbox, with your permissions")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    if len(args.what) == 2:
        lines, same = replay(Course.around(args.course), *args.what, unsafe=args.unsafe)
    elif len(args.what) == 1 and args.secret:
        lines, same = replay_notebook(Path(args.what[0]), args.secret, args.receipt, timeout=args.timeout)
    else:
        raise CourseError("run `replay STUDENT ASSIGNMENT`, or `replay NOTEBOOK --secret SECRET`")
    print("\n".join(lines))
    return 0 if same else 1


def replay(course: Course, student: str, assignment: str, *, unsafe: bool = False) -> tuple[list[str], bool]:
    """Grade a submission again and say whether the verdict is the stored one, byte for byte. Nothing is written."""
    from .grade import grade
    from .merge import read_result
    from .workshop import copy_course

    course.sources(assignment)
    stored = read_result(course, assignment, student)
    if stored is None:
        raise CourseError(f"{student} has no grade for {assignment} in {course.root}")
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        copy = copy_course(course, assignment, Path(folder) / "course", [student])
        (again,) = grade(copy, assignment, [student], regrade=True, unsafe=unsafe or stored["unsafe"])
    if "failure" in again:
        raise CourseError(f"{student} could not be graded again: {again['failure']}")
    lines = list(_differences(stored, again))
    if verdict(stored) == verdict(again):
        digest = hashlib.sha256(verdict(again)).hexdigest()
        return [*lines, f"{student}, {assignment}: the same verdict, byte for byte (sha256 {digest[:16]})"], True
    return [*lines, f"{student}, {assignment}: the verdict differs", *_pieces_that_differ(stored, again)], False


def _differences(stored: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """What has changed since, among the things that the grade is based on."""
    names = {"digest": "submission", "seed": "secret", "release": "release"}
    found = [
        f"the {name} is not the one that was graded" for key, name in names.items() if stored.get(key) != again.get(key)
    ]
    before = stored.get("versions") or {}
    return found + [
        f"{name} was {before.get(name, 'not noted')}, and is {now}"
        for name, now in again["versions"].items()
        if before.get(name) != now
    ]


def _pieces_that_differ(stored: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    def rows(result: Mapping[str, Any]) -> dict[str, Any]:
        return {record["piece"]: record for each in result["notebooks"].values() for record in each["pieces"]}

    before, after = rows(stored), rows(again)
    return [
        f"  {name}: was {_row(before.get(name))}, is {_row(after.get(name))}"
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]


def _row(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "not there"
    return f"{record['earned']:g} of {record['points']:g} points {record['problem']}".rstrip()


def replay_notebook(path: Path, secret: str, given: Path | None, *, timeout: int) -> tuple[list[str], bool]:
    """Run a notebook here, on visible and then on hidden inputs; say what each piece gets and if the receipt agrees."""
    if not path.is_file():
        raise CourseError(f"there is no notebook {path}")
    lines = _check_promise(path, secret)
    with revealed(secret):
        records = _records(path, timeout)
    if not records:
        raise CourseError(f"{path} has no checks: is it a notebook of a course?")
    for record in records:
        lines.append(
            f"{'✓' if record['earned'] else '✗'} {record['piece']}  {record['earned']:g} of {record['points']:g}"
        )
        if not record["earned"]:
            lines += textwrap.wrap(record["hint"] or record["problem"], 90, initial_indent="  ", subsequent_indent="  ")
    lines.append(f"{sum(r['earned'] for r in records):g} of {sum(r['points'] for r in records):g} points from checks")
    receipt = given or path.with_name(NAME)
    if not receipt.is_file():
        if given is not None:
            raise CourseError(f"there is no receipt {given}")
        return lines, True
    told, same = _held_against(json.loads(receipt.read_bytes()), records, secret)
    return [*lines, *told], same


def _check_promise(path: Path, secret: str) -> list[str]:
    """Compare the secret, and the file of hidden inputs if there is one, with what the release promised."""
    promises = [path.with_name(f"{path.stem}{ending}") for ending in (ENDING, ".commitment.json")]
    promise = next((file for file in promises if file.is_file()), None)
    if promise is None:
        return ["No file of the release names the secret here: it is used as given."]
    named = json.loads(promise.read_bytes())
    if named["commitment"] != commitment(secret):
        raise CourseError(f"this is not the secret that the release named: {promise.name} has a different hash")
    hidden = path.with_name(f"{path.stem}{HIDDEN_ENDING}")
    if "hidden" in named:
        if not hidden.is_file():
            raise CourseError(f"put {hidden.name}, which the instructor has revealed, beside the notebook")
        if hashlib.sha256(hidden.read_bytes()).hexdigest() != named["hidden"]:
            raise CourseError(f"{hidden.name} is not the file that the release promised")
    return [f"The secret is the one that the release named ({promise.name})."]


def _records(path: Path, timeout: int) -> list[Mapping[str, Any]]:
    """What the checks say about each piece, as in grading; a cell that fails does not stop the others."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    checks = []
    for cell in notebook.cells:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and meta.get("grade") and not meta.get("solution"):
            cell.source = re.sub(r"^check\(", "check.final(", cell.source, flags=re.MULTILINE)
            checks.append((cell, meta))
    folder = {"metadata": {"path": str(path.resolve().parent)}}
    options: dict[str, Any] = {
        "timeout": timeout,
        "startup_timeout": 600,
        "kernel_name": "python3",
        "allow_errors": True,
    }
    NotebookClient(notebook, resources=folder, extra_arguments=["--log-level=ERROR"], **options).execute()
    found: list[Mapping[str, Any]] = []
    for cell, meta in checks:
        records = [each for output in cell.outputs for each in output.get("metadata", {}).get("kernelcourse", [])]
        failed = [f"{output.ename}: {output.evalue}" for output in cell.outputs if output.output_type == "error"]
        points = meta["points"]
        plain = {"piece": meta["grade_id"], "points": points, "earned": 0 if failed else points, "hint": ""}
        found += records or [plain | {"problem": " ".join(failed)}]
    return found


def _held_against(receipt: Mapping[str, Any], records: list[Mapping[str, Any]], secret: str) -> tuple[list[str], bool]:
    if receipt["commitment"] != commitment(secret):
        return ["The receipt names a different secret: ask your instructor."], False
    pieces = {name: earned for each in receipt["pieces"].values() for name, (earned, _) in each.items()}
    differing = [
        f"{record['piece']}: {record['earned']:g} here, {pieces[record['piece']]:g} on the receipt"
        for record in records
        if record["piece"] in pieces and record["earned"] != pieces[record["piece"]]
    ]
    changed = [
        f"{name} {version} when it was graded, {now} here"
        for name, version in receipt["versions"].items()
        if name in ("kernelcourse", "python", "numpy") and (now := versions()[name]) != version
    ]
    if not differing:
        return [*changed, "Every piece has the points stated on the receipt."], True
    return [*changed, "These differ from the receipt:", *differing], False
