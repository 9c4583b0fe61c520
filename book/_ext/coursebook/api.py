r"""The reference: the blocks on its pages, and the role `{lib}` that links to a name from anywhere in the book.

The pages of the groups (`book/appendix/api/*.md`) ask for tables (see tables.py). Blocks are filled before Sphinx
parses the page, so that a cell may hold any Markdown.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from . import names, tables, thumbnails
from .library import GROUPS, resolve

logger = logging.getLogger(__name__)
BLOCK = re.compile(
    r"^```\{library-(?P<kind>[\w-]+)\}(?P<argument>[^\n]*)\n(?P<lines>.*?)^```$", re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"<([\w.]+)>`")


def fill_blocks(app: Sphinx, docname: str, source: list[str]) -> None:
    def fill(match: re.Match[str]) -> str:
        if match["kind"] == "commands":
            return tables.commands()
        if match["kind"] == "others":
            return tables.others(match["argument"].strip(), shown)
        notes = dict(re.split(r"\s*\|\s*", line, maxsplit=1) for line in match["lines"].splitlines() if line.strip())
        text = tables.TABLES[match["kind"]](notes)
        shown.update(address.rpartition(".")[2] for address in LINK.findall(text))
        for name in notes:
            logger.warning("the table of %s has no row for %r", match["kind"], name, location=docname)
        return text

    shown: set[str] = set()
    source[0] = BLOCK.sub(fill, source[0])


def read_again(app: Sphinx, env: BuildEnvironment, added: object, changed: object, removed: object) -> list[str]:
    """The tables come from the library, not from the text of their pages, so they are rebuilt in every build."""
    return [f"{names.FRONT}/{group}" for group in (*GROUPS, "commands") if f"{names.FRONT}/{group}" in env.found_docs]


def check_groups(app: Sphinx, env: BuildEnvironment) -> None:
    """Every group of the library has its page, if the reference is built at all."""
    if names.FRONT in env.found_docs:
        for group in GROUPS:
            if f"{names.FRONT}/{group}" not in env.found_docs:
                logger.warning("the reference has no page %s.md: add it to _toc.yml", f"{names.FRONT}/{group}")


class LibraryRole(PyXRefRole):
    """`` {lib}`dual_weights` `` links to the page of the name, whichever module defines it."""

    def process_link(self, env, refnode, has_explicit_title, title, target):
        title, target = super().process_link(env, refnode, has_explicit_title, title, target)
        address = resolve(target)
        refnode.update_all_atts({"refdomain": "py", "reftype": "obj", "in_library": bool(address)}, replace=True)
        return title, address or target


def plain_name(app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element) -> nodes.Element | None:
    """Where the names have no pages, in a preview and in print, a name that the library has is shown without a link."""
    has_pages = names.FRONT in env.found_docs and app.config.reference_names
    return text if node.get("in_library") and not has_pages else None


def setup(app: Sphinx) -> None:
    app.connect("source-read", fill_blocks)
    app.connect("env-get-outdated", read_again)
    app.connect("env-check-consistency", check_groups)
    app.connect("missing-reference", plain_name)
    app.add_role("lib", LibraryRole())
    thumbnails.setup(app)
    names.setup(app)
