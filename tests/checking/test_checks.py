"""How a check judges and what it says, with a small catalogue for this purpose."""

import cProfile
import pstats
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from kernelcourse import seam
from kernelcourse.algorithms.ridge import predict as library_predict
from kernelcourse.checking import Case, CheckFailed, Checks, Claim, Mistake, Partial, Passed, Piece, dual_representation
from kernelcourse.checking.piece import CALLED_THE_LIBRARY, NOT_WRITTEN
from kernelcourse.checking.report import Result
from kernelcourse.linalg import solve_ridge


def cases(rng):
    yield Case((rng.normal(size=(1, 1)), np.ones(1)), "one point")
    yield Case((rng.integers(-3, 4, size=(3, 2)), np.array([0.5, 1.5])), "whole numbers")
    yield Case((rng.normal(size=(4, 2)), rng.normal(size=2)))


def scores(X, w):
    return X @ w


def negated(X, w):
    return -X @ w


def without_weights(X, w):
    return X.sum(axis=1)


def total(X, w):
    return float((X @ w).sum())


PIECES = [
    Piece("scores", 2, scores, cases, [Mistake(without_weights, "The weights are missing.")]),
    Piece("total", 1, total, cases),
    Claim("negative", 1, lambda: -1.0, lambda number: "" if number < 0 else "It is not negative."),
]


@pytest.fixture
def check():
    return Checks(PIECES, seed=1)


def failure(check, **answers):
    with pytest.raises(CheckFailed) as caught:
        check(**answers)
    return caught.value.verdict.results[0]


@pytest.mark.parametrize(
    "route",
    [
        scores,
        lambda X, w: np.einsum("nd,d->n", X, w),
        lambda X, w: [sum(x * v for x, v in zip(row, w, strict=True)) for row in X],
        lambda X, w: np.array([np.dot(row, w) for row in X], dtype=np.float64),
    ],
    ids=["matmul", "einsum", "lists", "loop"],
)
def test_every_correct_route_passes(check, route):
    verdict = check(scores=route)
    assert isinstance(verdict, Passed)
    assert verdict.earned == 2
    assert repr(verdict) == "✓ scores: right on 5 inputs (2 of 2 points)"


def test_a_usual_mistake_gets_its_hint(check):
    result = failure(check, scores=lambda X, w: np.array([row.sum() for row in X]))
    assert result.hint == "The weights are missing."
    assert result.mistake == "without_weights"


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text.split("]")[0])]


def test_the_most_readable_input_that_fails_is_shown_and_a_smaller_one_on_request(check):
    """One point hides wrong shapes, and random digits cannot be checked by hand."""
    result = failure(check, scores=lambda X, w: X @ w + 1)
    details = dict(result.details)
    assert details["input"] == "whole numbers"
    assert numbers(details["yours"]) == pytest.approx([value + 1 for value in numbers(details["expected"])], abs=1e-4)
    smaller = dict(result.smaller)
    assert smaller["input"] == "one point" and smaller["X"].endswith("shape (1, 1)")
    assert "one point" in repr(check.why("scores")) and "one point" not in result.text


def test_expected_and_yours_have_as_many_digits_as_it_takes_to_tell_them_apart(check):
    details = dict(failure(check, scores=lambda X, w: X @ w + 3e-8).details)
    assert numbers(details["yours"]) != numbers(details["expected"])


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda X, w: None, "Is a `return` missing?"),
        (lambda X, w: (X @ w)[:, None], "The shape is (3, 1), but (3,) is expected."),
        (lambda X, w: 1.0, "It is a plain number, but shape (3,) is expected."),
        (lambda X, w: "no", "real numbers are expected"),
        (lambda X, w: (X @ w).astype(complex), "real numbers are expected"),
        (lambda X, w: np.array(X @ w, dtype=object), "real numbers are expected"),
        (lambda X, w: [[1.0], [1.0, 2.0]], "rows of different lengths"),
        (lambda X, w: X @ w * np.nan, "It contains NaN."),
        (lambda X, w: X @ w + np.inf, "It contains infinite values."),
        (None, "It raised TypeError"),
    ],
)
def test_kind_and_shape_come_before_values(check, answer, problem):
    assert problem in failure(check, scores=answer).problem


def test_a_number_is_no_array_of_equal_numbers(check):
    assert "a plain number is expected" in failure(check, total=lambda X, w: np.full((2, 2), total(X, w))).problem


