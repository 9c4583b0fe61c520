"""The map: a grid of cells for every job, the ratio of the peer's time to ours in each, and where the worst one is.

`make bench ONLY=map FLAGS="--job svm --minutes 5"` measures cells of one job for five minutes; a later run continues
where it stopped. The order depends on `--seed` alone. It is a stratified sample: the jobs take turns, the first cells
of a job differ in n alone (for the growth), and each later cell is one whose size, shape of data, setting and way have
been measured least so far. So even a short run covers every job and every kind of data. `--largest 1000` leaves out
larger n, `--afresh` discards what was measured, `--report` measures nothing, `--processor` measures processor time, for
busy machines, and `--save` keeps the map for the book and for README. Each side makes its first calls in a new process.
The packages in `OTHERS` compete where they are installed: `.venv/bin/python -m uv pip install scikit-learn-intelex
pykeops`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import re
import statistics
import subprocess
import sys
import textwrap
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from tests.benchmarks import harness
from tests.benchmarks.jobs import _status, way
from tests.benchmarks.map_jobs import JOBS, Cell, Job, Parameters, given_as

ROOT = Path(__file__).resolve().parents[2]
FOUND = harness.RESULTS / "map.json"
SECONDS, MOST = 1.5, 11  # for the turns of one cell, and the largest number of turns; there are at least three
SPINNING = 0.05  # seconds: longer than threads of OpenBLAS and OpenMP wait for work before they sleep
LONG = 5.0  # seconds of both sides together beyond which one turn is enough
OTHERS = {"scikit-learn-intelex": "sklearnex", "pykeops": "pykeops", "strkernel": "strkernel"}  # where installed, peers
PEAKS = Path("/proc/self/clear_refs")  # on Linux: resets the peak
LITTLE = 2.0**23  # bytes
WAYS = {"as installed": None, "1 thread": 1, "float32": None, "first call": None}  # and their threads
Clock = Callable[[], float]
Row = dict[str, Any]


def key(job: Job, how: str, cell: Parameters) -> str:
    return f"{job.name} | {how} | " + ", ".join(f"{name}={value}" for name, value in cell.items())


def measure(job: Job, how: str, parameters: Parameters, clock: Clock = perf_counter) -> Row:
    """Answers first, then times in turns."""
    with way(threads=WAYS[how]), given_as("float32" if how == "float32" else "float64"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = job.build(**parameters)
        agree, reached = cell.verdict(cell.ours(), cell.peer())
        if how == "first call":
            turns = [tuple(in_a_new_process("first", job, parameters, s) for s in ("ours", "peer")) for _ in range(3)]
            once = {job.peer: 0.0}
        else:
            cell, once = fastest(job.peer, cell, clock)
            turns = in_turns(cell, clock)
    ratios = [b / a for a, b in turns]
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    mine, theirs = (statistics.median(side) for side in zip(*turns, strict=True))
    others = {name: seconds / mine for name, seconds in once.items() if name != job.peer}
    return {
        "job": job.name, "peer": min(once, key=once.__getitem__), "others": others, "way": how, "cell": parameters,
        "ours": mine, "theirs": theirs, "ratio": statistics.median(ratios), "quartiles": [low, high], "agree": agree,
        "reached": reached,
    }  # fmt: skip


def fastest(name: str, cell: Cell, clock: Clock) -> tuple[Cell, dict[str, float]]:
    """The cell with its fastest peer, and the time of each peer's second call if there are several."""
    peers = {name: cell.peer, **cell.others}
    if len(peers) == 1:
        return cell, {name: 0.0}
    for peer in peers.values():
        peer()
    once = {name: repeated(peer, 1, clock) for name, peer in peers.items()}
    return replace(cell, peer=peers[min(once, key=once.__getitem__)]), once


def in_turns(cell: Cell, clock: Clock) -> list[Any]:
    once = repeated(cell.ours, 1, clock), repeated(cell.peer, 1, clock)
    if sum(once) > LONG:
        return [once]
    number = max(1, min(1000, int(2e-3 / max(min(once), 1e-7))))  # calls this short are timed many at a time
    turns, begin = [], perf_counter()
    while len(turns) < 3 or (len(turns) < MOST and perf_counter() - begin < SECONDS):
        turns.append((settled(cell.ours, number, clock), settled(cell.peer, number, clock)))
    return turns


def settled(call: Callable[[], Any], number: int, clock: Clock) -> float:
    """The time of a call among others like it: the threads of the other side wait by spinning, and take a processor."""
    begin = perf_counter()
    first = repeated(call, number, clock)
    if perf_counter() - begin > 10 * SPINNING:  # which is then a small part of it
        return first
    while perf_counter() - begin < SPINNING:
        call()
    return repeated(call, number, clock)


def repeated(call: Callable[[], Any], number: int, clock: Clock) -> float:
    begin = clock()
    for _ in range(number):
        call()
    return (clock() - begin) / number


# ---------------------------------------------------------------- each side in a separate process


