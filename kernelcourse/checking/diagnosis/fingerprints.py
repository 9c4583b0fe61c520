"""Fingerprints of mistakes: what small changes of the reference give on public inputs, without the reference."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from .behaviour import same

_ARRAYS = ("right", "sums", "numbers", "costs", "lines", "line_numbers")
FOLDER = "checking/diagnosis/data"


@dataclass(frozen=True)
class Match:
    """A change of the reference that does what the student's function does."""

    nudge: str
    why: str
    nodes: tuple[int, ...]  # of the reference's tree; only the scorer can tell what they are


@dataclass(frozen=True)
class Table:
    """What is kept of one piece: sums of what each change gives, and a sentence on it."""

    digest: int  # of the inputs: with others the sums mean nothing
    right: np.ndarray
    sums: np.ndarray
    numbers: np.ndarray  # of the sentences
    costs: np.ndarray  # how far-fetched each change is
    lines: np.ndarray  # how the right sums move with a factor in front of a part
    line_numbers: np.ndarray
    sentences: tuple[tuple[str, str, tuple[int, ...]], ...]

    def match(self, sums: np.ndarray) -> Match | None:
        """The change whose sums are these."""
        hits = np.flatnonzero(same(self.sums.astype(float), sums)) if len(self.sums) else np.zeros(0, dtype=int)
        near = [int(hit) for hit in hits if self.costs[hit] < 2]
        line = None if near else self._match_line(sums)
        if line is not None or not len(hits):
            return line
        return Match(*self.sentences[self.numbers[near[0] if near else hits[0]]])

    def _match_line(self, sums: np.ndarray) -> Match | None:
        moved = sums - self.right
        for line, number in zip(self.lines, self.line_numbers, strict=True):
            factor = float(moved @ line / (line @ line))
            if np.abs(moved - factor * line).max() <= 1e-7 * (1 + np.abs(moved).max()) and abs(factor) > 1e-6:
                nudge, why, nodes = self.sentences[number]
                times = 1 + factor
                change = "left out" if abs(times) < 1e-6 else f"multiplied by {times:.4g}"
                return Match(nudge, why.format(change=change), nodes)
        return None


def write(path: Path, tables: dict[str, Table]) -> None:
    """Keep the tables of an assignment in one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, np.ndarray] = {}
    words = {}
    for name, table in tables.items():
        for field in _ARRAYS:
            arrays[f"{name}.{field}"] = getattr(table, field)
        words[name] = {"digest": table.digest, "sentences": table.sentences}
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
    arrays["words"] = np.frombuffer(text.encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    path.write_bytes(buffer.getvalue())


@cache
def tables(notebook: str) -> dict[str, Table]:
    """The tables of a catalogue, by piece; none where none were made."""
    resource = files("kernelcourse").joinpath(*FOLDER.split("/"), f"{notebook}.npz")
    if not resource.is_file():
        return {}
    with np.load(io.BytesIO(resource.read_bytes()), allow_pickle=False) as kept:
        words = json.loads(kept["words"].tobytes())
        return {
            name: Table(
                one["digest"],
                *(kept[f"{name}.{field}"] for field in _ARRAYS),
                tuple((nudge, why, tuple(nodes)) for nudge, why, nodes in one["sentences"]),
            )
            for name, one in words.items()
        }
