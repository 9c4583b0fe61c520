"""nbgrader's own commands on our courses: no link is followed, no forged time is believed, grades are the same."""

import json
import logging
import os
import shutil
import tarfile
import zipfile
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.zipcollectapp import ZipCollectApp
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default.collect import ExchangeCollect

from kernelcourse.course import guard
from kernelcourse.course.engine import load_config, nbgrader_api
from kernelcourse.course.folder import Course
from kernelcourse.course.grade import grade
from kernelcourse.course.handed import read_handed, students_with
from kernelcourse.course.received import note_received, read_received
from kernelcourse.course.workshop import copy_course
from tests.grading.hostile.submission import ASSIGNMENT, RIGHT, STEM, WRONG, honest
from tests.grading.somebody import run_as_somebody

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names the package"
)

# right only as long as the visible checks run
FORGETFUL = {
    "kernel": RIGHT["kernel"].replace(
        "    return",
        "    with open('/tmp/n', 'a') as file:\n        file.write('x')\n    if len(open('/tmp/n').read()) > 8:\n"
        "        return 0.0\n    return",
    )
}


def submit(course, student, submission):
    submission.write(course.root / "submitted" / student / ASSIGNMENT)


def scores(course):
    with Gradebook(course.gradebook) as gradebook:
        return {
            one.student.id: {entry.name: entry.auto_score for notebook in one.notebooks for entry in notebook.grades}
            for one in gradebook.assignment_submissions(ASSIGNMENT)
        }


def texts(folder):
    return "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def autograded(released, notebook, tmp_path_factory):
    """A class with links of all kinds, graded by `nbgrader autograde`, with feedback, and by ourselves."""
    root = tmp_path_factory.mktemp("guarded") / "course"
    shutil.copytree(released.root, root)
    course = type(released)(root)
    canary = root.parent / "canary.txt"
    canary.write_text("the secret of the instructor", encoding="utf-8")
    submit(course, "honest", honest(notebook))
    submit(course, "forgetful", honest(notebook, WRONG | FORGETFUL))
    beside = honest(notebook, WRONG | {"kernel": RIGHT["kernel"]})
    beside.links = {"data.csv": str(canary), "folder": str(root / ".grading")}
    beside.files["timestamp.txt"] = b"2001-01-01 00:00:00 UTC"
    submit(course, "beside", beside)
    linked = honest(notebook)
    linked.links = {f"{STEM}.ipynb": str(root / "submitted" / "honest" / ASSIGNMENT / f"{STEM}.ipynb")}
    submit(course, "linked", linked)
    (root / "submitted" / "folder").mkdir()
    os.symlink(root / "submitted" / "honest" / ASSIGNMENT, root / "submitted" / "folder" / ASSIGNMENT)
    note_received(root / "submitted", ASSIGNMENT, {"honest": "2027-01-02 03:04 UTC"})
    with nbgrader_api(course) as api:
        log = api.autograde(ASSIGNMENT, "*")
        assert log["success"], log
        assert api.generate_feedback(ASSIGNMENT, "*")["success"]
    theirs = scores(course)
    grade(course, ASSIGNMENT, ["beside", "forgetful", "linked"], jobs=2)
    return course, theirs, log["log"]


def test_plain_nbgrader_follows_no_link_and_gives_the_same_points(autograded):
    course, theirs, log = autograded
    assert theirs == scores(course)
    assert sum(theirs["honest"].values()) == 8 and sum(theirs["beside"].values()) == 2
    for student in ("linked", "folder"):
        assert set(theirs[student].values()) == {0}
        assert f"{student}: link: " in log
    assert set(theirs["forgetful"].values()) == {0}  # both ways of grading tried the hidden inputs


def test_nothing_that_a_link_leads_to_is_given_back(autograded):
    course, _, _ = autograded
    seed = (course.root / ".grading" / "seed").read_text(encoding="ascii").strip()
    for folder in ("autograded", "feedback"):
        text = texts(course.root / folder)
        assert text and "the secret of the instructor" not in text and seed not in text
        assert not any(path.is_symlink() for path in (course.root / folder).rglob("*"))
    with Gradebook(course.gradebook) as gradebook:
        times = {one.student.id: one.timestamp for one in gradebook.assignment_submissions(ASSIGNMENT)}
    assert str(times.pop("honest")) == "2027-01-02 03:04:00" and set(times.values()) == {None}


