"""What every assignment must satisfy, shown by real nbgrader in a temporary course."""

import csv
import html
import json
import multiprocessing
import re

import jupytext
import matplotlib.pyplot  # noqa: F401 - once here, not in every copy of this process
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from nbgrader.utils import compute_checksum, determine_grade
from nbgrader.validator import Validator
from traitlets.config import Config

from kernelcourse.checking import Claim, Partial, catalogue
from kernelcourse.course.engine import succeed
from kernelcourse.course.notebooks import cells, read_source, write_notebook
from tests.course.conftest import HERE, PATIENCE, RAISES, Graded, cell_by_id, grade_meta, graded_course

MODEL = "01-dual-representation"  # for what does not depend on the assignment


def points_by_cell(graded):
    return {
        grade_meta(c)["grade_id"]: grade_meta(c)["points"]
        for c in graded.solution().cells
        if grade_meta(c).get("grade")
    }


def points_without(graded, chosen):
    """The points of each check cell if the chosen pieces are wrong."""
    return {
        grade_id: sum(graded.pieces[name].points for name in names if name not in chosen)
        for grade_id, names in graded.check_cells().items()
    }


def boxes(notebook):
    """What the checks of a graded notebook say, as HTML."""
    outputs = [output for cell in notebook.cells if grade_meta(cell).get("grade") for output in cell.get("outputs", [])]
    return "\n".join(output.data["text/html"] for output in outputs if "data" in output)


def in_one_line(page):
    return " ".join(html.unescape(page).split())


# The text of an assignment


def test_the_header_states_points_time_and_reading(source):
    notebook = read_source(source)
    header = notebook.cells[0].source
    stated = re.search(r"\*\*Points:\*\* (\d+) · \*\*Time:\*\* about (\d+) minutes · \*\*Read first:\*\* \S", header)
    assert stated
    assert int(stated[1]) == sum(grade_meta(cell).get("points", 0) for cell in notebook.cells)
    assert 60 <= int(stated[2]) <= 120
    assert f"kernelcourse check {source.stem}.ipynb" in " ".join(header.split())


def test_its_checks_come_by_the_loader_of_any_course(source):
    setup = cell_by_id(read_source(source), "setup").source
    assert re.findall(r"^check = (.*)$", setup, re.MULTILINE) == [f'catalogue("{source.stem}").checks(SEED)']
    assert re.findall(r"kernelcourse\.checking.*", setup) == ["kernelcourse.checking import catalogue"]


def test_it_has_four_to_eight_pieces_one_of_them_a_claim_to_break(source):
    checks = [c for c in read_source(source).cells if grade_meta(c).get("grade") and not grade_meta(c).get("solution")]
    assert 4 <= len(checks) <= 8
    assert any(isinstance(piece, Claim) for piece in catalogue(source.stem).PIECES)


def test_written_answers_come_with_a_rubric_for_their_points(source):
    written = [c for c in read_source(source).cells if c.cell_type == "markdown" and grade_meta(c).get("grade")]
    assert 1 <= len(written) <= 2
    for cell in written:
        assert f"**Rubric ({grade_meta(cell)['points']} points).**" in cell.source


def test_points_of_cells_and_pieces_agree_and_all_pieces_are_checked(source):
    pieces = {piece.name: piece for piece in catalogue(source.stem).PIECES}
    checked = []
    for cell in read_source(source).cells:
        if grade_meta(cell).get("grade") and cell.cell_type == "code":
            visible, _, hidden = cell.source.partition("### BEGIN HIDDEN TESTS")
            names = re.findall(r"(\w+)=\1", visible)
            assert names == re.findall(r"(\w+)=\1", hidden), "hidden tests check the same pieces"
            assert grade_meta(cell)["points"] == sum(pieces[name].points for name in names)
            checked += names
    assert sorted(checked) == sorted(pieces)


