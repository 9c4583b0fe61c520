"""What takes too long for `make test`: every answer to every exercise, in three places. `make lite-test` runs it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from kernelcourse.checking import catalogue
from kernelcourse.course.proxy import RemoteFunction
from kernelcourse.course.sandbox import Limits, Sandbox
from kernelcourse.course.session import Session
from tests.course.conftest import HERE, shared_folder  # noqa: F401 - a fixture
from tests.grading.conftest import library, released  # noqa: F401 - fixtures
from tests.lite.conftest import served
from tests.lite.lab import Lab, text
from tests.lite.test_browser import check_verdicts, in_digits_that_count, said_here
from tests.lite.verdicts import answers

ASSIGNMENTS = HERE.assignments()
SECONDS = 600  # for the calls of one function, on a busy machine


@cache
def every(assignment):
    return list(answers(HERE, assignment))


@pytest.fixture(scope="module")
def lab(new_window, site):
    with served(site) as server:
        context = new_window()
        lab = Lab(context)
        lab.open(f"{server.address}/notebooks/index.html?path=dual-representation.ipynb")
        yield lab
        context.close()


def test_all_answers_are_there():
    known = [answer for assignment in ASSIGNMENTS for answer in every(assignment)]
    assert len(ASSIGNMENTS) == 11
    for stem, piece in {(answer.stem, answer.piece) for answer in known}:
        kinds = {answer.kind for answer in known if (answer.stem, answer.piece) == (stem, piece)}
        known_piece = next(one for one in catalogue(stem).PIECES if one.name == piece)
        assert kinds == {"right", "stub", *(mistake.name for mistake in known_piece.mistakes)}


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_the_browser_says_what_a_computer_says(lab, assignment):
    check_verdicts(lab, every(assignment))


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_the_sandbox_says_what_a_notebook_says(assignment, library):  # noqa: F811
    said = []
    session = Session(lambda: Sandbox(library, limits=Limits(seconds=SECONDS), grace=300), seconds=SECONDS)
    try:
        for answer in every(assignment):
            outputs, died = session.run(answer.source)
            assert died is None and not any(output["output_type"] == "error" for output in outputs), outputs
            remote = RemoteFunction(session, answer.piece)
            result = catalogue(answer.stem).checks(1).examine(answer.piece, remote, hidden=False)
            remote.close()
            said.append(
                [answer.stem, answer.piece, answer.kind, replace(result, nudge="", smaller=()).text, result.mistake]
            )
    finally:
        session.end()
    in_a_notebook = [row[:5] for row in said_here(every(assignment))]  # without the nudge, which feedback leaves out
    assert in_digits_that_count(said) == in_digits_that_count(in_a_notebook)


def test_an_endless_cell_is_stopped_by_a_restart_and_the_text_stays(lab):
    text(lab.run_new("before = 1"))
    number = len(lab.cells())
    lab.page.evaluate("() => jupyterapp.commands.execute('notebook:insert-cell-below')")
    lab.write(number, "while True:\n    pass")
    lab.start(number)
    lab.page.wait_for_function("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'")
    lab.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    lab.page.get_by_text("Restart Kernel…", exact=True).click()
    lab.page.get_by_role("button", name="Confirm Kernel Restart").click()
    assert "'before' is not defined" in text(lab.run_new("before"))
    assert "".join(lab.cells()[number]["source"]) == "while True:\n    pass"
