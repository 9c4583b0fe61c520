"""Grade the submissions of an assignment, each in a sandbox, several at a time, and enter them into the gradebook.

Submissions that are graded and unchanged are left alone; late penalties are computed again for everybody. --resume
continues an interrupted run.
"""

from __future__ import annotations

import argparse
import json
import platform
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .due import read_extensions
from .errors import CourseError
from .folder import Course, add_course_argument
from .notebooks import replace_file

if TYPE_CHECKING:
    from .submitted import Submitted

PATIENCE = 5.0  # seconds in which the processes of a killed run must end
MARGIN = 300.0  # seconds of wall-clock time for a job beyond those for its notebooks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="for example 01-dual-representation")
    parser.add_argument("--student", action="append", default=[], metavar="S", help="one student (can be repeated)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="how many at a time (default: one per core)")
    parser.add_argument("--cluster", default="", metavar="ADDRESS", help="a Dask scheduler's address or JSON file")
    parser.add_argument("--resume", action="store_true", help="continue a run that was interrupted")
    parser.add_argument("--regrade", action="store_true", help="grade everything again; manual grades stay")
    parser.add_argument("--unsafe", action="store_true", help="run code with your permissions, without a sandbox")
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    results = grade(
        Course.around(args.course),
        args.assignment,
        args.student,
        jobs=args.jobs,
        cluster=args.cluster,
        resume=args.resume,
        regrade=args.regrade,
        unsafe=args.unsafe,
    )
    return 1 if any("failure" in result for result in results) else 0


def grade(
    course: Course,
    assignment: str,
    students: Sequence[str] = (),
    *,
    jobs: int = 0,
    cluster: str = "",
    resume: bool = False,
    regrade: bool = False,
    unsafe: bool = False,
) -> list[dict[str, Any]]:
    """Grade submissions and return their results, sorted by student.

    A submission that could not be graded through no fault of its own has the key "failure" instead of a grade.
    """
    from .merge import is_merged, read_result
    from .submitted import Submitted

    room = Submitted(course, assignment)
    students = room.chosen(students)
    with _alone(course):
        _ready(course, assignment, unsafe)
        for line in room.warnings():
            print(line, file=sys.stderr)
        plan = _plan(room, students, resume=resume, regrade=regrade)
        failures = _Run(room, plan, unsafe).grade(jobs=jobs, cluster=cluster)
        if not failures:
            _plan_file(course, assignment).unlink(missing_ok=True)
    results = []
    for student in students:
        speaker = room.speakers.get(student, student)
        result = read_result(course, assignment, student) if is_merged(course, assignment, student) else None
        missing = {"student": student, "assignment": assignment, "failure": failures.get(speaker, "not graded")}
        results.append(missing if result is None or speaker in failures else result)
    return results


@contextmanager
def _alone(course: Course) -> Iterator[None]:
    """Refuse to run beside another grading run of the course. The lock ends with the process, however it ends."""
    from filelock import FileLock, Timeout

    from .secret import grading_folder

    folder = grading_folder(course.root)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / "lock").acquire(timeout=PATIENCE)
    except Timeout:
        raise CourseError(f"another run is grading {course.root}: wait until it ends") from None
    with lock:
        shutil.rmtree(folder / "drafts", ignore_errors=True)  # left by a run that was killed
        yield


def _ready(course: Course, assignment: str, unsafe: bool) -> None:
    """Refuse at the start what would only fail later."""
    read_extensions(course)
    if not list((course.exercises / assignment).glob("*.ipynb")) or not (course.root / "gradebook.db").is_file():
        raise CourseError(f"{assignment} is not released in this folder: run `kernelcourse release {assignment}` first")
    if not unsafe:
        from . import seccomp
        from .sandbox import try_bubblewrap

        try_bubblewrap()
        if not seccomp.program():
            print(
                f"no filter of system calls for {platform.machine()}: sandboxes keep all their other limits",
                file=sys.stderr,
            )
    elif sys.platform == "win32":
        raise CourseError("--unsafe needs fork and signals, which Windows does not have: grade on Linux or macOS")


def _plan_file(course: Course, assignment: str) -> Path:
    from .secret import grading_folder

    return grading_folder(course.root) / f"{assignment}.run.json"


