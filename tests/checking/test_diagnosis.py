"""What a check says about a wrong answer that no catalogue knows."""

import ast
import linecache
from pathlib import Path

import numpy as np
import pytest

from kernelcourse.checking import Case, Piece, catalogue
from kernelcourse.checking.calling import Answer, call, watched
from kernelcourse.checking.cases import case_generator
from kernelcourse.checking.diagnosis import WORDS
from kernelcourse.checking.diagnosis.behaviour import probes
from kernelcourse.checking.diagnosis.dependence import dependence
from kernelcourse.checking.diagnosis.edits import NUMPY, edits
from kernelcourse.checking.diagnosis.effort import CALL, Effort
from kernelcourse.checking.diagnosis.errors import without_paths
from kernelcourse.checking.diagnosis.fingerprints import tables
from kernelcourse.checking.diagnosis.relations import Known, Pair, relation
from kernelcourse.course.fingerprints import solutions, table
from kernelcourse.course.folder import Course
from tests.hints.__main__ import HEAD, MARKER, new_mutants, score_slips, with_rows
from tests.hints.operators import mutants

ROOT = Path(__file__).parents[2]
COURSE = Course(ROOT)
SOURCES = [source for assignment in COURSE.assignments() for source in COURSE.sources(assignment)]


def piece(notebook, name):
    return next(piece for piece in catalogue(notebook).PIECES if piece.name == name)


def written(text, **names):
    """A function as a notebook's cell defines it: its text can be read again."""
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
    assert "called with 4 arguments, but its first line takes 3: w, Phi, t" in result.nudge


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
        every, new = every + len(list(mutants(solution.function))), new + len(texts)
        for edit in edits(solution.function):
            with edit.made():
                assert ast.unparse(solution.function).replace(NUMPY, "np") not in texts
    assert new > 0.97 * every  # few are left out


def test_steps_are_counted_and_not_seconds():
    """Calls that the student's lines make; a comprehension, which is a call up to Python 3.11, does not count."""
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
    """A round is cheap beside a call, and is counted so: this one goes round some thousand times on each input."""
    right = piece("running-times", "kernel_pays_up_to")
    cost = "3 * (n + 1) ** 2 * d + (n + 1) ** 3"
    wrong = written(
        f"def kernel_pays_up_to(d, D):\n    n = 1\n    while {cost} < 3 * (n + 1) * D**2 * 1.5 + D**3:\n"
        "        n += 1\n    return n\n"
    )
    result = right.examine(wrong, case_generator(1, "kernel_pays_up_to", hidden=False))
    assert result.diagnosis.kind == "place" and "line 3" in result.diagnosis.nudge


def test_a_mistake_that_solves_singular_systems_has_no_fingerprint():
    """Rounding decides whether such a system is solved, and to what: another machine would say something else."""
    mistake = next(m for m in piece("dual-representation", "primal_weights").mistakes if "identity" in m.name)
    rng = case_generator(1, "primal_weights", hidden=False)
    result = piece("dual-representation", "primal_weights").examine(mistake.wrong, rng)
    assert result.mistake == mistake.name and result.diagnosis is None
    assert mistake.hint.startswith(result.nudge)
