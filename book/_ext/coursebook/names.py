r"""One page for each public name: its signature, its parameters, what it returns and raises, an example, its uses and
its source.

The pages are written when the book is built, into a folder that git ignores, and belong to no table of contents: the
tables of the reference link to them, and so do all `{lib}` links. Only the site has these pages, not the PDF and the
EPUB (`reference_names` in build.py).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from . import arguments, uses
from .docstrings import convert, restructure, split
from .library import LIBRARY, address, group_of, modules, public_names

FRONT = "book/appendix/api"
FOLDER = f"{FRONT}/names"
SECTIONS = ("book/intro", "book/introduction/", "book/dual/", "book/kernels/", "book/trick/", "book/representer/",
            "book/times/", "book/choosing/", "book/networks/")  # fmt: skip


def docname(module_name: str, name: str) -> str:
    return f"{FOLDER}/{module_name.removeprefix(f'{LIBRARY}.')}/{name}"


def heading(text: str, mark: str = "-") -> str:
    return f"\n{text}\n{mark * len(text)}\n"


def indented(text: str, by: int = 3) -> str:
    return textwrap.indent(text, " " * by)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]], widths: str) -> str:
    """A list-table, whose cells may hold any markup."""
    lines = [".. list-table::", f"   :header-rows: 1\n   :widths: {widths}\n   :class: reference-table\n"]
    for row in (head, *rows):
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    return f"``{text}``" if text else ""


def page(module: Any, name: str, used_in: list[str]) -> str:
    """A page in reStructuredText."""
    value = getattr(module, name)
    prose, example = split(inspect.getdoc(value) or "")
    kind = "class" if inspect.isclass(value) else "function"
    group, title = group_of(module.__name__)
    parts = [
        ":orphan:\n",
        heading(name, "=").lstrip(),
        f".. container:: reference-path\n\n   :doc:`Reference </{FRONT}>`, :doc:`{title} </{FRONT}/{group}>`\n",
        f".. index:: single: {name}{'()' if kind == 'function' else ''}\n",
        f".. py:{kind}:: {address(module, name)}{plain_signature(value)}\n   :no-index-entry:\n",
        indented(convert(prose)),
        *_picture(value),
        *_parameters(value),
        *_returns(value),
        *_fields(value),
        *_raises(value),
        *_example(example),
        *_methods(module, name, value),
        *_used(used_in),
        heading("Source"),
        f"``{Path(inspect.getsourcefile(inspect.unwrap(value)) or '').relative_to(package_folder()).as_posix()}``\n",
        f".. dropdown:: The definition\n\n   .. code-block:: python\n\n"
        f"{indented(arguments.source_without_docstring(value), 6)}\n",
    ]
    return "\n".join(parts)


@cache
def package_folder() -> Path:
    import kernelcourse

    return Path(kernelcourse.__file__).parent.parent


def plain_signature(value: Any) -> str:
    """The signature without types, which are in the table below it.

    >>> def f(K, *, ridge: float = 1.0): ...
    >>> plain_signature(f)
    '(K, *, ridge=1.0)'
    """
    found = arguments.signature(value)
    if found is None or (inspect.isclass(value) and not arguments.has_fields(value)):
        return ""
    parts, star = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        star = star or stars == "*"
        default = "" if parameter.default is parameter.empty else f"={arguments.shown_default(parameter.default)}"
        parts.append(f"{stars}{parameter.name}{default}")
    return f"({', '.join(parts)})"


def _parameters(value: Any) -> Iterator[str]:
    found = arguments.arguments(value)
    if not found or arguments.is_result(value):
        return
    yield heading("Parameters")
    rows = []
    for argument in found:
        notes = ", ".join(filter(None, [argument.limits, argument.kind]))
        words = restructure(argument.meaning) + (f" ({notes})" if notes else "")
        rows.append((code(argument.name), code(argument.default), words))
    yield table(("name", "default", "what it is"), rows, "20 25 55")


def _returns(value: Any) -> Iterator[str]:
    if not inspect.isfunction(value):
        return
    found, words = arguments.result(value), arguments.result_words(value)
    if found is None and not words:
        return
    yield heading("Returns")
    if found is None:
        yield restructure(words) + "\n"
        return
    public = any(found.__name__ in public_names(module) for module in modules().values())
    name = f":py:obj:`~{address_of(found)}`" if public else code(found.__name__)
    prose, _ = split(inspect.getdoc(found) or "")
    yield f"{name}: {restructure(' '.join(prose.split(chr(10) * 2)[0].split()))}\n"
    yield _field_list(found)


def address_of(value: Any) -> str:
    import sys

    return address(sys.modules[value.__module__], value.__name__)


def _fields(value: Any) -> Iterator[str]:
    if arguments.is_result(value):
        yield heading("Fields")
        yield _field_list(value)


def _field_list(value: Any) -> str:
    return "\n".join(
        f"- {code(field.name)}" + (f": {restructure(field.meaning)}" if field.meaning else "")
        for field in arguments.fields(value)
    ) + "\n"  # fmt: skip


def _raises(value: Any) -> Iterator[str]:
    if inspect.isclass(value) and not arguments.has_fields(value):
        return
    found, checked = arguments.refusals(value), arguments.checked(value)
    if not found and not checked:
        return
    yield heading("Raises")
    if checked:
        yield "- ``ValueError`` or ``TypeError``: an argument is not what the table above requires, or is not finite."
    for refusal in found:
        yield f"- {code(refusal.error)}: {restructure(refusal.message)}"
    yield ""


def _picture(value: Any) -> Iterator[str]:
    from .thumbnails import DATA, file_of

    if value.__name__ in DATA:
        yield f".. image:: /{file_of(value.__name__)}\n   :alt: {DATA[value.__name__].alt}\n   :width: 320px\n"


def _example(example: str) -> Iterator[str]:
    if example:
        yield heading("Example")
        yield convert(example) + "\n"


def _methods(module: Any, name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        return
    own = [method for method in vars(value) if _is_public_method(value, method)]
    bases = [base for base in value.__mro__[1:] if base.__module__.startswith(LIBRARY) and base.__name__[0] != "_"]
    public = [b for b in bases if any(b.__name__ in public_names(m) for m in modules().values())]
    if not own and not public:
        return
    yield heading("Methods and properties")
    for method in own:
        raw = vars(value)[method]
        kind = "property" if isinstance(raw, property) else "method"
        function = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
        signature = "" if kind == "property" else plain_signature(function)
        option = "   :classmethod:\n" if isinstance(raw, classmethod) else ""
        prose, example = split(inspect.getdoc(function) or "")
        yield f".. py:{kind}:: {address(module, name)}.{method}{signature}\n{option}"
        yield indented(convert(prose)) + "\n"
        yield indented(convert(example)) + "\n" if example else ""
    if public:
        links = ", ".join(f":py:obj:`~{address_of(base)}`" for base in public)
        yield f"{'Also those' if own else 'Those'} of {links}.\n"


def _is_public_method(value: Any, name: str) -> bool:
    raw = vars(value)[name]
    function = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
    return not name.startswith("_") and inspect.isfunction(function) and bool(function.__doc__)


def _used(used_in: list[str]) -> Iterator[str]:
    if used_in:
        yield heading("Used in")
        yield ".. rst-class:: used-in\n"
        yield "\n".join(f"- :doc:`/{page}`" for page in used_in) + "\n"


# -------------------------------------------------------------------------------------------------------- writing


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages that have changed, remove those whose names no longer exist, and let Sphinx read them."""
    site_map = config.external_site_map
    folder = Path(app.srcdir, FOLDER)
    wanted = config.reference_names and FRONT in site_map
    texts = {}
    if wanted:
        chapters = [name.removesuffix(".md") for name in site_map if name.startswith(SECTIONS)]
        used = uses.users(Path(app.srcdir), chapters)
        for module_name, module in modules().items():
            for name in public_names(module):
                path = Path(app.srcdir, f"{docname(module_name, name)}.rst")
                texts[path] = page(module, name, used.get(name, []))
        config.exclude_patterns = [p for p in config.exclude_patterns if not p.startswith(f"{FOLDER}/")]
    else:
        config.exclude_patterns = [*config.exclude_patterns, FOLDER]
        return
    for path in folder.rglob("*.rst"):
        if path not in texts:
            path.unlink()
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def share_sidebar(app: Sphinx, page_name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The table of contents beside these pages is the same for all names of a module, so it is built once."""
    if not page_name.startswith(f"{FOLDER}/") or "generate_toctree_html" not in context:
        return
    make, kept = context["generate_toctree_html"], app.env.__dict__.setdefault("_reference_sidebars", {})
    folder = page_name.rpartition("/")[0]

    def shared(**options: Any) -> Any:
        if folder not in kept:
            kept[folder] = _opened(str(make(**options)), group_of(f"{LIBRARY}.{folder.rpartition('/')[2]}")[0])
        return kept[folder]

    context["generate_toctree_html"] = shared


def _opened(contents: str, group: str) -> str:
    """The table of contents with the chapter of the reference unfolded and the group marked."""
    front = FRONT.rpartition("/")[2]
    contents = re.sub(
        rf'(<li class="toctree-l1 has-children)("><a class="reference internal" href="[^"]*/{front}\.html".*?<details)',
        r"\1 current active\2 open",
        contents,
        count=1,
        flags=re.DOTALL,
    )
    return re.sub(
        rf'(<li class="toctree-l2)("><a class="reference internal" href="[^"]*/{group}\.html")',
        r"\1 current active\2",
        contents,
        count=1,
    )


def setup(app: Sphinx) -> None:
    app.add_config_value("reference_names", True, "env")
    app.connect("config-inited", write_pages, priority=900)  # after the table of contents is read
    app.connect("html-page-context", share_sidebar, priority=900)  # after the theme has put its function there
