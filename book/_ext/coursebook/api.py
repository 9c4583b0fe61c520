r"""The reference pages: every public name of kernelcourse, found in the library itself.

A page asks for modules, or for packages with all their modules, in a block

    ```{library}
    kernelcourse.kernels
    ```

and the overview, in a block `{library-overview}`, for a table of their names. A module that no page asks for is a
warning.

Docstrings are written to be read in a terminal: Markdown's backticks, and formulas between dollar signs.
`convert_docstring` turns them into what autodoc expects. (sphinx-autodoc2 and sphinx-autoapi read no formulas between
dollar signs, and do not tell of forgotten modules.)
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
from itertools import takewhile
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

logger = logging.getLogger(__name__)
LIBRARY = "kernelcourse"
BLOCK = re.compile(r"^```\{library(?P<overview>-overview)?\}\n(?P<wanted>.*?)^```$", re.DOTALL | re.MULTILINE)
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
            with mock(["nbgrader"]):  # a book that needs no grader: one module derives its classes from nbgrader's
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
    """What a module lists in `__all__` and defines itself, in the order of its text; without a list, all it defines.

    Of the library proper and of the diagnosis, modules without a list are machinery; the instructors' side has none.
    """
    listed = getattr(module, "__all__", None)
    without_lists = module.__name__.startswith((f"{LIBRARY}.checking", f"{LIBRARY}.course"))
    if listed is None and (not without_lists or ".diagnosis" in module.__name__):
        return []
    return [
        name
        for name, value in vars(module).items()
        if (name in listed if listed is not None else not name.startswith("_"))
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


def within(wanted: str) -> list[ModuleType]:
    """The module of that name, or the modules of the package of that name."""
    return [module for name, module in modules().items() if f"{name}.".startswith(f"{wanted}.")]


def entries(module: ModuleType) -> Iterator[str]:
    """A section for a module, with autodoc's directive for each of its names."""
    yield f"## `{module.__name__}`\n\n```{{eval-rst}}\n.. automodule:: {module.__name__}\n"
    for name in public_names(module):
        is_class = inspect.isclass(getattr(module, name))
        yield f".. auto{'class' if is_class else 'function'}:: {address(module, name)}"
        yield "   :members:\n" if is_class else ""
    yield "```\n"


def overview(module: ModuleType) -> Iterator[str]:
    """A section for a module, with a table of its names and the first sentence about each."""
    yield f"\n## `{module.__name__}`\n\n| name | what it is |\n|---|---|"
    for name in public_names(module):
        paragraph = (inspect.getdoc(getattr(module, name)) or "").split("\n\n")[0]
        sentence = re.split(r"(?<=[.:]) (?=[A-Z`$])", " ".join(paragraph.split()))[0].rstrip(",:.")
        yield f"| {{lib}}`{name} <{address(module, name)}>` | {sentence.replace('|', chr(92) + '|')} |"


def fill_blocks(app: Sphinx, docname: str, source: list[str]) -> None:
    notes = app.env.metadata[docname]  # kept with the page until it is read again

    def fill(match: re.Match[str]) -> str:
        wanted = dict.fromkeys(module for name in match["wanted"].split() for module in within(name))
        if not match["overview"]:
            notes["documented"] = [module.__name__ for module in wanted]
            notes["existing"] = list(modules())
        describe = overview if match["overview"] else entries
        return "\n".join(line for module in wanted for line in describe(module))

    source[0] = BLOCK.sub(fill, source[0])


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Every module of the library has its entries on some page, if the reference is built at all."""
    existing, documented = (
        {name for notes in env.metadata.values() for name in notes.get(key, [])} for key in ("existing", "documented")
    )
    for name in sorted(existing - documented):
        logger.warning("no page of the reference asks for %s: name it in one of book/appendix/api/*.md", name)


# ---------------------------------------------------------------------------------------------------------- links


def resolve(target: str) -> str | None:
    """The address in the reference of a name such as `dual_weights`, `ridge.predict`, `Kernel.diag` or `plots`."""
    parts = target.split(".")
    found = [name for name in modules() if f".{name}".endswith(f".{target}")]
    for module_name, module in modules().items():
        given = list(takewhile(module_name.split(".").__contains__, parts[:-1]))  # packages and module, as far as given
        name, *members = parts[len(given) :]
        value = getattr(module, name, None)
        if name in public_names(module) and all(hasattr(value, member) for member in members):
            found.append(".".join([address(module, name), *members]))
    return min(found, key=lambda name: name.count("."), default=None)  # the function `logistic`, not its module


class LibraryRole(PyXRefRole):
    """`` {lib}`dual_weights` `` links to the name's entry in the reference, whichever module holds it."""

    def process_link(self, env, refnode, has_explicit_title, title, target):
        title, target = super().process_link(env, refnode, has_explicit_title, title, target)
        address = resolve(target)
        refnode.update_all_atts({"refdomain": "py", "reftype": "obj", "in_library": bool(address)}, replace=True)
        return title, address or target


def plain_name(app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element) -> nodes.Element | None:
    """In a preview without the reference pages, a name that the library has is shown without a link."""
    has_reference = any("documented" in notes for notes in env.metadata.values())
    return text if node.get("in_library") and not has_reference else None


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


def skip_fields(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """The fields of a named tuple have no docstring but Python's own: "Alias for field number 0"."""
    return True if inspect.getdoc(obj) and inspect.getdoc(obj).startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    app.connect("source-read", fill_blocks)
    app.connect("env-check-consistency", check_complete)
    app.connect("missing-reference", plain_name)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", convert_docstring)
    app.add_role("lib", LibraryRole())
