"""`kernelcourse check`: what it says about each piece, whatever the notebook does to its kernel."""

import os

import nbformat
import pytest
from nbgrader.utils import determine_grade

from kernelcourse.course import check, cli
from kernelcourse.course.execution import Ran, Runner
from tests.course.conftest import PATIENCE


def code(source, **meta):
    return nbformat.v4.new_code_cell(
        source, metadata={"nbgrader": {"grade": True, "solution": False, **meta}} if meta else {}
    )


ANSWERS = """
def gram_matrix(Phi): return Phi.T @ Phi
def predict(K, a): return K @ a
def kernel(x, z, degree):
    while degree >= 0:
        degree += 1
def dual_pays(N, M):
    import ctypes
    ctypes.string_at(0)
"""
CELLS = [
    code("from kernelcourse.checking import dual_representation\ncheck = dual_representation.checks(1)"),
    code(ANSWERS),
    code("check(gram_matrix=gram_matrix, predict=predict)", grade_id="half", points=2),
    code("check.seconds = 0.5"),
    code("check(kernel=kernel)", grade_id="endless", points=2),
    code(f"check.seconds = {PATIENCE}"),
    code("check(dual_pays=dual_pays)", grade_id="crash", points=1),
    code("def objective(w):\n    retrun w\ndef gradient(w): return w"),
    code("check(objective=objective, gradient=gradient)", grade_id="unreadable", points=2),
    code("check(dual_weights=dual_weights)", grade_id="missing", points=2),
    code("def primal_weights(*args): raise NotImplementedError"),
    code("check(primal_weights=primal_weights)", grade_id="unwritten", points=2),
    code("assert predict\n1 + 1", grade_id="plain", points=1),
    nbformat.v4.new_markdown_cell(
        "Because.", metadata={"nbgrader": {"grade": True, "solution": True, "grade_id": "why", "points": 2}}
    ),
]