def _plan(room: Submitted, students: list[str], *, resume: bool, regrade: bool) -> dict[str, Any]:
    """Name the run and list what it has to do; a resumed run keeps its name and its list."""
    from .merge import is_merged, read_result

    course, assignment = room.course, room.assignment
    path = _plan_file(course, assignment)
    if resume and path.is_file():
        plan: dict[str, Any] = json.loads(path.read_bytes())
        return plan

    def wanted(student: str) -> bool:
        result = read_result(course, assignment, student)
        if regrade or result is None or not is_merged(course, assignment, student):
            return True
        return bool(result["digest"] != room.read(room.speakers[student]).digest)

    chosen = {room.speakers[student] for student in students if wanted(student)}
    plan = {"run": secrets.token_hex(8), "students": sorted(chosen)}
    plan["skipped"] = len({room.speakers[student] for student in students} - chosen)
    replace_file(path, json.dumps(plan).encode())
    return plan


@dataclass
class _Run:
    """A run over what is left of a plan."""

    room: Submitted
    plan: Mapping[str, Any]
    unsafe: bool

    def grade(self, *, jobs: int, cluster: str) -> dict[str, str]:
        """Grade, and return what went wrong for each student."""
        from tqdm import tqdm

        from .merge import Writer
        from .schedule import processors

        course, assignment = self.room.course, self.room.assignment
        jobs = jobs if jobs > 0 else processors()
        failures: dict[str, str] = {}
        tqdm.monitor_interval = 0  # its thread would not survive in forked processes
        with (
            tqdm(total=len(self.plan["students"]), unit="submission", disable=None, file=sys.stderr) as bar,
            Writer(course, assignment) as writer,
        ):
            entries = _Entries(self.room, writer, bar, failures)
            for student in filter(self._stored, self.plan["students"]):
                entries.add(student)
            left = [student for student in self.plan["students"] if not self._stored(student)]
            if left:
                for student, trouble in self._graded(left, jobs, cluster):
                    entries.add(student, trouble)
            entries.finish()
            for line in writer.settle(self.room.times()):
                bar.write(line, file=sys.stderr)
        graded = len(self.plan["students"]) - len(failures)
        print(f"{assignment}: {graded} graded, {self.plan['skipped']} left as they were, {len(failures)} failed")
        return failures

    def _stored(self, student: str) -> bool:
        from .merge import read_result

        result = read_result(self.room.course, self.room.assignment, student)
        return result is not None and result.get("run") == self.plan["run"]

    def _graded(self, left: list[str], jobs: int, cluster: str) -> Iterator[tuple[str, str]]:
        """Yield students as they finish; those whose job ran out of time beside busy neighbours come last, alone."""
        from .merge import read_result
        from .schedule import OVERDUE, on_this_machine

        if cluster:
            from .cluster import on_a_cluster

            yield from on_a_cluster(cluster, self.task, left, self.room.read, self._store, self._seconds)
            return
        _warm_up(self.room.course, self.task, thoroughly=len(left) > 2 * jobs)
        again, overdue = [], []
        for student, trouble in on_this_machine(self._work, left, jobs=jobs, seconds=self._seconds):
            result = read_result(self.room.course, self.room.assignment, student)
            if trouble == OVERDUE:
                overdue.append(student)
            elif not trouble and jobs > 1 and len(left) > 1 and result is not None and _ran_out_of_time(result):
                again.append(student)
            else:
                yield student, trouble
        yield from on_this_machine(self._work, again, jobs=1, seconds=self._seconds)
        yield from on_this_machine(self._give_up, overdue, jobs=jobs)

    @cached_property
    def task(self) -> Any:
        """What all submissions have in common."""
        from ..checking.checks import checks_in
        from .merge import locked_sources
        from .secret import assignment_secret, grading_folder
        from .submission import Task, course_files
        from .variants import read_variants, require_same_values

        course, assignment = self.room.course, self.room.assignment
        variants = read_variants(course.root, assignment)
        with checks_in(course.solutions / assignment):
            require_same_values(variants, assignment)
        files, locked = course_files(course, assignment), locked_sources(course, assignment)
        shelf = str(grading_folder(course.root) / "library")
        secret = assignment_secret(course.root, assignment)
        return Task(assignment, files, locked, secret, self.unsafe, self.plan["run"], shelf, variants)

    @cached_property
    def _seconds(self) -> float:
        return seconds_for(self.task)

    def _work(self, student: str) -> None:
        from .submission import grade_submission

        self._store(grade_submission(self.task, student, self.room.read(student)))

    def _give_up(self, student: str) -> None:
        """Enter a submission that cannot be graded within its time: none of it counts."""
        from .submission import grade_submission

        handed = self.room.read(student)
        digest, handed.files = handed.digest, {}
        handed.odd("timeout", "Reading and grading it took longer than a submission may take; none of it counts.")
        graded = grade_submission(self.task, student, handed)
        self._store(replace(graded, result=graded.result | {"digest": digest}))

    def _store(self, graded: Any) -> None:
        """Write the result of a student, and of everyone on whose behalf that student handed in the work."""
        from .groups import shared_result
        from .merge import store
        from .submission import with_receipt

        speaker = graded.result["student"]
        members = self.room.members(speaker)
        rivals = set(members) & set(self.room.found) - {speaker}
        for member in [*(one for one in members if one != speaker), speaker]:  # the run's own mark is set last
            if len(members) > 1:
                shared = replace(graded, result=shared_result(graded.result, member, speaker, rivals))
                store(self.room.course, with_receipt(shared, self.task.secret))
            else:
                store(self.room.course, graded)


