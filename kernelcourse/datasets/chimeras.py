"""Chimeras of three cytochromes P450 (lecture K, section 11): simulated ones, and a reader for measured ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..validation import Array, generator, real, whole
from .generated import Seed

__all__ = ["p450_chimeras", "read_chimeras"]


class Chimeras(NamedTuple):
    """Sequences of eight blocks and their stabilities t in degrees Celsius.

    `truth` and `interacting` describe the law behind simulated data; for measured data it is unknown, so they are None
    and empty. `part` holds the word "train" or "test" for each row, if the table has one.
    """

    sequences: list[str]
    t: Array
    truth: Callable[[Sequence[str]], Array] | None
    parents: dict[str, str]
    interacting: tuple[tuple[int, int], ...]
    origin: str
    part: tuple[str, ...] | None = None


# Degrees that a block gains over the same block of parent 1, for parents 1, 2 and 3. Invented, and scaled so that the
# parents lie where cytochromes P450 do, between 40 and 60 degrees, with the best chimeras above all three.
BLOCK_EFFECTS = np.zeros((8, 3))
BLOCK_EFFECTS[:, 1] = [2.1, -3.4, -1.5, -2.9, -4.2, 1.7, -4.0, 0.8]
BLOCK_EFFECTS[:, 2] = [-1.6, 1.2, 2.8, -1.3, -3.7, -0.6, -2.9, 0.5]
# Degrees lost where two blocks that touch in the folded protein come from different parents.
CONTACT_LOSSES = {(0, 4): 2.4, (1, 2): 1.8, (2, 6): 2.6, (3, 4): 1.5, (5, 7): 3.0}
PARENT_1_STABILITY = 55.0


def _chimera_stability(sequences: Sequence[str]) -> Array:
    if isinstance(sequences, str):
        raise TypeError(f"sequences must be a list of strings, got the string {sequences!r}")
    for sequence in sequences:
        if not isinstance(sequence, str) or len(sequence) != len(BLOCK_EFFECTS) or not set(sequence) <= set("123"):
            raise ValueError(f"a sequence must be eight digits, each '1', '2' or '3', got {sequence!r}")
    parent = np.array([[int(block) - 1 for block in sequence] for sequence in sequences], dtype=int).reshape(-1, 8)
    additive = BLOCK_EFFECTS[np.arange(8), parent].sum(axis=1)
    lost = sum(loss * (parent[:, i] != parent[:, j]) for (i, j), loss in CONTACT_LOSSES.items())
    return PARENT_1_STABILITY + additive - lost


def p450_chimeras(n: int | None = None, *, noise: float = 1.0, rng: Seed = None) -> Chimeras:
    r"""Simulate the thermostability of chimeras of three parent proteins in eight blocks (K11).

    A chimera such as '21311332' takes its first block from parent 2, its second from parent 1, and so on; there
    are 3^8 = 6561. **The numbers are simulated**, not measured; only the design is the P450 study's. The stability is

    $$t = 55 + \sum_b e_b(s_b) - \sum_{(b, c)} \ell_{bc}\, [s_b \ne s_c] + \text{noise} \cdot \varepsilon$$

    in degrees: the sum of what each block adds, minus what is lost where touching blocks come from different parents.
    `interacting` lists the touching pairs, counted from 0. Without n, all 6561 are returned in order, else n at random.

    >>> chimeras = p450_chimeras(200, rng=0)
    >>> len(chimeras.sequences), len(chimeras.sequences[0]), chimeras.t.shape
    (200, 8, (200,))
    >>> chimeras.truth(list(chimeras.parents.values())), chimeras.origin
    (array([55. , 43.6, 49.4]), 'simulated')
    """
    noise, rng = real(noise, "noise", at_least=0), generator(rng)
    sequences = ["".join(blocks) for blocks in product("123", repeat=8)]
    if n is not None:
        if whole(n, "n", at_least=1) > len(sequences):
            raise ValueError(f"n must be at most {len(sequences)}, the number of different chimeras, got {n}")
        sequences = [sequences[i] for i in rng.choice(len(sequences), size=n, replace=False)]
    t = _chimera_stability(sequences) + noise * rng.standard_normal(len(sequences))
    return Chimeras(sequences, t, _chimera_stability, _parents("123"), tuple(CONTACT_LOSSES), "simulated")


def _parents(letters: str) -> dict[str, str]:
    return {f"parent {letter}": 8 * letter for letter in letters}


NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d\d?)?", re.IGNORECASE)
ROW = re.compile(rf"(?P<blocks>[0-9a-z]{{8}}) (?P<t>{NUMBER.pattern})(?: (?P<part>train|test))?", re.IGNORECASE)
EXPECTED = (
    "expected eight digits or letters, a temperature in degrees Celsius, and 'train' or 'test' in all rows or none"
)


def read_chimeras(path: str | PathLike[str]) -> Chimeras:
    """Read a published table of measured chimeras, such as that of the P450 study, as `Chimeras`.

    One row per protein: eight digits or letters that name the parent of each block, the measured T50 in degrees
    Celsius, and optionally the word train or test. Columns are separated by commas, tabs or spaces;
    the first line may be a header.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "T50.csv").write_text("chimera,T50\\n22312333,57.6\\n21311233,54.1\\n")
    ...     measured = read_chimeras(Path(folder) / "T50.csv")
    >>> measured.sequences, measured.t, measured.origin
    (['22312333', '21311233'], array([57.6, 54.1]), 'read from T50.csv')
    """
    path = Path(path)
    lines = [re.sub(r"[\s,\"']+", " ", line).strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    rows: dict[int, tuple[str, float, str]] = {}  # line number: sequence, stability and part
    header: list[int] = []
    wrong: list[int] = []
    for i, line in enumerate(lines):
        if row := ROW.fullmatch(line):
            rows[i] = row["blocks"], float(row["t"]), (row["part"] or "").lower()
        elif line and not rows and not header and not any(map(NUMBER.fullmatch, line.split())):
            header.append(i)
        elif line:
            wrong.append(i)
    letters = "".join(sorted({letter for sequence, _, _ in rows.values() for letter in sequence}))
    parts = tuple(part for _, _, part in rows.values())
    wrong += [i for i in header if rows and set(lines[i].split()[0]) <= set(letters)]  # a chimera without a number
    wrong += [i for i, (_, _, part) in rows.items() if any(parts) and not part]
    for i in wrong[:1]:
        raise ValueError(f"{path.name}, line {i + 1}: {EXPECTED}, got {lines[i]!r}")
    if not rows:
        raise ValueError(f"{path.name} holds no chimera: expected lines such as '22312333,57.6'")
    sequences, t = [sequence for sequence, _, _ in rows.values()], np.array([t for _, t, _ in rows.values()])
    origin = f"read from {path.name}"
    return Chimeras(sequences, t, None, _parents(letters), (), origin, parts if any(parts) else None)
