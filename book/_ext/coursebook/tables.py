r"""The tables of the reference: kernels, algorithms, estimators, data sets and the remaining names, derived from the
library.

A page asks for a table in a block, with lines `name | words` for what the library itself does not say:

    ```{library-algorithms}
    dual_weights | $n^3/3$
    ```

A name that the library has and no table shows, or a line for a name that does not exist, causes a warning.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from . import arguments
from .docstrings import first_sentence, split
from .library import address, of_group, public_names
from .thumbnails import DATA, file_of, letters, objects, opening

FORMULA = re.compile(r"\$k(?:\([^)]*\))? = ([^$]*)\$")
SOURCE = re.compile(r"\(((?:lecture|Bishop|[BISKH]\d)[^;)]*(?:; lecture [^;)]*)*)")
LECTURE = re.compile(r"[Ll]ecture ([BISKH])\b")

Notes = dict[str, str]
Rows = list[list[str]]


def lib(module: ModuleType, name: str, title: str = "") -> str:
    return f"{{lib}}`{title or name} <{address(module, name)}>`"


def markdown(head: str, rows: Rows) -> str:
    columns = [cell.strip() for cell in head.split("|")]
    escaped = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *escaped]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def in_group(group: str) -> Iterator[tuple[ModuleType, str, Any]]:
    for module in of_group(group):
        for name in public_names(module):
            yield module, name, getattr(module, name)


def doc(value: Any) -> str:
    return split(inspect.getdoc(value) or "")[0]


# -------------------------------------------------------------------------------------------------------- kernels


def is_kernel(value: Any) -> bool:
    """A kernel with parameters, rather than a base class for new ones."""
    return inspect.isclass(value) and dataclasses.is_dataclass(value) and hasattr(value, "formula")


def kernels(notes: Notes) -> str:
    rows = []
    for module, name, value in in_group("kernels"):
        if not is_kernel(value):
            continue
        formula = FORMULA.search(doc(value))
        rows.append(
            [
                lib(module, name),
                f"${formula[1]}$" if formula else "",
                ", ".join(f"`{argument.name}`" for argument in arguments.arguments(value)) or "none",
                "yes" if value.stationary else "no",
                "yes" if value.radial else "no",
                finite_features(value),
                source(value),
            ]
        )
    return markdown("kernel | $k(x, x')$ | parameters | stationary | radial | finite features | lecture", rows)


def source(value: Any) -> str:
    """Where it is in the lectures: the first paragraph's words in parentheses, or the lecture that is mentioned."""
    text = doc(value)
    if found := SOURCE.search(text.split("\n\n")[0]):
        return found[1].replace("lecture ", "")
    return (LECTURE.findall(text) or ["–"])[0]


def parameters(value: Any) -> str:
    found = arguments.arguments(value)
    return ", ".join(f"`{a.name}={a.default}`" if a.default else f"`{a.name}`" for a in found) or "none"


def finite_features(kernel: type) -> str:
    """Whether the kernel in its own example has a finite feature map, tried at a point that it accepts."""
    import kernelcourse

    stated = getattr(kernel, "finite_with", None)
    if stated in {field.name for field in dataclasses.fields(kernel)}:
        return f"with `{stated}`"
    for point in ([0.0, 0.0], "a", [[0]]):  # the last one is a graph with one node
        try:
            example(kernel).features([point])
        except kernelcourse.NoFiniteFeatureMap:
            return "no"
        except (TypeError, ValueError):
            continue
        return "yes"
    raise LookupError(f"{kernel.__name__} accepts none of the points tried")


def example(value: type) -> Any:
    """The first object of a class that its docstring makes."""
    import kernelcourse

    lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", inspect.getdoc(value) or "", re.MULTILINE)
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Call) and re.fullmatch(rf"{value.__name__}(\.\w+)?", ast.unparse(node.func)):
            return eval(ast.unparse(node), dict(vars(kernelcourse)))
    raise LookupError(f"the docstring of {value.__name__} contains no example of it")


# ----------------------------------------------------------------------------------------------------- algorithms


def algorithms(notes: Notes) -> str:
    """The solvers: those for which the page states a result and a cost."""
    rows = []
    for module, name, value in in_group("algorithms"):
        if name in notes:
            result, cost = re.split(r"\s*\|\s*", notes.pop(name), maxsplit=1)
            rows.append([lib(module, name), first_sentence(doc(value)), f"`{takes(value)} → {result}`", cost])
    return markdown("algorithm | problem | from → to | cost", rows)


def takes(value: Any) -> str:
    """The required arguments that are passed by position: `K, t`."""
    found = inspect.signature(value).parameters.values()
    return ", ".join(p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty)


# ----------------------------------------------------------------------------------------------------- estimators


def estimators(notes: Notes) -> str:
    rows = []
    for module, name, value in in_group("estimators"):
        if not inspect.isclass(value) or not dataclasses.is_dataclass(value):
            continue
        rows.append([lib(module, name), parameters(value), fitted(value), notes.pop(name, "")])
    return markdown("estimator | parameters | fitted | closed form", rows)


def fitted(value: Any) -> str:
    """The fitted attributes, which its docstring or that of a base class lists."""
    for base in value.__mro__:
        words = " ".join((base.__doc__ or "").split())
        if found := re.search(r"Fitted\b", words):
            names = re.findall(r"`(\w+_)`", words[found.start() :])
            return ", ".join(f"`{name}`" for name in dict.fromkeys(names))
    model = value().fit([[0.0], [1.0]], [0.0, 1.0])
    return ", ".join(f"`{name}`" for name in vars(model) if name.endswith("_") and not name.startswith(("_", "n_")))


# ------------------------------------------------------------------------------------------------- data, the rest


def data(notes: Notes) -> str:
    rows = []
    for module, name, value in in_group("data"):
        if name in DATA:
            rows.append([picture(value), lib(module, name), first_sentence(doc(value))])
    return markdown("picture | function | what it is", rows)


def picture(value: Any) -> str:
    """The picture of a data set; for texts and sequences, the first few of them."""
    drawn = DATA[value.__name__]
    if drawn.draw is not letters:
        return f"![{drawn.alt}](/{file_of(value.__name__)})"
    return " ".join(f"`{opening(re.sub('[`|]', ' ', text), 20)}`" for text in objects(drawn.make(value))[:3])


def others(group: str, shown: set[str]) -> str:
    """The names of a group that no other table shows."""
    rows = [
        [lib(module, name), first_sentence(doc(value))] for module, name, value in in_group(group) if name not in shown
    ]
    return markdown("name | what it is", rows) if rows else ""


def commands() -> str:
    """The commands of the command line, with their options."""
    from kernelcourse.course import cli

    parser = cli.build_parser()
    (choices,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    parts = [markdown("command | what it does", [[f"`kernelcourse {n}`", w] for n, w in cli.COMMANDS.items()])]
    for name, command in choices.items():
        rows = [
            [f"`{', '.join(a.option_strings) or a.metavar or a.dest}`", (a.help or "").replace("%%", "%")]
            for a in command._actions
            if "--help" not in a.option_strings
        ]
        description = " ".join((command.description or "").split("\n\n")[0].split())
        parts.append(
            f"## kernelcourse {name}\n\n{description}\n\n" + (markdown("argument | meaning", rows) if rows else "")
        )
    return "\n".join(parts)


TABLES: dict[str, Callable[[Notes], str]] = {
    "kernels": kernels,
    "algorithms": algorithms,
    "estimators": estimators,
    "data": data,
}