def test_the_round_trip_through_jupytext_loses_nothing(source):
    notebook = jupytext.read(source)
    for form in ("md:myst", "ipynb"):
        back = jupytext.reads(jupytext.writes(notebook, fmt=form), fmt=form)
        assert cells(back) == cells(notebook)
        assert [dict(c.metadata) for c in back.cells] == [dict(c.metadata) for c in notebook.cells]


def test_figures_ask_only_for_pieces_that_were_checked_before(source):
    tried = set()
    for cell in read_source(source).cells:
        if cell.cell_type == "code":
            for names in re.findall(r"check\.passed\(([^)]*)\)", cell.source):
                assert set(re.findall(r'"(\w+)"', names)) <= tried
            tried |= set(re.findall(r"(\w+)=\1", cell.source))


# The release


def test_the_committed_release_is_what_the_source_makes(graded):
    made = graded.course.exercises / graded.assignment
    committed = graded.home.exercises / graded.assignment
    names = {path.name for path in made.iterdir()}
    assert names == {path.name for path in committed.iterdir()}
    for name in names:
        stale = f"run `kernelcourse release {graded.assignment}`"
        if name.endswith(".checks.json"):  # which also names the secret of its course
            assert (
                json.loads((made / name).read_bytes())["pieces"]
                == json.loads((committed / name).read_bytes())["pieces"]
            )
        else:
            assert (made / name).read_bytes() == (committed / name).read_bytes(), stale


