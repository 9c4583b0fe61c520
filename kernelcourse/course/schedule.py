"""Many submissions at once: in processes of this machine, or on the workers of a Dask cluster.

Both yield students as they are done, with what went wrong in the grader itself, if anything did.
"""

from __future__ import annotations

import contextlib
import multiprocessing
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


def on_this_machine(work: Callable[[str], None], students: Sequence[str], *, jobs: int) -> Iterator[tuple[str, str]]:
    """Do the work for each student in a process of its own, so many at a time.

    The processes are copies of this one, with everything imported that they need; what they do to themselves, or what
    is done to them, touches nobody else.
    """
    context = multiprocessing.get_context("fork")
    waiting = [(student, 1) for student in reversed(students)]
    running: dict[Connection, tuple[Any, str, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                student, attempt = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(work, student, theirs))
                process.start()
                theirs.close()
                running[ours] = process, student, attempt
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process, student, attempt = running.pop(ready)
                trouble = _last_word(ready)
                process.join()
                if trouble is None and attempt < _TRIES:
                    waiting.append((student, attempt + 1))
                else:
                    yield student, trouble if trouble is not None else "the grader's process was killed"
    finally:
        for process, _, _ in running.values():
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


def _work(work: Callable[[str], None], student: str, connection: Connection) -> None:
    _die_with_parent()
    try:
        work(student)
        connection.send("")
    except Exception:  # noqa: BLE001 - the run goes on without it
        connection.send(traceback.format_exc())


def _die_with_parent() -> None:
    """Let a killed run leave nothing behind."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


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
        client = Client(**options, timeout="20s", set_as_default=False)
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
