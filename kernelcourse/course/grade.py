"""Grade the submissions of an assignment, each in a sandbox, several at a time, and enter them into the gradebook.

Submissions that are graded and unchanged are left alone. An interrupted run goes on with --resume.
"""

from __future__ import annotations

import argparse
import json
import platform
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import CourseError
from .folder import Course, add_course_argument
from .notebooks import replace_file

PATIENCE = 5.0  # seconds that the processes of a killed run may take to go


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="which one, for example 01-dual-representation")
    parser.add_argument("--student", action="append", default=[], metavar="S", help="only this one (can be repeated)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="how many at a time (default: one per core)")
    parser.add_argument("--cluster", default="", metavar="ADDRESS", help="of a Dask scheduler, or its JSON file")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument("--regrade", action="store_true", help="grade again what is graded; manual grades stay")
    parser.add_argument("--unsafe", action="store_true", help="run students' code with your rights, without a sandbox")
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
    """Grade submissions and return their results, in the order of the students' names.

    A submission that could not be graded for a reason of our own has the key "failure" in place of a grade.
    """
    from .merge import is_merged, read_result

    students = _chosen(course, assignment, students)
    with _alone(course):
        _ready(course, assignment, unsafe)
        plan = _plan(course, assignment, students, resume=resume, regrade=regrade)
        failures = _grade_all(course, assignment, plan, jobs=jobs, cluster=cluster, unsafe=unsafe)
        if not failures:
            _plan_file(course, assignment).unlink(missing_ok=True)
    results = []
    for student in students:
        result = read_result(course, assignment, student) if is_merged(course, assignment, student) else None
        missing = {"student": student, "assignment": assignment, "failure": failures.get(student, "not graded")}
        results.append(missing if result is None or student in failures else result)
    return results


def _chosen(course: Course, assignment: str, students: Sequence[str]) -> list[str]:
    course.sources(assignment)  # says which assignments there are, if this is none
    found = [path.parent.name for path in (course.root / "submitted").glob(f"*/{assignment}") if path.is_dir()]
    found = sorted(name for name in found if not name.startswith("."))
    if missing := sorted(set(students) - set(found)):
        raise CourseError(f"no submission of {assignment} by {', '.join(missing)} in {course.root / 'submitted'}")
    if not found:
        raise CourseError(f"nothing to grade: no folder submitted/<student>/{assignment} in {course.root}")
    return sorted(set(students)) or found


@contextmanager
def _alone(course: Course) -> Iterator[None]:
    """Refuse to run beside another grading of the same course. The lock goes with the process, however it ends."""
    from filelock import FileLock, Timeout

    from .secret import grading_folder

    folder = grading_folder(course.root)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / "lock").acquire(timeout=PATIENCE)
    except Timeout:
        raise CourseError(f"another grading of {course.root} is running: wait for its end") from None
    with lock:
        shutil.rmtree(folder / "drafts", ignore_errors=True)  # of a run that was killed
        yield


def _ready(course: Course, assignment: str, unsafe: bool) -> None:
    """Refuse early what could only fail later."""
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


def _plan(course: Course, assignment: str, students: list[str], *, resume: bool, regrade: bool) -> dict[str, Any]:
    """Name the run and list what it has to do; a resumed run keeps its name and its list."""
    from .merge import is_merged, read_result
    from .submission import digest, read_submission

    path = _plan_file(course, assignment)
    if resume and path.is_file():
        plan: dict[str, Any] = json.loads(path.read_bytes())
        return plan

    def wanted(student: str) -> bool:
        result = read_result(course, assignment, student)
        if regrade or result is None or not is_merged(course, assignment, student):
            return True
        return result["digest"] != digest(read_submission(course.root / "submitted" / student / assignment))

    plan = {"run": secrets.token_hex(8), "students": [student for student in students if wanted(student)]}
    plan["skipped"] = len(students) - len(plan["students"])
    replace_file(path, json.dumps(plan).encode())
    return plan


def _grade_all(
    course: Course, assignment: str, plan: dict[str, Any], *, jobs: int, cluster: str, unsafe: bool
) -> dict[str, str]:
    """Do what is left of a plan; return what went wrong, by student."""
    from tqdm import tqdm

    from .merge import Writer, is_merged, read_result, store
    from .schedule import on_a_cluster, on_this_machine, processors
    from .submission import grade_submission, read_submission

    def stored(student: str) -> bool:
        result = read_result(course, assignment, student)
        return result is not None and result.get("run") == plan["run"]

    def read(student: str) -> dict[str, bytes]:
        return read_submission(course.root / "submitted" / student / assignment)

    def work(student: str) -> None:
        store(course, grade_submission(task, student, read(student)))

    failures: dict[str, str] = {}
    tqdm.monitor_interval = 0  # a thread of its own would be in the way of the copies of this process
    total = len(plan["students"])
    with (
        tqdm(total=total, unit="submission", disable=None, file=sys.stderr) as bar,
        Writer(course, assignment) as writer,
    ):

        def finish(student: str, trouble: str) -> None:
            if trouble:
                failures[student] = trouble
                bar.write(f"{student}: not graded\n{trouble}", file=sys.stderr)
            else:
                for ending in writer.merge(student)["endings"]:
                    bar.write(f"{student}: {ending['kind']}: {ending['text']}", file=sys.stderr)
            bar.set_postfix(failed=len(failures), refresh=False)
            bar.update()

        for student in filter(stored, plan["students"]):
            if is_merged(course, assignment, student):
                bar.update()
            else:
                finish(student, "")
        left = [student for student in plan["students"] if not stored(student)]
        if left:
            task = _task(course, assignment, plan["run"], unsafe)
            if cluster:
                finished = on_a_cluster(cluster, task, left, read, lambda graded: store(course, graded))
            else:
                jobs = jobs if jobs > 0 else processors()
                _warm_up(course, task, thoroughly=len(left) > 2 * jobs)
                finished = on_this_machine(work, left, jobs=jobs)
            for student, trouble in finished:
                finish(student, trouble)
    graded = len(plan["students"]) - len(failures)
    print(f"{assignment}: {graded} graded, {plan['skipped']} left as they were, {len(failures)} failed")
    return failures


def _task(course: Course, assignment: str, name: str, unsafe: bool) -> Any:
    """What all submissions have in common."""
    from .merge import empty_gradebook
    from .secret import assignment_secret, grading_folder
    from .submission import Task, course_files

    files = course_files(course, assignment) | {"gradebook.db": empty_gradebook(course)}
    shelf = str(grading_folder(course.root) / "library")
    return Task(assignment, files, assignment_secret(course.root, assignment), unsafe, name, shelf)


def _warm_up(course: Course, task: Any, *, thoroughly: bool) -> None:
    """Make here what the copies of this process need; for many of them, grade an empty submission once as well."""
    import nbformat

    from ..checking.checks import checks_in
    from .engine import nbgrader_api
    from .library import library_for, locked_cells
    from .submission import grade_submission

    with checks_in(course.solutions / task.assignment):
        for path in sorted((course.exercises / task.assignment).glob("*.ipynb")):
            library_for(path.stem, locked_cells(nbformat.read(path, as_version=4)), Path(task.shelf))
    with nbgrader_api(course) as api, api.gradebook as gradebook:
        gradebook.find_assignment(task.assignment)
    if thoroughly:
        grade_submission(task, "nobody", {})
