"""What a check shows: a green line for a right answer, a box with a hint for a wrong one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .book import NO_LINKS, Links

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

_GREEN, _RED = "#1b6e2c", "#a3201d"


@dataclass(frozen=True)
class Result:
    """The verdict on one piece."""

    piece: str
    points: float
    cases: int
    wrong: int = 0
    problem: str = ""
    details: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    mistake: str = ""
    hidden: bool = False
    links: Links = NO_LINKS
    nudge: str = ""  # the first step; if there is one, the hint is shown on request
    smaller: tuple[tuple[str, str], ...] = ()  # the smallest input that fails, if another one is shown
    diagnosis: Diagnosis | None = None

    @property
    def passed(self) -> bool:
        return not self.wrong

    @property
    def earned(self) -> float:
        return self.points if self.passed else 0

    @property
    def title(self) -> str:
        points = f"({self.earned:g} of {self.points:g} point{'' if self.points == 1 else 's'})"
        inputs = f"{self.cases} {'hidden ' if self.hidden else ''}input{'' if self.cases == 1 else 's'}"
        if self.passed:
            return f"✓ {self.piece}: right{f' on {inputs}' if self.cases > 1 else ''} {points}"
        some = self.cases > 1 and self.wrong < self.cases
        # not for hidden inputs: an answer could use this number to tell the student what they are
        count = f", wrong on {self.wrong} of {inputs}" if some and not self.hidden else ""
        return f"✗ {self.piece}: not right yet{count} {points}"

    @property
    def waits(self) -> bool:
        """Whether there is more to say on request."""
        return bool(self.nudge and (self.smaller or (self.hint and self.hint != self.nudge)))

    @property
    def text(self) -> str:
        """The verdict as plain text, except for what is shown on request."""
        if self.passed:
            return self.title
        body = [textwrap.fill(self.problem, 100), *_listed(self.details)]
        if self.nudge or self.hint:
            body.append(textwrap.fill(f"Hint: {self.nudge or self.hint}", 100, subsequent_indent="      "))
        if self.waits:
            body.append(f'More: check.why("{self.piece}")')
        body += [self.links.text] if self.links.text else []
        return "\n".join([self.title, *(textwrap.indent(part, "  ") for part in body)])

    @property
    def why(self) -> str:
        """The second step: the diagnosis, and a smaller example."""
        if self.passed:
            return self.title
        body = [textwrap.fill(self.hint or self.nudge or self.problem, 100)]
        if self.smaller:
            body += ["A smaller input on which it fails:", *_listed(self.smaller)]
        return "\n".join([f"{self.piece}:", *(textwrap.indent(part, "  ") for part in body)])

    def _linked(self, text: str) -> str:
        return self.links.in_html(text, _plain)

    @property
    def html(self) -> str:
        """The verdict as a line or a box that is readable on light and dark pages."""
        if self.passed:
            return f'<div style="color:{_GREEN};background:#eef7ef;padding:.3em .8em">{escape(self.title)}</div>'
        hint = f"<p><b>Hint:</b> {self._linked(self.nudge or self.hint)}</p>" if self.nudge or self.hint else ""
        if self.waits:
            example = f"<p>A smaller input on which it fails:</p>{_table(self.smaller)}" if self.smaller else ""
            why = f"<p>{self._linked(self.hint)}</p>" if self.hint and self.hint != self.nudge else ""
            hint += f"<details><summary>Why?</summary>{why}{example}</details>"
        # the text of an error may be a formula, and a formula may contain a link: MathJax leaves <pre> alone
        wrapped = '<pre style="margin:1em 0;padding:0;border:0;color:inherit;background:none;font:inherit;'
        problem = f'{wrapped}white-space:pre-wrap">{escape(self.problem)}</pre>'
        return (
            f'<div style="border-left:4px solid {_RED};color:#222;background:#fdf3f2;padding:.3em .8em">'
            f'<b style="color:{_RED}">{escape(self.title)}</b>{problem}{_table(self.details)}{hint}{self.links.html}'
            "</div>"
        )

    @property
    def record(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {
            "piece": self.piece,
            "points": self.points,
            "earned": self.earned,
            "problem": self.problem,
            "hint": self.hint,
            "nudge": self.nudge,
            "mistake": self.mistake,
        }


_WORDS = ("input", "expected", "yours", "first difference", "where", "printed")


def _listed(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [
        f"  {name:>{width}} = ".replace(" = ", ": " if name in _WORDS else " = ") + _indent(value, width + 5)
        for name, value in rows
    ]


def _table(rows: Sequence[tuple[str, str]]) -> str:
    pre = '<pre style="margin:0;padding:0;border:0;color:inherit;background:none">'
    cells = "".join(
        f'<tr><th scope="row" style="text-align:right;vertical-align:top">{escape(name)}</th>'
        f'<td style="text-align:left">{pre}{escape(value)}</pre></td></tr>'
        for name, value in rows
    )
    return f'<table style="color:inherit;background:none">{cells}</table>' if cells else ""


def _plain(text: str) -> str:
    """A sentence for the box, in which nothing is typeset as a formula: it may quote the student's own text."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text)).replace("$", "<span>$</span>")


