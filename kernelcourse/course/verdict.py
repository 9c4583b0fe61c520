"""What a check cell says of a student's answers, found out by the grader itself and written as the cell's output."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..checking.cases import case_generator
from ..checking.checks import Checks
from ..checking.report import Result, Verdict
from .proxy import RemoteFunction


class Recorder:
    """The `check` of a notebook while grading: it judges like the student's, but keeps the results and goes on.

    Hidden cases wait until no cell can tell any more what they were.
    """

    def __init__(self, checks: Checks) -> None:
        self.checks = checks
        self.results: dict[str, Result] = {}
        self.waiting: dict[str, RemoteFunction] = {}

    def __call__(self, **answers: Any) -> None:
        for name, answer in answers.items():
            self.results[name] = self._examine(name, _students(answer), hidden=False)

    def hidden(self, **answers: Any) -> None:
        for name, answer in answers.items():
            if name not in self.results or self.results[name].passed:
                self.waiting[name] = _students(answer)

    def try_hidden(self) -> None:
        for name, answer in self.waiting.items():
            self.results[name] = self._examine(name, answer, hidden=True)

    def _examine(self, name: str, answer: RemoteFunction, *, hidden: bool) -> Result:
        piece = self.checks.pieces[name]
        answer.hidden = hidden
        try:
            return piece.examine(answer, case_generator(self.checks.seed, name, hidden=hidden), hidden=hidden)
        except Exception as error:  # noqa: BLE001 - an answer that no check can make sense of is wrong
            problem = f"What it returned cannot be judged ({type(error).__name__})."
            return Result(name, piece.points, cases=1, wrong=1, problem=problem, hidden=hidden)
        finally:
            answer.close()


def _students(answer: Any) -> RemoteFunction:
    if not isinstance(answer, RemoteFunction):
        raise TypeError("a check is for the student's functions")
    return answer


def bound_names(sources: Iterable[str]) -> set[str]:
    """The names that cells define, as the released answer cells do."""
    found = set()
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, ast.Assign):
                found |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


class Judge:
    """Runs the check cells of one notebook in this process, where a student's name is a `RemoteFunction`."""

    def __init__(self, setup: str, names: Iterable[str], function: Callable[[str], RemoteFunction]) -> None:
        self.names = set(names)
        self.function = function
        self.namespace: dict[str, Any] = {}
        exec(compile(setup, "<setup>", "exec"), self.namespace)  # our own text: the released cell `setup`

    def judge(self, source: str) -> Hearing:
        """Run a check cell, as far as it can be run at its place."""
        recorder: Recorder | None = None
        namespace = _Namespace(self.namespace, self.names, self.function)
        for name, value in self.namespace.items():
            if isinstance(value, Checks):
                recorder = namespace[name] = Recorder(value)
        failure = ""
        try:
            exec(compile(source, "<check>", "exec"), {"__builtins__": __builtins__}, namespace)
        except Exception as error:  # noqa: BLE001 - a check that fails in any way gives nothing
            failure = f"{type(error).__name__}: {error}"
        for function in namespace.taken.values():
            function.close()
        return Hearing(recorder, failure, list(namespace.taken.values()))


@dataclass(frozen=True)
class Hearing:
    """A check cell whose hidden cases are still to be tried."""

    recorder: Recorder | None
    failure: str
    functions: list[RemoteFunction]

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
            return _outputs(Verdict([]), self.failure)
        self.recorder.try_hidden()
        return _outputs(Verdict(list(self.recorder.results.values())), self.failure)


class _Namespace(dict[str, Any]):
    """The names of a check cell: the grader's own, and those of the student that the assignment asks for."""

    def __init__(self, ours: dict[str, Any], names: set[str], function: Callable[[str], RemoteFunction]) -> None:
        super().__init__(ours)
        self.names, self.function = names, function
        self.taken: dict[str, RemoteFunction] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.names:
            if name not in self.taken:
                self.taken[name] = self.function(name)
            return self.taken[name]
        return super().__getitem__(name)


def _outputs(verdict: Verdict, failure: str) -> list[dict[str, Any]]:
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
