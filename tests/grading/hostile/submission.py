"""The submission on which attacks are built: three answers, of which one is right."""

from __future__ import annotations

import copy
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
from filelock import FileLock

from kernelcourse.course.folder import Course
from kernelcourse.course.library import library_for, locked_cells
from kernelcourse.course.notebooks import read_source, write_notebook
from kernelcourse.course.release import release
from tests.course.conftest import temporary_course

ASSIGNMENT, STEM = "01-dual-representation", "dual-representation"
POINTS = {"check-kernel": 2, "check-dual": 4, "check-not-a-kernel": 2}

RIGHT = {
    "kernel": """
def kernel(x, z, degree):
    return float(sum((x * z) ** i for i in range(degree + 1)))
""",
    "dual": """
def gram_matrix(Phi):
    return Phi @ Phi.T

def dual_weights(K, t, lam):
    return np.linalg.solve(K + lam * np.eye(len(K)), t)

def predict(K_test, a):
    return K_test @ a
""",
    "not-a-kernel": """
def not_a_kernel():
    return np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 0.0, -1.0])
""",
}
WRONG = {
    "dual": """
def gram_matrix(Phi):
    return np.zeros((len(Phi), len(Phi)))

def dual_weights(K, t, lam):
    return np.zeros(len(t))

def predict(K_test, a):
    return np.zeros(len(K_test))
""",
    "not-a-kernel": """
def not_a_kernel():
    return np.zeros((3, 1)), np.zeros(3)
""",
}
HONEST = 2.0  # points that RIGHT["kernel"] earns: what an attack gets for the rest is stolen


def returning(expression: str, before: str = "") -> dict[str, str]:
    """Answers in which all three functions in the cell `dual` return the same value."""
    body = f"def gram_matrix(*args):\n    return {expression}\n\ndual_weights = predict = gram_matrix\n"
    return {"dual": f"{before}\n{body}"}


@dataclass(frozen=True)
class Place:
    """What an attacker may know about the machine: the course folder, a file to overwrite and a listening port."""

    course: Path
    canary: Path
    port: int = 9
    word: str = field(default_factory=lambda: secrets.token_hex(8))  # makes file names unique to this run

    def fill(self, code: str) -> str:
        """The code with the words COURSE, CANARY, PORT and WORD replaced."""
        words = {"COURSE": self.course, "CANARY": self.canary, "PORT": self.port, "WORD": self.word}
        for word, value in words.items():
            code = code.replace(f"@{word}@", str(value))
        return code

    @property
    def elsewhere(self) -> list[Path]:
        """Files on the machine that attacks try to create."""
        return [Path.home() / f".kernelcourse-canary-{self.word}", Path(f"/tmp/evil-{self.word}")]


@dataclass
class Submission:
    """A notebook as plain JSON data, and the files beside it."""

    notebook: dict
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None  # replaces the notebook
    finish: Callable[[Path], None] | None = None  # last touches to the folder
    stead: str = ""  # what the whole folder is a link to, or "student: " and what the student's folder is a link to

    @property
    def cells(self) -> list[dict]:
        return self.notebook["cells"]

    def cell(self, grade_id: str) -> dict:
        return next(cell for cell in self.cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)

    def checks(self) -> list[dict]:
        return [self.cell(grade_id) for grade_id in POINTS]

    def insert(self, code: str, *, before: str = "kernel") -> dict:
        """Add a code cell before the one with a grade_id."""
        cell = {"cell_type": "code", "metadata": {}, "source": code, "outputs": [], "execution_count": None}
        cell["id"] = f"extra-{len(self.cells)}"
        self.cells.insert(self.cells.index(self.cell(before)), cell)
        return cell

    def write(self, folder: Path) -> None:
        if self.stead.startswith("student: "):
            folder.parent.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(self.stead.removeprefix("student: "), folder.parent)
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        if self.stead:
            os.symlink(self.stead, folder)
            return
        folder.mkdir()
        content = self.raw if self.raw is not None else json.dumps(self.notebook).encode()
        for name, data in {f"{STEM}.ipynb": content, **self.files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        for name, target in self.links.items():
            (folder / name).unlink(missing_ok=True)
            os.symlink(target, folder / name)
        if self.finish:
            self.finish(folder)


@dataclass(frozen=True)
class Attack:
    """A submission that tries to get more than it earns, or to do harm.

    `code` is put into a cell before the first answer, `answers` replace the usual ones, `edit` does the rest.
    """

    name: str
    tries: str
    code: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    edit: Callable[[Submission], None] | None = None
    earns: float = HONEST
    ending: str = ""  # the kind under which it is reported, if it must be
    endless: bool = False  # it uses all the time that it is given
    hurts_itself: bool = False  # it may earn less than its honest code, because it breaks its own connection

    def submission(self, released: dict, place: Place) -> Submission:
        made = honest(released, {"kernel": RIGHT["kernel"]} | WRONG | dict(self.answers), place)
        if self.code:
            made.insert(place.fill(self.code))
        if self.edit:
            self.edit(made)
        if "metadata" in made.notebook:
            made.notebook["metadata"] = json.loads(place.fill(json.dumps(made.notebook["metadata"])))
        made.links = {name: place.fill(target) for name, target in made.links.items()}
        made.stead = place.fill(made.stead)
        return made


def honest(released: dict, answers: Mapping[str, str] = RIGHT, place: Place | None = None) -> Submission:
    """The released notebook with some answers."""
    made = Submission(copy.deepcopy(released))
    for grade_id, text in answers.items():
        made.cell(grade_id)["source"] = place.fill(text) if place else text
    return made


def copied_course(folder: Path, home: Course, template: Path) -> tuple[Course, dict]:
    """The same course, made once by the first test process and copied by all, with the library for its sandboxes."""
    with FileLock(f"{template}.lock"):
        if not template.exists():
            course, _ = small_course(template.with_suffix(".draft"), home)
            release = nbformat.read(course.exercises / ASSIGNMENT / f"{STEM}.ipynb", as_version=4)
            library_for(STEM, locked_cells(release), course.root / ".grading" / "library")
            course.root.rename(template)
    shutil.copytree(template, folder)
    return Course(folder), json.loads((folder / "exercises" / ASSIGNMENT / f"{STEM}.ipynb").read_bytes())


def small_course(folder: Path, home: Course) -> tuple[Course, dict]:
    """A released course with a short version of the first assignment, and the released notebook as plain data."""
    course = temporary_course(folder, home, ASSIGNMENT)
    source = course.sources(ASSIGNMENT)[0]
    notebook = read_source(source)
    wanted = {"setup", "data", *POINTS, *RIGHT}
    notebook.cells = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") in wanted]
    source.write_text(jupytext.writes(notebook, fmt="md:myst"), encoding="utf-8")
    write_notebook(notebook, source.with_suffix(".ipynb"))
    release(course, ASSIGNMENT)
    return course, json.loads((course.exercises / ASSIGNMENT / f"{STEM}.ipynb").read_bytes())
