"""What a check says about a wrong answer that no catalogue lists."""

import ast
import linecache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kernelcourse.checking import Case, Piece, catalogue
from kernelcourse.checking.calling import Answer, call, watched
from kernelcourse.checking.cases import case_generator
from kernelcourse.checking.diagnosis import WORDS
from kernelcourse.checking.diagnosis.behaviour import probes, projections
from kernelcourse.checking.diagnosis.conditions import condition
from kernelcourse.checking.diagnosis.dependence import dependence
from kernelcourse.checking.diagnosis.edits import NUMPY, edits
from kernelcourse.checking.diagnosis.effort import CALL, Effort
from kernelcourse.checking.diagnosis.errors import failure, without_paths
from kernelcourse.checking.diagnosis.example import digits, first_apart
from kernelcourse.checking.diagnosis.fingerprints import Sentence, read, tables
from kernelcourse.checking.diagnosis.relations import Known, Pair, relation
from kernelcourse.checking.diagnosis.repair import repair
from kernelcourse.checking.diagnosis.words import EVERYWHERE
from kernelcourse.course.fingerprints import Found, Places, Solution, build, sentence, solutions, table
from kernelcourse.course.folder import Course
from tests.hints.__main__ import HEAD, MARKER, new_mutants, score_slips, with_rows
from tests.hints.operators import mutants

ROOT = Path(__file__).parents[2]
COURSE = Course(ROOT)
SOURCES = [source for assignment in COURSE.assignments() for source in COURSE.sources(assignment)]


def piece(notebook, name):
    return next(piece for piece in catalogue(notebook).PIECES if piece.name == name)


def written(text, **names):
    """A function as a notebook's cell defines it: its source can be read."""
    file = f"<cell {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"np": np, **names}
    exec(compile(text, file, "exec"), namespace)
    return next(value for value in reversed(namespace.values()) if callable(value))


def examine(notebook, name, text):
    return piece(notebook, name).examine(written(text), case_generator(1, name, hidden=False), steps=10**6)


@pytest.mark.parametrize(
    ("name", "body", "kind", "nudge", "why"),
    [
        (
            "objective",
            "r = t - Phi.dot(w)\n    return 0.5 * (r * r).sum() + lam * lam / 2 * (w * w).sum()",
            "substitution",
            "Look at the penalty.",
            "`lam`",
        ),
        ("objective", "return sum((Phi @ w - t) ** 2) / 2 + 0.7 * lam * w @ w", "substitution", "the penalty", "1.4"),
        (
            "gradient",
            "return -Phi.T @ (t - Phi @ w) + lam * w.round(2)",
            "place",
            "line 2, at `w.round(2)`",
            "`round` left out",
        ),
        ("gradient", "return Phi.T @ (Phi @ w - t) * len(w) + 0 * lam", "dependence", "does not depend on `lam`", ""),
        (
            "gradient",
            "r = Phi @ w - t\n    return Phi @ r + lam * w",
            "error",
            "`Phi` is (3, 2) and `r` is (3,)",
            "`Phi.T` would be (2, 3)",
        ),
        ("gradient", "return Phi.T @ (Ph @ w - t) + lam * w", "error", "Did you mean `Phi`?", ""),
    ],
)
def test_a_wrong_answer_is_explained_by_what_it_does(name, body, kind, nudge, why):
    result = examine("dual-representation", name, f"def answer(w, Phi, t, lam):\n    {body}\n")
    assert result.diagnosis.kind == kind
    assert nudge in result.nudge
    assert why in result.hint
    assert not result.passed and not result.mistake


def test_an_answer_that_takes_too_few_arguments_is_shown_its_first_line():
    result = examine("dual-representation", "gradient", "def answer(w, Phi, t):\n    return w\n")
    assert "called with 4 arguments, but its definition takes 3: w, Phi, t" in result.nudge


