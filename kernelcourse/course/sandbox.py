"""A place for a student's code: no network, no files but a read-only system, no privileges, and limits on everything.

bubblewrap makes it from Linux namespaces. One sandbox serves one notebook of one student and is never used again.

bubblewrap is the smallest program that provides all namespaces without root: firejail is setuid root, and podman needs
an image that is kept identical to this environment. A sandbox gets a control group where we are allowed to make one;
memory is polled as well, because many systems do not let us limit it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import select
import shutil
import signal
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
from .control_group import ControlGroup, home
from .errors import CourseError
from .plain import Channel, Closed, NotPlain
from .users import OwnUser

NEEDED = (0, 8)  # the first version of bubblewrap with --disable-userns
INSTALL = (
    "grading needs bubblewrap 0.8 or newer, which keeps students' code away from this machine: install it "
    "(apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap)"
)
ELSEWHERE = (
    "grading needs bubblewrap, which exists for Linux only: grade on Linux (WSL 2, a virtual machine or a container "
    "will do); all other commands work here as well"
)
_TRUST = "use --unsafe if you trust every submission"
_HOME = "/home/student"
_LIBRARY, _SITE = "/library", "/site"
_DISKS = ("/tmp", "/dev/shm", _HOME)
_ROOM = 64  # processes beyond those that the cells may have, for answering calls
_IDLE = 0.02  # code that uses less than this fraction of wall-clock time is waiting, whatever its neighbours do
WAITING = ", nearly all of them spent waiting"
_START = 300  # seconds of wall-clock time for a sandbox to get ready; on an idle machine it takes one


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use."""

    seconds: float = 60  # of processor time, and of waiting, for a cell or for all calls of a function in a check
    patience: float = 5  # wall-clock time as a multiple of `seconds`, because the machine may be busy
    memory: int = 2_000_000_000  # bytes for all processes together, and the address space of each
    disk: int = 64_000_000  # bytes for the private home, and for one file
    processes: int = 32  # and threads
    output: int = 200_000  # characters that a cell may show
    cpu: int = 900  # seconds in total

    @property
    def clock(self) -> float:
        """Seconds of wall-clock time, for a cell or for all calls of a function in a check."""
        return self.patience * self.seconds

    @property
    def overrun(self) -> str:
        """What is said about code that takes longer."""
        short, long = f"{self.seconds:g}", f"{self.clock:g}"
        return f"took more than {short} seconds of processor time or of waiting, or {long} of wall-clock time"

    @property
    def resources(self) -> dict[str, int]:
        """The kernel's own limits, by name."""
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
    """A running IPython shell in its own sandbox. Start it early: it is ready a second later."""

    library: Path
    files: dict[str, Path] = field(default_factory=dict)  # by their names in the home folder
    packages: Sequence[str] = ("ipython", "numpy", "scipy", "matplotlib")
    limits: Limits = Limits()
    unsafe: bool = False
    grace: float = 5  # seconds in which it can report that its time is up before it is killed

    def __post_init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.scratch = ""
        self.spent = 0.0  # seconds of processor time, once it has ended
        self._seen = 0.0  # the processor time used when it was last measured
        self.idle = 0.0  # seconds in which it had something to do, but all of it was asleep
        self.overrun = self.limits.overrun  # what is said about a cell that took too long
        self.ready = False
        self.user = OwnUser() if not self.unsafe and os.geteuid() == 0 else None
        self.group = None if self.unsafe else self._own_group()
        passed = [theirs.fileno()]
        try:
            if self.unsafe:
                command = self._unprotected(theirs.fileno())
            else:
                filtering = seccomp.as_file()
                passed += [] if filtering is None else [filtering]
                command = self._protected(theirs.fileno(), filtering)
                command = self.group.joined(command) if self.group else command
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=passed,
                env=self._environment(),
                cwd="/",
            )
        except BaseException:
            self._give_back()
            raise
        finally:
            theirs.close()
            for descriptor in passed[1:]:
                os.close(descriptor)
        limits = self.limits.resources
        if self.unsafe or not (self.user or counts_apart()):  # this user's other processes would count as well
            del limits["NPROC"]
        start = {"uid": self.user.uid if self.user else 0, "limits": limits, "room": _ROOM, "strict": not self.unsafe}
        with contextlib.suppress(Closed):  # `ask` will report why
            self.channel.send(start | {"output": self.limits.output})

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONSAFEPATH": "1",
            "KERNELCOURSE_ENGINE": "off",  # the same numbers on every machine, and fewer modules to load
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",  # otherwise every thread takes address space that is never used
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }

    def _worker(self, descriptor: int, library: str, site: Sequence[str], home: str) -> list[str]:
        code = (
            f"import gc, sys; gc.disable(); sys.path[:0] = [{library!r}]; sys.path += {list(site)!r}; "
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
        command = bubblewrap_command(self.library, self.files, tuple(self.packages), self.limits, filtering)
        return [*command, *self._worker(descriptor, _LIBRARY, [_SITE], _HOME)]

    def ask(self, message: dict[str, Any], seconds: float | None = None, clock: float | None = None) -> dict[str, Any]:
        """Send a message and wait for the reply; raise `Died` if none comes in time (by default: a cell's time)."""
        seconds = self.limits.seconds if seconds is None else seconds
        clock = self.limits.clock if clock is None else clock
        self._await_start()
        return self._exchange(message | {"seconds": seconds, "clock": clock}, seconds + self.grace, clock + self.grace)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that has no reply."""
        self._await_start()
        with contextlib.suppress(Closed, TimeoutError):  # the next message will report it
            self.channel.send(message)

    def _await_start(self) -> None:
        if self.ready:
            return
        try:
            self._exchange(None, _START, _START)
        except Died as died:
            said = self._complaint()
            if died.kind == "kernel died" and said:
                raise CourseError(f"the sandbox does not start: {said}") from died
            if died.kind == "timeout":  # no student's code has run yet
                raise CourseError(f"the sandbox does not start within {_START} seconds") from died
            raise
        self.ready = True

    def _complaint(self) -> str:
        assert self.process.stderr is not None
        os.set_blocking(self.process.stderr.fileno(), False)
        return (self.process.stderr.read() or b"").decode(errors="replace").strip()[-1000:]

    def _exchange(self, message: dict[str, Any] | None, seconds: float, clock: float) -> dict[str, Any]:
        begun = time.monotonic()
        deadline = begun + clock
        self.channel.connection.settimeout(clock)
        look, looked, idle = begun + 0.5, begun, self.idle
        self.overrun = self.limits.overrun
        before: float | None = None  # the processor time used when it was first measured

        def wait(connection: socket.socket) -> None:
            nonlocal look, looked, before
            while True:
                ready = select.select([connection], [], [], 0.5)[0]
                now = time.monotonic()
                if now > deadline:  # even if data arrives: a byte now and then could go on forever
                    raise TimeoutError
                if now > look:
                    used = self._watch()
                    before = used if before is None else before
                    self.overrun = self.limits.overrun
                    if used - before < _IDLE * (now - begun):
                        self.overrun += WAITING
                    if used - before > seconds:  # by code that ignores the worker's own timer
                        raise TimeoutError
                    idles = used - self._seen < 0.1 * (now - looked)
                    self._seen = used
                    if not ready and idles and self._is_asleep() and not select.select([connection], [], [], 0)[0]:
                        self.idle += min(now - looked, 1)  # if more, it is we who had to wait
                    if self.idle - idle > seconds - self.grace:
                        self.overrun = self.limits.overrun + WAITING
                        if self.idle - idle > seconds:
                            raise TimeoutError
                        self._ring(message)
                    looked = time.monotonic()
                    look = looked + 0.5
                if ready:
                    return

        try:
            if message is not None:
                self.channel.send(message)
            return self.channel.receive(wait)
        except TimeoutError:
            self.end()
            raise Died("timeout", self.overrun) from None
        except Closed:
            full = self.group is not None and self.group.number("memory.events", "oom_kill") > 0
            self.end()
            raise self._too_large() if full else Died("kernel died", "killed its kernel") from None
        except NotPlain as error:
            self.end()
            raise Died("too much output", f"sent something that is not an answer ({error})") from None

    def _family(self) -> list[Any]:
        """All processes of the sandbox, bubblewrap's own first."""
        import psutil

        try:
            family = [psutil.Process(self.process.pid)]
        except psutil.Error:
            return []
        for member in family:  # the list grows meanwhile
            for child in _children(member):
                with contextlib.suppress(psutil.Error):  # it has just ended
                    family.append(psutil.Process(child))
        return family

    def _watch(self) -> float:
        """The processor time that all processes have used; raise `Died` if they are too many or too large together."""
        import psutil

        family = self._family()
        stored = 0 if self.unsafe or len(family) < 2 else _stored(family[-1].pid)
        threads, used, memory = 0, 0.0, stored
        for member in family:
            with contextlib.suppress(psutil.Error), member.oneshot():
                used += sum(member.cpu_times()[:4])  # its own, and that of children that have ended
                threads += member.num_threads()
                memory += member.memory_info().rss
        if memory > 0.9 * self.limits.memory:  # copies of a process share most of theirs, which takes long to find out
            memory = stored
            for member in family:
                with contextlib.suppress(psutil.Error):
                    memory += member.memory_full_info().pss
        if memory > self.limits.memory:
            self.end()
            raise self._too_large()
        # bubblewrap itself has two. Where the kernel counts a user's processes, it refuses more well before this limit.
        if threads > self.limits.processes + _ROOM + 2:
            self.end()
            raise Died("processes", f"had more than {self.limits.processes} processes and threads")
        return self._counted() or used

    def _is_asleep(self) -> bool:
        """Whether all its threads sleep. On a busy machine, a thread that waits for a processor is not asleep."""
        try:
            for member in self._family():
                for thread in os.listdir(f"/proc/{member.pid}/task"):
                    state = Path(f"/proc/{member.pid}/task/{thread}/stat").read_bytes().rpartition(b")")[2].split()[0]
                    if state not in (b"S", b"Z"):
                        return False
        except OSError:  # one has just ended, or this system has no such files
            return False
        return True

    def _ring(self, message: dict[str, Any] | None) -> None:
        """Tell the worker that the time of its cell is up, as its own timer would: what the cell has done stays."""
        import psutil

        family = self._family()[0 if self.unsafe else 2 :]  # bubblewrap's own processes come first
        if message is not None and message["op"] == "run" and family:
            with contextlib.suppress(psutil.Error):
                family[0].send_signal(signal.SIGALRM)

    def _too_large(self) -> Died:
        return Died("memory", f"used more than {self.limits.memory / 1e9:g} GB of memory")

    def _own_group(self) -> ControlGroup | None:
        most = {"memory.max": self.limits.memory, "memory.swap.max": 0, "memory.oom.group": 1}
        most["pids.max"] = self.limits.processes + _ROOM + 2
        with contextlib.suppress(OSError):  # without a group, what runs in the sandbox is counted from outside
            place = home()
            return ControlGroup(place, most) if place else None
        return None

    def _counted(self) -> float:
        """The seconds of processor time that the kernel has counted for the group; 0 if there is no group."""
        return self.group.number("cpu.stat", "usage_usec") / 1e6 if self.group else 0.0

    def used(self) -> float:
        """The seconds of processor time that all its processes have used."""
        import psutil

        if total := self._counted():
            return total
        for member in self._family():
            with contextlib.suppress(psutil.Error):
                total += sum(member.cpu_times()[:4])  # its own, and that of children that have ended
        return total

    def end(self) -> None:
        """End every process in the sandbox and wait until all have ended; what they wrote disappears with them."""
        import psutil

        if self.process.poll() is None:
            self.spent = self.used()
        patience = time.monotonic() + 10
        while self.process.poll() is None:
            family = self._family()
            if not self.unsafe and time.monotonic() < patience:
                family = family[1:2]  # the first process in the sandbox: the kernel ends the others before this one
            for victim in reversed(family):
                with contextlib.suppress(psutil.Error):
                    victim.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)
        if self.process.stderr and not self.process.stderr.closed and self.ready:
            self.process.stderr.close()
        self.channel.close()
        self._give_back()
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def _give_back(self) -> None:
        if self.group:
            self.group.remove()
        if self.user:
            self.user.give_back()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()


