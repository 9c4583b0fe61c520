"""Checks from a file: what the references and the usual mistakes return on the cases, without their code.

Students of a course other than this book's get the file with the notebook. `kernelcourse release` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from .calling import Answer, Outcome, Raised
from .cases import Case
from .checks import Checks, NoChecks
from .diagnosis import STEPS
from .drawing import AsDrawn
from .piece import Claim, Mistake, Piece
from .plain import NotPlain, decode
from .report import Result
from .values import fresh, same
from .variants import telling

ENDING = ".checks.json"
HIDDEN_ENDING = ".hidden.json"


class Recorded(Answer):
    """A function of which only the results of some calls are known."""

    def __init__(self, name: str, parameters: list[str], outcomes: list[Outcome]) -> None:
        self.__name__ = name
        self.__signature__ = Signature([Parameter(each, Parameter.POSITIONAL_ONLY) for each in parameters])
        self.outcomes = outcomes

    def try_on(self, case: Case) -> Outcome:
        for known in self.outcomes:
            layout = (known.case.strided, known.case.frozen)
            if layout == (case.strided, case.frozen) and same(known.case.args, case.args):
                return replace(known, case=case, value=fresh(known.value))
        raise LookupError(f"no call of {self.__name__} with these arguments was recorded")

    def __call__(self, *args: Any) -> Any:
        return self.try_on(Case(args)).value


@dataclass(frozen=True)
class RecordedCatalogue:
    """The catalogue that a file holds."""

    PIECES: tuple[Piece | Claim, ...]
    seed: int
    hidden: tuple[Piece | Claim, ...] = ()
    commitment: str = ""

    def checks(self, seed: int) -> Checks:
        """The checks of this assignment, if the notebook has the seed that they were recorded for."""
        if seed != self.seed:
            raise NoChecks(
                f"these checks are for the seed {self.seed}, not {seed}: take both files from the same release"
            )
        return RecordedChecks(self)


class RecordedChecks(Checks):
    """Checks on recorded cases, and on hidden ones once these have been revealed."""

    def __init__(self, catalogue: RecordedCatalogue) -> None:
        super().__init__(catalogue.PIECES, seed=catalogue.seed)
        self.secret = {piece.name: piece for piece in catalogue.hidden}

    def examine(self, name: str, answer: Any, *, hidden: bool, thought: int = STEPS) -> Result:
        if hidden and name not in self.secret:
            raise NoChecks(f"the hidden inputs of {name} are not here: they are in a separate file, *{HIDDEN_ENDING}")
        if hidden:
            return Checks(self.secret.values(), seed=self.seed).examine(name, answer, hidden=True)
        return super().examine(name, answer, hidden=False, thought=thought)


def recorded_checks(folder: Path, notebook: str) -> RecordedCatalogue | None:
    """The checks that came with a notebook, if its folder contains a file of them."""
    path = folder / f"{notebook}{ENDING}"
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_bytes())
        secret = folder / f"{notebook}{HIDDEN_ENDING}"
        hidden = json.loads(secret.read_bytes())["pieces"] if secret.is_file() else ()
        return RecordedCatalogue(
            tuple(map(_piece, record["pieces"])), record["seed"], tuple(map(_piece, hidden)), record["commitment"]
        )
    except (ValueError, KeyError, TypeError, SyntaxError, NameError) as error:
        raise NoChecks(f"{path} is not a file of checks: take it from the release again ({error})") from error


def _piece(record: Mapping[str, Any]) -> Piece | Claim:
    name, points, allows = record["name"], record["points"], tuple(record["allows"])
    if "verify" in record:
        namespace: dict[str, Any] = {}
        exec(compile(record["verify"], f"<{name}>", "exec"), namespace)  # the instructor's own text
        mistakes = [Mistake(Recorded(each["name"], [], []), each["hint"]) for each in record["mistakes"]]
        verify = telling(namespace[record["verifier"]], record.get("own", {}))
        return Claim(name, points, _no_witness, verify, mistakes, allows)
    cases = tuple(
        Case(decode(case["args"]), case["label"], case["strided"], case["frozen"]) for case in record["cases"]
    )
    wanted = [Outcome(Case(case.args), decode(value)) for case, value in zip(cases, record["wanted"], strict=True)]
    mistakes = []
    for each in record["mistakes"]:
        outcomes = [_outcome(case, came) for case, came in zip(cases, each["outcomes"], strict=True)]
        mistakes.append(Mistake(Recorded(each["name"], record["parameters"], outcomes), each["hint"]))
    reference = Recorded(name, record["parameters"], wanted)
    tolerance = record["tolerance"]
    return Piece(name, points, reference, AsDrawn(cases), mistakes, tolerance, record["reason"], allows)


def _outcome(case: Case, record: Mapping[str, Any]) -> Outcome:
    if "error" in record:
        return Outcome(case, error=Raised(*record["error"]))
    try:
        return Outcome(case, decode(record["value"]), changed=tuple(record["changed"]))
    except NotPlain as error:
        raise ValueError(str(error)) from error


def _no_witness() -> Any:
    raise LookupError("the reference stays with the instructor")
