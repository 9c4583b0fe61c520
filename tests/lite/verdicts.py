"""The verdicts on right answers, stubs and usual mistakes. `verdicts` runs in three places: here, with
functions in a sandbox, and in the browser, where its source is sent as the text of a cell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kernelcourse.checking import catalogue
from kernelcourse.course.folder import Course
from kernelcourse.course.notebooks import read_source


@dataclass(frozen=True)
class Answer:
    """Code that defines a piece, as a student would write it."""

    stem: str
    piece: str
    kind: str  # right, stub, or the name of a usual mistake
    source: str


def answers(course: Course, assignment: str) -> Iterator[Answer]:
    """All known answers to an assignment."""
    import nbformat

    (source,) = course.sources(assignment)
    solution = read_source(source)
    released = nbformat.read(course.exercises / assignment / f"{source.stem}.ipynb", as_version=4)
    setup = next(cell.source for cell in solution.cells if grade_id(cell) == "setup")
    right, stub = (setup + "".join(f"\n{text}" for text in written(notebook)) for notebook in (solution, released))
    for piece in catalogue(source.stem).PIECES:
        yield Answer(source.stem, piece.name, "right", right)
        yield Answer(source.stem, piece.name, "stub", stub)
        for mistake in piece.mistakes:
            wrong = f"import numpy as np\n{inspect.getsource(mistake.wrong)}\n{piece.name} = {mistake.name}\n"
            yield Answer(source.stem, piece.name, mistake.name, wrong)


def grade_id(cell: Any) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def written(notebook: Any) -> list[str]:
    """The code cells that students fill in."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]


def verdicts(asked: list[list[str]], function: Callable[[str, str], Any]) -> list[list[str]]:
    """What the check says about each answer, given as [stem, piece, kind, source]; `function` makes it callable.

    This is the verdict with the catalogue's hint at once, as in feedback; the mistake; and what a notebook says first
    and last.
    """
    from dataclasses import replace

    from kernelcourse.checking import catalogue

    said = []
    for stem, piece, kind, source in asked:
        result = catalogue(stem).checks(1).examine(piece, function(source, piece), hidden=False)
        verdict = replace(result, nudge="", smaller=()).text
        why = result.diagnosis.why if result.diagnosis else ""
        said.append([stem, piece, kind, verdict, result.mistake, result.nudge, why])
    return said


def defined(source: str, name: str) -> Any:
    """The function that some code defines, as a cell would define it: errors can show its lines."""
    import linecache

    file = f"<ipython-input-{len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


def as_cell(chosen: list[Answer]) -> str:
    """The text of a cell that prints the verdicts."""
    asked = [[answer.stem, answer.piece, answer.kind, answer.source] for answer in chosen]
    parts = ["from __future__ import annotations", "import json", *map(inspect.getsource, (verdicts, defined))]
    return "\n".join([*parts, f"print(json.dumps(verdicts({asked!r}, defined)))"])
