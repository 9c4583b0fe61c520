"""Fingerprints of mistakes: the results of small changes to the reference on public inputs, stored without the
reference itself."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from .behaviour import same
from .words import EVERYWHERE, change, joined

_ARRAYS = ("right", "sums", "numbers", "costs", "lines", "line_numbers")
_MOST = 2  # the largest number of places that a nudge names
_FAR_FETCHED = 2  # from this cost on, a change is an unlikely mistake
FOLDER = "checking/diagnosis/data"


@dataclass(frozen=True)
class Match:
    """A change to the reference that makes it do what the student's function does."""

    nudge: str
    why: str
    nodes: tuple[int, ...]  # numbers of nodes in the reference's tree; only the scorer can tell what they are


@dataclass(frozen=True)
class Sentence:
    """What is said about changes with the same effect: where they are, and the simplest of them."""

    areas: tuple[str, ...]
    nodes: tuple[int, ...]
    changes: tuple[tuple[str, str, str], ...]  # one change, or two at different places, each as (kind, place, detail)

    def match(self, detail: str = "") -> Match:
        """The sentence, with a number filled in if it needs one."""
        said = [change(kind, it, detail or about) for kind, it, about in self.changes]
        why = f"Your results are exactly what you get with {said[0]}"
        if len(said) > 1:
            why += f" or, equivalently, with {said[1]}"
        repeated = self.changes[0][0].endswith(EVERYWHERE)
        if len(said) == 1 and len(self.areas) > 1 and not repeated:
            why += "; other changes give the same results"
        areas = joined(self.areas[:_MOST], "and at" if repeated else "or at")
        return Match(f"Look at {areas}.", f"{why}.", self.nodes)


@dataclass(frozen=True)
class Table:
    """What is stored for one piece: sums of the results of each change, and a sentence about each change."""

    source: int  # a number that changes with the solution
    digest: int  # a digest of the inputs: for other inputs the sums mean nothing
    right: np.ndarray
    sums: np.ndarray
    numbers: np.ndarray  # of the sentences
    costs: np.ndarray  # how far-fetched each change is
    lines: np.ndarray  # how the right sums change if a part gets a factor in front
    line_numbers: np.ndarray
    sentences: tuple[Sentence, ...]

    def change(self, sums: np.ndarray, *, far_fetched: bool) -> Match | None:
        """The change with these sums: a likely mistake or, if `far_fetched`, an unlikely one."""
        hits = np.flatnonzero(same(self.sums.astype(float), sums)) if len(self.sums) else np.zeros(0, dtype=int)
        hit = next((int(hit) for hit in hits if (self.costs[hit] >= _FAR_FETCHED) == far_fetched), None)
        return None if hit is None else self.sentences[self.numbers[hit]].match()

    def factor(self, sums: np.ndarray) -> Match | None:
        """A part with a wrong factor in front of it, whatever the factor is."""
        moved = sums - self.right
        for line, number in zip(self.lines, self.line_numbers, strict=True):
            factor = float(moved @ line / (line @ line))
            if np.abs(moved - factor * line).max() <= 1e-7 * (1 + np.abs(moved).max()) and abs(factor) > 1e-6:
                return self.sentences[number].match(f"{1 + factor:.4g}")
        return None


def write(path: Path, tables: dict[str, Table]) -> None:
    """Store the tables of an assignment in one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, np.ndarray] = {}
    words = {}
    for name, table in tables.items():
        for field in _ARRAYS:
            arrays[f"{name}.{field}"] = getattr(table, field)
        words[name] = {
            "source": table.source,
            "digest": table.digest,
            "sentences": [asdict(sentence) for sentence in table.sentences],
        }
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
    arrays["words"] = np.frombuffer(text.encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    path.write_bytes(buffer.getvalue())


@cache
def tables(notebook: str) -> dict[str, Table]:
    """The tables of a catalogue, by piece; none if none were made."""
    resource = files("kernelcourse").joinpath(*FOLDER.split("/"), f"{notebook}.npz")
    return read(resource.read_bytes()) if resource.is_file() else {}


def read(content: bytes) -> dict[str, Table]:
    """The tables of a file."""
    with np.load(io.BytesIO(content), allow_pickle=False) as kept:
        words = json.loads(kept["words"].tobytes())
        return {
            name: Table(
                source=one["source"],
                digest=one["digest"],
                **{field: kept[f"{name}.{field}"] for field in _ARRAYS},
                sentences=tuple(
                    Sentence(tuple(said["areas"]), tuple(said["nodes"]), tuple(map(tuple, said["changes"])))
                    for said in one["sentences"]
                ),
            )
            for name, one in words.items()
        }
