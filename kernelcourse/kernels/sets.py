"""Kernels on sets (lecture B, eq. 18)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..validation import Array
from .counts import CountKernel, count_matrix, distinct, hashables, require_few
from .kernel import _set

__all__ = ["Intersection", "Subset"]


@dataclass(frozen=True)
class SetKernel(CountKernel):
    """A kernel on sets, or lists read as sets, whose elements come from a universe if one is stated."""

    universe: Sequence[Hashable] | None = None
    finite_with = "universe"

    def __post_init__(self) -> None:
        if self.universe is not None:
            _set(self, universe=distinct(self.universe, "universe"))

    def counts(self, obj: Any) -> dict[Hashable, int]:
        """Each element once."""
        if isinstance(obj, (str, bytes, Mapping)) or not isinstance(obj, Collection):
            raise TypeError(f"expected a set, got {type(obj).__name__} {obj!r:.60}")
        elements = dict.fromkeys(hashables(obj), 1)
        if self.universe is not None:
            for element in set(elements).difference(self.universe):
                raise ValueError(f"{element!r} is not in the universe {list(self.universe)!r:.60}")
        return elements


@dataclass(frozen=True)
class Intersection(SetKernel):
    r"""$k(A, B) = |A \cap B|$: one feature per element, 1 if it is in the set (B16).

    >>> Intersection()([{"sun", "moon"}], [{"moon", "star"}, {"moon", "sun"}])
    array([[1., 2.]])
    """

    tex = r"\lvert {x} \cap {z} \rvert"


@dataclass(frozen=True)
class Subset(SetKernel):
    r"""$k(A, B) = 2^{|A \cap B|}$, the number of subsets that A and B share (lecture B, eq. 18).

    The features are $\phi_U(A) = 1$ if $U \subseteq A$, else 0, for every subset U of the universe: column j belongs to
    the U that contains `universe[i]` if bit i of the number j is set.

    It is also a kernel by the rules: $2^{|A \cap B|} = \exp(\log 2 \cdot |A \cap B|)$ (6.13 and 6.16).

    >>> Subset()([{1, 2, 3}], [{2, 3, 4}, {5}])
    array([[4., 1.]])
    >>> Subset(universe=["a", "b"]).features([{"b"}, {"a", "b"}])  # columns: {}, {a}, {b}, {a, b}
    array([[1., 0., 1., 0.],
           [1., 1., 1., 1.]])
    """

    tex = r"2^{{\lvert {x} \cap {z} \rvert}}"

    def formula(self, X: Sequence[Mapping[Any, float]], Z: Sequence[Mapping[Any, float]]) -> Array:
        return np.exp2(super().formula(X, Z))

    def diagonal(self, X: Sequence[Mapping[Any, float]]) -> Array:
        return np.exp2(super().diagonal(X))

    def feature_rows(self, X: Sequence[Mapping[Any, float]]) -> Array:
        universe = self._stated()
        require_few(2 ** len(universe), f"the subsets of {len(universe)} elements")
        A = count_matrix(X, universe)  # (n, u)
        U = np.arange(2 ** len(universe))[:, None] >> np.arange(len(universe)) & 1  # (2^u, u)
        shared, size = A @ U.T, U.sum(axis=1)
        return (shared == size).astype(float)  # U is a subset of A if A contains all |U| of its elements
