"""Which sections use a name from the library: those that link to it with `{lib}`, or import it in a visible cell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\{lib\}`(?:[^`<]*<)?([\w.]+)>?`")
LIBRARY = "kernelcourse"


def used_names(page: str) -> set[str]:
    """The names that a page links to or imports.

    >>> sorted(used_names("See {lib}`Kernel.exp` and {lib}`the fit <KernelRidge>`."))
    ['KernelRidge', 'exp']
    >>> cell = "```{code-cell} python3\\nfrom kernelcourse import Gaussian, plots\\nplots.slope(f)\\n```\\n"
    >>> sorted(used_names(cell))
    ['Gaussian', 'plots', 'slope']
    """
    names = {part for link in LINK.findall(page) for part in link.split(".")[-1:]}
    for cell in CELL.findall(page):
        header, code = _split(cell)
        if "remove-cell" in header:
            continue
        try:
            tree = ast.parse(re.sub(r"^[%!].*$", "", code, flags=re.MULTILINE))
        except SyntaxError:  # a cell that shows a mistake
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == LIBRARY:
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "plots":
                names.add(node.attr)
    return names


def _split(cell: str) -> tuple[str, str]:
    """A cell's header, of `---` lines or of options, and its code."""
    if cell.startswith("---\n"):
        header, _, code = cell[4:].partition("---\n")
        return header, code
    lines = cell.splitlines(keepends=True)
    options = next((i for i, line in enumerate(lines) if not line.startswith(":")), len(lines))
    return "".join(lines[:options]), "".join(lines[options:])


def users(root: Path, docnames: Iterable[str]) -> dict[str, list[str]]:
    """The pages that use a name, in the order of the book."""
    found: dict[str, list[str]] = {}
    for docname in docnames:
        source = root / f"{docname}.md"
        if source.exists():
            for name in used_names(source.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(docname)
    return found
