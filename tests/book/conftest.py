"""The built book, and a browser to look at it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


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


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: tests/system.sh names the package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()