def test_a_sandbox_and_hidden_inputs_get_no_diagnosis():
    class Elsewhere(Answer):
        def try_on(self, case):
            return call(lambda w, Phi, t, lam: w, case)

    one = piece("dual-representation", "gradient")
    rng = case_generator(1, "gradient", hidden=False)
    assert one.examine(Elsewhere(), rng).diagnosis is None
    assert one.examine(lambda w, Phi, t, lam: w, rng, hidden=True).diagnosis is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda X: -X, "opposite sign"),
        (lambda X: X * len(X), "n times too large"),
        (lambda X: 1.7 * X, "1.7 times what is expected"),
        (lambda X: X + 0.25, "0.25 too large"),
        (lambda X: X**2, "the square of"),
        (lambda X: X[::-1], "reverse order"),
        (lambda X: X.sum(), "the sum of"),
        (lambda X: np.where(np.eye(*X.shape), 0, X), "only the diagonal is wrong"),
        (lambda X: 0 * X + 3, "is 3, whatever the input is"),
        (lambda X: X.T[:, :2], ""),
    ],
)
def test_a_relation_is_said_only_if_it_holds_on_all_inputs(wrong, said):
    rng = np.random.default_rng(5)
    matrices = [rng.normal(size=(n, n)) for n in (3, 4, 5)]
    known = [Pair(Case((X,)), wrong(X), X) for X in matrices]
    assert said in relation(Known(known, ["X"], 1e-9))
    spoiled = [*known[:-1], Pair(known[-1].case, rng.normal(size=(5, 5)), matrices[-1])]
    assert relation(Known(spoiled, ["X"], 1e-9)) == ""


def test_a_term_that_is_missing_from_a_count_is_named():
    cases = [Case((n, d)) for n, d in [(2, 3), (3, 5), (7, 2), (4, 4), (9, 5)]]
    pairs = [
        Pair(case, case.args[0] ** 2 * case.args[1], case.args[0] ** 2 * case.args[1] + case.args[0] ** 3 / 3)
        for case in cases
    ]
    assert relation(Known(pairs, ["n", "d"], 1e-9)) == "Your result is too small by exactly 0.3333 · `n`³."


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (lambda n, d: n**3, "too small by exactly `n`³."),
        (lambda n, d: 2 * n * d**2, "too small by exactly 2 · `n` · `d`²."),
        (lambda n, d: -1 / d, "too large by exactly `d`⁻¹."),
        (lambda n, d: np.sin(n), ""),
    ],
)
def test_a_missing_term_is_a_product_of_powers(missing, said):
    cases = [Case((n, d)) for n, d in [(2, 3), (3, 5), (7, 2), (4, 4), (9, 5)]]
    pairs = [Pair(case, 1.0 * case.args[0], case.args[0] + missing(*case.args)) for case in cases]
    found = relation(Known(pairs, ["n", "d"], 1e-9))
    assert found.endswith(said) and bool(found) == bool(said)


def test_a_difference_near_the_tolerance_is_not_named():
    pairs = [Pair(Case((n,)), 1e6 * n + 0.005, 1e6 * n) for n in (9, 2, 3, 5, 7)]
    assert not any(Known(pairs, ["n"], 1e-10).right(pair) for pair in pairs)
    assert relation(Known(pairs, ["n"], 1e-10)) == ""


def test_parts_of_a_tuple_are_looked_at_one_by_one():
    rng = np.random.default_rng(5)
    pairs = [Pair(Case((X,)), (X, 2 * X), (X, X + 1)) for X in rng.normal(size=(3, 4))]
    assert relation(Known(pairs, ["X"], 1e-9)).startswith("Your first value is right.")
    turned = [Pair(pair.case, pair.want[::-1], pair.want) for pair in pairs]
    assert relation(Known(turned, ["X"], 1e-9)) == "The 2 values are right, but they are in the wrong order."


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda X, c: X.sum(axis=1), "does not depend on `c`"),
        (lambda X, c: c * X[:-1].sum(), "does not depend on the last entry or row of `X`"),
        (lambda X, c: c**2 * X.sum(), "If `c` is doubled, the result should double; yours is then 4 times"),
    ],
)
def test_what_a_result_depends_on_is_told_from_changed_inputs(wrong, said):
    rng = np.random.default_rng(5)
    cases = [Case((rng.normal(size=(n, 2)), float(n))) for n in (3, 4, 5)]
    found = dependence(lambda case: wrong(*case.fresh()), lambda X, c: c * X.sum(), cases, ["X", "c"])
    assert said in found


def test_no_message_holds_a_folder_of_the_machine():
    assert without_paths(r"cannot open C:\Users\ada\notes\x.txt") == "cannot open x.txt"
    one = Piece("size", 1, lambda X: X.sum(), lambda rng: [Case((rng.normal(size=(2, 2)),))])
    result = one.examine(
        written("def answer(X):\n    return open('/'.join(['', 'home', 'ada', 'x.txt']))\n"), np.random.default_rng(0)
    )
    assert "/home" not in result.text + result.why + result.html and "x.txt" in result.problem


