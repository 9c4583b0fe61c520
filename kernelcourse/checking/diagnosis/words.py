"""The words for each kind of change (see `edits`)."""

from __future__ import annotations

# {it} is the place, {detail} what the change is about. Each reads after "Your results are exactly those that come if".
CLAUSES = {
    "minus": "the sign of {it} is reversed",
    "twice": "{it} is doubled",
    "half": "{it} is halved",
    "square": "{it} is squared",
    "root": "the square root of {it} is taken",
    "nothing": "{it} is left out (zero in its place)",
    "one": "{it} is left out (1 in its place)",
    "inverse": "{it} is turned into its inverse, 1 over it",
    "transpose": "{it} is transposed",
    "rows": "{it} is multiplied by the number of rows, n",
    "per row": "{it} is divided by the number of rows, n",
    "absolute": "the absolute value of {it} is taken",
    "plus one": "1 is added to {it}",
    "minus one": "1 is taken from {it}",
    "complement": "1 minus {it} stands in its place",
    "exp": "the exponential of {it} is taken",
    "log": "the logarithm of {it} is taken",
    "backwards": "{it} is read backwards",
    "sum": "{it} is summed up",
    "mean": "{it} is averaged",
    "diagonal": "only the diagonal of {it} is used",
    "sign": "only the sign of {it} is used",
    "plus": "{detail} is added to {it}",
    "less": "{detail} is subtracted from {it}",
    "times": "{it} is multiplied by {detail}",
    "over": "{it} is divided by {detail}",
    "matrix times": "{it} is multiplied, as a matrix, by {detail}",
    "operator": "{it} is made with the operator {detail}",
    "turned": "the two sides of {it} change places",
    "grouping": "{it} is grouped in another way (parentheses)",
    "comparison": "the comparison in {it} is {detail}",
    "connective": "`and` and `or` change places in {it}",
    "number": "the number {detail} stands in the place of {it}",
    "function": "{it} is computed with {detail}",
    "order of arguments": "the arguments of {it} change places",
    "order of values": "the values of {it} come in another order",
    "order of indices": "the two indices of {it} change places",
    "row for column": "a column stands in the place of a row in {it}",
    "keyword": "{detail} is not given in {it}",
    "axis": "{it} runs along axis {detail}",
    "one less": "{it} ends one step earlier",
    "one more": "{it} ends one step later",
    "from one": "{it} begins with 1",
    "from nought": "{it} begins with 0",
    "once": "{it} takes one step only",
    "bound": "{it} has one bound less",
    "part": "{detail} is left out of {it}",
    "other": "{detail} stands in the place of {it}",
    "left out": "{it} is left out",
    "set": "{it} sets the value in the place of adding to it",
    "added": "{it} adds to the value in the place of setting it",
    "always": "{it} is done always, whatever the condition says",
    "never": "{it} is never done",
    "condition turned": "the condition of {it} is turned round",
    "one pass": "{it} ends after one pass",
    "last line after the loop": "the last line of {it} comes after the loop",
    "throughout": "{detail}",
}


def clause(kind: str, it: str, detail: str) -> str:
    """The change as a clause.

    >>> clause("twice", "the penalty", "")
    'the penalty is doubled'
    """
    return CLAUSES[kind].format(it=it, detail=detail)


def joined(words: list[str], last: str = "and") -> str:
    """A list of words as people say it.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
