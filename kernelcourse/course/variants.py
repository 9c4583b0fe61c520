"""Who has which variant of an assignment: the same tasks with each student's own numbers, data and hidden inputs.

A release with one variant per student records this in `.grading/variants/<assignment>.json`. Grading relies on that
record and on the folder of the submission. What a submission says about itself is only compared with the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..checking.checks import catalogue, checks_in, has_pieces
from ..checking.variants import fill, in_words, own_values
from .errors import CourseError
from .notebooks import SEED, replace_file, seed_of, set_seed
from .secret import grading_folder
from .transplant import Ending


@dataclass(frozen=True)
class Variants:
    """The variant that each student was given."""

    seeds: dict[str, int] = field(default_factory=dict)  # by student
    values: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)  # student -> notebook -> own values
    releases: dict[str, str] = field(default_factory=dict)  # notebook -> its release, with places for the values
    locked: dict[str, dict[str, str]] = field(default_factory=dict)  # notebook -> locked cell -> its full source

    def notebook(self, student: str, stem: str) -> Any:
        """The notebook that a student was given."""
        import nbformat

        notebook = nbformat.reads(self.releases[stem], as_version=4)
        fill_notebook(notebook, self.seeds[student], self.values[student][stem])
        return notebook

    def locked_cells(self, student: str) -> dict[str, dict[str, str]]:
        """The locked cells of a student's notebooks, hidden tests included."""
        return {
            stem: {
                name: _own_text(source, self.seeds[student], self.values[student][stem])
                for name, source in cells.items()
            }
            for stem, cells in self.locked.items()
        }

    def endings(self, student: str, texts: Mapping[str, Iterable[str]]) -> list[Ending]:
        """What is odd about the notebooks that a student handed in: their texts show whose variants they are."""
        if not self.seeds:
            return []
        if student not in self.seeds:
            said = "Not on the list of the release: graded as the common notebook."
            return [Ending("no variant", said)]
        owners = {seed: who for who, seed in self.seeds.items()}
        found = []
        for stem, parts in texts.items():
            seeds = {int(seed) for text in parts for seed in SEED.findall(text) if len(seed) < 20}
            if seeds and self.seeds[student] not in seeds:
                whose = next((f"that of {owners[seed]}" for seed in sorted(seeds) if seed in owners), "another")
                said = f"The notebook is not the student's own but {whose}; it was graded with the student's numbers."
                found.append(Ending("another variant", said, stem))
        return found

    def in_words(self, student: str) -> str:
        """A student's own numbers."""
        return "; ".join(filter(None, map(in_words, self.values.get(student, {}).values())))

    def literals(self, student: str) -> frozenset[str]:
        """The same numbers, as a program writes them."""
        return frozenset(repr(value) for own in self.values.get(student, {}).values() for value in own.values())


def _own_text(text: str, seed: int, values: Mapping[str, Any]) -> str:
    return SEED.sub(f"SEED = {seed}", fill(text, values))


def fill_notebook(notebook: Any, seed: int, values: Mapping[str, Any]) -> None:
    """Write a seed and the values that belong to it into a notebook."""
    from nbgrader.utils import compute_checksum

    set_seed(notebook, seed)
    for cell in notebook.cells:
        cell.source = fill(cell.source, values)
        ours = cell.metadata.get("nbgrader", {})
        if "checksum" in ours:
            ours["checksum"] = compute_checksum(cell)


def values_of(stem: str, seed: int) -> dict[str, Any]:
    """The values that the seed chooses for a notebook, from its catalogue; to be called within `checks_in`."""
    return own_values(getattr(catalogue(stem), "PARAMETERS", {}), seed) if has_pieces(stem) else {}


def fill_source(notebook: Any, source: Path, seed: int | None = None) -> None:
    """Fill the places for values in a source's notebook, as its own seed or another one determines."""
    with checks_in(source.parent):
        values = values_of(source.stem, seed_of(notebook) if seed is None else seed)
    for cell in notebook.cells if values else ():
        cell.source = fill(cell.source, values)


def record_file(root: Path, assignment: str) -> Path:
    return grading_folder(root) / "variants" / f"{assignment}.json"


def read_variants(root: Path, assignment: str) -> Variants:
    """The variants that were recorded; none if all students have the same notebook."""
    path = record_file(root, assignment)
    if not path.is_file():
        return Variants()
    try:
        return Variants(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(f"{path}, which says who has which variant, cannot be read: {error}") from error


def write_variants(root: Path, assignment: str, variants: Variants) -> None:
    replace_file(record_file(root, assignment), json.dumps(asdict(variants), indent=1).encode())


def require_same_values(variants: Variants, assignment: str) -> None:
    """Refuse to grade with numbers other than those that students were given; call this within `checks_in`."""
    for student, seed in variants.seeds.items():
        for stem, values in variants.values[student].items():
            if (now := values_of(stem, seed)) != values:
                given, today = (in_words(each) or "no numbers" for each in (values, now))
                raise CourseError(
                    f"{student} was given {given} in {assignment}, and would be given {today} by today's "
                    f"PARAMETERS: put them back, or run `kernelcourse amend {assignment}`"
                )
