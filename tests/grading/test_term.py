"""A term: due dates, extensions, lateness, resubmissions, groups, students who hand in nothing.

Grading is replaced by a stand-in, so that a term takes seconds; entries, penalties and reports are real.
"""

import csv
import io
import json
import re
import zipfile
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from nbgrader.api import Gradebook

from kernelcourse.course import merge, sandbox, submission
from kernelcourse.course.cli import main
from kernelcourse.course.engine import load_config
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course
from kernelcourse.course.grade import grade
from kernelcourse.course.handed import Handed
from kernelcourse.course.received import note_received, time_of
from kernelcourse.course.release import release
from kernelcourse.course.report import report
from kernelcourse.course.roster import enrol
from tests.grading import quick
from tests.grading.hostile.submission import ASSIGNMENT, POINTS, STEM

TOTAL = float(sum(POINTS.values()))
DUE = datetime(2027, 3, 1, 23, 59)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """The answer `right` gets all points, and `half` gets two."""

    def graded(task, student, handed):
        text = b" ".join(handed.files.values()).decode()
        done = quick.quick_grade(task, student, handed)
        scores = {name: float(points) if "right" in text else 0.0 for name, points in POINTS.items()}
        scores |= {"check-kernel": 2.0} if "half" in text else {}
        pieces = [
            {"piece": name.removeprefix("check-"), "points": points, "earned": scores[name], "cell": name}
            | dict.fromkeys(("problem", "hint", "mistake"), "")
            for name, points in POINTS.items()
        ]
        done.result["notebooks"][STEM] |= {"scores": scores, "pieces": pieces}
        done.result.update({"received": handed.received, "endings": list(handed.endings), "release": "r"})
        return done

    monkeypatch.setattr(submission, "grade_submission", graded)
    monkeypatch.setattr(sandbox, "try_bubblewrap", lambda: None)


def submit(course, student, text="right"):
    folder = course.root / "submitted" / student / ASSIGNMENT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{STEM}.ipynb").write_text(text, encoding="utf-8")


def received(course, **times):
    note_received(course.root / "submitted", ASSIGNMENT, {name: str(DUE + delay) for name, delay in times.items()})


def policy(course, **table):
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"c.LatePolicy.table = {table}\n")


def points(course):
    """The final points of every student in the gradebook."""
    with Gradebook(course.gradebook) as gradebook:
        return {
            one.student.id: one.score - one.late_submission_penalty
            for one in gradebook.assignment_submissions(ASSIGNMENT)
        }


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def test_lateness_costs_what_the_table_says_and_new_dates_are_seen_at_once(course, monkeypatch, capsys):
    policy(course, grace_hours=1, per_day=0.25, cap=0.6)
    assert main(["due", ASSIGNMENT, "2027-03-02 00:59 +0100", "--course", str(course.root)]) == 0
    assert "due 2027-03-01 23:59:00 UTC" in capsys.readouterr().out
    for student in ("early", "grace", "late", "never-ending", "unknown", "forger", "extended"):
        submit(course, student)
    stamp = course.root / "submitted" / "forger" / ASSIGNMENT / "timestamp.txt"
    stamp.write_text("2001-01-01 00:00:00 UTC", encoding="ascii")
    delays = {"early": -1, "grace": 0.5, "late": 30, "never-ending": 1000, "forger": 30, "extended": 30}
    received(course, **{name: timedelta(hours=hours) for name, hours in delays.items()})
    grade(course, ASSIGNMENT, jobs=1)
    expected = {"early": 8, "grace": 8, "late": 4, "never-ending": 3.2, "unknown": 8, "forger": 4, "extended": 4}
    assert points(course) == pytest.approx(expected)

    def forbidden(*args):
        raise AssertionError("nothing needs to be run again")

    monkeypatch.setattr(submission, "grade_submission", forbidden)
    assert (
        main(["due", ASSIGNMENT, f"{DUE + timedelta(days=3)}", "--student", "extended", "--course", str(course.root)])
        == 0
    )
    with Gradebook(course.gradebook) as gradebook:
        gradebook.grant_extension(ASSIGNMENT, "late", days=1)
    capsys.readouterr()
    grade(course, ASSIGNMENT)
    assert "extended: on time: 0 points off (before: 4)" in capsys.readouterr().err
    assert points(course) == pytest.approx(expected | {"extended": 8, "late": 6})
    page = report(course, ASSIGNMENT)[0].read_text(encoding="utf-8")
    assert "No collector noted when it arrived" in page and "extension considered" in page
    main(["due", ASSIGNMENT, f"{DUE + timedelta(days=60)}", "--course", str(course.root)])
    grade(course, ASSIGNMENT)
    assert points(course) == dict.fromkeys(expected, TOTAL)


