"""What the library holds: its public modules, the names that they list in `__all__`, and where to import them from."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from functools import cache
from itertools import takewhile
from types import ModuleType

from sphinx.util import logging

logger = logging.getLogger(__name__)
LIBRARY = "kernelcourse"
# The parts that students and instructors use through commands; they have no functions to call.
BY_COMMAND = (f"{LIBRARY}.checking", f"{LIBRARY}.course")
# The pages of the reference, and the packages and modules of each; the longest match counts.
GROUPS = {
    "kernels": ("Kernels", "kernels.vectors kernels.rules kernels.strings kernels.text kernels.sets kernels"),
    "algorithms": (
        "Algorithms",
        "algorithms.ridge algorithms.perceptron algorithms.neighbors algorithms.logistic algorithms.softmax "
        "algorithms.svm algorithms",
    ),
    "estimators": ("Estimators", "estimators.regressors estimators.classifiers estimators scaling.estimators"),
    "selection": ("Choosing, and large data", "selection scaling"),
    "tools": ("Gram matrices, features and figures", "gram features plots seam validation"),
    "data": ("Data sets", "datasets.generated datasets.measured datasets"),
}


@cache
def modules() -> dict[str, ModuleType]:
    """The library's modules that list public names."""
    package = importlib.import_module(LIBRARY)
    found = {}
    for info in pkgutil.walk_packages(package.__path__, f"{LIBRARY}.", onerror=warn_of_module):
        if any(part.startswith("_") for part in info.name.split(".")) or info.name.startswith(BY_COMMAND):
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
    if not name.startswith(BY_COMMAND):
        logger.warning("%s cannot be imported: %s", name, sys.exc_info()[1])


@cache
def public_names(module: ModuleType) -> list[str]:
    """The names that a module lists in `__all__` and defines itself, in the order in which it defines them."""
    listed = getattr(module, "__all__", ())
    return [
        name
        for name, value in vars(module).items()
        if name in listed
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


def group_of(module_name: str) -> tuple[str, str]:
    """The page of the reference that lists a module's names, and its title: the page with the longest match."""
    inside = module_name.removeprefix(f"{LIBRARY}.")
    fitting = [
        (len(part), page, title)
        for page, (title, parts) in GROUPS.items()
        for part in parts.split()
        if f"{inside}.".startswith(f"{part}.")
    ]
    if not fitting:
        raise LookupError(f"no page of the reference lists {module_name}: add it to GROUPS in coursebook/library.py")
    _, page, title = max(fitting)
    return page, title


def of_group(group: str) -> list[ModuleType]:
    """The modules of a page, in the order in which GROUPS names them."""
    parts = GROUPS[group][1].split()

    def place(name: str) -> int:
        return next(i for i, part in enumerate(parts) if f"{name}.".startswith(f"{LIBRARY}.{part}."))

    return [modules()[name] for name in sorted((n for n in modules() if group_of(n)[0] == group), key=place)]


def resolve(target: str) -> str | None:
    """The address of a name such as `dual_weights`, `ridge.predict` or `Kernel.diag`."""
    parts = target.split(".")
    found = []
    for module_name, module in modules().items():
        given = list(takewhile(module_name.split(".").__contains__, parts[:-1]))  # packages and module, as far as given
        name, *members = parts[len(given) :]
        value = getattr(module, name, None)
        if name in public_names(module) and all(hasattr(value, member) for member in members):
            found.append(".".join([address(module, name), *members]))
    return min(found, key=lambda name: name.count("."), default=None)
