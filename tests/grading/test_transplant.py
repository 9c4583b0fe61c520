"""Only texts are taken from a submission, and whatever is wrong with the file, there is something to grade."""

import copy
import json
import os
import re
import socket
from pathlib import Path

import nbformat
import pytest

from kernelcourse.course.handed import read_handed
from kernelcourse.course.transplant import (
    BUDGET,
    MOST,
    Cell,
    Unreadable,
    assign,
    cut,
    listed,
    read_cells,
    shorten,
    transplant,
    within_budget,
    without_markup,
    written_size,
)
from tests.grading.hostile.submission import RIGHT, STEM, honest


@pytest.fixture(scope="module")
def release(notebook):
    return nbformat.reads(json.dumps(notebook), as_version=4)


def rebuilt(release, document):
    return transplant(read_cells(json.dumps(document).encode()), release)


def graded(notebook):
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


def sources(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_answers_are_taken_and_all_else_is_ours(release, notebook):
    submission = honest(notebook)
    submission.cells.pop()  # the cell that counts correct answers: it is not graded and may be removed
    for cell in submission.cells:
        cell["metadata"]["tags"] = ["skip-execution"]
        cell["metadata"]["nbgrader"]["points"] = 100
        cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "5"}}]
        cell["attachments"] = {"a.png": {}}
    for check in submission.checks():
        check["source"] = "pass"
    submission.notebook["metadata"] = {"kernelspec": {"name": "evil", "argv": ["sh"]}}
    submission.cells.reverse()
    got = rebuilt(release, submission.notebook)
    assert got.metadata == release.metadata
    assert [c.metadata for c in got.cells] == [c.metadata for c in release.cells[:-1]]
    for cell, ours in zip(got.cells, release.cells[:-1], strict=True):
        name = cell.metadata.nbgrader.grade_id
        assert cell.source == RIGHT.get(name, ours.source)
        assert cell.get("outputs", []) == [] and "attachments" not in cell
    nbformat.validate(got)


def test_added_cells_stay_where_they_were(release, notebook):
    submission = honest(notebook)
    submission.insert("helper = 1", before="dual")
    submission.insert("more = 2", before="check-dual")
    submission.cells.insert(0, {"cell_type": "code", "metadata": {}, "source": ["import ", "math"]})
    submission.cells.append({"cell_type": "markdown", "metadata": {}, "source": "my thoughts"})
    got = rebuilt(release, submission.notebook)
    texts = [cell.source for cell in got.cells]
    assert texts[0] == "import math" and texts[-1] == "my thoughts"
    assert texts.index("helper = 1") < texts.index(RIGHT["dual"]) < texts.index("more = 2")
    assert texts.index("more = 2") < next(i for i, text in enumerate(texts) if text.startswith("check(gram_matrix"))
    assert "nbgrader" not in got.cells[0].metadata


def test_written_texts_have_no_markup_and_code_stays_as_it_is(release, notebook):
    submission = honest(notebook, {"kernel": "x = '<script>'"})
    evil = r"<img onerror=x> <b> [a](javascript:b) [c]: data:d $\href{e}{f}$ $\hat y$"
    submission.cells.append({"cell_type": "markdown", "metadata": {}, "source": evil})
    got = rebuilt(release, submission.notebook)
    assert "x = '<script>'" in sources(got)
    assert got.cells[-1].source == (r"< img onerror=x> < b> [a] (javascript:b) [c] : data:d $\ href{e}{f}$ $\hat y$")


def test_it_does_not_matter_how_often_it_is_done(release, notebook):
    submission = honest(notebook)
    submission.insert("helper = 1", before="dual")
    once = rebuilt(release, submission.notebook)
    assert rebuilt(release, once) == once


def test_a_copied_answer_runs_twice_and_a_copied_check_once(release, notebook):
    submission = honest(notebook)
    second = copy.deepcopy(submission.cell("kernel"))
    second["source"] = "second = 1"
    submission.cells.insert(submission.cells.index(submission.cell("kernel")) + 1, second)
    check = submission.cell("check-kernel")
    submission.cells.insert(0, dict(check, source="forged"))
    got = rebuilt(release, submission.notebook)
    assert [grade_id for grade_id in graded(got)] == [grade_id for grade_id in graded(release)]
    assert sources(got).index(RIGHT["kernel"]) + 1 == sources(got).index("second = 1")
    assert "forged" not in sources(got)


