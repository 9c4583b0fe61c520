"""Numbers that differ from student to student.

A file of checks may list `PARAMETERS`: the values that a student's notebook may have, by name. The notebook's seed
chooses among them. In texts and hints `{{name}}` stands for the value; a reference, a mistake, the cases and the
verifier of a claim receive it if they have a keyword-only argument of that name.

>>> PARAMETERS = {"degree": range(2, 7)}
>>> own_values(PARAMETERS, seed=1)
{'degree': 3}
>>> fill("Write the kernel of degree {{degree}}.", own_values(PARAMETERS, seed=1))
'Write the kernel of degree 3.'
"""

from __future__ import annotations

import functools
import inspect
import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .piece import Claim, Mistake, Piece

_MOST = 12  # the largest number of other students' variants that an answer is compared with


def own_values(parameters: Mapping[str, Sequence[Any]], seed: int) -> dict[str, Any]:
    """The value that a seed chooses for each parameter; other parameters do not affect it."""
    found = {}
    for name, choices in parameters.items():
        rng = np.random.default_rng([seed, zlib.crc32(f"parameter {name}".encode())])
        found[name] = choices[int(rng.integers(len(choices)))]
    return found


def fill(text: str, values: Mapping[str, Any]) -> str:
    """The text with the values in their places."""
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", str(value))
    return text


def in_words(values: Mapping[str, Any]) -> str:
    """
    >>> in_words({"degree": 3, "offset": 1})
    'degree = 3, offset = 1'
    """
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def checked_parameters(parameters: Any) -> dict[str, Sequence[Any]]:
    """The parameters of a catalogue, or an error that says what is wrong with them."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"PARAMETERS is {parameters!r}, expected a dict: a name and the values to choose from")
    for name, choices in parameters.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"PARAMETERS: {name!r} cannot be the name of an argument")
        if isinstance(choices, (str, bytes)) or not isinstance(choices, Sequence) or not len(choices):
            raise ValueError(f"PARAMETERS: {name} is {choices!r}, expected a list, a tuple or a range of values")
        if strange := [one for one in choices if not isinstance(one, (int, float, str))]:
            raise ValueError(f"PARAMETERS: {name} can be {strange[0]!r}, expected only numbers and texts")
    return dict(parameters)


def bound(function: Callable[..., Any], values: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with the values as its keyword-only arguments; the function itself if it takes none of them."""
    given = {name: values[name] for name in _takes(function) if name in values}
    if not given:
        return function

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args, **given)

    signature = inspect.signature(function)
    kept = [one for one in signature.parameters.values() if one.name not in given]
    call.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    call.given = given  # type: ignore[attr-defined]
    return call


def _takes(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]


def for_seed(piece: Piece | Claim, parameters: Mapping[str, Sequence[Any]], seed: int) -> Piece | Claim:
    """The piece as the student with this seed has it.

    If the reference of a piece takes a parameter, the right answers of other students are mistakes: a student who
    copies one is told so.
    """
    values = own_values(parameters, seed)
    if not values:
        return piece
    mistakes = [Mistake(bound(one.wrong, values), fill(one.hint, values)) for one in piece.mistakes]
    reference = bound(piece.reference, values)
    if isinstance(piece, Claim):
        return replace(piece, reference=reference, verify=telling(piece.verify, values), mistakes=mistakes)
    mistakes += _of_others(piece, parameters, values)
    return replace(piece, reference=reference, cases=bound(piece.cases, values), mistakes=mistakes)


def telling(verify: Callable[..., str], values: Mapping[str, Any]) -> Callable[[Any], str]:
    """The verifier of a claim, with the values as arguments and in its messages."""
    own = bound(verify, values)

    @functools.wraps(own)
    def call(answer: Any) -> str:
        return fill(own(answer), values)

    return call


def _of_others(piece: Piece, parameters: Mapping[str, Sequence[Any]], own: Mapping[str, Any]) -> Iterator[Mistake]:
    names = [name for name in _takes(piece.reference) if name in parameters]
    mine = {name: own[name] for name in names}
    others = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(parameters[name] for name in names))
    ]
    for other in [one for one in others if one != mine][:_MOST]:
        wrong = bound(piece.reference, other)
        wrong.__name__ = f"right for {in_words(other)}"
        yield Mistake(wrong, f"This is right for {in_words(other)}: use the numbers from your own notebook.")
