"""The `check` of a notebook: the pieces of its catalogue, tried on the cases of its term."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from ..seam import engine
from ..validation import whole
from .calling import call
from .cases import case_generator
from .comparing import difference
from .diagnosis import SECONDS, Diagnosis
from .diagnosis.words import joined
from .piece import Claim, Piece
from .report import CheckFailed, Partial, Passed, Result, Verdict, Why


class Checks:
    """Checks of one assignment. Call it with the student's functions by name; see `kernelcourse.checking`."""

    def __init__(self, pieces: Iterable[Piece | Claim], *, seed: int) -> None:
        self.pieces = {piece.name: piece for piece in pieces}
        self.seed = whole(seed, "seed")
        self._last: dict[str, Result] = {}

    def __call__(self, **answers: Callable[..., Any]) -> Verdict:
        """Hold the answers against the reference; raise `CheckFailed` if none of them is right."""
        return self._judge(answers, hidden=False)

    def hidden(self, **answers: Callable[..., Any]) -> Verdict:
        """The same on hidden cases, with a report that does not show them."""
        return self._judge(answers, hidden=True)

    def why(self, piece: str) -> Why:
        """The second step for a piece that was checked: the diagnosis, and a smaller example."""
        if piece not in self.pieces:
            raise TypeError(f"no piece is called {piece!r}; this assignment has {', '.join(self.pieces)}")
        if piece not in self._last:
            raise ValueError(f"{piece} has not been checked yet: run check({piece}={piece}) first")
        return Why(self._last[piece])

    def _judge(self, answers: dict[str, Callable[..., Any]], *, hidden: bool) -> Verdict:
        results = []
        seconds = SECONDS if len(answers) < 3 else 2 * SECONDS / len(answers)
        for name, answer in answers.items():
            if name not in self.pieces:
                raise TypeError(f"no piece is called {name!r}; this assignment has {', '.join(self.pieces)}")
            result = self._examine(name, answer, hidden, seconds)
            if not hidden:
                result = self._followed_through(result, answer)
                self._last[name] = result
            results.append(result)
        if all(result.passed for result in results):
            return Passed(results)
        if any(result.passed for result in results):
            return Partial(results)
        raise CheckFailed(Verdict(results))

    def _examine(self, name: str, answer: Callable[..., Any], hidden: bool, seconds: float) -> Result:
        rng = case_generator(self.seed, name, hidden=hidden)
        return self.pieces[name].examine(answer, rng, hidden=hidden, seconds=seconds)

    def _followed_through(self, result: Result, answer: Callable[..., Any]) -> Result:
        """Say so if an answer is wrong only because it calls another one that is."""
        if result.passed or not isinstance(answer, FunctionType):
            return result
        called = [
            name
            for name in answer.__code__.co_names
            if name in self.pieces and name != result.piece and isinstance(answer.__globals__.get(name), FunctionType)
        ]
        if not called:
            return result
        right = answer.__globals__ | {name: self.pieces[name].reference for name in called}
        again = FunctionType(answer.__code__, right, answer.__name__, answer.__defaults__, answer.__closure__)
        if not self._right(result.piece, again):
            return result
        names = joined([f"`{name}`" for name in called])
        said = f"`{result.piece}` is right once {names} {'is' if len(called) == 1 else 'are'}."
        return replace(result, nudge=said, hint=said, mistake="", diagnosis=Diagnosis(said, said, "follow-through"))

    @engine("off")
    def _right(self, name: str, function: Callable[..., Any]) -> bool:
        """Whether a function that may call the library does what a piece asks for."""
        piece = self.pieces[name]
        if not isinstance(piece, Piece):
            return False
        outcomes = [call(function, case) for case in piece.cases(case_generator(self.seed, name, hidden=False))]
        return all(
            outcome.error is None
            and not difference(outcome.value, piece.reference(*outcome.case.fresh()), piece.tolerance)
            for outcome in outcomes
        )


def catalogue(notebook: str) -> ModuleType:
    """The catalogue of a notebook, by its name without the ending.

    >>> catalogue("dual-representation").__name__
    'kernelcourse.checking.dual_representation'
    """
    return import_module(f"{__package__}.{notebook.replace('-', '_')}")
