"""What every page shares: the links to the repository, if it has an address, and the front door."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import myst_nb.sphinx_ext
import sphinx_proof
import yaml
from docutils import nodes
from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.index_entries import split_index_msg

FRONT_DOOR = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={page}">
<link rel="canonical" href="{page}">
<title>{title}</title>
</head>
<body><main><h1>{title}</h1><p><a href="{page}">Open the book</a></p></main></body>
</html>
"""


def repository_links(app: Sphinx, config: Config) -> None:
    """`repository: url` in _config.yml is the one switch for everything that points to the repository.

    Jupyter Book would hand it on, but it lets our own theme options take the place of all of its.
    """
    settings = yaml.safe_load((Path(app.srcdir) / "_config.yml").read_text(encoding="utf-8"))
    repository = settings.get("repository") or {}
    if repository.get("url"):
        config.html_theme_options |= {
            "repository_url": repository["url"],
            "repository_branch": repository.get("branch", "main"),
            "use_repository_button": True,
            "use_issues_button": True,
            "use_source_button": True,
            "launch_buttons": settings.get("launch_buttons", {}) | {"binderhub_url": "https://mybinder.org"},
        }


def link_index(app: Sphinx, doctree: nodes.document) -> None:
    """The general index ends the table of contents; _toc.yml can only name files."""
    if app.env.docname == app.config.root_doc:
        last = list(doctree.findall(toctree))[-1]
        last["entries"].append(("Index", "genindex"))


def rewrite_where_needed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Titles, labels and numbers of a page appear on other pages: when one has changed, all pages are written again."""
    shown_elsewhere = (
        {docname: title.astext() for docname, title in env.titles.items()},
        deepcopy(env.domaindata["std"]),
        deepcopy(env.toc_secnumbers),
        deepcopy(env.toc_fignumbers),
    )
    before, env.shown_elsewhere = getattr(env, "shown_elsewhere", None), shown_elsewhere
    return [] if before == shown_elsewhere else list(env.found_docs)


def index_entries_for_search(app: Sphinx) -> list[Any]:
    """Hand the index entries of all pages to the search: Sphinx only does so for those that it has just written."""
    if indexer := getattr(app.builder, "indexer", None):
        for docname, entries in sorted(app.env.domaindata["index"]["entries"].items()):
            found: set[tuple[str, str, str]] = set()
            for kind, value, target, main, _ in entries:
                words = split_index_msg(kind, value)
                found |= {(word, target or "", main) for word in words}
            indexer._index_entries.pop(docname, None)  # so that pages come in one order, whatever was written
            indexer._index_entries[docname] = sorted(found)
    return []


# Markup of the extensions that a screen reader would stumble over: a label which hides the words that are seen,
# identifiers which sphinx-proof gives to every theorem and to every proof alike, a role which ARIA has withdrawn, the
# corner of a table announced as a heading.
REPAIRS = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    ' id="proof-content"': "",
    'role="doc-biblioentry"': 'role="listitem"',
    '<th class="head"><p></p></th>': "<td></td>",
    '<div class="proof admonition" id="proof">\n<p>Proof. ': '<div class="proof admonition">\n<p><em>Proof.</em> ',
}


def repair_markup(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    for wrong, right in REPAIRS.items():
        context["body"] = context.get("body", "").replace(wrong, right)


def copy_styles_early(app: Sphinx) -> None:
    """Two extensions copy their style sheets after the pages are written.

    A page's link to a style sheet carries a checksum, if the file is there: without this, only a second build's would.
    """
    if app.builder.format == "html":
        sphinx_proof.copy_asset_files(app, None)
        myst_nb.sphinx_ext.add_global_html_resources(app, None)


def front_door(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        page = app.builder.get_target_uri(app.config.root_doc)
        text = FRONT_DOOR.format(page=page, title=app.config.html_title)
        Path(app.outdir, "index.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_config_value("comments_config", {}, "")  # Jupyter Book sets it even where sphinx_comments is left out
    app.connect("config-inited", repository_links)
    app.connect("builder-inited", copy_styles_early)
    app.connect("doctree-read", link_index, priority=200)  # after the table of contents is in, before it is collected
    app.connect("env-get-updated", rewrite_where_needed, priority=900)  # after the numbers are given
    app.connect("html-collect-pages", index_entries_for_search)
    app.connect("html-page-context", repair_markup)
    app.connect("build-finished", front_door)