def _children(process: Any) -> list[int]:
    """The processes that a process has started; psutil would search the whole machine for them."""
    import psutil

    try:
        tasks = os.listdir(f"/proc/{process.pid}/task")
        lists = [Path(f"/proc/{process.pid}/task/{task}/children").read_text(encoding="ascii") for task in tasks]
        return [int(child) for each in lists for child in each.split()]
    except OSError:  # it has just ended, or the system does not list them
        with contextlib.suppress(psutil.Error):
            return [child.pid for child in process.children()]
        return []


def _stored(process: int) -> int:
    """The memory taken by the private disks that a process sees: their content, and a kilobyte for every file."""
    used = 0
    for place in _DISKS:
        with contextlib.suppress(OSError):  # it has just ended
            disk = os.statvfs(f"/proc/{process}/root{place}")
            used += (disk.f_blocks - disk.f_bfree) * disk.f_frsize + (disk.f_files - disk.f_ffree) * 1024
    return used


class Mounts:
    """What a sandbox sees, as arguments for bubblewrap."""

    def __init__(self) -> None:
        self.arguments: list[str] = ["--dev", "/dev"]  # no /proc: its lists of mounts reveal this machine's paths
        self.made = {"/", "/dev"}

    def _make_parents(self, place: str) -> None:
        for parent in reversed(Path(place).parents):
            if str(parent) not in self.made:  # those that bubblewrap makes are closed to the unprivileged user
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
        """The system's programs and the interpreter, without any Python packages."""
        parts = ("bin", "lib", "lib64", "lib32")
        prefix = os.path.realpath(sys.base_prefix)
        places = ["/usr/share", *(f"{root}/{part}" for root in ("/usr", "", "/usr/local", prefix) for part in parts)]
        for name in dict.fromkeys(places):  # nothing else in /usr: somebody may keep a course in /usr/src
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
    """Where bubblewrap is; raise `CourseError` if it is not installed."""
    if sys.platform != "linux":
        raise CourseError(ELSEWHERE if sys.platform == "win32" else f"{ELSEWHERE}. Or {_TRUST}")
    found = shutil.which("bwrap")
    if found is None:
        raise CourseError(f"{INSTALL}, or {_TRUST}")
    return found