def test_the_instructor_says_whose_word_counts_for_the_time(course):
    policy(course, per_day=0.5)
    main(["due", ASSIGNMENT, str(DUE), "--course", str(course.root)])
    submit(course, "ada")
    folder = course.root / "submitted" / "ada" / ASSIGNMENT
    (folder / "timestamp.txt").write_text("2027-03-02 12:00 UTC", encoding="ascii")
    grade(course, ASSIGNMENT)
    assert points(course) == {"ada": TOTAL}
    for source, expected in (("timestamp.txt", TOTAL / 2), ("file", TOTAL)):
        with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
            config.write(f"c.Submissions.received = {source!r}\n")
        grade(course, ASSIGNMENT)
        assert points(course) == {"ada": expected}


def test_a_time_that_is_none_stops_no_run(course):
    submit(course, "ada")
    submit(course, "bob")
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write("c.Submissions.received = 'timestamp.txt'\n")
    with (course.root / "submitted" / "ada" / ASSIGNMENT / "timestamp.txt").open("w") as stamp:
        stamp.write("2027-03-02 12:00 UTC")
        stamp.truncate(2**40)  # more than any machine's memory, but almost nothing on disk
    grade(course, ASSIGNMENT)
    assert points(course) == {"ada": TOTAL, "bob": TOTAL}
    for saved in (1e15, -1e15):  # some file systems store years beyond 9999, which an archive can set
        assert time_of(Handed(saved={"x.ipynb": saved}), "", "file", course.root) == ""


def test_of_several_submissions_the_last_or_the_best_counts_and_all_are_kept(course):
    texts = ["half", "right", "nothing", "half again"]
    for setting, expected in (("last", [2, 8, 0, 2]), ("best", [2, 8, 8, 8])):
        with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
            config.write(f"c.Submissions.counts = {setting!r}\n")
        for text, total in zip(texts, expected, strict=True):
            submit(course, setting, text)
            result = grade(course, ASSIGNMENT, [setting])[0]
            assert points(course)[setting] == total
        assert ("earlier submission" in [ending["kind"] for ending in result["endings"]]) == (setting == "best")
        kept = sorted((course.root / ".grading" / "history" / ASSIGNMENT / setting).iterdir())
        assert len(kept) >= 3
        assert all((one / "result.json").exists() and (one / "autograded" / f"{STEM}.ipynb").exists() for one in kept)
        before = points(course)
        grade(course, ASSIGNMENT, [setting])
        assert points(course) == before


@pytest.mark.parametrize(("penalty", "best"), [(5, 8), (6, 2), (7, 2)])
def test_the_best_is_found_after_the_penalties(tmp_path, monkeypatch, penalty, best):
    writer = object.__new__(merge.Writer)  # without a gradebook
    writer.course, writer.assignment = Course(tmp_path), ASSIGNMENT
    writer.plugin = SimpleNamespace(late_submission_penalty=lambda student, score, late: penalty * late / 3600)
    monkeypatch.setattr(merge.Writer, "_due", lambda self, student: DUE)
    for text, hours in (("right", 1), ("half", 0)):  # eight points, an hour late, and two points in time
        handed = Handed({"a.ipynb": text.encode()}, received=f"{DUE + timedelta(hours=hours)} UTC")
        task = SimpleNamespace(assignment=ASSIGNMENT, run="1")
        merge.store(writer.course, submission.grade_submission(task, "ada", handed))
    last = merge.read_result(writer.course, ASSIGNMENT, "ada")
    chosen = writer._best("ada", last)
    assert sum(chosen["notebooks"][STEM]["scores"].values()) == best
    stored = merge.result_folder(writer.course, ASSIGNMENT, "ada") / "result.json"
    assert stored.read_text(encoding="utf-8") == json.dumps(chosen, indent=1)  # to be read by people as well


