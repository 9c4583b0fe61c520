"""A browser with the interactive figures, opened from disk."""

from __future__ import annotations

from itertools import count

import pytest

from tests.lab.pages import write_pages

VISITS = count()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def windows(new_window):
    """One window for each set of options, with pages that are kept open: a new one takes longer than most tests."""
    opened = {}

    def window(**options):
        key = repr(sorted(options.items()))
        if key not in opened:
            opened[key] = new_window(**{"viewport": {"width": 820, "height": 1000}, **options}), []
        return opened[key]

    yield window
    for context, _ in opened.values():
        context.close()


@pytest.fixture
def figure(windows, folder):
    """Open the page of a figure; an error in a script fails the test that caused it."""
    pages, troubles = [], []

    def trouble(message) -> None:
        if getattr(message, "type", "error") == "error":
            troubles.append(str(getattr(message, "text", message)))

    def open_figure(name: str, fragment: str = "", **options):
        context, free = windows(**options)
        page = free.pop() if free else context.new_page()
        pages.append((page, free))
        page.on("console", trouble)
        page.on("pageerror", trouble)
        # Always another address: if only the fragment changed, the page would not be loaded again.
        page.goto(f"{(folder / f'{name}.html').as_uri()}?{next(VISITS)}{fragment}")
        return page

    yield open_figure
    for page, free in pages:
        page.emulate_media(media="screen")
        page.mouse.up()
        page.mouse.move(0, 0)
        page.remove_listener("console", trouble)
        page.remove_listener("pageerror", trouble)
        free.append(page)
    assert troubles == []
