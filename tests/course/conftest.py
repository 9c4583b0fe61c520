"""Temporary courses, released and graded by real nbgrader."""

import copy
import inspect
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock

from kernelcourse.checking import catalogue, checks_in
from kernelcourse.course.cli import main
from kernelcourse.course.engine import nbgrader_api, succeed
from kernelcourse.course.folder import Course
from kernelcourse.course.notebooks import read_source, write_notebook
from kernelcourse.course.release import release
from kernelcourse.course.variants import fill_source

ROOT = Path(__file__).parents[2]
HERE = Course(ROOT)
SCAFFOLD = "99-scaffold"
RAISES = object()  # instead of a mistake: an answer that raises an error
PATIENCE = 600  # seconds that an honest cell may take on a busy machine


def temporary_course(folder, home=HERE, *assignments):
    """A separate course folder with the named assignments of another course."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(home.root / "nbgrader_config.py", folder)
    for assignment in assignments:
        copy = folder / "solutions" / assignment
        if not copy.exists():
            shutil.copytree(home.solutions / assignment, copy, ignore=shutil.ignore_patterns("*.ipynb"))
    return Course(folder)


def grade_meta(cell):
    return cell.metadata.get("nbgrader", {})


def cell_by_id(notebook, grade_id):
    return next(cell for cell in notebook.cells if grade_meta(cell).get("grade_id") == grade_id)


@dataclass
class Graded:
    """An assignment in a temporary course, with the submissions that were graded."""

    home: Course  # where the source and the committed release are
    course: Course  # where it was graded
    assignment: str
    api: object

    @property
    def source(self):
        return self.course.sources(self.assignment)[0]

    @property
    def stem(self):
        return self.source.stem

    @property
    def pieces(self):
        with checks_in(self.source.parent):
            return {piece.name: piece for piece in catalogue(self.stem).PIECES}

    def released(self):
        return nbformat.read(self.course.exercises / self.assignment / f"{self.stem}.ipynb", as_version=4)

    @cached_property
    def _solution(self):
        notebook = read_source(self.source)
        fill_source(notebook, self.source)
        return notebook

    def solution(self):
        return copy.deepcopy(self._solution)

    @cached_property
    def _check_cells(self):
        cells = [c for c in self._solution.cells if grade_meta(c).get("grade") and not grade_meta(c).get("solution")]
        return {
            grade_meta(c)["grade_id"]: [name for name in self.pieces if f"{name}={name}" in c.source] for c in cells
        }

    def check_cells(self):
        """grade_id of each check cell -> names of the pieces that it checks."""
        return dict(self._check_cells)

    def perfect(self):
        """The released notebook with every answer filled in from the solution."""
        notebook, solution = self.released(), self.solution()
        for cell in notebook.cells:
            if grade_meta(cell).get("solution"):
                cell.source = cell_by_id(solution, grade_meta(cell)["grade_id"]).source
        return notebook

    @cached_property
    def mistaken(self):
        """What the mistaken student gets wrong: the first check meets an error, and the last finds everything right.

        Every other check meets a usual mistake in the first of its pieces.
        """
        first, *between, _ = self.check_cells().values()
        return dict.fromkeys(first, RAISES) | {name: self.pieces[name].mistakes[0] for name, *_ in between}

    def submit(self, student, notebook):
        write_notebook(notebook, self.course.root / "submitted" / student / self.assignment / f"{self.stem}.ipynb")

    def outputs(self, student):
        path = self.course.root / "autograded" / student / self.assignment / f"{self.stem}.ipynb"
        return nbformat.read(path, as_version=4)

    def feedback(self, student):
        path = self.course.root / "feedback" / student / self.assignment / f"{self.stem}.html"
        return path.read_text(encoding="utf-8")

    def scores(self, student):
        """grade_id -> points that nbgrader gave."""
        with self.api.gradebook as gradebook:
            notebook = gradebook.find_submission_notebook(self.stem, self.assignment, student)
            return {grade.name: grade.auto_score for grade in notebook.grades}


def wrong_answer(piece, mistake):
    if mistake is RAISES:
        return f"def {piece}(*args):\n    return [1, 2, 3][len(args) + 3]"
    return f"{inspect.getsource(mistake.wrong)}\n\n{piece} = {mistake.name}"


def without_extra_cells(notebook):
    """The notebook without the code cells that are neither answers nor checks."""
    notebook.cells = [c for c in notebook.cells if c.cell_type == "markdown" or "grade_id" in grade_meta(c)]
    return notebook


def with_wrong_answers(graded, notebook, chosen):
    """The notebook with one mistake in each of the chosen pieces."""
    for position, cell in reversed(list(enumerate(notebook.cells))):
        names = graded.check_cells().get(grade_meta(cell).get("grade_id"), [])
        wrong = [wrong_answer(name, chosen[name]) for name in names if name in chosen]
        if wrong:
            notebook.cells.insert(position, nbformat.v4.new_code_cell("\n\n".join(wrong)))
    return notebook


def grade_class(graded):
    """Let nbgrader grade an untouched, a perfect and a mistaken submission."""
    graded.submit("untouched", graded.released())
    graded.submit("perfect", graded.perfect())
    graded.submit("mistaken", with_wrong_answers(graded, without_extra_cells(graded.perfect()), graded.mistaken))
    succeed(graded.api.autograde(graded.assignment, "*"), f"grade {graded.assignment}")


def equip(course, shelf):
    """Give a new course a library built before, time for its cells on a busy machine, and hidden cases that never
    change."""
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"c.GradeSafely.shelf = {str(shelf)!r}\n")
        config.write(f"c.GradeSafely.timeout = c.GradeSafely.total = {PATIENCE}\n")
        config.write("c.GradeSafely.secret = 'the tests'\n")


@contextmanager
def graded_course(home, assignment, folder):
    """The assignment, released and graded in a separate folder; done once, by whichever test process comes first."""
    course = Course(folder)
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            draft = temporary_course(folder.with_suffix(".draft"), home, assignment)
            equip(draft, folder.with_name("library"))
            release(draft, assignment)
            with nbgrader_api(draft) as api:
                graded = Graded(home, draft, assignment, api)
                grade_class(graded)
            draft.root.rename(folder)
    with nbgrader_api(course) as api:
        yield Graded(home, course, assignment, api)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A temporary folder that all processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def scaffold(shared_folder):
    """A course whose only assignment comes from `kernelcourse new`."""
    root = shared_folder / "scaffold"
    with FileLock(f"{root}.lock"):
        if not root.exists():
            draft = temporary_course(root.with_suffix(".draft")).root
            assert main(["new", SCAFFOLD, "--course", str(draft)]) == 0
            draft.rename(root)
    return Course(root)


@pytest.fixture(scope="module", params=[*HERE.assignments(), SCAFFOLD])
def assignment(request):
    return request.param


@pytest.fixture(scope="module")
def home(request, assignment):
    """The course that the assignment belongs to."""
    home = HERE if assignment != SCAFFOLD else request.getfixturevalue("scaffold")
    with checks_in(home.solutions / assignment):
        yield home


@pytest.fixture(scope="module")
def source(home, assignment):
    (source,) = home.sources(assignment)
    return source


@pytest.fixture(scope="module")
def graded(home, assignment, shared_folder):
    with graded_course(home, assignment, shared_folder / f"graded-{assignment}") as graded:
        yield graded
