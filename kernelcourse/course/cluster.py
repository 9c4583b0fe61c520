"""Many submissions at once, on the workers of a Dask cluster."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .errors import CourseError
from .handed import Handed
from .submission import Graded, Task, grade_submission

_TRIES = 3


def on_a_cluster(
    address: str,
    task: Task,
    students: Sequence[str],
    read: Callable[[str], Handed],
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
