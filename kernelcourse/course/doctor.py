"""Report what this machine can do for a course, and what to install if something is missing."""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from .. import __version__
from .errors import CourseError
from .folder import Course, add_course_argument

_PACKAGES = {"check": ("nbclient", "ipykernel"), "instructor": ("nbgrader", "jupytext", "jinja2", "psutil", "filelock")}


@dataclass(frozen=True)
class Finding:
    """One line: what was checked, what was found, and whether grading lacks something that it needs."""

    what: str
    found: str
    missing: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_course_argument(parser)


def run(args: argparse.Namespace) -> int:
    findings = list(examine(args.course))
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        print(f"{'✗' if finding.missing else '✓'} {finding.what:<{width}}  {finding.found}")
    return 1 if any(finding.missing for finding in findings) else 0


def examine(folder: Path) -> Iterator[Finding]:
    """Check everything that releasing and grading need."""
    yield Finding("versions", f"kernelcourse {__version__}, Python {platform.python_version()}, {_kernel()}")
    for extra, packages in _PACKAGES.items():
        yield _packages(extra, packages)
    yield _sandbox()
    yield Finding("namespaces", _namespaces())
    yield Finding("control groups", _control_groups())
    yield Finding("processors", _processors())
    yield from _course(folder)


def _kernel() -> str:
    return f"{platform.system()} {platform.release()} on {platform.machine()}"


def _packages(extra: str, names: tuple[str, ...]) -> Finding:
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        return Finding(f"extra {extra}", f'no {", ".join(missing)}: pip install "kernelcourse[{extra}]"', missing=True)
    return Finding(f"extra {extra}", ", ".join(f"{name} {metadata.version(name)}" for name in names))


def _sandbox() -> Finding:
    """Try bubblewrap with exactly the options that grading uses."""
    from . import seccomp
    from .sandbox import try_bubblewrap

    try:
        try_bubblewrap()
    except CourseError as error:
        return Finding("bubblewrap", str(error), missing=True)
    calls = "system calls are filtered" if seccomp.program() else f"no filter of system calls for {platform.machine()}"
    return Finding("bubblewrap", f"{shutil.which('bwrap')} makes a sandbox with all options that grading uses; {calls}")


def _namespaces() -> str:
    if os.name != "posix" or sys.platform != "linux":
        return f"Linux has them, and this is {platform.system()}"
    if os.geteuid() == 0:
        return "not needed: you are root, and students' code runs as an unprivileged user"
    limits = {
        "/proc/sys/user/max_user_namespaces": "0",
        "/proc/sys/kernel/unprivileged_userns_clone": "0",
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
    }
    closed = [name for name, bad in limits.items() if _read(name) == bad]
    why = f"closed to you by {', '.join(closed)}: ask the administrator of this machine"
    return why if closed else "open to every user"


def _control_groups() -> str:
    from .control_group import home

    place = home()
    if place is None:
        return "none can be made here: each sandbox has its own limits, and its memory is checked at short intervals"
    enabled = _read(str(place / "cgroup.subtree_control")).split()
    kept = [what for what, name in (("memory", "memory"), ("processes", "pids")) if name in enabled]
    limits = f"; the kernel limits its {' and '.join(kept)}" if kept else "; its memory is checked at short intervals"
    return f"each sandbox gets its own in {place}, which counts its processor time{limits}"


def _processors() -> str:
    from .schedule import processors, quota

    limit = f", {quota():g} by the quota of the control group" if quota() < math.inf else ""
    return f"{os.cpu_count()} in the machine, {processors()} that you may use{limit}"


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _course(folder: Path) -> Iterator[Finding]:
    try:
        course = Course.around(folder)
    except CourseError as error:
        yield Finding("course", f"{error}; `kernelcourse init` makes one")
        return
    yield Finding("course", f"{course.root}, assignments: {', '.join(course.assignments()) or 'none yet'}")
    gradebook = course.root / "gradebook.db"
    if not os.access(gradebook if gradebook.exists() else course.root, os.W_OK):
        yield Finding("gradebook", f"{gradebook} cannot be written to", missing=True)
    else:
        yield Finding(
            "gradebook", f"{gradebook} {'can be written to' if gradebook.exists() else 'is made by a release'}"
        )
    free = shutil.disk_usage(course.root).free
    yield Finding("disk", f"{free / 1e9:.1f} GB free", missing=free < 200_000_000)
