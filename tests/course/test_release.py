"""Releasing: the same bytes every time, different numbers for another term, and nothing that a student must not see."""

import json
import os
import re
import shutil

import jupytext
import nbformat
import pytest
from nbgrader.utils import ignore_patterns

from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.errors import CourseError
from kernelcourse.course.export import SafeExport
from kernelcourse.course.folder import Course
from kernelcourse.course.notebooks import cells, pair, read_source, set_seed, term_seed
from kernelcourse.course.release import release
from kernelcourse.course.secret import assignment_secret, commitment
from tests.course.conftest import HERE, temporary_course

ASSIGNMENT = "01-dual-representation"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A course with a release; making the gradebook takes nbgrader a while, so once is enough."""
    course = temporary_course(tmp_path_factory.mktemp("released"), HERE, ASSIGNMENT)
    release(course, ASSIGNMENT)
    return course


@pytest.fixture
def course(released, tmp_path, monkeypatch):
    """A copy of it to change; it was tried out once, which is enough."""
    monkeypatch.setattr("kernelcourse.course.release.rehearse", lambda *what: None)
    return Course(shutil.copytree(released.root, tmp_path / "course"))


def notebook_bytes(course, **options):
    (notebook,) = release(course, ASSIGNMENT, **options)
    return notebook.read_bytes()


def test_releasing_again_changes_no_byte_and_a_term_only_the_seed(course):
    default = (course.exercises / ASSIGNMENT / "dual-representation.ipynb").read_bytes()
    term = notebook_bytes(course, term="2027-spring")
    assert term != default
    assert notebook_bytes(course, term="2027-spring") == term
    promise = json.loads((course.exercises / ASSIGNMENT / "dual-representation.commitment.json").read_bytes())
    assert promise["commitment"] == commitment(assignment_secret(course.root, ASSIGNMENT))
    assert notebook_bytes(course) == default
    differing = [(old, new) for old, new in zip(default.splitlines(), term.splitlines(), strict=True) if old != new]
    assert not (
        course.exercises / ASSIGNMENT / "dual-representation.commitment.json"
    ).exists()  # the book's notebooks are the same everywhere
    kinds = {re.sub(rb"[0-9a-f]{32}|\d+", b"#", old) for old, _ in differing}
    assert kinds == {b'    "SEED = #\\n",', b'     "checksum": "#",'}
    assert f"SEED = {term_seed('2027-spring')}".encode() in term


def test_windows_line_endings_in_the_source_make_the_same_release(course):
    default = (course.exercises / ASSIGNMENT / "dual-representation.ipynb").read_bytes()
    (source,) = course.sources(ASSIGNMENT)
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert notebook_bytes(course) == default


def test_data_files_are_released_but_not_the_text_of_the_solutions(course):
    folder = course.solutions / ASSIGNMENT
    (folder / "data").mkdir()
    (folder / "data" / "table.csv").write_text("x,t\n1,2\n", encoding="utf-8")
    stale = course.exercises / ASSIGNMENT / "old.ipynb"
    stale.write_text("{}", encoding="utf-8")
    release(course, ASSIGNMENT)
    released = {
        path.relative_to(course.exercises / ASSIGNMENT).as_posix() for path in stale.parent.rglob("*") if path.is_file()
    }
    assert released == {"data/table.csv", "dual-representation.ipynb"}


def test_what_nbgrader_itself_releases_and_exports_is_safe_too(tmp_path):
    """The formgrader's button copies what is not ignored; no cell of an exported table is a formula."""
    names = ["a.md", "checks.py", ".hidden", "__pycache__", "a.pyc", "data", "table.csv"]
    for name in names:
        (tmp_path / name).touch()
    with nbgrader_api(HERE) as api:
        left_out = ignore_patterns(exclude=api.coursedir.ignore)(str(tmp_path), names)
        assert issubclass(api.config.ExportApp.plugin_class, SafeExport)
    assert set(names) - set(left_out) == {"data", "table.csv"}


def test_cell_ids_come_from_the_grade_ids(released):
    notebook = json.loads((released.exercises / ASSIGNMENT / "dual-representation.ipynb").read_text(encoding="utf-8"))
    for position, cell in enumerate(notebook["cells"]):
        assert cell["id"] == cell["metadata"].get("nbgrader", {}).get("grade_id", f"cell-{position:02}")
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


def test_the_assignment_is_in_the_gradebook_afterwards(released):
    with nbgrader_api(released) as api, api.gradebook as gradebook:
        notebook = gradebook.find_notebook("dual-representation", ASSIGNMENT)
        assert "check.hidden" in gradebook.find_source_cell("check-dual", notebook.name, ASSIGNMENT).source


def test_the_formgrader_sees_the_paired_notebooks(released):
    with nbgrader_api(released) as api:
        assert api.get_source_assignments() == {ASSIGNMENT}
        assert [notebook["name"] for notebook in api.get_notebooks(ASSIGNMENT)] == ["dual-representation"]


def test_a_broken_solution_region_is_reported_and_the_old_release_stays(course):
    released = course.exercises / ASSIGNMENT / "dual-representation.ipynb"
    before = released.read_bytes()
    (source,) = course.sources(ASSIGNMENT)
    source.write_text(source.read_text(encoding="utf-8").replace("    ### END SOLUTION\n", "", 1), encoding="utf-8")
    with pytest.raises(CourseError, match=r"nbgrader could not release 01-dual-representation:[\s\S]*solution"):
        release(course, ASSIGNMENT)
    assert released.read_bytes() == before


def test_an_unknown_assignment_is_named_with_the_known_ones(course):
    with pytest.raises(CourseError, match=f"no assignment is called '77-none'; there are: {ASSIGNMENT}"):
        release(course, "77-none")


def test_a_notebook_without_seed_line_cannot_have_a_term():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("SEED = 1")])
    with pytest.raises(CourseError, match="SEED = 1"):
        set_seed(notebook, 3)


def test_a_folder_that_is_no_course_is_refused(tmp_path):
    with pytest.raises(CourseError, match=r"no nbgrader_config\.py"):
        Course.around(tmp_path)


# Pairing


def test_pairing_writes_the_notebook_once_and_then_leaves_both_alone(course):
    (source,) = course.sources(ASSIGNMENT)
    twin = source.with_suffix(".ipynb")
    twin.unlink()
    pair(source)
    assert cells(nbformat.read(twin, as_version=4)) == cells(read_source(source))
    before = (source.read_bytes(), twin.read_bytes())
    os.utime(twin, (2e9, 2e9))
    pair(source)
    assert (source.read_bytes(), twin.read_bytes()) == before


def test_an_edit_in_jupyter_reaches_the_text_and_the_other_way_round(course):
    (source,) = course.sources(ASSIGNMENT)
    twin = source.with_suffix(".ipynb")
    notebook = nbformat.read(twin, as_version=4)
    notebook.cells[0].source += "\n\nEdited in Jupyter."
    nbformat.write(notebook, twin)
    os.utime(twin, (2e9, 2e9))
    pair(source)
    assert jupytext.read(source).cells[0].source.endswith("Edited in Jupyter.")
    assert cells(read_source(source)) == cells(notebook)

    source.write_text(
        source.read_text(encoding="utf-8").replace("Edited in Jupyter.", "Edited as text."), encoding="utf-8"
    )
    os.utime(source, (2.1e9, 2.1e9))
    pair(source)
    assert nbformat.read(twin, as_version=4).cells[0].source.endswith("Edited as text.")