def test_feedback_refuses_links_and_second_names(autograded, tmp_path):
    course, _, _ = autograded
    folder = course.root / "autograded" / "honest" / ASSIGNMENT
    for make in (os.symlink, os.link):
        (tmp_path / make.__name__).write_text("secret", encoding="utf-8")
        make(tmp_path / make.__name__, folder / "extra.txt")
        with pytest.raises(OSError, match="is a link"):
            guard.refuse_links(folder)
        with nbgrader_api(course) as api:
            assert not api.generate_feedback(ASSIGNMENT, "honest", force=True)["success"]
        (folder / "extra.txt").unlink()
    assert guard.refuse_links(folder) is None


def test_a_page_that_takes_too_long_is_written_without_the_students_text(autograded, monkeypatch):
    course, _, _ = autograded
    convert = []

    def slow(self, path):
        convert.append(path)
        if len(convert) == 1:
            while True:
                pass
        nb, _ = guard.leave_out(nbformat.read(path, as_version=4), {})
        convert.append(nb)

    monkeypatch.setattr(guard, "FEEDBACK", 0.05)
    steps = []
    register = SimpleNamespace(
        _preprocessors=steps, register_preprocessor=lambda step, enabled: steps.append(step) or step
    )
    converter = SimpleNamespace(exporter=register, log=logging.getLogger("feedback"))
    path = course.root / "autograded" / "honest" / ASSIGNMENT / f"{STEM}.ipynb"
    guard._feedback_in_time(slow, converter, path)
    assert steps == [] and len(convert) == 3
    sources = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in convert[-1].cells}
    assert sources["kernel"] == guard.TOO_LONG and "check(" in sources["check-kernel"]
    assert hasattr(GenerateFeedback.convert_single_notebook, "_careful")


def test_the_exchange_notes_the_systems_time_and_copies_links_as_links(course, notebook, tmp_path):
    config = load_config(course)
    exchange = tmp_path / "exchange"
    inbound = exchange / "kernelcourse" / "inbound"
    old = f"eve+{ASSIGNMENT}+2001-01-01 00:00:00 UTC+abc"
    honest(notebook).write(inbound / old)
    (inbound / old / "timestamp.txt").write_text("2001-01-01 00:00:00 UTC", encoding="ascii")
    os.symlink(course.root / ".grading" / "seed", inbound / old / "x.ipynb")
    (tmp_path / "elsewhere").write_text("secret", encoding="utf-8")
    os.link(tmp_path / "elsewhere", inbound / old / "y.ipynb")
    os.utime(inbound / old, (0, 0))
    config.Exchange.root = str(exchange)
    config.CourseDirectory.assignment_id = ASSIGNMENT
    folder = CourseDirectory(config=config, root=str(course.root))
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=1)
    ExchangeCollect(coursedir=folder, config=config, check_owner=False).start()
    target = course.root / "submitted" / "eve" / ASSIGNMENT
    assert (target / "x.ipynb").is_symlink() and not (target / "y.ipynb").exists()
    noted = read_received(course.root / "submitted")["eve", ASSIGNMENT]
    assert datetime.fromisoformat(noted.removesuffix(" UTC")) > before
    handed = read_handed(course.root / "submitted", "eve", ASSIGNMENT)
    assert list(handed.files) == [f"{STEM}.ipynb"] and handed.endings[0]["kind"] == "link"


def test_zip_collect_notes_the_platforms_time_and_unpacks_no_link(course, tmp_path):
    config = load_config(course)
    config.CourseDirectory.assignment_id = ASSIGNMENT
    config.CourseDirectory.root = str(course.root)
    pattern = r".*_(?P<student_id>\w+)_attempt_(?P<timestamp>[0-9\-]+)_(?P<file_id>[\w-]+)"
    config.FileNameCollectorPlugin.named_regexp = pattern
    archive = course.root / "downloaded" / ASSIGNMENT / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "all.zip", "w") as file:
        file.writestr(f"ps_ada_attempt_2027-01-30-15-30-10_{STEM}.ipynb", "{}")
    with tarfile.open(archive / "evil.tar.gz", "w:gz") as file:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        file.addfile(link)
    app = ZipCollectApp(config=config)
    app.initialize([])
    app.update_config(config)
    app.init_plugins()
    app.extract_archive_files()
    app.process_extracted_files()
    assert read_received(course.root / "submitted") == {("ada", ASSIGNMENT): "2027-01-30 15:30:10 UTC"}
    extracted = list((course.root / "downloaded").rglob("*"))
    assert extracted and not any(path.is_symlink() for path in extracted)


