"""On which inputs a function is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..cases import Case
from .words import joined

_MOST = 3  # the largest number of labels that a sentence names


def condition(cases: Sequence[Case], right: Sequence[bool]) -> str:
    """A sentence about the inputs where the function is right, or nothing if it is right nowhere or none of the known
    conditions fits."""
    pairs = [(case, ok) for case, ok in zip(cases, right, strict=True) if not case.strided and not case.frozen]
    yes, no = [case for case, ok in pairs if ok], [case for case, ok in pairs if not ok]
    if not yes or not no:
        return ""
    for words, test in _TESTS:
        if all(test(case) for case in yes) and not any(test(case) for case in no):
            return f"It is right where {words}, and only there."
        if all(test(case) for case in no) and not any(test(case) for case in yes):
            return f"It is wrong where {words}, and only there."
    labels = {case.label for case in no}
    if labels and "" not in labels and not labels & {case.label for case in yes} and len(labels) <= _MOST:
        return f"It is wrong only on this kind of input: {joined(sorted(labels))}."
    labels = {case.label for case in yes}
    if labels and "" not in labels and not labels & {case.label for case in no} and len(labels) <= _MOST:
        return f"It is right only on this kind of input: {joined(sorted(labels))}."
    return ""


def _shapes(case: Case) -> list[tuple[int, ...]]:
    return [arg.shape for arg in case.args if isinstance(arg, np.ndarray) and arg.ndim]


def _first(case: Case) -> tuple[int, ...]:
    return max(_shapes(case), key=len, default=())


def _whole(case: Case) -> bool:
    arrays = [arg for arg in case.args if isinstance(arg, np.ndarray) and arg.ndim]
    return bool(arrays) and all(arg.dtype.kind in "iu" for arg in arrays)


_TESTS: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("there is only one row (n = 1)", lambda case: _first(case)[:1] == (1,)),
    ("there is only one column", lambda case: len(_first(case)) > 1 and _first(case)[1] == 1),
    (
        "there is only one row or only one column",
        lambda case: 1 in _first(case)[:2],
    ),
    (
        "there are as many rows as columns",
        lambda case: len(_first(case)) > 1 and _first(case)[0] == _first(case)[1],
    ),
    ("all arrays hold whole numbers", _whole),
)
