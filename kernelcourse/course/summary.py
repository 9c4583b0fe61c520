"""A report's page: what the submissions of an assignment have in common, and where to look more closely."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from ..checking.piece import NOT_WRITTEN
from .graded import Ending, Graded, Submission
from .similarity import Group, near_identical

NOT_CATALOGUED = "not in the catalogue"

_WHY = re.compile(r"""\bcheck\.why\(\s*["'](\w+)["']\s*\)""")
_BARS = 12  # the most in the histogram
_COLUMNS = 6  # the most texts shown from a group of near-identical answers
_LONGEST_TEXT = 6000  # the most characters of an answer that are shown


@dataclass(frozen=True)
class Bar:
    """The students whose points lie from `low` up to, but not including, `high` (the last bar includes it)."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class PieceRow:
    """How the class did on a piece."""

    name: str
    points: float
    right: int
    written: int
    explained: int  # how many asked for the second step of a hint
    asked: int

    @property
    def share(self) -> float:
        return self.right / self.asked if self.asked else 0.0


@dataclass(frozen=True)
class MistakeRow:
    """A mistake, with the students who made it and what the check told each of them."""

    piece: str
    mistake: str
    hint: str
    students: tuple[tuple[str, str], ...]
    example: tuple[str, str] = ("", "")  # a student, and the answer


@dataclass(frozen=True)
class Summary:
    """What the page shows."""

    assignment: str
    points: float
    submissions: Sequence[Submission]
    absent: Sequence[Submission]
    bars: Sequence[Bar]
    pieces: Sequence[PieceRow]
    mistakes: Sequence[MistakeRow]
    endings: Sequence[Ending]
    groups: Sequence[Group]
    answers: dict[tuple[str, str], str]  # (student, answer) -> text
    variants: dict[str, str]  # student -> own numbers

    @property
    def waiting(self) -> int:
        return sum(one.waits for one in self.submissions)

    @property
    def mean(self) -> float:
        return statistics.fmean(one.points for one in self.submissions)

    @property
    def median(self) -> float:
        return statistics.median(one.points for one in self.submissions)


def summarise(everything: Graded) -> Summary:
    """Count and compare."""
    submissions = everything.submissions
    groups = []
    for answer, given in everything.given.items():
        texts = {one.student: one.answers[answer] for one in submissions if answer in one.answers}
        groups += near_identical(answer, texts, given, {one.student: one.literals for one in submissions})
    pieces = _pieces(submissions)
    return Summary(
        everything.assignment,
        everything.points,
        submissions,
        everything.absent,
        histogram([one.points for one in submissions], everything.points),
        pieces,
        _mistakes(everything, [row.name for row in pieces]),
        everything.endings,
        groups,
        {(one.student, answer): text for one in submissions for answer, text in one.answers.items()},
        {one.student: one.variant for one in submissions},
    )


def histogram(points: Sequence[float], most: float) -> list[Bar]:
    """How many students have how many points, in bars of the same whole-number width.

    >>> [(bar.low, bar.high, bar.count) for bar in histogram([0, 3, 4, 4], 4)]
    [(0, 1, 1), (1, 2, 0), (2, 3, 0), (3, 4, 3)]
    """
    top = max(1, -int(-max(most, *points) // 1))
    width = -(-top // _BARS)
    count = -(-top // width)
    heights = [0] * count
    for value in points:
        heights[min(max(int(value // width), 0), count - 1)] += 1
    return [Bar(i * width, min((i + 1) * width, top), height) for i, height in enumerate(heights)]


def _pieces(submissions: Sequence[Submission]) -> list[PieceRow]:
    """The pieces, hardest first; ties keep the order of the assignment."""
    results = defaultdict(list)
    for one in submissions:
        for piece in one.pieces:
            results[piece.name].append(piece)
    rows = [
        PieceRow(
            name,
            pieces[0].points,
            right=sum(piece.earned >= piece.points for piece in pieces),
            written=sum(piece.mistake != NOT_WRITTEN for piece in pieces),
            explained=sum(name in _asked_why(one) for one in submissions),
            asked=len(submissions),
        )
        for name, pieces in results.items()
    ]
    return sorted(rows, key=lambda row: row.share)


def _asked_why(submission: Submission) -> set[str]:
    """The pieces for which a student called `check.why`, if the call is still in the notebook."""
    return {name for text in submission.answers.values() for name in _WHY.findall(text)}


def _mistakes(everything: Graded, order: Sequence[str]) -> list[MistakeRow]:
    """The mistakes by piece, in this order, most frequent first; missing answers come last.

    The example is the shortest of the answers.
    """
    made = defaultdict(list)
    hints, answers = {}, defaultdict(list)
    for one in everything.submissions:
        for piece in one.pieces:
            if piece.earned < piece.points:
                key = piece.name, piece.mistake or NOT_CATALOGUED
                made[key].append((one.student, piece.problem))
                hints[key] = piece.hint if piece.mistake else "Wrong in a way of its own. Worth a new entry?"
                if text := one.answers.get(everything.answer_of.get(piece.cell, ""), "").strip():
                    answers[key].append((len(text), one.student, text))
    rows = [
        MistakeRow(*key, hints[key], tuple(students), min(answers[key], default=(0, "", ""))[1:])
        for key, students in made.items()
    ]
    place = {name: position for position, name in enumerate(order)}
    last = NOT_WRITTEN
    return sorted(rows, key=lambda row: (row.mistake == last, place[row.piece], -len(row.students), row.mistake))


def visible(text: str) -> str:
    r"""A student's text for the page, with characters that hide or reorder others spelled out.

    >>> print(visible("a\u202eb"))
    a\u202eb
    """
    cut = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "\n… (cut)"
    return "".join(
        f"\\u{ord(character):04x}" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
        for character in cut.replace("\r\n", "\n").expandtabs(4)
    ).replace("\\u000a", "\n")


def render(summary: Summary) -> str:
    """The page, as one self-contained file. Every text is escaped."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(visible=visible, points=lambda value: f"{value:.4g}")
    template = files(__package__).joinpath("template", "report.html").read_text(encoding="utf-8")
    tallest = max(bar.count for bar in summary.bars)
    return environment.from_string(template).render(
        summary=summary, columns=_COLUMNS, tallest=tallest, missing=NOT_WRITTEN
    )
