"""What a student's notebook has besides its source: cells that install the package and show progress, and links."""

import sys

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from kernelcourse.checking import dual_representation
from kernelcourse.course.errors import CourseError
from kernelcourse.course.notebooks import read_source
from kernelcourse.course.student_copy import first_cell, link_texts, surround
from tests.course.conftest import HERE

WHEEL = "https://example.org/kernels/kernelcourse-1.0-py3-none-any.whl"
SITE = "https://example.org/kernels"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """IPython with a `%pip` that only records what it was asked for."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(ipython_dir=str(tmp_path), config=Config({"HistoryManager": {"enabled": False}}))
    shell.asked = []
    shell.register_magic_function(shell.asked.append, "line", "pip")
    yield shell
    InteractiveShell.clear_instance()


def test_the_first_cell_installs_what_is_missing_and_does_nothing_where_nothing_is(shell, monkeypatch):
    monkeypatch.delenv("KERNELCOURSE_BOOK")
    cell = first_cell(SITE, WHEEL)
    assert shell.run_cell(cell).success
    assert shell.asked == []
    monkeypatch.setitem(sys.modules, "kernelcourse", None)  # Python's way of saying that it is not installed
    assert shell.run_cell(cell).success
    assert shell.asked == [f"install -q {WHEEL}"]
    import os

    assert os.environ["KERNELCOURSE_BOOK"] == SITE


def test_a_course_without_addresses_has_no_first_cell_and_every_course_a_last_one():
    notebook = read_source(HERE.sources("01-dual-representation")[0])
    before = [cell.source for cell in notebook.cells]
    surround(notebook, "", "")
    assert [cell.source for cell in notebook.cells] == [*before, "check.progress()"]
    surround(notebook, SITE, WHEEL)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.source == first_cell(SITE, WHEEL)
    plain = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1")])
    surround(plain, "", "")
    assert len(plain.cells) == 1  # nothing to count


@pytest.mark.parametrize(
    ("book", "package"), [("ftp://x", ""), ("https://a b", ""), ("", 'x"; import os'), ("", "a\nb"), ("", "$HOME")]
)
def test_addresses_that_could_be_code_are_refused(book, package):
    with pytest.raises(CourseError, match=r"c\.StudentCopy\.(book|package) is .*, but expected an address"):
        first_cell(book, package)


def test_equations_in_texts_become_links_and_answers_stay_as_they_are():
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("Equation (1) says more than equation (77)."),
            nbformat.v4.new_markdown_cell("By equation (1).", metadata={"nbgrader": {"solution": True}}),
        ]
    )
    link_texts(notebook, "dual-representation", SITE)
    place = f"{SITE}/book/introduction/two-ways.html#equation-eq-two-ways-kernel"
    assert notebook.cells[0].source == f"[Equation (1)]({place}) says more than equation (77)."
    assert notebook.cells[1].source == "By equation (1)."


def test_the_last_cell_counts_what_was_right_in_this_notebook():
    check = dual_representation.checks(1)
    assert not check.passed("gram_matrix")
    check(gram_matrix=lambda Phi: Phi @ Phi.T, predict=lambda K, a: K)
    assert check.passed("gram_matrix") and not check.passed("gram_matrix", "predict")
    text = repr(check.progress())
    assert "✓ gram_matrix: right\n" in text and "✗ predict: not right yet\n" in text and "· kernel: not tried\n" in text
    assert text.endswith("\n1 of 14 pieces right, 1 of 21 points")
    page = check.progress()._repr_html_()
    assert page.count("<tr>") == 14 and "1 of 14 pieces right, 1 of 21 points" in page
    check(predict=lambda K, a: K @ a)
    assert check.passed("gram_matrix", "predict")
