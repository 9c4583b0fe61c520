"""Points as CSV files that Canvas and Moodle import.

Canvas reads what its gradebook exports: `Student, ID, SIS User ID, SIS Login ID, Section`, then a column for each
assignment, and a first row with the points possible. It finds a student by the ID that it gave (nbgrader's
`lms_user_id`), else by the login (nbgrader's student id), else by the name; and an assignment by its title.

Moodle reads what its grade export writes: columns of the profile, then `Assignment: … (Real)` and `(Feedback)`. Its
import asks which column names the student (ID number or e-mail address) and to which item the grades belong.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .graded import Submission

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def canvas(assignment: str, points: float, submissions: Iterable[Submission]) -> str:
    """The file for Canvas: Grades, Import."""
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment],
        ["    Points Possible", "", "", "", "", _number(points)],
    ]
    for one in submissions:
        name = ", ".join(filter(None, (one.last_name, one.first_name))) or one.student
        rows.append([harmless(name), harmless(one.lms_id), "", harmless(one.student), "", _number(one.points)])
    return _written(rows)


def moodle(assignment: str, submissions: Iterable[Submission]) -> str:
    """The file for Moodle: Grades, Import, CSV file."""
    item = f"Assignment: {assignment}"
    rows = [["First name", "Last name", "ID number", "Email address", f"{item} (Real)", f"{item} (Feedback)"]]
    for one in submissions:
        profile = [one.first_name, one.last_name, one.student, one.email]
        rows.append([*map(harmless, profile), _number(one.points), harmless(feedback(one))])
    return _written(rows)


def feedback(submission: Submission) -> str:
    """What each piece earned, in a line."""
    parts = [f"{piece.name} {piece.earned:g}/{piece.points:g}" for piece in submission.pieces]
    return "; ".join(parts)


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("Ada")
    ("'=1+1", 'Ada')
    """
    text = "".join(character for character in text if character >= " " or character == "\t")
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _number(value: float) -> str:
    return f"{value:.6g}"


def _written(rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue()