def in_a_new_process(what: str, job: Job, parameters: Parameters, side: str) -> float:
    code = f"from tests.benchmarks import bench_map as b; print(b.{what}({job.name!r}, {parameters!r}, {side!r}))"
    installed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    out = subprocess.run(command, env=installed, capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1])


def first(name: str, parameters: Parameters, side: str) -> float:
    """Seconds of the first call, after the imports; what Python has compiled is on disk."""
    cell = next(job for job in JOBS if job.name == name).build(**parameters)
    return repeated(getattr(cell, side), 1, perf_counter)


def peak(name: str, parameters: Parameters, side: str) -> float:
    """Bytes that a call adds at its peak, after a small run of the same kind that imports everything."""
    job = next(job for job in JOBS if job.name == name)
    small = {**parameters, "n": 1000} if parameters.get("n", 0) > 1000 else parameters
    getattr(job.build(**small), side)()
    cell: Cell = job.build(**parameters)
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what the small run left behind counts as free
    PEAKS.write_text("5", encoding="ascii")
    before = _status("VmRSS")
    kept = getattr(cell, side)()
    grown = _status("VmHWM") - before
    del kept
    return grown


def memory_ratio(job: Job, parameters: Parameters) -> float:
    """Our peak over the peer's; less than `LITTLE` counts as `LITTLE`."""
    ours, peer = (in_a_new_process("peak", job, parameters, side) for side in ("ours", "peer"))
    return max(ours, LITTLE) / max(peer, LITTLE)


# ---------------------------------------------------------------- the run


Planned = tuple[Job, str, Parameters]


def plan(largest: int, job: str | None, seed: int = 15) -> list[Planned]:
    """All cells, in an order that mixes jobs and settings: a run that is cut short has covered some of each."""
    rng, queues = np.random.default_rng(seed), []
    for each in JOBS:
        if job is None or job in each.name:
            grid = [cell for cell in each.grid() if cell.get("n", 0) <= largest]
            found = [(each, each.ways[0], cell) for cell in grid]
            # The other ways are measured on a quarter of the grid, drawn at random.
            for how in each.ways[1:]:
                found += [(each, how, grid[i]) for i in rng.permutation(len(grid))[: math.ceil(len(grid) / 4)]]
            queues.append(covering([found[i] for i in rng.permutation(len(found))]))
    return [queue[i] for i in range(max(map(len, queues), default=0)) for queue in queues if i < len(queue)]


def covering(cells: list[Planned]) -> list[Planned]:
    """First the cells that differ in n alone; then always one whose values have occurred least often so far."""
    start = next(cell for cell in cells if cell[1] == cell[0].ways[0] and "n" in cell[2])
    order = [cell for cell in cells if apart_from_n(cell) == apart_from_n(start)]
    seen = Counter(value for cell in order for value in strata(cell))
    rest = [(cell, strata(cell)) for cell in cells if cell not in order]
    while rest:
        next_one = min(rest, key=lambda one: sum(map(seen.__getitem__, one[1])) / len(one[1]))
        rest.remove(next_one)
        seen.update(next_one[1])
        order.append(next_one[0])
    return order


def apart_from_n(cell: Planned) -> tuple[Any, ...]:
    return cell[1], tuple((name, value) for name, value in cell[2].items() if name != "n")


def strata(cell: Planned) -> list[tuple[str, Any]]:
    """The values by which cells differ: the parameters, the way, and n with each shape of the data."""
    _, how, parameters = cell
    return [("way", how), *parameters.items(), ("shape at n", (parameters.get("n"), parameters.get("shape")))]


def run() -> list[Any]:
    options = arguments()
    found = {} if options.afresh or not FOUND.exists() else json.loads(FOUND.read_text(encoding="utf-8"))["cells"]
    begin, todo = perf_counter(), plan(options.largest, options.job, options.seed)
    clock = time.process_time if options.processor else perf_counter
    if not todo:
        raise SystemExit(f"no job of the map is called {options.job!r}; there are {', '.join(j.name for j in JOBS)}")
    print(
        f"seed {options.seed}, {len(todo)} cells of {len({job.name for job, *_ in todo})} jobs, {options.minutes:g} min"
    )
    for job, how, cell in todo if not options.report else []:
        if perf_counter() - begin > 60 * options.minutes:
            break
        name = key(job, how, cell)
        if name in found:
            continue
        found[name] = measure(job, how, cell, clock)
        if how == "as installed" and PEAKS.exists() and looks_at_memory(job, cell, found):
            found[name]["memory"] = memory_ratio(job, cell)
        row = found[name]
        print(f"{row['ratio']:8.2f}  {name}  ({row['reached']})", flush=True)
        keep(found)
    text = report(list(found.values()))
    print("\n" + text)
    if options.save:
        save(json.loads(FOUND.read_text(encoding="utf-8")))
    return []


def looks_at_memory(job: Job, cell: Parameters, found: dict[str, Row]) -> bool:
    """The first cell of a job with the largest n that is measured here and at least 1000 points."""
    sizes = [row["cell"].get("n", 0) for row in found.values() if row["job"] == job.name and "memory" in row]
    return max(1000, *sizes, 0) <= cell.get("n", 0) and cell["n"] not in sizes


