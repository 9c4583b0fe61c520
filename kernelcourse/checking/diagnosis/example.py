"""Choose which failing input to show: one that can be followed by hand and hides nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calling import Outcome

_MUCH = 40  # as many numbers as a reader is willing to look at


def burden(outcome: Outcome) -> tuple[int, ...]:
    """How hard an input is to read; the easiest one is shown.

    With one point or one feature, wrong shapes look right, and five random digits cannot be checked by hand. A few
    whole numbers are better, in arrays whose sizes differ and are larger than one.
    """
    arrays = [arg for arg in outcome.case.args if isinstance(arg, np.ndarray) and arg.ndim]
    special = outcome.case.strided or outcome.case.frozen
    thin = any(1 in array.shape or not array.size for array in arrays)
    large = outcome.case.size > _MUCH
    return special, large, thin, not all(_whole(array) for array in arrays), outcome.case.size


def _whole(array: np.ndarray) -> bool:
    return array.dtype.kind in "biu" or bool((array == np.rint(array)).all())


def _reals(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError("only real numbers can be compared")
    return array.astype(float)


def digits(got: Any, want: Any) -> int:
    """How many digits it takes to see that two values differ."""
    try:
        ours, theirs = _reals(want), _reals(got)
        if ours.shape != theirs.shape:
            return 5
        off = np.abs(ours - theirs)
        least = off[off > 1e-12 * (1 + np.abs(ours))].max(initial=0.0)
    except (TypeError, ValueError):
        return 5
    if not least or not np.isfinite(least):
        return 5
    return int(min(15, max(5, 2 - np.floor(np.log10(least)))))


def first_apart(got: Any, want: Any, tolerance: float) -> str:
    """The first place where two arrays differ, with both values."""
    try:
        ours, theirs = _reals(want), _reals(got)
    except (TypeError, ValueError):
        return ""
    if ours.shape != theirs.shape or ours.size < 4:
        return ""
    apart = ~(np.abs(ours - theirs) <= tolerance * max(1.0, float(np.abs(ours).max())))
    if not apart.any():
        return ""
    at = tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
    index = ", ".join(map(str, at))
    places = digits(theirs[at], ours[at]) + 1
    return f"[{index}]: {ours[at]:.{places}g} is expected, yours is {theirs[at]:.{places}g}"
