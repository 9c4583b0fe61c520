"""Notebooks as files: read from text, and written as the same bytes on every system."""

from __future__ import annotations

import os
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from .errors import CourseError

SEED = re.compile(r"^SEED = (\d+)$", re.MULTILINE)  # the line of a notebook that chooses its data and its cases


def read_source(path: Path) -> Any:
    """The notebook in a text file, with stable cell ids."""
    import jupytext

    notebook = jupytext.read(path)
    give_stable_ids(notebook)
    return notebook


def read_notebook(path: Path) -> Any:
    """The notebook in an `.ipynb` file, whichever program wrote it."""
    if not path.is_file():
        raise CourseError(f"there is no notebook {path}")
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, AttributeError, TypeError, KeyError) as error:  # nbformat's words for "not a notebook"
        raise CourseError(f"{path} is not a notebook") from error


@lru_cache(maxsize=16)
def parse_once(content: bytes) -> Any:
    """A released notebook, which must not be changed: the processes that grade a class share it."""
    import nbformat

    return nbformat.reads(content.decode(), as_version=4)


def give_stable_ids(notebook: Any) -> None:
    """Name every cell after its grade_id, or after its position if it has none."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5  # the first format with cell ids
    for position, cell in enumerate(notebook.cells):
        cell["id"] = cell.metadata.get("nbgrader", {}).get("grade_id") or f"cell-{position:02}"


def strip_noise(notebook: Any) -> None:
    """Leave out what depends on the program that wrote the notebook."""
    kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = type(notebook.metadata)(kernelspec=kernelspec, language_info={"name": "python"})


def write_notebook(notebook: Any, path: Path) -> None:
    """Write the notebook in one step, as the same bytes on every system."""
    import nbformat

    text = nbformat.writes(notebook, version=4).rstrip("\n") + "\n"
    replace_file(path, text.encode())


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file's content in one step: a reader sees the old or the new content, never part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def pair(source: Path) -> None:
    """Bring a text notebook and the `.ipynb` beside it, which Jupyter and the formgrader show, to the same state.

    Where their cells differ, the one that was saved last wins.
    """
    import jupytext
    import nbformat

    twin = source.with_suffix(".ipynb")
    notebook = read_source(source)
    if twin.exists():
        edited = nbformat.read(twin, as_version=4)
        if cells(edited) == cells(notebook):
            return
        if twin.stat().st_mtime > source.stat().st_mtime:
            edited.metadata = notebook.metadata
            replace_file(source, jupytext.writes(edited, fmt="md:myst").encode())
            return
    write_notebook(notebook, twin)


def cells(notebook: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """The content of a notebook: the type, text and nbgrader metadata of each cell."""
    return [(cell.cell_type, cell.source, dict(cell.metadata.get("nbgrader", {}))) for cell in notebook.cells]


def term_seed(term: str) -> int:
    """The seed of a term.

    >>> term_seed("2027-spring")
    2284560047
    """
    return zlib.crc32(term.encode())


def set_seed(notebook: Any, seed: int) -> None:
    """Write the seed into the line `SEED = …` of the cell `setup`."""
    setup = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "setup"]
    if len(setup) != 1 or len(SEED.findall(setup[0].source)) != 1:
        raise CourseError("the notebook needs one locked cell with grade_id `setup` and one line `SEED = 1` in it")
    setup[0].source = SEED.sub(f"SEED = {seed}", setup[0].source)


def seed_of(notebook: Any) -> int:
    """The seed that a notebook contains; 1 if it contains none."""
    found = [SEED.search(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    return next((int(match[1]) for match in found if match), 1)
