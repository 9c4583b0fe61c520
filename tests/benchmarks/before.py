"""`make bench-before BEFORE=<revision>`: is anything slower, or larger, than it was?

The jobs of the comparison with peers, ours alone: one process for the revision and one for the present state, in turns,
at the size of the table and at a small one, where checks and set-up are what counts. Prints before / now, medians and
quartiles, for the time of the first call, of a later call, and for the memory that a call needs at its peak.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = 200
ENOUGH = 0.9

WORKER = """
import gc, json, sys, tracemalloc
from time import perf_counter
from tests.benchmarks.bench_peers import JOBS

jobs, task = {job.name: job for job in JOBS}, None
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("job"):
        task = jobs[asked["job"]].build(asked["size"] or jobs[asked["job"]].size).ours
    gc.collect()
    if asked.get("memory"):
        tracemalloc.start()
        task()
        answer = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    else:
        start = perf_counter()
        task()
        answer = perf_counter() - start
    print(json.dumps(answer), flush=True)
"""


class Worker:
    """A process that runs the jobs of one checkout."""

    def __init__(self, checkout: Path) -> None:
        env = os.environ | {"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=checkout,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, **asked: object) -> float:
        """The seconds of one call, the first if a job is named; with `memory=True` the bytes that it needs at most."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        if not (answer := self.process.stdout.readline()):
            raise SystemExit(f"the process that was asked for {asked} ended")
        return json.loads(answer)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def compare(before: Path, only: str, repeats: int) -> list[str]:
    """A line for each job and size; the names of those that are slower or larger come back."""
    from tests.benchmarks.bench_peers import JOBS

    worse = []
    print("| job | size | before (s) | now (s) | before / now | quartiles | first call | memory |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for job in JOBS:
        for size in (SMALL, None):
            if only not in job.name.lower():
                continue
            workers = [Worker(before), Worker(ROOT)]
            first = [worker.ask(job=job.name, size=size) for worker in workers]
            pairs = [[worker.ask() for worker in workers] for _ in range(repeats)]
            room = [worker.ask(memory=True) + 2**20 for worker in workers]  # differences below 1 MB do not count
            for worker in workers:
                worker.close()
            ratios = [then / now for then, now in pairs]
            low, middle, high = statistics.quantiles(ratios, n=4)
            seconds = [statistics.median(pair[side] for pair in pairs) for side in (0, 1)]
            if middle < ENOUGH or room[1] > room[0] / ENOUGH:
                worse.append(f"{job.name} ({size or 'full size'})")
            print(
                f"| {job.name} | {size or 'full'} | {seconds[0]:.4g} | {seconds[1]:.4g} | {middle:.2f} "
                f"| {low:.2f} to {high:.2f} | {first[0] / first[1]:.2f} | {room[0] / room[1]:.2f} |",
                flush=True,
            )
    return worse


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("revision", help="what to compare with: a commit, a tag, a branch")
    parser.add_argument("only", nargs="?", default="", help="a word in the names of the jobs")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), options.revision], check=True)
        try:
            worse = compare(checkout, options.only.lower(), options.repeats)
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)
    print(f"\n{len(worse)} below {ENOUGH} of before" + "".join(f"\n- {name}" for name in worse))
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
