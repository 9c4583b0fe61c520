"""The inputs that a student's function is tried on."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .values import fresh, size


@dataclass(frozen=True)
class Case:
    """One input: its arguments, in order, and a label that says what is special about it."""

    args: tuple[Any, ...]
    label: str = ""
    strided: bool = False  # arrays that are views with gaps, like slices of a larger table
    frozen: bool = False  # read-only arrays
    keywords: dict[str, Any] = field(default_factory=dict)  # arguments passed by name

    def fresh(self) -> tuple[Any, ...]:
        """The arguments as new objects, so that a function that modifies them affects no other call."""
        return tuple(fresh(arg, self._lay_out) for arg in self.args)

    def _lay_out(self, array: np.ndarray) -> np.ndarray:
        laid_out = np.repeat(array, 2, axis=-1)[..., ::2] if self.strided and array.ndim else array.copy()
        laid_out.flags.writeable = not self.frozen
        return laid_out

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The case without its label, as a message for a sandbox."""
        from .plain import encode

        layout = {"strided": self.strided, "frozen": self.frozen}
        return layout | {"args": encode(self.args), "keywords": encode(self.keywords)}

    @property
    def size(self) -> int:
        """How many numbers and letters a reader has to look at."""
        return sum(map(size, self.args))


def with_layouts(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases, then the largest case again with non-contiguous and with read-only arrays."""
    cases = [replace(case, args=tuple(fresh(arg, _in_64_bits) for arg in case.args)) for case in cases]
    yield from cases
    largest = max(cases, key=lambda case: case.size)
    if any(isinstance(arg, np.ndarray) and arg.ndim for arg in largest.args):
        yield replace(largest, label="arrays that are not contiguous", strided=True)
        yield replace(largest, label="read-only arrays", frozen=True)


def _in_64_bits(array: np.ndarray) -> np.ndarray:
    """64-bit whole numbers, as on a computer; in a browser, numpy uses 32 bits, and large numbers overflow."""
    return array.astype(np.int64) if array.dtype == np.int32 else array


def case_generator(seed: int, piece: str, *, hidden: bool) -> np.random.Generator:
    """The generator of a piece's cases. Each piece has its own generator, so that a change in one piece does not change
    the inputs of another.

    Hidden cases also depend on the environment variable KERNELCOURSE_HIDDEN_SEED, which an instructor keeps secret.
    """
    entropy = [seed, zlib.crc32(piece.encode())]
    if hidden:
        secret = os.environ.get("KERNELCOURSE_HIDDEN_SEED", "")
        entropy += [zlib.crc32(b"hidden"), int.from_bytes(hashlib.sha256(secret.encode()).digest())]
    return np.random.default_rng(entropy)
