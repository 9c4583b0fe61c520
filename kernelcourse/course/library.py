"""The library as a sandbox may see it: without the pieces under test, the catalogues and the instructor's side.

Functions that an answer could call instead of implementing them keep their names but lose their bodies. The catalogue
and the notebook determine which: all except those that the notebook's own locked cells import.
We do this ourselves, because limits inside one interpreter (RestrictedPython) do not withstand the attacks in
tests/grading.
"""

from __future__ import annotations

import ast
import compileall
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from ..checking.calling import called, watched
from ..checking.checks import catalogue, has_pieces
from ..checking.piece import Piece

PACKAGE = Path(__file__).parents[1]
REFUSED = "LibraryRefused"
# These answer no exercise: the seam, argument checks, data sets, pictures.
_HARMLESS = {"seam", "validation", "datasets", "plots"}
_HARMLESS |= {f"datasets.{path.stem}" for path in (PACKAGE / "datasets").glob("*.py")}

_REFUSING = f'''"""What the grader's copy of the library says in place of an answer."""

import traceback


class {REFUSED}(RuntimeError):
    """The notebook asks you to write this yourself."""

    def _render_traceback_(self):  # IPython's own takes fifty times as long, and released cells do not show it
        return traceback.format_exception(self)


def refuse(name):
    raise {REFUSED}(f"{{name}} is left out while grading: write it yourself")


class Refusing(type):
    """The class of classes that cannot be used."""

    def __call__(cls, *args, **kwargs):
        refuse(f"{{cls.__module__}}.{{cls.__qualname__}}")

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"{{cls.__module__}}.{{cls.__qualname__}}.{{name}}")
'''

_CHECKING = '''"""While grading, answers are judged outside the kernel; here `check` is silent."""


class _Silent:
    def __call__(self, *names, **answers):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class _Catalogue:
    @staticmethod
    def checks(seed):
        return _Silent()


def catalogue(notebook):
    return _Catalogue


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Catalogue
'''


def locked_cells(release: Any) -> list[str]:
    """The sources of the code cells of a released notebook that must run as they are."""
    found = []
    for cell in release.cells:
        ours = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and ours.get("locked") and not ours.get("grade"):
            found.append(cell.source)
    return found


def library_for(stem: str, locked: Iterable[str], shelf: Path) -> Path:
    """The folder with the library for a notebook; built once and kept on the shelf.

    `locked` holds the sources of the notebook's locked cells, which must run as they are.
    """
    locked = list(locked)
    imports = sorted({ast.unparse(node) for source in locked for node in _imports(source)})
    digest = hashlib.sha256("\0".join([stem, sys.version, _contents(), *imports]).encode())
    if has_pieces(stem):
        digest.update(Path(catalogue(stem).__file__).read_bytes())
    place = shelf / f"{stem}-{digest.hexdigest()[:16]}"
    if not place.exists():
        shelf.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=shelf))
        _build(draft, kept_modules(stem, locked))
        try:
            draft.replace(place)
        except OSError:  # another process was quicker
            shutil.rmtree(draft)
    return place


@cache
def _contents() -> str:
    """A hash of the library's files, which are read once, like its modules."""
    files = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.glob("data/*")])
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def kept_modules(stem: str, locked: Iterable[str]) -> set[str]:
    """The modules whose functions keep their bodies."""
    needed = set(_HARMLESS)
    for module in {module for source in locked for module in _imported(source)}:
        needed |= _with_imports(module)
    return needed - (_called_by_references(catalogue(stem)) - _HARMLESS if has_pieces(stem) else set())


def _imported(source: str) -> Iterator[str]:
    """The library's modules that contain what a cell imports by name."""
    for node in _imports(source):
        if (node.module or "").partition(".")[0] == PACKAGE.name:
            home = import_module(node.module or "")
            for alias in node.names:
                thing = getattr(home, alias.name, None)
                name = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", "")
                if name.startswith(f"{PACKAGE.name}.") and ".checking" not in name:
                    yield name.partition(".")[2]


