"""Building the book in a copy of the repository: from scratch, and again after one section was edited."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.harness import Row, alone

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".venv", "_build", ".git", "__pycache__", ".hypothesis")


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "course"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)

        def build() -> None:
            subprocess.run([sys.executable, "book/build.py"], cwd=copy, check=True, stdout=subprocess.DEVNULL)

        rows = [alone("cold build of the whole book", build, "goal: at most 180 s")]
        section = copy / "book" / "kernels" / "definition.md"
        section.write_text(section.read_text(encoding="utf-8") + "\nOne more sentence.\n", encoding="utf-8")
        rows.append(alone("rebuild after editing one section", build, "goal: at most 25 s"))
    return rows