def test_a_group_hands_in_once_and_everybody_gets_it(course, capsys):
    (course.root / "groups.csv").write_text("student,group\nada,one\nbob,one\ncleo,one\ndan,two\n", encoding="utf-8")
    submit(course, "ada", "half")
    submit(course, "bob", "right")
    submit(course, "eve", "half")
    received(course, ada=timedelta(hours=-9), bob=timedelta(hours=-1))
    results = {result["student"]: result for result in grade(course, ASSIGNMENT)}
    assert points(course) == {"ada": 8, "bob": 8, "cleo": 8, "eve": 2}
    assert "Handed in by bob for the group; ada handed in as well" in results["cleo"]["endings"][-1]["text"]
    assert "2 graded" in capsys.readouterr().out
    grade(course, ASSIGNMENT)
    assert "0 graded, 2 left as they were" in capsys.readouterr().out
    (course.root / "groups.csv").write_text("student,group\nada,one\nada,two\n", encoding="utf-8")
    with pytest.raises(CourseError, match="ada is in two groups"):
        grade(course, ASSIGNMENT)


def test_names_that_are_probably_mistakes_are_told_and_a_member_may_be_named_twice(course, tmp_path, capsys):
    (tmp_path / "canvas.csv").write_text(CANVAS, encoding="utf-8")
    enrol(course, tmp_path / "canvas.csv")
    text = "group;student\none; ada\none;ada\none;bob\ntwo;kay\n"
    with Gradebook(course.gradebook) as gradebook:
        gradebook.update_or_create_student("zo\u00eb")
    (course.root / "groups.csv").write_bytes(text.encode("utf-16"))
    submit(course, "ada")
    submit(course, "Zoe\u0308")  # as a Mac writes it
    (course.root / "submitted" / "not\nan id" / ASSIGNMENT).mkdir(parents=True)
    grade(course, ASSIGNMENT)
    assert points(course) == {"ada": TOTAL, "bob": TOTAL, "Zoe\u0308": TOTAL}
    assert capsys.readouterr().err.splitlines()[:3] == [
        "submitted/not?an id: this cannot be a student's id; the folder is left out",
        "groups.csv: kay is not on the roster",
        "submitted/Zoe\u0308: the roster spells this id zo\u00eb; it is graded as another student's",
    ]
    for one, words in ((b"../../ada", "line 2: '../../ada' cannot be"), (b"\xff", "cannot be read as a table")):
        (course.root / "groups.csv").write_bytes(b"student,group\n" + one + b",one\n")
        with pytest.raises(CourseError, match=words):
            grade(course, ASSIGNMENT)


def test_an_extension_never_shortens_the_time_and_a_bad_one_stops_the_run_before_it_begins(course, capsys):
    policy(course, per_day=0.5)
    main(["due", ASSIGNMENT, str(DUE), "--course", str(course.root)])
    main(["due", ASSIGNMENT, f"{DUE - timedelta(days=5)}", "--student", "ada", "--course", str(course.root)])
    assert "ada: until 2027-02-24 23:59:00 UTC (this id is not on the roster)" in capsys.readouterr().out
    submit(course, "ada")
    received(course, ada=timedelta(0))  # at the last second
    grade(course, ASSIGNMENT)
    assert points(course) == {"ada": TOTAL}
    for time in ("23:59", "2027-03", "3/4/2027", "2027-02-30"):  # part of a date, an ambiguous date, an impossible date
        (course.root / "extensions.csv").write_text(
            f"student;assignment;until\nada;{ASSIGNMENT};{time}\n", encoding="utf-8-sig"
        )
        with pytest.raises(CourseError, match=rf"extensions.csv, line 2: '{time}' is not a time"):
            grade(course, ASSIGNMENT, regrade=True)
    assert capsys.readouterr().out.count("graded,") == 1


