"""Shared by all tests: `--no-skips` for continuous integration, hypothesis without deadlines, a browser."""

import os
import shutil

import pytest
from hypothesis import settings

import kernelcourse.course  # noqa: F401 - before anybody imports nbformat, which is three seconds quicker then

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn skips one of its checks without it

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
    "--disable-dev-shm-usage",  # small in containers: a page that fills it crashes
]
PATIENCE = 180_000  # ms for a page to get where it should, on a machine with other things to do

# Machines are shared and noisy: a slow example is not a failure. Derandomised: a red run can be run again.
settings.register_profile("course", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("course")


def pytest_addoption(parser):
    parser.addoption("--no-skips", action="store_true", help="count a skipped test as a failure")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.skipped and item.config.getoption("--no-skips") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but --no-skips was given: {report.longrepr}"


@pytest.fixture(scope="module")
def new_window():
    """`new_window(**options)` opens a window of Chromium, which is there for one module.

    While it is open its event loop runs, and neither a second one nor nbclient starts.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: tests/system.sh names the package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET, timeout=PATIENCE)

        def new_window(**options):
            context = browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        yield new_window
        browser.close()
