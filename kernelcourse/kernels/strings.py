"""Kernels on strings, and on any other sequence of symbols (B16, K11).

A sequence is a string, or a tuple, list or 1-D array of hashable symbols. `Spectrum` and `Subsequence` compare strings
of any length by what they contain; `Positions` and `Hamming` compare aligned sequences position by position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..seam import definition
from ..validation import Array, real, whole
from .counts import CountKernel, ObjectKernel, count_matrix, distinct, require_few, symbols
from .kernel import InvalidKernel, Objects, _set
from .rules import row_kronecker

__all__ = ["Hamming", "Positions", "Spectrum", "Subsequence"]

Codes = NDArray[np.int64]


def _alphabet(alphabet: Any) -> Sequence[Hashable] | None:
    """The alphabet as a string if its symbols are letters, because that prints best, else as a tuple."""
    if alphabet is None:
        return None
    letters = distinct(tuple(alphabet) if isinstance(alphabet, str) else alphabet, "alphabet")
    joined = "".join(letter for letter in letters if isinstance(letter, str))
    return joined if tuple(joined) == letters else letters


def _spelt(obj: Any, alphabet: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    """The symbols of a sequence, all of them in the alphabet if one is stated."""
    sequence = symbols(obj)
    if alphabet is not None and (strange := set(sequence).difference(alphabet)):
        i = next(i for i, symbol in enumerate(sequence) if symbol in strange)
        raise ValueError(f"the symbol {sequence[i]!r} at position {i} is not in the alphabet {alphabet!r:.60}")
    return sequence


def _few(alphabet: Sequence[Hashable], size: int) -> Sequence[Hashable]:
    require_few(len(alphabet) ** size, f"{len(alphabet)} symbols in strings of length {size}")
    return alphabet


@dataclass(frozen=True)
class Spectrum(CountKernel):
    r"""$k(s, t) = \sum_{u \in \mathcal A^p} \#_u(s)\, \#_u(t)$, over all substrings u of length p = `size` (B16).

    `alphabet` lists all symbols that may occur, and thereby fixes the features: one for each of the $|\mathcal A|^p$
    strings of that length, in the alphabet's order. A string shorter than p has no such substring, so k is 0.

    >>> Spectrum(2)(["banana"], ["bandana", "cab"])  # ba, an, na: 1, 2, 2 times in banana
    array([[7., 0.]])
    >>> Spectrum(2, alphabet="ab").features(["abab"])  # aa, ab, ba, bb
    array([[0., 2., 1., 0.]])
    """

    size: int
    alphabet: Sequence[Hashable] | None = None
    finite_with = "alphabet"
    tex = r"\sum_{{u \in \mathcal{{A}}^{{{size}}}}} \#_u({x})\, \#_u({z})"

    def __post_init__(self) -> None:
        _set(self, size=whole(self.size, "size", at_least=1), alphabet=_alphabet(self.alphabet))

    def counts(self, obj: Any) -> Counter[tuple[Hashable, ...]]:
        """How often each run of `size` symbols occurs."""
        sequence = _spelt(obj, self.alphabet)
        return Counter(zip(*(sequence[i:] for i in range(self.size)), strict=False))

    def parts(self) -> Sequence[Hashable]:
        return list(product(_few(self._stated(), self.size), repeat=self.size))


@dataclass(frozen=True)
class Subsequence(ObjectKernel):
    r"""$k(s, t) = \sum_{u \in \mathcal A^p} \phi_u(s)\, \phi_u(t)$, over all subsequences u of length p = `size` (B16).

    Their symbols need not be adjacent, but gaps are penalised: each subsequence gets a factor `decay`, $\lambda$, for
    every place from its first symbol to its last,

    $$\phi_u(s) = \sum_{i_1 < \dots < i_p:\ s[i] = u} \lambda^{i_p - i_1 + 1}$$

    (Lodhi et al., *Text classification using string kernels*, JMLR 2002). `alphabet` lists all symbols that may
    occur, and thereby fixes the features. `.normalized()` makes long and short strings comparable.

    >>> k = Subsequence(2, decay=0.5)
    >>> k(["cat"], ["cart", "cat", "dog"])  # ca, at, ct
    array([[0.1015625, 0.140625 , 0.       ]])
    >>> Subsequence(2, decay=0.5, alphabet="ab").features(["aab"])  # aa, ab, ba, bb
    array([[0.25 , 0.375, 0.   , 0.   ]])
    """

    size: int
    decay: float
    alphabet: Sequence[Hashable] | None = None
    finite_with = "alphabet"
    tex = (
        r"\sum_{{u \in \mathcal{{A}}^{{{size}}}}} "
        r"\left(\sum_{{i :\, {x}[i] = u}} {decay}^{{i_{{{size}}} - i_1 + 1}}\right) "
        r"\left(\sum_{{i :\, {z}[i] = u}} {decay}^{{i_{{{size}}} - i_1 + 1}}\right)"
    )

    def __post_init__(self) -> None:
        decay = real(self.decay, "decay", above=0)
        if decay > 1:
            raise ValueError(f"decay must be in (0, 1], got {decay:g}: above 1 a gap would raise the value")
        size = whole(self.size, "size", at_least=1)
        _set(self, size=size, decay=decay, alphabet=_alphabet(self.alphabet))

    def parse(self, obj: Any) -> tuple[Hashable, ...]:
        return _spelt(obj, self.alphabet)

    def formula(self, X: Sequence[tuple[Hashable, ...]], Z: Sequence[tuple[Hashable, ...]]) -> Array:
        code = {symbol: i for i, symbol in enumerate(dict.fromkeys(chain(*X, *Z)))}
        T = np.full((max(map(len, Z)), len(Z)), -1)  # one string per column, padded with a value that matches nothing
        for j, t in enumerate(Z):
            T[: len(t), j] = [code[symbol] for symbol in t]
        K = np.zeros((len(X), len(Z)))
        for i, x in enumerate(X):
            s = np.array([code[symbol] for symbol in x], dtype=np.int64)
            first = i if Z is X else 0  # one half of a symmetric matrix is enough
            K[i, first:] = gap_weighted(s, T[:, first:], size=self.size, decay=self.decay)
        return np.triu(K) + np.triu(K, 1).T if Z is X else K

    def diagonal(self, X: Sequence[tuple[Hashable, ...]]) -> Array:
        return np.array([self.formula([x], [x])[0, 0] for x in X])

    def feature_rows(self, X: Sequence[tuple[Hashable, ...]]) -> Array:
        alphabet = _few(self._stated(), self.size)
        code = {symbol: a for a, symbol in enumerate(alphabet)}
        return np.array([self._weights([code[symbol] for symbol in x], len(alphabet)) for x in X])

    def _weights(self, s: Sequence[int], letters: int) -> Array:
        """The features of one string, read from left to right."""
        # grown[q][u] is the weight of u, which has q symbols, in what was read so far; u is a number in base `letters`.
        grown = [np.ones(1)] + [np.zeros(letters**q) for q in range(1, self.size + 1)]
        for a in s:
            for q in range(self.size, 0, -1):
                if q < self.size:
                    grown[q] *= self.decay  # one more place in the gap, unless u is complete
                grown[q][a::letters] += self.decay * grown[q - 1]
        return grown[-1]


@definition
def gap_weighted(s: Codes, T: Codes, *, size: int, decay: float) -> Array:
    r"""`Subsequence` between the string s and every column of T, by dynamic programming.

    $D_q[i, j]$ sums the weights of all pairs of equal subsequences of q symbols that end at $s_i$ and $t_j$:

    $$D_{q+1}[i, j] = \lambda^2\, [s_i = t_j] \sum_{i' < i} \sum_{j' < j}
      \lambda^{(i - i' - 1) + (j - j' - 1)} D_q[i', j'], \qquad D_1[i, j] = \lambda^2\, [s_i = t_j]$$

    >>> gap_weighted(np.array([0, 1]), np.array([[0], [1], [1]]), size=2, decay=0.5)
    array([0.09375])
    """
    match = s[:, None, None] == T  # (|s|, |t|, strings)
    D = np.where(match, decay**2, 0.0)
    with np.errstate(over="ignore"):
        for _ in range(size - 1):
            S = _discounted(_discounted(D, decay).swapaxes(0, 1), decay).swapaxes(0, 1)
            D = np.where(match, decay**2 * S, 0.0)
        return D.sum(axis=(0, 1))


def _discounted(D: Array, decay: float) -> Array:
    r"""$S_i = \sum_{i' < i} \lambda^{i - i' - 1} D_{i'}$ along the first axis: $S_i = \lambda S_{i-1} + D_{i-1}$."""
    S = np.zeros_like(D)
    for i in range(1, len(D)):
        S[i] = decay * S[i - 1] + D[i - 1]
    return S


class Aligned(CountKernel):
    """A kernel that compares two sequences of the same length position by position."""

    finite_with = "alphabet"
    alphabet: Sequence[Hashable] | None

    def counts(self, obj: Any) -> Mapping[tuple[int, Hashable], float]:
        """Each symbol with its position."""
        sequence = _spelt(obj, self.alphabet)
        if not sequence:
            raise ValueError("the sequence is empty: expected at least one symbol")
        return dict.fromkeys(enumerate(sequence), 1)

    def prepare(self, X: Any, name: str = "X") -> Objects:
        parsed = super().prepare(X, name)
        for i, counts in enumerate(parsed):
            if len(counts) != len(parsed[0]):
                found = f"{name}[0] has {len(parsed[0])} symbols and {name}[{i}] has {len(counts)}"
                raise ValueError(f"all sequences must have the same length, but {found}")
        return parsed

    def formula(self, X: Sequence[Mapping[Any, float]], Z: Sequence[Mapping[Any, float]]) -> Array:
        if len(X[0]) != len(Z[0]):
            raise ValueError(f"X has sequences of {len(X[0])} symbols, but Z has sequences of {len(Z[0])}")
        return super().formula(X, Z)

    def feature_rows(self, X: Sequence[Mapping[Any, float]]) -> Array:
        """The counts, with a column for each symbol of the alphabet at the first position, then at the second, ..."""
        return count_matrix(X, product(range(len(X[0])), self._stated()))


@dataclass(frozen=True)
class Positions(Aligned):
    r"""$k(s, t) = \sum_i [s_i = t_i]$: the number of positions in which two sequences agree (K11).

    A function in this kernel's space adds up one effect per position. With `Positions() ** 2` there is also one for
    every pair of positions, as proteins assembled from blocks of several parents require. `alphabet` lists all symbols
    that may occur, and thereby fixes the features: one for each symbol at each position.

    >>> Positions()(["21311332"], ["21311332", "11111111", "22222222"])
    array([[8., 3., 2.]])
    """

    alphabet: Sequence[Hashable] | None = None
    tex = r"\sum_{{i}} \left[{{{x}}}_i = {{{z}}}_i\right]"

    def __post_init__(self) -> None:
        _set(self, alphabet=_alphabet(self.alphabet))


@dataclass(frozen=True)
class Hamming(Aligned):
    r"""$k(s, t) = \text{decay}^{\,d(s, t)}$, d being the Hamming distance, the number of positions that differ (K11).

    It is a product over the positions of kernels that are 1 where the symbols agree and `decay` where they differ, and
    each of those is a sum of two kernels, $\text{decay} + (1 - \text{decay})\, [s_i = t_i]$, as long as
    $0 < \text{decay} \le 1$. So it is a kernel by the rules (6.13), (6.17) and (6.18), with all interactions. Its
    features are products with one factor per position, $\sqrt{\text{decay}}$ or $\sqrt{1 - \text{decay}}\, [s_i = a]$.

    >>> Hamming(0.5)(["karolin"], ["karolin", "kathrin"])
    array([[1.   , 0.125]])
    """

    decay: float
    alphabet: Sequence[Hashable] | None = None
    tex = r"{decay}^{{\#\{{i :\, {{{x}}}_i \ne {{{z}}}_i\}}}}"

    def __post_init__(self) -> None:
        decay = real(self.decay, "decay", above=0)
        if decay > 1:
            raise InvalidKernel(f"decay must be in (0, 1], got {decay:g}: above 1, k(s, t)^2 > k(s, s) k(t, t)")
        _set(self, decay=decay, alphabet=_alphabet(self.alphabet))

    def formula(self, X: Sequence[Mapping[Any, float]], Z: Sequence[Mapping[Any, float]]) -> Array:
        return self.decay ** (len(X[0]) - super().formula(X, Z))

    def diagonal(self, X: Sequence[Mapping[Any, float]]) -> Array:
        return np.ones(len(X))

    def feature_rows(self, X: Sequence[Mapping[Any, float]]) -> Array:
        positions, size = len(X[0]), len(self._stated())
        require_few((size + 1) ** positions, f"{positions} positions and {size} symbols")
        agree = np.sqrt(1 - self.decay) * super().feature_rows(X).reshape(len(X), positions, size)
        differ = np.full((len(X), positions, 1), np.sqrt(self.decay))
        factors = np.concatenate([differ, agree], axis=2)  # (n, positions, size + 1)
        return reduce(row_kronecker, factors.swapaxes(0, 1))
