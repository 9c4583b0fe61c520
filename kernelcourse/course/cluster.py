"""Many submissions at once, on the workers of a Dask cluster.

Dask's messages are pickles: the receiver runs whatever the sender put into them. So the client has its own process,
the courier, in a sandbox that has access to the network but not to the course. It exchanges JSON with the grader, and
`far.checked` accepts only what a result can contain. The scheduler and the workers must authenticate each other by
TLS, unless they are on this machine, because they receive the secret of the hidden inputs.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .errors import CourseError
from .far import checked, payload
from .handed import Handed
from .sandbox import Limits, Mounts, find_bubblewrap, packages
from .submission import Graded, Task

_AHEAD = 2  # submissions queued at each worker
_LONGEST = 50_000_000  # characters in one line from the courier


def on_a_cluster(
    address: str,
    task: Task,
    students: Sequence[str],
    read: Callable[[str], Handed],
    store: Callable[[Graded], None],
    seconds: float,
) -> Iterator[tuple[str, str]]:
    """Send submissions to the workers of a Dask cluster and store what comes back. They need not share any files."""
    address = _located(address)
    secured = require_security(address)
    waiting = list(reversed(students))
    sent: dict[str, Handed] = {}
    with _courier(task.unsafe) as courier:
        _send(courier, {"address": address, "tls": secured, "seconds": _AHEAD * seconds})
        workers = _receive(courier, "threads")["threads"]
        while waiting or sent:
            while waiting and len(sent) < _AHEAD * max(int(workers), 1):
                student = waiting.pop()
                sent[student] = read(student)
                _send(courier, {"student": student, "payload": payload(task, student, sent[student])})
            message = _receive(courier, "student")
            student = message["student"]
            if student not in sent:
                raise CourseError("the cluster sent the result of a student who was not asked for")
            handed, trouble = sent.pop(student), str(message.get("trouble", ""))[:5000]
            if not trouble:
                try:
                    store(checked(str(message.get("reply")), task, student, handed))
                except (ValueError, TypeError, AttributeError, KeyError, RecursionError, OSError):
                    trouble = traceback.format_exc()
            yield student, trouble


def _located(address: str) -> str:
    """The scheduler's address, read from the file that the scheduler wrote if a file is named."""
    if not address.endswith(".json"):
        return address
    try:
        return str(json.loads(Path(address).read_bytes())["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(f"no Dask scheduler has written {address}") from error


def require_security(address: str) -> dict[str, str]:
    """The certificates in Dask's own configuration, as text; refuse an address that is neither local nor secured."""
    parts = urlsplit(address if "//" in address else f"tcp://{address}")
    if parts.scheme == "tls":
        from distributed.security import Security

        files = Security().get_tls_config_for_role("client")
        texts = {}
        for name in ("ca_file", "cert", "key"):
            if not files.get(name):
                raise CourseError(f"{address} needs certificates: set distributed.comm.tls in Dask's configuration")
            text = str(files[name])
            texts[name] = text if "\n" in text else Path(text).read_text(encoding="ascii")
        return texts
    host = parts.hostname or ""
    here = host == "localhost"
    with contextlib.suppress(ValueError):
        here = here or ipaddress.ip_address(host).is_loopback
    if not here:
        raise CourseError(
            f"{address} is not on this machine and not secured: start scheduler and workers with TLS, at tls://…; "
            "they receive the secret of the hidden inputs, and their results become grades"
        )
    return {}


@contextlib.contextmanager
def _courier(unsafe: bool) -> Iterator[subprocess.Popen[str]]:
    code = f"from {__package__}.courier import main; main()"
    command = (
        [sys.executable, "-W", "ignore", "-c", code] if unsafe else [*_shut_in(), "-W", "ignore", "-c", _found(code)]
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def _found(code: str) -> str:
    return f"import sys; sys.path[:0] = ['/library', '/site']; {code}"


def _shut_in() -> list[str]:
    """The command that starts Python in a sandbox with the network and the packages that a client needs."""
    command = [find_bubblewrap(), "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    command += [f"--unshare-{name}" for name in ("ipc", "pid", "uts", "cgroup-try")]
    command += ["--proc", "/proc"]  # Dask looks up its own process there
    mounts = Mounts()
    mounts.add_system()
    mounts.read_only(Path(__file__).parents[1], "/library/kernelcourse")
    for name, path in packages(("distributed", "cryptography", "numpy")).items():
        mounts.read_only(path, f"/site/{name}")
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl"):
        if Path(name).exists():
            mounts.read_only(Path(name).resolve(), name)
    mounts.private("/tmp", Limits().disk)
    python = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
    environment = ["--clearenv", "--setenv", "HOME", "/tmp", "--setenv", "KERNELCOURSE_ENGINE", "off"]
    return [*command, *mounts.arguments, *environment, "--chdir", "/tmp", "--", python, "-I", "-S"]


def _send(courier: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert courier.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # `_receive` will report it
        courier.stdin.write(json.dumps(message) + "\n")
        courier.stdin.flush()


def _receive(courier: subprocess.Popen[str], wanted: str) -> dict[str, Any]:
    assert courier.stdout is not None
    line = courier.stdout.readline(_LONGEST)
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise CourseError("the connection to the Dask cluster was lost: run the same command with --resume") from None
    if isinstance(message, dict) and "error" in message:
        raise CourseError(str(message["error"])[:1000])
    if not isinstance(message, dict) or wanted not in message:
        raise CourseError("the connection to the Dask cluster was lost: run the same command with --resume")
    return message
