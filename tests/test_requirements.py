"""Requirements: pyproject.toml, requirements.txt and requirements.lock agree, and list everything that is imported."""

import ast
import re
import sys
import textwrap
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from environment import NEEDS, packages, sections

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ASKED = sections((ROOT / "requirements.txt").read_text(encoding="utf-8"))
LOCKED = sections((ROOT / "requirements.lock").read_text(encoding="utf-8"))
# Not among our requirements, but imported: scikit-learn itself calls the method that imports it.
GUESTS = {"kernelcourse/estimators/base.py": {"scikit-learn"}}
# The book's reference is built without it (book/_ext/coursebook/library.py).
MOCKED = {"nbgrader"}


def ranges(lines):
    """name -> (extras, range) of requirements; a reference to our own extras is followed."""
    found = {}
    for line in lines:
        requirement = Requirement(line)
        if requirement.name == PROJECT["name"]:
            found |= {name: value for extra in requirement.extras for name, value in ranges(EXTRAS[extra]).items()}
        else:
            found[canonicalize_name(requirement.name)] = (requirement.extras, requirement.specifier)
    return found


def asked(name):
    """The requirements of a section of requirements.txt."""
    lines = (line.partition("#")[0].strip() for line in ASKED[name].splitlines())
    return ranges(filter(None, lines))


def up_to(need):
    return NEEDS[: NEEDS.index(need) + 1]


DECLARED = {need: {name for section in up_to(need) for name in asked(section)} for need in NEEDS}


def pins(section):
    """(name, version, marker) for each line of a section of the lock."""
    for head in packages(LOCKED[section]):
        requirement = Requirement(head)
        (pin,) = requirement.specifier
        yield canonicalize_name(requirement.name), Version(pin.version), requirement.marker


def test_every_extra_is_in_the_requirements_with_the_same_range():
    requirements = {name: value for section in ASKED for name, value in asked(section).items()}
    package = ranges(PROJECT["dependencies"]) | ranges(line for extra in EXTRAS.values() for line in extra)
    assert {name: requirements.get(name) for name in package} == package


def test_every_requirement_has_one_place_and_a_reason():
    names = [name for section in ASKED for name in asked(section)]
    assert len(names) == len(set(names))
    for line in "\n".join(ASKED.values()).splitlines():
        if line and not line.startswith("#"):
            assert "#" in line or line.startswith(("pytest>", "uv>")), f"no reason given for {line}"


def test_the_lock_has_the_same_sections_in_the_range_that_is_asked_for():
    assert [*LOCKED] == [*ASKED] == ["uv", *NEEDS]
    versions = {}
    for number, section in enumerate(LOCKED):
        for name, version, _ in pins(section):
            versions.setdefault(name, set()).add(version)
        for earlier in [*ASKED][: number + 1]:
            for name, (_, allowed) in asked(earlier).items():
                assert name in versions, f"{name} is not locked: run `make lock`"
                assert all(allowed.contains(version) for version in versions[name]), f"{name} {versions[name]}"


def test_every_locked_package_stands_once_and_has_hashes():
    heads = [head for section in LOCKED.values() for head in packages(section)]
    assert len(heads) == len(set(heads))
    for text in LOCKED.values():
        assert "".join(packages(text).values()).split() == text.split(), "a line that the set-up would not read"
        assert all("--hash=sha256:" in lines for lines in packages(text).values())


def test_a_package_has_one_version_whichever_section_it_comes_from():
    here = {}
    for section in LOCKED:
        for name, version, marker in pins(section):
            if marker is None or marker.evaluate():
                assert here.setdefault(name, version) == version


@pytest.mark.parametrize("need", NEEDS)
def test_the_lock_is_complete_for_each_need(need):
    """What is installed without looking up dependencies has to include all of them."""
    here = {
        name: version
        for section in up_to(need)
        for name, version, marker in pins(section)
        if marker is None or marker.evaluate()
    }
    waiting = [
        (name, extra) for section in up_to(need) for name, value in asked(section).items() for extra in ("", *value[0])
    ]
    seen = set()
    while waiting:
        name, extra = waiting.pop()
        assert name in here, f"{name} is needed by {need} but not locked for it"
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for requirement in required(name):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                assert requirement.specifier.contains(here[canonicalize_name(requirement.name)], prereleases=True)
                waiting += [(canonicalize_name(requirement.name), e) for e in ("", *requirement.extras)]


