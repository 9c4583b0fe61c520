"""Sixty submissions: whatever the order, wherever they run, whenever they are killed, the grades are the same."""

import math
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from nbgrader.api import Gradebook

from kernelcourse.course import merge, schedule, submission
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course
from kernelcourse.course.grade import grade
from kernelcourse.course.sandbox import WAITING
from kernelcourse.course.schedule import on_this_machine
from tests.grading import quick
from tests.grading.hostile.submission import ASSIGNMENT, STEM
from tests.grading.kills import state

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names the package"
)

CLASS = [f"student-{number:03}" for number in range(60)]


@pytest.fixture(autouse=True)
def stand_in(monkeypatch, tmp_path):
    """Grade without sandboxes: quick results are merged, killed and resumed in the same way."""
    monkeypatch.setattr(submission, "grade_submission", quick.quick_grade)
    monkeypatch.setenv(quick.LOG, str(tmp_path / "log"))


def enrol(course, students=CLASS):
    for student in students:
        folder = course.root / "submitted" / student / ASSIGNMENT
        folder.mkdir(parents=True)
        (folder / f"{STEM}.ipynb").write_text(f"the work of {student}", encoding="utf-8")


def times_graded():
    lines = Path(os.environ[quick.LOG]).read_text(encoding="utf-8").split("\n")
    return Counter(line.split()[0] for line in lines if line)


def one_after_another(work, students, **_):
    for student in students:
        work(student)
        yield student, ""


@pytest.fixture(scope="module")
def serial(released, tmp_path_factory):
    """The results of one process that grades one submission after another, without a scheduler."""
    root = tmp_path_factory.mktemp("serial") / "course"
    shutil.copytree(released.root, root)
    course = Course(root)
    enrol(course)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submission, "grade_submission", quick.quick_grade)
        patch.setattr(schedule, "on_this_machine", one_after_another)
        grade(course, ASSIGNMENT, jobs=1)
    found = state(course)
    assert len(found[3]) == len(CLASS) and len(found[0]) == 3 * len(CLASS)
    return found


def test_in_parallel(course, serial, capsys):
    enrol(course)
    results = grade(course, ASSIGNMENT, jobs=4)
    assert state(course) == serial
    assert [result["student"] for result in results] == CLASS
    said = capsys.readouterr()
    assert f"{len(CLASS)} graded, 0 left as they were, 0 failed" in said.out
    assert said.err.count("timeout: It took too long.") == sum(bool(result["endings"]) for result in results) > 0


# Where a run is killed: before or after which call of which function, counted over all its processes. A run is never
# more than four submissions ahead of what it enters, so that the ten store fewer than sixty.
MOMENTS = [
    (submission, "grade_submission", "before", 2),
    (submission, "grade_submission", "after", 6),
    (merge, "store", "before", 4),
    (merge, "store", "after", 5),
    (merge, "_write_through", "after", 10),
    (merge, "_put", "before", 4),
    (merge, "_put", "after", 6),
    (merge.Writer, "_enter", "before", 4),
    (merge.Writer, "_enter", "after", 5),
    (merge.Writer, "merge", "after", 4),
]


def test_killed_at_ten_moments_and_resumed(course, serial):
    enrol(course)
    context = multiprocessing.get_context("fork")
    for number, moment in enumerate(MOMENTS):
        run = context.Process(target=graded_in_own_group, args=(course, number > 0, moment, context.Value("i", 0)))
        run.start()
        run.join()
        assert run.exitcode == -signal.SIGKILL, moment
        assert 0 < len(list((course.root / ".grading" / ASSIGNMENT).glob("*"))) < len(CLASS) or number == 0
    grade(course, ASSIGNMENT, jobs=2, resume=True)
    assert state(course) == serial
    again = times_graded()
    del again["nobody"]
    assert set(again) == set(CLASS) and sum(again.values()) <= len(CLASS) + 10 * 2
    assert (
        not list((course.root / ".grading").glob("drafts/*"))
        and not (course.root / f".grading/{ASSIGNMENT}.run.json").exists()
    )


