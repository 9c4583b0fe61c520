"""`make mutants`: which changes it makes, what it leaves alone, and which tests it runs first."""

import ast
import subprocess
import sys
import tomllib

import pytest

from tests.hard import ROOT
from tests.mutants.__main__ import (
    ALL,
    CHECKING,
    COURSE,
    EQUIVALENT,
    MARKER,
    Changed,
    Map,
    Mutant,
    decide,
    draw,
    parts_of,
    recall,
    table,
    with_table,
)
from tests.mutants.changes import changes


def after(source):
    """Each change to a source, as the text of the changed statement."""
    tree = ast.parse(source)
    texts = [change.texts()[1] for change in changes(tree)]
    assert ast.unparse(tree) == ast.unparse(ast.parse(source))  # everything is as it was
    return texts


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b < c", ["a = b <= c", "a = b >= c"]),
        ("a = b == c", ["a = b != c"]),
        ("a = b + c", ["a = b - c"]),
        ("a **= b", ["pass", "a *= b"]),
        ("a = b and c", ["a = b or c"]),
        ("a = not b", ["a = b"]),
        ("a = -b", ["a = b"]),
        ("a = 3", ["a = 4", "a = 2"]),
        ("a = 0.5", ["a = 1.5"]),
        ("a = True", ["a = False"]),
        ("a = f(b, c=d)", ["a = f(b)"]),
        ("f(b)", ["pass"]),
        ("a.b = c", ["pass"]),
        ("if a:\n    b = c", ["if not a:"]),
        ("while a(b):\n    c = d", ["while not a(b):"]),
        ("a = [b for b in c if b]", ["a = [b for b in c if not b]"]),
        ("for a in b:\n    break", ["pass"]),
        ("def f(a=True):\n    return a", ["def f(a=False):", "return None"]),
        ("def f():\n    return a + b", ["return None", "return -(a + b)", "return a - b"]),
        ("raise ValueError(f'{a + 1} of {2}', 3)", ["pass"]),
        ("warnings.warn('a', stacklevel=2)", ["pass"]),
    ],
)
def test_what_is_changed(source, expected):
    assert after(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "import a",
        "a: Literal[1] = b",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "if TYPE_CHECKING:\n    a = 1",
        "if __name__ == '__main__':\n    main()",
        "a = f'{b + 1}'",
        "a = 'b' + c",
        "raise NotImplementedError",
        "@overload\ndef f(a=1): ...",
        "a = f(b, alpha=0.5, linewidth=2)",
        "a = 1e150",
        "a = b",
    ],
)
def test_what_is_left_alone(source):
    assert after(source) == []


def test_examples_of_exercises_keep_their_numbers():
    source = "def cases(rng):\n    if a < 5:\n        yield rng.normal(size=3) + 1"
    assert after("PIECES = []\n" + source) == ["if a <= 5:", "if a >= 5:"]
    assert len(after(source)) > 5


def test_a_change_reaches_those_who_import_the_module():
    path = "kernelcourse/_engine/blocks.py"
    source = (ROOT / path).read_text(encoding="utf-8")
    found = changes(ast.parse(source))
    mutant = Mutant(path, "", len(found) - 1, "", (1, 1), False, "", "")
    changed = Changed(mutant)
    assert changed.find_spec("kernelcourse.linalg") is None
    assert changed.find_spec("kernelcourse._engine.blocks").origin == str(ROOT / path)
    tree = ast.parse(source)
    changes(tree)[-1].make()
    assert changed.get_code("kernelcourse._engine.blocks") == compile(
        ast.fix_missing_locations(tree), ROOT / path, "exec"
    )
    assert changed.get_code("kernelcourse._engine.blocks") != compile(source, ROOT / path, "exec")


