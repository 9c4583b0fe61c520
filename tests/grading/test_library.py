"""The sandbox's library runs what a notebook's locked cells need, and refuses what students must write."""

import subprocess
import sys
import tempfile

import nbformat
import pytest

from kernelcourse.course import library
from kernelcourse.course.library import REFUSED, kept_modules, library_for, locked_cells
from tests.course.conftest import HERE

STEMS = {name: HERE.sources(name)[0].stem for name in HERE.assignments()}


def locked(assignment):
    release = nbformat.read(HERE.exercises / assignment / f"{STEMS[assignment]}.ipynb", as_version=4)
    return locked_cells(release)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


def python(folder, code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={"MPLBACKEND": "Agg"})


@pytest.mark.parametrize(
    "assignment",
    [name for name in STEMS if any("from kernelcourse import" in c or ".datasets" in c for c in locked(name))],
)
def test_locked_cells_run_as_they_are(assignment, shelf):
    cells = locked(assignment)
    done = python(library_for(STEMS[assignment], cells, shelf), "\n".join(["import kernelcourse", *cells]))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("assignment", STEMS)
def test_modules_of_the_references_are_left_out(assignment):
    kept = kept_modules(STEMS[assignment], locked(assignment))
    assert {"validation", "datasets", "datasets.measured", "datasets.files", "plots"} <= kept
    assert not {"algorithms.ridge", "algorithms.svm", "algorithms.logistic", "estimators", "selection", "gram"} & kept


@pytest.mark.parametrize(
    "code",
    [
        "from kernelcourse.algorithms import ridge; ridge.dual_weights([[1.0]], [1.0], ridge=1.0)",
        "import kernelcourse; kernelcourse.dual_weights([[1.0]], [1.0], ridge=1.0)",
        "import kernelcourse; kernelcourse.KernelRidge().fit([[1.0]], [1.0])",
        "from kernelcourse.kernels import Gaussian; Gaussian(sigma=1.0)([[1.0]])",
        "from kernelcourse.kernels import Gaussian; Gaussian.from_h(1.0)",
        "from kernelcourse.kernels.kernel import Kernel; Kernel.__call__(None, [[1.0]]); Kernel()",
    ],
)
def test_an_answer_cannot_be_had_from_it(code, shelf):
    assignment = "01-dual-representation"
    folder = library_for(STEMS[assignment], locked(assignment), shelf)
    done = python(folder, code)
    assert REFUSED in done.stderr and "write it yourself" in done.stderr


def test_checks_catalogues_and_the_instructors_side_are_not_in_it(shelf):
    folder = library_for("dual-representation", [], shelf)
    files = {str(path.relative_to(folder / "kernelcourse")) for path in folder.rglob("*.py")}
    assert {name for name in files if name.startswith(("checking", "course"))} == {
        *("checking/__init__.py", "checking/calling.py", "checking/cases.py"),
        *("checking/plain.py", "checking/values.py"),
        *("course/__init__.py", "course/drawing.py", "course/plain.py", "course/worker.py"),
    }
    done = python(
        folder,
        "from kernelcourse.checking import dual_representation as d; check = d.checks(1);"
        "print(check(f=1), check.hidden(f=1))",
    )
    assert done.stdout.split() == ["None", "None"]


def test_data_sets_that_are_files_are_in_it(shelf):
    folder = library_for("dual-representation", [], shelf)
    code = (
        "from kernelcourse import datasets as d; print(*[len(getattr(d, n)()) for n in d.__all__ if n[:5] == 'load_'])"
    )
    done = python(folder, f"{code}; print(*d.small_texts().names)")
    expected = [521, 1797, 188, 342, 294, 18, 10723, 309], ["cooking", "sailing", "astronomy", "football"]
    assert [line.split() for line in done.stdout.splitlines()] == [list(map(str, row)) for row in expected], done.stderr


def test_it_is_built_once_and_again_when_something_changes(shelf):
    first = library_for("dual-representation", ["SEED = 1"], shelf)
    stamp = first.stat().st_mtime_ns
    assert library_for("dual-representation", ["SEED = 2"], shelf).stat().st_mtime_ns == stamp
    assert library_for("dual-representation", ["from kernelcourse import two_moons"], shelf) != first


def test_it_is_built_beside_its_place_from_where_it_can_be_moved_in_one_step(tmp_path, monkeypatch):
    """Another file system may hold the temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(library, "_build", lambda draft, kept: (draft / "built").touch())
    place = library_for("no-pieces", [], tmp_path / "shelf")
    assert (place / "built").exists() and list(place.parent.iterdir()) == [place]
