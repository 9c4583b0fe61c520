"""Points as CSV files that Canvas and Moodle import.

Canvas reads what its gradebook exports: `Student, ID, SIS User ID, SIS Login ID, Section`, then a column for each
assignment, and a first row with the points possible. It finds a student by the ID that it gave (nbgrader's
`lms_user_id`), else by the login (nbgrader's student id), else by the name; and an assignment by its title.

Moodle reads what its grade export writes: columns of the profile, then `Assignment: … (Real)` and `(Feedback)`. Its
import asks which column identifies the student (ID number or e-mail address) and to which item the grades belong.

We write them ourselves, because `nbgrader export` writes one flat file, and canvasapi needs the network and a token.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .graded import Submission

# What starts a formula, at the beginning of a cell or after a character that some spreadsheet takes for a cell's end.
_FORMULA = re.compile(r"(^|[;,|\t])(\s*)(?=[=+\-@＝＋－＠])")


def canvas(assignment: str, points: float, submissions: Iterable[Submission]) -> str:
    """The file for Canvas: Grades, Import."""
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment],
        ["    Points Possible", "", "", "", "", _number(points)],
    ]
    for one in submissions:
        name = ", ".join(filter(None, (one.last_name, one.first_name))) or one.student
        rows.append([harmless(name), harmless(one.lms_id), "", harmless(one.student), "", _points(one)])
    return _written(rows)


def moodle(assignment: str, submissions: Iterable[Submission]) -> str:
    """The file for Moodle: Grades, Import, CSV file."""
    item = f"Assignment: {assignment}"
    rows = [["First name", "Last name", "ID number", "Email address", f"{item} (Real)", f"{item} (Feedback)"]]
    for one in submissions:
        profile = [one.first_name, one.last_name, one.student, one.email]
        rows.append([*map(harmless, profile), _points(one), harmless(feedback(one))])
    return _written(rows)


def feedback(submission: Submission) -> str:
    """What each piece earned, on one line whose numbers add up to the points; manual scores are marked."""
    if submission.reason:
        return submission.reason
    by_hand = {cell.name for cell in submission.cells if cell.by_hand}
    parts = [
        f"{piece.name} {piece.earned:g}/{piece.points:g}" for piece in submission.pieces if piece.cell not in by_hand
    ]
    checked = {piece.cell for piece in submission.pieces}
    complete = "" not in checked  # results of an earlier version do not name their cells
    for cell in submission.cells:
        if cell.by_hand:
            parts.append(f"{cell.name} {cell.score:g}/{cell.points:g} (by hand)")
        elif cell.waits and complete:
            parts.append(f"{cell.name} is still to be read")
        elif cell.name not in checked and complete:
            parts.append(f"{cell.name} {cell.score:g}/{cell.points:g}")
    if submission.penalty:
        parts.append(f"late: {submission.penalty:g} off")
    return "; ".join(parts)


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("Ada"), harmless("O;=cmd|calc!A1")
    ("'=1+1", 'Ada', "O;'=cmd|calc!A1")
    """
    text = "".join(character for character in text if character >= " " or character == "\t")
    return _FORMULA.sub(r"\1'\2", text)


def _points(submission: Submission) -> str:
    """The points; empty for work that is handed in but not graded yet, so that no grade is overwritten."""
    return "" if submission.ungraded else _number(submission.points)


def _number(value: float) -> str:
    return f"{value:.6g}"


def _written(rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue()
