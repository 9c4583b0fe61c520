"""The `check` of a notebook: the pieces of its catalogue, tried on the cases of its term."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from importlib import import_module
from pathlib import Path
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
from .variants import checked_parameters, for_seed, own_values

ENDLESS = "endless"


class Checks:
    """Checks of one assignment. Call it with the student's functions by name; see `kernelcourse.checking`.

    The seed chooses the cases, and `own`, the values of the parameters; see `kernelcourse.checking.variants`.
    """

    def __init__(
        self,
        pieces: Iterable[Piece | Claim],
        *,
        seed: int,
        parameters: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.seed = whole(seed, "seed")
        choices = checked_parameters(parameters or {})
        self.own = own_values(choices, self.seed)
        self.pieces = {piece.name: for_seed(piece, choices, self.seed) for piece in pieces}
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
            results.append(self._within_time(name, answer, hidden=hidden))
            if not hidden:
                self.right[name] = results[-1].passed
        return self._verdict(results)

    def examine(self, name: str, answer: Any, *, hidden: bool) -> Result:
        """Hold one answer against its piece."""
        return self.pieces[name].examine(answer, case_generator(self.seed, name, hidden=hidden), hidden=hidden)

    def final(self, **answers: Callable[..., Any]) -> Verdict:
        """The verdict that grading gives: on the visible cases, then on hidden ones if these are right."""
        results = []
        for name, answer in answers.items():
            seen = self._within_time(name, answer, hidden=False)
            results.append(self._within_time(name, answer, hidden=True) if seen.passed else seen)
        return self._verdict(results)

    def _verdict(self, results: Sequence[Result]) -> Verdict:
        if all(result.passed for result in results):
            return Passed(results)
        if any(result.passed for result in results):
            return Partial(results)
        raise CheckFailed(Verdict(results))

    def _within_time(self, name: str, answer: Callable[..., Any], *, hidden: bool) -> Result:
        """The verdict on one piece, within its time, with the way to the book."""
        piece = self.pieces[name]
        home = piece.mistakes[0].wrong.__module__ if piece.mistakes else ""  # mistakes stand in the catalogue
        try:
            with time_limit(self.seconds):
                result = self.examine(name, answer, hidden=hidden)
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


FILE = "checks.py"  # beside the source of an assignment
_FOLDER: ContextVar[Path | None] = ContextVar("the folder of an assignment's source", default=None)


class NoChecks(LookupError):
    """A notebook whose checks are nowhere to be found, or cannot be used."""


@contextmanager
def checks_in(folder: Path) -> Iterator[None]:
    """Within it `catalogue` takes the `checks.py` of this folder, if there is one: the instructor's side uses it."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def catalogue(notebook: str) -> Any:
    """The catalogue of a notebook, by its name without the ending.

    It is the `checks.py` beside the notebook's source; where that is not at hand, the file `<notebook>.checks.json`
    that came with the notebook; else a module of this package.

    >>> catalogue("dual-representation").__name__
    'kernelcourse.checking.dual_representation'
    """
    folder = _FOLDER.get()
    if folder is not None and (folder / FILE).is_file():
        return load_checks(folder / FILE)
    if folder is None:
        from .recorded import recorded_checks

        if (recorded := recorded_checks(Path.cwd(), notebook)) is not None:
            return recorded
    name = f"{__package__}.{notebook.replace('-', '_')}"
    if importlib.util.find_spec(name) is None:
        raise NoChecks(
            f"there are no checks for {notebook!r}: put {notebook}.checks.json, which came with the notebook, beside it"
        )
    return import_module(name)


def has_pieces(notebook: str) -> bool:
    """Whether a notebook has a catalogue; one with plain assertions only does without."""
    try:
        return hasattr(catalogue(notebook), "PIECES")
    except NoChecks as error:
        if error.__cause__ is not None:  # there is one, and it is broken
            raise
        return False


def load_checks(path: Path) -> ModuleType:
    """The module that a file of checks is; it is run once as long as it stays the same."""
    content = path.read_bytes()
    name = f"checks_{hashlib.sha256(content).hexdigest()[:16]}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path):
        return known
    module: Any = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # where dataclasses look for it
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)
        pieces = tuple(module.PIECES)
        if not all(isinstance(piece, (Piece, Claim)) for piece in pieces):
            raise TypeError("PIECES must list objects of type Piece and Claim")
        parameters = checked_parameters(getattr(module, "PARAMETERS", {}))
    except Exception as error:
        del sys.modules[name]
        raise NoChecks(f"{path} cannot be used: {type(error).__name__}: {error}") from error
    if not hasattr(module, "checks"):
        module.checks = lambda seed: Checks(pieces, seed=seed, parameters=parameters)
    return module