def graded_in_own_group(course, resume, moment, calls):
    os.setpgid(0, 0)
    place, name, when, wanted = moment
    original = getattr(place, name)

    def deadly(*args):
        with calls.get_lock():
            calls.value += 1
            now = calls.value == wanted
        if now and when == "before":
            os.killpg(0, signal.SIGKILL)
        result = original(*args)
        if now:
            os.killpg(0, signal.SIGKILL)
        return result

    setattr(place, name, deadly)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        grade(course, ASSIGNMENT, jobs=2, resume=resume)


def test_a_regrade_that_was_killed_goes_on_where_it_was(course, monkeypatch):
    enrol(course, CLASS[:8])
    grade(course, ASSIGNMENT, jobs=2)
    before = state(course)
    with Gradebook(course.gradebook) as gradebook:
        gradebook.find_grade("check-dual", STEM, ASSIGNMENT, CLASS[3]).manual_score = 1.5
        gradebook.db.commit()
    Path(os.environ[quick.LOG]).unlink()

    def stopped(work, students, *, jobs, seconds):
        for student in students[:5]:
            work(student)
            yield student, ""
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(schedule, "on_this_machine", stopped)
        grade(course, ASSIGNMENT, regrade=True)
    grade(course, ASSIGNMENT, resume=True, jobs=2)
    again = times_graded()
    del again["nobody"]
    assert again == dict.fromkeys(CLASS[:8], 1)
    after = state(course)
    assert after[1:] == before[1:]
    assert after[0].pop((CLASS[3], "check-dual")) == (before[0].pop((CLASS[3], "check-dual"))[0], 1.5, True)
    assert after[0] == before[0]


def test_no_scheduler_no_cluster(course):
    enrol(course, CLASS[:1])
    with pytest.raises(CourseError, match="no Dask scheduler"):
        grade(course, ASSIGNMENT, cluster=str(course.root / "missing.json"))


def test_two_gradings_of_a_course_do_not_meet(course, monkeypatch):
    import fcntl

    monkeypatch.setattr("kernelcourse.course.grade.PATIENCE", 0.2)
    enrol(course, CLASS[:1])
    with (course.root / ".grading" / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CourseError, match="another run is grading"):
            grade(course, ASSIGNMENT)
    assert grade(course, ASSIGNMENT)[0]["student"] == CLASS[0]


def test_a_process_that_is_killed_is_tried_again_and_then_given_up(tmp_path):
    def work(student):
        if student == "raises":
            raise ValueError("of our own")
        if student == "dies" or not (tmp_path / student).exists():
            (tmp_path / student).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    done = dict(on_this_machine(work, ["raises", "dies", "recovers"], jobs=2))
    assert "of our own" in done["raises"] and "killed" in done["dies"] and done["recovers"] == ""


def test_what_fails_in_the_grader_is_said_and_stops_nobody(course, monkeypatch, capsys):
    def failing(task, student, files):
        if student == CLASS[1]:
            raise OSError("disk full")
        return quick.quick_grade(task, student, files)

    monkeypatch.setattr(submission, "grade_submission", failing)
    enrol(course, CLASS[:3])
    results = grade(course, ASSIGNMENT, jobs=1)
    assert ["failure" in result for result in results] == [False, True, False]
    assert "disk full" in capsys.readouterr().err
    monkeypatch.setattr(submission, "grade_submission", quick.quick_grade)
    assert not any("failure" in result for result in grade(course, ASSIGNMENT, resume=True))


def test_a_job_that_takes_too_long_is_ended_whatever_it_does(tmp_path):
    def work(student):
        while student == "endless":
            pass

    done = dict(on_this_machine(work, ["endless", "quick"], jobs=2, seconds=0.5))
    assert done == {"endless": schedule.OVERDUE, "quick": ""}


