"""A piece of an assignment: what is asked, what is right, and what usually goes wrong."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..seam import engine
from .calling import Answer, Outcome, call
from .cases import Case
from .comparing import difference, vague
from .diagnosis import STEPS, WORDS, Diagnosis, diagnose
from .diagnosis.errors import without_paths
from .diagnosis.example import burden, digits, first_apart
from .diagnosis.relations import Known, Pair, relation
from .drawing import drawn
from .report import Result, shown

NOT_WRITTEN = "not written"
CALLED_THE_LIBRARY = "called the library"


@dataclass(frozen=True)
class Mistake:
    """A common wrong answer, and the hint for it."""

    wrong: Callable[..., Any]
    hint: str

    @property
    def name(self) -> str:
        return self.wrong.__name__


@dataclass(frozen=True)
class Piece:
    """A function to write, compared with a reference on many inputs.

    `cases(rng)` yields the inputs; the largest is tried again with non-contiguous and read-only arrays. Answers may
    differ from the reference by `tolerance * max(1, largest magnitude)`, for the stated reason. `allows` names the
    functions of the library that an answer may call. If several answers are right, `settle(got, want)` returns `want`
    for each of them, and returns any other value unchanged.
    """

    name: str
    points: float
    reference: Callable[..., Any]
    cases: Callable[[np.random.Generator], Iterable[Case]]
    mistakes: Sequence[Mistake] = ()
    tolerance: float = 1e-9
    tolerance_reason: str = (
        "sums of a few products lose a few of the 16 digits; 9 are left whatever the order of summation"
    )
    allows: Sequence[str] = ()
    settle: Callable[[Any, Any], Any] | None = None

    @property
    def notebook(self) -> str:
        """The name of the catalogue that the piece belongs to."""
        return self.cases.__module__.rpartition(".")[2]

    @engine("off")  # the same verdict on every machine
    def examine(
        self,
        function: Callable[..., Any],
        rng: np.random.Generator,
        *,
        hidden: bool = False,
        steps: int = STEPS,
    ) -> Result:
        """Try the function on all cases and say what is wrong with it, if anything.

        A diagnosis, of at most `steps` steps, is made only for functions in this process and on visible cases.
        """
        expected = self.expected(rng, hidden=hidden, keep=isinstance(function, Answer))
        outcomes = [call(function, case) for case in expected.cases]
        wanted = expected.wanted
        if early := _cannot_be_judged(self, outcomes, hidden):
            return early
        if self.settle is not None:
            outcomes = [
                replace(outcome, value=self.settle(outcome.value, want)) if outcome.error is None else outcome
                for outcome, want in zip(outcomes, wanted, strict=True)
            ]
        problems = [self._problem(outcome, want) for outcome, want in zip(outcomes, wanted, strict=True)]
        wrong = [i for i, problem in enumerate(problems) if problem]
        if not wrong:
            return Result(self.name, self.points, cases=len(outcomes), hidden=hidden)
        first = min(wrong, key=lambda i: burden(outcomes[i]))
        mistake = self._usual_mistake(outcomes, expected)
        diagnosis = None
        if not hidden and not isinstance(function, Answer):
            diagnosis = diagnose(self, function, outcomes, wanted, steps, brief=mistake is not None)
        return Result(
            self.name,
            self.points,
            cases=len(outcomes),
            wrong=len(wrong),
            problem=vague(problems[first]) if hidden else problems[first],
            details=() if hidden else self._details(outcomes[first], wanted[first]),
            hint=self._hint(mistake, diagnosis, outcomes, wanted, hidden),
            mistake=mistake.name if mistake else "",
            hidden=hidden,
            nudge=_nudge(mistake, diagnosis),
            smaller=() if hidden else self._smaller(outcomes, wanted, wrong, first),
            diagnosis=diagnosis,
        )

    def expected(self, rng: np.random.Generator, *, hidden: bool, keep: bool) -> Expected:
        """The cases and what is expected on them; `keep` keeps both for the next submission of the class."""
        if not keep:
            return Expected(self, drawn(self.cases, rng, hidden=hidden))
        key = (id(self.reference), id(self.cases), hidden, str(rng.bit_generator.state))
        if key not in _KEPT:
            if len(_KEPT) >= _MOST:
                _KEPT.clear()
            _KEPT[key] = Expected(self, drawn(self.cases, rng, hidden=hidden))
        return _KEPT[key]

    @engine("off")
    def prepare(self, rng: np.random.Generator, *, hidden: bool) -> None:
        """Compute in advance what grading would otherwise compute for every student; mistakes only on visible cases."""
        expected = self.expected(rng, hidden=hidden, keep=True)
        _ = expected.wanted, [case.plain for case in expected.cases]
        for mistake in () if hidden else self.mistakes:
            for number in range(len(expected.cases)):
                expected.by_mistake(mistake, number)

    def _hint(
        self,
        mistake: Mistake | None,
        diagnosis: Diagnosis | None,
        outcomes: Sequence[Outcome],
        wanted: Sequence[Any],
        hidden: bool,
    ) -> str:
        """The catalogue's hint if it has one, and otherwise what is certain."""
        if mistake:
            return mistake.hint
        if diagnosis:
            return diagnosis.why
        if any(outcome.error is not None or outcome.value is None for outcome in outcomes):
            return ""
        pairs = [Pair(outcome.case, outcome.value, want) for outcome, want in zip(outcomes, wanted, strict=True)]
        said = relation(Known(pairs, self.argument_names(), self.tolerance))
        return "" if hidden and re.search(r"\d", said) else said

    def _smaller(
        self, outcomes: Sequence[Outcome], wanted: Sequence[Any], wrong: Sequence[int], first: int
    ) -> tuple[tuple[str, str], ...]:
        """The smallest input that fails, if another one is shown first."""
        smallest = min(wrong, key=lambda i: outcomes[i].case.size)
        return self._details(outcomes[smallest], wanted[smallest]) if smallest != first else ()

    def _problem(self, outcome: Outcome, want: Any) -> str:
        if outcome.error is not None:
            if outcome.case.frozen and "read-only" in outcome.error.message:
                return "It tries to modify its argument. Work on a copy."
            return f"It raised {without_paths(str(outcome.error))}"
        if problem := difference(outcome.value, want, self.tolerance):
            return problem
        if outcome.changed:
            names = ", ".join(f"`{self.argument_names()[i]}`" for i in outcome.changed)
            return f"The result is right, but the function changed its argument {names}. Work on a copy."
        return ""

    def _usual_mistake(self, outcomes: Sequence[Outcome], expected: Expected) -> Mistake | None:
        """The first catalogued mistake that does what the student's function did, on every input."""
        for mistake in self.mistakes:
            told_apart = False
            for number, (outcome, want) in enumerate(zip(outcomes, expected.wanted, strict=True)):
                theirs = expected.by_mistake(mistake, number)
                if not self._alike(outcome, theirs):
                    break
                told_apart |= bool(self._problem(theirs, want))
            else:
                if told_apart:
                    return mistake
        return None

    def _alike(self, one: Outcome, other: Outcome) -> bool:
        if one.error is not None or other.error is not None:
            return one.error is not None and other.error is not None and one.error.kind == other.error.kind
        if one.changed != other.changed:
            return False
        return not difference(_without_nan(one.value), _without_nan(other.value), self.tolerance)

    def argument_names(self) -> list[str]:
        """The names of the arguments in the reference."""
        return list(inspect.signature(self.reference).parameters)

    def _details(self, outcome: Outcome, want: Any) -> tuple[tuple[str, str], ...]:
        """The input, the expected value and the received value, with their names, as rows of a table."""
        rows = [(name, shown(arg)) for name, arg in zip(self.argument_names(), outcome.case.args, strict=True)]
        places = digits(outcome.value, want)
        rows.append(("expected", shown(want, places)))
        if outcome.error is None:
            rows.append(("yours", shown(outcome.value, places)))
            if apart := first_apart(outcome.value, want, self.tolerance):
                rows.append(("first difference", apart))
        elif outcome.error.line:
            rows.append(("where", outcome.error.line))
        if outcome.case.label:
            rows.insert(0, ("input", outcome.case.label))
        if outcome.printed.strip():
            rows.append(("printed", outcome.printed.strip()[:200]))
        return tuple(rows)


