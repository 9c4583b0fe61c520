"""A student does an exercise in the browser, from the book's page to the grade, and no request leaves this machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest

from kernelcourse.checking import CheckFailed, dual_representation
from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.notebooks import read_source
from tests.book.test_browser import AXE
from tests.course.conftest import HERE, Graded, grade_meta, graded_course, shared_folder  # noqa: F401 - a fixture
from tests.lite.conftest import ROOT, served
from tests.lite.lab import Lab, text
from tests.lite.verdicts import Answer, answers, as_cell, defined, verdicts

ASSIGNMENT, STEM = "01-dual-representation", "dual-representation"
NO_PICTURE = "This picture needs matplotlib, which is not part of this site. Everything else works without it.\n"
# numpy reuses temporaries of 256 KiB or more; without the function that Pyodide lacks, the first one crashes it.
LARGE = """
A = np.random.default_rng(0).normal(size=(500, 500))
B = A @ A.T + 500 * np.eye(500)
print(np.allclose(np.linalg.cholesky(B) @ np.linalg.cholesky(B).T, B), (2 * A + A - 3 * A).max() < 1e-9)
"""
ENDLESS = """
def gram_matrix(Phi):
    while True:
        pass

check.seconds = 0.2
check(gram_matrix=gram_matrix)
"""


def sample(chosen: list[Answer]) -> list[Answer]:
    """A sample of an assignment: every right answer, one usual mistake and one stub. `make lite-test` tries all."""
    right = [answer for answer in chosen if answer.kind == "right"]
    mistakes = [answer for answer in chosen if answer.kind not in ("right", "stub")]
    return [*right, mistakes[len(mistakes) // 2], next(answer for answer in chosen if answer.kind == "stub")]


def in_digits_that_count(said: list[list[str]]) -> list[list[str]]:
    """Verdicts with their decimal numbers cut to six digits.

    The last digits differ between processors, and a number near zero has only those.
    """

    def cut(match: re.Match[str]) -> str:
        number = float(match[0])
        return f"{number if abs(number) > 1e-12 else 0.0:.6g}"

    def plain(words: str) -> str:
        return re.sub(r"\s+", " ", re.sub(r"-?\d+\.\d*(?:e[+-]?\d+)?", cut, words)).replace("-0 ", "0 ")

    return [[*row[:3], *map(plain, row[3:])] for row in said]


def said_here(chosen: list[Answer]) -> list[list[str]]:
    return verdicts([[answer.stem, answer.piece, answer.kind, answer.source] for answer in chosen], defined)


def check_verdicts(lab: Lab, chosen: list[Answer]) -> None:
    """The browser says what this computer says."""
    theirs = in_digits_that_count(json.loads(lab.printed(as_cell(chosen))))
    ours = in_digits_that_count(said_here(chosen))
    different = [(one, other) for one, other in zip(theirs, ours, strict=True) if one != other]
    assert different == []
    assert theirs == ours


@pytest.fixture(scope="module")
def together(html, site, tmp_path_factory):
    """The book with the site beside it, as they are published."""
    folder = tmp_path_factory.mktemp("published") / "course" / "2027"
    folder.mkdir(parents=True)
    for path in html.iterdir():
        if path.name != "lite":
            (folder / path.name).symlink_to(path)
    (folder / "lite").symlink_to(site)
    return folder.parents[1]


@pytest.fixture(scope="module")
def lab(new_window):
    context = new_window(viewport={"width": 1100, "height": 900}, accept_downloads=True)
    yield Lab(context)
    context.close()


def start_from_the_book(lab: Lab, server) -> None:
    """Go from a section to the notebook, whose first cell works; no more is sent for it than was promised."""
    lab.page.goto(f"{server.address}/course/2027/book/dual/representation.html")
    assert not any("/lite/" in url for url in lab.requests), "reading loads nothing of the site"
    server.sent = 0
    lab.page.get_by_role("link", name="Do the exercise in your browser").click()
    lab.ready()
    first = lab.page.locator(".jp-CodeCell").first
    first.locator(".cm-content").click()
    lab.page.keyboard.press("Shift+Enter")
    first.locator(".jp-InputPrompt", has_text="[1]:").wait_for()
    assert server.sent <= 30e6


def solve(lab: Lab) -> None:
    """Write every answer and run every cell: everything is right, and cells that draw print one line."""
    solution = {grade_meta(c).get("grade_id"): c.source for c in read_source(HERE.sources(ASSIGNMENT)[0]).cells}
    cells = lab.cells()
    assert "File › Download" in "".join(cells[0]["source"])
    checked = 0
    for number, cell in enumerate(cells):
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("solution"):
            lab.write(number, solution[meta["grade_id"]])
        if cell["cell_type"] != "code":
            continue
        outputs = lab.run(number)
        assert not any(output["output_type"] == "error" for output in outputs), text(outputs)
        if "plt." in "".join(cell["source"]):
            assert text(outputs).count(NO_PICTURE) == 1
        if meta.get("grade") and not meta.get("solution"):
            assert "✓" in text(outputs) and "✗" not in text(outputs)
            checked += 1
    assert checked >= 8


def try_what_goes_wrong(lab: Lab) -> None:
    with pytest.raises(CheckFailed) as ours:
        dual_representation.checks(1)(gram_matrix=lambda Phi: Phi.T @ Phi)
    outputs = lab.run_new("check(gram_matrix=lambda Phi: Phi.T @ Phi)")
    assert ours.value.verdict.text.split("  Hint:")[0] in text(outputs)
    assert "It did not come to an end: stopped after 0.2 seconds." in text(lab.run_new(ENDLESS))
    assert text(lab.run_new(LARGE)).split() == ["True", "True"]
    assert "PiplitePyPIDisabled" in str(lab.run_new("%pip install a-package-from-elsewhere"))


def test_an_exercise_from_the_book_to_the_grade(lab, together, shared_folder, tmp_path):  # noqa: F811
    with served(together) as server:
        start_from_the_book(lab, server)
        solve(lab)
        handed_in = lab.download(tmp_path)
        try_what_goes_wrong(lab)
        for assignment in HERE.assignments():
            check_verdicts(lab, sample(list(answers(HERE, assignment))))
    assert {urlsplit(url).hostname for url in lab.requests if urlsplit(url).scheme.startswith("http")} == {"127.0.0.1"}
    assert lab.troubles == []
    assert handed_in.name == f"{STEM}.ipynb"
    scores, points = graded(handed_in, shared_folder, tmp_path / "course")
    assert scores == points


def graded(handed_in: Path, shared: Path, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """The points of a notebook and the points possible, without what is graded by hand."""
    with graded_course(HERE, ASSIGNMENT, shared / f"graded-{ASSIGNMENT}") as known:
        shutil.copytree(known.course.root, folder)
    place = folder / "submitted" / "browser" / ASSIGNMENT
    place.mkdir(parents=True)
    shutil.copy(handed_in, place)
    command = [sys.executable, "-m", "kernelcourse", "grade", ASSIGNMENT, "--student", "browser", "--jobs", "1"]
    done = subprocess.run([*command, "--course", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    course = type(HERE)(folder)
    with nbgrader_api(course) as api:
        found = Graded(HERE, course, ASSIGNMENT, api)
        cells = nbformat.read(course.exercises / ASSIGNMENT / f"{STEM}.ipynb", as_version=4).cells
        points = {grade_meta(c)["grade_id"]: grade_meta(c)["points"] for c in cells if grade_meta(c).get("points")}
        scores = {name: score for name, score in found.scores("browser").items() if score is not None}
    return scores, {name: points[name] for name in scores}


# ------------------------------------------------------------------------------------------ where it cannot work


def words_of(context, address: str) -> str:
    """The alert on a page of the site; axe must find no fault with the page."""
    page = context.new_page()
    page.goto(address)
    alert = page.get_by_role("alert")
    alert.wait_for()
    page.add_script_tag(path=AXE)
    found = page.evaluate("() => axe.run(document.querySelector('[role=alert]')).then((done) => done.violations)")
    assert found == []
    words = alert.inner_text()
    page.close()  # behind the alert, JupyterLite would go on starting
    return words


def test_a_page_of_the_site_says_why_it_cannot_run(new_window, site):
    context = new_window()
    assert 'run "make serve"' in words_of(context, (site / "notebooks/index.html").as_uri())
    with served(site) as server:
        old = new_window()
        old.add_init_script("delete window.WebAssembly")
        assert "too old to run Python" in words_of(old, f"{server.address}/notebooks/index.html")
        small = new_window()
        small.add_init_script("Object.defineProperty(Navigator.prototype, 'deviceMemory', { get: () => 1 })")
        assert "little memory" in words_of(small, f"{server.address}/tree/index.html")


def test_from_disk_the_book_names_the_command_in_the_place_of_the_button(new_window, html):
    page = new_window().new_page()
    page.goto((html / "book/exercises.html").as_uri())
    assert page.locator("a.do-exercise").count() == 0
    assert page.locator("td", has_text="needs a server").count() == len(HERE.assignments())
    assert "make serve" in page.locator("article").inner_text()
    page.goto((html / "book/dual/representation.html").as_uri())
    assert page.locator("a.do-exercise").count() == 0
    said = page.locator(".exercise-buttons").inner_text()
    assert "make serve" in said and "needs a web server" in said
