"""matplotlib in a sandbox: imported when a cell uses it, and without the lists in its docstrings.

Importing pyplot takes as long as starting a sandbox, and many of the cells that import it never draw, because the
sandbox's library lacks what they compare an answer with. Python's own LazyLoader cannot import `matplotlib.pyplot`
lazily, because that statement asks the package for its path and for pyplot.
"""

from __future__ import annotations

import sys
import threading
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

_LATER = ("matplotlib", "matplotlib.pyplot")
_LOCK = threading.RLock()  # only the thread that loads a module sees it half loaded
_PATIENCE = 50  # seconds; the thread that loads may itself wait for another thread's import
_loading: list[ModuleType] = []


class _Module(ModuleType):
    """A module that is loaded when it is first used; importing it does not load it."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__name__", "__spec__", "__path__"):  # what an import asks for
            return ModuleType.__getattribute__(self, name)
        known = ModuleType.__getattribute__(self, "__dict__").get(name)
        if type(known) is not _Module:  # pyplot, asked of matplotlib
            _load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if type(value) is not _Module:
            _load(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _load(self)
        ModuleType.__delattr__(self, name)


def _load(module: ModuleType) -> None:
    held = _LOCK.acquire(timeout=_PATIENCE)
    try:
        if type(module) is not _Module or module in _loading:
            return
        _loading.append(module)
        try:
            package = module.__name__.rpartition(".")[0]
            if package:
                _load(sys.modules[package])
            module.__spec__.loader.run(module)  # type: ignore[union-attr]
            module.__class__ = ModuleType  # type: ignore[assignment]
        finally:
            _loading.remove(module)
    finally:
        if held:
            _LOCK.release()


class _Lazy:
    """Imports a module without loading it."""

    def __init__(self, loader: Any) -> None:
        self.create_module, self.run = loader.create_module, loader.exec_module

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Module


class _Brief:
    """Imports matplotlib's artists without building their lists of properties, which are for docstrings.

    The lists take a quarter of the time that pyplot takes to import.
    """

    def __init__(self, loader: Any) -> None:
        self.create_module, self.run = loader.create_module, loader.exec_module

    def exec_module(self, module: Any) -> None:
        self.run(module)
        module.kwdoc = lambda artist: ""
        module.Artist._update_set_signature_and_docstring = classmethod(lambda cls: None)


class Finder:
    """Finds these modules, and leaves the others to Python.

    >>> Finder.find_spec("matplotlib.axes", None) is None
    True
    """

    @classmethod
    def find_spec(cls, name: str, path: Any, target: Any = None) -> Any:
        loader: Any = {"matplotlib.artist": _Brief}.get(name) or (_Lazy if name in _LATER else None)
        spec = PathFinder.find_spec(name, path, target) if loader else None
        if spec is not None:
            spec.loader = loader(spec.loader)
        return spec
