"""`kernelcourse progress`: what saved notebooks show."""

import os
import shutil

import nbformat
import pytest

from kernelcourse.checking import CheckFailed, dual_representation
from kernelcourse.course import progress
from kernelcourse.course.cli import main
from tests.course.conftest import HERE, cell_by_id

EXERCISE = HERE.exercises / "01-dual-representation" / "dual-representation.ipynb"


def shown(cell, **answers):
    """Give a check cell the output that a kernel would have saved with it."""
    cell.execution_count = 1
    try:
        verdict = dual_representation.checks(1)(**answers)
    except CheckFailed as error:
        verdict = error.verdict
        cell.outputs = [nbformat.v4.new_output("error", ename="CheckFailed", evalue="", traceback=[])]
    data, metadata = verdict.bundle
    cell.outputs = [nbformat.v4.new_output("display_data", data, metadata=metadata), *cell.outputs]


@pytest.fixture
def folder(tmp_path):
    """A student's folder: one assignment begun, one untouched, and things that are not assignments."""
    notebook = nbformat.read(EXERCISE, as_version=4)
    shown(cell_by_id(notebook, "check-kernel"), kernel=lambda x, z, degree: 0.0)
    shown(
        cell_by_id(notebook, "check-dual"), gram_matrix=lambda P: P @ P.T, dual_weights=len, predict=lambda K, a: K @ a
    )
    missing = cell_by_id(notebook, "check-dual-objective")
    missing.outputs = [nbformat.v4.new_output("error", ename="NameError", evalue="gone", traceback=[])]
    cell_by_id(notebook, "why-dual").source = "Because of <b>kernels</b>."
    mine = tmp_path / "mine" / "01.ipynb"
    mine.parent.mkdir()
    nbformat.write(notebook, mine)
    os.utime(mine, (1.7e9, 1.7e9))
    shutil.copy(HERE.exercises / "11-beyond-n-squared" / "beyond-n-squared.ipynb", tmp_path)
    old = tmp_path / "old.ipynb"
    shutil.copy(EXERCISE, old)
    os.utime(old, (1.6e9, 1.6e9))
    for other in (".ipynb_checkpoints", "submitted"):
        (tmp_path / other).mkdir()
        shutil.copy(EXERCISE, tmp_path / other / "copy.ipynb")
    (tmp_path / "notes.ipynb").write_text("no notebook", encoding="utf-8")
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "empty.ipynb")
    return tmp_path


def test_the_overview_counts_pieces_points_and_written_answers(folder, capsys):
    assert main(["progress", str(folder)]) == 0
    head, first, second, _, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["assignment", "pieces", "points", "written", "last", "try"]
    assert first.startswith("01 Dual representation  2 of 14  2 of 21  1 of 2   2023-11-1")
    assert second.startswith("11 Beyond n²            0 of 7   0 of 14  0 of 1   –")
    assert " ".join(total.split()) == "all 2 of 21 2 of 35 1 of 3"


def test_each_piece_stands_as_the_notebook_was_saved(folder):
    first, _ = progress.find(folder)
    standings = {one.piece: one.right for one in first.progress.standings}
    assert standings["gram_matrix"] is standings["predict"] is True
    assert standings["kernel"] is standings["dual_weights"] is standings["dual_objective"] is False
    assert standings["objective"] is None


def test_the_page_tells_the_same(folder, tmp_path, capsys):
    target = tmp_path / "progress.html"
    assert main(["progress", str(folder), "--page", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert capsys.readouterr().out.splitlines()[-1] == str(target)
    for words in ("01 Dual representation", "2 of 14", "2 of 21", "<li>✓ predict: right</li>", "not right yet"):
        assert words in text
    assert text.count("<li>") == 14 + 7  # every piece, and no summary
    assert "<script" not in text and str(folder) not in text


def test_a_title_is_shown_as_it_was_typed(folder):
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_markdown_cell("# 99 <b>Mine</b>"),
                nbformat.v4.new_code_cell(
                    "assert 1", metadata={"nbgrader": {"grade": True, "grade_id": "t", "points": 3}}, execution_count=2
                ),
            ]
        ),
        folder / "plain.ipynb",
    )
    assignments = progress.find(folder)
    assert assignments[-1].cells[:3] == ("99 <b>Mine</b>", "1 of 1", "3 of 3")
    assert "99 &lt;b&gt;Mine&lt;/b&gt;" in progress.page(assignments)


def test_a_folder_without_notebooks_says_so(tmp_path, capsys):
    assert main(["progress", str(tmp_path)]) == 2
    assert "no notebook of this course" in capsys.readouterr().err
    assert main(["progress", str(tmp_path / "none")]) == 2
    assert "there is no folder" in capsys.readouterr().err