def test_a_function_that_was_imported_and_frozen_gets_its_changed_code():
    """As the tests do after collection. In a process of its own, which is left with the fault."""
    code = """
import gc
from kernelcourse.gram import squared_feature_distances
from tests.mutants.__main__ import change_in_place, draw

gc.freeze()
before = squared_feature_distances.__code__
drawn = draw(["kernelcourse/gram.py"], 10**4, "13")
mutant = next(mutant for mutant in drawn if mutant.within == "squared_feature_distances" and not mutant.on_import)
assert change_in_place(mutant)
assert squared_feature_distances.__code__ != before
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_one_test_of_each_function_comes_first_and_the_quickest_of_them():
    lines = {"kernelcourse/a.py": {"7": ["t.py::f[1]", "t.py::f[2]", "t.py::g"], "8": ["t.py::g"], "9": [""]}}
    seconds = {"t.py::f[1]": 3, "t.py::f[2]": 1, "t.py::g": 2}
    where = Map({"t.py": {"seconds": seconds, "lines": lines}})
    assert where.of("kernelcourse/a.py", 7, 7) == ["t.py::f[2]", "t.py::g", "t.py::f[1]"]
    assert where.of("kernelcourse/a.py", 8, 8) == ["t.py::g"]
    assert where.of("kernelcourse/a.py", 9, 9) == ["t.py::f[2]", "t.py::g", "t.py::f[1]"]  # a fixture of the file
    assert where.of("kernelcourse/a.py", 1, 1) == []
    assert where.of("kernelcourse/a.py", 1, 1, True) == ["t.py::f[2]", "t.py::g", "t.py::f[1]"]


def test_what_happens_on_import_is_asked_of_those_who_look_at_tables_too():
    law = f"{ALL}_and_more"
    lines = {"kernelcourse/a.py": {"7": ["t.py::f"]}}
    here = {"seconds": {"t.py::f": 1, "t.py::table": 0}, "lines": lines}
    where = Map({"t.py": here, "u.py": {"seconds": {"u.py::g": 1, law: 9}, "lines": {}}})
    assert where.of("kernelcourse/a.py", 1, 1, True) == [law, "t.py::f", "t.py::table"]
    lines = {"kernelcourse/a.py": {"7": ["t.py::f", "b/test_a.py::g"]}}
    where = Map({"t.py": {"seconds": {"t.py::f": 1, "b/test_a.py::g": 2, "b/test_a.py::table": 3}, "lines": lines}})
    found = where.of("kernelcourse/a.py", 1, 1, True)
    assert found == ["b/test_a.py::g", "b/test_a.py::table", "t.py::f"]


def test_what_is_only_imported_is_asked_of_the_laws_of_the_package():
    law, others = f"{ALL}_and_more", [f"tests/test_architecture.py::test_names[{name}]" for name in "ab"]
    lines = {"kernelcourse/__init__.py": {"7": [""]}, "kernelcourse/a.py": {"7": ["t.py::f"]}}
    where = Map({"t.py": {"seconds": {others[0]: 1, others[1]: 2, law: 9, "t.py::f": 0}, "lines": lines}})
    assert where.of("kernelcourse/__init__.py", 7, 7, True) == [others[0], law, others[1]]
    assert where.of("kernelcourse/a.py", 7, 7, True)[:2] == [law, "t.py::f"]


def test_a_part_of_the_library_has_its_own_tests():
    assert parts_of("kernelcourse/kernels/sets.py") == parts_of("tests/test_gram.py") == {"the rest"}
    assert parts_of("tests/checking/test_book.py") == parts_of("kernelcourse/checking/book.py") == {CHECKING}
    assert parts_of("tests/grading/test_plain.py") == {CHECKING, COURSE} > parts_of("kernelcourse/course/due.py")


def test_the_draw_is_spread_over_the_modules_and_always_the_same():
    paths = ["kernelcourse/kernels/vectors.py", "kernelcourse/kernels/sets.py"]
    drawn = draw(paths, 20, "13")
    assert drawn == draw(paths, 20, "13") != draw(paths, 20, "14")
    assert all(mutant in draw(paths, 30, "13") for mutant in drawn)
    counts = [sum(mutant.path == path for mutant in drawn) for path in paths]
    assert counts[0] > counts[1] >= 2
    for mutant in drawn:
        source = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
        first_word = mutant.before.splitlines()[-1].split()[0]  # below the decorators
        assert first_word in source[mutant.lines[0] - 1]


def test_what_happens_on_import_belongs_to_all_tests_of_the_module():
    on_import = {mutant.before: mutant.on_import for mutant in draw(["kernelcourse/_engine/threads.py"], 10**4, "13")}
    assert on_import["SLAB = 2 ** 20"] and on_import["WORTH_A_THREAD = 2 ** 21"]
    assert not on_import["return _loops()"]


def test_the_share_is_of_those_that_could_be_noticed():
    outcomes = ["killed", "killed by signal 9", "survived", "no test executes it"]
    mutants = [
        Mutant("kernelcourse/a/b.py", "", number, "f", (1, 1), False, f"a{number}", "b", outcome)
        for number, outcome in enumerate(outcomes)
    ]
    rows = table(mutants, {mutants[2].key}).splitlines()[2:]
    assert rows == ["| kernelcourse/a/b.py | 4 | 2 | 1 | 1 | 33.3% |", "| all | 4 | 2 | 1 | 1 | 33.3% |"]
    old = f"# A\n{MARKER}an old table\n\n## B\nother things\n"
    new = with_table(old, mutants, {mutants[2].key})
    assert "| a/ | 4 | 2 | 1 | 1 | 33.3% |" in new and rows[0] in new
    assert new.startswith(f"# A\n{MARKER}| module |") and new.endswith("</details>\n\n## B\nother things\n")
    assert with_table(new, mutants, {mutants[2].key}) == new


def test_an_outcome_is_remembered_while_the_module_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutants.__main__.RECORD", tmp_path / "outcomes.txt")
    first = draw(["kernelcourse/kernels/sets.py"], 3, "13")
    told = []
    for mutant, code in zip(first, (0, 1, -9), strict=True):
        decide(mutant, code, told.append)
    assert len(told) == 1 and first[0].before in told[0]  # only survivors are reported
    decide(first[0], 1, told.append)  # by a test that was added since
    again = draw(["kernelcourse/kernels/sets.py"], 3, "13")
    recall(again)
    assert [mutant.outcome for mutant in again] == ["killed", "killed", "killed by signal 9"]
    recall(again, 3)
    assert [mutant.outcome for mutant in again] == ["killed", "", ""]
    for mutant in again:
        mutant.digest = "that of an edited module"
    recall(again)
    assert not any(mutant.outcome for mutant in again)


def test_equivalent_mutants_are_changes_of_the_source_as_it_is():
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    found = {
        file: list(changes(ast.parse((ROOT / file).read_text("utf-8")))) for file in {one["file"] for one in listed}
    }
    for one in listed:
        assert len(one["reason"]) > 20, f"no reason is given for {one}"
        texts = [change.texts() for change in found[one["file"]] if change.within == one["within"]]
        assert (one["before"], one["after"]) in texts, f"the source has changed: {one}"
