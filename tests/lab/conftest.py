"""A browser with the interactive figures in it, opened from disk."""

from __future__ import annotations

import pytest

from tests.book.conftest import CHROMIUM, QUIET
from tests.lab.pages import write_pages


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: tests/system.sh names the package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("lab"))


@pytest.fixture
def figure(browser, folder):
    """Open the page of a figure, in a window of its own; a script's error fails the test that caused it."""
    contexts, troubles = [], []

    def open_figure(name: str, fragment: str = "", **options):
        context = browser.new_context(**{"viewport": {"width": 820, "height": 1000}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and troubles.append(m.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto((folder / f"{name}.html").as_uri() + fragment)
        return page

    yield open_figure
    for context in contexts:
        context.close()
    assert troubles == []
