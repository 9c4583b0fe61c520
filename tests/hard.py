"""`make test-hard`: the suite, or a part of it, several times in random order on a busy machine.

`make test-hard FLAGS="tests/grading" RUNS=3` prints the tests whose outcome was not the same in every run, and those
that failed in every run. The log of every run is in _build/hard. `make test-hard RUNS=1 SEED=<seed of a run>` repeats
the order of that run. A seed only orders the tests. Tests that draw numbers without their own seed should be found, so
pytest-randomly does not seed them.
"""

import argparse
import datetime
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "hard"
MISSING = "not run"

# A burner checks its parent's id: however the parent ended, even by SIGKILL, the burner ends within milliseconds.
BURNER = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"


@contextmanager
def burners(count):
    """Keep the processors busy with this many processes."""
    processes = [subprocess.Popen([sys.executable, "-c", BURNER, str(os.getpid())]) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def usable_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def outcomes(path):
    """The outcome of every test in a file written by pytest's --junit-xml, by the name under which pytest runs it."""
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        name = f"{case.get('file', '')}::{case.get('name')}"
        outcome = next((kind for kind in ("error", "failure", "skipped") if kind in kinds), "passed")
        if found.get(name) not in ("error", "failure"):  # an error in a passed test's teardown is a second entry
            found[name] = outcome
    return found


def run(seed, flags, folder, tell=print):
    """One run in the order that a seed gives: return the outcomes, or what went wrong instead."""
    log, xml = folder / f"{seed}.log", folder / f"{seed}.xml"
    xml.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "randomly", f"--randomly-seed={seed}"]
    command += ["--randomly-dont-reset-seed", f"--junit-xml={xml}", "-o", "junit_family=xunit1", *flags]
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT).returncode
    # 0: all passed, 1: some failed. Anything else does not count as a run: interrupted, no tests, a mistake in the
    # flags.
    found = outcomes(xml) if code in (0, 1) and xml.exists() else {}
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(found.values()).items()))
    tell(
        f"seed {seed}: {counts or f'no answers, pytest ended with {code}'}, {time.monotonic() - started:.0f} s ({log})"
    )
    return found


def compare(answers):
    """The tests whose outcomes differed, with these outcomes, and those that failed in every run."""
    names = sorted(set().union(*answers))
    table = {name: [answer.get(name, MISSING) for answer in answers] for name in names}
    unsteady = {name: row for name, row in table.items() if len(set(row)) > 1}
    red = [name for name, row in table.items() if name not in unsteady and row[0] in ("error", "failure")]
    return unsteady, red


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tests.hard", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, help="of the first run; the others count on (default: by chance)")
    parser.add_argument("--burners", type=int, default=usable_cores() + 1)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for the logs")
    options, flags = parser.parse_known_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs must be at least 1, got {options.runs}")
    first = secrets.randbelow(10**6) if options.seed is None else options.seed
    options.folder.mkdir(parents=True, exist_ok=True)
    with (options.folder / "log.txt").open("a", encoding="utf-8") as log:

        def tell(line):
            print(line, flush=True)
            print(line, file=log, flush=True)

        now = datetime.datetime.now().isoformat(" ", "seconds")
        tell(f"{now}: {options.runs} runs, {options.burners} burners, {shlex.join(flags) or 'no flags'}")
        with burners(options.burners):
            answers = [run(first + number, flags, options.folder, tell) for number in range(options.runs)]
        unsteady, red = compare(answers)
        for name, row in unsteady.items():
            tell(f"not the same each time: {name}: {', '.join(row)}")
        for name in red:
            tell(f"failed each time: {name}")
        tell(f"{len(unsteady)} tests did not give the same answer each time, {len(red)} failed each time")
    return 1 if unsteady or red or not all(answers) else 0


if __name__ == "__main__":
    sys.exit(main())
