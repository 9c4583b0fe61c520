"""Shared by all tests: `--no-skips` for continuous integration, hypothesis without deadlines, a browser."""

import gc
import os
import shutil
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import kernelcourse.course  # noqa: F401 - before any import of nbformat, which is then three seconds faster

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["KERNELCOURSE_BOOK"] = "none"  # what checks say must not depend on whether the book was built
os.environ.setdefault("KERNELCOURSE_SECONDS", "600")  # per piece, however busy the machine is
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn skips one of its checks without it

# The first is the same browser without windows, which is a fifth faster.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # it is small in containers, and a page that fills it crashes
]
PATIENCE = 180_000  # ms for a page to reach its expected state on a busy machine

# Machines are shared and noisy: neither a slow example nor a slow draw is a failure. Derandomised, so that a failed run
# can be repeated.
settings.register_profile(
    "course", deadline=None, max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")


def pytest_addoption(parser):
    parser.addoption("--no-skips", action="store_true", help="count a skipped test as a failure")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.skipped and item.config.getoption("--no-skips") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but --no-skips was given: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Do not look for garbage among modules and twelve thousand tests, again and again: they stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config, items):
    def twice(item):
        off = "callspec" in vars(item) and item.callspec.params.get("engine_state") == "off"
        return off and item.get_closest_marker("engine_only")

    config.hook.pytest_deselected(items=[item for item in items if twice(item)])
    items[:] = [item for item in items if not twice(item)]
    late = {item.path for item in items if needs_book(item)}
    items.sort(key=lambda item: item.path in late)


def needs_book(item):
    return "html" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", autouse=True)
def book_beside_the_tests(request, tmp_path_factory):
    """Build the book, which takes minutes, while the tests run that do not need it: they come first."""
    from tests.book.conftest import build_book

    first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    if first and any(map(needs_book, request.session.items)):
        threading.Thread(target=build_book, args=[tmp_path_factory.getbasetemp()], daemon=True).start()


@pytest.fixture
def rng():
    """A separate generator for each test: what a test draws does not depend on the tests that ran before it."""
    return np.random.default_rng(2026)


@pytest.fixture(scope="module")
def new_window(request):
    """`new_window(**options)` opens a window in Chromium, which runs for one module, with the flags in its `FLAGS`.

    While Chromium is open, its event loop runs, and neither a second browser nor nbclient can start.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: tests/system.sh names the package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = [*QUIET, *getattr(request.module, "FLAGS", [])]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=PATIENCE)

        def new_window(**options):
            context = browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        yield new_window
        browser.close()
