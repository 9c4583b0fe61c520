"""The virtual environment .venv: `python3 environment.py book` (or tests, or workshop) makes it, as `make` does.

requirements.lock has a section for each purpose, and each builds on those before it. `.venv/.installed` says what is
installed. It is removed before anything changes and written when everything is finished: an interrupted set-up leaves
no such file, and the next one starts from scratch.

`python3 environment.py lock` resolves requirements.lock again from requirements.txt.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
INSTALLED = VENV / ".installed"
NEEDS = ("book", "tests", "workshop")
LOOPS = "kernelcourse/_engine"
BUILT_FROM = ("pyproject.toml", "hatch_build.py", f"{LOOPS}/loops.c", f"{LOOPS}/loops_of_kind.h")
INSTALL = {
    "uv": ("-m", "uv", "pip", "install", "--quiet", "--no-deps"),
    "pip": ("-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check"),
}
# What notebooks import, and what IPython imports when a cell draws or raises an error. It is compiled once, outside the
# sandbox: inside, where nothing can be written, each submission would compile it again.
IMPORTED = (
    "IPython, ipykernel.kernelapp, matplotlib.pyplot, scipy.linalg, scipy.optimize, scipy.spatial, scipy.special, "
    "matplotlib_inline.backend_inline, PIL.BmpImagePlugin, PIL.GifImagePlugin, PIL.JpegImagePlugin, "
    "PIL.PpmImagePlugin, stack_data, pygments.formatters.terminal256"
)


class StepFailed(Exception):
    """A command failed; the message is what it printed."""


def sections(text: str) -> dict[str, str]:
    """The sections of requirements.txt or requirements.lock, by name."""
    parts = re.split(r"^# === (\w+).*\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def packages(section: str) -> dict[str, str]:
    """The lines of each package in a section of the lock, keyed by their first line: `name==version ; marker`."""
    found = re.findall(r"^(\w\S*==.*?) *\\\n((?:[ \t].*\n)*)", section, re.MULTILINE)
    return {head: f"{head} \\\n{rest}" for head, rest in found}


def step(title: str, *command: str | Path) -> str:
    """Run a command, print a line that says what it does and how long it took, and return what the command printed."""
    print(f"{title} ...", end=" ", flush=True)
    start = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        close_fds=False,  # the command holds the folder's lock: if this program is killed, the next set-up waits
    )
    print("failed" if done.returncode else f"{time.monotonic() - start:.1f} s", flush=True)
    if done.returncode:
        raise StepFailed((done.stdout + done.stderr).decode(errors="replace").strip())
    return done.stdout.decode()


def install(section: str, title: str, installer: str, venv: Path = VENV) -> None:
    """Install a section of the lock. It is complete, so dependencies are not looked up."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(section)
        file.flush()
        title = f"installing {title} with {installer}"
        step(title, venv / "bin/python", *INSTALL[installer], "--require-hashes", "--requirement", file.name)


def make_venv(locked: dict[str, str], installer: str, venv: Path = VENV) -> None:
    """Make an empty environment."""
    step("making the virtual environment", sys.executable, "-m", "venv", "--clear", venv)
    if installer == "uv":
        install(locked["uv"], "uv", "pip", venv)


def fill(locked: dict[str, str], missing: list[str], installer: str) -> None:
    """Install the missing sections and the package itself."""
    for name in missing:
        install(locked[name], f"{len(packages(locked[name]))} packages for the {name}", installer)
    package = ("--no-build-isolation", "--editable", ROOT)
    step("installing kernelcourse", VENV / "bin/python", *INSTALL[installer], *package)
    if not (ROOT / LOOPS / "libloops.so").exists():
        print("no C compiler works, so numpy does the work of the compiled loops; with a compiler, run this again")
    step("compiling", VENV / "bin/python", "-c", f"import {IMPORTED}")


def lock_folder() -> None:
    """Wait until no other set-up of this folder is running. The lock ends with the last process that holds it."""
    folder = os.open(ROOT, os.O_RDONLY)
    os.set_inheritable(folder, True)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting for another set-up of this folder", flush=True)
        fcntl.flock(folder, fcntl.LOCK_EX)


def read_installed() -> dict[str, str]:
    """What is installed in .venv: nothing, unless this program made that folder and ran to completion."""
    try:
        return json.loads(INSTALLED.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def set_up(need: str) -> None:
    """Install what is needed and not installed yet."""
    locked = sections((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    needs = NEEDS[: NEEDS.index(need) + 1]
    wanted = {
        "folder": str(ROOT),  # the scripts in .venv/bin contain this path
        "python": sys.version,
        "compiler": str(shutil.which("cc")),
        "package": digest("".join((ROOT / name).read_text(encoding="utf-8") for name in BUILT_FROM)),
        **{name: digest(locked[name]) for name in needs},
    }
    installed = read_installed()
    if wanted.items() <= installed.items():
        return
    INSTALLED.unlink(missing_ok=True)
    installer = installed.get("installer", "uv")
    moved = any(wanted[key] != installed.get(key) for key in ("folder", "python"))
    try:
        if moved:
            installed = {}
            make_venv(locked, installer)
        fill(locked, [name for name in needs if wanted[name] != installed.get(name)], installer)
    except StepFailed as failure:
        if installer == "pip":
            raise
        print(f"uv does not work here, so pip starts over: {str(failure).splitlines()[-1]}", flush=True)
        installer, installed = "pip", {}
        make_venv(locked, installer)
        fill(locked, [*needs], installer)
    draft = INSTALLED.with_suffix(".draft")
    draft.write_text(json.dumps(installed | wanted | {"installer": installer}), encoding="utf-8")
    draft.replace(INSTALLED)


def resolve() -> None:
    """Write requirements.lock: all sections resolved together, each package in the first section that needs it."""
    lock = ROOT / "requirements.lock"
    asked = sections((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_venv(sections(lock.read_text(encoding="utf-8")), "uv", folder / "venv")

        def compiled(*files: str | Path) -> str:
            options = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate")
            compile_ = (folder / "venv/bin/python", "-m", "uv", "pip", "compile", "--quiet", *options)
            return step(f"resolving {len(files)} files", *compile_, *files)

        files = [folder / f"{name}.in" for name in asked]
        for file, text in zip(files, asked.values(), strict=True):
            file.write_text(text, encoding="utf-8")
        together = folder / "together.txt"
        together.write_text(compiled(*files), encoding="utf-8")
        parts = ["# Made by `make lock` from requirements.txt, with the same sections. Do not edit.\n"]
        known: set[str] = set()
        for number, name in enumerate(asked, start=1):
            found = packages(compiled(*files[:number], "--constraint", together))
            parts += [f"\n# === {name}\n", *(lines for head, lines in found.items() if head not in known)]
            known |= found.keys()
    lock.write_text("".join(parts), encoding="utf-8")


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - users of an older version should read why it does not work
        sys.exit(f"Python 3.11 or newer is needed, got {sys.version}")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C ends it without a traceback
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("need", choices=[*NEEDS, "lock"])
    need = parser.parse_args().need
    lock_folder()
    try:
        resolve() if need == "lock" else set_up(need)
    except StepFailed as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
