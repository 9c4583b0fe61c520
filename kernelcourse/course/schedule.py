"""Many submissions at once, in processes on this machine.

Students are yielded as they finish, with what went wrong in the grader itself, if anything did.

A ProcessPoolExecutor cannot fork for each task, and one killed worker breaks its whole pool; loky starts fresh
interpreters, which import nbgrader again.
"""

from __future__ import annotations

import contextlib
import gc
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

_TRIES = 3
MEMORY = 2_000_000_000  # bytes that a job itself may use; its sandbox has a separate limit
SECONDS = 300  # of processor time that a job itself may use, for reading, judging and writing
OVERDUE = "the grader's process took too long"
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass
class _Job:
    """A process that grades one student."""

    student: str
    attempt: int
    share: set[int]
    process: Any
    deadline: float
    overdue: bool = False


def on_this_machine(
    work: Callable[[str], None], students: Sequence[str], *, jobs: int, seconds: float = math.inf
) -> Iterator[tuple[str, str]]:
    """Do the work for each student in its own process, `jobs` at a time, each for a limited number of seconds.

    The processes are forks of this one, with everything they need already imported; what they do to themselves, or
    what is done to them, affects no other student.
    """
    shares = _shares_of_the_processors(jobs)
    waiting = [(student, 1) for student in reversed(students)]
    running: dict[Connection, _Job] = {}

    def start_waiting() -> None:
        while waiting and len(running) < jobs:
            connection, job = _start(work, *waiting.pop(), shares.pop(), time.monotonic() + seconds)
            running[connection] = job

    try:
        start_waiting()
        while running:
            first = min(job.deadline for job in running.values())
            ready = wait(list(running), None if first == math.inf else max(first - time.monotonic(), 0))
            for job in running.values():
                if time.monotonic() > job.deadline:  # once killed, it is ready in the next round
                    job.overdue = True
                    job.process.kill()
            finished = []
            for done in ready:
                assert isinstance(done, Connection)
                job = running.pop(done)
                shares.append(job.share)
                said = _last_word(done)
                job.process.join()
                overdue = job.overdue or job.process.exitcode == -signal.SIGXCPU
                if said is None and not overdue and job.attempt < _TRIES:
                    waiting.append((job.student, job.attempt + 1))
                elif said is None:
                    finished.append((job.student, OVERDUE if overdue else "the grader's process was killed"))
                else:
                    finished.append((job.student, said))
            start_waiting()  # before the caller enters what is finished
            yield from finished
    finally:
        for job in running.values():
            job.process.kill()
            job.process.join()


def _start(
    work: Callable[[str], None], student: str, attempt: int, share: set[int], deadline: float
) -> tuple[Connection, _Job]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(work, student, theirs, share, os.getpid()))
    process.start()
    theirs.close()
    return ours, _Job(student, attempt, share, process, deadline)


def _last_word(connection: Connection) -> str | None:
    """What a process reported before it ended; None if it was killed."""
    try:
        return str(connection.recv())
    except (EOFError, OSError):
        return None
    finally:
        connection.close()


def processors() -> int:
    """How many processors we may use: in a container, often fewer than the machine has."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(seen, quota())))


def quota(own: Path = Path("/proc/self/cgroup"), groups: Path = _CGROUPS) -> float:
    """How many processors this process's control group and the groups around it may use on average."""
    least = math.inf
    with contextlib.suppress(OSError, ValueError):
        for line in own.read_text(encoding="ascii", errors="replace").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            top = groups / controllers if controllers and (groups / controllers).is_dir() else groups
            top = groups / "cpu" if controllers and top == groups else top
            place = top / path.lstrip("/")
            for folder in (place, *place.parents):
                least = min(least, _quota_of(folder))
                if folder == top:
                    break
    return least


def _quota_of(folder: Path) -> float:
    """The quota of a control group, in the format of version 2 or of version 1."""
    try:
        if (folder / "cpu.max").is_file():
            allowed, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        else:
            allowed = (folder / "cpu.cfs_quota_us").read_text(encoding="ascii").strip()
            period = (folder / "cpu.cfs_period_us").read_text(encoding="ascii").strip()
        return int(allowed) / int(period) if int(allowed) > 0 else math.inf
    except (OSError, ValueError):  # there is no quota, or it is "max"
        return math.inf


def _shares_of_the_processors(jobs: int) -> list[set[int]]:
    """Processors for each job; if there are enough, jobs share none, so that no student's code slows down another's."""
    if not hasattr(os, "sched_getaffinity"):
        return [set()] * jobs
    available = sorted(os.sched_getaffinity(0))
    return [set(available if jobs > len(available) else available[job::jobs]) for job in range(jobs)]


def _keep_within(share: set[int]) -> None:
    if share:
        os.sched_setaffinity(0, share)
    if sys.platform == "linux":
        import resource

        used = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
        _, ceiling = resource.getrlimit(resource.RLIMIT_AS)
        with contextlib.suppress(ValueError):  # a lower limit is already in force
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, ceiling))
        spent = int(time.process_time())
        _, ceiling = resource.getrlimit(resource.RLIMIT_CPU)
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, ceiling))


def _work(work: Callable[[str], None], student: str, connection: Connection, share: set[int], parent: int) -> None:
    _die_with_parent(parent)
    _keep_within(share)
    gc.freeze()  # the collector would touch, and so copy, everything that is imported
    try:
        work(student)
        connection.send("")
    except Exception:  # noqa: BLE001 - the run goes on without it
        connection.send(traceback.format_exc())


def _die_with_parent(parent: int) -> None:
    """Make sure that a killed run leaves no process behind."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; python-prctl has been dormant since 2020
        if os.getppid() != parent:  # it was killed before we could ask for that
            os._exit(1)
