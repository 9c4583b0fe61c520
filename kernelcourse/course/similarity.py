"""Answers that look copied: compared by their tokens, whatever the variables are called.

An answer becomes the set of its runs of K tokens, with the student's own names made alike and comments left out. Runs
that say nothing are discounted: those in the stub, those in the model solution, and those that many in the class wrote.
Two answers are near-identical if the runs that are left agree in a long passage and differ little elsewhere. If many
copy from one student, the passage is no longer rare; then a long text that agrees to the letter, comments included,
gives them away. The numbers that a variant of the assignment gave each student count as alike.

copydetect does not consider the stub, the solution or what a class shares, and Moss sends the answers elsewhere.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice, pairwise

from .transplant import cut

K = 5  # tokens in a run: about half a line
SHARED_RUNS = 40  # fewer shared rare runs make two or three lines, which honest students may well write alike
OVERLAP = 0.6  # the fraction of either answer's rare runs that both have
COMMON_SHARE, COMMON_AT_LEAST, COMMON_AT_MOST = 0.2, 3, 25  # a run that more students have is the usual way to write it
OWN_WORDS = 4  # names and words in comments that are in neither the stub nor the solution

_MAX_TOKENS, _MAX_TEXT = 5000, 20_000  # tokens and characters of one answer; a longer one is compared by its beginning
_MAX_LINE = 400  # characters in a line: Python's tokenizer can take quadratic time on a line
_KNOWN = frozenset(keyword.kwlist) | frozenset(dir(builtins))
# Python 3.12 splits f-strings into tokens, and 3.14 t-strings as well.
_OPENINGS = {getattr(tokenize, name) for name in ("FSTRING_START", "TSTRING_START") if hasattr(tokenize, name)}
_CLOSINGS = {getattr(tokenize, name) for name in ("FSTRING_END", "TSTRING_END") if hasattr(tokenize, name)}
_OWN = "own"
_LAYOUT = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT)


@dataclass(frozen=True)
class Group:
    """Students whose answers to one question are near-identical, and the most that any two have in common."""

    answer: str
    students: tuple[str, ...]
    overlap: float


def structure(text: str, own: Collection[str] = ()) -> list[str]:
    """The tokens of an answer, with its own names made alike, without comments and stand-alone strings.

    `own` holds the numbers that this student was given, which are made alike as well.

    >>> structure("def f(x):\\n    return np.sum(x)  # all of it")
    ['def', 'name', '(', 'name', ')', ':', 'return', 'name', '.', 'sum', '(', 'name', ')']
    """
    tokens: list[str] = []
    fresh = True  # at the beginning of a statement, where a stand-alone string is a docstring
    for kind, token in _tokens(text):
        if kind in _LAYOUT:
            fresh = True
            continue
        if token in own:
            token = _OWN
        elif kind == tokenize.STRING:
            if fresh:
                continue
            token = "string"
        elif kind == tokenize.NAME and token not in _KNOWN and tokens[-1:] != ["."]:
            token = "name"
        fresh = False
        tokens.append(token)
    return tokens


@lru_cache(maxsize=10_000)
def _tokens(text: str) -> tuple[tuple[int, str], ...]:
    """The tokens up to the point where the text stops being Python."""
    lines = list(io.StringIO(cut(text, _MAX_TEXT, _MAX_LINE).replace("\x00", "")))
    found: list[tuple[int, str]] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        tokens = _whole_strings(tokenize.generate_tokens(iter(lines).__next__), lines)
        found.extend(islice(tokens, _MAX_TOKENS))
    return tuple(found)


def _whole_strings(tokens: Iterable[tokenize.TokenInfo], lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The tokens as Python 3.11 gives them: a string is one token, whatever its braces contain."""
    depth, first, start = 0, 0, 0
    for token in tokens:
        if token.type in _OPENINGS:
            if not depth:
                first, start = token.start
            depth += 1
        elif not depth:
            yield token.type, token.string
        elif token.type in _CLOSINGS:
            depth -= 1
            if not depth:
                last, end = token.end
                parts = [*lines[first - 1 : last - 1], lines[last - 1][:end]]
                yield tokenize.STRING, "".join(parts)[start:]


