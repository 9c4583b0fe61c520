"""A place for a student's code: no network, no files but a read-only system, no rights, and limits on everything.

bubblewrap makes it from Linux namespaces. One sandbox serves one notebook of one student and is never used again.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from . import seccomp
from .errors import CourseError
from .plain import Channel, Closed, NotPlain

INSTALL = (
    "grading needs bubblewrap, which keeps students' code away from this machine: install it "
    "(apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap), "
    "or say --unsafe if you trust every submission"
)
_HOME = "/home/student"
_LIBRARY, _SITE = "/library", "/site"
_DISKS = ("/tmp", "/dev/shm", _HOME)


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use."""

    seconds: float = 60  # for a cell, or for all calls of a function in a check
    memory: int = 2_000_000_000  # bytes of all processes together, and address space of each
    disk: int = 64_000_000  # bytes of the private home and of one file
    processes: int = 32  # and threads
    output: int = 200_000  # characters that a cell may show
    cpu: int = 900  # seconds in all

    @property
    def resources(self) -> dict[str, int]:
        """The kernel's own limits, by their names."""
        return {
            "AS": self.memory,
            "CPU": self.cpu,
            "FSIZE": self.disk,
            "NPROC": self.processes,
            "NOFILE": 256,
            "CORE": 0,
            "MSGQUEUE": 0,
            "MEMLOCK": 0,
        }


class Died(Exception):
    """A sandbox came to an end before its work was done; `kind` says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass
class Sandbox:
    """A running IPython shell in a place of its own. Start it early: it is ready a second later."""

    library: Path
    files: dict[str, Path] = field(default_factory=dict)  # by the names that they have in the home
    packages: Sequence[str] = ("ipython", "numpy", "scipy", "matplotlib")
    limits: Limits = Limits()
    unsafe: bool = False
    grace: float = 5  # seconds in which to say that the time is up, before it is ended

    def __post_init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.scratch = ""
        passed = [theirs.fileno()]
        try:
            if self.unsafe:
                command = self._unprotected(theirs.fileno())
            else:
                filtering = seccomp.as_file()
                passed += [] if filtering is None else [filtering]
                command = self._protected(theirs.fileno(), filtering)
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=passed,
                env=self._environment(),
                cwd="/",
            )
        finally:
            theirs.close()
            for descriptor in passed[1:]:
                os.close(descriptor)
        self.ready = False
        uid = 61184 + os.getpid() % 4096 if os.geteuid() == 0 and not self.unsafe else 0
        limits = self.limits.resources
        if self.unsafe:  # this user's other processes count as well
            del limits["NPROC"]
        with contextlib.suppress(Closed):  # `ask` will find out why
            self.channel.send({"uid": uid, "limits": limits, "output": self.limits.output})

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONSAFEPATH": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",  # or every thread takes address space that nobody uses
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }

    def _worker(self, descriptor: int, library: str, site: Sequence[str], home: str) -> list[str]:
        code = (
            f"import sys; sys.path[:0] = [{library!r}]; sys.path += {list(site)!r}; "
            f"from kernelcourse.course.worker import main; main({descriptor}, {home!r})"
        )
        python = getattr(sys, "_base_executable", sys.executable)
        return [os.path.realpath(python), "-I", "-S", "-c", code]

    def _unprotected(self, descriptor: int) -> list[str]:
        import tempfile

        self.scratch = tempfile.mkdtemp()
        for name, path in self.files.items():
            shutil.copy(path, Path(self.scratch) / name)
        site = [path for path in sys.path if path.endswith("-packages")]
        return self._worker(descriptor, str(self.library), site, str(Path(self.scratch) / "home"))

    def _protected(self, descriptor: int, filtering: int | None) -> list[str]:
        bubblewrap = find_bubblewrap()
        command = [bubblewrap, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        command += [] if filtering is None else ["--seccomp", str(filtering)]
        command += [f"--unshare-{name}" for name in ("ipc", "pid", "net", "uts", "cgroup-try")]
        if os.geteuid() == 0:  # the worker changes to a user without rights before anything else
            command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            command += ["--unshare-user", "--uid", "61184", "--gid", "61184", "--disable-userns"]
        mounts = Mounts()
        mounts.add_system()
        mounts.read_only(self.library, _LIBRARY)
        for name, path in packages(tuple(self.packages)).items():
            mounts.read_only(path, f"{_SITE}/{name}")
        for disk in _DISKS:
            mounts.private(disk, self.limits.disk)
        for name, path in self.files.items():
            mounts.read_only(path, f"{_HOME}/{name}")
        command += [*mounts.arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
        return [*command, "--", *self._worker(descriptor, _LIBRARY, [_SITE], _HOME)]

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a message and wait for the reply; raise `Died` if none comes in time."""
        if not self.ready:
            self._await_start()
        return self._exchange(message, seconds + self.grace)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that has no reply."""
        if not self.ready:
            self._await_start()
        with contextlib.suppress(Closed, TimeoutError):  # the next question will find out
            self.channel.send(message)

    def _await_start(self) -> None:
        try:
            self._exchange(None, 60)
        except Died as died:
            said = self._complaint()
            if died.kind == "kernel died" and said:
                raise CourseError(f"the sandbox does not start: {said}") from died
            raise
        self.ready = True

    def _complaint(self) -> str:
        assert self.process.stderr is not None
        os.set_blocking(self.process.stderr.fileno(), False)
        return (self.process.stderr.read() or b"").decode(errors="replace").strip()[-1000:]

    def _exchange(self, message: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        self.channel.connection.settimeout(seconds)

        look = time.monotonic() + 0.5

        def wait(connection: socket.socket) -> None:
            nonlocal look
            while True:
                ready = select.select([connection], [], [], 0.5)[0]
                now = time.monotonic()
                if now > deadline:  # even if something comes: a byte now and then would never end
                    raise TimeoutError
                if now > look:
                    self._watch_memory()
                    look = time.monotonic() + 0.5
                if ready:
                    return

        try:
            if message is not None:
                self.channel.send(message)
            return self.channel.receive(wait)
        except TimeoutError:
            self.end()
            raise Died("timeout", f"took longer than {self.limits.seconds:g} seconds") from None
        except Closed:
            self.end()
            raise Died("kernel died", "killed its kernel") from None
        except NotPlain as error:
            self.end()
            raise Died("too much output", f"sent what is no answer ({error})") from None

    def _watch_memory(self) -> None:
        import psutil

        with contextlib.suppress(psutil.Error):
            family = psutil.Process(self.process.pid).children(recursive=True)
            used = 0 if self.unsafe or not family else _stored(family[-1].pid)
            for member in family:
                with contextlib.suppress(psutil.Error):  # copies of a process share most of their memory
                    used += member.memory_full_info().pss
            if used > self.limits.memory:
                self.end()
                raise Died("memory", f"used more than {self.limits.memory / 1e9:g} GB of memory")

    def end(self) -> None:
        """End every process in the sandbox; with them goes all that they wrote."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stderr and not self.process.stderr.closed and self.ready:
            self.process.stderr.close()
        self.channel.close()
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()