def saved(folder, cells):
    path = folder / "mine.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """What is said about a notebook with every kind of answer in it."""
    rows = check.check(saved(tmp_path_factory.mktemp("student"), CELLS), seconds=PATIENCE)
    return {row.piece: row for row in rows}


def test_every_piece_gets_its_own_points_whatever_the_others_do(rows):
    earned = {name: (row.earned, row.points) for name, row in rows.items()}
    assert earned == {
        "gram_matrix": (0, 1),
        "predict": (1, 1),
        "kernel": (0, 2),
        "dual_pays": (0, 1),
        "objective": (0, 1),
        "gradient": (0, 1),
        "dual_weights": (0, 2),
        "primal_weights": (0, 2),
        "plain": (1, 1),
        "why": (None, 2),
    }


def test_a_wrong_answer_is_shown_with_its_whole_box(rows):
    box = rows["gram_matrix"].box
    for words in ("✗ gram_matrix: not right yet", "input: ", "expected: ", "yours: ", "the inner products of the rows"):
        assert words in box


def test_an_endless_loop_and_a_crash_are_told_with_their_lines(rows):
    assert "It did not come to an end" in rows["kernel"].box
    assert "of kernel:  " in rows["kernel"].box
    assert rows["dual_pays"].said.startswith("It killed the kernel.")
    assert rows["dual_pays"].said.endswith("line 8 of dual_pays:  ctypes.string_at(0)")


def test_a_missing_name_is_told_by_its_cause(rows):
    for name in ("objective", "gradient"):
        cause = "failed: SyntaxError: invalid syntax in line 2: retrun w"
        assert rows[name].said == f"The cell that defines `{name}` {cause}"
    assert rows["dual_weights"].said == "No cell above this check defines `dual_weights`."
    assert (rows["primal_weights"].said, rows["primal_weights"].box) == ("It is not written yet.", "")


def test_nothing_names_a_file_of_this_machine(rows):
    for row in rows.values():
        assert "ipykernel" not in row.said + row.box and os.sep + "tmp" not in row.said + row.box


def test_the_table_comes_last_and_keeps_to_the_width(rows):
    text = check.render(list(rows.values()), width=90)
    boxes, _, table = text.partition("✗ gram_matrix       0 of 1    see above")
    assert "the inner products of the rows" in boxes and boxes.endswith("\n\n")
    assert "✓ predict           1 of 1" in table
    assert "✎ why               – of 2    read by your instructor" in table
    assert table.endswith("\n\n2 of 12 points, and 2 more read by your instructor")
    assert max(map(len, table.splitlines())) <= 90


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with Runner(tmp_path_factory.mktemp("kernel"), seconds=PATIENCE) as runner:
        runner.run(CELLS[0].source)
        runner.run(ANSWERS)
        yield runner


def test_a_notebook_shows_a_line_or_one_box_and_nbgrader_gives_its_points(runner):
    shown = {}
    for name, source in {
        "right": "check(predict=predict)",
        "wrong": "check(gram_matrix=gram_matrix)",
        "half": "check(predict=predict, gram_matrix=gram_matrix)",
    }.items():
        cell = code(source, grade_id=name, points=2)
        cell.outputs = runner.run(source, remember=False).outputs
        shown[name] = [output.output_type for output in cell.outputs], determine_grade(cell)[0]
        assert "kernelcourse/" not in str(cell.outputs)
    assert shown == {
        "right": (["display_data"], 2),
        "wrong": (["display_data", "error"], 0),
        "half": (["display_data", "execute_result"], 1),  # the box, and the points
    }


def test_a_cell_that_never_ends_is_given_up_and_the_next_one_finds_what_was_there_before(runner):
    runner.client.timeout = 1
    ran = runner.run("import itertools\nsum(itertools.count())", remember=False)
    assert ran.trouble.startswith("It did not come to an end")
    assert runner.run("predict.__name__").text == "'predict'"


class Echo:
    """A kernel that shows the sources it is given, and marks every piece correct."""

    seen: list[str] = []
    remembered: list[str] = []

    def __init__(self, folder, seconds):
        self.seen.clear()
        self.remembered.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, source, *, remember=True, sources=()):
        self.seen.append(source)
        self.remembered.extend([source] * remember)
        found = check.calls(source)
        records = [{"piece": call.piece, "points": 1, "earned": 1, "mistake": ""} for call in found]
        output = nbformat.v4.new_output("display_data", {"text/plain": source}, metadata={"kernelcourse": records})
        return Ran([output])


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "Runner", Echo)
    return saved(tmp_path, [code("a = b = 1"), code("check(a=a, b=b)", grade_id="c", points=2), code("print('later')")])


def test_one_piece_alone(path, capsys):
    assert cli.main(["check", str(path), "--piece", "b"]) == 0
    assert Echo.seen == ["a = b = 1", "check(b=b)"]
    assert Echo.remembered == ["a = b = 1"]  # a new kernel does not run the checks again
    assert capsys.readouterr().out.startswith("✓ b    1 of 1\n\n1 of 1 points\nchecked in ")
    assert cli.main(["check", str(path), "--piece", "c"]) == 2
    assert "--piece: no piece of mine.ipynb is called 'c'; there are: a, b" in capsys.readouterr().err


def test_the_reason_is_asked_for_where_a_piece_is_wrong(path, monkeypatch):
    def wrong(self, source, **_):
        Echo.seen.append(source)
        output = nbformat.v4.new_output("display_data", {"text/plain": f"said by {source}"})
        if check.calls(source):
            output.metadata["kernelcourse"] = [{"piece": "a", "points": 1, "earned": 0, "mistake": ""}]
        return Ran([output])

    monkeypatch.setattr(Echo, "run", wrong)
    (row,) = check.check(path, pieces=["a"], seconds=1, why=True)
    assert row.box == "said by check(a=a)\nsaid by check.why('a')"
    (row,) = check.check(path, pieces=["a"], seconds=1)
    assert row.box == "said by check(a=a)"


def test_a_watched_notebook_is_checked_again_when_it_is_saved(path, monkeypatch, capsys):
    def sleep(_):
        if capsys.readouterr().out.count("checked in") == 0:
            raise KeyboardInterrupt  # nothing has happened since the last check
        path.write_text("half a notebo", encoding="utf-8")
        os.utime(path, (2e9, 2e9))

    monkeypatch.setattr(check.time, "sleep", sleep)
    assert cli.main(["check", str(path), "--watch"]) == 0
    assert len(Echo.seen) == 4


def test_the_exit_code_tells_whether_all_is_right(path, monkeypatch, capsys):
    assert cli.main(["check", str(path)]) == 0
    monkeypatch.setattr(check, "check", lambda *_, **__: [check.Row("a", 2, 1)])
    assert cli.main(["check", str(path)]) == 1
    assert "1 of 2 points" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["not json", "[1, 2]", '{"cells": 3}', ""])
def test_something_else_is_refused(tmp_path, content, capsys):
    path = tmp_path / "x.ipynb"
    path.write_text(content, encoding="utf-8")
    assert cli.main(["check", str(path)]) == 2
    assert "is not a notebook" in capsys.readouterr().err


def test_a_missing_file_and_a_notebook_without_checks_are_refused(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path / "none.ipynb")]) == 2
    assert "there is no notebook" in capsys.readouterr().err
    assert cli.main(["check", str(saved(tmp_path, [code("1")]))]) == 2
    assert "has no checks" in capsys.readouterr().err


def test_the_progress_bar_is_for_terminals_only(path, monkeypatch, capsys):
    check.check(path, seconds=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    check.check(path, seconds=1)
    assert "0/3 [" in capsys.readouterr().err
