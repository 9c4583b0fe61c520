"""Builds in forks of one process that has imported what a build imports: for a small book, that takes longest."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

# From other projects only: each course has its own machinery and library.
IMPORTED = ["jupyter_book.sphinx", "jupyter_cache.cache.db", "myst_nb.sphinx_ext", "nbclient", "pybtex.plugin"]
IMPORTED += [
    "sphinx.builders.epub3",
    "sphinx.ext.autodoc",
    "sphinx.search.en",
    "sphinx_book_theme",
    "sphinx_copybutton",
]
IMPORTED += ["sphinx_design", "sphinx_external_toc", "sphinx_proof", "sphinxcontrib.bibtex", "tinycss2"]


def run_script(script: str, arguments: list[str], environment: dict[str, str], stdout: str, stderr: str) -> None:
    """What `python script arguments` does."""
    for number, name in ((1, stdout), (2, stderr)):
        os.dup2(os.open(name, os.O_WRONLY), number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")


def run_build(root: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a course's book/build.py."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    script, environment = str(root / "book/build.py"), dict(os.environ if env is None else env)
    with tempfile.NamedTemporaryFile() as stdout, tempfile.NamedTemporaryFile() as stderr:
        command = [script, list(arguments), environment, stdout.name, stderr.name]
        process = context.Process(target=run_script, args=command)
        process.start()
        process.join()
        said = [Path(file.name).read_text(encoding="utf-8") for file in (stdout, stderr)]
    return subprocess.CompletedProcess(command, process.exitcode, *said)
