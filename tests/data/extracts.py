"""How each file of `kernelcourse/data` is made from a published package: one function per file, from package to text.

A function gets the folder into which the package was installed and returns the text that the extract must hold.
`python -m tests.data` (`make data`) installs the packages into a separate folder, runs all functions and compares.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

TEXTS_PER_MODULE = 42
WORDS_PER_TEXT = 40
MODULES = ("interpolate", "linalg", "ndimage", "optimize", "signal", "special", "stats")


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], separator: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerows([header, *rows])
    return text.getvalue()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _asked(site: Path, code: str) -> str:
    """What Python prints for some code, with the folder first on its import path."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment, check=True).stdout


def co2(site: Path) -> str:
    """The mean of each month's weekly values, to two decimals; months without a value are left out."""
    months: dict[str, list[float]] = {}
    for row in csv.DictReader(_lines(site / "statsmodels/datasets/co2/co2.csv")):
        if row["co2"]:
            months.setdefault(f"{row['date'][:4]}-{row['date'][4:6]}", []).append(float(row["co2"]))
    return _table(["month", "ppm"], [(month, round(sum(v) / len(v), 2)) for month, v in sorted(months.items())])


def sunspots(site: Path) -> str:
    """Unchanged."""
    return (site / "statsmodels/datasets/sunspots/sunspots.csv").read_text(encoding="utf-8")


def penguins(site: Path) -> str:
    """Unchanged."""
    return (site / "palmerpenguins/data/penguins.csv").read_text(encoding="utf-8")


def digits(site: Path) -> str:
    """Unchanged."""
    return gzip.decompress((site / "sklearn/datasets/data/digits.csv.gz").read_bytes()).decode()


def splice_sites(site: Path) -> str:
    """Sites with GU at their core and at least fifty reads in both replicates; log10 of PSI to three decimals."""
    replicates = []
    for name in ("mpsa_data", "mpsa_replicate_data"):
        text = gzip.decompress((site / f"mavenn/examples/datasets/{name}.csv.gz").read_bytes()).decode()
        rows = csv.DictReader(text.splitlines())
        replicates.append({row["x"]: row["y"] for row in rows if row["x"][3:5] == "GU" and int(row["tot_ct"]) >= 50})
    first, second = replicates
    both = sorted(set(first) & set(second))
    return _table(
        ["site", "first", "second"], [(x, round(float(first[x]), 3), round(float(second[x]), 3)) for x in both]
    )


_DOCSTRINGS = """
import importlib, inspect, json
def documented(module):
    things = {name: getattr(module, name) for name in sorted(module.__all__)}
    return {name: inspect.getdoc(t) for name, t in things.items() if not inspect.ismodule(t) and inspect.getdoc(t)}
print(json.dumps({name: documented(importlib.import_module("scipy." + name)) for name in MODULES}))
"""


def scipy_summaries(site: Path) -> str:
    """The first words of docstrings, before any heading: 42 per module, evenly spaced through the alphabet."""
    rows = []
    for module, docstrings in json.loads(_asked(site, f"MODULES = {MODULES}\n{_DOCSTRINGS}")).items():
        texts: dict[str, str] = {}
        for name, docstring in docstrings.items():
            lines = docstring.splitlines()
            if lines[0].startswith(f"{name}("):  # a compiled function begins with its signature
                lines = lines[1:]
            heading = next((i for i, line in enumerate(lines) if line and not line.strip("-")), len(lines) + 1)
            text = " ".join(" ".join(lines[: heading - 1]).split()[:WORDS_PER_TEXT])
            if len(text.split()) >= 6 and text not in texts.values():
                texts[name] = text
        chosen = [list(texts.items())[i * len(texts) // TEXTS_PER_MODULE] for i in range(TEXTS_PER_MODULE)]
        rows += [(module, name, text) for name, text in chosen]
    return _table(["module", "name", "text"], rows)


_WOMEN = """
import json, networkx
graph = networkx.davis_southern_women_graph()
print(json.dumps([(woman, list(graph[woman])) for woman in graph.graph["top"]]))
"""


def southern_women(site: Path) -> str:
    """Each woman and the events that she attended, in networkx's order."""
    women = json.loads(_asked(site, _WOMEN))
    return _table(["woman", "events"], [(woman, " ".join(sorted(e, key=lambda x: int(x[1:])))) for woman, e in women])


ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")  # the README of the data names them in this order


def mutag(site: Path) -> str:
    """A row for each molecule: its class, its atoms, its bonds as pairs of atoms counted from 0; no bond types."""
    folder = site / "grakel/tests/data/MUTAG"
    molecule = [int(line) for line in _lines(folder / "MUTAG_graph_indicator.txt")]
    labels = [ATOMS[int(line)] for line in _lines(folder / "MUTAG_node_labels.txt")]
    classes = [int(line) for line in _lines(folder / "MUTAG_graph_labels.txt")]
    pairs = [tuple(int(atom) - 1 for atom in line.split(",")) for line in _lines(folder / "MUTAG_A.txt")]
    rows = []
    for number, label in enumerate(classes, start=1):
        start = molecule.index(number)
        atoms = [a for a, owner in zip(labels, molecule, strict=True) if owner == number]
        bonds = sorted({(i - start, j - start) for i, j in pairs if molecule[i] == number and i < j})
        rows.append((label, " ".join(atoms), " ".join(f"{i}-{j}" for i, j in bonds)))
    return _table(["class", "atoms", "bonds"], rows, "\t")


# The file, the package and version that it comes from, and the function that makes it.
EXTRACTS: dict[str, tuple[str, str, Callable[[Path], str]]] = {
    "co2.csv": ("statsmodels", "0.15.0", co2),
    "sunspots.csv": ("statsmodels", "0.15.0", sunspots),
    "penguins.csv": ("palmerpenguins", "0.1.6", penguins),
    "digits.csv.gz": ("scikit-learn", "1.9.1", digits),
    "splice_sites.csv.gz": ("mavenn", "1.1.4", splice_sites),
    "scipy_summaries.csv": ("scipy", "1.17.1", scipy_summaries),
    "southern_women.csv": ("networkx", "3.6.1", southern_women),
    "mutag.tsv": ("grakel", "0.1.11", mutag),
}
