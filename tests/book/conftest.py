"""The built book."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_build(root: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run book/build.py of a course."""
    command = [sys.executable, str(root / "book/build.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, env=env)


@pytest.fixture(scope="session")
def build():
    return run_build


@pytest.fixture(scope="session")
def html() -> Path:
    """The folder of the whole book, built or brought up to date."""
    done = run_build(ROOT)
    assert done.returncode == 0, f"the book does not build:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return ROOT / "_build/html"