def _indent(value: str, width: int) -> str:
    return value.replace("\n", "\n" + " " * width)


def shown(value: Any, digits: int = 5) -> str:
    """A value as short text: small arrays in full, large ones by their shape and corners.

    >>> shown(np.array([[1.0, 2.5]]))
    '[[1.  2.5]]  shape (1, 2)'
    >>> shown(0.1 + 0.2)
    '0.3'
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        text = np.array2string(value, precision=digits, suppress_small=digits == 5, threshold=30, edgeitems=2)
        # whole numbers have 64 bits on a computer and 32 in a browser
        dtype = {"f": "", "i": ", dtype int"}.get(value.dtype.kind, f", dtype {value.dtype}")
        return f"{text}  shape {value.shape}{dtype}" if value.ndim else text
    if isinstance(value, (float, np.floating)):
        return f"{value:.{digits + 1}g}"
    return repr(value).replace(", dtype=int64", "")[:300]  # numpy adds this in a browser


class Verdict:
    """The results of a check, which display themselves in a notebook and in a terminal."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = tuple(results)

    @property
    def earned(self) -> float:
        return sum(result.earned for result in self.results)

    @property
    def points(self) -> float:
        return sum(result.points for result in self.results)

    @property
    def text(self) -> str:
        return "\n".join(result.text for result in self.results)

    @property
    def html(self) -> str:
        return "".join(result.html for result in self.results)

    @property
    def bundle(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Data and metadata of a notebook output; the metadata hold the verdict as plain data."""
        records = [result.record for result in self.results]
        return {"text/plain": self.text, "text/html": self.html}, {"kernelcourse": records}

    def __repr__(self) -> str:
        return self.text


class Passed(Verdict):
    """Everything is right. The verdict is displayed and not returned: a cell without a result gets full marks."""

    def _ipython_display_(self) -> None:
        _display(self)


class Partial(Verdict):
    """Some parts are right. The box is displayed; the result of the cell is the number of points, for nbgrader."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        _display(self)
        return {"text/plain": f"{self.earned:g}"}

    def __float__(self) -> float:
        return float(self.earned)


class Why:
    """What `check.why` says; the output records that it was asked for."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def __repr__(self) -> str:
        return self.result.why

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, str], dict[str, Any]]:
        asked = {"piece": self.result.piece, "mistake": self.result.mistake}
        return {"text/plain": self.result.why}, {"kernelcourse-asked": [asked]}


class CheckFailed(AssertionError):
    """Nothing is right yet. A notebook shows a box instead of a traceback; nbgrader gives no points for an error."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict
        self._shown = False

    def _render_traceback_(self) -> list[str]:
        if not self._shown:  # IPython renders an error more than once; one box is enough
            self._shown = True
            _display(self.verdict)
        names = ", ".join(result.piece for result in self.verdict.results)
        return [f"Not right yet: {names}. The box says more."]


def _display(verdict: Verdict) -> None:
    from IPython.display import display

    data, metadata = verdict.bundle
    display(data, raw=True, metadata=metadata)
