"""A control group for each sandbox, if this process is allowed to make one (cgroups, version 2).

The kernel then counts the processor time of everything in the sandbox. Where the controllers for memory and
processes are enabled, it also enforces both limits at every moment, not only when the grader checks. The groups are
made beside this process's group, because a group that contains processes may not contain groups with limits.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_OWN, _TOP = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_JOIN = 'echo 0 2>/dev/null > "$0/cgroup.procs"; exec "$@"'  # if it fails, the sandbox is counted from outside


def home(own: Path = _OWN, top: Path = _TOP) -> Path | None:
    """The folder in which groups can be made; None if there is none or we may not write to it."""
    top = next((path for path in (top, top / "unified") if (path / "cgroup.procs").is_file()), top)
    found = re.search(r"^0::/(.*)$", own.read_text(encoding="utf-8"), re.MULTILINE) if own.is_file() else None
    if found is None or ".." in Path(found[1]).parts:
        return None
    place = (top / found[1]).parent if found[1] else top
    ours = (place, place / "cgroup.procs")  # moving a process requires write access to the parent group
    return place if all(os.access(path, os.W_OK) for path in ours) else None


class ControlGroup:
    """A new group; `limits` maps file names to limits, and one whose controller is not enabled is left out."""

    def __init__(self, place: Path, limits: Mapping[str, int]) -> None:
        for other in place.glob("kernelcourse-*-*"):  # left by a grader that was killed
            if not Path(f"/proc/{other.name.split('-')[1]}").exists():
                with contextlib.suppress(OSError):  # its sandbox is about to end
                    other.rmdir()
        self.folder = place / f"kernelcourse-{os.getpid()}-{secrets.token_hex(4)}"
        self.folder.mkdir()
        for name, limit in limits.items():
            with contextlib.suppress(OSError):
                descriptor = os.open(self.folder / name, os.O_WRONLY)  # not created here: the kernel makes these files
                os.write(descriptor, str(limit).encode())
                os.close(descriptor)

    def joined(self, command: Sequence[str]) -> list[str]:
        """The command, run in the group from its start."""
        return ["/bin/sh", "-c", _JOIN, str(self.folder), *command]

    def number(self, file: str, name: str) -> int:
        """What the kernel has counted under a name; 0 if it does not count this."""
        with contextlib.suppress(OSError):
            text = (self.folder / file).read_text(encoding="ascii")
            return int(dict(line.split() for line in text.splitlines()).get(name, 0))
        return 0

    def remove(self) -> None:
        """Remove the group once its last process has ended."""
        deadline = time.monotonic() + 1
        while self.folder.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.01)
