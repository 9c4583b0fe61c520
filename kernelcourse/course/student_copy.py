"""What a release adds to the source: links to the book, and cells that install the package and show progress."""

from __future__ import annotations

import re
from typing import Any

from ..checking.book import PAGES, PLACES, VARIABLE, address
from .errors import CourseError

MAY_FAIL = "raises-exception"  # Jupyter's tag for cells that do not stop *Run All*
_TITLES = {title: page for page, (_, title) in PAGES.items()} | {"Dual representation": "dual"}  # the chapter
_READING = re.compile(r"(\*\*Read first:\*\*)(.*?)(?=\n\n|\Z)", re.DOTALL)
_EQUATION = re.compile(r"\b([Ee]quation|eq\.) \((\d+)\)")


def first_cell(book: str, package: str) -> str:
    """The cell that lets a notebook start on Colab and in a browser, and tells the checks where the book is.

    >>> print(first_cell("", "https://example.org/kernelcourse-1.0-py3-none-any.whl"))
    # Where the course's package is missing (Colab, a browser), this installs it.
    try:
        import kernelcourse
    except ModuleNotFoundError:
        %pip install -q https://example.org/kernelcourse-1.0-py3-none-any.whl
    """
    for name, value, form in (("book", book, r"https?://\S+"), ("package", package, r"[\w+.:/@~%=\[\]-]*")):
        if value and not re.fullmatch(form, value):
            raise CourseError(f"c.StudentCopy.{name} is {value!r}, but expected an address without spaces or quotes")
    lines = []
    if package:
        lines += ["# Where the course's package is missing (Colab, a browser), this installs it."]
        lines += ["try:", "    import kernelcourse", "except ModuleNotFoundError:", f"    %pip install -q {package}"]
    if book:
        lines += ["# Where hints find the book.", "import os", f'os.environ.setdefault("{VARIABLE}", "{book}")']
    return "\n".join(lines)


def link_texts(notebook: Any, stem: str, book: str) -> None:
    """Turn the names of sections to read first, and of equations, into links to the book."""
    base = book.rstrip("/") + "/"
    equations = PLACES.get(stem.replace("-", "_"), ("", {}, {}))[2]

    def section(match: re.Match[str]) -> str:
        page = _TITLES.get(" ".join(match[1].split()))
        return f"[{match[0]}]({address(page, base)})" if page else match[0]

    def equation(match: re.Match[str]) -> str:
        label = equations.get(int(match[2]))
        return f"[{match[0]}]({address(label, base)})" if label else match[0]

    for cell in notebook.cells:
        if cell.cell_type == "markdown" and not cell.metadata.get("nbgrader", {}).get("solution"):
            text = _EQUATION.sub(equation, cell.source)
            cell.source = _READING.sub(
                lambda match: match[1] + re.sub(r"(?<!\*)\*([^*]+)\*(?!\*)", section, match[2]), text
            )


def surround(notebook: Any, book: str, package: str) -> None:
    """Put the first cell before all other code cells, and the count of correct pieces at the end."""
    import nbformat

    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    has_checks = any(re.search(r"^check = ", notebook.cells[i].source, re.MULTILINE) for i in code)
    if has_checks:
        notebook.cells.append(nbformat.v4.new_code_cell("check.progress()"))
    if start := first_cell(book, package):
        notebook.cells.insert(min(code, default=0), nbformat.v4.new_code_cell(start))