@pytest.mark.parametrize("notebook", ["dual-representation", "support-vector-machines"])
def test_most_slips_get_a_specific_hint_of_at_most_forty_words(notebook):
    scores = list(score_slips(notebook))
    assert all(one.outcome != "survived" for one in scores)
    assert sum(one.specific for one in scores) >= 0.85 * len(scores)
    for one in scores:
        nudge, _, _ = one.hint.partition(" | ")
        assert len(nudge.split()) <= 40, nudge


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_fingerprints_belong_to_the_solutions_and_do_not_hold_them(source):
    """`kernelcourse release` brings them up to date."""
    kept, known = tables(source.stem.replace("-", "_")), solutions(source)
    for one in catalogue(source.stem).PIECES:
        if isinstance(one, Piece):
            assert (kept[one.name].source, kept[one.name].digest) == (known[one.name].number, probes(one).digest())
            said = repr(kept[one.name].sentences)
            for text in known[one.name].phrases:
                assert len(text) < 12 or text not in said, f"{one.name} says {text}"
            for sentence in kept[one.name].sentences:
                match = sentence.match("2")
                assert len(match.nudge.split()) <= WORDS, match.nudge
                assert "{" not in match.why


def test_a_table_is_made_again_as_it_was():
    (source,) = COURSE.sources("01-dual-representation")
    made = table(piece(source.stem, "predict"), solutions(source)["predict"])
    kept = tables("dual_representation")["predict"]
    np.testing.assert_allclose(made.sums, kept.sums, rtol=1e-5, atol=1e-5)
    assert made.sentences == kept.sentences
    np.testing.assert_array_equal(made.numbers, kept.numbers, strict=True)  # the type too: every student downloads it


SOLUTION = """\
---
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

```{{code-cell}}
from math import tau
```

```{{code-cell}}
:nbgrader: {{grade: false, grade_id: circle, locked: false, schema_version: 3, solution: true, task: false}}

def circle(r):
    return {formula}
```
"""


def test_fingerprints_are_made_again_only_when_the_solution_has_changed(tmp_path, monkeypatch):
    """A solution may call what the notebook imports."""
    one = Piece("circle", 1, lambda r: 2 * np.pi * r, lambda rng: [Case((r,)) for r in (0.5, 2.0, 3.0)])
    tiny = SimpleNamespace(__name__="checking.tiny", PIECES=[one])
    monkeypatch.setattr("kernelcourse.course.fingerprints.catalogue", lambda stem: tiny)
    course, source = Course(tmp_path), tmp_path / "solutions" / "01-tiny" / "tiny.md"
    source.parent.mkdir(parents=True)
    source.write_text(SOLUTION.format(formula="tau * r"), encoding="utf-8")
    (path,) = build(course, "01-tiny")
    first = read(path.read_bytes())["circle"]
    assert build(course, "01-tiny") == []
    source.write_text(SOLUTION.format(formula="r * tau"), encoding="utf-8")
    assert build(course, "01-tiny") == [path]
    again = read(path.read_bytes())["circle"]
    assert again.source != first.source and again.digest == first.digest


def places(text):
    return Places(Solution(ast.parse(text).body[0], {}, {}))


def test_a_part_without_a_phrase_is_described_by_the_arguments_in_it():
    here = places(
        "def f(x, y):\n    for i in x:\n        if i > y:\n            return 2\n    while True:\n        x\n"
    )
    (loop,), (condition,), (endless,) = (
        [node for node in here.nodes if isinstance(node, kind)] for kind in (ast.For, ast.If, ast.While)
    )
    assert here.said(condition) == "the condition on `x` and `y`"
    assert here.said(loop) == "the loop over `x` and `y`" and here.said(endless) == "the loop over `x`"
    assert here.made_of(ast.parse("if True:\n    pass").body[0]) == "the condition"
    assert here.made_of(ast.parse("while True:\n    pass").body[0]) == "the loop"


def test_of_two_places_where_a_change_has_the_same_effect_both_are_named():
    here = places("def f(x, y):\n    return x * y\n")
    x, y = [node for node in here.nodes if isinstance(node, ast.Name)]
    group = [Found(np.zeros(1), 0, (node,), ("minus", f"`{node.id}`", "")) for node in (x, x, y)]
    said = sentence(here, group)
    assert said.areas == ("`x`", "`y`") and said.nodes == tuple(sorted(here.number[id(node)] for node in (x, y)))
    assert said.changes == (("minus", "`x`", ""), ("minus", "`y`", ""))
    assert sentence(here, group[:2]).changes == (("minus", "`x`", ""),)


def changed(text):
    """A function after each change, as text, with the change."""
    function = ast.parse(text).body[0]
    for edit in edits(function):
        with edit.made():
            yield ast.unparse(function), edit
    assert ast.unparse(function) == ast.unparse(ast.parse(text).body[0])