class Expected:
    """The cases of a piece, with what the reference and the usual mistakes return; each is computed at most once."""

    def __init__(self, piece: Piece, cases: Sequence[Case]) -> None:
        self.cases, self._piece = cases, piece
        self._theirs: dict[tuple[Any, int], Outcome] = {}

    @cached_property
    def wanted(self) -> list[Any]:
        return [self._piece.reference(*case.fresh()) for case in self.cases]

    def by_mistake(self, mistake: Mistake, number: int) -> Outcome:
        """What a mistake does on the case with this number."""
        key = (mistake.wrong, number)
        if key not in self._theirs:
            self._theirs[key] = call(mistake.wrong, self.cases[number])
        return self._theirs[key]


_KEPT: dict[Any, Expected] = {}  # processes forked to grade a class inherit it
_MOST = 1000


@dataclass(frozen=True)
class Claim:
    """A claim to break: the student's function takes no arguments and returns a counterexample, the witness.

    `verify(witness)` returns an empty string if the witness breaks the claim, and otherwise what is wrong with it. The
    mistakes are answers that fall short, each with what `verify` says about it.
    """

    name: str
    points: float
    reference: Callable[[], Any]
    verify: Callable[[Any], str]
    mistakes: Sequence[Mistake] = ()
    allows: Sequence[str] = ()

    @engine("off")  # the same verdict on every machine
    def examine(
        self, function: Callable[[], Any], rng: np.random.Generator, *, hidden: bool = False, steps: int = STEPS
    ) -> Result:
        """Ask for the witness and judge it."""
        outcome = call(function, Case(()))
        if early := _cannot_be_judged(self, [outcome], hidden):
            return early
        if outcome.error is not None:
            problem = f"It raised {without_paths(str(outcome.error))}"
            details = () if hidden else (("where", outcome.error.line),)
            return Result(self.name, self.points, cases=1, wrong=1, problem=problem, details=details, hidden=hidden)
        hint = self.verify(outcome.value)
        if not hint:
            return Result(self.name, self.points, cases=1, hidden=hidden)
        mistake = next((mistake.name for mistake in self.mistakes if mistake.hint == hint), "")
        details = () if hidden else (("yours", shown(outcome.value)),)
        problem = "Your example does not break the claim yet."
        return Result(self.name, self.points, 1, 1, problem, details, hint, mistake, hidden)


