"""A student's progress: the pieces of an assignment, which of them are right, and the points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_MARKS = {True: "✓", False: "✗", None: "·"}
_WORDS = {True: "right", False: "not right yet", None: "not tried"}


@dataclass(frozen=True)
class Standing:
    """One piece: right, not right yet, or not tried (None)."""

    piece: str
    points: float
    right: bool | None = None


@dataclass(frozen=True)
class Progress:
    """All pieces of an assignment. It is shown as a table in a notebook and as text elsewhere."""

    standings: Sequence[Standing]

    @property
    def right(self) -> int:
        return sum(one.right is True for one in self.standings)

    @property
    def earned(self) -> float:
        return sum(one.points for one in self.standings if one.right)

    @property
    def points(self) -> float:
        return sum(one.points for one in self.standings)

    @property
    def summary(self) -> str:
        """The progress in a few words.

        >>> Progress([Standing("gram_matrix", 1, True), Standing("predict", 1)]).summary
        '1 of 2 pieces right, 1 of 2 points'
        """
        return f"{self.right} of {len(self.standings)} pieces right, {self.earned:g} of {self.points:g} points"

    def __repr__(self) -> str:
        lines = [f"{_MARKS[one.right]} {one.piece}: {_WORDS[one.right]}" for one in self.standings]
        return "\n".join([*lines, self.summary])

    def _repr_html_(self) -> str:
        left = 'style="text-align:left"'
        rows = "".join(
            f"<tr><td>{_MARKS[one.right]}</td><th scope='row' {left}><code>{escape(one.piece)}</code></th>"
            f"<td {left}>{_WORDS[one.right]}</td><td>{one.points if one.right else 0:g} of {one.points:g}</td></tr>"
            for one in self.standings
        )
        return f"<table><caption {left}>{escape(self.summary)}</caption>{rows}</table>"