def test_what_is_forgotten_twice_is_one_change():
    made = dict(changed("def f(X, Z, W, b):\n    return np.tanh(X @ W + b) @ np.tanh(Z @ W + b).T"))
    both = made["def f(X, Z, W, b):\n    return np.tanh(X @ W) @ np.tanh(Z @ W).T"]
    assert (both.kind, len(both.places)) == ("part", 2)


def test_no_change_lets_a_list_grow_without_end():
    text = "def f(D):\n    out = []\n    for row in D:\n        out.append(row.sum())\n    return out"
    for after, _ in changed(text):
        assert "out.append(out" not in after and "in out" not in after


def test_the_table_of_scores_keeps_the_rows_of_other_assignments():
    text = f"Words.\n\n{MARKER}\n| 01 | 5 |\n| 02 | 6 |\n"
    assert with_rows(text, ["| 02 | 7 |"]) == f"Words.\n\n{MARKER}\n{HEAD}\n| 01 | 5 |\n| 02 | 7 |\n"


def test_the_scorers_mistakes_are_none_that_the_diagnosis_tries():
    (source,) = COURSE.sources("01-dual-representation")
    every, new = 0, 0
    for solution in solutions(source).values():
        texts = [ast.unparse(mutant.function) for mutant in new_mutants(solution.function)]
        every, new, texts = every + len(list(mutants(solution.function))), new + len(texts), {*texts}
        for edit in edits(solution.function):
            with edit.made():
                assert ast.unparse(solution.function).replace(NUMPY, "np") not in texts
    assert new > 0.97 * every  # few are left out


def test_steps_are_counted_and_not_seconds():
    """Steps are calls made by the student's lines; a comprehension, a call up to Python 3.11, does not count."""
    function = written("def f(n):\n    return [abs(i) for i in range(n)]\n")

    def left(n):
        effort = Effort(100 * CALL)
        with watched(effort.watch):
            function(n)
        return effort.left

    assert left(0) - left(40) == 40 * CALL
    effort = Effort(100 * CALL)
    with pytest.raises(TimeoutError), effort.at_most(10 * CALL), watched(effort.watch):
        function(40)
    assert effort.left == 89 * CALL and not effort.over


def test_a_loop_that_goes_round_often_still_gets_its_repair():
    """An iteration is cheaper than a call, and counts for less: this loop runs some thousand times on each input."""
    right = piece("running-times", "kernel_pays_up_to")
    cost = "3 * (n + 1) ** 2 * d + (n + 1) ** 3"
    wrong = written(
        f"def kernel_pays_up_to(d, D):\n    n = 1\n    while {cost} < 3 * (n + 1) * D**2 * 1.5 + D**3:\n"
        "        n += 1\n    return n\n"
    )
    result = right.examine(wrong, case_generator(1, "kernel_pays_up_to", hidden=False))
    assert result.diagnosis.kind == "place" and "line 3" in result.diagnosis.nudge


