"""What a function does on public inputs, as a few numbers that can be compared and stored."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cases import Case

if TYPE_CHECKING:
    from ..piece import Piece

PROJECTIONS = 4
_ENOUGH = 60  # at least this many numbers are compared, so that two functions do not agree by chance
_DRAWS = 5
_PATIENCE = 3  # at most this many inputs may fail before one succeeds
_NAN, _INFINITE, _ERROR = 1234.5678, 4321.8765, 987.654  # replacements for values that are not numbers


@dataclass(frozen=True)
class Probes:
    """The inputs of a diagnosis: the same for everyone in every term, so that they reveal nothing about the graded
    inputs."""

    cases: tuple[Case, ...]
    wanted: tuple[Any, ...]

    @cached_property
    def scales(self) -> list[float]:
        """The largest magnitude expected for each input, but at least 1."""
        numbers = [flat(want) for want in self.wanted]
        return [max(1.0, float(np.abs(one[np.isfinite(one)]).max(initial=0.0))) for one in numbers]

    @cached_property
    def shapes(self) -> list[tuple[Any, ...]]:
        return [shape(want) for want in self.wanted]

    def digest(self) -> int:
        """A checksum of the inputs and the expected results, both to nine digits."""
        numbers = [np.round(flat(part), 9) + 0.0 for part in (*(case.args for case in self.cases), *self.wanted)]
        return zlib.crc32(np.concatenate([np.round(part, 6) for part in numbers]).astype(np.float32).tobytes())


def probes(piece: Piece) -> Probes:
    """Cases for a piece that no term's seed draws."""
    return _probes(piece.name, piece.cases, piece.reference)


@cache
def _probes(name: str, draws: Callable[..., Any], reference: Callable[..., Any]) -> Probes:
    rng = np.random.default_rng([0, zlib.crc32(name.encode()), zlib.crc32(b"diagnosis")])
    cases: list[Case] = []
    wanted: list[Any] = []
    for draw in range(_DRAWS):
        for case in draws(rng):
            cases.append(case)
            wanted.append(reference(*case.fresh()))
        if draw and sum(flat(value).size for value in wanted) >= _ENOUGH:
            break
    return Probes(tuple(cases), tuple(wanted))


def flat(value: Any) -> np.ndarray:
    """Everything in a value as one row of numbers."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.ravel().astype(float)
    if isinstance(value, (bool, int, float)):
        return np.array([float(value)])
    return np.concatenate([np.atleast_1d(part) for part in _flat(value)] or [np.zeros(0)])


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield zlib.crc32(value.encode()) / 2**32
    elif isinstance(value, (tuple, list, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        for item in items:
            yield from _flat(item)
    elif value is None:
        yield _ERROR
    else:
        try:
            yield np.asarray(value, dtype=float).ravel()
        except (TypeError, ValueError):
            yield zlib.crc32(repr(value).encode()) / 2**32


def shape(value: Any) -> tuple[Any, ...]:
    """The shape of a value; for a tuple, the shapes of its parts."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, tuple):
        return tuple(shape(part) for part in value)
    try:
        return np.shape(value)
    except ValueError:  # rows of different lengths
        return ("ragged",)


def projections(function: Callable[[Case], Any], found: Probes) -> np.ndarray | None:
    """A few weighted sums of everything that the function returns on the probes.

    None if the function returns nothing but None or errors, or if it solves singular systems, whose results differ
    between machines.

    Two functions that agree on all probes have the same sums; two others almost certainly have different sums.
    """
    sums = np.zeros(PROJECTIONS)
    returned = 0
    for number, case in enumerate(found.cases):
        try:
            value = function(case)
            returned += value is not None
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - an error is a behaviour like any other
            if "Singular matrix" in str(error):  # rounding decides: another processor may find a solution
                return None
            sums += _ERROR * np.cos(number + np.arange(PROJECTIONS))
            if not returned and number >= _PATIENCE:
                return None
            continue
        sums += _of_one(value, found, number)
    return sums if returned else None


def _of_one(value: Any, found: Probes, number: int) -> np.ndarray:
    numbers = flat(value)
    if not np.isfinite(numbers).all():
        numbers = np.where(np.isnan(numbers), _NAN, np.where(np.isinf(numbers), np.sign(numbers) * _INFINITE, numbers))
    sums = _weights(number, len(numbers)) @ (numbers / found.scales[number])
    if (own := shape(value)) != found.shapes[number]:
        sums = sums + zlib.crc32(repr(own).encode()) / 2**30 * np.cos(number + np.arange(PROJECTIONS))
    return sums


@cache
def _weights(number: int, size: int) -> np.ndarray:
    return np.random.default_rng([number, size]).random((PROJECTIONS, size)) - 0.5


def same(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Which rows of sums agree, up to the rounding of stored sums to seven digits."""
    return (np.abs(ours - theirs) <= 2e-6 * (1 + np.abs(theirs))).all(axis=-1)
