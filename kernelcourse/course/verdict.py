"""What a check cell says about a student's answers, determined by the grader and written as the cell's output.

We do this ourselves, because the answer can change a check that runs beside it, as in nbgrader.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..checking.calling import Answer
from ..checking.checks import Checks
from ..checking.report import Result, Verdict


class Recorder:
    """The `check` of a notebook while grading: it judges like the student's, but keeps the results and goes on.

    Hidden cases are tried last, when no cell can reveal them.
    """

    def __init__(self, checks: Checks) -> None:
        self.checks = checks
        self.results: dict[str, Result] = {}
        self.waiting: dict[str, Any] = {}

    def __call__(self, **answers: Any) -> None:
        for name, answer in answers.items():
            self.results[name] = self._examine(name, _students(answer), hidden=False)

    def hidden(self, **answers: Any) -> None:
        for name, answer in answers.items():
            if name not in self.results or self.results[name].passed:
                self.waiting[name] = _students(answer)

    def try_hidden(self) -> None:
        for number, (name, answer) in enumerate(self.waiting.items(), start=1):
            answer.last = number == len(self.waiting)
            self.results[name] = self._examine(name, answer, hidden=True)

    def _examine(self, name: str, answer: Any, *, hidden: bool) -> Result:
        piece = self.checks.pieces[name]
        answer.hidden = hidden
        try:
            return self.checks.examine(name, answer, hidden=hidden)
        except Exception as error:  # noqa: BLE001 - an answer that no check can make sense of is wrong
            problem = f"What it returned cannot be judged ({type(error).__name__})."
            return Result(name, piece.points, cases=1, wrong=1, problem=problem, hidden=hidden)
        finally:
            if hidden:  # no other function may learn of these cases
                answer.close()


def _students(answer: Any) -> Any:
    if not isinstance(answer, Answer):
        raise TypeError("a check is for the student's functions")
    return answer


def bound_names(sources: Iterable[str]) -> set[str]:
    """The names that cells define, as the released answer cells do."""
    found = set()
    for node in _statements(sources):
        if isinstance(node, _DEFINITIONS):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _statements(sources: Iterable[str]) -> Iterator[ast.stmt]:
    for source in sources:
        yield from _parsed(source)


@lru_cache(maxsize=1000)  # the forked processes that grade a class inherit what was parsed once
def _parsed(source: str) -> tuple[ast.stmt, ...]:
    with contextlib.suppress(SyntaxError):  # a magic command
        return tuple(ast.parse(source).body)
    return ()


def imported_names(sources: Iterable[str]) -> set[str]:
    """The names that cells import."""
    imports = [node for node in nodes_of(sources) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}


def nodes_of(sources: Iterable[str]) -> list[ast.AST]:
    return [node for source in sources for node in _nodes(source)]


@lru_cache(maxsize=1000)
def _nodes(source: str) -> tuple[ast.AST, ...]:
    return tuple(node for statement in _parsed(source) for node in ast.walk(statement))


def _read(source: str) -> set[str]:
    """The names that a cell reads."""
    return {node.id for node in nodes_of([source]) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _free(source: str) -> set[str]:
    """The names that a cell reads but does not bind."""
    nodes = nodes_of([source])
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name or "" for node in nodes if isinstance(node, (*_DEFINITIONS, ast.ExceptHandler))}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return _read(source) - bound - imported_names([source])


class Grounds:
    """What the grader knows about a released notebook: its own names, and those that it asks the student to define.

    The student's are the names that answer cells define, and those that checks use without any released cell defining
    them: an answer cell may be all solution, so that its release defines nothing. `checks` holds the texts of the
    check cells with their hidden tests.
    """

    def __init__(self, release: Any, checks: Iterable[str]) -> None:
        answers, others, known = [], [], []
        setup = None
        for cell in release.cells:
            meta = cell.metadata.get("nbgrader", {})
            if cell.cell_type != "code" or (meta.get("grade") and not meta.get("solution")):
                continue
            if meta.get("solution"):
                answers.append(cell.source)
                continue
            others.append(cell.source)
            if meta.get("grade_id") == "setup":
                setup = cell.source
            known.append(cell.source if meta.get("locked") else _imports_of(cell.source))
        self.setup = setup
        self.known = known  # used instead of the setup, if there is none
        self.functions = {node.name for node in _statements(answers) if isinstance(node, _DEFINITIONS)}
        checks = list(checks)
        ours = bound_names([*others, *checks]) | imported_names([*others, *checks]) | set(dir(builtins))
        self.names = bound_names(answers) | ({name for check in checks for name in _free(check)} - ours)


def _imports_of(source: str) -> str:
    imports = [node for node in _statements([source]) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(map(ast.unparse, imports))


class Judge:
    """Runs the check cells of one notebook in this process, where a student's name is a `RemoteFunction`.

    Names that may not be `functions` are asked for their value first, as in `assert x == 3`.
    """

    def __init__(
        self,
        setup: str,
        names: Iterable[str],
        function: Callable[[str], Any],
        functions: Collection[str] | None = None,
    ) -> None:
        self.names = set(names)
        self.function = function
        self.functions = self.names if functions is None else functions
        self.namespace: dict[str, Any] = {}
        exec(compile(setup, "<setup>", "exec"), self.namespace)  # our own text: the released cell `setup`

    @classmethod
    def on(cls, grounds: Grounds, function: Callable[[str], Any]) -> Judge:
        """The judge for a notebook. Without a cell `setup`, it knows the locked cells and the imports."""
        judge = cls(grounds.setup or "", grounds.names, function, grounds.functions)
        for source in grounds.known if grounds.setup is None else ():
            with contextlib.suppress(Exception):  # a cell that needs an answer, or has a magic command
                exec(compile(source, "<cell>", "exec"), judge.namespace)
        return judge

    def judge(self, source: str) -> Hearing:
        """Run what a check cell can determine at this point: everything except the hidden cases."""
        recorder: Recorder | None = None
        scope = dict(self.namespace)
        for name, value in self.namespace.items():
            if isinstance(value, Checks):
                recorder = scope[name] = Recorder(value)
        taken = {name: self.function(name) for name in sorted(_read(source) & self.names)}
        failure = ""
        try:
            for name, function in taken.items():
                scope[name] = function if name in self.functions else function.bound()
            exec(compile(source, "<check>", "exec"), scope)
        except Exception as error:  # noqa: BLE001 - a check that fails in any way gives nothing
            failure = f"{type(error).__name__}: {error}"
        for function in taken.values():
            function.close()
        for name in scope.keys() - self.namespace.keys() - self.names:
            self.namespace[name] = scope[name]  # what one check cell imports, the next may use
        return Hearing(recorder, failure, list(taken.values()))


@dataclass(frozen=True)
class Hearing:
    """A check cell whose hidden cases are still to be tried."""

    recorder: Recorder | None
    failure: str
    functions: list[Any]

    @property
    def waits(self) -> bool:
        return self.recorder is not None and bool(self.recorder.waiting)

    def kept(self, keeper: int) -> None:
        """Say which copy of the student's process the hidden cases are for."""
        for function in self.functions:
            function.keeper = keeper

    def conclude(self) -> list[dict[str, Any]]:
        """Try the hidden cases and return the outputs of the cell."""
        if self.recorder is None:
            return as_outputs(Verdict([]), self.failure)
        self.recorder.try_hidden()
        return as_outputs(Verdict(list(self.recorder.results.values())), self.failure)


def as_outputs(verdict: Verdict, failure: str) -> list[dict[str, Any]]:
    """The outputs that nbgrader's rule turns into the points of the verdict."""
    data, metadata = verdict.bundle
    box = {"output_type": "display_data", "data": data, "metadata": metadata}
    passed = [result.passed for result in verdict.results]
    if failure:
        error = {"output_type": "error", "ename": "CheckFailed", "evalue": failure, "traceback": [failure]}
        return [box, error] if passed else [error]
    if all(passed):
        return [box] if passed else []
    if any(passed):
        points = {"text/plain": f"{verdict.earned:g}"}
        return [{"output_type": "execute_result", "execution_count": None, "data": data | points, "metadata": metadata}]
    lines = [f"{result.piece}: {result.hint or result.problem}" for result in verdict.results]
    return [box, {"output_type": "error", "ename": "CheckFailed", "evalue": verdict.text, "traceback": lines}]
