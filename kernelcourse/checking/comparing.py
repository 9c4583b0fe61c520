"""Compare a result with the expected one: kind and shape first, then values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from .values import Frame, Sparse, aligned, by_value, same

_SINGLE = 100  # times the spacing of float32 or float16; results computed in these types have no more digits
_SHORT = {np.dtype(np.float16), np.dtype(np.float32)}


def difference(got: Any, want: Any, tolerance: float) -> str:
    """Say what is wrong with `got`, or return an empty string if it equals `want` within the tolerance.

    Floats may differ by `tolerance * max(1, largest expected magnitude)`, and by more in single precision; whole
    numbers, texts and truth values may not differ. A list may stand for an array or a tuple, and a whole number for a
    float of the same value; a number may not stand for an array of equal numbers, nor for True.

    >>> difference(np.zeros((2, 1)), np.zeros(2), 1e-9)
    'The shape is (2, 1), but (2,) is expected.'
    >>> difference(0.25, 0.5, 1e-9)
    'The value is off by 0.25.'
    >>> difference({"pear": [1, 2]}, {"pear": [1, 3]}, 1e-9)
    "Under the key 'pear': 1 of 2 entries differ, most at index 1, by 1."
    """
    got, want = by_value(got), by_value(want)
    if got is None or want is None:
        return _none_difference(got, want)
    if isinstance(want, (str, bytes, bool, np.bool_)):
        return _plain_difference(got, want)
    if isinstance(want, np.ndarray) and want.dtype.kind not in "biufc":
        want = want.tolist()
    if isinstance(want, (tuple, list)) and not _is_array(want):
        return _sequence_difference(got, want, tolerance)
    for kind, compare in _BY_KIND.items():
        if isinstance(want, kind):
            return compare(got, want, tolerance)
    return _array_difference(got, want, tolerance)


def vague(problem: str) -> str:
    """What may be said about a hidden input: nothing that a student's function could use to reveal it.

    >>> vague("The shape is (0, 31415926), but (2,) is expected.")
    'The shape is not the expected one.'
    >>> vague("The key 'a secret' is not expected.")
    'The result differs from what is expected.'
    """
    if problem.startswith("It raised ") or not re.search(r"""[\d'"]""", problem):
        return problem
    if problem.startswith("The shape is"):
        return "The shape is not the expected one."
    return "The result differs from what is expected."


def _none_difference(got: Any, want: Any) -> str:
    if got is None and want is None:
        return ""
    return "It returned None. Is a `return` missing?" if got is None else f"It returned {_kind(got)}, not None."


def _plain_difference(got: Any, want: Any) -> str:
    wanted, kind = next(pair for pair in _PLAIN if isinstance(want, pair[0]))
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got.item()
    if not isinstance(got, wanted):
        return f"It returned {_kind(got)}, but {kind} is expected."
    if got == want:
        return ""
    return "The opposite answer is expected." if wanted == _TRUTH else "The text differs."


_TRUTH = (bool, np.bool_)
_PLAIN: list[tuple[Any, str]] = [(str, "a string"), (bytes, "a string of bytes"), (_TRUTH, "True or False")]


def _is_array(want: tuple[Any, ...] | list[Any]) -> bool:
    """Whether a list is an array in all but name: rows of numbers. A list of words is not, nor is a tuple."""
    return isinstance(want, list) and bool(want) and (_are_numbers(want) or _are_rows(want))


def _are_numbers(items: Sequence[Any]) -> bool:
    return all(isinstance(item, (int, float, np.number)) and not isinstance(item, bool) for item in items) and all(
        abs(item) < 2**63 for item in items if isinstance(item, int)
    )


def _are_rows(items: list[Any]) -> bool:
    try:
        return all(isinstance(item, (list, np.ndarray)) for item in items) and np.asarray(items).dtype.kind in "iufc"
    except ValueError:  # rows of different lengths
        return False


def _sequence_difference(got: Any, want: Sequence[Any], tolerance: float) -> str:
    listed = isinstance(got, (tuple, list)) or (isinstance(got, np.ndarray) and got.ndim > 0)
    if isinstance(want, tuple) and not (listed and len(got) == len(want)):
        return f"It returned {_kind(got)}, but {len(want)} values are expected, in a tuple."
    if not listed:
        return f"It returned {_kind(got)}, but a list is expected."
    if len(got) != len(want):
        return f"The list has {len(got)} items, but {len(want)} are expected."
    for position, (ours, theirs) in enumerate(zip(want, got, strict=True), start=1):
        problem = difference(theirs, ours, tolerance)
        if problem:
            return f"{'Value' if isinstance(want, tuple) else 'Item'} number {position} of the {len(want)}: {problem}"
    return ""


def _dict_difference(got: Any, want: dict[Any, Any], tolerance: float) -> str:
    if not isinstance(got, dict):
        return f"It returned {_kind(got)}, but a dict is expected."
    for key in want:
        if key not in got:
            return f"The key {_named(key)} is missing."
    for key in got:
        if key not in want:
            return f"The key {_named(key)} is not expected."
    for key, ours in want.items():
        problem = difference(got[key], ours, tolerance)
        if problem:
            return f"Under the key {_named(key)}: {problem}"
    return ""


def _set_difference(got: Any, want: set[Any] | frozenset[Any], tolerance: float) -> str:
    if not isinstance(got, (set, frozenset)):
        return f"It returned {_kind(got)}, but a set is expected."
    missing, extra = list(want - got), list(got - want)
    for item in list(missing):
        twin = next((other for other in extra if not difference(other, item, tolerance)), None)
        if twin is not None:
            missing.remove(item)
            extra.remove(twin)
    if missing:
        return f"{_named(missing[0])} is missing from the set."
    return f"{_named(extra[0])} does not belong in the set." if extra else ""


def _named(item: Any) -> str:
    """An entry in quotes, by which `vague` recognises text that a student may have chosen."""
    return repr(item)[:80] if isinstance(item, str) else f"'{repr(item)[:80]}'"


def _sparse_difference(got: Any, want: Sparse, tolerance: float) -> str:
    if not isinstance(got, Sparse):
        return f"It returned {_kind(got)}, but a sparse matrix is expected."
    if got.shape != want.shape:
        return f"The shape is {got.shape}, but {want.shape} is expected."
    if got.entries.dtype.kind not in "biufc":
        return "The entries are not numbers."
    return _array_difference(*aligned(got, want), tolerance)


def _frame_difference(got: Any, want: Frame, tolerance: float) -> str:
    if not isinstance(got, Frame) or got.series is not want.series:
        return f"It returned {_kind(got)}, but a {'series' if want.series else 'data frame'} is expected."
    if not same(got.columns, want.columns) and not want.series:
        return f"The columns are '{got.columns}', but '{want.columns}' are expected."
    if difference(got.index, list(want.index), tolerance):
        return "The index differs."
    for name, theirs, ours in zip(want.columns, got.data, want.data, strict=True):
        problem = difference(_with_gaps(theirs), _with_gaps(ours), tolerance)
        if problem:
            return problem if want.series else f"Column {_named(name)}: {problem}"
    return ""


def _with_gaps(column: Any) -> Any:
    """A column of numbers as floats: a missing entry changes the type of a column, and only its values should count."""
    return column.astype(float) if isinstance(column, np.ndarray) and column.dtype.kind in "biuf" else column


def _exact_difference(got: Any, want: Any, tolerance: float) -> str:
    """Whole numbers and fractions are equal or not; only a float may be a little off."""
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got.item()
    if isinstance(got, (Integral, Fraction)) and not isinstance(got, _TRUTH):
        distance = abs(Fraction(int(got) if isinstance(got, Integral) else got) - Fraction(want))
        return f"The value is off by {_short(distance)}." if distance else ""
    return _array_difference(got, want, tolerance)


def _short(number: Fraction) -> str:
    try:
        return f"{float(number):.3g}"
    except OverflowError:
        return "a number with hundreds of digits"


_BY_KIND: dict[Any, Any] = {
    dict: _dict_difference,
    (set, frozenset): _set_difference,
    Sparse: _sparse_difference,
    Frame: _frame_difference,
    (Integral, Fraction): _exact_difference,
}


def _numeric(value: Any) -> np.ndarray:
    """The value as an array of numbers, if it is one; fractions and decimals are rounded to floats."""
    kinds: Any = (Real, Decimal)
    if isinstance(value, kinds) and not isinstance(value, np.generic):
        try:
            return np.asarray(value if isinstance(value, bool) else float(value))
        except OverflowError:
            return np.asarray(np.inf if value > 0 else -np.inf)
    return np.asarray(value)


def _array_difference(got: Any, want: Any, tolerance: float) -> str:
    try:
        want = _numeric(want)
    except (TypeError, ValueError):  # a mistake's value that could not leave the sandbox
        return f"It returned {_kind(got)}, but the expected value cannot be compared."
    if isinstance(got, (Sparse, Frame)):
        return f"It returned {_kind(got)}, but an array is expected."
    try:
        array = _numeric(got)
    except ValueError:
        return "It returned rows of different lengths, but a rectangular array is expected."
    except TypeError:  # a value that could not leave the sandbox
        array = np.array(None)
    if want.dtype.kind not in "biufc":
        return f"It returned {_kind(got)}, but the expected value cannot be compared."
    if array.dtype.kind not in ("biufc" if want.dtype.kind == "c" else "biuf"):
        return f"It returned {_kind(got)}, but {'an array of ' if want.ndim else ''}real numbers are expected."
    if array.shape != want.shape:
        expected = f"{want.shape} is expected" if want.ndim else "a plain number is expected"
        return (
            f"The shape is {array.shape}, but {expected}."
            if array.ndim
            else f"It is a plain number, but shape {expected}."
        )
    return _number_difference(array, want, tolerance)


def _number_difference(array: np.ndarray, want: np.ndarray, tolerance: float) -> str:
    for dtype in {want.dtype, array.dtype} & _SHORT:
        if dtype == np.float32 or dtype == want.dtype:  # float16 is too coarse unless the reference uses it
            tolerance = max(tolerance, _SINGLE * float(np.finfo(dtype).eps))
    kind = complex if "c" in (array.dtype.kind, want.dtype.kind) else float
    array, want = array.astype(kind), want.astype(kind)
    usual = np.isfinite(want)
    if not np.isfinite(array[usual]).all():
        return f"It contains {'NaN' if np.isnan(array[usual]).any() else 'infinite values'}."
    odd = (array != want) & ~(np.isnan(array) & np.isnan(want)) & ~usual
    off = np.abs(np.subtract(array, want, out=np.zeros_like(want), where=usual))
    scale = max(1.0, float(np.abs(want[usual]).max(initial=0.0)))
    wrong = (off > tolerance * scale) | odd
    if not wrong.any():
        return ""
    if not want.ndim:
        return "The value must be infinite or NaN here." if odd.any() else f"The value is off by {off.max():.3g}."
    off[odd] = np.inf
    worst = tuple(int(i) for i in np.unravel_index(np.argmax(off), off.shape))
    index = worst if len(worst) > 1 else worst[0]
    return f"{wrong.sum()} of {off.size} entries differ, most at index {index}, by {off.max():.3g}."


def _kind(value: Any) -> str:
    if isinstance(value, (tuple, list, set, dict)):
        return f"a {type(value).__name__} of length {len(value)}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, Frame):
        return "a series" if value.series else "a data frame"
    return "a sparse matrix" if isinstance(value, Sparse) else f"a value of type {type(value).__name__}"
