"""`make bench` runs every benchmark, `make bench ONLY=import` those whose name contains a word.

A word that no benchmark has in its name picks jobs of the comparison with peers: `make bench ONLY=svm`. With
`FLAGS=--save`, the tables that the book shows are copied into it.
"""

import importlib
import json
import pkgutil
import shutil
import sys
from pathlib import Path

from tests.benchmarks import harness

BOOK = Path(__file__).resolve().parents[2] / "book" / "times" / "measured"
INSTRUCTORS = Path(__file__).resolve().parents[2] / "book" / "_data"

words = [word for word in sys.argv[1:] if word != "--save"]
only = words[0].lower() if words else ""
names = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name.startswith("bench_")]
chosen = [name for name in names if only in name]
if not chosen:
    peers = importlib.import_module("tests.benchmarks.bench_peers")
    if not any(only in job.name.lower() for job in peers.JOBS):
        known = ", ".join(n.removeprefix("bench_") for n in names)
        raise SystemExit(f"no benchmark is called {only!r}; there are {known}, and the jobs of peers")
    peers.run(only)
for name in chosen:
    rows = importlib.import_module(f"tests.benchmarks.{name}").run()
    if rows and isinstance(rows[0], harness.Row):
        harness.write(name.removeprefix("bench_"), rows)
if "--save" in sys.argv:
    BOOK.mkdir(exist_ok=True)
    if "bench_page" in chosen:
        shutil.copy(harness.RESULTS / "running-times.json", BOOK)
    if "bench_scaling" in chosen:
        shutil.copy(importlib.import_module("tests.benchmarks.bench_scaling").SAVED, BOOK)
    for name in sorted({"bench_peers", "bench_growth"} & set(chosen)):
        measured = harness.RESULTS / f"{name.removeprefix('bench_')}.json"
        shutil.copy(measured, BOOK)
        text = importlib.import_module(f"tests.benchmarks.{name}").for_the_book(
            json.loads(measured.read_text(encoding="utf-8"))
        )
        (BOOK / measured.name).with_suffix(".txt").write_text(text, encoding="utf-8")  # .md would make it a page
    if "bench_grading" in chosen:
        measured = harness.RESULTS / "grading.json"
        shutil.copy(measured, INSTRUCTORS)
        text = importlib.import_module("tests.benchmarks.bench_grading").for_the_book(
            json.loads(measured.read_text(encoding="utf-8"))
        )
        (INSTRUCTORS / "grading.md").write_text(text, encoding="utf-8")
