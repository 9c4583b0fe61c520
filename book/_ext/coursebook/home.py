r"""The home page: the parts with their minutes, the map of the book, and the editions that were built.

A `{parts}` block has one line for each part, with its folder and a sentence; the sections and their minutes are added:

    dual | Ridge regression, written with a weight for every point.

A block `{book-map}` has one line for each node: its name, its place (pixels from the left, row), its words and its
sections.

    dual | 124, 1 | Dual / representation | dual/representation, dual/algorithm

An arrow means "needs". The arrows are those that follow from the lines `Before this:` of the sections, without those
that other arrows imply. A node links to its first section.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from .contents import needs, read_parts, read_section, read_sections

EDITIONS = {"pdf": "PDF", "epub": "EPUB"}
ROW = 58  # the height of a row of the map, in its own pixels, which are those of a phone
WIDTH, HEIGHT = 108, 36  # of a node
LINE = 14


def lines_of(block: str, count: int) -> list[list[str]]:
    """The fields of each line; a ValueError for a line with a different number of fields."""
    lines = [line.split(" | ") for line in map(str.strip, block.splitlines()) if line]
    for fields in lines:
        if len(fields) != count:
            raise ValueError(f"{' | '.join(fields)!r}: expected {count} fields with | between them, got {len(fields)}")
    return lines


# ---------------------------------------------------------------------------------------------------- the parts


def part_list(block: str, root: Path) -> str:
    """The parts in MyST: a title with its minutes, a sentence and the sections."""
    sentences = {folder: sentence for folder, sentence in lines_of(block, 2)}
    parts = read_parts(root)
    if list(sentences) != (folders := [part.folder for part in parts]):
        raise ValueError(f"expected a sentence for each of {', '.join(folders)}, in this order")
    items = []
    for part in parts:
        minutes = sum(read_section(root, name).minutes for name in part.sections)
        opening = f"{part.folder}/opening"
        first = opening if (root / f"book/{opening}.md").exists() else part.sections[0]
        links = " · ".join(f"[](/book/{name}.md)" for name in part.sections)
        items += [f"[{part.caption}](/book/{first}.md)", f": {sentences[part.folder]} *{minutes} minutes.*", ""]
        items += [f"  {links}", ""]
    return "\n".join(items)


class Parts(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        try:
            text = part_list("\n".join(self.content), root)
        except ValueError as error:
            raise self.error(str(error)) from None
        for name in read_sections(root):
            self.env.note_dependency(str(root / f"book/{name}.md"))
        return [nodes.container("", *self.parse_text_to_nodes(text), classes=["parts"])]


# ------------------------------------------------------------------------------------------------------ the map


class Node(NamedTuple):
    name: str
    left: int
    row: int
    words: list[str]  # one or two lines
    sections: list[str]


def read_map(block: str, sections: list[str]) -> list[Node]:
    """The nodes of a map; every section must be in one of them."""
    found = []
    for name, place, words, names in lines_of(block, 4):
        left, row = map(int, place.split(", "))
        found.append(Node(name, left, row, words.split(" / "), names.split(", ")))
    named = [name for node in found for name in node.sections]
    if sorted(named) != sorted(sections):
        wrong = set(named) ^ set(sections) or {name for name in named if named.count(name) > 1}
        names = ", ".join(sorted(wrong))
        raise ValueError(f"a map must contain every section of the book exactly once; check {names}")
    return found


def arrows(found: list[Node], needed: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Which node needs which, from what their sections need, without arrows that follow from others."""
    owner = {section: node.name for node in found for section in node.sections}
    direct = {
        node.name: {owner[other] for section in node.sections for other in needed[section]} - {node.name}
        for node in found
    }
    behind: dict[str, set[str]] = {}
    for name in TopologicalSorter(direct).static_order():
        behind[name] = direct[name].union(*(behind[other] for other in direct[name]))
    return [
        (other, name)
        for name in direct
        for other in sorted(direct[name])
        if not any(other in behind[between] for between in direct[name])
    ]


