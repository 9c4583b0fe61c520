"""Build the exercises in the browser: `make lite`.

The site is a folder of files for any web server: JupyterLite, Python as WebAssembly (Pyodide), numpy, the course's
library and the released notebooks. It is built in _build/lite, then copied to _build/html/lite, beside the book.
Nothing in it contacts another host. With --online, numpy, scipy and matplotlib come from the official Pyodide
distribution.

The file built.json in the site names what it was built from and the hash of every file: a site that is out of date,
incomplete or damaged is built again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import licences  # noqa: E402
import lock  # noqa: E402
import parts  # noqa: E402
import wheels  # noqa: E402

BUILD = ROOT / "_build/lite"
PUBLISHED = ROOT / "_build/html/lite"
CORE = ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
KERNEL = ("piplite", "pyodide_kernel", "ipykernel")
INPUTS = ("book/lite/**/*", "kernelcourse/**/*", "exercises/**/*", "pyproject.toml", "README.md", "LICENSE")
CONFIG = {
    "contents": ["content"],
    "output_dir": "../out",
    "cache_dir": "../cache",
    "apps": ["notebooks", "tree"],
    "no_sourcemaps": True,
    "no_unused_shared_packages": True,
}
FIRST_CELL = """**You are working in your browser.** Python starts with the page; the first cell may have to wait for
it, up to half a minute. *Ctrl+S* saves your work in this browser on this computer, and nowhere else; clearing the
browser's data deletes it. **To hand in your work:** save, then *File › Download*. If a cell does not finish, *Kernel ›
Restart Kernel* stops it: your text stays, and you run the cells again from the top."""


class NotSetUp(RuntimeError):
    """The parts of the site have not been fetched."""


def sources() -> Iterator[Path]:
    for pattern in INPUTS:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def key(*, online: bool) -> str:
    """A digest of everything that a site is built from."""
    found = hashlib.sha256(f"{'online' if online else 'offline'} {sys.version}\n".encode())
    for path in sources():
        content = path.read_bytes()
        found.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def contents(site: Path) -> dict[str, str]:
    """The hash of every file in a site except the list itself."""
    files = sorted(path for path in site.rglob("*") if path.is_file() and path != site / "built.json")
    return {path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def is_whole(site: Path, wanted: str) -> bool:
    """Whether a site was built from the current sources and is complete and unchanged."""
    try:
        built = json.loads((site / "built.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return built.get("key") == wanted and built.get("files") == contents(site)


def write_notebooks(folder: Path) -> None:
    """The released exercises with a first cell for the browser, and the files that belong to them.

    All are in one folder: the name of a download contains its folder, but has to be the name of the file to hand in.
    """
    import nbformat

    folder.mkdir()
    for path in sorted((ROOT / "exercises").glob("*/*")):
        target = folder / path.name
        if target.exists():
            raise ValueError(f"two exercises have a file {path.name}: in the browser, all files are in one folder")
        if path.suffix != ".ipynb":
            shutil.copy(path, target)
            continue
        notebook = nbformat.read(path, as_version=4)
        first = nbformat.v4.new_markdown_cell(FIRST_CELL, id="in-the-browser")
        notebook.cells.insert(0, first)
        notebook.nbformat, notebook.nbformat_minor = 4, max(notebook.nbformat_minor, 5)
        for number, cell in enumerate(notebook.cells):
            cell.setdefault("id", f"cell-{number}")
        nbformat.write(notebook, target)


def write_pyodide(folder: Path, *, online: bool) -> None:
    """Python for the browser, all wheels, and the list of them."""
    folder.mkdir(parents=True)
    with tarfile.open(checked(parts.archive("pyodide"))) as archive:
        for name in CORE:
            (folder / name).write_bytes(archive.extractfile(f"package/{name}").read())  # type: ignore[union-attr]
        official = json.load(archive.extractfile("package/pyodide-lock.json"))  # type: ignore[arg-type]
    extension = parts.LITE / "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
    for name in KERNEL:
        (wheel,) = extension.glob(f"{name}-*.whl")
        shutil.copy(wheel, folder)
    wheels.course_wheel(folder)
    if online:
        (comm,) = parts.PARTS.glob("comm-*.whl")
        shutil.copy(comm, folder)
        lock.write(lock.online(official, list(folder.glob("*.whl"))), folder)
        return
    for wheel in parts.PARTS.glob("*.whl"):
        wheels.shipped(wheel, folder)
    wheels.numpy_wheel(folder, checked(parts.archive("@emscripten-forge/numpy")))
    wheels.standin_wheel(folder)
    for name in ("ssl", "sqlite3"):
        wheels.empty_wheel(folder, name)
    lock.write(lock.offline(official, list(folder.glob("*.whl"))), folder)


def checked(archive: Path) -> Path:
    """A file from npm, if its hash is still right."""
    (pin,) = (pin for name, pin in parts.NPM.items() if parts.archive(name) == archive)
    if parts.integrity(archive) != pin["integrity"]:
        raise NotSetUp(f"{archive.name} is damaged: remove {parts.INSTALLED} and run `make lite` again")
    return archive


def run_jupyter_lite(source: Path) -> None:
    """Build in the site's own environment: extensions of another environment would be copied into the site."""
    (source / "jupyter_lite_config.json").write_text(json.dumps({"LiteBuildConfig": CONFIG}), encoding="utf-8")
    paths = {"JUPYTER_CONFIG_DIR", "JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "PYTHONPATH", "JUPYTER_DATA_DIR"}
    clean = {name: value for name, value in os.environ.items() if name not in paths}
    clean |= {"JUPYTER_NO_CONFIG": "1", "JUPYTER_PREFER_ENV_PATH": "1", "HOME": str(source.parent)}
    # Without this package, jsonschema does not spend seconds on grammars that no site needs.
    program = "import sys; sys.modules['rfc3987_syntax'] = None; from jupyterlite_core import app; sys.exit(app.main())"
    command = [str(parts.LITE / "bin/python"), "-c", program, "build"]
    done = subprocess.run(command, cwd=source, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"jupyter lite build failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def add_warnings(site: Path) -> None:
    """Make every page of the site run our script first, which tells readers if their browser cannot run Python."""
    shutil.copy(HERE / "site/course.js", site)
    for page in sorted(site.rglob("index.html")):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8")
        script = f'<script src="{up}course.js"></script>'
        changed = text.replace("<head>", f"<head>\n    {script}", 1)
        if changed == text:
            raise RuntimeError(f"{page} has no <head>: JupyterLite's pages have changed")
        page.write_text(changed, encoding="utf-8")


def make_site(work: Path, *, online: bool) -> Path:
    source, out = work / "source", work / "out"
    shutil.copytree(HERE / "site", source, ignore=shutil.ignore_patterns("course.js"))
    write_notebooks(source / "content")
    write_pyodide(source / "static/pyodide", online=online)
    run_jupyter_lite(source)
    add_warnings(out)
    licences.write(out)
    return out


def build(*, online: bool = False) -> Path:
    """The site in _build/lite, rebuilt if it is not complete."""
    folder = BUILD / ("online" if online else "offline")
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / ".lock"):
        wanted = key(online=online)
        if is_whole(folder, wanted):
            return folder
        if not parts.is_complete():
            raise NotSetUp("the parts of the exercises in the browser have not been fetched: run `make setup-lite`")
        work = BUILD / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        site = make_site(work, online=online)
        built: dict[str, Any] = {"key": wanted, "files": contents(site)}
        (site / "built.json").write_text(json.dumps(built, indent=1), encoding="utf-8")
        site.replace(folder)
        shutil.rmtree(work)
    return folder


def publish(site: Path, target: Path) -> None:
    """Copy a site beside the book, unless it is there already."""
    wanted = json.loads((site / "built.json").read_text(encoding="utf-8"))["key"]
    if not is_whole(target, wanted):
        draft = target.with_name(f".{target.name}.draft")
        for folder in (draft, target):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(site, draft)
        draft.replace(target)


def megabytes(site: Path) -> float:
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--online", action="store_true", help="take scipy, matplotlib and the rest from Pyodide's host")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        site = build(online=options.online)
    except NotSetUp as error:
        print(error, file=sys.stderr)
        return 1
    publish(site, PUBLISHED)
    seconds = time.perf_counter() - start
    print(f"the exercises in the browser: {PUBLISHED.relative_to(ROOT)}, {megabytes(site):.1f} MB, in {seconds:.1f} s")
    print("`make serve` opens them beside the book")
    return 0


if __name__ == "__main__":
    sys.exit(main())