def test_a_mistake_that_solves_singular_systems_has_no_fingerprint():
    """Rounding decides whether such a system is solved, and how: the result would differ on another machine."""
    mistake = next(m for m in piece("dual-representation", "primal_weights").mistakes if "identity" in m.name)
    rng = case_generator(1, "primal_weights", hidden=False)
    result = piece("dual-representation", "primal_weights").examine(mistake.wrong, rng)
    assert result.mistake == mistake.name and result.diagnosis is None
    assert mistake.hint.startswith(result.nudge)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return X.summ()", "`X` is (3, 2) and has nothing called `summ`. Did you mean `sum`?"),
        ("return np.wwwww(X)", "`numpy` has nothing called `wwwww`."),
        ("return X[0].copy().qwertz", "`X[0].copy()` has nothing called `qwertz`."),
        ("return zzzzz", "The name `zzzzz` is not defined here; the function's arguments are `X`, `c`."),
        ("return xx + c", "The name `xx` is not defined here. Did you mean `X`?"),
        ("X = X + 1\n    Y += X", "The variable `Y` is used before it has a value."),
        ("return X @ c", "`X` is (3, 2) and `c` is 1.5: `@` multiplies arrays; for a plain number use `*`."),
        (
            "return X @ X",
            "`X` is (3, 2) and `X` is (3, 2): `@` needs the last size on the left to equal the first on the right. "
            "`X.T` would be (2, 3).",
        ),
        (
            "v = np.ones(5)\n    return v @ X",
            "`v` is (5,) and `X` is (3, 2): `@` needs the last size on the left to equal the first on the right.",
        ),
        (
            "A = np.ones((2, 3))\n    return X + A",
            "`X` is (3, 2) and `A` is (2, 3): this works entry by entry, and these shapes do not match. "
            "`X.T` would be (2, 3).",
        ),
        (
            "A = np.ones((2, 3))\n    return (X * 1) - A",
            "`X * 1` is (3, 2) and `A` is (2, 3): this works entry by entry, and these shapes do not match. "
            "`A.T` would be (3, 2).",
        ),
        ("return X.copy() + 'a'", "Here `'a'` is a str of length 1."),
        ("return [1, 2] + c", "Here `c` is 1.5."),
        ("y = None\n    return y + c", "Here `y` is None and `c` is 1.5."),
        ("return X[7]", "Here `X` is (3, 2) and `7` is 7."),
        ("d = {'a': 1}\n    return d['b']", "Here `d` is a dict of length 1 and `'b'` is a str of length 1."),
        ("return X.tolist()[5]", "Here `5` is 5."),
        (
            "A = np.zeros((2, 2))\n    return np.linalg.solve(A, A)",
            "`np.linalg.solve` cannot solve a system whose matrix is singular: `A` is (2, 2).",
        ),
        (
            "return np.reshape(X, (4, 4))",
            "`np.reshape` was called where `X` is (3, 2) and `(4, 4)` is a tuple of length 2.",
        ),
        ("return int(X.tolist())", "Here `X` is (3, 2)."),
        ("assert c > 2", "Here `c` is 1.5."),
        ("f = np\n    return -f", "Here `f` is a module."),
        ("return answer(X, c)", "The function calls itself without end."),
        ("return 2 * answer(X, c) + X[0]", "The function calls itself without end."),
    ],
)
def test_an_error_is_explained_by_the_names_and_shapes_of_its_line(body, said):
    function = written(f"def answer(X, c):\n    {body}\n")
    found = failure(function, Case((np.ones((3, 2)), 1.5)))
    assert found.meaning == said
    assert found.line == 1 + len(body.splitlines())


def test_an_error_that_does_not_come_again_is_not_explained():
    assert failure(written("def answer(X):\n    return X\n"), Case((1,))) is None


def test_an_error_before_the_first_line_is_put_on_it():
    found = failure(written("def answer():\n    return 1\n"), Case((1, 2)))
    assert (found.line, found.text, found.span) == (1, "", (1, 0, 1, 0))
    assert found.meaning == "It is called with 2 arguments, but its definition takes none."


def test_without_its_text_a_function_is_told_by_the_line_of_its_error():
    namespace = {}
    exec(compile("\n\ndef answer(x):\n    y = x\n    return y + 'a'\n", "<nowhere>", "exec"), namespace)
    found = failure(namespace["answer"], Case((1,)))
    assert (found.line, found.text, found.meaning) == (3, "", "Here `x` is 1.")


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        ([0, 1, 1, 0], [-1, 1, 1, -1], "is 0 where -1 is expected: the labels are -1 and +1."),
        ([1, -1, -1, 1], [-1, 1, 1, -1], "opposite sign everywhere."),
        ([1, -1, 0, 0], [1, -1, 1, 1], "Every wrong number is 0 where 1 is expected."),
        ([-1, 1, 0, 0], [1, -1, 1, 1], ""),
        ([True, True, False], [False, False, True], "It gives the other answer on every input"),
        ([True, True, True], [False, True, False], "It answers True to every input."),
        ([True, True, False], [False, True, False], "Every wrong answer is True where False is expected"),
        ([True, False, True], [False, True, True], ""),
        ([1, 0, 1], [False, True, True], ""),
    ],
)
def test_labels_and_answers_in_words_are_compared_by_what_they_can_be(got, want, said):
    truths = isinstance(want[0], bool)
    kind = bool if truths else np.array
    pairs = [
        Pair(Case((i,)), a if truths else kind(a), kind(b)) for i, (a, b) in enumerate(zip(got, want, strict=True))
    ]
    found = relation(Known(pairs, ["i"], 1e-9))
    assert said in found and bool(found) == bool(said)


