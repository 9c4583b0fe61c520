"""Compute once per build what Sphinx and its extensions compute again for every page, and write on all cores. The
pages do not change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

import pybtex.plugin
from docutils import nodes
from pydata_sphinx_theme import utils as theme
from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import matching


def only_titles(env: BuildEnvironment) -> dict[str, nodes.bullet_list]:
    """The pages' own tables of contents without their sections.

    For the sidebar of every page, Sphinx copies them all and then removes the sections.
    """
    short = {}
    for docname, contents in env.tocs.items():
        short[docname] = contents = contents.deepcopy()
        for title in contents.children:
            if len(title) > 1 and not any(True for _ in title.findall(toctree)):
                title.pop(1)
    return short


def shorten_contents(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """If a template asks only for titles, let Sphinx find contents that have nothing else."""
    whole, toctree_of_page = app.env.tocs, context["toctree"]
    if not hasattr(app, "only_titles"):
        app.only_titles = only_titles(app.env)  # type: ignore[attr-defined]

    def shortened(**options: Any) -> str:
        app.env.tocs = app.only_titles if options.get("titles_only") else whole  # type: ignore[attr-defined]
        try:
            return toctree_of_page(**options)
        finally:
            app.env.tocs = whole

    context["toctree"] = shortened


def without_trying(check: Any) -> Any:
    """The theme renders its templates to see which are empty; the table of contents, which takes longest, never is."""

    def checked(*arguments: Any, templates_skip_empty_check: Iterable[str] | None = None, **others: Any) -> list[str]:
        skipped = [*(templates_skip_empty_check or []), "sbt-sidebar-nav.html"]
        return check(*arguments, templates_skip_empty_check=skipped, **others)

    return checked


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """Let a process for each core write pages, beside the one that resolves their references.

    One process reads them all, since not every extension of Jupyter Book can merge what several have read.
    """
    if app.builder.name == "html":
        app.parallel = 1 + (os.cpu_count() or 1)


def setup(app: Sphinx) -> None:
    app.connect("env-updated", write_in_parallel)
    app.connect("html-page-context", shorten_contents, priority=100)  # before the theme renders its templates
    theme._update_and_remove_templates = without_trying(theme._update_and_remove_templates)
    pybtex.plugin.entry_points = cache(pybtex.plugin.entry_points)  # searched for every citation
    matching._translate_pattern = cache(matching._translate_pattern)  # for every table of contents on every page