def test_no_secret_is_revealed_while_somebody_has_time_left(course, capsys):
    root = ["--course", str(course.root)]
    main(["due", ASSIGNMENT, "2020-03-01 23:59 UTC", *root])
    main(["due", ASSIGNMENT, "2999-03-01 23:59 UTC", "--student", "ada", *root])  # ada has handed in nothing yet
    assert main(["reveal", ASSIGNMENT, *root]) == 2
    assert "is due on 2999-03-01 23:59 UTC, with all extensions: reveal it then" in capsys.readouterr().err
    (course.root / "extensions.csv").unlink()
    assert main(["reveal", ASSIGNMENT, *root]) == 0
    assert "Give students the secret. They run: kernelcourse replay NOTEBOOK.ipynb" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["drafts", "seed"])
def test_a_name_that_grading_uses_is_not_an_assignments(course, name):
    (course.solutions / ASSIGNMENT).rename(course.solutions / name)
    with pytest.raises(CourseError, match=f"'{name}' is not a name for an assignment: grading keeps files of its own"):
        release(course, name)


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Some task (123)
    Points Possible,,,,,10
"Lovelace, Ada",77,s1,ada,Kernels,
"Roe, Bob; =1+1",78,s2,bob,Kernels,
"Student, Test",99,,,Kernels,
"""
MOODLE = """\
First name,Last name,ID number,Email address
Ada,Lovelace,ada,ada@x.org
Eve,Curie,,eve@x.org
"""


def test_lists_of_the_platforms_come_in_and_tables_of_points_go_out(course, tmp_path, capsys):
    (tmp_path / "canvas.csv").write_text(CANVAS, encoding="utf-8-sig")
    (tmp_path / "moodle.csv").write_text(MOODLE.replace(",", ";"), encoding="utf-8")
    assert enrol(course, tmp_path / "canvas.csv") == ["ada", "bob"]
    assert main(["roster", str(tmp_path / "moodle.csv"), "--course", str(course.root)]) == 0
    assert capsys.readouterr().out == "2 students are enrolled from moodle.csv\n"
    submit(course, "ada")
    grade(course, ASSIGNMENT)
    submit(course, "newcomer")
    with Gradebook(course.gradebook) as gradebook:
        given = gradebook.find_grade("check-dual", STEM, ASSIGNMENT, "ada")
        given.manual_score, given.extra_credit = 1.5, 0.5
        gradebook.db.commit()
    page, canvas, moodle = report(course, ASSIGNMENT)
    assert all(line.startswith('"') and line.endswith('"') for line in canvas.read_text("utf-8").splitlines())
    theirs = {row["SIS Login ID"]: row for row in rows(canvas)[1:]}
    assert theirs["ada"] == {
        "Student": "Lovelace, Ada",
        "ID": "77",
        "SIS User ID": "",
        "SIS Login ID": "ada",
        "Section": "",
        ASSIGNMENT: "6",
    }
    assert (
        theirs["bob"][ASSIGNMENT] == "0" and theirs["eve"][ASSIGNMENT] == "0" and theirs["newcomer"][ASSIGNMENT] == ""
    )
    assert theirs["bob"]["Student"] == "Roe, Bob;' =1+1"
    lines = {row["ID number"]: row[f"Assignment: {ASSIGNMENT} (Feedback)"] for row in rows(moodle)}
    assert lines["ada"] == "kernel 2/2; not-a-kernel 2/2; check-dual 2/4 (by hand)"
    assert lines["bob"] == "no submission" and lines["newcomer"] == "handed in, not graded yet"
    text = page.read_text(encoding="utf-8")
    assert "1 submission,\n3 enrolled without a grade" in text and "Enrolled, nothing handed in." in text
    (hidden,) = report(course, ASSIGNMENT, anonymous=True)
    text = hidden.read_text(encoding="utf-8")
    assert hidden.name.endswith("-anonymous.html") and "student " in text
    names = r"\b(Lovelace|ada|bob|Curie|newcomer)\b"  # whole words: a student's number may happen to contain one
    assert not re.search(names, text)
    assert exported(course, tmp_path / "grades.csv")["bob"] == ("Roe", "Bob;' =1+1", "0.0")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(CourseError, match="columns a, b; expected Student and SIS Login ID"):
        enrol(course, tmp_path / "other.csv")


def exported(course, path):
    """What `nbgrader export` writes for each student: last name, first name and points."""
    plugin = load_config(course).ExportApp.plugin_class(to=str(path))
    with Gradebook(course.gradebook) as gradebook:
        gradebook.update_or_create_student("comma", last_name='Doe, "Jo"', email="=cmd()")
        plugin.export(gradebook)
    found = {row["student_id"]: row for row in rows(path)}
    assert found["comma"]["last_name"] == 'Doe, "Jo"' and found["comma"]["email"] == "'=cmd()"
    return {name: (row["last_name"], row["first_name"], row["score"]) for name, row in found.items()}


GRADESCOPE = """\
submission_1:
  :submitters:
  - {':name': Ada Lovelace, ':sid': '77', ':email': ada@x.org}
  - {':name': Bob Roe, ':sid': bob, ':email': bob@x.org}
  :created_at: 2027-03-02 10:00:00.5 +01:00
