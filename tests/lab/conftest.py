"""A browser with the interactive figures, opened from disk."""

from __future__ import annotations

import pytest

from tests.lab.pages import write_pages


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def windows(new_window):
    """One window for each set of options, kept open."""
    opened = {}

    def window(**options):
        key = repr(sorted(options.items()))
        if key not in opened:
            opened[key] = new_window(**{"viewport": {"width": 820, "height": 1000}, **options})
        return opened[key]

    yield window
    for context in opened.values():
        context.close()


@pytest.fixture
def figure(windows, folder):
    """Open the page of a figure; an error in a script fails the test that caused it."""
    pages, troubles = [], []

    def open_figure(name: str, fragment: str = "", **options):
        page = windows(**options).new_page()
        pages.append(page)
        page.on("console", lambda m: m.type == "error" and troubles.append(m.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto((folder / f"{name}.html").as_uri() + fragment)
        return page

    yield open_figure
    for page in pages:
        page.close()
    assert troubles == []