def bubblewrap_command(
    library: Path, files: dict[str, Path], names: tuple[str, ...], limits: Limits, filtering: int | None
) -> list[str]:
    """The command that makes a sandbox, without the program to run in it."""
    command = [find_bubblewrap(), "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    command += [] if filtering is None else ["--seccomp", str(filtering)]
    command += [f"--unshare-{name}" for name in ("ipc", "pid", "net", "uts", "cgroup-try")]
    command += ["--hostname", "sandbox"]
    if os.geteuid() == 0:  # the worker first changes to an unprivileged user
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user", "--uid", "61184", "--gid", "61184", "--disable-userns"]
    mounts = Mounts()
    mounts.add_system()
    mounts.read_only(library, _LIBRARY)
    for name, path in packages(names).items():
        mounts.read_only(path, f"{_SITE}/{name}")
    for disk in _DISKS:
        mounts.private(disk, limits.disk)
    for name, path in files.items():
        mounts.read_only(path, f"{_HOME}/{name}")
    return [*command, *mounts.arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]


def try_bubblewrap() -> None:
    """Raise `CourseError` if no sandbox can be made here; the trial uses the options of a real sandbox."""
    version = subprocess.run([find_bubblewrap(), "--version"], capture_output=True, text=True, check=False).stdout
    numbers = tuple(map(int, re.findall(r"\d+", version)))
    if numbers and numbers < NEEDED:
        raise CourseError(f"{version.strip()} is too old: {INSTALL}, or {_TRUST}")
    filtering = seccomp.as_file()
    passed = [] if filtering is None else [filtering]
    try:
        command = bubblewrap_command(Path(__file__).parent, {}, (), Limits(), filtering)
        trial = subprocess.run([*command, "true"], pass_fds=passed, capture_output=True, text=True, check=False)
    finally:
        for descriptor in passed:
            os.close(descriptor)
    if trial.returncode:
        raise CourseError(
            f"{version.strip()} cannot make a sandbox here: {trial.stderr.strip()}. It needs user namespaces (or "
            f"root), which a container must allow, and version {'.'.join(map(str, NEEDED))} or newer"
        )


def counts_apart() -> bool:
    """Whether the kernel counts the processes of each user namespace separately, as Linux does from 5.14 on."""
    return tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (5, 14)


@cache
def packages(names: tuple[str, ...]) -> dict[str, Path]:
    """The files and folders of these packages and of everything they require, by the names used to import them."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, Path] = {}
    waiting, seen = list(names), set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        record = package.read_text("RECORD")  # much quicker than `files`, which makes a path of every line
        files = record.splitlines() if record else map(str, package.files or [])
        for top in {file.partition(",")[0].partition("/")[0] for file in files}:
            if top not in ("..", "__pycache__") and (path := Path(str(package.locate_file(top)))).exists():
                found[top] = path
        for requirement in map(Requirement, package.requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found