def _runs(text: str, own: Collection[str] = ()) -> frozenset[tuple[str, ...]]:
    tokens = structure(text, own)
    return frozenset(tuple(tokens[i : i + K]) for i in range(len(tokens) - K + 1))


def _words(text: str) -> frozenset[str]:
    """Names, and the words in comments."""
    kinds = (tokenize.NAME, tokenize.COMMENT)
    return frozenset(
        word for kind, token in _tokens(text) if kind in kinds for word in re.findall(r"[^\W\d_]\w{2,}", token)
    )


def _verbatim(text: str, own: Collection[str]) -> tuple[str, ...]:
    kept = (token for kind, token in _tokens(text) if kind not in _LAYOUT or kind == tokenize.COMMENT)
    return tuple(_OWN if token in own else token for token in kept)


def near_identical(
    answer: str,
    texts: Mapping[str, str],
    known: Sequence[str] = (),
    own: Mapping[str, Collection[str]] | None = None,
) -> list[Group]:
    """The groups of students with near-identical texts for an answer; `known` texts (stub, solution) say nothing.

    `own` holds the numbers that each student was given.
    """
    own = own or {}
    given = frozenset[tuple[str, ...]]().union(*map(_runs, known))
    runs = {student: _runs(text, own.get(student, ())) - given for student, text in texts.items()}
    long = {student: text for student, text in texts.items() if len(runs[student]) >= SHARED_RUNS}
    pairs = _share_rare_runs(runs) | _say_the_same(long, known, own)
    return _groups(answer, pairs)


def _share_rare_runs(runs: Mapping[str, frozenset[tuple[str, ...]]]) -> dict[tuple[str, str], float]:
    writers = defaultdict(list)
    for student in sorted(runs):
        for run in runs[student]:
            writers[run].append(student)
    limit = min(max(COMMON_AT_LEAST, COMMON_SHARE * len(runs)), COMMON_AT_MOST)
    own: dict[str, int] = defaultdict(int)
    shared: dict[tuple[str, str], int] = defaultdict(int)
    for students in writers.values():
        if len(students) > limit:
            continue
        for student in students:
            own[student] += 1
        for pair in combinations(students, 2):
            shared[pair] += 1
    pairs = {}
    for (one, other), count in shared.items():
        overlap = count / (own[one] + own[other] - count)
        if count >= SHARED_RUNS and overlap >= OVERLAP:
            pairs[one, other] = overlap
    return pairs


def _say_the_same(
    texts: Mapping[str, str], known: Sequence[str], own: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], float]:
    """Pairs of neighbours among the students with the same text, if it contains words of their own."""
    given = frozenset[str]().union(*map(_words, known))
    alike = defaultdict(list)
    for student in sorted(texts):
        if len(_words(texts[student]) - given) >= OWN_WORDS:
            alike[_verbatim(texts[student], own.get(student, ()))].append(student)
    return {pair: 1.0 for students in alike.values() for pair in pairwise(students)}


def _groups(answer: str, pairs: Mapping[tuple[str, str], float]) -> list[Group]:
    """Join pairs that have a student in common."""
    members: dict[str, set[str]] = {}
    for one, other in pairs:
        joined = members.get(one, {one}) | members.get(other, {other})
        members.update(dict.fromkeys(joined, joined))
    groups = []
    for joined in {id(joined): joined for joined in members.values()}.values():
        overlap = max(value for pair, value in pairs.items() if pair[0] in joined)
        groups.append(Group(answer, tuple(sorted(joined)), overlap))
    return sorted(groups, key=lambda group: (-group.overlap, group.students))
