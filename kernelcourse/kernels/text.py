"""Kernels on text documents (B16)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

from ..validation import real
from .counts import CountKernel, distinct
from .kernel import _set

__all__ = ["BagOfWords", "TfIdf", "words"]

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str) -> list[str]:
    """The words of a text in lower case: runs of letters and digits of any script, with apostrophes inside them.

    >>> words("Don't panic: it's 42, über-cool!")
    ["don't", 'panic', "it's", '42', 'über', 'cool']
    """
    if not isinstance(text, str):
        raise TypeError(f"expected a text, got {type(text).__name__} {text!r:.60}")
    # One encoding for an accented letter, and one apostrophe, so that what looks the same is the same word.
    return WORD.findall(unicodedata.normalize("NFC", text.lower()).replace("\u2019", "'"))


@dataclass(frozen=True)
class BagOfWords(CountKernel):
    r"""$k(d, d') = \sum_w \#_w(d)\, \#_w(d')$, where $\#_w(d)$ is how often the word w occurs in d (B16).

    With a `vocabulary`, all other words are ignored, and its words are the features.

    >>> BagOfWords()(["the cat sat on the mat"], ["The cat!", "A dog."])
    array([[3., 0.]])
    >>> BagOfWords(vocabulary=["cat", "the"]).features(["the cat sat on the mat"])
    array([[1., 2.]])
    """

    vocabulary: Sequence[str] | None = None
    tex = r"\sum_{{w}} \#_w({x})\, \#_w({z})"

    def __post_init__(self) -> None:
        if self.vocabulary is not None:
            vocabulary = distinct(self.vocabulary, "vocabulary")
            for i, word in enumerate(vocabulary):
                _require_word(word, f"vocabulary[{i}]")
            _set(self, vocabulary=vocabulary)

    def counts(self, obj: str) -> Counter[str]:
        """How often each word occurs."""
        return Counter(words(obj))


@dataclass(frozen=True, repr=False)
class TfIdf(CountKernel):
    r"""$k(d, d') = \sum_w \text{idf}_w^2\, \#_w(d)\, \#_w(d')$: words that few documents contain weigh more (B16).

    `TfIdf.fit(documents)` weighs the words by $\text{idf}_w = 1 + \log\frac{1 + n}{1 + n_w}$, where $n_w$ of the n
    documents contain w. A word without a weight is ignored, and the words with a weight are the features.
    `.normalized()` makes long and short documents comparable.

    >>> k = TfIdf.fit(["the cat", "the dog"])
    >>> k
    TfIdf(idf={'cat': 1.4054651081081644, 'dog': 1.4054651081081644, 'the': 1.0})
    >>> k.normalized()(["the cat"], ["the cat", "a cat", "the bird"]).round(3)
    array([[1.   , 0.815, 0.58 ]])
    """

    idf: Any  # a mapping from words to weights, kept as sorted pairs: hashable and comparable
    tex = r"\sum_{{w}} \mathrm{{idf}}_w^2\, \#_w({x})\, \#_w({z})"

    def __post_init__(self) -> None:
        try:
            idf = dict(self.idf)
        except (TypeError, ValueError) as error:
            raise TypeError(f"idf must map words to weights, got {self.idf!r:.60}") from error
        if not idf:
            raise ValueError("idf is empty: expected at least one word")
        for word, weight in idf.items():
            _require_word(word, "each key of idf")
            idf[word] = real(weight, f"idf[{word!r}]", at_least=0)
        _set(self, idf=tuple(sorted(idf.items())))

    @classmethod
    def fit(cls, documents: Sequence[str]) -> TfIdf:
        """The kernel with the weights computed from these documents."""
        bags = BagOfWords().prepare(documents, "documents")
        holding = Counter(word for bag in bags for word in bag)
        if not holding:
            raise ValueError("documents contain no words, so there is nothing to weight")
        return cls({word: 1 + log((1 + len(bags)) / (1 + n)) for word, n in holding.items()})

    @cached_property
    def _weight(self) -> dict[str, float]:
        return dict(self.idf)

    def counts(self, obj: str) -> Mapping[str, float]:
        """How often each word occurs, times its weight."""
        weighted = {word: n * self._weight.get(word, 0.0) for word, n in Counter(words(obj)).items()}
        return {word: value for word, value in weighted.items() if value}  # a word of weight 0 needs no feature

    def parts(self) -> Sequence[str]:
        return list(self._weight)

    def __repr__(self) -> str:
        return f"TfIdf(idf={self._weight!r})"


def _require_word(word: Any, name: str) -> None:
    """Refuse what `words` never returns, because it would silently count as 0."""
    if not isinstance(word, str):
        raise TypeError(f"{name} must be a word, got {word!r:.60}")
    if words(word) != [word]:
        raise ValueError(f"{name} must be one word, got {word!r:.60}, which words() turns into {words(word)!r:.60}")