def _without_nan(value: Any) -> Any:
    """The value with NaN replaced by a number, so that two NaNs count as equal."""
    if isinstance(value, (tuple, list)):
        return type(value)(_without_nan(part) for part in value)
    if isinstance(value, (float, np.floating, np.ndarray)) and np.asarray(value).dtype.kind == "f":
        return np.where(np.isnan(value), -0.12345, value)
    return value


def _nudge(mistake: Mistake | None, diagnosis: Diagnosis | None) -> str:
    """The first step: where to look. If this is not known for a catalogued mistake, the beginning of its hint."""
    if diagnosis:
        return diagnosis.nudge
    return _beginning(mistake.hint) if mistake else ""


def _beginning(hint: str) -> str:
    """The first sentences of a hint, with at most `WORDS` words."""
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z])", hint)
    while len(sentences) > 1 and len(" ".join(sentences).split()) > WORDS:
        sentences.pop()
    return " ".join(sentences)


def _cannot_be_judged(piece: Piece | Claim, outcomes: Sequence[Outcome], hidden: bool) -> Result | None:
    """The report on an answer that is still missing, or that leaves the work to the library."""
    problem = hint = mistake = ""
    if any(outcome.error is not None and outcome.error.not_written for outcome in outcomes):
        problem = "It is not written yet."
        hint = "Replace the line `raise NotImplementedError()` with your answer, run its cell, then this one."
        mistake = NOT_WRITTEN
    elif used := [name for outcome in outcomes for name in outcome.library_calls if name not in piece.allows]:
        problem = f"It calls {used[0].removesuffix('.__post_init__').removesuffix('.__init__')}."
        hint = (
            "The library can do this already; here you write it yourself, with numpy alone. "
            "Once your function runs, do compare it with the library's."
        )
        mistake = CALLED_THE_LIBRARY
    if not problem:
        return None
    return Result(piece.name, piece.points, len(outcomes), len(outcomes), problem, (), hint, mistake, hidden)