def test_no_solution_and_no_hidden_test_is_released(graded):
    released = (graded.home.exercises / graded.assignment / f"{graded.stem}.ipynb").read_text(encoding="utf-8")
    for leak in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "check.hidden", "Rubric"):
        assert leak not in released
    answers = [c for c in graded.solution().cells if grade_meta(c).get("solution")]
    for answer in answers:
        stub = cell_by_id(graded.released(), grade_meta(answer)["grade_id"]).source
        assert "YOUR CODE HERE" in stub or stub == "YOUR ANSWER HERE"
        secret = re.findall(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", answer.source, flags=re.DOTALL)
        for block in secret or [answer.source]:
            assert block not in stub


# Grades


def test_a_perfect_submission_gets_full_marks(graded):
    points = points_by_cell(graded)
    scores = graded.scores("perfect")
    by_hand = {name for name, score in scores.items() if score is None}
    assert by_hand == {
        grade_meta(c)["grade_id"] for c in graded.solution().cells if c.cell_type == "markdown" and grade_meta(c)
    }
    assert all(scores[name] == points[name] for name in scores if name not in by_hand)
    with graded.api.gradebook as gradebook:
        for grade in gradebook.find_submission_notebook(graded.stem, graded.assignment, "perfect").grades:
            if grade.name in by_hand:
                grade.manual_score = points[grade.name]
        gradebook.db.flush()
        submission = gradebook.find_submission(graded.assignment, "perfect")
        assert submission.score == submission.max_score == sum(points.values())
        gradebook.db.rollback()  # other tests read this gradebook


def test_an_untouched_submission_gets_nothing(graded):
    assert set(graded.scores("untouched").values()) == {0}


def test_the_released_notebook_runs_from_top_to_bottom(graded):
    for cell in graded.outputs("untouched").cells:
        errors = [output.ename for output in cell.get("outputs", []) if output.output_type == "error"]
        expected = ["CheckFailed"] if grade_meta(cell).get("grade") and cell.cell_type == "code" else []
        assert errors == expected, cell.source


def test_a_mistaken_submission_loses_exactly_the_points_of_its_mistakes(graded):
    scores = graded.scores("mistaken")
    expected = points_without(graded, graded.mistaken)
    assert {grade_id: scores[grade_id] for grade_id in expected} == expected


def test_a_mistaken_submission_shows_the_hints(graded):
    shown = in_one_line(boxes(graded.outputs("mistaken")))
    for mistake in graded.mistaken.values():
        assert mistake is RAISES or mistake.hint in shown


def test_an_error_in_the_first_piece_leaves_the_later_points(graded):
    first, *_, last = graded.check_cells()
    scores = graded.scores("mistaken")
    assert scores[first] == 0
    assert "IndexError" in boxes(graded.outputs("mistaken"))
    assert scores[last] == points_by_cell(graded)[last]


def test_feedback_shows_the_boxes_with_the_hints(shared_folder):
    with graded_course(HERE, MODEL, shared_folder / f"graded-{MODEL}") as graded:
        succeed(graded.api.generate_feedback(MODEL, "mistaken"), "write feedback")
        page = in_one_line(graded.feedback("mistaken"))
        for mistake in graded.mistaken.values():
            assert mistake is RAISES or mistake.hint in page
        assert "IndexError" in page
        rubrics = [c.source.partition("**Rubric")[2] for c in graded.solution().cells if "**Rubric" in c.source]
        # this student has handed in the model answers, with their rubrics; feedback adds ours
        assert rubrics and page.count("Rubric (2 points).") == 2 * len(rubrics)


def test_nothing_is_written_to_stderr_which_would_cost_points(graded):
    for student in ("perfect", "untouched"):
        for cell in graded.outputs(student).cells:
            assert not [o for o in cell.get("outputs", []) if o.output_type == "stream" and o.name == "stderr"]


def test_a_perfect_submission_runs_beside_the_whole_library(graded, tmp_path):
    """It runs in a fork of this process, which has already loaded what a kernel would take seconds to load."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    copy = fork.Process(target=run_cells, args=(graded.perfect(), str(tmp_path), theirs))
    copy.start()
    theirs.close()
    try:
        assert ours.recv() == []
    finally:
        copy.join()


def run_cells(notebook, folder, connection):
    """Run the cells from top to bottom and report those that fail, or whose check does not give all points."""
    shell = InteractiveShell.instance(ipython_dir=folder, config=Config({"HistoryManager": {"enabled": False}}))
    failed = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            done = shell.run_cell(cell.source)
            if not done.success or isinstance(done.result, Partial):
                failed.append(cell.source)
    connection.send(failed)


def test_run_all_reaches_the_end_of_an_untouched_notebook_and_nbgrader_gives_nothing(tmp_path):
    """The kernel stops at errors, except in cells that may raise one."""
    notebook = Graded(HERE, HERE, MODEL, None).released()
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=PATIENCE, startup_timeout=PATIENCE, resources=resources).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    checks = [cell for cell in notebook.cells if grade_meta(cell).get("grade") and cell.cell_type == "code"]
    assert [determine_grade(cell)[0] for cell in checks] == [0] * len(checks)


def test_nbgrader_validates_a_perfect_submission(tmp_path):
    graded = Graded(HERE, HERE, MODEL, None)
    write_notebook(graded.perfect(), tmp_path / "perfect.ipynb")
    patient = Config({"Execute": {"timeout": PATIENCE, "startup_timeout": PATIENCE}})
    assert Validator(config=patient).validate(str(tmp_path / "perfect.ipynb")) == {}


def test_the_released_checks_bear_their_checksums_and_the_tag_of_cells_that_may_fail(graded):
    """The checksums tell nbgrader's validation that a student has changed a check."""
    for grade_id in graded.check_cells():
        cell = cell_by_id(graded.released(), grade_id)
        assert grade_meta(cell)["checksum"] == compute_checksum(cell)
        assert "raises-exception" in cell.metadata["tags"]  # or *Run All* would stop there


def test_nbgrader_exports_the_grades(graded, tmp_path):
    from nbgrader.plugins import CsvExportPlugin

    plugin = CsvExportPlugin(to=str(tmp_path / "grades.csv"))
    with graded.api.gradebook as gradebook:
        plugin.export(gradebook)
    with open(tmp_path / "grades.csv", newline="", encoding="utf-8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"perfect", "untouched", "mistaken"}
    assert float(rows["untouched"]["score"]) == 0
    assert float(rows["perfect"]["max_score"]) == sum(points_by_cell(graded).values())
