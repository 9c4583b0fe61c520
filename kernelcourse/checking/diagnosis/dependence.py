"""What a result depends on and how it grows, compared with what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..cases import Case
from .behaviour import flat

_FEW = 3  # inputs that are changed


def dependence(
    function: Callable[[Case], Any],
    reference: Callable[..., Any],
    cases: Sequence[Case],
    names: Sequence[str],
    *,
    growth: bool = True,
) -> str:
    """A sentence about an argument whose effect is missing, unexpected, or different from the expected one."""
    chosen = sorted((case for case in cases if not case.strided and not case.frozen), key=lambda case: -case.size)[
        :_FEW
    ]
    for words, change in _changes(names):
        found = [_effect(function, reference, case, change) for case in chosen]
        effects = [one for one in found if one is not None]
        if len(effects) >= 2:
            if not any(yours for yours, _ in effects) and all(expected for _, expected in effects):
                return f"Your result does not depend on {words}; it should."
            if all(yours for yours, _ in effects) and not any(expected for _, expected in effects):
                return f"Your result depends on {words}; it should not."
    return _growth(function, reference, chosen, names) if growth else ""


def _changes(names: Sequence[str]) -> Iterator[tuple[str, Callable[[Case], Case | None]]]:
    for i, name in enumerate(names):
        yield f"`{name}`", partial(_other, i, slice(None))
    for i, name in enumerate(names):
        yield f"the last entry or row of `{name}`", partial(_other, i, slice(-1, None))
        yield f"the first entry or row of `{name}`", partial(_other, i, slice(0, 1))
        yield f"the diagonal of `{name}`", partial(_other, i, None)


def _other(i: int, part: slice | None, case: Case) -> Case | None:
    """The case with another value of one argument, or of a part of it."""
    arg = case.args[i]
    changed: Any
    whole = part == slice(None)
    if isinstance(arg, np.ndarray) and arg.ndim and arg.dtype.kind in "if":
        if len(arg) < 2 and not whole:
            return None
        values = np.unique(arg)
        changed = arg.astype(float)
        if part is None:
            if arg.ndim != 2 or arg.shape[0] != arg.shape[1]:
                return None
            changed[np.diag_indices(len(arg))] += 1.25
        elif len(values) == 2 and set(values) <= {-1, 0, 1}:  # labels
            changed[part] = values.sum() - changed[part]
        else:
            changed[part] = 1.1 * changed[part] + 0.35
            if arg.ndim == 2 and arg.shape[0] == arg.shape[1] and np.allclose(arg, arg.T):
                changed = (changed + changed.T) / 2
        if arg.dtype.kind == "i":
            changed = np.rint(changed).astype(arg.dtype)
    elif isinstance(arg, bool) or not whole:
        return None
    elif isinstance(arg, int):
        changed = arg + 1
    elif isinstance(arg, float):
        changed = 1.3 * arg + 0.1
    else:
        return None
    return replace(case, args=(*case.args[:i], changed, *case.args[i + 1 :]))


def _effect(
    function: Callable[[Case], Any],
    reference: Callable[..., Any],
    case: Case,
    change: Callable[[Case], Case | None],
) -> tuple[bool, bool] | None:
    """Whether a change to the input changes the student's result, and whether it changes the expected one."""
    other = change(case)
    if other is None:
        return None
    try:
        yours, yours_then = flat(function(case)), flat(function(other))
        expected, expected_then = flat(reference(*case.fresh())), flat(reference(*other.fresh()))
    except Exception:  # noqa: BLE001 - the function may not work for the changed input
        return None
    return _moved(yours, yours_then), _moved(expected, expected_then)


def _moved(before: np.ndarray, after: np.ndarray) -> bool:
    return before.shape != after.shape or not np.allclose(before, after, rtol=1e-9, atol=1e-12, equal_nan=True)


def _growth(
    function: Callable[[Case], Any], reference: Callable[..., Any], cases: Sequence[Case], names: Sequence[str]
) -> str:
    for i, name in enumerate(names):
        ratios = [_ratios(function, reference, case, i) for case in cases]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < 2:
            continue
        expected = {round(want, 6) for _, want in known}
        yours = {None if got is None else round(got, 6) for got, _ in known}
        if len(expected) == 1 and yours != expected:
            wanted = _becomes(expected.pop())
            if len(yours) == 1 and None not in yours:
                times = _first(known)
                return f"If `{name}` is doubled, the result should {wanted}; yours is then {times:.4g} times as large."
            return f"If `{name}` is doubled, the result should {wanted}; yours does not."
    return ""


def _first(known: Sequence[tuple[float | None, float]]) -> float:
    return next(got for got, _ in known if got is not None)


def _becomes(ratio: float) -> str:
    return {1.0: "stay as it is", 2.0: "double", 0.5: "halve", 4.0: "become four times as large"}.get(
        ratio, f"be multiplied by {ratio:.4g}"
    )


def _ratios(
    function: Callable[[Case], Any], reference: Callable[..., Any], case: Case, i: int
) -> tuple[float | None, float] | None:
    arg = case.args[i]
    if isinstance(arg, (bool, str, list, tuple)) or np.asarray(arg).dtype.kind not in "if":
        return None
    if len(np.unique(arg)) <= 2 and np.ndim(arg):
        return None
    other = replace(case, args=(*case.args[:i], 2 * arg, *case.args[i + 1 :]))
    try:
        want = _ratio(flat(reference(*case.fresh())), flat(reference(*other.fresh())))
        got = _ratio(flat(function(case)), flat(function(other)))
    except Exception:  # noqa: BLE001 - the function may not work for the doubled input
        return None
    return None if want is None else (got, want)


def _ratio(before: np.ndarray, after: np.ndarray) -> float | None:
    """The factor by which all numbers were multiplied, if it is the same for all."""
    if before.shape != after.shape or not before.size or np.abs(before).max() < 1e-9:
        return None
    at = int(np.argmax(np.abs(before)))
    ratio = float(after[at] / before[at])
    return ratio if np.allclose(after, ratio * before, rtol=1e-7, atol=1e-9) else None
