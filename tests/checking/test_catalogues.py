"""What every catalogue must satisfy: right answers pass, and each usual mistake fails and gets its own hint."""

import inspect
import json
import pkgutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kernelcourse.checking
from kernelcourse.checking import Piece, catalogue
from kernelcourse.checking.calling import Answer, call
from kernelcourse.checking.cases import case_generator, with_layouts
from kernelcourse.course.plain import decode, encode

CATALOGUES = [
    module
    for info in pkgutil.iter_modules(kernelcourse.checking.__path__)
    if hasattr(module := catalogue(info.name), "PIECES")
]
PIECES = [
    pytest.param(piece, id=f"{module.__name__.rpartition('.')[2]}-{piece.name}")
    for module in CATALOGUES
    for piece in module.PIECES
]
MISTAKES = [
    pytest.param(piece, mistake, id=f"{module.__name__.rpartition('.')[2]}-{piece.name}-{mistake.name}")
    for module in CATALOGUES
    for piece in module.PIECES
    for mistake in piece.mistakes
]
TABLE = Path(__file__).with_name("released.json")
FUNCTIONS = [param for param in PIECES if isinstance(param.values[0], Piece)]


class Everything:
    """A reference may call the library; a student may not."""

    def __contains__(self, name):
        return True


def examine(piece, function, *, seed=1, hidden=False):
    return piece.examine(function, case_generator(seed, piece.name, hidden=hidden), hidden=hidden)


def as_a_student_writes_it(mistake):
    """The mistake's own source, run where only numpy is imported, as in a notebook."""
    namespace = {"np": np}
    exec(inspect.getsource(mistake.wrong), namespace)
    return namespace[mistake.name]


class FromSandbox(Answer):
    """A function whose values arrive as plain data, as they do from a sandbox."""

    def __init__(self, function):
        self.function = function

    def try_on(self, case):
        outcome = call(self.function, case)
        return replace(outcome, value=decode(encode(outcome.value)))


def arrays(piece):
    cases = list(piece.cases(case_generator(1, piece.name, hidden=False)))
    return [arg for case in cases for arg in case.args if isinstance(arg, np.ndarray)]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("piece", PIECES)
def test_the_reference_passes(piece, seed):
    assert examine(replace(piece, allows=Everything()), piece.reference, seed=seed).passed


@pytest.mark.parametrize(("piece", "mistake"), MISTAKES)
def test_a_usual_mistake_fails_and_gets_its_own_hint(piece, mistake):
    for seed in (1, 2, 3):
        result = examine(piece, FromSandbox(as_a_student_writes_it(mistake)), seed=seed)
        assert (result.earned, result.points) == (0, piece.points)
        assert result.hint == mistake.hint
        assert mistake.name == result.mistake
        assert "Hint:" in result.text


@pytest.mark.parametrize(("piece", "mistake"), MISTAKES)
def test_hidden_cases_catch_the_mistake_too_but_are_not_shown(piece, mistake):
    result = examine(piece, mistake.wrong, hidden=True)
    assert result.hint == mistake.hint
    if isinstance(piece, Piece):
        assert result.details == ()


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_knows_at_least_one_mistake_and_its_hints_differ(piece):
    hints = [mistake.hint for mistake in piece.mistakes]
    assert hints
    assert len(set(hints)) == len(hints)


@pytest.mark.parametrize("piece", FUNCTIONS)
def test_cases_include_the_edges(piece):
    known = arrays(piece)
    if not known:
        return
    assert any(array.dtype.kind == "i" for array in known), "integer input"
    assert any(len(array) == 1 for array in known), "n = 1"
    layouts = list(with_layouts(piece.cases(case_generator(1, piece.name, hidden=False))))
    assert any(case.strided for case in layouts)
    assert any(case.frozen for case in layouts)


@pytest.mark.parametrize("piece", FUNCTIONS)
def test_another_seed_gives_other_cases_and_the_same_seed_the_same(piece):
    def drawn(seed):
        cases = piece.cases(case_generator(seed, piece.name, hidden=False))
        return repr([case.args for case in cases])

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def fingerprint(case):
    """A number that distinguishes inputs: all entries of all arguments, each with its own weight."""
    entries = [np.ravel(arg).astype(float) for arg in case.args if np.asarray(arg).dtype.kind in "biuf"]
    values = np.concatenate([*entries, [len(case.args)]])
    return float(values @ np.cos(np.arange(len(values))))


def test_points_tolerances_and_inputs_of_a_term_stay_as_they_were_released():
    """Regrading must use the inputs that students saw, so the inputs that a seed gives are kept in a table.

    `python -m tests.checking.test_catalogues` writes an intended change to the table.
    """
    kept = json.loads(TABLE.read_text(encoding="utf-8"))
    now = released()
    assert {name: row[:2] for name, row in now.items()} == {name: row[:2] for name, row in kept.items()}
    for name, (_, _, inputs) in now.items():
        assert inputs == pytest.approx(kept[name][2], rel=1e-6, abs=1e-6), name


def released():
    """Points, tolerance and inputs of every piece, as the book's seed draws them."""
    table = {}
    for param in PIECES:
        (piece,) = param.values
        if isinstance(piece, Piece):
            cases = piece.cases(case_generator(1, piece.name, hidden=False))
            table[param.id] = [piece.points, piece.tolerance, [fingerprint(case) for case in cases]]
        else:
            table[param.id] = [piece.points, None, []]
    return table


@pytest.mark.parametrize("piece", FUNCTIONS)
def test_the_tolerance_has_a_reason(piece):
    assert 0 < piece.tolerance <= 1e-6
    assert len(piece.tolerance_reason) > 20
    assert piece.tolerance == Piece.tolerance or piece.tolerance_reason != Piece.tolerance_reason


@pytest.mark.parametrize("module", CATALOGUES, ids=lambda module: module.__name__)
def test_pieces_have_different_names(module):
    names = [piece.name for piece in module.PIECES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("piece", FUNCTIONS)
def test_what_is_whole_in_other_examples_is_whole_where_whole_numbers_are_promised(piece):
    cases = list(piece.cases(case_generator(1, piece.name, hidden=False)))
    others = [case for case in cases if "whole" not in case.label]
    for case in cases:
        for position, arg in enumerate(case.args):
            if case.label == "whole numbers" and isinstance(arg, np.ndarray):
                elsewhere = {np.asarray(other.args[position]).dtype.kind for other in others}
                assert arg.dtype.kind == "i" or elsewhere != {"i"}, f"argument {position}"


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in released().items()]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
