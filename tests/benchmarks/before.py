"""`make bench-before BEFORE=<revision>`: is anything slower, or larger, than it was?

It runs our side of the comparison with peers, and the jobs in `large_jobs.py`. One process for the revision and one for
the present state take turns, at the size of the table and at a small size, where checks and set-up dominate. It prints
the ratio before / now (medians and quartiles) of the time of the first call, of the time of a later call, and of the
peak memory of a call. The loops of the revision are compiled first; one whose loops were still compiled by numba runs
without them. `FLAGS="--minutes 12"` ends after about that time, with fewer runs of the slow jobs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGE = 200, 20_000
ENOUGH, CLEAR, ROUNDS = 0.9, 0.95, 4
BRIEF = 0.02  # seconds: a shorter call is repeated for each timing

WORKER = """
import gc, json, runpy, sys, tracemalloc
from timeit import timeit
from tests.benchmarks.bench_peers import JOBS

jobs, task = {job.name: job for job in JOBS}, None
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("large"):
        task = runpy.run_path(sys.argv[1])["tasks"](asked["size"])[asked["large"]]
    elif asked.get("job"):
        task = jobs[asked["job"]].build(asked["size"] or jobs[asked["job"]].size).ours
    gc.collect()
    if asked.get("memory"):
        tracemalloc.start()
        task()
        answer = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    else:
        times = asked.get("times", 1)
        answer = timeit(task, number=times) / times
    print(json.dumps(answer), flush=True)
"""


COMPILE = """
from pathlib import Path
from hatch_build import compile_loops, compilers

engine = Path("kernelcourse/_engine")
compile_loops(compilers()[0], engine / "loops.c", engine)
"""


class Worker:
    """A process that runs the jobs of one checkout."""

    def __init__(self, checkout: Path) -> None:
        env = os.environ | {"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(Path(__file__).with_name("large_jobs.py"))],
            cwd=checkout,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, **asked: object) -> float:
        """The seconds of one call, the first if a job is named; with `memory=True`, its peak memory in bytes."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        if not (answer := self.process.stdout.readline()):
            raise SystemExit(f"the process that was asked for {asked} ended")
        return json.loads(answer)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def cells() -> list[tuple[str, dict[str, object]]]:
    """A name for each cell of the table, and what a worker is asked to measure for it."""
    from tests.benchmarks import bench_peers, large_jobs

    peers = [(job.name, {"job": job.name, "size": size}) for job in bench_peers.JOBS for size in (SMALL, None)]
    large = [(name, {"large": name, "size": size}) for name in large_jobs.tasks(SMALL) for size in (SMALL, LARGE)]
    return [*peers, *large]


def compare(before: Path, only: str, repeats: int, minutes: float = float("inf")) -> list[str]:
    """Print a line for each job and size; return the names of those that are slower or larger."""
    worse = []
    print("| job | size | before (s) | now (s) | before / now | quartiles | first call | memory |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    chosen, start = [cell for cell in cells() if only in cell[0].lower()], time.monotonic()
    for number, (name, asked) in enumerate(chosen, start=1):
        until = start + 60 * minutes * number / len(chosen)  # what a quick job leaves is for those that follow
        workers = [Worker(before), Worker(ROOT)]
        first = [worker.ask(**asked) for worker in workers]
        times = int(max(1, BRIEF // min(worker.ask() for worker in workers)))
        pairs: list[list[float]] = []
        for _ in range(ROUNDS):  # what looks slower is measured for longer, and every run counts
            for _ in range(repeats):
                if len(pairs) < 3 or time.monotonic() < until:
                    pairs.append([worker.ask(times=times) for worker in workers])
            if statistics.median(then / now for then, now in pairs) >= CLEAR:
                break
        room = [worker.ask(memory=True) for worker in workers]
        for worker in workers:
            worker.close()
        ratios = [then / now for then, now in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4)
        seconds = [statistics.median(pair[side] for pair in pairs) for side in (0, 1)]
        size = asked["size"] or "full"
        larger = room[1] > room[0] / ENOUGH and room[1] - room[0] > 2**20  # less than 1 MB does not count
        if middle < ENOUGH or larger:
            worse.append(f"{name} ({size})")
        print(
            f"| {name} | {size} | {seconds[0]:.4g} | {seconds[1]:.4g} | {middle:.2f} "
            f"| {low:.2f} to {high:.2f} | {first[0] / first[1]:.2f} | {room[0] / room[1]:.2f} |",
            flush=True,
        )
    return worse


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("revision", help="what to compare with: a commit, a tag, a branch")
    parser.add_argument("only", nargs="?", default="", help="a word in the names of the jobs")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="how long it may take, about")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), options.revision], check=True)
        try:
            if (checkout / "hatch_build.py").exists():
                subprocess.run([sys.executable, "-c", COMPILE], cwd=checkout, check=True)
            worse = compare(checkout, options.only.lower(), options.repeats, options.minutes)
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)
    print(f"\n{len(worse)} below {ENOUGH} of before" + "".join(f"\n- {name}" for name in worse))
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
