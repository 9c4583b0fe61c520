"""One job done by us, with compiled loops and without, and by a peer: same answer, times taken in turns, peak memory.

Each time is taken with the threads that the linear algebra uses by default, and again with one.
"""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from timeit import timeit
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kernelcourse._engine import threads as fast
from tests.benchmarks.harness import undisturbed

Measured = dict[str, Any]


class Differ(AssertionError):
    """Two sides give different answers, so their times mean nothing."""


@dataclass(frozen=True)
class Task:
    """A job with its data in place; both sides return what `difference` compares."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]
    difference: Callable[[Any, Any], float]


@dataclass(frozen=True)
class Job:
    """What is measured, and the goal; `build(size)` makes the data, and small data for warming up."""

    name: str
    peer: str
    build: Callable[[int], Task]
    size: int
    tolerance: float  # on Task.difference
    goal: tuple[float, float | None]  # peer / ours, with compiled loops and without; None if it has no compiled loops
    repeats: int = 7
    peer_repeats: int | None = None  # for peers that take long
    one_thread: bool = True
    memory: bool = False
    limit: Callable[[dict[str, float]], float] | None = None  # seconds that the machine's own speed allows
    note: str = ""


@contextmanager
def way(*, compiled: bool = True, threads: int | None = None) -> Iterator[None]:
    """With compiled loops or without; with the default number of threads or another."""
    kept = {name: os.environ.get(name) for name in ("KERNELCOURSE_FAST", "OPENBLAS_NUM_THREADS")}
    os.environ["KERNELCOURSE_FAST"] = "1" if compiled else "0"
    if threads is not None:
        os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    try:
        with threadpool_limits(limits=threads):
            yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def measure(job: Job) -> Measured:
    """Check that all sides give the same answer, then time them in turns."""
    task = job.build(job.size)
    ways = [True, False] if job.goal[1] is not None else [False]
    wanted = task.peer()
    errors = []
    for compiled in ways:
        with way(compiled=compiled):
            errors.append(task.difference(task.ours(), wanted))
    if not max(errors) <= job.tolerance:
        raise Differ(f"{job.name}: ours and {job.peer} differ by {max(errors):.1e} > {job.tolerance:.0e}")
    result: Measured = {
        "job": job.name,
        "peer": job.peer,
        "size": job.size,
        "difference": max(errors),
        "tolerance": job.tolerance,
        "goal": job.goal,
        "note": job.note,
        "threads": {},
    }
    for threads in (None, 1) if job.one_thread else (None,):
        result["threads"]["default" if threads is None else "1"] = _in_turns(job, task, ways, threads)
    if job.memory:
        matrix = 8 * job.size**2
        result["memory"] = {side: peak_memory(job.name, side) / matrix for side in ("ours", "peer")}
    return result


def _in_turns(job: Job, task: Task, ways: list[bool], threads: int | None) -> Measured:
    times: dict[str, list[float]] = {"compiled" if compiled else "plain": [] for compiled in ways}
    times["peer"] = []
    for repeat in range(job.repeats):
        for compiled in ways:
            with way(compiled=compiled, threads=threads):
                times["compiled" if compiled else "plain"].append(undisturbed(task.ours))
        if repeat < (job.peer_repeats or job.repeats):
            with way(compiled=False, threads=threads):
                times["peer"].append(undisturbed(task.peer))
    found: Measured = {name: {"median": statistics.median(t), "best": min(t)} for name, t in times.items()}
    for name in found.keys() - {"peer"}:
        # Ratios of neighbouring runs where the peer has as many; otherwise ratios to its median.
        peer = times["peer"] if len(times["peer"]) == job.repeats else [found["peer"]["median"]] * job.repeats
        ratios = np.array(peer) / np.array(times[name])
        found[name]["ratio"] = float(np.median(ratios))
        found[name]["quartiles"] = [float(q) for q in np.quantile(ratios, [0.25, 0.75])]
    return found


# ---------------------------------------------------------------- memory, each side in a separate process


def peak_memory(name: str, side: str) -> float:
    """Bytes that a job adds to the resident memory at its peak, its result included."""
    code = f"from tests.benchmarks import jobs; print(jobs.peak_here({name!r}, {side!r}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return float(out.split()[-1])


def peak_here(name: str, side: str) -> float:
    job = next(job for job in importlib.import_module("tests.benchmarks.bench_peers").JOBS if job.name == name)
    # Warmed up, so that imports do not count.
    getattr(job.build(1000), side)()
    task = job.build(job.size)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
        reset.write("5")
    before = _status("VmRSS")
    kept = getattr(task, side)()
    peak = _status("VmHWM") - before
    del kept
    return peak


def _status(line: str) -> float:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * float(row.split()[1]) for row in status if row.startswith(line))


# ---------------------------------------------------------------- the machine's own speed


def limits() -> dict[str, float]:
    """Rates of this machine with all its threads, each the best of a few: products, memory, exponentials."""
    from kernelcourse import Gaussian

    def best(function: Callable[[], object], repeats: int = 5) -> float:
        function()
        return min(timeit(function, number=1) for _ in range(repeats))

    n = 2000
    A = np.random.default_rng(0).normal(size=(n, n))
    big, copy, small = np.ones(2**24), np.empty(2**24), np.ones(2**21)  # the last one fits into most caches
    D = np.random.default_rng(0).uniform(-5, 0, size=(2000, 2000))

    def exponentials() -> None:
        fast.in_threads(lambda rows: np.exp(D[rows]), fast.slabs(2000, 2000, 2**16), D.size)

    X = np.random.default_rng(0).normal(size=(4000, 1))
    with way(compiled=True):
        compiled = X.shape[0] ** 2 / best(lambda: Gaussian(1.0).formula(X, X[::-1].copy()))
    with way(compiled=False, threads=1):
        one = 2 * n**3 / best(lambda: A @ A)
    return {
        "dgemm_flops": 2 * n**3 / best(lambda: A @ A),
        "dgemm_flops_1_thread": one,
        "bytes": 2 * big.nbytes / best(lambda: np.copyto(copy, big)),
        "bytes_read": big.nbytes / best(lambda: big @ big),
        "bytes_cached": small.nbytes / best(lambda: small @ small),
        "fresh_bytes": big.nbytes / best(lambda: np.full(2**24, 1.0)),
        "exp": (exp := D.size / best(exponentials)),
        "exp_compiled": compiled,
        "exp_best": max(exp, compiled),
    }
