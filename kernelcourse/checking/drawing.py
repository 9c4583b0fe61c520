"""Draw the cases of a check: visible ones in the catalogue's order, hidden ones in an unpredictable order.

A function that answers by counting its calls, or from a table of earlier inputs, is right only by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .cases import Case, with_layouts


@dataclass(frozen=True)
class AsDrawn:
    """Cases that were drawn before, in the order and the layouts that they had then."""

    cases: tuple[Case, ...]

    def __call__(self, rng: np.random.Generator) -> tuple[Case, ...]:
        return self.cases


def drawn(
    cases: Callable[[np.random.Generator], Iterable[Case]], rng: np.random.Generator, *, hidden: bool
) -> list[Case]:
    """The cases with their layouts. Hidden cases include every kind once and some kinds twice; the generator decides
    how many and in which order. So a student cannot know how many of them have a given answer.
    """
    if isinstance(cases, AsDrawn):
        return list(cases(rng))
    if not hidden:
        return list(with_layouts(cases(rng)))
    once, again = list(cases(rng)), list(cases(rng))
    more = rng.permutation(len(again))[: int(rng.integers(2, len(again) + 1))] if len(again) > 1 else range(len(again))
    several = list(with_layouts([*once, *(again[i] for i in more)]))
    return [several[i] for i in rng.permutation(len(several))]
