"""What wrong results have in common with the right ones: a factor, a sign, an order, a missing term."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..cases import Case
from ..comparing import difference
from .edits import rows
from .words import joined

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Pair:
    """What was returned and what was expected, for one input."""

    case: Case
    got: Any
    want: Any


@dataclass(frozen=True)
class Known:
    """All results that a function returned, with the names of its arguments."""

    pairs: Sequence[Pair]
    names: Sequence[str]
    tolerance: float

    def right(self, pair: Pair) -> bool:
        return not difference(pair.got, pair.want, self.tolerance)

    def always(self, wrong: Callable[[Pair], Any]) -> bool:
        """Whether `wrong` computes the returned result from the expected one, on all inputs."""
        for pair in self.pairs:
            try:
                with np.errstate(all="ignore"):
                    expected = wrong(pair)
            except (ValueError, TypeError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
                return False
            if expected is None or difference(pair.got, expected, self.tolerance):
                return False
        return True

    @property
    def telling(self) -> bool:
        """Whether there are enough different numbers to rule out that they agree by chance."""
        numbers = [np.ravel(np.asarray(pair.got, dtype=float)) for pair in self.pairs if not self.right(pair)]
        return bool(numbers) and len(np.unique(np.round(np.concatenate(numbers), 9))) > 2


def relation(known: Known, *, strong: bool = False) -> str:
    """A sentence about what all results have in common with the expected ones, or nothing.

    A strong relation says how every wrong number follows from the right one.
    """
    if not known.pairs:
        return ""
    if any(isinstance(pair.want, tuple) for pair in known.pairs):
        return _of_tuples(known, strong)
    if any(isinstance(pair.want, (str, bool, np.bool_)) for pair in known.pairs):
        return "" if strong else _of_words(known)
    return _of_arrays(known, "your result", strong)


def _of_tuples(known: Known, strong: bool) -> str:
    if any(not isinstance(pair.got, (tuple, list)) or len(pair.got) != len(pair.want) for pair in known.pairs):
        return ""
    count = len(known.pairs[0].want)
    parts = [
        Known([Pair(pair.case, pair.got[i], pair.want[i]) for pair in known.pairs], known.names, known.tolerance)
        for i in range(count)
    ]
    wrong = [i for i, part in enumerate(parts) if not all(part.right(pair) for pair in part.pairs)]
    for order in itertools.permutations(range(count)) if count <= 4 else ():
        if list(order) != list(range(count)) and known.always(partial(_in_order, order)):
            return f"The {count} values are right, but they are in the wrong order."
    said = [_of_arrays(parts[i], f"your {_ORDINALS[i]} value", strong) for i in wrong]
    right = [_ORDINALS[i] for i in range(count) if i not in wrong]
    start = f"Your {joined(right)} {'value is' if len(right) == 1 else 'values are'} right. " if right else ""
    if all(said) if strong else any(said):
        return start + " ".join(dict.fromkeys(text for text in said if text))
    if strong:
        return ""
    return f"{start}Look for the mistake in the {joined([_ORDINALS[i] for i in wrong])} only." if right else ""


def _in_order(order: Sequence[int], pair: Pair) -> tuple[Any, ...]:
    return tuple(pair.want[i] for i in order)


def _of_words(known: Known) -> str:
    wrong = [pair for pair in known.pairs if not known.right(pair)]
    if any(not isinstance(pair.got, (str, bool, np.bool_)) for pair in known.pairs):
        return ""
    answers = {str(pair.got) for pair in known.pairs}
    if len(answers) == 1:
        return f"It answers {answers.pop()} to every input."
    if len(wrong) == len(known.pairs) > 2:
        return "It gives the other answer on every input: is the condition reversed?"
    if len({str(pair.got) for pair in wrong}) == 1:
        return f"Every wrong answer is {wrong[0].got} where {wrong[0].want} is expected; it never errs the other way."
    return ""


def _of_arrays(known: Known, it: str, strong: bool) -> str:
    if not all(_are_numbers(value) for pair in known.pairs for value in (pair.got, pair.want)):
        return ""
    named = "Y" + it[1:]
    if sizes := _sizes(known, named):
        return sizes
    if not known.telling:
        return "" if strong else _of_few(known, named)
    for words, wrong in _transforms(known):
        if known.always(wrong):
            return words.format(it=named)
    if strong:
        return _term(known, named)
    return _term(known, named) or _of_few(known, named) or _somewhere(known, named) or _asymmetric(known, named)


def _asymmetric(known: Known, named: str) -> str:
    """Whether the expected matrix is always symmetric and the returned one is not."""

    def symmetric(matrix: Any) -> bool:
        array = np.asarray(matrix, dtype=float)
        return array.ndim == 2 and array.shape[0] == array.shape[1] and np.allclose(array, array.T)

    if all(symmetric(pair.want) for pair in known.pairs) and not all(symmetric(pair.got) for pair in known.pairs):
        return f"{named} is not symmetric, but the expected matrix always is."
    return ""


def _are_numbers(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except ValueError:  # rows of different lengths
        return False


def _sizes(known: Known, named: str) -> str:
    """A wrong number of entries, in terms of the arguments."""
    got = [np.shape(pair.got) for pair in known.pairs]
    want = [np.shape(pair.want) for pair in known.pairs]
    if got == want or {len(shape) for shape in got} != {len(shape) for shape in want} or len(set(map(len, want))) > 1:
        return ""
    for axis in range(len(want[0])):
        ours, theirs = [shape[axis] for shape in want], [shape[axis] for shape in got]
        if ours != theirs:
            expected, found = _as_many_as(known, ours), _as_many_as(known, theirs)
            if expected and found:
                many = "entries" if len(want[0]) == 1 else ("rows", "columns", "layers")[axis]
                return f"{named} has as many {many} as {found}, but should have as many as {expected}."
    return ""


def _as_many_as(known: Known, sizes: Sequence[int]) -> str:
    for i, name in enumerate(known.names):
        args = [pair.case.args[i] for pair in known.pairs]
        if all(isinstance(arg, int) for arg in args) and args == list(sizes):
            return f"`{name}` says"
        shapes = [np.shape(arg) if isinstance(arg, (np.ndarray, list, tuple)) else () for arg in args]
        for axis in range(min(map(len, shapes))):
            if [shape[axis] for shape in shapes] == list(sizes):
                flat = all(len(shape) == 1 for shape in shapes)
                return f"`{name}` has {'entries' if flat else ('rows', 'columns', 'layers')[axis]}"
    return ""


def _want(pair: Pair) -> np.ndarray:
    return np.asarray(pair.want, dtype=float)


def _transforms(known: Known) -> Iterator[tuple[str, Callable[[Pair], Any]]]:
    several = len({rows(pair.case.args) for pair in known.pairs}) > 1
    yield "{it} has the opposite sign everywhere.", lambda p: -_want(p)
    if several:
        yield "{it} is n times too large, where n is the number of rows.", lambda p: _want(p) * rows(p.case.args)
        yield "{it} is n times too small, where n is the number of rows.", lambda p: _want(p) / rows(p.case.args)
    factor = _factor(known)
    if factor and abs(factor - 1) > 1e-6:
        yield f"{{it}} is always {factor:.4g} times what is expected.", lambda p: factor * _want(p)
    for i, name in _numbers(known):
        for words, wrong in _WITH_NUMBER:
            yield words.replace("NAME", name), partial(_with_number, wrong, i)
    shift = _shift(known)
    if shift:
        more = f"{abs(shift):.4g} too {'large' if shift > 0 else 'small'}"
        yield f"{{it}} is always {more}.", lambda p: _want(p) + shift
    yield "{it} is the square of what is expected.", lambda p: _want(p) ** 2
    yield "{it} is the square root of what is expected.", lambda p: np.sqrt(_want(p))
    yield "{it} is 1 divided by what is expected.", lambda p: 1 / _want(p)
    yield "{it} is 1 minus what is expected.", lambda p: 1 - _want(p)
    yield "{it} is the exponential of what is expected.", lambda p: np.exp(_want(p))
    yield "{it} is the logarithm of what is expected.", lambda p: np.log(_want(p))
    yield "{it} is the absolute value of what is expected.", lambda p: np.abs(_want(p))
    yield "{it} is what is expected, rounded to whole numbers.", lambda p: np.rint(_want(p))
    yield "{it} is what is expected, truncated to whole numbers.", lambda p: np.trunc(_want(p))
    yield "{it} is what is expected, with negative values set to zero.", lambda p: np.maximum(_want(p), 0)
    yield from _layouts()


_WITH_NUMBER: tuple[tuple[str, Callable[[np.ndarray, float], np.ndarray]], ...] = (
    ("{it} is `NAME` times what is expected.", lambda want, v: want * v),
    ("{it} is what is expected, divided by `NAME`.", lambda want, v: want / v),
    ("{it} is `NAME`² times what is expected.", lambda want, v: want * v**2),
    ("{it} is what is expected, divided by `NAME`².", lambda want, v: want / v**2),
    ("{it} is what is expected, plus `NAME`.", lambda want, v: want + v),
    ("{it} is what is expected, minus `NAME`.", lambda want, v: want - v),
)


def _with_number(wrong: Callable[[np.ndarray, float], np.ndarray], i: int, pair: Pair) -> np.ndarray:
    return wrong(_want(pair), pair.case.args[i])


def _layouts() -> Iterator[tuple[str, Callable[[Pair], Any]]]:
    yield "{it} is the transpose of what is expected.", lambda p: _want(p).T if _want(p).ndim == 2 else None
    yield "{it} has the right numbers, in reverse order.", lambda p: _want(p)[::-1]
    yield "{it} has the right columns, in reverse order.", lambda p: _want(p)[:, ::-1]
    yield "{it} has the right numbers in the wrong order.", lambda p: _reordered(p)
    yield (
        "{it} has the right numbers in the wrong shape.",
        lambda p: _want(p).reshape(np.shape(p.got)),
    )
    yield "{it} is the sum of the expected numbers.", lambda p: _want(p).sum()
    yield "{it} is the mean of the expected numbers.", lambda p: _want(p).mean()
    yield "{it} sums the expected matrix over its rows.", lambda p: _want(p).sum(axis=0)
    yield "{it} sums the expected matrix over its columns.", lambda p: _want(p).sum(axis=1)
    yield "{it} is the cumulative sum of the expected numbers.", lambda p: np.cumsum(_want(p))
    yield "{it} is only the diagonal of what is expected.", lambda p: np.diag(_want(p)) if _want(p).ndim == 2 else None
    yield "{it} is what is expected, without the last number.", lambda p: _want(p)[:-1]
    yield "{it} is what is expected, without the first number.", lambda p: _want(p)[1:]


def _reordered(pair: Pair) -> np.ndarray | None:
    got, want = np.asarray(pair.got, dtype=float), _want(pair)
    scale = max(1.0, float(np.abs(want).max(initial=0.0)))
    if got.shape != want.shape or np.abs(np.sort(got, axis=None) - np.sort(want, axis=None)).max() > 1e-9 * scale:
        return None
    return got


def _numbers(known: Known) -> Iterator[tuple[int, str]]:
    """Arguments that are plain numbers and differ from input to input."""
    for i, name in enumerate(known.names):
        values = [pair.case.args[i] for pair in known.pairs]
        if all(isinstance(value, (int, float)) for value in values) and len(set(values)) > 2:
            yield i, name


def _largest(known: Known) -> tuple[np.ndarray, np.ndarray] | None:
    same = [pair for pair in known.pairs if np.shape(pair.got) == np.shape(pair.want) and np.size(pair.want)]
    if not same:
        return None
    pair = max(same, key=lambda pair: np.abs(_want(pair)).max())
    return np.atleast_1d(np.asarray(pair.got, dtype=float)), np.atleast_1d(_want(pair))


def _factor(known: Known) -> float:
    largest = _largest(known)
    if largest is None:
        return 0.0
    got, want = largest
    at = np.unravel_index(np.argmax(np.abs(want)), want.shape)
    return float(got[at] / want[at]) if want[at] else 0.0


def _shift(known: Known) -> float:
    largest = _largest(known)
    if largest is None:
        return 0.0
    got, want = largest
    shift = float(got.flat[0] - want.flat[0])
    return shift if np.isfinite(shift) and abs(shift) > 10 * known.tolerance * (1 + np.abs(want).max()) else 0.0


def _term(known: Known, named: str) -> str:
    """A difference that is a product of powers of the arguments, as in a count that omits a term."""
    numbers = list(_numbers(known))
    pairs = [pair for pair in known.pairs if np.size(pair.want) == 1 and np.size(pair.got) == 1]
    if not numbers or len(numbers) > 4 or len(pairs) < len(known.pairs) or len(pairs) < 4:
        return ""
    values = np.array([[float(pair.case.args[i]) for i, _ in numbers] for pair in pairs])
    off = np.array([float(np.ravel(pair.got)[0]) - float(np.ravel(pair.want)[0]) for pair in pairs])
    scale = np.array([max(1.0, abs(float(np.ravel(pair.want)[0]))) for pair in pairs])
    if not (values > 0).all() or not np.isfinite(off).all():
        return ""
    for powers in itertools.product(range(-1, 4), repeat=len(numbers)):
        if not any(powers):
            continue
        product = np.prod(values ** np.array(powers), axis=1)
        times = float(off[np.argmax(product)] / product.max())
        if times and (np.abs(off - times * product) <= known.tolerance * scale).all():
            names = " · ".join(f"`{name}`{_power(k)}" for (_, name), k in zip(numbers, powers, strict=True) if k)
            much = "" if abs(abs(times) - 1) < 1e-9 else f"{abs(times):.4g} · "
            return f"{named} is too {'large' if times > 0 else 'small'} by exactly {much}{names}."
    return ""


def _power(k: int) -> str:
    return {1: "", 2: "²", 3: "³", -1: "⁻¹"}[k]


def _of_few(known: Known, named: str) -> str:
    """Results with few different numbers: labels, counts, zeros."""
    if any(np.shape(pair.got) != np.shape(pair.want) for pair in known.pairs):
        return ""
    got = np.concatenate([np.ravel(np.asarray(pair.got, dtype=float)) for pair in known.pairs])
    want = np.concatenate([np.ravel(_want(pair)) for pair in known.pairs])
    if len(np.unique(want)) > 1 and len(np.unique(got)) == 1:
        return f"{named} is {got[0]:.4g}, whatever the input is."
    if set(np.unique(want)) <= {-1.0, 0.0, 1.0}:
        if set(np.unique(got)) <= {0.0, 1.0} and np.array_equal(got, (want + 1) / 2):
            return f"{named} is 0 where -1 is expected: the labels are -1 and +1."
        if np.array_equal(got, -want):
            return f"{named} has the opposite sign everywhere."
        wrong = got != want
        said = {(a, b) for a, b in zip(got[wrong], want[wrong], strict=True)}
        if len(said) == 1:
            a, b = said.pop()
            return f"Every wrong number is {a:g} where {b:g} is expected."
    return ""


def _somewhere(known: Known, named: str) -> str:
    """Entries that are right on every input, and those that are wrong."""
    if any(np.shape(pair.got) != np.shape(pair.want) for pair in known.pairs):
        return ""
    masks = []
    for pair in known.pairs:
        got, want = np.asarray(pair.got, dtype=float), _want(pair)
        masks.append(np.abs(got - want) <= known.tolerance * max(1.0, float(np.abs(want).max(initial=0))))
    if all(mask.all() or not mask.any() for mask in masks):
        return ""
    for words, where in _PARTS:
        right = [where(mask) for mask in masks if where(mask) is not None]
        if (
            len(right) == len(masks)
            and all(r.all() for r, _ in right)
            and any(w.size and not w.all() for _, w in right)
        ):
            return words.format(it=named)
    return _by_value(known, masks, named)


def _by_value(known: Known, masks: Sequence[np.ndarray], named: str) -> str:
    got = np.concatenate([np.ravel(np.asarray(pair.got, dtype=float)) for pair in known.pairs])
    want = np.concatenate([np.ravel(_want(pair)) for pair in known.pairs])
    right = np.concatenate([np.ravel(mask) for mask in masks])
    wrong = ~right
    if (got[wrong] == 0).all() and wrong.any():
        return f"{named} has a zero in every place where it is wrong; the other numbers are right."
    if (want[wrong] == 0).all() and (want[right] != 0).any():
        return f"{named} is wrong exactly where zero is expected." if (want[right] != 0).all() else ""
    return ""


def _diagonal(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return None
    return np.diag(mask), mask[~np.eye(len(mask), dtype=bool)]


def _turned(split: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray] | None]) -> Callable[[np.ndarray], Any]:
    def other(mask: np.ndarray) -> Any:
        parts = split(mask)
        return parts and parts[::-1]

    return other


def _upper(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return None
    return mask[np.triu_indices(len(mask))], mask[np.tril_indices(len(mask), -1)]


_PARTS: tuple[tuple[str, Callable[[np.ndarray], Any]], ...] = (
    ("{it} is right off the diagonal; only the diagonal is wrong.", _turned(_diagonal)),
    ("{it} is right on and above the diagonal, but not below it.", _upper),
    ("{it} is right on and below the diagonal, but not above it.", lambda m: _upper(m.T)),
    ("{it} is right on the diagonal; only other entries are wrong.", _diagonal),
    ("{it} is wrong only in its last entry or row.", lambda m: (m[:-1], m[-1:]) if m.ndim else None),
    ("{it} is wrong only in its first entry or row.", lambda m: (m[1:], m[:1]) if m.ndim else None),
    ("{it} is right in its first entry or row, but not in all others.", lambda m: (m[:1], m[1:]) if m.ndim else None),
    ("{it} is right in its last entry or row, but not in all others.", lambda m: (m[-1:], m[:-1]) if m.ndim else None),
    ("{it} is wrong only in its last column.", lambda m: (m[:, :-1], m[:, -1:]) if m.ndim == 2 else None),
    ("{it} is wrong only in its first column.", lambda m: (m[:, 1:], m[:, :1]) if m.ndim == 2 else None),
    (
        "{it} is right in its first column, but not in all others.",
        lambda m: (m[:, :1], m[:, 1:]) if m.ndim == 2 else None,
    ),
)
