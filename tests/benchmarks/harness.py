"""Time ours and a peer's code in one run, interleaved and repeated; give the medians and their ratio.

Machines are shared and noisy. A single time says little; the ratio of two times taken in turns says a lot. A virtual
machine knows for how long its host withheld the processors ("steal"): a run that lost more than a little is repeated,
ours or the peer's, however long it took. Nothing is done about memory: a host may take back memory that was free for a
while, and the next call that needs it, ours or the peer's, waits for it.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from timeit import timeit

RESULTS = Path(__file__).resolve().parents[2] / "_build" / "bench"


@dataclass(frozen=True)
class Row:
    """One job: seconds of ours and of the peer (medians and minima), and how many times faster ours is."""

    job: str
    peer: str
    ours: float
    ours_best: float
    theirs: float
    theirs_best: float
    ratio: float
    spread: tuple[float, float]  # quartiles of the ratio of neighbouring runs
    note: str = ""


TOLERATED = 0.02  # of the processors' time
ATTEMPTS = 5
LONGEST = 20.0  # seconds of a run that is worth repeating


def undisturbed(function: Callable[[], object]) -> float:
    """Seconds of the first run that lost hardly any time to other machines on the host, or of the one that lost least.

    >>> undisturbed(lambda: None) > 0
    True
    """
    runs = []
    for _ in range(ATTEMPTS):
        before = taken_away()
        took = timeit(function, number=1)
        runs.append(((taken_away() - before) / (took * (os.cpu_count() or 1)), took))
        if runs[-1][0] <= TOLERATED or took > LONGEST:
            break
    return min(runs)[1]


def taken_away() -> float:
    """Seconds of processor time that the host has given to others so far, where the system reports it (Linux)."""
    try:
        everything = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
        return int(everything[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def compare(
    job: str,
    ours: Callable[[], object],
    peer_name: str,
    peer: Callable[[], object],
    *,
    repeats: int = 7,
    note: str = "",
) -> Row:
    """Time the two alternately, after one run of each that does not count."""
    ours(), peer()
    pairs = [(undisturbed(ours), undisturbed(peer)) for _ in range(repeats)]
    mine, theirs = zip(*pairs, strict=True)
    ratios = [b / a for a, b in pairs]
    low, _, high = statistics.quantiles(ratios, n=4)
    return Row(
        job,
        peer_name,
        statistics.median(mine),
        min(mine),
        statistics.median(theirs),
        min(theirs),
        statistics.median(ratios),
        (low, high),
        note,
    )


def alone(job: str, function: Callable[[], object], note: str = "") -> Row:
    """A time without a peer to compare it with."""
    t = timeit(function, number=1)
    return Row(job, "", t, t, float("nan"), float("nan"), float("nan"), (float("nan"),) * 2, note)


def machine() -> dict[str, str]:
    names = ("numpy", "scipy", "scikit-learn", "jupyter-book", "nbgrader")
    packages = {name: version(name) for name in names}
    about = {"python": platform.python_version(), "system": platform.system(), "cores": str(os.cpu_count())}
    if hasattr(os, "getloadavg"):
        about["load"] = f"{os.getloadavg()[0]:.1f}"  # of other programs too: shows how far to trust the times
    return about | packages


def table(rows: list[Row]) -> str:
    lines = ["| job | peer | ours (s) | peer (s) | peer / ours | quartiles | note |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        ratio = f"{r.ratio:.2f} | {r.spread[0]:.2f} to {r.spread[1]:.2f}" if r.peer else "| "
        theirs = f"{r.theirs:.4g}" if r.peer else ""
        lines.append(f"| {r.job} | {r.peer} | {r.ours:.4g} | {theirs} | {ratio} | {r.note} |")
    return "\n".join(lines)


def write(name: str, rows: list[Row]) -> None:
    """Print the table, and keep it as Markdown and JSON with the machine it was measured on."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = table(rows)
    print(f"\n## {name}\n\n{text}", flush=True)
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    record = {"machine": machine(), "rows": [asdict(r) for r in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def fresh_python(code: str) -> Callable[[], object]:
    """Run code in a new interpreter."""
    import subprocess

    return lambda: subprocess.run([sys.executable, "-c", code], check=True)
