"""Pyodide's list of packages, `pyodide-lock.json`: where each wheel is, its hash, and its dependencies."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

OFFICIAL = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"
NEEDS = {
    "kernelcourse": {"offline": ["numpy", "matplotlib"], "online": ["numpy", "scipy", "matplotlib"]},
}
# IPython's own list; the metadata of wheels also list what other systems need
IPYTHON = [
    "asttokens", "decorator", "executing", "ipython-pygments-lexers", "jedi", "matplotlib-inline", "prompt-toolkit",
    "pure-eval", "pygments", "six", "stack-data", "traitlets", "wcwidth",
]  # fmt: skip
NEEDS_OFFLINE = {"micropip": ["packaging"], "jedi": ["parso"], "ipython": IPYTHON}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        return message_from_bytes(archive.read(name))


def imports(wheel: Path) -> list[str]:
    """The top-level modules of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name.split("/")[0].removesuffix(".py") for name in archive.namelist() if name.endswith(".py")}
    return sorted(name for name in names if name.isidentifier())


def entry(wheel: Path, depends: list[str]) -> dict[str, Any]:
    about = metadata(wheel)
    return {
        "name": about["Name"].lower().replace("_", "-"),
        "version": about["Version"],
        "file_name": wheel.name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "install_dir": "site",
        "package_type": "package",
        "imports": imports(wheel),
        "depends": depends,
        "unvendored_tests": False,
    }


def offline(official: dict[str, Any], wheels: list[Path]) -> dict[str, Any]:
    """Everything from the site's own folder."""
    found = {}
    for wheel in sorted(wheels):
        name = entry(wheel, [])["name"]
        found[name] = entry(wheel, NEEDS_OFFLINE.get(name) or NEEDS.get(name, {}).get("offline", []))
    return {"info": official["info"], "packages": found}


def online(official: dict[str, Any], wheels: list[Path]) -> dict[str, Any]:
    """The packages of the official distribution (scipy, matplotlib and so on) from its own address, and ours from the
    site."""
    base = OFFICIAL.format(version=official["info"]["version"])
    found = {
        name: package | {"file_name": base + package["file_name"]} for name, package in official["packages"].items()
    }
    for wheel in sorted(wheels):
        name = entry(wheel, [])["name"]
        found[name] = entry(wheel, NEEDS.get(name, {}).get("online", []))
    return {"info": official["info"], "packages": found}


def write(lock: dict[str, Any], folder: Path) -> None:
    (folder / "pyodide-lock.json").write_text(json.dumps(lock, indent=1, sort_keys=True), encoding="utf-8")