def test_an_answer_that_writes_on_its_argument_is_told_so(check):
    def answer(X, w):
        w *= 2
        return X @ w / 2

    result = failure(check, scores=answer)
    assert "changed its argument `w`" in result.problem


@pytest.mark.parametrize(
    ("given", "change"),
    [
        (["b", "a"], lambda words: words.sort()),
        ({"a": [1]}, lambda words: words["a"].append(2)),
        ({"a"}, lambda words: words.add("b")),
        ((1, [np.zeros(2)]), lambda words: words[1][0].fill(1)),
    ],
)
def test_a_changed_argument_of_any_kind_is_noticed_and_spoils_no_other_case(given, change):
    def answer(words):
        count = len(words)
        change(words)
        return count

    piece = Piece("count", 1, lambda words: len(words), lambda rng: [Case((given,))])
    before = repr(given)
    assert "changed its argument" in failure(Checks([piece], seed=1), count=answer).problem
    assert repr(given) == before
    assert Checks([piece], seed=1)(count=len).earned == 1


def test_an_answer_that_restores_its_argument_still_meets_read_only_input(check):
    def answer(X, w):
        w *= 2
        result = X @ w / 2
        w /= 2
        return result

    assert "tries to modify its argument" in failure(check, scores=answer).problem


@pytest.mark.parametrize(
    ("answer", "remark"),
    [
        (lambda X, w: -X @ w, "opposite sign"),
        (lambda X, w: X @ w * len(X), "n times too large"),
        (lambda X, w: X @ w / len(X), "n times too small"),
        (lambda X, w: 3 * X @ w, "3 times what is expected"),
        (lambda X, w: (X @ w).astype(int), "whole numbers"),
    ],
)
def test_what_wrong_values_have_in_common_is_said(check, answer, remark):
    assert remark in failure(check, scores=answer).hint


def test_a_matrix_that_should_be_symmetric_is_told_so():
    def square_cases(rng):
        yield Case((rng.normal(size=(2, 2)),))

    piece = Piece("gram", 1, lambda X: X @ X.T, square_cases)
    assert "not symmetric" in failure(Checks([piece], seed=1), gram=lambda X: X @ X).hint


def test_an_unwritten_answer_is_told_how_to_begin(check):
    def answer(X, w):
        raise NotImplementedError

    result = failure(check, scores=answer)
    assert result.mistake == NOT_WRITTEN
    assert "NotImplementedError" in result.hint


def test_an_error_shows_the_line_of_the_students_own_code(check):
    def answer(X, w):
        return np.linalg.inv(X @ w)  # needs a matrix

    result = failure(check, scores=answer)
    assert result.problem.startswith("It raised LinAlgError")
    assert "np.linalg.inv(X @ w)" in dict(result.details)["where"]


def test_even_an_exit_is_only_a_wrong_answer(check):
    assert "SystemExit" in failure(check, scores=lambda X, w: sys.exit(0)).problem


def test_calling_the_library_under_another_name_is_refused_with_a_kind_word(check):
    result = failure(check, scores=lambda X, w: library_predict(X, w))
    assert result.mistake == CALLED_THE_LIBRARY
    assert "kernelcourse.algorithms.ridge.predict" in result.problem
    assert failure(check, scores=library_predict).mistake == CALLED_THE_LIBRARY


def test_a_library_call_hidden_in_a_handler_is_noticed(check):
    def answer(X, w):
        try:
            return library_predict(X, w)
        except ValueError:
            return X @ w

    assert failure(check, scores=answer).mistake == CALLED_THE_LIBRARY


def test_a_definition_is_called_by_its_own_name(check):
    answer = lambda X, w: solve_ridge(np.eye(len(X)), X @ w, 0.0)  # noqa: E731
    assert failure(check, scores=answer).problem == "It calls kernelcourse.linalg.solve_ridge."


def test_a_profiler_sees_the_answer_and_goes_on_after_a_check(check):
    def seen_by_the_profiler(X, w):
        return X @ w

    profiler = cProfile.Profile()
    profiler.enable()
    check(scores=seen_by_the_profiler)
    with pytest.raises(CheckFailed, match="It calls kernelcourse"):
        check(scores=library_predict)
    sorted([2, 1])
    profiler.disable()
    counted = {name for _, _, name in pstats.Stats(profiler).stats}
    assert "<built-in method builtins.sorted>" in counted
    assert "seen_by_the_profiler" in counted or sys.gettrace() is not None  # a debugger cannot run beside it


