"""Each page as a notebook to download, notebooks/<part>/<section>.ipynb beside the pages.

Jupyter renders Markdown and formulas but none of MyST's directives and roles: a notebook gets plain words in their
place, with the numbers that the page shows. The code is the page's own and has not been run; saved measurements, which
a page reads from a file, are written into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from .exercises import read_exercise
from .formulas import MACROS

FENCE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<name>[\w:-]+)\} ?(?P<title>.*)\n(?P<body>(?:.*\n)*?)(?P=fence)$", re.MULTILINE
)
OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+\n?")
ROLE = re.compile(r"\{(?P<name>[\w:-]+)\}`(?P<text>[^`<]*?)(?:\s*<(?P<target>[^`>]*)>)?`")
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?!https?:)(?P<target>[^)\s]+)\)")
NUMBERED = re.compile(r"\n(?P<indent> *)\$\$ \((?P<label>eq-[\w-]+)\)")
DROPPED = re.compile(r"^(?:%.*|\([\w-]+\)=|\{\.[\w-]+\})\n?", re.MULTILINE)
LEFT_OUT = ("lab", "index", "bibliography", "include", "answers", "library-overview", "literalinclude")
SAVED = re.compile(r'Path\("(?P<file>[\w./-]+\.json)"\)\.read_text\(encoding="utf-8"\)')
CITATION = re.compile(r"([a-z]+)(\d{4})")


class Words:
    """What replaces a role or a directive of the page in a notebook."""

    def __init__(self, env: BuildEnvironment) -> None:
        self.env = env
        self.labels = env.domaindata["std"]["labels"]
        self.equations = env.domaindata["math"]["objects"]
        self.theorems = getattr(env, "proof_list", {})  # sphinx-proof adds it with the first theorem
        self.roles: dict[str, Callable[[str, str], str]] = {
            "eq": lambda text, _: f"({self.equations[text][1]})",
            "numref": lambda text, _: f"Fig. {self.number('figure', text)}",
            "prf:ref": lambda text, _: self.theorem(text),
            "ref": lambda text, target: text if target else self.title(text),
            "lib": lambda text, _: f"`{text.strip()}`",
            "cite:t": lambda text, _: self.cited(text),
            "cite:p": lambda text, _: f"({self.cited(text)})",
            "exercise": lambda text, _: read_exercise(Path(env.srcdir), text).name,
        }

    def number(self, kind: str, label: str) -> str:
        docname, anchor = (
            self.labels[label][:2] if label in self.labels else self.env.domaindata["std"]["anonlabels"][label]
        )
        return ".".join(map(str, self.env.toc_fignumbers[docname][kind][anchor]))

    def theorem(self, label: str) -> str:
        entry = self.theorems[label]
        kind = entry["realtype"]
        counter = self.env.config.prf_realtyp_to_countertyp.get(kind, kind)
        number = self.env.toc_fignumbers.get(entry["docname"], {}).get(counter, {}).get(label, ())
        return f"{kind.capitalize()} {'.'.join(map(str, number))}".strip()

    def title(self, label: str) -> str:
        return f"“{self.labels[label][2]}”"

    @staticmethod
    def cited(keys: str) -> str:
        return ", ".join(f"{name.capitalize()} ({year})" for name, year in CITATION.findall(keys))

    def role(self, match: re.Match[str]) -> str:
        text, says = " ".join(match["text"].split()), self.roles.get(match["name"])
        try:
            return says(text, match["target"] or "") if says else text
        except KeyError:  # a preview of one page does not know the labels of the other pages
            return text

    def link(self, match: re.Match[str]) -> str:
        return match["text"] or (self.title(match["target"]) if match["target"] in self.labels else match["target"])

    def equation(self, match: re.Match[str]) -> str:
        return f" \\tag{{{self.equations[match['label']][1]}}}\n{match['indent']}$$"

    def directive(self, match: re.Match[str]) -> str:
        name, title, body = match["name"], match["title"], OPTIONS.sub("", match["body"]).strip()
        if name in LEFT_OUT:
            return ""
        if name == "problems":
            return "The problems are on this page of the book."
        if name == "dropdown":
            return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
        if name == "prf:proof":
            return f"*Proof.* {body}"
        if name.startswith("prf:"):
            return f"**{name.removeprefix('prf:').capitalize()}{f' ({title})' if title else ''}.** {body}"
        return "\n\n".join(filter(None, [f"**{title}**" if title else "", body]))

    def plain(self, text: str) -> str:
        """Text of a page in Jupyter's Markdown."""
        text = DROPPED.sub("", text)
        while (shorter := FENCE.sub(self.directive, text)) != text:
            text = shorter
        text = NUMBERED.sub(self.equation, text)
        return LINK.sub(self.link, ROLE.sub(self.role, text)).strip()


def define(name: str, meaning: str) -> str:
    count = sum(f"#{n}" in meaning for n in (1, 2, 3))
    return rf"\newcommand{{{name}}}{f'[{count}]' if count else ''}{{{meaning}}}"


def with_data(code: str, folder: Path) -> str:
    """The code of a cell, with the content of every JSON file in place of the file."""

    def content(match: re.Match[str]) -> str:
        data = json.loads((folder / match["file"]).read_text(encoding="utf-8"))
        return f"r'''{json.dumps(data, ensure_ascii=False)}'''"

    return SAVED.sub(content, code)


def as_notebook(path: Path, words: Words, syntax: set[str]) -> Any:
    """The notebook for a page: the macros of its formulas, its text and its code."""
    text = path.read_text(encoding="utf-8")
    page = read_myst_markdown_notebook(text, MdParserConfig(enable_extensions=syntax))
    macros = " ".join(define(*macro) for macro in MACROS.items())
    cells = [nbformat.v4.new_markdown_cell(f"This page needs the package `kernelcourse`. ${macros}$", id="macros")]
    for number, cell in enumerate(page.cells):
        if cell.cell_type == "markdown":
            if source := words.plain(cell.source):
                cells.append(nbformat.v4.new_markdown_cell(source, id=f"cell-{number}"))
        elif "only-in-book" not in cell.metadata.get("tags", []):  # such cells are about the saved timings
            cells.append(nbformat.v4.new_code_cell(with_data(cell.source, path.parent), id=f"cell-{number}"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    words = Words(app.env)
    for docname in sorted(app.env.found_docs):
        path = Path(app.env.doc2path(docname))
        if is_myst_markdown_notebook(path.read_text(encoding="utf-8")):
            target = Path(app.outdir, "notebooks", f"{docname.removeprefix('book/')}.ipynb")
            target.parent.mkdir(parents=True, exist_ok=True)
            notebook = as_notebook(path, words, set(app.config.myst_enable_extensions))
            target.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", write_notebooks)
