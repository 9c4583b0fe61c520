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
from types import FunctionType, ModuleType
from typing import Any

from ..seam import engine
from ..validation import whole
from .book import links_for
from .calling import call, student_line
from .cases import case_generator
from .comparing import difference
from .diagnosis import STEPS, Diagnosis
from .diagnosis.words import joined
from .limits import TookTooLong, seconds_per_piece, time_limit
from .piece import Claim, Piece
from .progress import Progress, Standing
from .report import CheckFailed, Partial, Passed, Result, Verdict, Why
from .variants import checked_parameters, for_seed, own_values

ENDLESS = "endless"


class Checks:
    """The `check` of an assignment. Call it with students' functions as keyword arguments; see `kernelcourse.checking`.

    The seed chooses the cases and the values of the parameters, `own`; see `kernelcourse.checking.variants`.
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
        self._last: dict[str, Result] = {}  # the last result for each piece that was tried

    def __call__(self, **answers: Callable[..., Any]) -> Verdict:
        """Compare the answers with the reference; raise `CheckFailed` if none of them is right."""
        return self._judge(answers, hidden=False)

    def hidden(self, **answers: Callable[..., Any]) -> Verdict:
        """The same check on hidden cases, with a report that does not show them."""
        return self._judge(answers, hidden=True)

    def passed(self, *pieces: str) -> bool:
        """Whether each of these pieces was right when it was last checked."""
        return all(piece in self._last and self._last[piece].passed for piece in pieces)

    def progress(self) -> Progress:
        """Which pieces are right so far, since the notebook was started."""
        right = {name: result.passed for name, result in self._last.items()}
        return Progress([Standing(name, one.points, right.get(name)) for name, one in self.pieces.items()])

    def why(self, piece: str) -> Why:
        """The second step for a piece that was checked: the diagnosis, and a smaller example."""
        if piece not in self.pieces:
            raise TypeError(f"no piece is called {piece!r}; this assignment has {', '.join(self.pieces)}")
        if piece not in self._last:
            raise ValueError(f"{piece} has not been checked yet: run check({piece}={piece}) first")
        return Why(self._last[piece])

    def _judge(self, answers: dict[str, Callable[..., Any]], *, hidden: bool) -> Verdict:
        results = []
        thought = STEPS if len(answers) < 3 else 2 * STEPS // len(answers)
        for name, answer in answers.items():
            if name not in self.pieces:
                raise TypeError(f"no piece is called {name!r}; this assignment has {', '.join(self.pieces)}")
            result = self._within_time(name, answer, hidden=hidden, thought=thought)
            if not hidden:
                result = self._last[name] = self._followed_through(result, answer)
            results.append(result)
        return self._verdict(results)

    def examine(self, name: str, answer: Any, *, hidden: bool, thought: int = STEPS) -> Result:
        """Check one answer; a diagnosis may take at most `thought` steps."""
        rng = case_generator(self.seed, name, hidden=hidden)
        return self.pieces[name].examine(answer, rng, hidden=hidden, steps=thought)

    def prepare(self) -> None:
        """Compute in advance what grading would otherwise compute for every student."""
        for name, piece in self.pieces.items():
            if isinstance(piece, Piece):
                for hidden in (False, True):
                    piece.prepare(case_generator(self.seed, name, hidden=hidden), hidden=hidden)

    def final(self, **answers: Callable[..., Any]) -> Verdict:
        """The verdict that grading gives: on the visible cases and, if they are right, on the hidden ones."""
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

    def _within_time(self, name: str, answer: Callable[..., Any], *, hidden: bool, thought: int = STEPS) -> Result:
        """The verdict on one piece, within its time limit, with links to the book."""
        piece = self.pieces[name]
        home = piece.mistakes[0].wrong.__module__ if piece.mistakes else ""  # the catalogue defines the mistakes
        try:
            with time_limit(self.seconds):
                result = self.examine(name, answer, hidden=hidden, thought=thought)
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
                hint="Which line ends the loop, and does it ever run? If your code is only slow, allow more time: "
                "`check.seconds = 60`.",
                mistake=ENDLESS,
                hidden=hidden,
            )

    def _followed_through(self, result: Result, answer: Callable[..., Any]) -> Result:
        """Say so if an answer is wrong only because it calls another answer that is wrong."""
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


FILE = "checks.py"  # a file beside the source of an assignment
_FOLDER: ContextVar[Path | None] = ContextVar("the folder of an assignment's source", default=None)


def seeded(pieces: Iterable[Piece | Claim], **options: Any) -> Callable[[int], Checks]:
    """A catalogue's `checks(seed)`: its pieces, on the cases of the term that the seed belongs to."""

    def checks(seed: int) -> Checks:
        return Checks(pieces, seed=seed, **options)

    return checks


class NoChecks(LookupError):
    """A notebook whose checks cannot be found or cannot be used."""


@contextmanager
def checks_in(folder: Path) -> Iterator[None]:
    """Within this context, `catalogue` uses the `checks.py` of this folder, if any: instructors' commands need it."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def catalogue(notebook: str) -> Any:
    """The catalogue of a notebook, given the notebook's name without its suffix.

    It is the `checks.py` beside the notebook's source; without that file, the `<notebook>.checks.json` that came
    with the notebook; without either, a module of this package.

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
    """Whether a notebook has a catalogue; a notebook with only plain assertions needs none."""
    try:
        return hasattr(catalogue(notebook), "PIECES")
    except NoChecks as error:
        if error.__cause__ is not None:  # there is a catalogue, but it is broken
            raise
        return False


def load_checks(path: Path) -> ModuleType:
    """A file of checks as a module; it is run again only if it has changed."""
    content = path.read_bytes()
    name = f"checks_{hashlib.sha256(content).hexdigest()[:16]}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path):
        return known
    module: Any = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look the module up there
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