submission_2:
  :submitters:
  - {':name': Nobody, ':sid': '12', ':email': nobody@x.org}
  :created_at: 2027-03-02 10:00:00 +01:00
"""


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return str(path)


def test_zip_files_of_the_platforms_are_unpacked_with_their_times(course, tmp_path, capsys):
    (tmp_path / "canvas.csv").write_text(CANVAS, encoding="utf-8")
    enrol(course, tmp_path / "canvas.csv")
    files = {"a/submission_metadata.yml": GRADESCOPE, "a/submission_2/x.ipynb": "right"}
    files |= {f"a/submission_1/{STEM}.ipynb": "right", "a/submission_1/../../../evil.ipynb": "half"}
    archive = zipped(tmp_path / "gradescope.zip", files)
    assert main(["collect", ASSIGNMENT, archive, "--course", str(course.root)]) == 0
    said = capsys.readouterr().out
    assert (
        "12 or nobody@x.org or Nobody: no student on the roster has this name, or several do" in said
        and "2 submissions" in said
    )
    assert (course.root / "submitted" / "bob" / ASSIGNMENT / f"{STEM}.ipynb").read_text() == "right"
    found = {path.parent for path in tmp_path.rglob("evil.ipynb")}
    assert found == {course.root / "submitted" / student / ASSIGNMENT for student in ("ada", "bob")}
    with (course.root / "submitted" / "received.csv").open(newline="", encoding="utf-8") as file:
        assert {row["student"]: row["received"] for row in csv.DictReader(file)} == {
            "ada": "2027-03-02 09:00:00 UTC",
            "bob": "2027-03-02 09:00:00 UTC",
        }
    later = {"lovelaceada_LATE_77_4711_my work.ipynb": "half", "Bob Roe_12_assignsubmission_file_/b.ipynb": "half"}
    with Gradebook(course.gradebook) as gradebook:
        gradebook.update_or_create_student("bob", first_name="Bob", last_name="Roe")
    main(["collect", ASSIGNMENT, zipped(tmp_path / "later.zip", later), "--course", str(course.root)])
    names = {path.parent.parent.name: path.name for path in (course.root / "submitted").glob("*/*/*.ipynb")}
    assert names == {"ada": "my work.ipynb", "bob": "b.ipynb"}
    (tmp_path / "no.zip").write_text("no", encoding="ascii")
    assert main(["collect", ASSIGNMENT, str(tmp_path / "no.zip"), "--course", str(course.root)]) == 2


def test_what_is_handed_in_for_no_assignment_is_not_unpacked(tmp_path, capsys):
    (tmp_path / "nbgrader_config.py").touch()
    (tmp_path / "solutions" / "01-a").mkdir(parents=True)
    archive = zipped(tmp_path / "moodle.zip", {"Ada Roe_1_assignsubmission_file_/a.ipynb": "right"})
    assert main(["collect", "01-b", archive, "--course", str(tmp_path)]) == 2
    assert "01-b" in capsys.readouterr().err and not (tmp_path / "submitted").exists()


def test_no_student_hands_in_for_another_or_at_another_time_by_the_names_of_folders(course, tmp_path, capsys):
    (tmp_path / "moodle.csv").write_text(MOODLE, encoding="utf-8")
    enrol(course, tmp_path / "moodle.csv")
    theirs = "Eve Curie_9_assignsubmission_file"
    moodle = {f"{theirs}/{STEM}.ipynb": "right", f"Ada Lovelace_8_assignsubmission_file/deep/{theirs}/e.ipynb": "half"}
    main(["collect", ASSIGNMENT, zipped(tmp_path / "moodle.zip", moodle), "--course", str(course.root)])
    found = {path.parent.parent.name: path.name for path in (course.root / "submitted").glob("*/*/*.ipynb")}
    assert found == {"eve": f"{STEM}.ipynb", "ada": "e.ipynb"}
    stolen = f"{theirs}:\n  :submitters:\n  - {{':sid': ada}}\n  :created_at: 2001-01-01 00:00 +0000\n"
    moodle = {f"{theirs}/{STEM}.ipynb": "half", "Ada Lovelace_8_assignsubmission_file/submission_metadata.yml": stolen}
    main(["collect", ASSIGNMENT, zipped(tmp_path / "list.zip", moodle), "--course", str(course.root)])
    found = {path.parent.parent.name: path.read_text() for path in (course.root / "submitted").glob("*/*/*.ipynb")}
    assert found == {"eve": "half", "ada": "half"}  # and no time, as shown below
    forged = "submission_1:\n  :submitters:\n  - {':sid': eve}\n  :created_at: 2001-01-01 00:00 +0000\n"
    files = {"a/submission_1/deep/submission_metadata.yml": forged, "a/submission_metadata.yml": GRADESCOPE}
    files |= {"a/submission_1/x.ipynb": "right", "a/submission_1/deep/x.ipynb": "half"}
    files |= {"a/submission_7/eve_77_1_x.ipynb": "not on the list, and not from Canvas"}
    main(["collect", ASSIGNMENT, zipped(tmp_path / "gradescope.zip", files), "--course", str(course.root)])
    found = {path.name: path.read_text() for path in (course.root / "submitted" / "ada" / ASSIGNMENT).iterdir()}
    assert found == {"x.ipynb": "right", "deep-x.ipynb": "half"}  # both are kept; grading says which one it took
    with (course.root / "submitted" / "received.csv").open(newline="", encoding="utf-8") as file:
        times = {row["student"]: row["received"] for row in csv.DictReader(file)}
    assert times == {"ada": "2027-03-02 09:00:00 UTC"}


def test_what_cannot_be_unpacked_is_one_students_trouble(course, tmp_path, capsys):
    (tmp_path / "canvas.csv").write_text(CANVAS, encoding="utf-8")
    enrol(course, tmp_path / "canvas.csv")
    submit(course, "ada", "kept from the last time")
    path = tmp_path / "canvas.zip"
    zipped(path, {"a_77_1_damaged.ipynb": "damaged", f"b_78_2_{'ü' * 120}.IPYNB": "right"})
    path.write_bytes(path.read_bytes().replace(b"damaged", b"DAMAGED", 2).replace(b"DAMAGED", b"damaged", 1))
    assert main(["collect", ASSIGNMENT, str(path), "--course", str(course.root)]) == 0
    said = capsys.readouterr().out
    assert "ada: damaged.ipynb cannot be unpacked (" in said and "1 submissions" in said
    (kept,) = (course.root / "submitted" / "ada" / ASSIGNMENT).iterdir()
    assert kept.read_text() == "kept from the last time"
    (taken,) = (course.root / "submitted" / "bob" / ASSIGNMENT).iterdir()
    assert taken.name.endswith("ü.IPYNB") and taken.read_text() == "right"


def test_a_list_with_one_id_for_two_people_or_none_that_can_be_read_enters_nobody(course, tmp_path):
    for text, words in (
        ("id,first_name\nada,Ada\nbob,Bob\nada,Adam\n", "'ada' is the id of two people, Ada and Adam"),
        ("id,first_name\n..,Ada\n", r"line 2: '\.\.' cannot be a student's id"),
        (f"id,first_name\nada,{'x' * 200_000}\n", "after line 1: field larger than field limit"),
    ):
        (tmp_path / "list.csv").write_text(text, encoding="utf-8")
        with pytest.raises(CourseError, match=words):
            enrol(course, tmp_path / "list.csv")
    with Gradebook(course.gradebook) as gradebook:
        assert gradebook.students == []
    (tmp_path / "list.csv").write_text("id,first_name\nada,Ada\nada,Ada\nbob\n", encoding="utf-8")
    assert enrol(course, tmp_path / "list.csv") == ["ada", "bob"]


def test_a_locked_gradebook_is_waited_for_then_named_and_nothing_is_lost(course, monkeypatch, capsys):
    import sqlite3

    monkeypatch.setattr(merge, "WAIT", 0.1)
    for student in ("ada", "bob"):
        submit(course, student)
    locked = sqlite3.connect(course.root / "gradebook.db")
    begin = merge.Writer.merge

    def merging(self, student):
        if student == "bob" and not locked.in_transaction:
            self.gradebook.db.rollback()
            locked.execute("BEGIN EXCLUSIVE")
        return begin(self, student)

    monkeypatch.setattr(merge.Writer, "merge", merging)
    monkeypatch.setattr("nbgrader.api.create_engine", impatient())
    assert main(["grade", ASSIGNMENT, "--jobs", "1", "--course", str(course.root)]) == 2
    assert "keeps gradebook.db locked (is the formgrader open" in capsys.readouterr().err
    assert json.loads((course.root / ".grading" / ASSIGNMENT / "bob" / "result.json").read_bytes())["student"] == "bob"
    locked.rollback()
    monkeypatch.setattr(merge.Writer, "merge", begin)

    def forbidden(*args):
        raise AssertionError("nothing needs to be graded again")

    monkeypatch.setattr(submission, "grade_submission", forbidden)
    assert main(["grade", ASSIGNMENT, "--resume", "--course", str(course.root)]) == 0
    assert points(course) == {"ada": TOTAL, "bob": TOTAL}


def impatient():
    """Make connections wait only a moment for a lock, not five seconds."""
    from nbgrader import api

    original = api.create_engine
    return lambda url, **options: original(url, **options | {"connect_args": {"timeout": 0.1}})


def test_a_disk_that_is_full_is_one_students_trouble(course, monkeypatch, capsys):
    for student in ("ada", "bob", "cleo"):
        submit(course, student)
    put = merge._put

    def full(draft, place, drafts):
        if "bob" in place.parts and "autograded" in place.parts:
            raise OSError(28, "No space left on device")
        put(draft, place, drafts)

    monkeypatch.setattr(merge, "_put", full)
    results = {result["student"]: result for result in grade(course, ASSIGNMENT, jobs=1)}
    assert "No space left" in results["bob"]["failure"] and "failure" not in results["cleo"]
    monkeypatch.setattr(merge, "_put", put)
    assert not any("failure" in result for result in grade(course, ASSIGNMENT, resume=True))


def test_bad_tables_are_refused_in_words(course):
    from kernelcourse.course.policy import LatePolicy

    for table, words in (
        ({"per_week": 1}, "'per_week' is not a rule"),
        ({"cap": 2}, "a share from 0 to 1"),
        ({"grace_hours": "one"}, "hours, 0 or more"),
    ):
        with pytest.raises(Exception, match=words):
            LatePolicy(table=table)
    submit(course, "ada")
    (course.root / "submitted" / "received.csv").write_text(
        f"student,assignment,received\nada,{ASSIGNMENT},soon\n", encoding="utf-8"
    )
    with pytest.raises(CourseError, match=r"received.csv, line 2: 'soon' is not a time"):
        grade(course, ASSIGNMENT)
    assert main(["due", ASSIGNMENT, "tomorrow at five o'clock, Mars", "--course", str(course.root)]) == 2