def test_every_part_of_a_statement_can_be_what_is_wrong():
    text = """def f(X, a, n):
    total = 0
    for i in range(1, n):
        if a > 0 and i:
            total += X[i, 0]
        total = total
    while n:
        n -= 1
    return total if a else X[1:].sum(axis=0)"""
    made = {}
    for after, edit in changed(text):
        made.setdefault(edit.detail if edit.kind == "part" else edit.kind, []).append((after + "\n", edit.cost))
    for kind, part in {
        "always": "(1, n):\n        total += X[i, 0]\n        total = total",
        "never": "(1, n):\n        pass\n        total = total",
        "condition turned": "if not (a > 0 and i):",
        "connective": "if a > 0 or i:",
        "comparison": "if a >= 0 and i:",
        "condition": "if i:",
        "choice": "return total\n",
        "left out": "if a > 0 and i:\n            pass",
        "set": "            total = X[i, 0]",
        "added": "        total += total",
        "order of indices": "X[0, i]",
        "one more": "range(1, n + 1)",
        "one less": "range(1, n - 1)",
        "from nought": "in range(n):",
        "once": "in range(1):",
        "one pass": "while n:\n        n -= 1\n        break",
        "bound": "X[:].sum(axis=0)",
        "keyword": "X[1:].sum()",
        "axis": "sum(axis=1)",
    }.items():
        assert [cost for after, cost in made[kind] if part in after] == [0], (kind, made[kind])
    assert any("return X[1:].sum(axis=0)" in after for after, _ in made["choice"])
    assert not any("if a > 0 and i" in after for after, _ in made["comparison"])
    numbers = {after.splitlines()[1].strip() for after, _ in made["number"]}
    assert numbers == {f"total = {number}" for number in (0, 1, 2, 3, 0.5, -1)}
    five = {after.split()[-1] for after, edit in changed("def f():\n    return 5") if edit.kind == "number"}
    assert five == {"0", "1", "2", "3", "0.5", "-1", "4", "6"}
    costs = {kind: {cost for _, cost in made[kind]} for kind in ("twice", "root", "nothing", "one", "inverse")}
    assert costs == {"twice": {0}, "root": {0}, "nothing": {0}, "one": {1}, "inverse": {1}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda X, c: X * len(X), "n times too large, where n is the number of rows."),
        (lambda X, c: X / len(X), "n times too small, where n is the number of rows."),
        (lambda X, c: c * X, "`c` times what is expected."),
        (lambda X, c: X / c, "what is expected, divided by `c`."),
        (lambda X, c: c**2 * X, "`c`² times what is expected."),
        (lambda X, c: X / c**2, "what is expected, divided by `c`²."),
        (lambda X, c: X + c, "what is expected, plus `c`."),
        (lambda X, c: X - c, "what is expected, minus `c`."),
        (lambda X, c: X - 0.25, "always 0.25 too small."),
        (lambda X, c: np.sqrt(X), "the square root of what is expected."),
        (lambda X, c: 1 / X, "1 divided by what is expected."),
        (lambda X, c: 1 - X, "1 minus what is expected."),
        (lambda X, c: np.exp(X), "the exponential of what is expected."),
        (lambda X, c: np.log(X), "the logarithm of what is expected."),
        (lambda X, c: np.rint(X), "rounded to whole numbers."),
        (lambda X, c: np.trunc(X), "truncated to whole numbers."),
        (lambda X, c: X.T, "the transpose of what is expected."),
        (lambda X, c: X[:, ::-1], "the right columns, in reverse order."),
        (lambda X, c: np.sort(X, axis=None).reshape(X.shape), "the right numbers in the wrong order."),
        (lambda X, c: X.ravel(), "the right numbers in the wrong shape."),
        (lambda X, c: X.mean(), "the mean of the expected numbers."),
        (lambda X, c: X.sum(axis=0), "sums the expected matrix over its rows."),
        (lambda X, c: X.sum(axis=1), "sums the expected matrix over its columns."),
        (lambda X, c: np.cumsum(X), "the cumulative sum of the expected numbers."),
        (lambda X, c: np.diag(X), "only the diagonal of what is expected."),
        (lambda X, c: X[:-1], "what is expected, without the last number."),
        (lambda X, c: X[1:], "what is expected, without the first number."),
        (lambda X, c: np.triu(X), "right on and above the diagonal, but not below it."),
        (lambda X, c: np.tril(X), "right on and below the diagonal, but not above it."),
        (lambda X, c: X * np.eye(len(X)), "right on the diagonal; only other entries are wrong."),
        (lambda X, c: np.vstack([X[:-1], 0 * X[:1]]), "wrong only in its last entry or row."),
        (lambda X, c: np.vstack([0 * X[:1], X[1:]]), "wrong only in its first entry or row."),
        (lambda X, c: np.vstack([X[:1], 0 * X[1:]]), "right in its first entry or row, but not in all others."),
        (lambda X, c: np.vstack([0 * X[1:], X[-1:]]), "right in its last entry or row, but not in all others."),
        (lambda X, c: np.hstack([X[:, :-1], 0 * X[:, :1]]), "wrong only in its last column."),
        (lambda X, c: np.hstack([0 * X[:, :1], X[:, 1:]]), "wrong only in its first column."),
        (lambda X, c: np.hstack([X[:, :1], 0 * X[:, 1:]]), "right in its first column, but not in all others."),
        (lambda X, c: np.where(X > 2, X, 0), "a zero in every place where it is wrong; the other numbers are right."),
        (lambda X, c: X[:, :2], ""),
        (lambda X, c: [[1.0], [2.0, 3.0]], ""),
    ],
)
def test_what_all_results_have_in_common_is_said_in_one_sentence(wrong, said):
    rng = np.random.default_rng(5)
    cases = [(rng.uniform(0.6, 3.4, size=(n, n)), c) for n, c in [(3, 1.5), (3, 2.5), (4, 0.7)]]
    known = [Pair(Case((X, c)), wrong(X, c), X) for X, c in cases]
    found = relation(Known(known, ["X", "c"], 1e-9))
    assert found.endswith(said) and bool(found) == bool(said)


