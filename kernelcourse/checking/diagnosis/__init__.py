"""Explain why an answer is wrong, from what it does.

Every sentence states a fact that was checked on all public inputs: a change to the reference that gives exactly the
student's results, a change to the student's own code that makes it right, what the wrong and the right results have in
common, what they depend on, or where they agree. Hidden inputs and answers in a sandbox are never diagnosed.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..calling import Outcome, watched
from ..cases import Case
from ..comparing import difference
from .behaviour import probes, projections
from .conditions import condition
from .dependence import dependence
from .effort import RUN, STEPS, Effort
from .errors import failure, without_paths
from .example import burden
from .fingerprints import Match, Table, tables
from .relations import Known, Pair, relation
from .repair import Place, repair

if TYPE_CHECKING:
    from ..piece import Piece

WORDS = 40  # the most words in a nudge


@dataclass(frozen=True)
class Diagnosis:
    """Where to look and, on request, why. The other fields are for the scorer: the kind of sentence and what it is
    about."""

    nudge: str
    why: str
    kind: str
    nodes: tuple[int, ...] = ()  # of the reference
    spans: tuple[tuple[int, int, int, int], ...] = ()  # of the student's own text


@dataclass(frozen=True)
class Attempt:
    """A student's function with what is known about it."""

    piece: Piece
    function: Callable[..., Any]
    outcomes: Sequence[Outcome]
    wanted: Sequence[Any]
    effort: Effort

    def __call__(self, case: Case) -> Any:
        """Call it once more, if there are steps left."""
        self.effort.spend(RUN)
        with watched(self.effort.watch):
            return self.function(*case.fresh())

    @cached_property
    def table(self) -> Table | None:
        """The fingerprints of the piece, if they were made from the same inputs."""
        table = tables(self.piece.notebook).get(self.piece.name)
        return table if table is not None and table.digest == probes(self.piece).digest() else None

    @cached_property
    def sums(self) -> np.ndarray | None:
        return projections(self, probes(self.piece))

    @property
    def names(self) -> list[str]:
        return self.piece.argument_names()

    @property
    def right(self) -> list[bool]:
        return [
            outcome.error is None and not difference(outcome.value, want, self.piece.tolerance)
            for outcome, want in zip(self.outcomes, self.wanted, strict=True)
        ]

    @property
    def known(self) -> Known:
        pairs = [
            Pair(outcome.case, outcome.value, want)
            for outcome, want in zip(self.outcomes, self.wanted, strict=True)
            if outcome.error is None and outcome.value is not None
        ]
        return Known(pairs, self.names, self.piece.tolerance)


def diagnose(
    piece: Piece,
    function: Callable[..., Any],
    outcomes: Sequence[Outcome],
    wanted: Sequence[Any],
    steps: int = STEPS,
    *,
    brief: bool = False,
) -> Diagnosis | None:
    """Why the function is wrong, or None if nothing certain can be said.

    A brief diagnosis only says where to look; that is enough if the catalogue says why.
    """
    attempt = Attempt(piece, function, outcomes, wanted, Effort(steps))
    if all(outcome.value is None and outcome.error is None for outcome in outcomes):
        return None  # the verdict already says so
    stages: list[Callable[[Attempt], Diagnosis | None]] = [
        *([] if brief else [_failed]),
        _substituted,
        partial(_related, strong=True),
        _multiplied,
        *([] if brief else [_repaired, _far_fetched, _related]),
        partial(_dependent, growth=not brief),  # rounding can hide how a result grows: prefer the catalogue's hint
        *([] if brief else [_conditioned]),
    ]
    quiet = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        warnings.simplefilter("ignore")
        for stage in stages:  # an answer that behaves differently here than in the check gets no diagnosis
            with contextlib.suppress(Exception, SystemExit), np.errstate(all="ignore"):
                if found := stage(attempt):
                    return found
    return None


def _failed(attempt: Attempt) -> Diagnosis | None:
    """Errors come first: a student who sees an error asks about nothing else."""
    failed = [outcome for outcome in attempt.outcomes if outcome.error is not None]
    if not failed or "read-only" in str(failed[0].error):
        return None
    shown = min(failed, key=burden)
    found = failure(attempt.function, shown.case)
    if found is None or not found.meaning:
        return None
    line = f"In line {found.line}, at `{found.text}`: " if found.text and len(found.text) <= 60 else ""
    place = _place(attempt)
    where = condition(
        [outcome.case for outcome in attempt.outcomes], [outcome.error is None for outcome in attempt.outcomes]
    )
    runs = where.replace("It is right", "It runs").replace("It is wrong", "It stops") if where else ""
    why = " ".join(filter(None, [found.meaning, runs, _repair_words(place)]))
    spans = (found.span, *(place.spans if place else ()))
    nudge = f"{line}{found.meaning}"
    if len(nudge.split()) > WORDS:
        nudge = found.meaning
    return Diagnosis(without_paths(nudge), without_paths(why), "error", spans=spans)


def _substituted(attempt: Attempt) -> Diagnosis | None:
    table, sums = attempt.table, attempt.sums
    return _matched(table.change(sums, far_fetched=False)) if table is not None and sums is not None else None


def _multiplied(attempt: Attempt) -> Diagnosis | None:
    table, sums = attempt.table, attempt.sums
    return _matched(table.factor(sums)) if table is not None and sums is not None else None


def _far_fetched(attempt: Attempt) -> Diagnosis | None:
    table, sums = attempt.table, attempt.sums
    return _matched(table.change(sums, far_fetched=True)) if table is not None and sums is not None else None


def _matched(match: Match | None) -> Diagnosis | None:
    return Diagnosis(match.nudge, match.why, "substitution", nodes=match.nodes) if match else None


def _related(attempt: Attempt, *, strong: bool = False) -> Diagnosis | None:
    if any(outcome.error is not None for outcome in attempt.outcomes):
        return None
    said = relation(attempt.known, strong=strong)
    return Diagnosis(said, said, "relation") if said else None


def _place(attempt: Attempt) -> Place | None:
    return repair(attempt.function, attempt.outcomes, attempt.wanted, attempt.piece.tolerance, attempt.effort)


def _repair_words(place: Place | None) -> str:
    return f"One change is enough: it is right on all inputs with {place.change}." if place else ""


def _repaired(attempt: Attempt) -> Diagnosis | None:
    place = _place(attempt)
    if place is None:
        return None
    lines = f"line {place.line}" if len(place.lines) == 1 else f"lines {' and '.join(map(str, place.lines))}"
    nudge = f"Look at {lines}, at `{place.text}`." if len(place.lines) == 1 else f"Look at {lines}."
    return Diagnosis(nudge, _repair_words(place), "place", spans=place.spans)


def _dependent(attempt: Attempt, *, growth: bool) -> Diagnosis | None:
    cases = [outcome.case for outcome in attempt.outcomes if outcome.error is None]
    said = dependence(attempt, attempt.piece.reference, cases, attempt.names, growth=growth)
    return Diagnosis(said, said, "dependence") if said else None


def _conditioned(attempt: Attempt) -> Diagnosis | None:
    said = condition([outcome.case for outcome in attempt.outcomes], attempt.right)
    return Diagnosis(said, said, "condition") if said else None
