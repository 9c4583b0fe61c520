"""Comparing what came with what was expected: kind and shape first, then values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np


def difference(got: Any, want: Any, tolerance: float) -> str:
    """Say what is wrong with `got`, or return nothing if it is `want` up to the tolerance.

    Numbers may differ by `tolerance * max(1, largest wanted magnitude)`. A list does for an array, a whole number
    for a float of the same value; a number does not for an array of equal numbers.

    >>> difference(np.zeros((2, 1)), np.zeros(2), 1e-9)
    'The shape is (2, 1), but (2,) is expected.'
    >>> difference(0.25, 0.5, 1e-9)
    'The value is off by 0.25.'
    >>> difference([0.5], np.array([0.5]), 1e-9)
    ''
    """
    if got is None:
        return "It returned None. Is a `return` missing?"
    if isinstance(want, (str, bool, np.bool_)):
        return _plain_difference(got, want)
    if isinstance(want, tuple):
        return _tuple_difference(got, want, tolerance)
    return _array_difference(got, np.asarray(want), tolerance)


def vague(problem: str) -> str:
    """What may be said of a hidden input: nothing whose numbers a student's function could choose to tell it.

    >>> vague("The shape is (0, 31415926), but (2,) is expected.")
    'The shape is not the one that is expected.'
    """
    if not re.search(r"\d", problem) or problem.startswith("It raised "):
        return problem
    if problem.startswith("The shape is"):
        return "The shape is not the one that is expected."
    return "The result differs from what is expected."


def _plain_difference(got: Any, want: str | bool | np.bool_) -> str:
    wanted = str if isinstance(want, str) else (bool, np.bool_)
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got.item()
    if not isinstance(got, wanted):
        kind = "a string" if isinstance(want, str) else "True or False"
        return f"It returned {_kind(got)}, but {kind} is expected."
    return (
        ""
        if got == want
        else "The answer is the other one."
        if isinstance(want, (bool, np.bool_))
        else "The text differs."
    )


def _tuple_difference(got: Any, want: tuple[Any, ...], tolerance: float) -> str:
    if not isinstance(got, (tuple, list, np.ndarray)) or len(got) != len(want):
        return f"It returned {_kind(got)}, but {len(want)} values are expected, in a tuple."
    for position, (ours, theirs) in enumerate(zip(want, got, strict=True)):
        problem = difference(theirs, ours, tolerance)
        if problem:
            return f"Value number {position + 1} of the {len(want)}: {problem}"
    return ""


def _array_difference(got: Any, want: np.ndarray, tolerance: float) -> str:
    try:
        array = np.asarray(got)
    except ValueError:
        return "It returned rows of different lengths, but a rectangular array is expected."
    if array.dtype.kind not in "biuf":
        return f"It returned {_kind(got)}, but {'an array of ' if want.ndim else ''}real numbers are expected."
    if array.shape != want.shape:
        expected = f"{want.shape} is expected" if want.ndim else "a plain number is expected"
        return (
            f"The shape is {array.shape}, but {expected}."
            if array.ndim
            else f"It is a plain number, but shape {expected}."
        )
    if not np.isfinite(array).all():
        return f"It contains {'NaN' if np.isnan(array).any() else 'infinite values'}."
    off = np.abs(array.astype(float) - want)
    wrong = off > tolerance * max(1.0, float(np.abs(want).max(initial=0.0)))
    if not wrong.any():
        return ""
    if not want.ndim:
        return f"The value is off by {off.max():.3g}."
    worst = tuple(int(i) for i in np.unravel_index(np.argmax(off), off.shape))
    index = worst if len(worst) > 1 else worst[0]
    return f"{wrong.sum()} of {off.size} entries differ, most at index {index}, by {off.max():.3g}."


def _kind(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of length {len(value)}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return f"a value of type {type(value).__name__}"
