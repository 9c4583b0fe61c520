"""A report without names: every student gets a number that does not reveal who it is, the same in all reports."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import replace

from .graded import Ending, Graded, Submission

_SHORTEST = 3  # letters in a name; shorter names are not searched for in texts


def anonymous(everything: Graded, secret: str) -> Graded:
    """The same results under numbers; known names and ids are removed from texts as well."""
    people = [*everything.submissions, *everything.absent]
    known = sorted({one.student for one in people} | {ending.student for ending in everything.endings})
    numbers = {student: _number(student, secret) for student in known}
    names = {name for one in people for name in (one.student, one.first_name, one.last_name, one.email, one.lms_id)}
    words = sorted((re.escape(name) for name in names if len(name) >= _SHORTEST), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE) if words else None

    def clean(text: str) -> str:
        return pattern.sub("…", text) if pattern else text

    def hide(one: Submission) -> Submission:
        pieces = [replace(piece, problem=clean(piece.problem)) for piece in one.pieces]
        answers = {answer: clean(text) for answer, text in one.answers.items()}
        return replace(
            one,
            student=numbers[one.student],
            first_name="",
            last_name="",
            email="",
            lms_id="",
            pieces=pieces,
            answers=answers,
            variant="",
        )

    return replace(
        everything,
        submissions=sorted(map(hide, everything.submissions), key=lambda one: one.student),
        absent=sorted(map(hide, everything.absent), key=lambda one: one.student),
        endings=[
            Ending(numbers[one.student], one.kind, clean(one.text), clean(one.notebook)) for one in everything.endings
        ],
    )


def _number(student: str, secret: str) -> str:
    return f"student {hmac.new(secret.encode(), student.encode(), hashlib.sha256).hexdigest()[:6]}"
