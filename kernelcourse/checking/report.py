"""What a check says: a green line, a readable box, or both with the points in between."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .book import NO_LINKS, Links

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
        count = f", wrong on {self.wrong} of {inputs}" if some and not self.hidden else ""  # an answer could choose it
        return f"✗ {self.piece}: not right yet{count} {points}"

    @property
    def text(self) -> str:
        """The verdict as plain text."""
        if self.passed:
            return self.title
        width = max((len(name) for name, _ in self.details), default=0)
        body = [textwrap.fill(self.problem, 100)]
        for name, value in self.details:
            body.append(
                f"  {name:>{width}} = ".replace(" = ", ": " if name in _WORDS else " = ") + _indent(value, width + 5)
            )
        if self.hint:
            body.append(textwrap.fill(f"Hint: {self.hint}", 100, subsequent_indent="      "))
        body += [self.links.text] if self.links.text else []
        return "\n".join([self.title, *(textwrap.indent(part, "  ") for part in body)])

    @property
    def html(self) -> str:
        """The verdict as a line or a box that reads in light and dark pages alike."""
        if self.passed:
            return f'<div style="color:{_GREEN};background:#eef7ef;padding:.3em .8em">{escape(self.title)}</div>'
        pre = '<pre style="margin:0;padding:0;border:0;color:inherit;background:none">'
        rows = "".join(
            f'<tr><th scope="row" style="text-align:right;vertical-align:top">{escape(name)}</th>'
            f'<td style="text-align:left">{pre}{escape(value)}</pre></td></tr>'
            for name, value in self.details
        )
        table = f'<table style="color:inherit;background:none">{rows}</table>' if rows else ""
        hint = f"<p><b>Hint:</b> {self.links.in_html(self.hint)}</p>" if self.hint else ""
        # an error's text may be a formula, and a formula may be a link: MathJax leaves <pre> alone
        wrapped = '<pre style="margin:1em 0;padding:0;border:0;color:inherit;background:none;font:inherit;'
        problem = f'{wrapped}white-space:pre-wrap">{escape(self.problem)}</pre>'
        return (
            f'<div style="border-left:4px solid {_RED};color:#222;background:#fdf3f2;padding:.3em .8em">'
            f'<b style="color:{_RED}">{escape(self.title)}</b>{problem}{table}{hint}{self.links.html}</div>'
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
            "mistake": self.mistake,
        }


_WORDS = ("input", "expected", "yours", "where", "printed")


def _indent(value: str, width: int) -> str:
    return value.replace("\n", "\n" + " " * width)


def shown(value: Any) -> str:
    """A value as short text: small arrays in full, large ones by their shape and corners.

    >>> shown(np.array([[1.0, 2.5]]))
    '[[1.  2.5]]  shape (1, 2)'
    >>> shown(0.1 + 0.2)
    '0.3'
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        text = np.array2string(value, precision=5, suppress_small=True, threshold=30, edgeitems=2)
        # whole numbers have 64 bits on a computer and 32 in a browser
        dtype = {"f": "", "i": ", dtype int"}.get(value.dtype.kind, f", dtype {value.dtype}")
        return f"{text}  shape {value.shape}{dtype}" if value.ndim else text
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return repr(value)[:300]


class Verdict:
    """The results of a check, which know how to show themselves in a notebook and in a terminal."""

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
    """All is right. Shown without being a cell's result, which nbgrader takes as full marks."""

    def _ipython_display_(self) -> None:
        _display(self)


class Partial(Verdict):
    """Some parts are right. As a cell's result its text is the number of points, which nbgrader takes as the grade."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, str], dict[str, Any]]:
        data, metadata = self.bundle
        return data | {"text/plain": f"{self.earned:g}"}, metadata

    def __float__(self) -> float:
        return float(self.earned)


class CheckFailed(AssertionError):
    """Nothing is right yet. In a notebook a box instead of a traceback; nbgrader takes any error as no points."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict
        self._shown = False

    def _render_traceback_(self) -> list[str]:
        if not self._shown:  # IPython renders an error more than once; one box is enough
            self._shown = True
            _display(self.verdict)
        lines = [f"{result.piece}: {result.hint or result.problem}" for result in self.verdict.results]
        return [textwrap.fill(line, 100) for line in lines]


def _display(verdict: Verdict) -> None:
    from IPython.display import display

    data, metadata = verdict.bundle
    display(data, raw=True, metadata=metadata)
