"""Every attack gets what its honest code earns, harms nothing, and leaves other students' grades as they are."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import psutil
import pytest

from kernelcourse.checking import dual_representation
from kernelcourse.checking.cases import with_layouts
from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.folder import Course
from kernelcourse.course.report import report
from tests.course.conftest import HERE
from tests.grading.hostile import ATTACKS
from tests.grading.hostile.__main__ import OUTCOMES, TABLE, table
from tests.grading.hostile.classroom import classroom, digests, once
from tests.grading.hostile.submission import ASSIGNMENT, HONEST, POINTS, RIGHT, STEM, WRONG, honest

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names it")

OTHERS = {
    "honest-1": RIGHT,
    "honest-2": RIGHT,
    "half": WRONG | {"kernel": RIGHT["kernel"]},
    "victim": RIGHT | {"kernel": ""},
}


def attacked(folder):
    """Grade a class before and after attackers join it, and record what else happened."""
    with classroom(folder, HERE) as room:
        room.submit({name: honest(room.released, answers) for name, answers in OTHERS.items()})
        room.grade()
        alone = room.scores()
        room.submit({attack.name: attack.submission(room.released, room.place) for attack in ATTACKS})
        names = ("solutions", "exercises", "submitted", "nbgrader_config.py", ".grading/library")
        watched = [room.course.root / name for name in names]  # the library is also the class's own copy
        before = digests(*watched)
        started = psutil.Process().children(recursive=True)
        results = room.grade({attack.name for attack in ATTACKS if attack.endless}, regrade=True)
        left = set(psutil.Process().children(recursive=True)) - set(started)
        _, left = psutil.wait_procs(left, timeout=60)
        return {
            "root": str(room.course.root),
            "canary": room.place.canary.read_text(encoding="utf-8"),
            "callers": room.callers,
            "results": results,
            "scores": room.scores(),
            "alone": alone,
            "left": [str(process) for process in left],
            "made": [str(path) for path in room.place.elsewhere if path.exists()],
            "changed": sorted({path for path, _ in before.items() ^ digests(*watched).items()}),
        }


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    return SimpleNamespace(**once(tmp_path_factory, "attacked", attacked))


@pytest.fixture(scope="module")
def course(after):
    return Course(Path(after.root))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_earns_what_its_code_earns(after, attack):
    points = sum(after.scores[attack.name].values())
    if attack.hurts_itself:
        assert points <= attack.earns
    else:
        assert points == attack.earns, json.dumps(after.results[attack.name], indent=1)[:3000]


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.ending], ids=lambda attack: attack.name)
def test_a_bad_end_is_reported(after, attack):
    assert attack.ending in [ending["kind"] for ending in after.results[attack.name]["endings"]]


def test_the_others_have_the_grades_that_they_have_without_attackers(after):
    assert {name: after.scores[name] for name in OTHERS} == after.alone
    assert after.alone["honest-1"] == POINTS
    assert sum(after.alone["half"].values()) == HONEST


def test_everybody_has_a_grade(after):
    students = {*OTHERS, *(attack.name for attack in ATTACKS)}
    assert set(after.scores) == set(after.results) == students
    assert all(0 <= score <= POINTS[name] for grades in after.scores.values() for name, score in grades.items())


def test_nothing_outside_was_changed(after):
    assert after.canary == "untouched"
    assert after.made == []
    assert after.changed == []


def test_nobody_called_and_nobody_stayed(after):
    assert after.callers == []
    assert after.left == []


def test_secrets_stay_secret(after, course):
    """Neither the seed nor this machine's files and environment appear in anything that students can see."""
    root = course.root
    seed = (root / ".grading" / "seed").read_text(encoding="utf-8").strip()
    assert seed
    for student in after.scores:
        path = root / "autograded" / student / ASSIGNMENT / f"{STEM}.ipynb"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert seed not in text
        assert "root:x:0" not in text
        assert "PYTEST_CURRENT_TEST" not in text


def test_hidden_inputs_stay_hidden(course):
    piece = next(piece for piece in dual_representation.PIECES if piece.name == "kernel")
    visible = len(list(with_layouts(piece.cases(np.random.default_rng(0)))))
    path = course.root / "autograded" / "smuggle" / ASSIGNMENT / f"{STEM}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    shown = [str(cell.outputs).count("seen:") for cell in cells if "/tmp/seen').read" in cell.source]
    assert shown == [visible, visible]


def test_hidden_inputs_do_not_come_back_as_an_answer(after, course):
    for attack, words in (("witness-tells", "told:"), ("shape-tells", "The shape is (")):
        path = course.root / "autograded" / attack / ASSIGNMENT / f"{STEM}.ipynb"
        outputs = [str(cell.outputs) for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert not any(words in output for output in outputs)
    pieces = {piece["piece"]: piece for piece in after.results["shape-tells"]["notebooks"][STEM]["pieces"]}
    assert pieces["kernel"]["problem"] == "The shape is not the expected one."


def test_memory_that_nobody_counts_is_refused(course):
    path = course.root / "autograded" / "uncounted-memory" / ASSIGNMENT / f"{STEM}.ipynb"
    shown = [str(cell.outputs) for cell in nbformat.read(path, as_version=4).cells if "shmget" in cell.source]
    assert len(shown) == 1 and "refused" in shown[0]


def test_nothing_of_a_student_lives_in_the_feedback(course):
    """Pages have no script, link, style, external picture or diagram, and slow texts do not keep them from ending."""
    with nbgrader_api(course) as api:
        for student in ("script", "slow-to-colour"):
            assert api.generate_feedback(ASSIGNMENT, student)["success"]
    page = (course.root / "feedback" / "script" / ASSIGNMENT / f"{STEM}.html").read_text(encoding="utf-8")
    assert "window.taken" in page and "taken.example/page" in page
    assert re.findall(r"<script>window|<img[^>]*onerror|<a[^>]*href=.javascript|<iframe", page) == []
    assert re.findall(r"(?:href|src)=.[^\"'>]*taken|<style>body|\\href|\\style|language-mermaid", page) == []


def test_what_lies_beside_the_notebook_stays_there(course):
    for path in (course.root / "autograded").rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or path.is_file()
        assert path.is_dir() or path.stat().st_size < 5_000_000, path


def test_the_report_survives_them(after, course, tmp_path):
    page, canvas, _ = report(course, ASSIGNMENT, out=tmp_path / "report.html")
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert len(text) < 2_000_000
    assert len(canvas.read_text(encoding="utf-8").splitlines()) == 2 + len(after.scores)


def test_the_table_of_attacks_is_complete_and_up_to_date():
    content = json.loads(OUTCOMES.read_text(encoding="utf-8"))
    stale = "run `python -m tests.grading.hostile`, with the names of new attacks"
    assert list(content["attacks"]) == [attack.name for attack in ATTACKS], stale
    assert TABLE.read_text(encoding="utf-8") == table(content["attacks"], content["nbgrader"]), stale
    for attack in ATTACKS:
        ours = float(content["attacks"][attack.name][1])
        assert ours == attack.earns or (attack.hurts_itself and ours < attack.earns), attack.name
