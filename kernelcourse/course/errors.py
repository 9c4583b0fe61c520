"""The error that a command raises when it cannot do its work."""

from __future__ import annotations


class CourseError(Exception):
    """Something in the course folder or the arguments is not as it should be; the message says what to do."""
