"""The map: for every job a grid of cells, the ratio of the peer's time to ours in each, and where the worst is.

`make bench ONLY=map FLAGS="--job svm --minutes 5"` measures cells of one job for five minutes; a later run goes on
where it stopped. The order depends on `--seed` alone, and it is that of a stratified sample: the jobs take turns, and
the next cell of a job is one whose size, shape of data, setting and way were measured least so far, so that a short run
has seen every job and every kind of data. `--largest 1000` leaves out larger n, `--afresh` forgets what was measured,
`--report` measures nothing, `--memory` looks at peaks too (slow), and `--save` keeps the map for the book. The compiled
loops are loaded before the first cell.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from kernelcourse._engine import threads
from tests.benchmarks import harness
from tests.benchmarks.jobs import _status, way
from tests.benchmarks.map_jobs import JOBS, Cell, Job, Parameters

FOUND = harness.RESULTS / "map.json"
SECONDS, MOST = 0.7, 11  # for the turns of one cell, and how many there are at most; three are the least
PEAKS = Path("/proc/self/clear_refs")  # on Linux: forgets the peak so far
LOOKS = 3  # cells of each job whose memory is measured, in processes of their own
WAYS = {
    "as installed": {"compiled": True},
    "1 thread": {"compiled": True, "threads": 1},
    "without numba": {"compiled": False},
}


def key(job: Job, how: str, cell: Parameters) -> str:
    return f"{job.name} | {how} | " + ", ".join(f"{name}={value}" for name, value in cell.items())


def measure(job: Job, how: str, parameters: Parameters) -> dict[str, Any]:
    """Answers first, then times in turns."""
    with way(**WAYS[how]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = job.build(**parameters)
        first, ours = timed(cell.ours)
        peers_first, peer = timed(cell.peer)
        agree, reached = cell.verdict(ours, peer)
        again, _ = timed(cell.ours)
        turns: list[tuple[float, float]] = []
        number = max(1, min(1000, int(2e-3 / max(min(again, peers_first), 1e-7))))  # so short calls are many at a time
        begin = perf_counter()
        while len(turns) < 3 or (len(turns) < MOST and perf_counter() - begin < SECONDS):
            turns.append((repeated(cell.ours, number), repeated(cell.peer, number)))
    ratios = [b / a for a, b in turns]
    low, _, high = statistics.quantiles(ratios, n=4)
    mine, theirs = (statistics.median(side) for side in zip(*turns, strict=True))
    return {
        "job": job.name, "peer": job.peer, "way": how, "cell": parameters, "ours": mine, "theirs": theirs,
        "ratio": statistics.median(ratios), "quartiles": [low, high], "first": first, "agree": agree,
        "reached": reached,
    }  # fmt: skip


def timed(call: Any) -> tuple[float, Any]:
    begin = perf_counter()
    result = call()
    return perf_counter() - begin, result


def repeated(call: Any, number: int) -> float:
    begin = perf_counter()
    for _ in range(number):
        call()
    return (perf_counter() - begin) / number


# ---------------------------------------------------------------- memory, each side in a process of its own


def memory_ratio(job: Job, parameters: Parameters) -> float:
    peaks = []
    for side in ("ours", "peer"):
        code = f"from tests.benchmarks import bench_map as b; print(b.peak({job.name!r}, {parameters!r}, {side!r}))"
        out = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
        peaks.append(float(out.stdout.split()[-1]))
    return peaks[0] / max(peaks[1], 1.0)


def peak(name: str, parameters: Parameters, side: str) -> float:
    """Bytes added at the peak, after a small run of the same kind that imports and compiles what is needed."""
    job = next(job for job in JOBS if job.name == name)
    small = {**parameters, "n": 1000} if parameters.get("n", 0) > 1000 else parameters
    getattr(job.build(**small), side)()
    cell: Cell = job.build(**parameters)
    PEAKS.write_text("5", encoding="ascii")
    before = _status("VmRSS")
    kept = getattr(cell, side)()
    grown = _status("VmHWM") - before
    del kept
    return grown


# ---------------------------------------------------------------- the run


Planned = tuple[Job, str, Parameters]


def plan(largest: int, job: str | None, seed: int = 15) -> list[Planned]:
    """All cells, in an order that mixes jobs and settings: a run that is cut short has seen something of each."""
    rng, queues = np.random.default_rng(seed), []
    for each in JOBS:
        if job is None or job in each.name:
            grid = [cell for cell in each.grid() if cell.get("n", 0) <= largest]
            found = [(each, each.ways[0], cell) for cell in grid]
            # The other ways on a quarter of the grid, drawn by lot.
            for how in each.ways[1:]:
                found += [(each, how, grid[i]) for i in rng.permutation(len(grid))[: math.ceil(len(grid) / 4)]]
            queues.append(covering([found[i] for i in rng.permutation(len(found))]))
    return [queue[i] for i in range(max(map(len, queues), default=0)) for queue in queues if i < len(queue)]


def covering(cells: list[Planned]) -> list[Planned]:
    """The cells in such an order that each is one of those whose values have come least often so far."""
    seen: Counter[tuple[str, Any]] = Counter()
    rest, order = [(cell, strata(cell)) for cell in cells], []
    while rest:
        next_one = min(rest, key=lambda one: sum(map(seen.__getitem__, one[1])) / len(one[1]))
        rest.remove(next_one)
        seen.update(next_one[1])
        order.append(next_one[0])
    return order


def strata(cell: Planned) -> list[tuple[str, Any]]:
    """The values by which cells differ: the parameters, the way, and n with each shape of the data."""
    _, how, parameters = cell
    return [("way", how), *parameters.items(), ("shape at n", (parameters.get("n"), parameters.get("shape")))]


def run() -> list[Any]:
    options = arguments()
    found = {} if options.afresh or not FOUND.exists() else json.loads(FOUND.read_text(encoding="utf-8"))["cells"]
    begin, todo = perf_counter(), plan(options.largest, options.job, options.seed)
    threads._loops()  # as in a program that has worked for a while; `without numba` is the other state
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
        found[name] = measure(job, how, cell)
        looks = sum("memory" in row for row in found.values() if row["job"] == job.name)
        if how == "as installed" and cell.get("n", 0) >= 4000 and looks < LOOKS and options.memory:
            found[name]["memory"] = memory_ratio(job, cell)
        row = found[name]
        print(f"{row['ratio']:8.2f}  {name}  ({row['reached']})", flush=True)
        keep(found)
    text = report(list(found.values()))
    print("\n" + text)
    if options.save:
        book = Path(__file__).resolve().parents[2] / "book" / "times" / "measured"
        (book / "map.json").write_text(FOUND.read_text(encoding="utf-8"), encoding="utf-8")
        (book / "map.txt").write_text(text + "\n", encoding="utf-8")
    return []


def keep(found: dict[str, Any]) -> None:
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    record = {"machine": harness.machine(), "cells": found}
    FOUND.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ONLY=map")
    parser.add_argument("only")
    parser.add_argument("--job", help="only jobs whose name contains this")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=15, help="of the order in which cells are measured")
    parser.add_argument("--largest", type=int, default=10_000, help="the largest n")
    for name in ("--afresh", "--report", "--save", "--memory"):
        parser.add_argument(name, action="store_true")
    words = sys.argv[1:]
    return parser.parse_args(words if words and not words[0].startswith("-") else ["map", *words])


def report(rows: list[dict[str, Any]]) -> str:
    """One line for each job: worst, median and best cell, how many are below 1, and where the worst is."""
    lines = [
        "| job | peer | cells | worst | median | best | below 1 | the worst cell | memory, at most |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for job in JOBS:
        mine = [row for row in rows if row["job"] == job.name]
        if mine:
            lines.append(_line(job.name, job.peer, mine))
    if rows:
        lines.append(_line("all", "", rows))
    differ = [row for row in rows if not row["agree"]]
    if differ:
        lines.append(f"\nIn {len(differ)} cells the answers differ, which says nothing about time:\n")
        lines += [f"- {row['job']}, {place(row)}: {row['reached']}" for row in differ]
    return "\n".join(lines)


def _line(name: str, peer: str, rows: list[dict[str, Any]]) -> str:
    ratios = [row["ratio"] for row in rows]
    worst = min(rows, key=lambda row: row["ratio"])
    memory = [row["memory"] for row in rows if "memory" in row]
    most = f"{max(memory):.1f}" if memory else ""
    numbers = f"{min(ratios):.2f} | {statistics.median(ratios):.2f} | {max(ratios):.1f} | {sum(r < 1 for r in ratios)}"
    return f"| {name} | {peer} | {len(rows)} | {numbers} | {place(worst)}: {worst['reached']} | {most} |"


def place(row: dict[str, Any]) -> str:
    where = ", ".join(str(v) if isinstance(v, str) else f"{k} = {v}" for k, v in row["cell"].items() if v != "plain")
    return where if row["way"] == "as installed" else f"{where}, {row['way']}"