def test_negative_numbers_that_are_lost_and_zeros_that_are_missed_are_named():
    for wrong, said in [
        (np.abs, "is the absolute value of what is expected."),
        (lambda x: np.maximum(x, 0), "is what is expected, with negative values set to zero."),
        (lambda x: np.where(x == 0, 0.5 + np.arange(5), x), "is wrong exactly where zero is expected."),
    ]:
        vectors = [np.array([0.0, 1.5, 0.0, -2.0, 0.0]) * k for k in (1, 2, 3)]
        pairs = [Pair(Case((x,)), wrong(x), x) for x in vectors]
        assert relation(Known(pairs, ["x"], 1e-9)) == f"Your result {said}"


def test_a_size_is_explained_by_the_arguments():
    rng = np.random.default_rng(5)
    cases = [Case((rng.normal(size=(n, d)), m)) for n, d, m in [(3, 2, 5), (4, 6, 7)]]
    by_rows = [Pair(case, case.args[0].sum(axis=1), case.args[0].sum(axis=0)) for case in cases]
    expected = "Your result has as many entries as `X` has rows, but should have as many as `X` has columns."
    assert relation(Known(by_rows, ["X", "m"], 1e-9)) == expected
    matrices = [Pair(case, case.args[0], np.ones((len(case.args[0]), case.args[1]))) for case in cases]
    expected = "Your result has as many columns as `X` has columns, but should have as many as `m` says."
    assert relation(Known(matrices, ["X", "m"], 1e-9)) == expected


def test_one_part_of_a_tuple_can_be_the_place_to_look():
    rng = np.random.default_rng(5)
    pairs = [Pair(Case((X,)), (X, X, rng.normal(size=4)), (X, X, X**2)) for X in rng.normal(size=(3, 4))]
    expected = "Your first and second values are right. Look for the mistake in the third only."
    assert relation(Known(pairs, ["X"], 1e-9)) == expected
    assert relation(Known(pairs, ["X"], 1e-9), strong=True) == ""
    wrong = [Pair(pair.case, rng.normal(size=(3, 4)), pair.want) for pair in pairs]
    assert relation(Known(wrong, ["X"], 1e-9)) == "" == relation(Known([], ["X"], 1e-9))


def test_a_matrix_that_should_be_symmetric_is_told_so():
    rng = np.random.default_rng(5)
    pairs = [Pair(Case((X,)), X @ rng.normal(size=(3, 3)), X @ X.T) for X in rng.normal(size=(3, 3, 3))]
    expected = "Your result is not symmetric, but the expected matrix always is."
    assert relation(Known(pairs, ["X"], 1e-9)) == expected