def test_missing_cells_are_back_and_an_answer_may_have_become_text(release, notebook):
    submission = honest(notebook)
    submission.cell("kernel")["cell_type"] = "markdown"
    submission.notebook["cells"] = [submission.cell("kernel")]
    got = graded(rebuilt(release, submission.notebook))
    assert list(got) == list(graded(release))
    assert got["kernel"].source == RIGHT["kernel"] and got["kernel"].cell_type == "code"
    assert "NotImplementedError" in got["dual"].source


def test_cells_that_nobody_grades_are_the_students(release):
    ours = copy.deepcopy(release)
    ours.cells.insert(3, nbformat.v4.new_code_cell("print('plot')"))
    ours.cells.insert(3, nbformat.v4.new_markdown_cell("Look at this:"))
    kept = [
        Cell(c.source, c.cell_type == "code", c.metadata.get("nbgrader", {}).get("grade_id", "")) for c in ours.cells
    ]
    assert [c.source for c in transplant(kept, ours).cells] == [c.source for c in ours.cells]
    edited = [Cell("print('edited')", True) if cell.text == "print('plot')" else cell for cell in kept]
    texts = [c.source for c in transplant(edited, ours).cells]
    assert texts[3:5] == ["Look at this:", "print('edited')"] and "print('plot')" not in texts
    deleted = [cell for cell in kept if cell.text != "print('plot')"]
    assert "print('plot')" not in [c.source for c in transplant(deleted, ours).cells]


def test_formats_of_all_ages_can_be_read(notebook):
    submission = honest(notebook)
    old = copy.deepcopy(submission.notebook)
    for cell in old["cells"]:
        cell["input"] = cell.pop("source")
    sheets = {"nbformat": 3, "worksheets": [{"cells": old["cells"]}]}
    expected = read_cells(json.dumps(submission.notebook).encode())
    assert read_cells(json.dumps(sheets).encode()) == expected
    windows = json.dumps(submission.notebook).replace("\\n", "\\r\\n").encode("utf-8-sig")
    assert read_cells(windows) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"PK\x03\x04", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no notebook"),
        (b"{}", "no cells"),
        (b'{"cells": 5}', "no cells"),
    ],
)
def test_what_is_no_notebook_says_why(content, reason):
    with pytest.raises(Unreadable, match=reason):
        read_cells(content)


def test_odd_cells_do_no_harm():
    cells = [
        5,
        {},
        {"source": 5},
        {"source": ["a", 5, "b"], "metadata": 5},
        {"source": "\ud800", "metadata": {"nbgrader": 5}},
    ]
    cells.append({"source": "x", "metadata": {"nbgrader": {"grade_id": ["list"]}}, "id": 7})
    got = read_cells(json.dumps({"cells": cells}).encode())
    assert [cell.text for cell in got] == ["ab", "?", "x"]


def outcome(files, release):
    found = assign(files, {STEM: release})
    return found.cells[STEM], [(ending.kind, ending.text) for ending in found.endings]


def test_a_notebook_is_found_under_any_name(release, notebook):
    content = json.dumps(honest(notebook).notebook).encode()
    cells, odd = outcome({f"{STEM}.ipynb": content, "copy.ipynb": b"junk"}, release)
    assert len(cells) == len(release.cells) and not odd
    cells, odd = outcome({f"{STEM} (1).ipynb": content}, release)
    assert len(cells) == len(release.cells) and odd[0][0] == "wrong file name"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, "missing notebook"),
        ({f"{STEM}.ipynb": b"junk"}, "unreadable notebook"),
        ({"other.ipynb": b"junk"}, "unreadable notebook"),
        ({f"{STEM}.ipynb": b'{"cells": []}'}, "wrong assignment"),
    ],
)
def test_what_cannot_be_graded_is_named(release, files, kind):
    cells, odd = outcome(files, release)
    assert cells == [] and [name for name, _ in odd] == [kind]