def test_a_job_has_so_much_processor_time_for_itself(monkeypatch):
    monkeypatch.setattr(schedule, "SECONDS", 1)

    def work(student):
        while True:
            pass

    assert dict(on_this_machine(work, ["busy"], jobs=1)) == {"busy": schedule.OVERDUE}


def test_a_job_limits_its_own_memory_and_processor_time(monkeypatch):
    import resource

    limits = {}
    monkeypatch.setattr(resource, "setrlimit", lambda which, pair: limits.setdefault(which, pair[0]))
    schedule._keep_within(set())
    assert schedule.MEMORY < limits[resource.RLIMIT_AS] < 100 * schedule.MEMORY
    assert limits[resource.RLIMIT_CPU] == pytest.approx(time.process_time() + schedule.SECONDS, abs=2)


def test_a_run_that_is_given_up_leaves_no_process_behind():
    def work(student):
        time.sleep(0 if student == "quick" else 600)

    before = set(psutil.Process().children())
    run = on_this_machine(work, ["quick", "slow"], jobs=2)
    assert next(run) == ("quick", "") and set(psutil.Process().children()) - before
    run.close()
    assert not set(psutil.Process().children()) - before


def test_a_submission_that_cannot_be_read_in_time_gets_nothing_and_a_line(course, monkeypatch):
    def slow(task, student, handed):
        while handed.files and student == CLASS[0]:
            pass
        return quick.quick_grade(task, student, handed)

    monkeypatch.setattr(submission, "grade_submission", slow)
    monkeypatch.setattr("kernelcourse.course.grade.seconds_for", lambda task: 1.0)
    enrol(course, CLASS[:2])
    first, second = grade(course, ASSIGNMENT, jobs=2)
    assert "failure" not in first and "failure" not in second and first["digest"] != second["digest"]
    assert not any("failure" in one for one in grade(course, ASSIGNMENT))
    assert times_graded()[CLASS[0]] == 1  # a submission that was given up is not tried again until it changes


def test_who_ran_out_of_time_beside_others_is_graded_again_alone(course, monkeypatch, tmp_path):
    mark = tmp_path / "first time"

    def graded(task, student, handed):
        done = quick.quick_grade(task, student, handed)
        late = student == CLASS[1] and not mark.exists()
        text = "took more than a second" + (WAITING if student == CLASS[2] else "")
        endings = [{"notebook": STEM, "kind": "timeout", "text": text}] if late or student == CLASS[2] else []
        if late:
            mark.touch()
        done.result["endings"] = endings
        done.result["notebooks"][STEM]["pieces"] = [{"points": 2, "earned": 0 if endings else 2}]
        return done

    monkeypatch.setattr(submission, "grade_submission", graded)
    enrol(course, CLASS[:3])
    results = grade(course, ASSIGNMENT, jobs=2)
    assert [len(result["endings"]) for result in results] == [0, 0, 1]
    assert times_graded() == {CLASS[0]: 1, CLASS[1]: 2, CLASS[2]: 1}


GROUPS = [
    ("0::/a/b", {"a/b/cpu.max": "150000 100000", "a/cpu.max": "max 100000"}, 1.5),
    ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
    ("0::/", {"cpu.max": "400000 100000"}, 4),
    ("3:cpu,cpuacct:/x", {"cpu,cpuacct/x/cpu.cfs_quota_us": "200000", "cpu,cpuacct/x/cpu.cfs_period_us": "100000"}, 2),
    ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, math.inf),
    ("2:memory:/x", {"cpu.max": "1 100000"}, math.inf),
    ("nonsense", {}, math.inf),
]


@pytest.mark.parametrize(("own", "files", "expected"), GROUPS)
def test_the_quota_of_a_control_group_counts(tmp_path, own, files, expected):
    (tmp_path / "own").write_text(f"{own}\n", encoding="ascii")
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(f"{text}\n", encoding="ascii")
    assert schedule.quota(tmp_path / "own", tmp_path / "groups") == expected
    assert 1 <= schedule.processors() <= len(os.sched_getaffinity(0))
