"""The words for each kind of change (see `edits`)."""

from __future__ import annotations

from collections.abc import Sequence

# {it} is the place, {detail} what the change is about. Each reads after "with".
CHANGES = {
    "minus": "the sign of {it} reversed",
    "twice": "{it} doubled",
    "half": "{it} halved",
    "square": "{it} squared",
    "root": "the square root of {it}",
    "nothing": "{it} left out (zero in its place)",
    "one": "{it} left out (1 in its place)",
    "inverse": "the reciprocal of {it}",
    "transpose": "{it} transposed",
    "rows": "{it} multiplied by n, the number of rows",
    "per row": "{it} divided by n, the number of rows",
    "absolute": "the absolute value of {it}",
    "plus one": "1 added to {it}",
    "minus one": "1 subtracted from {it}",
    "complement": "1 minus {it}",
    "exp": "the exponential of {it}",
    "log": "the logarithm of {it}",
    "backwards": "{it} in reverse order",
    "sum": "the sum of {it}",
    "mean": "the mean of {it}",
    "diagonal": "only the diagonal of {it}",
    "sign": "only the sign of {it}",
    "plus": "{detail} added to {it}",
    "less": "{detail} subtracted from {it}",
    "times": "{it} multiplied by {detail}",
    "over": "{it} divided by {detail}",
    "matrix times": "{it} multiplied, as a matrix, by {detail}",
    "factor": "{it} multiplied by {detail}",
    "operator": "the operator {detail} in {it}",
    "turned": "the two sides of {it} exchanged",
    "grouping": "other parentheses in {it}",
    "comparison": "the comparison {detail} in {it}",
    "connective": "`and` and `or` exchanged in {it}",
    "number": "the number {detail} instead of {it}",
    "function": "{detail} in {it}",
    "order of arguments": "the two arguments of {it} exchanged",
    "order of values": "the values in {it} in a different order",
    "order of indices": "the two indices of {it} exchanged",
    "row for column": "a column instead of a row in {it}",
    "keyword": "no {detail} in {it}",
    "axis": "axis {detail} in {it}",
    "one less": "one step fewer in {it}",
    "one more": "one step more in {it}",
    "from one": "{it} beginning at 1",
    "from nought": "{it} beginning at 0",
    "once": "only one step in {it}",
    "bound": "one bound fewer in {it}",
    "part": "{detail} left out of {it}",
    "other": "{detail} instead of {it}",
    "left out": "{it} left out",
    "set": "{it} setting the value instead of adding to it",
    "added": "{it} adding to the value instead of replacing it",
    "always": "{it} always carried out, whatever its condition says",
    "never": "{it} never executed",
    "condition turned": "the condition of {it} reversed",
    "one pass": "only one pass of {it}",
    "last line after the loop": "the last line of {it} moved after the loop",
    "throughout": "{detail}",
    "outside": "one operand of {it} outside the parentheses",
}


EVERYWHERE = " everywhere"  # appended to a kind: the change is made at all places that look the same


def change(kind: str, it: str, detail: str) -> str:
    """A change in words.

    >>> change("twice", "the penalty", "")
    'the penalty doubled'
    >>> change("part everywhere", "the scores", "the bias in the scores")
    'the bias left out of the scores, and wherever else it appears'
    """
    repeated = kind.endswith(EVERYWHERE)
    part, _, whole = detail.partition(" in ")
    about = part if whole and it.endswith(whole) else detail  # name the whole only once
    words = CHANGES[kind.removesuffix(EVERYWHERE)].format(it=it, detail=about)
    return f"{words}, and wherever else it appears" if repeated else words


def joined(words: Sequence[str], last: str = "and") -> str:
    """A list of words, joined as in a sentence.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
