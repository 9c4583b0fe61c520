"""Try out an assignment before it is released: its solution, every usual mistake and the stub are graded.

This happens in a fork of this process, with the instructor's own code and no sandbox; values go through the same
channel as students' values.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import multiprocessing
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..checking.calling import Answer, Outcome, call
from ..checking.cases import Case
from ..checking.checks import NoChecks, catalogue, checks_in, has_pieces
from ..checking.plain import Opaque, Unknown, decode, encode
from ..checking.report import Result
from .errors import CourseError
from .secret import revealed
from .verdict import Grounds, Judge, nodes_of


def rehearse(folder: Path, notebooks: dict[str, Any], secret: str, config: Any) -> None:
    """Grade the notebooks of an assignment, with their solutions; if something is wrong, refuse and name it.

    `folder` contains the assignment's source and checks.
    """
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_rehearse, args=(folder, notebooks, secret, config, theirs))
    process.start()
    theirs.close()
    try:
        problems = ours.recv()
    except EOFError:
        problems = ["its solution ended the process that tried it out"]
    process.join()
    if problems:
        raise CourseError(f"{folder.name} is not released: {'; '.join(problems)}")


def _rehearse(folder: Path, notebooks: dict[str, Any], secret: str, config: Any, connection: Any) -> None:
    os.environ["MPLBACKEND"] = "Agg"
    try:
        with _silence(), checks_in(folder), revealed(secret):
            problems = [problem for stem, each in notebooks.items() for problem in _problems(stem, each, config)]
    except NoChecks as error:
        problems = [str(error)]
    except Exception as error:  # noqa: BLE001 - whatever the instructor's code raises becomes a report
        problems = [f"trying it out raised {type(error).__name__}: {error}"]
    connection.send(problems)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


def _problems(stem: str, notebook: Any, config: Any) -> Iterator[str]:
    solved = _grade(notebook, notebook)
    for score in solved:
        if score.failure:
            yield f"the solution fails in {score.cell}: {score.failure}"
        for result in score.results:
            if not result.passed:
                yield f"the solution of {result.piece} does not get full marks: {result.problem} {result.hint}".rstrip()
        worth = sum(result.points for result in score.results)
        if score.results and worth != score.points:
            pieces = ", ".join(f"{result.piece} {result.points:g}" for result in score.results)
            yield f"{score.cell} gives {score.points:g} points, but its pieces are worth {worth:g} ({pieces})"
    if missing := _not_in_the_sandbox(notebook, config):
        yield (
            f"its cells import {', '.join(missing)}, which the sandbox does not have: name the package in "
            "c.GradeSafely.packages, in nbgrader_config.py"
        )
    if (stub := _stub(notebook, config)) is not None:
        for score in _grade(stub, notebook):
            if score.earned:
                named = [result.piece for result in score.results if result.passed] or [score.cell]
                yield f"the stub already gets points for {', '.join(named)}"
    if has_pieces(stem):
        checked = {result.piece for score in solved for result in score.results}
        yield from _mistakes(stem, checked, next((score.seed for score in solved if score.results), 1))


def _mistakes(stem: str, checked: set[str], seed: int) -> Iterator[str]:
    checks = catalogue(stem).checks(seed)
    for piece in checks.pieces.values():
        if piece.name not in checked:
            continue
        for hidden in (False, True):
            kind = "hidden" if hidden else "visible"
            result = checks.examine(piece.name, Ours(piece.reference), hidden=hidden)
            if not result.passed:
                yield f"the reference of {piece.name} does not pass its own {kind} cases: {result.problem}"
                break
            for mistake in piece.mistakes:
                result = checks.examine(piece.name, Ours(mistake.wrong), hidden=hidden)
                if result.passed:
                    yield f"the mistake {mistake.name} of {piece.name} passes the {kind} cases"
                elif result.mistake != mistake.name:
                    taken = f"taken for {result.mistake}" if result.mistake else f"not recognised: {result.problem}"
                    yield f"the mistake {mistake.name} of {piece.name} is {taken} (on {kind} cases)"


def _not_in_the_sandbox(notebook: Any, config: Any) -> list[str]:
    """The modules that released cells and solutions import but students' code will not find."""
    from nbgrader.utils import is_grade, is_locked, is_solution

    from .preprocessors import GradeSafely
    from .sandbox import packages

    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and (is_locked(cell) or is_solution(cell))]
    nodes = nodes_of(cell.source for cell in cells if is_solution(cell) or not is_grade(cell))
    used = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    used |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    there = {name.partition(".")[0] for name in packages(tuple(GradeSafely(config=config).packages))}
    known = there | set(sys.stdlib_module_names) | {__package__.partition(".")[0]}
    return sorted({name.partition(".")[0] for name in used} - known)


def _stub(notebook: Any, config: Any) -> Any:
    from nbgrader.preprocessors import ClearSolutions

    try:
        return ClearSolutions(config=config).preprocess(copy.deepcopy(notebook), {})[0]
    except Exception:  # noqa: BLE001 - nbgrader will say what is wrong with it
        return None


@dataclass(frozen=True)
class _Score:
    """The outcome of one check cell."""

    cell: str
    points: float
    earned: float
    results: list[Result]
    failure: str
    seed: int


def _grade(notebook: Any, source: Any) -> list[_Score]:
    """Run the locked cells and the answers of a notebook, and judge them by the checks of the source."""
    import nbformat
    from IPython.core.interactiveshell import InteractiveShell
    from nbgrader.utils import determine_grade, is_grade, is_locked, is_solution
    from traitlets.config import Config

    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    texts = {cell.metadata.nbgrader.grade_id: cell.source for cell in source.cells if is_grade(cell)}
    grounds = Grounds(notebook, texts.values())
    judge = Judge.on(grounds, lambda name: Ours.named(name, shell.user_ns))
    scores = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if not is_grade(cell) or is_solution(cell):
            if is_solution(cell) or is_locked(cell):
                shell.run_cell(cell.source)
            continue
        meta = cell.metadata.nbgrader
        hearing = judge.judge(texts[meta.grade_id])
        outputs = [nbformat.from_dict(output) for output in hearing.conclude()]
        graded = nbformat.from_dict({**cell, "outputs": outputs})
        recorder = hearing.recorder
        results = list(recorder.results.values()) if recorder else []
        seed = recorder.checks.seed if recorder else 1
        scores.append(_Score(meta.grade_id, meta.points, determine_grade(graded)[0], results, hearing.failure, seed))
    return scores


class Ours(Opaque, Answer):
    """A function in this process, treated like a student's: its values arrive as plain data."""

    hidden = False
    died = None

    def __init__(self, function: Any) -> None:
        self.function = function

    @classmethod
    def named(cls, name: str, namespace: dict[str, Any]) -> Ours:
        def missing(*args: Any, **keywords: Any) -> Any:
            raise NameError(f"name {name!r} is not defined")

        return cls(namespace.get(name, missing))

    def try_on(self, case: Case) -> Outcome:
        outcome = call(self.function, case)
        return replace(outcome, value=decode(encode(outcome.value)), library_calls=())

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        case = Case(decode(encode(args)), keywords=decode(encode(keywords)))
        return decode(encode(self.function(*case.fresh(), **case.keywords)))

    def bound(self) -> Any:
        value = decode(encode(self.function))
        return self if isinstance(value, Unknown) else value

    def close(self) -> None:
        pass