def test_another_assignment_is_told_by_its_cells(release, notebook):
    other = honest(notebook).notebook
    for cell in other["cells"][1:-1]:
        cell["metadata"]["nbgrader"]["grade_id"] += "-of-another"
        cell["id"] += "-of-another"
    _, odd = outcome({f"{STEM}.ipynb": json.dumps(other).encode()}, release)
    assert odd[0][0] == "wrong assignment"


def test_lost_metadata_are_made_up_for_by_the_cells_names(release, notebook):
    submission = honest(notebook)
    for cell in submission.cells:
        cell["metadata"] = {}
    got = graded(rebuilt(release, submission.notebook))
    assert got["dual"].source == RIGHT["dual"]
    assert not outcome({f"{STEM}.ipynb": json.dumps(submission.notebook).encode()}, release)[1]


def nameless(submission):
    for cell in submission.cells:
        cell["metadata"] = {}
        cell.pop("id")
    return submission.notebook


def test_lost_names_are_made_up_for_by_texts_and_definitions(release, notebook):
    submission = honest(notebook)
    submission.cell("dual")["source"] = "%%time\n" + RIGHT["dual"]
    got = graded(rebuilt(release, nameless(submission)))
    assert got["kernel"].source == RIGHT["kernel"] and got["dual"].source.startswith("%%time")
    assert [cell.metadata for cell in got.values()] == [cell.metadata for cell in graded(release).values()]


def test_names_are_not_guessed_for_another_notebook(release, notebook):
    submission = honest(notebook)
    submission.cells[:] = [submission.cell(name) for name in RIGHT]  # the answers, without any of our cells
    files = {"other.ipynb": json.dumps(nameless(submission)).encode()}
    assert [kind for kind, _ in outcome(files, release)[1]] == ["wrong assignment"]


def test_a_deleted_answer_does_not_undo_what_stands_elsewhere(release, notebook):
    submission = honest(notebook)
    submission.cell("kernel")["source"] += RIGHT["dual"]
    submission.cells.remove(submission.cell("dual"))
    submission.cells.remove(submission.cell("not-a-kernel"))
    got = graded(rebuilt(release, submission.notebook))
    assert "NotImplementedError" not in got["dual"].source
    assert got["not-a-kernel"].source == graded(release)["not-a-kernel"].source  # no cell defines it: the stub stays


def test_cells_beyond_number_are_left_out_and_it_is_said(release, notebook):
    submission = honest(notebook)
    submission.cells[:0] = [{"cell_type": "code", "source": f"{i}", "metadata": {}} for i in range(MOST + 9)]
    assert len(rebuilt(release, submission.notebook).cells) == MOST + len(release.cells)
    files = {f"{STEM}.ipynb": json.dumps(submission.notebook).encode()}
    assert [kind for kind, _ in outcome(files, release)[1]] == ["too many cells"]


def test_a_file_of_millions_of_lists_is_not_even_read(monkeypatch):
    monkeypatch.setattr("kernelcourse.course.transplant._BRACKETS", 1000)
    text = json.dumps({"cells": [{"source": "[" * 5000 + '"\\'}]})
    assert read_cells(text.encode())[0].text.startswith("[[")
    with pytest.raises(Unreadable, match="millions"):
        read_cells(text.replace('"cells"', f'"more": [{"[]," * 1000} 0], "cells"').encode())


def test_a_file_may_have_ten_million_brackets():
    for count, reason in ((10_000_000, "it is not JSON"), (10_000_001, "it has millions of parts")):
        with pytest.raises(Unreadable, match=reason):
            read_cells(b"[" * count)


def test_a_file_of_quotation_marks_is_read_in_linear_time(monkeypatch):
    """A search for the end of the text from every quotation mark would take hours."""
    monkeypatch.setattr("kernelcourse.course.transplant._BRACKETS", 1000)
    for tail in (b'\\"' * 2_000_000, b'"' * 2_000_001, b'"\\', b'\\"' * 2_000_000 + b"\\"):
        with pytest.raises(Unreadable):
            read_cells(b'{"cells": "' + b"[" * 2_000 + tail)