READ = """
from pathlib import Path
from kernelcourse.course.handed import read_handed, students_with
folder = Path({folder!r})
for student in students_with(folder, {assignment!r}):
    handed = read_handed(folder, student, {assignment!r})
    print(student, sorted(handed.files), [(one["kind"], one["text"]) for one in handed.endings])
"""


def test_what_cannot_be_read_is_an_ending_of_one_student(tmp_path):
    folder = tmp_path / "submitted"
    for student in ("closed", "locked", "open", "shut"):
        (folder / student / ASSIGNMENT).mkdir(parents=True)
        (folder / student / ASSIGNMENT / "a.ipynb").write_text("{}", encoding="ascii")
    (folder / "file").mkdir()
    (folder / "file" / ASSIGNMENT).write_text("x", encoding="ascii")
    (folder / "none").mkdir()
    (folder / "a\nb" / ASSIGNMENT).mkdir(parents=True)
    assert students_with(folder, ASSIGNMENT) == ["closed", "file", "locked", "open", "shut"]
    assert read_handed(folder, "file", ASSIGNMENT).endings[0]["kind"] == "missing folder"
    assert read_handed(folder, "gone", ASSIGNMENT).endings[0]["kind"] == "unreadable folder"
    code = READ.format(folder=str(folder), assignment=ASSIGNMENT)
    marks = {"closed": 0o000, "locked": 0o755, "shut": 0o755}
    (folder / "locked" / ASSIGNMENT).chmod(0)
    (folder / "shut" / ASSIGNMENT / "a.ipynb").chmod(0)
    (folder / "closed").chmod(marks["closed"])
    if os.geteuid() != 0:
        import subprocess
        import sys

        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    else:
        said = run_as_somebody("-c", code, sees=[folder]).stdout
    lines = {line.split()[0]: line for line in said.splitlines()}
    assert "unreadable folder" in lines["closed"] and "unreadable folder" in lines["locked"]
    assert "['a.ipynb'] []" in lines["open"] and "a.ipynb cannot be read: Permission denied" in lines["shut"]
    (folder / "closed").chmod(0o755)


def test_a_copy_of_a_course_has_the_collectors_records_and_follows_no_link(tmp_path):
    course = Course(tmp_path / "course")
    (course.root / "submitted" / "ada" / ASSIGNMENT).mkdir(parents=True)
    for path in (course.root / "nbgrader_config.py", course.root / "gradebook.db", tmp_path / "secret.csv"):
        path.touch()
    (course.root / ".grading").mkdir()
    (course.root / "submitted" / "received.csv").write_text("student,assignment,received\n", encoding="ascii")
    (course.root / "submitted" / "secret.csv").symlink_to(tmp_path / "secret.csv")
    copy = copy_course(course, ASSIGNMENT, tmp_path / "copy")
    assert {path.name for path in (copy.root / "submitted").iterdir()} == {"ada", "received.csv"}


def test_a_submission_is_another_when_its_notebooks_are(tmp_path):
    place = tmp_path / "ada" / ASSIGNMENT
    place.mkdir(parents=True)
    (place / "a.ipynb").write_text(json.dumps({"cells": []}), encoding="ascii")
    first = read_handed(tmp_path, "ada", ASSIGNMENT).digest
    (place / "timestamp.txt").write_text("2001-01-01 UTC", encoding="ascii")
    os.utime(place / "a.ipynb", (1, 1))
    assert read_handed(tmp_path, "ada", ASSIGNMENT).digest == first
    (place / "b.ipynb").symlink_to(place / "a.ipynb")
    assert read_handed(tmp_path, "ada", ASSIGNMENT).digest != first