@cache
def required(name):
    """What a package requires; nothing if it is not installed, since `make test` does not install the workshop."""
    try:
        return [Requirement(line) for line in metadata.requires(name) or []]
    except metadata.PackageNotFoundError:
        return []


# ------------------------------------------------------------------------------------------------------- imports

PROGRAMS = [path for folder in ("book", "book/lite", "book/notebook") for path in (ROOT / folder).glob("*.py")]
OURS = {"kernelcourse", "tests", "environment", "hatch_build", *(path.stem for path in PROGRAMS), "coursebook"}
FILES = [path for folder in ("kernelcourse", "book", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]


def statements(tree):
    """All statements of a module, at any depth: imports are not inside expressions, which are most of a tree."""
    found = [tree]
    for node in found:
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            found += getattr(node, field, [])
    return found


def imported(nodes):
    """The external packages that some statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        else:
            continue
        for name in names:
            module = name.partition(".")[0]
            if module not in sys.stdlib_module_names and module not in OURS:
                yield module


@cache
def distributions():
    """The packages that each module may come from; reading them takes a second."""
    found = metadata.packages_distributions().items()
    return {module: {canonicalize_name(name) for name in names} for module, names in found}


def undeclared(nodes, declared):
    return {module for module in imported(nodes) if not distributions().get(module, {module}) & declared}


def allowed(path):
    """What a file may import: what the extras of its part install."""
    part = path.relative_to(ROOT).parts
    if part[0] == "tests":
        return DECLARED["tests"]
    if part[0] == "book":
        return DECLARED["book"]
    extras = {"course": ["cluster", "instructor"], "checking": ["check"], "scaling": ["cluster"]}.get(part[1], [])
    if part == ("kernelcourse", "course", "check.py"):
        extras = ["check"]
    names = ranges(PROJECT["dependencies"]) | ranges(line for extra in extras for line in EXTRAS[extra])
    return names.keys() | GUESTS.get("/".join(part), set())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_import_is_declared(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert undeclared(statements(tree), allowed(path)) == set()
    if path.is_relative_to(ROOT / "kernelcourse"):  # the book's reference imports all of its modules
        assert undeclared(tree.body, DECLARED["book"] | MOCKED) == set()


def test_an_undeclared_import_is_noticed():
    tree = ast.parse("import numpy, os\ndef later():\n    from psutil import Process\n    import no_such_package.part")
    assert undeclared(statements(tree), {"numpy"}) == {"psutil", "no_such_package"}
    assert undeclared(tree.body, {"numpy"}) == set()


@pytest.mark.parametrize(
    "block",
    [
        "if a: import far",
        "if a: pass\nelif b: import far",
        "for a in b: pass\nelse: import far",
        "while a: import far",
        "with a: import far",
        "try: import far\nfinally: pass",
        "try: pass\nexcept a: import far",
        "try: pass\nexcept* a: import far",
        "try: pass\nexcept a: pass\nelse: import far",
        "try: pass\nfinally: import far",
        "match a:\n  case 1: import far",
        "class a: import far",
        "async def a():\n  async with b: import far",
    ],
)
def test_an_import_in_any_block_is_noticed(block):
    assert undeclared(statements(ast.parse(f"def outer():\n{textwrap.indent(block, ' ')}")), set()) == {"far"}


def test_the_code_of_chapters_and_exercises_imports_what_the_book_installs():
    pages = [page for folder in ("book", "solutions") for page in (ROOT / folder).rglob("*.md")]
    cell = re.compile(r"^```(?:\{code-cell\}|python)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
    code = "\n".join(text for page in pages for text in cell.findall(page.read_text(encoding="utf-8")))
    statements = re.findall(r"^ *(import [\w.]+|from [\w.]+ import \w+)", code, re.MULTILINE)
    assert {"import numpy", "import dask.array"} <= set(statements)
    assert undeclared(ast.parse("\n".join(statements)).body, DECLARED["book"]) == set()