def test_texts_have_a_budget_and_answers_come_first(notebook):
    release = nbformat.from_dict(notebook)
    added = [Cell("#" + "\x01" * 100_000, code=True) for _ in range(5)]
    answer = Cell("def kernel(x, z, degree): pass", code=True, grade_id="kernel", by_nbgrader=True)
    kept, left_out = within_budget([*added, answer], release)
    assert left_out == 2 and kept[-1] == answer
    assert sum(written_size(cell.text) for cell in kept) <= BUDGET
    assert [bool(cell.text) for cell in kept] == [True, True, True, False, False, True]


def test_up_to_six_files_are_listed_by_name():
    assert listed([*"abcdef"]) == "a, b, c, d, e and f"
    assert listed([*"abcdefg"]) == "a, b, c, d, e and 2 more"


def test_of_two_files_the_newer_counts_then_the_higher_number(notebook):
    release = nbformat.from_dict(notebook)

    def taken(saved):
        files = {name: json.dumps(notebook).encode() for name in saved}
        (ending,) = assign(files, {STEM: release}, saved).endings
        return ending.kind, ending.text.partition("the one taken is ")[2]

    one, other = f"{STEM}.ipynb", f"{STEM} (1).ipynb"
    assert taken({one: 100.0, other: 50.0}) == ("several files", f"{one}, which was saved last.")
    assert taken({one: 50.0, other: 100.0}) == ("several files", f"{other}, which was saved last.")
    assert taken({one: 50.0, other: 50.0}) == ("several files", f"{other}, whose number is the highest.")
    assert taken({one: 50.0, "a copy.ipynb": 50.0}) == ("several files", f"{one}, which has the right name.")


def make_a_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (os.mkfifo, "unreadable file", "is not a regular file"),
        (Path.mkdir, "unreadable file", "is not a regular file"),
        (make_a_socket, "unreadable file", "is not a regular file"),
        (lambda path: path.symlink_to(__file__), "link", "is a link"),
        (lambda path: path.symlink_to("/dev/zero"), "link", "is a link"),
        (lambda path: path.with_suffix(".zip").touch(), "no notebook", "holds no notebook, only nb.zip"),
        (lambda path: (path.parent / "hw" / "nb").mkdir(parents=True), "no notebook", "only hw"),
    ],
)
def test_what_lies_in_the_place_of_a_notebook_is_named_and_not_opened(tmp_path, monkeypatch, make, kind, words):
    (tmp_path / "ada" / "hw").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    make(Path("ada/hw/nb.ipynb"))
    handed = read_handed(tmp_path, "ada", "hw")
    (ending,) = handed.endings
    assert not handed.files and ending["kind"] == kind and words in ending["text"]


@pytest.mark.parametrize("owner", [os.geteuid(), 12345])
def test_a_second_name_costs_nothing_where_the_file_is_surely_the_students_own(tmp_path, owner):
    if owner != os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folders = [tmp_path / student / "hw" for student in ("ada", "eve")]
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "nb.ipynb").write_text("the work of ada")
    os.link(folders[0] / "nb.ipynb", folders[1] / "nb.ipynb")
    for path in (folders[0], folders[0] / "nb.ipynb"):
        os.chown(path, owner, -1)
    found = [list(read_handed(tmp_path, student, "hw").files) for student in ("ada", "eve")]
    assert found == ([["nb.ipynb"], []] if owner == 12345 else [[], []])


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example",
        "$\\href1x$",
        "$\\style_x$",
        "$\\htmlClass{a}{b}$",
        "```mermaid\nclick\n```",
        "``` {.Mermaid}",
        "<https://a.example>",
        "![a](b)",
        "[a]: b",
    ],
)
def test_no_text_of_a_student_becomes_a_link_or_a_diagram(text):
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    page = markdown2html_mistune(without_markup(text))
    assert not re.search(r"href=|src=|mermaid|\\(href|style|html)(?![a-z])", page), page


def test_long_texts_are_cut_for_those_who_show_them(notebook):
    shown = nbformat.from_dict(notebook)
    for cell in shown.cells:
        cell.source = "a." * 100_000
    locked = [cell.metadata.get("nbgrader", {}).get("locked") for cell in shown.cells]
    shorten(shown)
    for cell, ours in zip(shown.cells, locked, strict=True):
        assert len(cell.source) == 200_000 if ours else len(cell.source) < 3_000
    assert cut("short", 100) == "short"
