"""The shape of the package: what may import what, how light it is, and that every public name is documented."""

import ast
import dataclasses
import dis
import importlib
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import kernelcourse
from kernelcourse.estimators.base import Estimator

PACKAGE = Path(kernelcourse.__file__).parent
ROOT = PACKAGE.parent

# Each layer may import from itself and from those before it.
LAYERS = [
    {"seam", "validation", "linalg", "features", "gram", "kernels", "algorithms"},
    {"datasets"},
    {"estimators"},
    {"selection", "scaling", "plots"},
    {"checking"},
    {"course"},
]
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}


@cache
def imports(path):
    """The top-level modules of our package that a file imports, and the outside packages at its top level."""
    inside, outside = set(), set()
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(parts[: -node.level])
            target = base + (node.module.split(".") if node.module else [])
            inside |= {target[0]} if target else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("kernelcourse."):
            inside.add(node.module.split(".")[1])
    for node in tree.body:
        if isinstance(node, ast.Import):
            outside |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            outside.add(node.module.split(".")[0])
    return inside, outside


MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem in RANK)
ENGINE = [p for p in MODULES if p.parent.name == "_engine"]
LESSONS = [p for p in MODULES if p not in ENGINE]
# The instructor's side needs nbgrader; the command line imports it only when a command needs it.
LIBRARY = [p for p in MODULES if "course" not in p.relative_to(PACKAGE).parts]
FOR_SPEED = {"threadpoolctl", "concurrent", "multiprocessing", "threading", "ctypes"}


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    inside, _ = imports(path)
    for other in inside & set(RANK):
        assert RANK[other] <= RANK[own], f"{own} imports {other}, which is a layer above it"
    if own == "algorithms":
        assert "kernels" not in inside, "algorithms see K, never a kernel"
    if own == "kernels":
        assert not inside & {"algorithms", "gram"}, "kernels make K and know nothing about how it is used"


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_numpy_is_enough_and_the_engine_takes_what_is_fast(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    _, outside = imports(path)
    allowed = {"numpy"} | {"plots": {"matplotlib"}, "_engine": {"scipy"}}.get(own, set())
    foreign = {name for name in outside if name not in sys.stdlib_module_names and name != "kernelcourse"}
    assert foreign <= allowed, f"imported at the top of {path.name}: {foreign - allowed}"


@pytest.mark.parametrize("path", [p for p in LESSONS if p in LIBRARY], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_seam_knows_of_the_engine(path):
    source = path.read_text(encoding="utf-8")
    if path.name != "seam.py":
        assert "_engine" not in source
        everywhere = re.findall(r"^\s*(?:from|import) (\w+)", source, re.M)
        assert not FOR_SPEED & set(everywhere)


@pytest.mark.parametrize("module", ["kernelcourse", "kernelcourse.__main__", "kernelcourse.checking"])
def test_importing_the_package_stays_light(module):
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "matplotlib",
        "sklearn",
        "nbgrader",
        "IPython",
        "pandas",
        "dask",
        "scipy.optimize",
        "scipy.spatial",
    }
    assert heavy & set(loaded) == set()


@pytest.mark.parametrize("name", kernelcourse.__all__)
def test_every_public_name_is_documented(name):
    thing = getattr(kernelcourse, name)
    assert (thing.__doc__ or "").strip()
    if inspect.isfunction(thing):
        assert ">>>" in thing.__doc__, f"{name} has no doctest"
        assert "return" in thing.__annotations__, f"{name} has no return type"


def test_random_numbers_are_asked_for_by_name():
    for name in kernelcourse.__all__:
        thing = getattr(kernelcourse, name)
        known = inspect.isfunction(thing) or dataclasses.is_dataclass(thing)
        parameters = inspect.signature(thing).parameters if known else {}
        if "rng" in parameters:
            assert parameters["rng"].kind is inspect.Parameter.KEYWORD_ONLY, name


def test_the_package_has_the_names_that_its_modules_list():
    assert len(set(kernelcourse.__all__)) == len(kernelcourse.__all__)
    for name in ("Gaussian", "KernelRidge", "dual_weights", "NystromRidge", "k_fold", "engine", "two_moons"):
        assert name in kernelcourse.__all__
    public = {name for name in vars(kernelcourse) if not name.startswith("_")}
    modules = {name for name in public if inspect.ismodule(getattr(kernelcourse, name))}
    assert public - modules == set(kernelcourse.__all__) - modules


def test_the_version_stands_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+", kernelcourse.__version__)
    for file in ("pyproject.toml", "CITATION.cff"):
        assert f'"{kernelcourse.__version__}"' not in (ROOT / file).read_text(encoding="utf-8")
    assert f"## {kernelcourse.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize(
    "command", [[sys.executable, "-m", "kernelcourse"], [str(Path(sys.executable).parent / "kernelcourse")]]
)
def test_the_two_ways_to_start_the_program_agree(command):
    out = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert kernelcourse.__version__ in out


def test_no_module_is_too_long():
    for path in PACKAGE.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 800, f"{path.name} should be split"


def test_no_test_is_without_an_assertion():
    checks = re.compile(r"assert|raises|warns|check\(|fail\(|wait_for|\bclose\(")
    for path in (ROOT / "tests").rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                assert checks.search(body), f"{path.name}::{node.name} asserts nothing"


def functions(code):
    """The code of every function in a module, including nested functions and methods."""
    for inner in filter(inspect.iscode, code.co_consts):
        if not inner.co_name.startswith("<"):
            yield inner
        yield from functions(inner)


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda p: p.stem)
def test_what_a_test_draws_does_not_depend_on_the_tests_before_it(path):
    source = path.read_text(encoding="utf-8")
    shared = set(re.findall(r"^(\w+) = np\.random\.default_rng\([^()]*\)$", source, re.M))
    for function in functions(compile(source, path.name, "exec")):
        read = {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}
        assert not read & shared, f"{function.co_name} draws from its module's generator: take the fixture rng"


def test_values_do_not_change_and_estimators_are_equal_only_to_themselves():
    for path in sorted((ROOT / "kernelcourse").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name.startswith("kernelcourse.course") or name.endswith("__main__"):
            continue  # the course's records are filled in step by step
        for thing in vars(importlib.import_module(name)).values():
            if not (inspect.isclass(thing) and thing.__module__ == name and "__dataclass_params__" in vars(thing)):
                continue
            made = thing.__dataclass_params__
            if issubclass(thing, Estimator):
                assert not made.eq and not made.repr, thing
            else:
                assert made.frozen, f"{thing} can be changed after it is made"