def drawing(found: list[Node], joined: list[tuple[str, str]], address: dict[str, str]) -> str:
    """The map as SVG, as wide as a phone; `address` is where each node links to."""
    middle = {node.name: (node.left + WIDTH // 2 + 2, node.row * ROW + HEIGHT // 2 + 2) for node in found}
    width = max(node.left for node in found) + WIDTH + 4
    height = max(node.row for node in found) * ROW + HEIGHT + 4
    parts = [
        f'<svg class="book-map" xmlns="http://www.w3.org/2000/svg" role="group" aria-label="Map of the book" '
        f'viewBox="0 0 {width} {height}">',
        '<defs><marker id="book-map-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for start, end in joined:
        (x1, y1), (x2, y2) = middle[start], middle[end]
        y1, y2 = y1 + HEIGHT // 2, y2 - HEIGHT // 2
        parts.append(f'<path class="arrow" marker-end="url(#book-map-tip)" d="M{x1} {y1}L{x2} {y2}"/>')
    for node in found:
        x, y = middle[node.name]
        first = y + 4 - LINE // 2 * (len(node.words) - 1)
        text = "".join(
            f'<tspan x="{x}" y="{first + LINE * i}">{escape(words)}</tspan>' for i, words in enumerate(node.words)
        )
        parts.append(
            f'<a href="{escape(address[node.name])}"><title>{escape(" ".join(node.words))}</title>'
            f'<rect x="{x - WIDTH // 2}" y="{y - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
            f"<text>{text}</text></a>"
        )
    return "\n".join([*parts, "</svg>\n"])


class book_map(nodes.General, nodes.Element):
    """The drawing; its addresses are known only when its page is written."""


class BookMap(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        try:
            found = read_map("\n".join(self.content), read_sections(root))
        except ValueError as error:
            raise self.error(str(error)) from None
        for name in read_sections(root):
            self.env.note_dependency(str(root / f"book/{name}.md"))
        return [book_map(nodes=found, arrows=arrows(found, needs(root)), docname=self.env.docname)]


def visit_map(writer: Any, node: book_map) -> None:
    here, builder = node["docname"], writer.builder
    pages = {entry.name: f"book/{entry.sections[0]}" for entry in node["nodes"]}
    address = {name: builder.get_relative_uri(here, page) for name, page in pages.items()}
    writer.body.append(drawing(node["nodes"], node["arrows"], address))
    raise nodes.SkipNode


TIKZ = r"""\begin{center}\begin{tikzpicture}[x=1pt, y=-1pt, every node/.style={draw, rounded corners=4pt, font=\small}]
%s
\end{tikzpicture}\end{center}
"""


def latex_drawing(found: list[Node], joined: list[tuple[str, str]]) -> str:
    """The map for LaTeX."""
    size = f"minimum width={WIDTH}pt, minimum height={HEIGHT}pt"
    parts = []
    for node in found:
        words, target = r"\\".join(node.words), f"book/{node.sections[0]}::doc"
        link = rf"\hyperref[\detokenize{{{target}}}]{{\shortstack{{{words}}}}}"
        parts.append(rf"\node[{size}] ({node.name}) at ({node.left}, {node.row * ROW}) {{{link}}};")
    parts += [rf"\draw[-stealth] ({start}.south) -- ({end}.north);" for start, end in joined]
    return TIKZ % "\n".join(parts)


def visit_map_latex(writer: Any, node: book_map) -> None:
    writer.body.append(latex_drawing(node["nodes"], node["arrows"]))
    raise nodes.SkipNode


def skip(writer: Any, node: nodes.Node) -> None:
    raise nodes.SkipNode


# ------------------------------------------------------------------------------------------------- the editions


class editions(nodes.General, nodes.Element):
    """Links to the PDF and the EPUB, if they were built before the pages."""


class Editions(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [editions()]


def built(app: Sphinx) -> dict[str, Path]:
    """The editions that were built beside the pages, by name."""
    found = {
        word: next(Path(app.outdir).parent.glob(f"*/kernel-methods.{ending}"), None)
        for ending, word in EDITIONS.items()
    }
    return {word: path for word, path in found.items() if path}


def visit_editions(writer: Any, node: editions) -> None:
    links = [f'<a href="{path.name}">{word}</a>' for word, path in built(writer.builder.app).items()]
    if links and writer.builder.name == "html":
        writer.body.append(f"<p>Other editions: {' · '.join(links)}</p>\n")
    raise nodes.SkipNode


def home_is_outdated(app: Sphinx, env: BuildEnvironment, *changes: Any) -> list[str]:
    """Write the home page again when an edition has been added or removed."""
    names = sorted(built(app)) if app.builder.name == "html" else []
    before, env.editions = getattr(env, "editions", names), names
    return [] if before == names else [app.config.root_doc]


def copy_editions(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        for path in built(app).values():
            Path(app.outdir, path.name).write_bytes(path.read_bytes())


def setup(app: Sphinx) -> None:
    app.add_node(book_map, html=(visit_map, None), latex=(visit_map_latex, None), text=(skip, None))
    app.add_node(editions, html=(visit_editions, None), latex=(skip, None), text=(skip, None))
    app.add_directive("parts", Parts)
    app.add_directive("book-map", BookMap)
    app.add_directive("editions", Editions)
    app.connect("env-get-outdated", home_is_outdated)
    app.connect("build-finished", copy_editions)
