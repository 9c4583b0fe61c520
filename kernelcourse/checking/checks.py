"""The `check` of a notebook: the pieces of its catalogue, tried on the cases of its term."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

from ..validation import whole
from .book import links_for
from .calling import student_line
from .cases import case_generator
from .limits import TookTooLong, seconds_per_piece, time_limit
from .piece import Claim, Piece
from .progress import Progress, Standing
from .report import CheckFailed, Partial, Passed, Result, Verdict

ENDLESS = "endless"


class Checks:
    """Checks of one assignment. Call it with the student's functions by name; see `kernelcourse.checking`."""

    def __init__(self, pieces: Iterable[Piece | Claim], *, seed: int) -> None:
        self.pieces = {piece.name: piece for piece in pieces}
        self.seed = whole(seed, "seed")
        self.seconds = seconds_per_piece()
        self.right: dict[str, bool] = {}  # the pieces that were tried, and how the last try ended

    def __call__(self, **answers: Callable[..., Any]) -> Verdict:
        """Hold the answers against the reference; raise `CheckFailed` if none of them is right."""
        return self._judge(answers, hidden=False)

    def hidden(self, **answers: Callable[..., Any]) -> Verdict:
        """The same on hidden cases, with a report that does not show them."""
        return self._judge(answers, hidden=True)

    def passed(self, *pieces: str) -> bool:
        """Whether the last check of each of these pieces was right."""
        return all(self.right.get(piece, False) for piece in pieces)

    def progress(self) -> Progress:
        """Which pieces are right so far, since the notebook was started."""
        return Progress([Standing(name, one.points, self.right.get(name)) for name, one in self.pieces.items()])

    def _judge(self, answers: dict[str, Callable[..., Any]], *, hidden: bool) -> Verdict:
        results = []
        for name, answer in answers.items():
            if name not in self.pieces:
                raise TypeError(f"no piece is called {name!r}; this assignment has {', '.join(self.pieces)}")
            results.append(self._examine(name, answer, hidden=hidden))
            if not hidden:
                self.right[name] = results[-1].passed
        if all(result.passed for result in results):
            return Passed(results)
        if any(result.passed for result in results):
            return Partial(results)
        raise CheckFailed(Verdict(results))

    def _examine(self, name: str, answer: Callable[..., Any], *, hidden: bool) -> Result:
        """The verdict on one piece, within its time, with the way to the book."""
        piece, rng = self.pieces[name], case_generator(self.seed, name, hidden=hidden)
        home = piece.mistakes[0].wrong.__module__ if piece.mistakes else ""  # mistakes stand in the catalogue
        try:
            with time_limit(self.seconds):
                result = piece.examine(answer, rng, hidden=hidden)
            return replace(result, links=links_for(home.rpartition(".")[2], name))
        except TookTooLong as late:
            line = "" if hidden else student_line(late)
            return Result(
                name,
                piece.points,
                cases=1,
                wrong=1,
                problem=f"It did not come to an end: stopped after {self.seconds:g} seconds.",
                details=(("where", line),) if line else (),
                hint="Which line ends the loop, and does it ever run? If it is only slow: `check.seconds = 60`.",
                mistake=ENDLESS,
                hidden=hidden,
            )


def catalogue(notebook: str) -> ModuleType:
    """The catalogue of a notebook, by its name without the ending.

    >>> catalogue("dual-representation").__name__
    'kernelcourse.checking.dual_representation'
    """
    return import_module(f"{__package__}.{notebook.replace('-', '_')}")
