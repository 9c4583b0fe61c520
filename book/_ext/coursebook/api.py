r"""The reference pages: every public name of kernelcourse, found in the library itself.

A page asks for modules, or for packages with all their modules, in a block

    ```{library}
    kernelcourse.kernels
    ```

and the overview asks for all names in a block `{library-overview}`. A module that no page asks for is a warning.

Docstrings are written to be read in a terminal: Markdown's backticks, and formulas between dollar signs.
`convert_docstring` turns them into what autodoc expects.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

logger = logging.getLogger(__name__)
LIBRARY = "kernelcourse"
BLOCK = re.compile(r"^```\{library\}\n(?P<wanted>.*?)^```$", re.DOTALL | re.MULTILINE)
OVERVIEW = re.compile(r"^```\{library-overview\}\n```$", re.MULTILINE)
INLINE = re.compile(r"``.+?``|`[^`]+`|\$[^$]+\$|[*_|\\]", re.DOTALL)

# ------------------------------------------------------------------------------------------- what the library holds


@cache
def modules() -> dict[str, ModuleType]:
    """The library's public modules that define public names."""
    package = importlib.import_module(LIBRARY)
    found = {}
    for info in pkgutil.walk_packages(package.__path__, f"{LIBRARY}.", onerror=warn_of_module):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        try:
            module = importlib.import_module(info.name)
        except (ImportError, SyntaxError):
            warn_of_module(info.name)
        else:
            if public_names(module):
                found[info.name] = module
    return found


def warn_of_module(name: str) -> None:
    logger.warning("%s cannot be imported: %s", name, sys.exc_info()[1])


def public_names(module: ModuleType) -> list[str]:
    """The functions and classes that a module itself defines, in the order of its text."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
        and value.__name__ == name
    ]


def address(module: ModuleType, name: str) -> str:
    """The shortest address from which a name can be imported: `kernelcourse.Gaussian`."""
    parts = module.__name__.split(".")
    packages = [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    value = getattr(module, name)
    return f"{next(p for p in packages if getattr(sys.modules[p], name, None) is value)}.{name}"


# --------------------------------------------------------------------------------------------------------- pages


def entries(wanted: str) -> Iterator[str]:
    """A section for each module within `wanted`, with autodoc's directive for each of its names."""
    for module_name, module in modules().items():
        if module_name != wanted and not module_name.startswith(f"{wanted}."):
            continue
        yield f"## `{module_name}`\n\n```{{eval-rst}}\n.. automodule:: {module_name}\n"
        for name in public_names(module):
            is_class = inspect.isclass(getattr(module, name))
            yield f".. auto{'class' if is_class else 'function'}:: {address(module, name)}"
            yield "   :members:\n" if is_class else ""
        yield "```\n"


def overview() -> Iterator[str]:
    """A table for each module: its names, and the first sentence about each."""
    for module_name, module in modules().items():
        yield f"\n## `{module_name}`\n\n| name | what it is |\n|---|---|"
        for name in public_names(module):
            paragraph = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")[0]
            sentence = re.split(r"(?<=[.:]) (?=[A-Z`$])", " ".join(paragraph.split()))[0].rstrip(":")
            yield f"| {{lib}}`{name} <{address(module, name)}>` | {sentence.replace('|', chr(92) + '|')} |"


def fill_blocks(app: Sphinx, docname: str, source: list[str]) -> None:
    def fill(match: re.Match[str]) -> str:
        wanted = match["wanted"].split()
        notes["documented"] = [m for m in modules() if any(f"{m}.".startswith(f"{w}.") for w in wanted)]
        return "\n".join(line for name in wanted for line in entries(name))

    def fill_overview(match: re.Match[str]) -> str:
        notes["listed"] = list(modules())
        return "\n".join(overview())

    notes = app.env.metadata[docname]  # kept with the page until it is read again
    source[0] = OVERVIEW.sub(fill_overview, BLOCK.sub(fill, source[0]))


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Every module of the overview has its entries on some page."""
    documented, listed = (
        {name for notes in env.metadata.values() for name in notes.get(key, [])} for key in ("documented", "listed")
    )
    for name in sorted(listed - documented):
        logger.warning("no page of the reference asks for %s: name it in one of book/appendix/api/*.md", name)


class LibraryRole(PyXRefRole):
    """`` {lib}`dual_weights` `` links to the name's entry in the reference, whichever module holds it."""

    def process_link(self, env, refnode, has_explicit_title, title, target):
        title, target = super().process_link(env, refnode, has_explicit_title, title, target)
        refnode.update_all_atts({"refdomain": "py", "reftype": "obj", "refspecific": True}, replace=True)
        return title, target


def plain_name(app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element) -> nodes.Element | None:
    """In a preview without the reference pages, a name that the library has is shown without a link."""
    if node.get("refdomain") != "py" or any("documented" in notes for notes in env.metadata.values()):
        return None
    first, *rest = node["reftarget"].removeprefix(f"{LIBRARY}.").split(".")
    holders = [getattr(module, first) for module in modules().values() if hasattr(module, first)]
    return text if any(all(hasattr(holder, name) for name in rest) for holder in holders) else None


# ---------------------------------------------------------------------------------------------------- docstrings


def restructure(text: str) -> str:
    """Markdown's inline code and formulas as reStructuredText, everything else literally.

    >>> restructure("the weights `a` of $k(x)$")
    'the weights \\\\ ``a``\\\\  of \\\\ :math:`k(x)`\\\\ '
    """

    def replace(match: re.Match[str]) -> str:
        piece = match[0]
        if piece[0] == "`":
            return rf"\ ``{piece.strip('`')}``\ "
        if piece[0] == "$":
            return rf"\ :math:`{piece[1:-1]}`\ "
        return "\\" + piece

    return INLINE.sub(replace, text)


def convert_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Convert the paragraphs of a docstring; doctests stay as they are."""
    paragraphs = []
    for paragraph in "\n".join(lines).split("\n\n"):
        text = paragraph.strip()
        if text.startswith(">>>"):
            paragraphs.append(paragraph)
        elif text.startswith("$$") and text.endswith("$$"):
            paragraphs.append(".. math::\n\n" + textwrap.indent(text.strip("$"), "   "))
        else:
            paragraphs.append(restructure(paragraph))
    lines[:] = "\n\n".join(paragraphs).split("\n")


def setup(app: Sphinx) -> None:
    app.connect("source-read", fill_blocks)
    app.connect("env-check-consistency", check_complete)
    app.connect("missing-reference", plain_name)
    app.connect("autodoc-process-docstring", convert_docstring)
    app.add_role("lib", LibraryRole())