def keep(found: dict[str, Row]) -> None:
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    others = {name: version(name) for name in OTHERS if find_spec(OTHERS[name])}
    record = {"machine": harness.machine() | others, "cells": found}
    FOUND.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def save(record: dict[str, Any]) -> None:
    """Put the map where the book and README find it."""
    book, rows = ROOT / "book" / "times" / "measured", list(record["cells"].values())
    (book / "map.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (book / "map.txt").write_text(report(rows) + "\n", encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (ROOT / "README.md").write_text(IN_README.sub(lambda _: for_the_readme(rows), readme), encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ONLY=map")
    parser.add_argument("only")
    parser.add_argument("--job", help="only jobs whose name contains this")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=15, help="of the order in which cells are measured")
    parser.add_argument("--largest", type=int, default=10_000, help="the largest n")
    for name in ("--afresh", "--report", "--save", "--processor"):
        parser.add_argument(name, action="store_true")
    words = sys.argv[1:]
    return parser.parse_args(words if words and not words[0].startswith("-") else ["map", *words])


# ---------------------------------------------------------------- what it found

HEAD = "job | peer | cells | worst | median | best | below 1 | growth, ours and the peer's | memory | the worst cell"
IN_README = re.compile(r"(?<=<!-- make bench ONLY=map -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def report(rows: list[Row]) -> str:
    """One line for each job, one for all, and the cells whose answers differ, which do not count."""
    lines = [f"| {HEAD} |", "|" + "---|" * (HEAD.count("|") + 1)]
    same, differ = [row for row in rows if row["agree"]], [row for row in rows if not row["agree"]]
    for job in JOBS:
        mine = [row for row in same if row["job"] == job.name]
        if mine:
            lines.append(_line(job.name, ", ".join(dict.fromkeys(row["peer"] for row in mine)), mine))
    if same:
        lines.append(_line("all", "", same))
    lines += [f"\n{sentence}" for sentence in competitors(same)]
    if differ:
        lines.append(f"\nThe answers differ in {len(differ)} of {len(rows)} cells, which are left out of the table:\n")
        lines += [f"- {row['job']}, {place(row)}: {row['reached']}" for row in differ]
    return "\n".join(lines)


def competitors(rows: list[Row]) -> list[str]:
    """What each package beside the usual peers reached, where it does the same job."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, ratio in row.get("others", {}).items():
            ratios[name].append(ratio)
    wins = Counter(row["peer"] for row in rows if row["peer"] in ratios)
    return [
        f"*{name}* does the same job in {len(found)} cells, and takes {statistics.median(found):.1f} times as long as "
        f"this library in the median one, {min(found):.2f} times in the worst one. It is the fastest peer in "
        f"{wins[name]}."
        for name, found in sorted(ratios.items())
    ]


def _line(name: str, peer: str, rows: list[Row]) -> str:
    ratios, worst = [row["ratio"] for row in rows], min(rows, key=lambda row: row["ratio"])
    numbers = f"{min(ratios):.2f} | {statistics.median(ratios):.2f} | {max(ratios):.1f} | {sum(r < 1 for r in ratios)}"
    slopes = [growth(rows, side) for side in ("ours", "theirs")] if name != "all" else [None]
    grows = "" if None in slopes else "{:.1f}, {:.1f}".format(*slopes)
    memory = [row["memory"] for row in rows if "memory" in row]
    most = f"{max(memory):.1f}" if memory else ""
    return f"| {name} | {peer} | {len(rows)} | {numbers} | {grows} | {most} | {place(worst)}: {worst['reached']} |"


def growth(rows: list[Row], side: str) -> float | None:
    """The slope of log time against log n over cells that differ in n alone; None if there are no such cells."""
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if "n" in row["cell"] and row["way"] != "first call":
            rest = {name: value for name, value in row["cell"].items() if name != "n"}
            groups[f"{row['way']} {rest}"].append((math.log(row["cell"]["n"]), math.log(row[side])))
    apart = np.concatenate([np.empty((0, 2)), *(np.array(g) - np.mean(g, axis=0) for g in groups.values())])
    x, y = apart.T
    return float(x @ y / (x @ x)) if x.any() else None


def for_the_readme(rows: list[Row]) -> str:
    """The sentence that README quotes, on the cells whose answers agree."""
    rows = [row for row in rows if row["agree"]]
    ratios, worst = [row["ratio"] for row in rows], min(rows, key=lambda row: row["ratio"])
    sentences = (
        f"In a sample of {len(rows)} cells of that map, the peer (mostly scikit-learn) takes "
        f"{statistics.median(ratios):.1f} times as long as this library in the median cell, and {min(ratios):.2f} "
        f"times as long in the worst one ({worst['job']}, {place(worst)}). The peer is faster in "
        f"{sum(ratio < 1 for ratio in ratios)} cells."
    )
    return textwrap.fill(sentences, 120)


def place(row: Row) -> str:
    where = ", ".join(str(v) if isinstance(v, str) else f"{k} = {v}" for k, v in row["cell"].items() if v != "plain")
    return where if row["way"] == "as installed" else f"{where}, {row['way']}"