def test_a_check_runs_with_the_engine_off(check):
    seen = []

    def answer(X, w):
        seen.append(seam._state.get())
        return X @ w

    check(scores=answer)
    assert set(seen) == {"off"}
    assert seam._state.get() != "off"


def test_a_library_call_may_be_allowed():
    piece = Piece("scores", 1, scores, cases, allows=["kernelcourse.algorithms.ridge.predict"])
    assert isinstance(Checks([piece], seed=1)(scores=library_predict), Passed)


def test_the_profiler_of_others_survives_a_check(check):
    def profiler(frame, event, arg):
        return None

    previous = sys.getprofile()
    sys.setprofile(profiler)
    try:
        check(scores=scores)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(previous)


def test_printing_and_warning_cost_nothing_and_stay_quiet(check, capsys):
    def answer(X, w):
        print("looking at", X.shape)
        print("oh", file=sys.stderr)
        warnings.warn("careful", RuntimeWarning, stacklevel=1)
        return X @ w

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(check(scores=answer), Passed)
    assert capsys.readouterr() == ("", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as a notebook may request
        assert isinstance(check(scores=answer), Passed)


def test_what_a_wrong_answer_printed_is_shown(check):
    def answer(X, w):
        print("rows:", len(X))
        return X @ w + 1

    assert dict(failure(check, scores=answer).details)["printed"] == "rows: 3"


@pytest.fixture
def boxes(monkeypatch):
    """What is displayed in a notebook."""
    found = []
    monkeypatch.setattr("IPython.display.display", lambda data, **options: found.append((data, options)))
    return found


def test_parts_earn_their_own_points(check, boxes):
    """The box has the whole message as text, for a screen reader; nbgrader takes the points from the cell's result."""
    verdict = check(scores=scores, total=negated)
    assert isinstance(verdict, Partial)
    assert (verdict.earned, verdict.points, float(verdict)) == (2, 3, 2)
    assert verdict._repr_mimebundle_() == {"text/plain": "2"}
    ((data, options),) = boxes
    assert data["text/plain"] == verdict.text and "✗ total" in data["text/plain"]
    assert "✗ total" in data["text/html"]
    assert [record["earned"] for record in options["metadata"]["kernelcourse"]] == [2, 0]


def test_no_right_part_is_an_error_that_carries_the_report(check):
    with pytest.raises(CheckFailed, match="✗ scores: not right yet"):
        check(scores=negated, total=negated)


def test_a_claim_is_judged_by_its_witness(check):
    assert isinstance(check(negative=lambda: -3), Passed)
    assert failure(check, negative=lambda: 3).hint == "It is not negative."
    assert "ZeroDivisionError" in failure(check, negative=lambda: 1 / 0).problem


def test_a_claim_that_nobody_has_tried_to_break_is_told_how_to_begin(check):
    def answer():
        raise NotImplementedError

    result = failure(check, negative=answer)
    assert result.mistake == NOT_WRITTEN and "NotImplementedError" in result.hint
    assert failure(check, negative=lambda: library_predict([[1.0]], [-1.0])).mistake == CALLED_THE_LIBRARY


def test_a_notebook_shows_one_box_for_an_error_that_is_rendered_twice(check, boxes):
    with pytest.raises(CheckFailed) as caught:
        check(scores=without_weights, total=negated)
    lines = caught.value._render_traceback_()
    assert lines == caught.value._render_traceback_()
    assert "scores, total" in lines[0] and "weights" not in lines[0]  # the hint is in the box, once
    ((data, options),) = boxes
    assert "✗ scores" in data["text/html"] and options["raw"] is True
    assert data["text/html"].count("The weights are missing.") == 1
    assert [record["earned"] for record in options["metadata"]["kernelcourse"]] == [0, 0]


def test_the_diagnosis_waits_until_it_is_asked_for(check):
    result = failure(check, scores=without_weights)
    assert "The weights are missing." not in result.text and 'check.why("scores")' in result.text
    why = check.why("scores")
    assert "The weights are missing." in repr(why)
    data, metadata = why._repr_mimebundle_()
    assert data["text/plain"] == repr(why)
    assert metadata == {"kernelcourse-asked": [{"piece": "scores", "mistake": "without_weights"}]}
    assert "<details><summary>Why?</summary>" in result.html


def test_why_needs_a_piece_that_was_checked(check):
    with pytest.raises(ValueError, match=r"total has not been checked yet: run check\(total=total\) first"):
        check.why("total")
    with pytest.raises(TypeError, match="no piece is called 'score'"):
        check.why("score")


def test_an_answer_that_fails_with_another_is_told_so():
    namespace = {}
    exec("def scores(X, w):\n    return 2 * X @ w\ndef total(X, w):\n    return float(scores(X, w).sum())", namespace)
    result = failure(Checks(PIECES, seed=1), total=namespace["total"])
    assert result.nudge == "`total` is right once `scores` is."


def test_hidden_cases_are_other_cases_and_are_not_shown(check):
    shown, hidden = [], []
    check(scores=lambda X, w: shown.append(X.tolist()) or X @ w)
    check.hidden(scores=lambda X, w: hidden.append(X.tolist()) or X @ w)
    assert shown != hidden
    with pytest.raises(CheckFailed) as caught:
        check.hidden(scores=negated)
    assert caught.value.verdict.results[0].details == ()
    assert check.hidden(scores=scores).results[0].hidden and not check(scores=scores).results[0].hidden


def test_the_instructors_secret_changes_the_hidden_cases(check, monkeypatch):
    def drawn():
        seen = []
        check.hidden(scores=lambda X, w: seen.append(X.tolist()) or X @ w)
        return seen

    before = drawn()
    monkeypatch.setenv("KERNELCOURSE_HIDDEN_SEED", "a secret")
    assert drawn() != before


def test_text_from_a_student_cannot_break_out_of_the_box(check):
    with pytest.raises(CheckFailed) as caught:
        check(scores=lambda X, w: "<script>alert(1)</script>")
    assert "<script>" not in caught.value.verdict.html


def test_an_unknown_piece_is_named(check):
    with pytest.raises(TypeError, match="no piece is called 'score'; this assignment has scores, total, negative"):
        check(score=scores)


def test_the_checks_import_nothing_heavy():
    program = "import kernelcourse.checking.dual_representation, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"IPython", "nbgrader", "nbclient", "nbformat", "jupytext", "matplotlib"} & set(loaded)


def test_a_formula_in_an_error_is_not_set():
    """MathJax would turn it into a link, which may run a script; it leaves <pre> alone."""
    caught = Result("piece", 1, cases=1, wrong=1, problem="It raised ValueError: $\\href{javascript:x}{y}$").html
    assert "$" not in re.sub(r"<pre.*?</pre>", "", caught, flags=re.DOTALL) and "$" in caught


def test_nothing_that_a_function_can_choose_is_told_of_a_hidden_input():
    """Neither shapes nor numbers: a function could put a hidden input into them."""
    piece = next(piece for piece in dual_representation.PIECES if piece.name == "gram_matrix")
    claim = next(piece for piece in dual_representation.PIECES if piece.name == "not_a_kernel")
    for answer in (lambda Phi: np.zeros((0, 31415)), lambda Phi: 31415 * np.ones((len(Phi),) * 2), lambda Phi: "31415"):
        result = piece.examine(answer, np.random.default_rng(0), hidden=True)
        assert not result.passed and "31415" not in result.text and not re.search(r"\d", result.problem + result.hint)
    assert "31415" not in claim.examine(lambda: "31415", np.random.default_rng(0), hidden=True).text
    assert "31415" in claim.examine(lambda: "31415", np.random.default_rng(0)).text


def test_a_claim_is_not_right_once_another_answer_is():
    """The answer it names is judged separately: only the results of a piece can be recomputed with right answers."""
    namespace = {}
    exec("def scores(X, w):\n    return 2 * X @ w\ndef claim():\n    return scores", namespace)
    one = Claim("claim", 1, lambda: 0, lambda answer: "It is too easy.")
    result = failure(Checks([*PIECES, one], seed=1), claim=namespace["claim"])
    assert "is right once" not in result.text


def test_an_error_of_a_check_reads_as_its_verdict(check):
    with pytest.raises(CheckFailed) as caught:
        check(scores=without_weights)
    assert str(caught.value) == caught.value.verdict.text != ""
