"""Hidden cases: a function that uses only the number of its calls, or a table, does not pass."""

import os
from collections import Counter

import numpy as np
import pytest

from kernelcourse.checking.calling import Answer, call
from kernelcourse.checking.cases import Case, case_generator
from kernelcourse.checking.drawing import drawn
from kernelcourse.checking.piece import Mistake, Piece
from kernelcourse.seam import engine
from tests.checking.test_catalogues import FUNCTIONS


def hidden(piece, secret, monkeypatch):
    monkeypatch.setitem(os.environ, "KERNELCOURSE_HIDDEN_SEED", str(secret))
    return drawn(piece.cases, case_generator(1, piece.name, hidden=True), hidden=True)


def key(value):
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    return tuple(map(key, value)) if isinstance(value, (list, tuple)) else repr(value)


@pytest.mark.parametrize("piece", FUNCTIONS)
def test_no_table_of_what_was_asked_holds_what_is_asked_next(piece, monkeypatch):
    known = {key(case.args) for secret in range(12) for case in hidden(piece, secret, monkeypatch)}
    for secret in ("another", "a third"):
        new = [case for case in hidden(piece, secret, monkeypatch) if key(case.args) not in known]
        assert len(new) >= 2, f"{piece.name}: draw the inputs from a wider range"


BOOLEAN = ["is_psd", "dual_pays", "primal_testing_pays"]


@pytest.mark.parametrize("piece", [param for param in FUNCTIONS if param.values[0].name in BOOLEAN])
def test_answers_of_true_and_false_come_in_no_order_that_can_be_known(piece, monkeypatch):
    with engine("off"):
        answers = [
            tuple(bool(piece.reference(*case.fresh())) for case in hidden(piece, secret, monkeypatch))
            for secret in range(40)
        ]
    assert max(Counter(answers).values()) <= 2
    assert len({len(one) for one in answers}) > 3 and len({sum(one) for one in answers}) > 3
    beginnings = Counter(one[:4] for one in answers)
    assert max(beginnings.values()) <= 12


def test_the_pieces_of_true_and_false_are_these():
    found = {
        param.values[0].name
        for param in FUNCTIONS
        if isinstance(
            param.values[0].reference(*next(iter(param.values[0].cases(np.random.default_rng(0)))).args), bool
        )
    }
    assert found == set(BOOLEAN)


def numbered(rng):
    for number in range(5):
        yield Case((number, float(rng.normal())))


def test_every_kind_of_input_is_among_the_hidden_ones_and_a_secret_gives_the_same_again():
    piece = Piece("p", 1, lambda number, x: x, numbered)
    for secret in range(5):
        cases = drawn(piece.cases, np.random.default_rng(secret), hidden=True)
        assert {case.args[0] for case in cases} == set(range(5)) and 7 <= len(cases) <= 10
        again = drawn(piece.cases, np.random.default_rng(secret), hidden=True)
        assert [case.args for case in cases] == [case.args for case in again]
    visible = drawn(piece.cases, np.random.default_rng(0), hidden=False)
    assert [case.args[0] for case in visible] == list(range(5))


def test_how_often_a_hidden_answer_is_wrong_is_not_said():
    piece = Piece("p", 1, lambda number, x: x, numbered)

    def choosing(number, x):
        return x if number < 3 else x + 1

    result = piece.examine(choosing, np.random.default_rng(1), hidden=True)
    assert not result.passed and not any(letter.isdigit() for letter in result.title.partition("(")[0])
    assert "wrong on" in piece.examine(choosing, np.random.default_rng(1)).title


class Elsewhere(Answer):
    def __init__(self, function):
        self.function = function

    def try_on(self, case):
        return call(self.function, case)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_class_is_graded_with_right_answers_that_were_computed_once(hidden):
    asked = []

    def right(number, x):
        asked.append(number)
        return x

    def negated(number, x):
        return -x

    def fresh():
        return Piece("p", 1, right, numbered, [Mistake(negated, "Mind the sign.")])

    once, prepared = fresh().examine(Elsewhere(negated), np.random.default_rng(3), hidden=hidden), fresh()
    prepared.prepare(np.random.default_rng(3), hidden=hidden)
    asked.clear()
    assert prepared.examine(Elsewhere(negated), np.random.default_rng(3), hidden=hidden) == once
    assert not asked and once.mistake == "negated"
    assert prepared.examine(Elsewhere(lambda number, x: x), np.random.default_rng(3), hidden=hidden).passed
    assert not asked
    prepared.examine(negated, np.random.default_rng(3), hidden=hidden)  # a student's own check computes its own
    assert len(asked) > 4
    asked.clear()
    prepared.examine(Elsewhere(negated), np.random.default_rng(4), hidden=hidden)  # so do other inputs
    assert len(asked) > 4
