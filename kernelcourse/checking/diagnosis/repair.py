"""Where a student's function goes wrong: the one small change to its own code that makes it right on every input."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..calling import Outcome, watched
from ..comparing import difference
from .edits import OUTSIDE, ROWS, Edit, edits, helpers, rows, with_ticks
from .effort import COMPILE, RUN, Effort
from .words import EVERYWHERE, change

_ONE = 20_000  # steps for one change: most take a few hundred, some would never end


@dataclass(frozen=True)
class Place:
    """A change that makes the function right, and where it is."""

    line: int
    text: str  # the code there
    change: str
    lines: tuple[int, ...]  # the lines of all changes that are equally simple
    spans: tuple[tuple[int, int, int, int], ...]


class Source:
    """The code of a function as a tree that can be changed and run."""

    def __init__(self, function: Callable[..., Any], effort: Effort) -> None:
        self.text = textwrap.dedent(inspect.getsource(function))
        body = ast.parse(self.text).body
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) or body[0].decorator_list:
            raise TypeError("only a plain function can be changed")
        self.effort = effort
        self.function = with_ticks(body[0])
        self.module = ast.Module([self.function], [])
        free = inspect.getclosurevars(function).nonlocals
        self.namespace = {**function.__globals__, **free, **helpers(effort.spend)}

    def run(self, args: tuple[Any, ...]) -> Any:
        """Call the function that was compiled last."""
        self.namespace[ROWS] = rows(args)
        self.effort.spend(RUN)
        with watched(self.effort.watch):
            return self.namespace[self.function.name](*args)

    def compile(self) -> None:
        self.effort.spend(COMPILE)
        exec(compile(self.module, "<changed>", "exec"), self.namespace)


def repair(
    function: Callable[..., Any], outcomes: Sequence[Outcome], wanted: Sequence[Any], tolerance: float, effort: Effort
) -> Place | None:
    """The simplest change that makes the function right on all inputs, or None if the steps run out first."""
    try:
        source = Source(function, effort)
    except (OSError, TypeError, SyntaxError, ValueError, IndentationError):
        return None
    tried = _in_order(outcomes, wanted, tolerance)
    quiet = io.StringIO()
    found: list[Edit] = []
    careful: Literal["raise", "ignore"] = "raise" if re.search("polyfit|lstsq", source.text) else "ignore"
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(quiet),
        np.errstate(over="ignore", invalid=careful, divide=careful),  # LAPACK prints a message if it is given NaN
    ):
        warnings.simplefilter("ignore")
        for edit in sorted(edits(source.function), key=_cost):
            if edit.kind == OUTSIDE:
                continue
            if effort.over or (found and _cost(edit) > _cost(found[0])):
                break
            with edit.made(), effort.at_most(_ONE):
                if _right(source, tried, tolerance):
                    found.append(edit)
    return _place(source, found) if found else None


def _cost(edit: Edit) -> int:
    """Superfluous parts of a function are tried first: finding them takes few steps."""
    return -1 if edit.kind == "part" else edit.cost


def _in_order(outcomes: Sequence[Outcome], wanted: Sequence[Any], tolerance: float) -> list[tuple[Outcome, Any]]:
    """Wrong results first, and among them the smallest input: most changes are rejected after one call."""
    pairs = list(zip(outcomes, wanted, strict=True))

    def key(pair: tuple[Outcome, Any]) -> tuple[bool, int]:
        outcome, want = pair
        wrong = outcome.error is not None or bool(difference(outcome.value, want, tolerance))
        return not wrong, outcome.case.size

    return sorted(pairs, key=key)


def _right(source: Source, tried: Sequence[tuple[Outcome, Any]], tolerance: float) -> bool:
    try:
        source.compile()
        return all(not difference(source.run(outcome.case.fresh()), want, tolerance) for outcome, want in tried)
    except (Exception, SystemExit):  # noqa: BLE001 - most changes are nonsense
        return False


def _place(source: Source, found: Sequence[Edit]) -> Place:
    """The largest place with the simplest change, and the lines of the other places."""
    best = max(found, key=lambda edit: (-_order(edit), len(list(ast.walk(edit.place)))))
    chosen = [edit for edit in found if _order(edit) == _order(best)]
    spans = tuple(dict.fromkeys(_span(place) for edit in chosen for place in edit.places))
    text = _shortened(ast.get_source_segment(source.text, best.place) or ast.unparse(best.place))
    lines = tuple(sorted({span[0] for span in spans}))
    kind = best.kind + EVERYWHERE if best.also else best.kind
    said = change(kind, f"`{text}` in line {_span(best.place)[0]}", _detail(best, source.text))
    return Place(_span(best.place)[0], text, said, lines, spans)


def _order(edit: Edit) -> int:
    """Among equally simple changes, what people mix up most often comes first."""
    usual = ("operator", "turned", "part", "comparison", "axis", "minus", "transpose", "other", "function")
    return usual.index(edit.kind) if edit.kind in usual else len(usual)


def _span(node: Any) -> tuple[int, int, int, int]:
    line = getattr(node, "lineno", 1)
    return line, getattr(node, "col_offset", 0), getattr(node, "end_lineno", line), getattr(node, "end_col_offset", 0)


def _detail(edit: Edit, text: str) -> str:
    if edit.kind == "part":
        node = edit.place
        if isinstance(node, ast.BinOp):
            part = node.right if edit.detail == "right" else node.left
            return f"`{_shortened(ast.get_source_segment(text, part) or ast.unparse(part))}`"
        if isinstance(node, ast.Call):
            return f"`{ast.unparse(node.func).rpartition('.')[2]}`"
        return {"attribute": f"`.{getattr(node, 'attr', '')}`"}.get(edit.detail, f"the {edit.detail}")
    if edit.kind == "function":
        old, new = edit.detail.split()
        return f"`{new}` instead of `{old}`"
    return f"`{edit.detail}`" if edit.detail else ""


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "…"
