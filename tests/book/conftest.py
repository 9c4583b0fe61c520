"""The built book."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from tests.book.warm import run_build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build():
    return run_build


def build_book(base: Path) -> Path:
    """A copy of the whole book, built or updated once per test run, which a later `make book` does not touch."""
    copy = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "book"
    failed = copy.with_suffix(".failed")
    with FileLock(f"{copy}.lock"):
        if not copy.exists() and not failed.exists():
            done = run_build(ROOT, "--copy", str(copy))
            if done.returncode != 0:
                failed.write_text(f"{done.stdout[-2000:]}\n{done.stderr[-6000:]}", encoding="utf-8")
    assert not failed.exists(), f"the book does not build:\n{failed.read_text(encoding='utf-8')}"
    return copy


@pytest.fixture(scope="session")
def html(tmp_path_factory) -> Path:
    return build_book(tmp_path_factory.getbasetemp())
