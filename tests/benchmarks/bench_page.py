"""The timings on the page on running times: run the page, and keep what it measures if every sentence on it holds.

The page shows a saved run, because a measurement during a build, on a machine that is busy with the build, can
contradict the text around it.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from tests.benchmarks import harness

PAGE = Path(__file__).resolve().parents[2] / "book" / "times" / "running-times.md"


def run() -> list[list[object]]:
    import jupytext
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "timings.jsonl")
        settings = os.environ | {
            "BOOK_MEASURE": str(record),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": str(PAGE.parents[1] / "notebook"),
        }
        notebook = jupytext.read(PAGE)
        client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(PAGE.parent)}})
        client.execute(env=settings)
        timings = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    saved = {"machine": harness.machine(), "timings": timings}
    (harness.RESULTS / f"{PAGE.stem}.json").write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    print(f"{len(timings)} timings; every sentence on the page holds for them")
    return timings
