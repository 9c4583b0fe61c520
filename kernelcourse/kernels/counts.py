"""Kernels on objects that are not vectors: their common base, and `CountKernel`, which counts parts.

To compare two texts, strings, sets or graphs, count what they are made of and take the inner product of the counts
(lecture B, end of 6.2). A new kernel of this kind needs only one method, `counts`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, count
from typing import Any, ClassVar

import numpy as np

from ..seam import definition
from ..validation import Array
from .kernel import SUM, Kernel, NoFiniteFeatureMap, Objects

__all__ = ["CountKernel"]

MOST_FEATURES = 2**16


class ObjectKernel(Kernel):
    """A kernel on a list of objects; a subclass defines `parse(obj)`, which returns what `formula` needs."""

    # The field, if any, whose value makes the feature map finite.
    finite_with: ClassVar[str | None] = None

    @abstractmethod
    def parse(self, obj: Any) -> Any:
        """One object, checked and in the form that `formula` works with."""

    @definition
    def prepare(self, X: Any, name: str = "X") -> Objects:
        parsed = Objects()
        for i, obj in enumerate(super().prepare(X, name)):
            try:
                parsed.append(self.parse(obj))
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{name}[{i}]: {error}") from error
        return parsed

    def _stated(self) -> Sequence[Hashable]:
        """The vocabulary, alphabet or universe that a finite feature map needs."""
        field = self.finite_with
        if field is not None and (stated := getattr(self, field)) is not None:
            return stated
        reason, unstated = "it can count infinitely many parts", f"{field}=None"
        if unstated in repr(self):
            reason = f"state its {field}, {repr(self).replace(unstated, f'{field}=[...]')}"
        raise NoFiniteFeatureMap(f"{self!r:.80} has no finite feature map: {reason}")

    def _latex_in(self, binding: int, x: str, z: str) -> str:
        inner = self.latex(x, z)
        return rf"\left({inner}\right)" if binding > SUM and inner.startswith(r"\sum") else inner


class CountKernel(ObjectKernel):
    r"""$k(x, x') = \sum_u c_u(x)\, c_u(x')$ where $c_u(x)$ counts the part u in x (lecture B, 6.2).

    A subclass defines `counts`. Weights need not be whole numbers. A subclass with a field `vocabulary`
    counts only the parts in it, which are then its features.

    >>> from collections import Counter
    >>> class Letters(CountKernel):
    ...     def counts(self, obj):
    ...         return Counter(obj)
    >>> Letters()(["banana", "ban"])
    array([[14.,  6.],
           [ 6.,  3.]])
    """

    tex = r"\sum_{{u}} \#_u({x})\, \#_u({z})"
    finite_with: ClassVar[str | None] = "vocabulary"
    vocabulary: Sequence[Hashable] | None = None

    @abstractmethod
    def counts(self, obj: Any) -> Mapping[Any, float]:
        """How often each part occurs in one object."""

    def parse(self, obj: Any) -> Mapping[Any, float]:
        counts = self.counts(obj)
        if not isinstance(counts, Mapping):
            raise TypeError(f"counts() must return a Counter or a dict, got {counts!r:.60}")
        if self.vocabulary is None:
            return counts
        return {part: count for part, count in counts.items() if part in self._known}

    @cached_property
    def _known(self) -> frozenset[Hashable]:
        return frozenset(self.vocabulary or ())

    def parts(self) -> Sequence[Hashable]:
        """All parts that the kernel can count, in the order of the features."""
        return self._stated()

    @definition
    def formula(self, X: Sequence[Mapping[Any, float]], Z: Sequence[Mapping[Any, float]]) -> Array:
        if Z is X:
            return (C := count_matrix(X)) @ C.T
        C = count_matrix([*X, *Z])  # both lists together, so that a part has one column
        return C[: len(X)] @ C[len(X) :].T

    def diagonal(self, X: Sequence[Mapping[Any, float]]) -> Array:
        lengths, values = _row_entries(X)
        return np.bincount(np.repeat(np.arange(len(X)), lengths), values**2, minlength=len(X)).astype(float, copy=False)

    def feature_rows(self, X: Sequence[Mapping[Any, float]]) -> Array:
        return count_matrix(X, self.parts())


def entries(counted: Sequence[Mapping[Any, float]], parts: Iterable[Hashable] | None = None) -> tuple[Any, ...]:
    """The counts as a sparse matrix: the number of entries in each row, their columns and values, and the shape.
    There is one row per object and one column per part: per stated part, or else per part that occurs."""
    column: dict[Hashable, int] = defaultdict(count().__next__) if parts is None else dict(zip(parts, count()))
    lengths, values = _row_entries(counted)
    columns = np.fromiter(map(column.__getitem__, chain.from_iterable(counted)), dtype=np.int32, count=len(values))
    return lengths, columns, values, (len(counted), len(column))


def _row_entries(counted: Sequence[Mapping[Any, float]]) -> tuple[list[int], Array]:
    """How many counts each object has, and the counts of all objects, one after another."""
    lengths, values = list(map(len, counted)), chain.from_iterable(counts.values() for counts in counted)
    return lengths, np.fromiter(values, dtype=float, count=sum(lengths))


def count_matrix(counted: Sequence[Mapping[Any, float]], parts: Iterable[Hashable] | None = None) -> Array:
    """The counts as a matrix.

    >>> count_matrix([{"a": 2, "b": 1}, {"b": 3}])
    array([[2., 1.],
           [0., 3.]])
    """
    lengths, columns, values, shape = entries(counted, parts)
    C = np.zeros(shape)
    C[np.repeat(np.arange(len(counted)), lengths), columns] = values
    return C


def hashables(items: Iterable[Any]) -> tuple[Hashable, ...]:
    """The items as plain Python values that can be counted; NaN and unhashable items are refused."""
    items = tuple(items)
    if set(map(type, items)) <= {str, int}:  # the fast path: there may be many
        return items
    values = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    for value in values:
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"{type(value).__name__} {value!r:.60} cannot be counted: it is not hashable") from error
        if value != value:
            raise ValueError("NaN cannot be counted: it is not equal to itself")
    return values


def symbols(obj: Any) -> tuple[Hashable, ...]:
    """A string, tuple, list or 1-D array as the tuple of its symbols.

    >>> symbols("ACG"), symbols([2, 1, 2])
    (('A', 'C', 'G'), (2, 1, 2))
    """
    if isinstance(obj, str):
        return tuple(str(obj))
    if isinstance(obj, np.ndarray):
        obj = obj.tolist()
    if not isinstance(obj, Sequence) or isinstance(obj, (bytes, bytearray)):
        raise TypeError(f"expected a string or a list of symbols, got {type(obj).__name__} {obj!r:.60}")
    return hashables(obj)


def distinct(values: Any, name: str) -> tuple[Hashable, ...]:
    """A stated vocabulary, alphabet or universe: a tuple of different values in the order given (sets are sorted)."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Collection):
        raise TypeError(f"{name} must be a list, got {type(values).__name__} {values!r:.60}")
    try:
        kept = hashables(values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    if not kept:
        raise ValueError(f"{name} is empty: expected at least one entry")
    if len(set(kept)) < len(kept):
        twice = next(value for i, value in enumerate(kept) if value in kept[:i])
        raise ValueError(f"{name} must hold different values, but {twice!r} appears twice")
    if not isinstance(values, Set):
        return kept
    try:
        return tuple(sorted(kept))  # type: ignore[type-var]
    except TypeError:  # values of several types
        return tuple(sorted(kept, key=repr))


def require_few(features: int, what: str) -> None:
    """Refuse feature maps too large to write out."""
    if features > MOST_FEATURES:
        raise ValueError(f"{what} make {features:,} features, more than {MOST_FEATURES:,}: use the kernel itself")