def test_two_different_numbers_may_agree_by_chance():
    """Only a third number makes it a rule: always twice what is expected."""
    for numbers, said in [([1.0, 3.0], ""), ([1.0, 3.0, 4.0], "Your result is always 2 times what is expected.")]:
        pairs = [Pair(Case((x,)), np.array(2 * x), np.array(x)) for x in numbers]
        assert relation(Known(pairs, ["x"], 1e-9), strong=True) == said


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (lambda X, label: len(X) == 1, "It is right where there is only one row (n = 1), and only there."),
        (lambda X, label: len(X) > 1, "It is wrong where there is only one row (n = 1), and only there."),
        (lambda X, label: X.shape[1] > 1, "It is wrong where there is only one column, and only there."),
        (lambda X, label: 1 in X.shape, "It is right where there is only one row or only one column, and only there."),
        (lambda X, label: len(X) == X.shape[1], "It is right where there are as many rows as columns, and only there."),
        (lambda X, label: X.dtype == int, "It is right where all arrays hold whole numbers, and only there."),
        (lambda X, label: label == "ties", "It is right only on this kind of input: ties."),
        (lambda X, label: label != "ties", "It is wrong only on this kind of input: ties."),
        (lambda X, label: True, ""),
        (lambda X, label: False, ""),
    ],
)
def test_the_inputs_where_an_answer_is_right_are_described(right, said):
    shapes = [(1, 3, float, "small"), (3, 1, float, "thin"), (3, 3, float, "square"), (4, 2, int, "whole")]
    shapes += [(4, 3, float, "ties"), (3, 5, float, "ties")]
    cases = [Case((np.ones((n, d), kind),), label) for n, d, kind, label in shapes]
    assert condition(cases, [right(case.args[0], case.label) for case in cases]) == said
    strange = Case((np.ones((4, 3)),), "ties", strided=True)  # says nothing about what is computed
    assert condition([*cases, strange], [*(right(case.args[0], case.label) for case in cases), True]) == said


def test_vectors_have_neither_rows_nor_columns_to_compare():
    vectors = [Case((np.ones(3),), "a"), Case((np.ones(4),), "b")]
    assert condition(vectors, [True, False]) == "It is wrong only on this kind of input: b."
    assert condition([Case((2,)), Case((3,))], [True, False]) == ""


def test_enough_digits_are_shown_to_see_a_difference():
    assert [digits(0.0, 2 * 10.0**-k) for k in (1, 2, 3, 4, 7, 11)] == [5, 5, 5, 6, 9, 13]
    assert digits(np.ones(2), np.ones(3)) == digits(1.0, 1.0) == digits(np.inf, 1.0) == digits("a", 1.0) == 5
    assert first_apart(np.array([1, 2, 3, 5.0]), np.arange(1, 5.0), 1e-9) == "[3]: 4 is expected, yours is 5"
    assert first_apart(np.arange(4.0), np.arange(4.0), 1e-9) == first_apart("a", np.arange(4.0), 1e-9) == ""


def test_places_that_change_together_are_joined_by_and():
    one = Sentence(("the sum", "the penalty"), (1, 2), (("minus", "`a`", ""),))
    assert one.match().nudge == "Look at the sum or at the penalty."
    assert one.match().why.endswith("; other changes give the same results.")
    every = Sentence(("the sum", "the penalty"), (1, 2), ((f"minus{EVERYWHERE}", "`a`", ""),))
    assert every.match().nudge == "Look at the sum and at the penalty."
    assert "other changes" not in every.match().why


def test_an_error_on_some_inputs_is_told_with_them():
    one = Piece("total", 1, lambda X: X.sum(), lambda rng: [Case((np.ones((n, 2)),)) for n in (1, 2, 3)])
    result = one.examine(written("def answer(X):\n    return X[0].sum() + X[1:][0].sum() + X[2:].sum()\n"), None)
    assert "It stops where there is only one row (n = 1), and only there." in result.hint


def test_what_is_too_much_is_found_before_what_is_mixed_up():
    """With y = 1, `x * y` would be right as well."""
    function = written("def answer(x, y):\n    return x + y\n")
    outcomes = [call(function, Case((x, 1.0))) for x in (2.0, 3.0, 5.0)]
    place = repair(function, outcomes, [2.0, 3.0, 5.0], 1e-9, Effort(10**5))
    assert place.change == "`y` left out of `x + y` in line 2"
    closed = [call(abs, Case((x,))) for x in (1.0, 2.0)]
    assert repair(abs, closed, [2.0, 3.0], 1e-9, Effort(10**5)) is None  # its source is not available


def test_a_function_that_fails_on_the_first_inputs_is_not_tried_on_all():
    found, tried = probes(piece("dual-representation", "gradient")), []

    def fails(case):
        tried.append(case)
        raise ValueError("always")

    assert projections(fails, found) is None and len(tried) == 4 < len(found.cases)

    def recovers(case):
        tried.append(case)
        if len(tried) < 4:
            raise ValueError("at first")
        return case.args[0]

    tried.clear()
    assert projections(recovers, found) is not None and len(tried) == len(found.cases)


def test_truth_values_in_an_array_are_compared_as_numbers():
    want = np.array([True, False, True])
    pairs = [Pair(Case((i,)), np.array([1.0, 0.0, last]), want) for i, last in enumerate([1.0, 0.0])]
    assert relation(Known(pairs, ["i"], 1e-9)) == "Every wrong number is 0 where 1 is expected."
