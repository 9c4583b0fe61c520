r"""The search: sections before the reference, and readable excerpts, even if pages are opened from disk.

While a page is written, the prose of each of its sections is kept: no code, no displayed formulas, and formulas in a
sentence as plain text, exp(−‖x − x′‖²/2σ²). All of it goes into one script, searchindex.js, which only the search page
loads; `_static/search.js` searches it. (Sphinx's own search stems "representer" to "repres", ranks by counting, and
takes its excerpts from the pages' raw text, in which every formula appears twice.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.index_entries import split_index_msg

from .formulas import to_html
from .names import FOLDER as NAMES
from .names import FRONT as REFERENCE

KEPT = "book-search.json"  # beside the doctrees: a later build may write only a few pages
SKIPPED = (
    nodes.literal_block, nodes.doctest_block, nodes.math_block, nodes.comment, nodes.raw, nodes.target,
    nodes.substitution_definition, nodes.system_message, nodes.image, addnodes.toctree, addnodes.desc_signature,
)  # fmt: skip
READING_TIME = re.compile(r"\d+ minutes[.,]|\w+ sections?, ")  # the line below a title
SECTION, APPENDIX, NAME = range(3)  # the order in which equally good matches are shown
BEFORE = ("book/instructors", "book/exercises", "book/appendix/")

# ------------------------------------------------------------------------------------------------ formulas as text

RAISED = dict(zip("0123456789+-−=()niT⊤pdm", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱᵀᵀᵖᵈᵐ", strict=True)) | {"′": "′", "∗": "*"}
LOWERED = dict(zip("0123456789+-−=()aijnmpkx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐᵢⱼₙₘₚₖₓ", strict=True))


@cache
def formula_text(latex: str) -> str:
    r"""A formula as plain text.

    >>> formula_text(r"\exp(-\lVert x - x'\rVert^2 / 2\sigma^2)")
    'exp(−∥x−x′∥²/2σ²)'
    >>> formula_text(r"\frac{1}{n} \sum_i a_i")
    '1/n∑ᵢaᵢ'
    """
    try:
        html = to_html(latex, display=False)
    except ValueError:  # the rendering of the page reports the error
        return ""
    found = re.search(r"<math[^>]*>(.*?)</math>", html, re.DOTALL)
    return _text(ElementTree.fromstring(found[1])) if found else ""


def _text(node: ElementTree.Element) -> str:
    tag, parts = node.tag.rpartition("}")[2], [_text(child) for child in node]
    if tag in ("msup", "msub", "msubsup", "munder", "mover", "munderover"):
        base, *scripts = parts
        low = scripts[0] if tag in ("msub", "msubsup", "munder", "munderover") else ""
        high = scripts[-1] if tag in ("msup", "msubsup", "munderover") else ""
        return base + _script(low, LOWERED, "_") + _script(high, RAISED, "^")
    if tag == "mfrac":
        return "/".join(part if len(part) == 1 or part.isalnum() else f"({part})" for part in parts)
    if tag == "msqrt":
        inside = "".join(parts)
        return f"√{inside}" if len(inside) == 1 else f"√({inside})"
    return "".join([(node.text or "").strip("\u2061\u200b"), *parts])


def _script(text: str, letters: dict[str, str], mark: str) -> str:
    if not text:
        return ""
    if all(letter in letters for letter in text):
        return "".join(letters[letter] for letter in text)
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"


# ----------------------------------------------------------------------------------------------- sections as text


def words(node: nodes.Node) -> Iterator[str]:
    """The prose of a node, without code and without the sections inside it; for a cell, the caption of its figure."""
    if isinstance(node, nodes.Text):
        yield node.astext()
    elif isinstance(node, nodes.math):
        yield formula_text(node.astext())
    elif isinstance(node, nodes.Element) and node.get("nb_element") in ("cell_code", "cell_code_output"):
        for caption in node.findall(nodes.caption):
            yield " ".join(words_of(child) for child in caption.children) + " "
    elif isinstance(node, (nodes.section, nodes.title, *SKIPPED)) or "reference-path" in node.get("classes", []):
        return
    elif "nb_element" not in node.attributes:
        for child in node.children:
            yield from words(child)
        if isinstance(node, nodes.entry):
            yield " · "
        elif isinstance(node, nodes.TextElement) and not isinstance(node, nodes.Inline):
            yield " "


def words_of(node: nodes.Node) -> str:
    return " ".join("".join(words(node)).split())


def heading(section: nodes.Element) -> str:
    title = next(iter(section.findall(nodes.title)), None)
    return " ".join("".join(words_of_title(title)).split()) if title is not None else ""


def words_of_title(title: nodes.Element) -> Iterator[str]:
    for child in title.children:
        yield from words(child)


def terms(parts: Iterable[nodes.Node]) -> str:
    """The index entries in parts of a section."""
    found = []
    for index in (index for part in parts for index in part.findall(addnodes.index)):
        for kind, value, *_ in index["entries"]:
            found += split_index_msg(kind, value)
    return " ".join(dict.fromkeys(found))


def sections(doctree: nodes.document) -> list[list[str]]:
    """Anchor, heading, prose and index entries of each section."""
    found = []
    for section in doctree.findall(nodes.section):
        own = [child for child in section.children if not isinstance(child, nodes.section)]
        prose = (words_of(child) for child in own)
        text = " ".join(part for part in prose if part and not READING_TIME.match(part))
        indexed = terms(child for child in own if not isinstance(child, nodes.title))
        found.append([section["ids"][0], heading(section), text, indexed])
    if found:
        found[0][0] = ""  # the first section is the page
    return found


def kind_of(docname: str) -> int:
    if docname.startswith(REFERENCE):
        return NAME
    return APPENDIX if docname.startswith(BEFORE) else SECTION


def keep_text(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.name != "html":
        return
    found = sections(doctree)
    if docname.startswith(f"{NAMES}/"):  # for a name's page: what it is, without headings
        found = [["", found[0][1], " ".join(part[2] for part in found[:1]), ""]]
    if found:
        texts(app)[docname] = [kind_of(docname), found]


def texts(app: Sphinx) -> dict[str, Any]:
    """What is known about the pages, from earlier builds and from this one."""
    if not hasattr(app, "book_search"):
        kept = Path(app.doctreedir, KEPT)
        app.book_search = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    return app.book_search


def write_index(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    known = {name: page for name, page in sorted(texts(app).items()) if name in app.env.found_docs}
    Path(app.doctreedir, KEPT).write_text(json.dumps(known), encoding="utf-8")
    numbers = app.env.toc_secnumbers
    pages = []
    for name, (kind, found) in known.items():
        number = numbers.get(name, {}).get("", ())
        pages.append([app.builder.get_target_uri(name), kind, ".".join(map(str, number)), found])
    script = f"window.BOOK_SEARCH = {json.dumps(pages, ensure_ascii=False, separators=(',', ':'))};\n"
    Path(app.outdir, "searchindex.js").write_text(script, encoding="utf-8")


# ------------------------------------------------------------------------------------------------------- the page


def without_sphinx_index(app: Sphinx) -> None:
    if app.builder.name == "html":
        app.builder.search = False


def search_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    if app.builder.name == "html":
        yield "search", {}, "search.html"


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", without_sphinx_index)
    app.connect("doctree-resolved", keep_text)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write_index)
