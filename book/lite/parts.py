"""Fetch the parts of the exercises in the browser: `make setup-lite`.

The site is built in its own virtual environment, .venv/lite; .venv/lite/parts holds what is shipped: wheels from PyPI
and two archives from npm. Every file is pinned with its hash. `.venv/lite/.installed` is written when everything is
there, so an incomplete set-up never counts. `python3 book/lite/parts.py lock` resolves requirements.lock again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from environment import ROOT, VENV, StepFailed, digest, lock_folder, packages, sections, step  # noqa: E402

LITE = VENV / "lite"
PARTS = LITE / "parts"
INSTALLED = LITE / ".installed"
LOCK = HERE / "requirements.lock"
NPM = json.loads((HERE / "npm.json").read_text(encoding="utf-8"))
NO_NPM = """The exercises in the browser need npm, which is not installed here. On Debian or Ubuntu, install it with
  apt-get install npm
elsewhere, from https://nodejs.org; then run `make lite` again. The book can be built and read without it."""
# Wheels for any platform: none of them has compiled parts.
FOR_THE_BROWSER = (
    "--no-deps", "--only-binary=:all:", "--python-version=3.12", "--implementation=py", "--abi=none", "--platform=any",
)  # fmt: skip


def archive(name: str) -> Path:
    """The file that `npm pack` writes for a package."""
    return PARTS / f"{name.lstrip('@').replace('/', '-')}-{NPM[name]['version']}.tgz"


def state() -> str:
    """What a complete set-up is made from."""
    files = [LOCK, HERE / "npm.json"]
    return digest("\n".join([str(ROOT), sys.version, *(file.read_text(encoding="utf-8") for file in files)]))


def is_complete() -> bool:
    return INSTALLED.is_file() and INSTALLED.read_text(encoding="utf-8") == state()


def integrity(path: Path) -> str:
    """A file's hash as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def from_npm(name: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise StepFailed(NO_NPM)
    version = NPM[name]["version"]
    step(f"fetching {name} {version}", npm, "pack", "--silent", f"--pack-destination={PARTS}", f"{name}@{version}")
    if integrity(archive(name)) != NPM[name]["integrity"]:
        archive(name).unlink()
        raise StepFailed(f"{name} {version} from npm is not the file that book/lite/npm.json names: its hash differs")


def install(section: str) -> None:
    """Install into the virtual environment with the installer that .venv has."""
    python, target = VENV / "bin/python", LITE / "bin/python"
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(section)
        file.flush()
        title = f"installing {len(packages(section))} packages for the exercises in the browser with"
        rest = ("install", "--quiet", "--no-deps", "--require-hashes", "--requirement", file.name)
        try:
            step(f"{title} uv", python, "-m", "uv", "pip", *rest, "--python", target)
        except StepFailed:
            step(f"{title} pip", python, "-m", "pip", "--python", target, *rest, "--disable-pip-version-check")


def set_up() -> None:
    if is_complete():
        return
    if shutil.which("npm") is None:  # reported before anything is fetched
        raise StepFailed(NO_NPM)
    INSTALLED.unlink(missing_ok=True)
    locked = sections(LOCK.read_text(encoding="utf-8"))
    step("making a virtual environment", sys.executable, "-m", "venv", "--clear", "--without-pip", LITE)
    install(locked["build"])
    PARTS.mkdir()
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(locked["browser"])
        file.flush()
        pip = (VENV / "bin/python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
        options = (*FOR_THE_BROWSER, "--require-hashes", "--requirement", file.name, "--dest", PARTS)
        step(f"fetching {len(packages(locked['browser']))} wheels for the browser", *pip, *options)
    for name in NPM:
        from_npm(name)
    draft = INSTALLED.with_suffix(".draft")
    draft.write_text(state(), encoding="utf-8")
    os.replace(draft, INSTALLED)


def resolve() -> None:
    """Write requirements.lock."""
    asked = sections((HERE / "requirements.txt").read_text(encoding="utf-8"))
    options = {"build": ("--universal", "--python-version=3.11"), "browser": ("--no-deps", "--python-version=3.12")}
    parts = ["# Made by `make lock` from requirements.txt, with the same sections. Do not edit.\n"]
    for name, text in asked.items():
        with tempfile.NamedTemporaryFile("w", suffix=".in", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            uv = (VENV / "bin/python", "-m", "uv", "pip", "compile", "--quiet")
            form = ("--generate-hashes", "--no-header", "--no-annotate")
            parts += [f"\n# === {name}\n", step(f"resolving the {name}", *uv, *options[name], *form, file.name)]
    LOCK.write_text("".join(parts), encoding="utf-8")


def main() -> None:
    lock_folder()
    try:
        resolve() if sys.argv[1:] == ["lock"] else set_up()
    except StepFailed as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