def _imports(source: str) -> list[ast.ImportFrom]:
    """The imports of a cell; the rest of its text, for example a seed, does not change what it needs."""
    return [node for node in ast.walk(_parsed(source)) if isinstance(node, ast.ImportFrom)]


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # a magic command
        return ast.Module([], [])


def _file(module: str) -> Path:
    folder = PACKAGE.joinpath(*module.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def _with_imports(module: str) -> set[str]:
    """A module and the modules of the library that it depends on."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if not name or name in found or not _file(name).is_file():
            continue
        found.add(name)
        package = name.split(".") if _file(name).name == "__init__.py" else name.split(".")[:-1]
        for node in ast.walk(ast.parse(_file(name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = package[: len(package) - node.level + 1]
                base += node.module.split(".") if node.module else []
                waiting += [".".join([*base, *tail]) for tail in ([], *([alias.name] for alias in node.names))]
    return found


def _called_by_references(notebook: Any) -> set[str]:
    """The modules that the references of a catalogue call."""
    import numpy as np

    used: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        package, _, name = called(frame)[0].partition(".")
        if (
            event == "call"
            and package == PACKAGE.name
            and frame.f_back
            and called(frame.f_back)[0] == notebook.__name__
        ):
            used.add(name)

    for piece in notebook.checks(0).pieces.values():
        cases = [case.fresh() for case in piece.cases(np.random.default_rng(0))] if isinstance(piece, Piece) else [()]
        with watched(note):
            for arguments in cases:
                piece.reference(*arguments)
    return used - {notebook.__name__.partition(".")[2]}


def _build(place: Path, kept: set[str]) -> None:
    package = place / PACKAGE.name
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] in ("checking", "course", "_engine"):
            continue
        text = path.read_text(encoding="utf-8")
        module = ".".join(part for part in parts if part != "__init__")
        _write(
            package / path.relative_to(PACKAGE),
            text if module in kept or path.stem == "__init__" else _without_bodies(text, module),
        )
    shutil.copytree(PACKAGE / "data", package / "data")
    for name in (
        "course/__init__",
        "course/drawing",
        "course/plain",
        "course/worker",
        "checking/calling",
        "checking/cases",
        "checking/plain",
        "checking/values",
    ):
        _write(package / f"{name}.py", (PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
    _write(package / "checking" / "__init__.py", _CHECKING)
    _write(package / "refused.py", _REFUSING)
    compileall.compile_dir(place, quiet=2, stripdir=str(place), prependdir="/library")
    for known in _fonts():
        shutil.copy(known, place)
    for path in (place, *place.rglob("*")):  # the sandbox's user owns none of these files
        path.chmod(0o755 if path.is_dir() else 0o644)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _without_bodies(text: str, module: str) -> str:
    """A module's names, each refusing to be used, with its imports from the library and its plain constants."""
    lines = [f"from {PACKAGE.name}.refused import Refusing, refuse"]
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            lines.append(ast.unparse(node))
        elif isinstance(node, ast.FunctionDef):
            name = f"{PACKAGE.name}.{module}.{node.name}"
            lines.append(f"def {node.name}(*args, **kwargs):\n    refuse({name!r})")
        elif isinstance(node, ast.ClassDef):
            lines.append(f"class {node.name}(metaclass=Refusing):\n    pass")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            lines.extend(_constants(node))
    return "\n\n\n".join(lines) + "\n"


def _constants(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    try:
        value = repr(ast.literal_eval(node.value or ast.Constant(None)))
    except ValueError:
        value = "None"
    for target in targets:
        if isinstance(target, ast.Name):
            yield f"{target.id} = {value}"
        else:
            yield from (f"{part.id} = None" for part in ast.walk(target) if isinstance(part, ast.Name))


def _fonts() -> list[Path]:
    """Matplotlib's list of this machine's fonts, which it builds once and keeps."""
    from matplotlib import font_manager, get_cachedir

    known = Path(get_cachedir()) / f"fontlist-v{font_manager.FontManager.__version__}.json"
    return [known] if known.exists() else []
