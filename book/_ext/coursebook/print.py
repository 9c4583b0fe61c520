r"""The book on paper and on e-readers: what LaTeX and EPUB need to show the same pages.

Chapters keep the numbers that they have on the web: openings, recaps and appendices have none. EPUB readers run no
scripts and do not support KaTeX; they show MathML, which is half of KaTeX's output.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx_proof.nodes import proof_node

from .formulas import to_html
from .lab import lab
from .search import formula_text

LATEX = {
    "papersize": "a4paper",
    "pointsize": "10pt",
    "fncychap": "",
    "extraclassoptions": "openany,oneside",
}
PREAMBLE = r"""
\usepackage{newunicodechar, etoolbox, needspace}
\usepackage{tikz}  % for the map of the book
\newunicodechar{^^^^200b}{\hskip 0pt\relax}  % where a long name may break
\newunicodechar{^^^^2605}{\ensuremath{\star}}  % the font of the headings has no star
\setlength{\emergencystretch}{3em}
\renewcommand{\topfraction}{0.9}  % a figure shares its page with text unless it nearly fills the page
\renewcommand{\bottomfraction}{0.9}
\renewcommand{\textfraction}{0.1}
\renewcommand{\floatpagefraction}{0.85}
\BeforeBeginEnvironment{sphinxadmonition}{\Needspace{9\baselineskip}}  % the title of a box stays with its text
\BeforeBeginEnvironment{DUlineblock}{\Needspace{7\baselineskip}}  % so does a heading of the home page
\setlength{\extrarowheight}{2pt}  % room between the rows of a table
% the chapter has a title of its own, and the list begins below it
\makeatletter  % the text cites by author and year, so entries have no numbers
\renewenvironment{sphinxthebibliography}[1]
{\renewcommand{\chapter}[2]{}\renewcommand{\@biblabel}[1]{}\begin{thebibliography}{}}{\end{thebibliography}}
% columns of given widths, as Sphinx defines them, but ragged: justified words would be far apart
\newcolumntype{\X}[2]{>{\raggedright\arraybackslash}p{\dimexpr
  (\linewidth-\spx@arrayrulewidth)*#1/#2-\tw@\tabcolsep-\spx@arrayrulewidth\relax}}
\newcolumntype{T}{L}
\makeatother
\protected\def\sphinxstyleindexentry#1{#1}  % words, not code
\AtBeginDocument{\let\figureofchapter\thefigure \let\anchoroffigure\theHfigure}
% tables have no captions, so a table that goes on has no number
\renewcommand{\sphinxtablecontinued}[1]{\def\tablename{}\def\thetable{}\def\textendash{}\textsf{\small #1}}
"""
BREAK = re.compile(r"(?<=[-_.,(/])(?=\w)|(?<=[a-z])(?=[A-Z])")  # where a name may break: dual_ weights, Kernel Ridge
NAME, LONG_NAME = re.compile(r"\S+"), re.compile(r"[\w.()-]{16,}")
WORD = re.compile(r"[^\s\u200b-]+-?")
LONG = 12  # rows: longer tables may not fit on a page, so LaTeX must be free to break them
LINE = 85  # the width of a page, in letters
BESIDE = 3  # the room between two columns
PICTURE = 24  # the width of a picture in a table
TYPED = 5  # letters of code that are as wide as six letters of text


def latex_settings(app: Sphinx, config: Config) -> None:
    import kernelcourse

    config.latex_elements = {**config.latex_elements, **LATEX}
    config.latex_elements["preamble"] = config.latex_elements.get("preamble", "") + PREAMBLE
    config.latex_domain_indices = False  # the one by sphinx-proof lists labels, not titles
    config.today = config.today or f"Version {kernelcourse.__version__}"  # in place of the date of the build


def number_as_on_the_web(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Chapters that have no number on the web have none in LaTeX either, and their figures are counted in one row."""
    if app.builder.format != "latex":
        return
    for chapter in doctree.findall(addnodes.start_of_file):
        name = chapter["docname"]
        if app.env.toc_secnumbers.get(name):
            settings = r"\setcounter{secnumdepth}{2}\let\thefigure\figureofchapter\let\theHfigure\anchoroffigure"
        else:
            settings = r"\setcounter{secnumdepth}{-1}"
            if figures := app.env.toc_fignumbers.get(name, {}).get("figure"):
                before = min(number[-1] for number in figures.values()) - 1
                settings += rf"\setcounter{{figure}}{{{before}}}\def\thefigure{{\arabic{{figure}}}}"
                settings += r"\def\theHfigure{alone.\arabic{figure}}"
        chapter.insert(0, nodes.raw("", settings, format="latex"))


def count_per_chapter(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Theorems, definitions and algorithms are counted per chapter, as on the web; Jupyter Book counts per section."""
    if app.builder.format == "latex":
        for kinds in env.toc_fignumbers.values():
            for kind, numbers in kinds.items():
                if kind not in ("figure", "table", "code-block"):
                    numbers |= {name: (old[0], i) for i, (name, old) in enumerate(numbers.items(), 1) if len(old) > 1}
    return []


def unbox_proofs(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """A proof is text like any other; LaTeX would put it into a box whose title is empty."""
    if app.builder.format == "latex":
        for proof in doctree.findall(proof_node):
            (box,) = proof.children
            first = next(iter(box.findall(nodes.Text)))
            word = nodes.emphasis("", "Proof.")
            first.parent.replace(first, [word, nodes.Text(first.astext().removeprefix("Proof."))])
            proof.children = []
            proof.extend(box.children)


def mark_boxes(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Problems and answers are boxes; LaTeX's writer would leave out where the links between them lead. The title of a
    problem stays with its text."""
    if app.builder.format == "latex":
        for box in doctree.findall(nodes.container):
            if "problem" in box["classes"]:
                together = nodes.raw("", r"\Needspace{4\baselineskip}", format="latex")
                box.insert(0, [together, nodes.target("", "", ids=box["ids"])])


def end_with_problems(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """On paper the box at the end of a chapter comes before its problems, or it would often be alone on a page."""
    if app.builder.format == "latex":
        for box in [box for box in doctree.findall(nodes.admonition) if "seealso" in box["classes"]]:
            section = box.parent
            last = box is section[-1] and any("problem" in each["classes"] for each in section.findall(nodes.container))
            if last:
                section.remove(box)
                section.parent.insert(section.parent.index(section), box)


def fit_tables(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Names in tables may break, and so may long tables. Columns of a table that is wider than the page get widths that
    suit their contents."""
    if app.builder.format != "latex":
        return
    for table in doctree.findall(nodes.table):
        for text in [text for text in table.findall(nodes.Text) if not isinstance(text.parent, nodes.math)]:
            names = NAME if isinstance(text.parent, nodes.literal) else LONG_NAME
            broken = names.sub(lambda name: BREAK.sub("\u200b", name[0]), text.astext())
            text.parent.replace(text, nodes.Text(broken))
        rows = [[_text(entry) for entry in row.findall(nodes.entry)] for row in table.findall(nodes.row)]
        columns = list(zip(*rows, strict=False))
        wide = sum(max(map(len, column)) + BESIDE for column in columns) > LINE
        if (wide or len(rows) > LONG) and "colwidths-given" not in table["classes"]:
            for spec, width in zip(table.findall(nodes.colspec), widths(columns), strict=False):
                spec["colwidth"] = width
            table["classes"] += ["colwidths-given", *(["longtable"] if len(rows) > LONG else [])]


def widths(columns: Sequence[Sequence[str]]) -> list[int]:
    """The widths of a table's columns: room for the longest word of each, and more where the texts are long.

    >>> widths([["1", "2"], ["a long explanation", "another one"]])
    [83, 767]
    """
    least = [max(len(word) for text in column for word in WORD.findall(f"{text} .")) + BESIDE for column in columns]
    mean = [sum(map(len, column)) / len(column) for column in columns]
    shrunk = min(1, 0.75 * LINE / sum(least))  # a quarter of the line at least goes to long texts
    rest = (LINE - shrunk * sum(least)) / (sum(mean) or 1)
    return [round(10 * (shrunk * low + rest * length)) for low, length in zip(least, mean, strict=True)]


def _text(entry: nodes.entry) -> str:
    """What an entry shows, with a formula as one word."""
    if any(entry.findall(nodes.image)):
        return "x" * PICTURE
    shown = entry.deepcopy()
    for code in list(shown.findall(nodes.literal)):
        name = code.astext()
        code.parent.replace(code, nodes.Text(name + "x" * (len(name) // TYPED)))
    for node in list(shown.findall(nodes.math)) + list(shown.findall(nodes.raw)):
        text = formula_text(node.astext()).replace(" ", "") if isinstance(node, nodes.math) else ""
        node.parent.replace(node, nodes.Text(text))
    return shown.astext()


# ------------------------------------------------------------------------------------------------------------ EPUB


def mathml(latex: str, *, display: bool) -> str:
    r"""A formula as MathML, without its source.

    >>> mathml("x", display=False)
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow><mi>x</mi></mrow></math>'
    """
    found = re.search(r"<math[^>]*>.*?</math>", to_html(latex, display=display), re.DOTALL)
    if not found:
        raise ValueError(f"KaTeX gave no MathML for {latex!r}")
    return APPLIED.sub('<mspace width="0.17em"/>', STYLED.sub(with_letters, found[0]))


def with_letters(styled: re.Match[str]) -> str:
    """A symbol made of letters that have its style themselves: MathML no longer has the attribute.

    >>> STYLED.sub(with_letters, '<mi mathvariant="double-struck">R</mi> <mn mathvariant="bold">1</mn>')
    '<mi>ℝ</mi> <mn>𝟏</mn>'
    """
    style, letters = styled["style"].upper(), ""
    for letter in styled["letters"]:
        name = re.sub(r"LATIN |GREEK |LETTER ", "", unicodedata.name(letter))  # CAPITAL R, DIGIT ONE
        try:
            letters += unicodedata.lookup(f"MATHEMATICAL {style} {name}")
        except KeyError:  # older than the others, such as DOUBLE-STRUCK CAPITAL R
            letters += unicodedata.lookup(f"{style} {name}")
    return f"<{styled['tag']}>{letters}</{styled['tag']}>"


def visit_inline(writer: Any, node: nodes.math) -> None:
    """A formula and the characters next to it (formulas.py), kept together on one line."""
    before, after = (writer.encode(node.get(side, "")) for side in ("before", "after"))
    formula = before + mathml(node.astext(), display=False) + after
    writer.body.append(f'<span class="together">{formula}</span>' if before or after else formula)
    raise nodes.SkipNode


def visit_display(writer: Any, node: nodes.math_block) -> None:
    from sphinx.util.math import get_node_equation_number

    writer.body.append(writer.starttag(node, "div", CLASS="formula"))
    writer.body.append(mathml(node.astext(), display=True))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})</span>')
    writer.body.append("</div>\n")
    raise nodes.SkipNode


STYLED = re.compile(r'<(?P<tag>m[in]) mathvariant="(?P<style>double-struck|script|bold)">(?P<letters>\w+)</(?P=tag)>')
APPLIED = re.compile("<mo>\u2061</mo>(?!<mo|</mrow>)")  # as in log s: e-readers set the two without a space
SAME_ID = re.compile(r'(<image [^>]*?) id="[^"]*"')  # matplotlib names equal maps, such as two colour bars, alike
NO_OUTLINE = re.compile(r"<path(?![^>]*\sd=)")  # matplotlib writes spaces, and lines that are out of sight, that way
STYLES = {"_static/basic.css", "_static/epub.css", "_static/pygments.css", "_static/reading.css"}
REPAIRS = [  # parts of pages that an e-reader does not support or must not receive
    (re.compile(r"<noscript>.*?</noscript>", re.DOTALL), ""),
    (
        re.compile(
            r'<link rel="stylesheet"[^>]*href="(?!(?:\.\./)*_static/(?:basic|epub|pygments|reading)\.css)[^>]*>'
        ),
        "",
    ),
    (re.compile(r'<svg(?! class="book-map").*?</svg>', re.DOTALL), ""),  # the arrows of parts that unfold
    (re.compile(r'(<svg class="book-map"[^>]*) role="\w+"'), r'\1 role="document"'),  # a role that EPUB allows
    (re.compile(r'<p class="collapsed admonition-title">(.*?)</p>'), r"<span>\1</span>"),
    (re.compile(r'<p class="expanded admonition-title">.*?</p>'), ""),
]


class EpubOfFolders(Epub3Builder):
    """Sphinx's builder, for a book whose first page is in a folder, and with pages that epubcheck accepts."""

    def toc_add_files(self, refnodes: list[dict[str, Any]]) -> None:
        for node in refnodes:  # Sphinx joins the first page's folder and the path from there: book/dual/../trick/svm
            node["refuri"] = posixpath.normpath(node["refuri"])
            if title := self.env.titles.get(node["refuri"].removesuffix(".xhtml")):
                node["text"] = title.astext()  # in full: the table of contents of an e-reader does not show parts
        super().toc_add_files(refnodes)

    def build_epub(self) -> None:
        out = Path(self.outdir)
        parts: dict[str, list[str]] = {}  # what a page contains besides text
        for path in out.rglob("*.xhtml"):
            text = path.read_text(encoding="utf-8")
            for wrong, right in REPAIRS:
                text = wrong.sub(right, text)
            path.write_text(text, encoding="utf-8")
            parts[path.relative_to(out).as_posix()] = [name for name in ("mathml", "svg") if f"<{name[:4]}" in text]
        for path in out.glob("_images/*.svg"):
            text = re.sub(r"<!DOCTYPE.*?>", "", path.read_text(encoding="utf-8"), count=1, flags=re.DOTALL)
            text = NO_OUTLINE.sub('<path d=""', text)
            path.write_text(SAME_ID.sub(r"\1", text), encoding="utf-8")
        self.files = [file for file in self.files if not file.endswith(".css") or file in STYLES]
        content = out / "content.opf"
        lines = []
        for line in content.read_text(encoding="utf-8").splitlines():
            item = re.search(r'<item id="[^"]*" href="([^"]*)"', line)
            if item and item[1].endswith(".css") and item[1] not in STYLES:
                continue
            if "<itemref" in line and line in lines:  # the index, which our table of contents names too
                continue
            if item and parts.get(item[1]):
                line = line.replace(" />", f' properties="{" ".join(parts[item[1]])}" />')
            lines.append(line)
        content.write_text("\n".join(lines), encoding="utf-8")
        super().build_epub()


def without_scripts(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Leave out what needs a browser (draggable figures, buttons that open a notebook) and the home page's buttons."""
    if app.builder.name == "epub":
        for node in [*doctree.findall(lab), *doctree.findall(nodes.raw)]:
            if not isinstance(node, nodes.raw) or re.search(r"<(script|a) ", node.astext()):
                node.parent.remove(node)
    if app.builder.name in ("latex", "epub"):
        for node in [node for node in doctree.findall(nodes.paragraph) if "ways" in node["classes"]]:
            node.parent.remove(node)


def setup(app: Sphinx) -> None:
    app.add_builder(EpubOfFolders, override=True)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.connect("config-inited", latex_settings)
    app.connect("env-get-updated", count_per_chapter, priority=900)  # after Sphinx has counted
    app.connect("doctree-resolved", number_as_on_the_web)
    app.connect("doctree-resolved", unbox_proofs)
    app.connect("doctree-resolved", mark_boxes)
    app.connect("doctree-resolved", end_with_problems)
    app.connect("doctree-resolved", fit_tables)
    app.connect("doctree-resolved", without_scripts)
