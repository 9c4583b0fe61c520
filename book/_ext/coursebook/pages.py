"""What every page shares: the links to the repository, if it has an address, and the address of the home page."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import Any

import myst_nb.sphinx_ext
import sphinx_proof
import yaml
from docutils import nodes
from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment

from .contents import minutes_of_parts

MOVED = """<!DOCTYPE html>
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


class BookBuilder(StandaloneHTMLBuilder):
    """Sphinx's builder, with the home page at the address of the book itself: index.html."""

    def init(self) -> None:
        """`repository: url` in _config.yml is the only switch for everything that points to the repository. Jupyter
        Book would pass it on, but our own theme options replace all of its options. An EPUB has no such buttons.
        """
        settings = yaml.safe_load((Path(self.srcdir) / "_config.yml").read_text(encoding="utf-8"))
        repository = settings.get("repository") or {}
        if repository.get("url"):
            self.config.html_theme_options |= {
                "repository_url": repository["url"],
                "repository_branch": repository.get("branch", "main"),
                "use_repository_button": True,
                "use_issues_button": True,
                "use_source_button": True,
                "launch_buttons": settings.get("launch_buttons", {}) | {"binderhub_url": "https://mybinder.org"},
            }
        super().init()

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        return "index.html" if docname == self.config.root_doc else super().get_target_uri(docname, typ)

    def get_outfilename(self, pagename: str) -> str:
        return super().get_outfilename("index" if pagename == self.config.root_doc else pagename)


def link_index(app: Sphinx, doctree: nodes.document) -> None:
    """Put the general index at the end of the table of contents; _toc.yml can only name files."""
    if app.env.docname == app.config.root_doc:
        last = list(doctree.findall(toctree))[-1]
        last["entries"].append(("Index", "genindex"))


def digest_of_styles(app: Sphinx) -> str:
    """A digest of what all pages share: style sheets, scripts, templates."""
    digest = hashlib.sha256()
    for folder in [*app.config.html_static_path, *app.config.templates_path]:
        for path in sorted(path for path in Path(app.srcdir, folder).rglob("*") if path.is_file()):
            digest.update(f"{path.name} ".encode() + path.read_bytes())
    return digest.hexdigest()


def rewrite_where_needed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """When a style sheet has changed, or a title, label or number that other pages show, write all pages again."""
    shown_elsewhere = (
        digest_of_styles(app),
        app.minutes_of_parts,  # type: ignore[attr-defined]
        {docname: title.astext() for docname, title in env.titles.items()},
        deepcopy(env.domaindata["std"]),
        deepcopy(env.toc_secnumbers),
        deepcopy(env.toc_fignumbers),
    )
    before, env.shown_elsewhere = getattr(env, "shown_elsewhere", None), shown_elsewhere
    return [] if before == shown_elsewhere else list(env.found_docs)


# Markup of the extensions that disturbs screen readers: a label that hides the visible words, identifiers that
# sphinx-proof gives to every theorem and to every proof alike, a role that ARIA has withdrawn, and the corner of a
# table announced as a heading.
REPAIRS = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    ' id="proof-content"': "",
    'role="doc-biblioentry"': 'role="listitem"',
    '<th class="head"><p></p></th>': "<td></td>",
    '<div class="proof admonition" id="proof">\n<p>Proof. ': '<div class="proof admonition">\n<p><em>Proof.</em> ',
}


NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'  # in every formula, although only XHTML needs it


def repair_markup(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    for wrong, right in REPAIRS.items():
        context["body"] = context.get("body", "").replace(wrong, right)
    if app.builder.name == "html":
        context["body"] = context["body"].replace(NAMESPACE, "")


PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading"><span class="caption-text">(?P<name>.*?)</span></p>\n?'
    r"(?P<pages>.*?)(?=<p aria-level|\Z)",
    re.DOTALL,
)


def fold_parts(contents: str, minutes: Mapping[str, int] = MappingProxyType({})) -> str:
    """The table of contents with one line for each part, which is the page itself if a part has only one page.

    The part of the current page is open. The minutes are written after the names of the parts.

    >>> caption = '<p aria-level="2" class="caption" role="heading"><span class="caption-text">A</span></p>'
    >>> fold_parts(caption + "<li>1</li><li>2</li>" + caption + "<li>3</li>")
    '<details class="part"><summary>A</summary><li>1</li><li>2</li></details><div class="part"><li>3</li></div>'
    """

    def folded(part: re.Match[str]) -> str:
        if part["pages"].count("<li") == 1:
            return f'<div class="part">{part["pages"]}</div>'
        state = " open" if 'class="current' in part["pages"] else ""
        time = minutes.get(unescape(part["name"]))
        beside = f' data-minutes="{time} min"' if time else ""
        return f'<details class="part"{state}><summary{beside}>{part["name"]}</summary>{part["pages"]}</details>'

    return PART.sub(folded, contents)


def add_fold(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["fold_parts"] = partial(fold_parts, minutes=app.minutes_of_parts)  # type: ignore[attr-defined]


def read_minutes(app: Sphinx) -> None:
    app.minutes_of_parts = minutes_of_parts(Path(app.srcdir))  # type: ignore[attr-defined]


def copy_styles_early(app: Sphinx) -> None:
    """Copy the style sheets of two extensions, which do so only after the pages are written.

    A page's link to a style sheet contains a checksum if the file exists; without this, only a second build would have
    the checksums.
    """
    if app.builder.format == "html":
        sphinx_proof.copy_asset_files(app, None)
        myst_nb.sphinx_ext.add_global_html_resources(app, None)


def light_without_scripts(app: Sphinx, error: Exception | None) -> None:
    """Until a script asks the system for its mode, and without scripts, pages have the colours of the light mode."""
    if error is None and app.builder.name == "html":
        for docname in [*app.env.found_docs, "genindex", "search"]:
            path = Path(app.builder.get_outfilename(docname))
            page = path.read_text(encoding="utf-8")
            if 'data-theme="auto">' in page:
                path.write_text(page.replace('data-theme="auto">', 'data-theme="light">', 1), encoding="utf-8")


def forward_old_address(app: Sphinx, error: Exception | None) -> None:
    """Keep links to the home page under the name of its source working, and the search too."""
    old = Path(app.outdir, f"{app.config.root_doc}.html")
    if error is None and app.builder.name == "html" and old.name != "index.html":
        home = "../" * app.config.root_doc.count("/") + "index.html"
        old.parent.mkdir(parents=True, exist_ok=True)
        old.write_text(MOVED.format(page=home, title=app.config.html_title), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_builder(BookBuilder, override=True)
    app.add_config_value("comments_config", {}, "")  # Jupyter Book sets it even if sphinx_comments is left out
    app.connect("builder-inited", copy_styles_early)
    app.connect("builder-inited", read_minutes)
    app.connect("doctree-read", link_index, priority=200)  # after the table of contents, before it is collected
    app.connect("env-get-updated", rewrite_where_needed, priority=900)  # after the numbers are given
    app.connect("html-page-context", repair_markup)
    app.connect("html-page-context", add_fold)
    app.connect("build-finished", light_without_scripts)
    app.connect("build-finished", forward_old_address)