def _stored(process: int) -> int:
    """The memory that the private disks take which a process sees: what is written, and a kilobyte for every file."""
    used = 0
    for place in _DISKS:
        with contextlib.suppress(OSError):  # it has just ended
            disk = os.statvfs(f"/proc/{process}/root{place}")
            used += (disk.f_blocks - disk.f_bfree) * disk.f_frsize + (disk.f_files - disk.f_ffree) * 1024
    return used


class Mounts:
    """What a sandbox sees, as arguments of bubblewrap."""

    def __init__(self) -> None:
        self.arguments: list[str] = ["--proc", "/proc", "--dev", "/dev"]
        self.made = {"/", "/dev"}

    def _make_parents(self, place: str) -> None:
        for parent in reversed(Path(place).parents):
            if str(parent) not in self.made:  # bubblewrap's own would be closed to the user without rights
                self.arguments += ["--perms", "0755", "--dir", str(parent)]
                self.made.add(str(parent))

    def read_only(self, path: Path, place: str) -> None:
        self._make_parents(place)
        self.arguments += ["--ro-bind", str(path), place]

    def private(self, place: str, size: int) -> None:
        self._make_parents(place)
        self.arguments += ["--perms", "1777", "--size", str(size), "--tmpfs", place]
        self.made.add(place)

    def hide(self, place: str) -> None:
        self.arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", place]

    def add_system(self) -> None:
        """The system's programs and the interpreter, without any package for Python."""
        parts = ("bin", "lib", "lib64", "lib32")
        prefix = os.path.realpath(sys.base_prefix)
        places = ["/usr/share", *(f"{root}/{part}" for root in ("/usr", "", "/usr/local", prefix) for part in parts)]
        for name in dict.fromkeys(places):  # no more of /usr: somebody may keep a course in /usr/src
            path = Path(name)
            if path.is_symlink():
                self._make_parents(name)
                self.arguments += ["--symlink", os.readlink(name), name]
            elif path.is_dir():
                self.read_only(path, name)
            self.made.add(name)
        for name in ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime"):
            if Path(name).exists():
                self.read_only(Path(name).resolve() if Path(name).is_symlink() else Path(name), name)
        for place in _package_folders(prefix):
            self.hide(place)


def _package_folders(prefix: str) -> Iterator[str]:
    roots = {prefix, "/usr", "/usr/local"}
    for root in sorted(roots):
        for folder in sorted(Path(root).glob("lib*/python3*/*-packages")):
            if folder.is_dir() and not folder.is_symlink():
                yield str(folder)


def find_bubblewrap() -> str:
    """Where bubblewrap is; raises `CourseError` if it is not installed."""
    found = shutil.which("bwrap")
    if sys.platform != "linux" or found is None:
        raise CourseError(INSTALL)
    return found


@cache
def packages(names: tuple[str, ...]) -> dict[str, Path]:
    """Files and folders of these packages and of all that they require, by the names they are imported under."""
    found: dict[str, Path] = {}
    waiting, seen = list(names), set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for file in package.files or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and (path := Path(str(package.locate_file(top)))).exists():
                found[top] = path
        for requirement in package.requires or []:
            if "extra ==" not in requirement:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0])
    return found
