"""Many submissions at once: in processes of this machine, or on the workers of a Dask cluster.

Both yield students as they are done, with what went wrong in the grader itself, if anything did.

A ProcessPoolExecutor refuses a fork for each task, and one killed worker breaks all of its pool; loky starts fresh
interpreters, which import nbgrader again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .errors import CourseError
from .submission import Graded, Task, grade_submission

_TRIES = 3
MEMORY = 2_000_000_000  # bytes that a job may take for itself; its sandbox has a limit of its own


def on_this_machine(work: Callable[[str], None], students: Sequence[str], *, jobs: int) -> Iterator[tuple[str, str]]:
    """Do the work for each student in a process of its own, so many at a time.

    The processes are copies of this one, with everything imported that they need; what they do to themselves, or what
    is done to them, touches nobody else.
    """
    context = multiprocessing.get_context("fork")
    shares = _shares_of_the_processors(jobs)
    waiting = [(student, 1) for student in reversed(students)]
    running: dict[Connection, tuple[Any, str, int, set[int]]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                student, attempt = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(work, student, theirs, shares[-1], os.getpid()))
                process.start()
                theirs.close()
                running[ours] = process, student, attempt, shares.pop()
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process, student, attempt, share = running.pop(ready)
                shares.append(share)
                trouble = _last_word(ready)
                process.join()
                if trouble is None and attempt < _TRIES:
                    waiting.append((student, attempt + 1))
                else:
                    yield student, trouble if trouble is not None else "the grader's process was killed"
    finally:
        for process, *_ in running.values():
            process.kill()
            process.join()


def _last_word(connection: Connection) -> str | None:
    """What a process said before it ended; None if it was killed."""
    try:
        return str(connection.recv())
    except EOFError:
        return None
    finally:
        connection.close()


def processors() -> int:
    """How many processors we may use, which in a container are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shares_of_the_processors(jobs: int) -> list[set[int]]:
    """Processors for each job, its own if there are enough: nobody's busy code takes another's time."""
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
        with contextlib.suppress(ValueError):  # a lower ceiling is in force already
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, ceiling))


def _work(work: Callable[[str], None], student: str, connection: Connection, share: set[int], parent: int) -> None:
    _die_with_parent(parent)
    _keep_within(share)
    try:
        work(student)
        connection.send("")
    except Exception:  # noqa: BLE001 - the run goes on without it
        connection.send(traceback.format_exc())


def _die_with_parent(parent: int) -> None:
    """Let a killed run leave nothing behind."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; python-prctl has been dormant since 2020
        if os.getppid() != parent:  # it was killed before we could ask for that
            os._exit(1)


def on_a_cluster(
    address: str,
    task: Task,
    students: Sequence[str],
    read: Callable[[str], dict[str, bytes]],
    store: Callable[[Graded], None],
) -> Iterator[tuple[str, str]]:
    """Send submissions to the workers of a Dask cluster and store what comes back. They need not share any files."""
    from distributed import Client, as_completed
    from distributed.scheduler import KilledWorker

    by_file = address.endswith(".json")
    if by_file and not Path(address).is_file():  # a client would wait for it for ever
        raise CourseError(f"no Dask scheduler has written {address}")
    options: dict[str, Any] = {"scheduler_file": address} if by_file else {"address": address}
    try:
        client = Client(**options, timeout="60s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise CourseError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        waiting = [(student, 1) for student in reversed(students)]
        sent: dict[Any, tuple[str, int]] = {}
        done = as_completed(loop=client.loop)

        def send() -> None:
            student, attempt = waiting.pop()
            future = client.submit(grade_submission, task, student, read(student), pure=False, retries=_TRIES)
            sent[future] = student, attempt
            done.add(future)

        for _ in range(min(len(waiting), 4 * max(sum(client.nthreads().values()), 1))):
            send()
        for future in done:
            student, attempt = sent.pop(future)
            trouble = ""
            try:
                store(future.result())
            except KilledWorker as error:
                trouble = str(error)
                if attempt < _TRIES:
                    waiting.append((student, attempt + 1))
            except Exception:  # noqa: BLE001 - the run goes on without it
                trouble, attempt = traceback.format_exc(), _TRIES
            if waiting:
                send()
            if not trouble or attempt >= _TRIES:
                yield student, trouble
