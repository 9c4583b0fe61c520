"""User ids for the sandboxes that root starts: each gets its own, so that the kernel counts only its processes."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from .errors import CourseError

_IDS = range(61184, 65520)  # systemd's ids for dynamic services: no person and no package has one
_FOLDER = Path("/run/kernelcourse")  # a lock for every id in use, by any grader on this machine


class OwnUser:
    """A user id that no other process on this machine has, until it is given back or this process ends."""

    def __init__(self) -> None:
        from filelock import FileLock, Timeout

        _FOLDER.mkdir(mode=0o700, exist_ok=True)
        first = secrets.randbelow(len(_IDS))
        for self.uid in (*_IDS[first:], *_IDS[:first]):
            self.lock = FileLock(_FOLDER / str(self.uid), thread_local=False)
            try:
                self.lock.acquire(blocking=False)
            except Timeout:
                continue
            if not _is_running(self.uid):
                return
            self.lock.release()
        raise CourseError(f"all users for sandboxes ({_IDS[0]} to {_IDS[-1]}) are in use")

    def give_back(self) -> None:
        self.lock.release()


def _is_running(uid: int) -> bool:
    """Whether a process has this user id: a service, or a process about to end in a killed grader's sandbox."""
    for process in filter(str.isdigit, os.listdir("/proc")):  # psutil takes several times as long
        with contextlib.suppress(OSError):  # it has just ended
            status = Path(f"/proc/{process}/status").read_bytes()
            if str(uid).encode() in status.partition(b"\nUid:")[2].split(b"\n", 1)[0].split():
                return True
    return False