class _Entries:
    """Enters results into the gradebook as they arrive, and remembers those that have to wait."""

    def __init__(self, room: Submitted, writer: Any, bar: Any, failures: dict[str, str]) -> None:
        self.room, self.writer, self.bar, self.failures = room, writer, bar, failures
        self.waiting: list[str] = []  # another program has locked the gradebook

    def add(self, student: str, trouble: str = "") -> None:
        from .merge import GradebookLocked, is_merged

        members = [
            one
            for one in self.room.members(student) or [student]
            if not is_merged(self.room.course, self.room.assignment, one)
        ]
        try:
            for member in () if trouble else members:
                if self.waiting:
                    self.waiting.append(member)
                else:
                    self._merge(member)
        except GradebookLocked as locked:
            self.bar.write(f"{student}: graded, but {locked}", file=sys.stderr)
            self.waiting += members
        except (OSError, CourseError) as error:
            trouble = f"graded, but not entered: {error}"
        if trouble:
            self.failures[student] = trouble
            self.bar.write(f"{student}: not graded\n{trouble}", file=sys.stderr)
        self.bar.set_postfix(failed=len(self.failures), refresh=False)
        self.bar.update()

    def _merge(self, student: str) -> None:
        for ending in self.writer.merge(student)["endings"]:
            self.bar.write(f"{student}: {ending['kind']}: {ending['text']}", file=sys.stderr)

    def finish(self) -> None:
        """Enter what had to wait; raise `GradebookLocked` if the gradebook is still locked."""
        for student in dict.fromkeys(self.waiting):
            self._merge(student)


def _ran_out_of_time(result: Mapping[str, Any]) -> bool:
    """Whether a lack of time cost points and busy neighbours may be the cause; they are not if the code only waited."""
    from .sandbox import WAITING

    timeouts = [ending for ending in result["endings"] if ending["kind"] == "timeout" and WAITING not in ending["text"]]
    pieces = [piece for notebook in result["notebooks"].values() for piece in notebook["pieces"]]
    return bool(timeouts) and any(piece["earned"] < piece["points"] for piece in pieces)


def seconds_for(task: Any) -> float:
    """How long a job may take by the clock, whatever it does."""
    import tempfile

    from .engine import load_config
    from .folder import CONFIG
    from .preprocessors import GradeSafely

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CONFIG).write_bytes(task.course[CONFIG])
        limits = GradeSafely(config=load_config(Course(Path(folder))))
    return float(MARGIN + len(task.locked) * limits.patience * limits.total)


def _warm_up(course: Course, task: Any, *, thoroughly: bool) -> None:
    """Build here what the forked processes need; if there are many, first grade an empty submission as well."""
    import nbformat

    from ..checking.checks import catalogue, checks_in, has_pieces
    from .handed import Handed
    from .library import library_for, locked_cells
    from .notebooks import seed_of
    from .secret import revealed
    from .submission import grade_submission

    with checks_in(course.solutions / task.assignment), revealed(task.secret):
        for path in sorted((course.exercises / task.assignment).glob("*.ipynb")):
            release = nbformat.read(path, as_version=4)
            library_for(path.stem, locked_cells(release), Path(task.shelf))
            if thoroughly and has_pieces(path.stem) and course.checks(task.assignment) is None:
                with suppress(Exception):  # a reference that fails here fails again, where it is reported
                    catalogue(path.stem).checks(seed_of(release)).prepare()
    if thoroughly:
        grade_submission(task, "nobody", Handed())
