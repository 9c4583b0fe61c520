"""Build the book: `make book`. For one page, while writing it: `.venv/bin/python book/build.py --only book/intro.md`.

It takes two steps: run the notebooks that changed (notebooks.py), then run Jupyter Book, which finds their
outputs in the cache. Warnings are errors. Builds of one checkout wait for each other.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml
from filelock import FileLock
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
NO_LATEX = """A PDF needs LaTeX, and {} cannot be found here. On Debian or Ubuntu, install it with
  apt-get install latexmk texlive-xetex texlive-latex-extra texlive-fonts-extra texlive-fonts-recommended \\
    fonts-freefont-otf xindy
elsewhere, install TeX Live (https://tug.org/texlive) or MacTeX; then run `make pdf` again."""


EPUB = {
    "html_math_renderer": "mathml",
    "epub_basename": "kernel-methods",
    "epub_show_urls": "no",
    "epub_use_index": True,
    "epub_tocscope": "includehidden",
    "epub_tocdepth": 2,
    "html_static_path": ["book/_epub"],
    "html_css_files": ["reading.css"],
    "html_js_files": [],
    "epub_exclude_files": ["index.html"],
    "epub_uid": "kernel-methods",
    "epub_identifier": "kernel-methods",
    "epub_description": "Kernel methods: a course with a library and graded exercises",
}
XINDY = "-L english -C utf8 -M sphinx.xdy"  # as in the Makefile that Sphinx writes beside the .tex file


def cache_key(root: Path = ROOT) -> str:
    """A digest of what outputs depend on besides a notebook's code: the library, the saved measurements, the style and
    the versions."""
    folders = ("kernelcourse/**/*", "book/notebook/*", "book/times/**/*.json")
    inputs = [*(path for pattern in folders for path in root.glob(pattern)), root / "requirements.lock"]
    digest = hashlib.sha256()
    for path in sorted(path for path in inputs if path.is_file() and "__pycache__" not in path.parts):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def current_cache(figures: str) -> Path:
    """The cache for the current version of the library. The caches for the two previous versions are kept, older ones
    are removed."""
    folder = BUILD / ".jupyter_cache"
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / f"{cache_key()}-{figures}"
    others = sorted((path for path in folder.iterdir() if path != current), key=lambda path: path.stat().st_mtime)
    for path in others[:-2]:
        shutil.rmtree(path, ignore_errors=True)
    return current


def prepare_environment() -> None:
    """Set up the environment for the notebooks: the same figures and numbers on every run, from this library."""
    profile = BUILD / ".ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "book/notebook/ipython_kernel_config.py", profile)
    sys.path[:0] = [str(ROOT), str(ROOT / "book/notebook")]  # for autodoc and for notebooks, which run in forks
    os.environ |= {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # whatever the terminal prefers
        "IPYTHONDIR": str(BUILD / ".ipython"),
        "MATPLOTLIBRC": str(ROOT / "book/notebook/matplotlibrc"),
        "PYTHONPATH": os.pathsep.join(filter(None, [*sys.path[:2], os.environ.get("PYTHONPATH")])),
        "PYTHONSAFEPATH": "1",  # do not import from the current folder
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",  # one notebook runs on each core
        "SOURCE_DATE_EPOCH": "0",  # no time stamps in the files
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    # jsonschema, which validates notebooks, would spend two seconds compiling the grammar of web addresses.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def pages(toc: Path) -> list[Path]:
    """The source files that a table of contents names."""
    return [path for name in parse_toc_yaml(toc) if (path := ROOT / f"{name.removesuffix('.md')}.md").exists()]


def build(toc: Path, out: Path, *, builder: str = "html", strict: bool = True, fresh: bool = False) -> bool:
    """Run the notebooks and write the pages: True if there was no error and, when strict, no warning."""
    from notebooks import run_notebooks

    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    os.environ["BOOK_FIGURES"] = figures = "pdf" if builder == "latex" else "svg"
    cache = current_cache(figures)
    syntax, timeout = config["parse"]["myst_enable_extensions"], config["execute"]["timeout"]
    if not run_notebooks(pages(toc), cache_folder=cache, syntax=syntax, timeout=timeout):
        return False
    from jupyter_book.sphinx import build_sphinx  # a slow import, not needed if a cell fails

    gc.disable()  # it would search the growing trees of all pages again and again: a quarter of the time, for nothing
    doctrees = out.parent / f".doctrees-{out.name}"
    before = doctrees.exists() and not fresh
    result = build_sphinx(
        str(ROOT),
        str(out),
        noconfig=True,
        path_config=str(ROOT / "_config.yml"),
        confoverrides={
            "external_toc_path": toc.as_posix(),
            "nb_execution_cache_path": str(cache),
            "nitpicky": True,
            "latex_individualpages": False,
            "reference_names": builder == "html",
            **(EPUB | {"version": version()} if builder == "epub" else {}),
        },
        doctreedir=str(doctrees),
        builder=builder,
        freshenv=fresh,
        quiet=True,
        warningiserror=strict,
        keep_going=True,
    )
    if result != 0 and before:
        # until all pages are read again, Sphinx finds a label that has moved to another page on both pages
        print("building once more from the sources alone")
        return build(toc, out, builder=builder, strict=strict, fresh=True)
    return result == 0


def copy_pages(out: Path, target: Path) -> None:
    """Copy the book without the exercises in the browser, which `make lite` builds beside its pages."""
    from coursebook.exercises import write_placeholder  # Jupyter Book has put this package on the path

    shutil.copytree(out, target, ignore=lambda folder, _: {"lite"} if Path(folder) == out else set())
    write_placeholder(target)


def preview(sources: Sequence[str]) -> bool:
    """Build only some pages, with the bibliography. References to other chapters only cause warnings."""
    names = [Path(source).resolve().relative_to(ROOT).with_suffix("").as_posix() for source in sources]
    chapters = [{"file": name} for name in [*names[1:], "book/appendix/bibliography"] if name != names[0]]
    folder = BUILD / "preview" / names[0].replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    toc = folder / "_toc.yml"
    contents = {"format": "jb-book", "root": names[0]} | ({"chapters": chapters} if chapters else {})
    toc.write_text(yaml.safe_dump(contents), encoding="utf-8")
    good = build(toc, folder / "html", strict=False)
    print(f"the page: {folder / 'html/index.html'}")
    return good


def instructors() -> bool:
    """Build the instructors' edition: the book, and a page with the problems, their answers and their solutions."""
    out = BUILD / "instructors"
    out.mkdir(parents=True, exist_ok=True)
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    (part,) = (part for part in contents["parts"] if part.get("caption") == "For instructors")
    part["chapters"].append({"file": "book/solutions"})
    toc = out / "_toc.yml"
    toc.write_text(yaml.safe_dump(contents), encoding="utf-8")
    good = build(toc, out / "html")
    print(f"the problems with their solutions: {out / 'html/book/solutions.html'}")
    return good


def pdf() -> bool:
    """Build the book as a PDF with LaTeX. It has the tables of the reference, but not the pages of single names."""
    missing = [program for program in ("latexmk", "xelatex", "xindy") if not shutil.which(program)]
    if missing:
        print(NO_LATEX.format(" and ".join(missing)), file=sys.stderr)
        return False
    out = BUILD / "latex"
    if not build(ROOT / "_toc.yml", out, builder="latex", strict=False):
        return False
    source = out / "kernel-methods.tex"
    # A part of _toc.yml without a caption continues the one before it; Jupyter Book calls it "Part".
    source.write_text(source.read_text(encoding="utf-8").replace("\\part{Part}", ""), encoding="utf-8")
    command = ["latexmk", "-xelatex", "-interaction=nonstopmode", "-halt-on-error", "-quiet", source.name]
    settings = os.environ | {"LATEXOPTS": "", "XINDYOPTS": XINDY}
    done = subprocess.run(command, cwd=out, env=settings, check=False).returncode == 0
    print(f"the book: {out / 'kernel-methods.pdf'}" if done else f"LaTeX failed: see {out / 'kernel-methods.log'}")
    return done


def version() -> str:
    from kernelcourse import __version__

    return __version__


def epub() -> bool:
    """Build the book for e-readers: formulas in MathML, no scripts, and no pages of single names."""
    out = BUILD / "epub"
    good = build(ROOT / "_toc.yml", out, builder="epub")
    if good:
        print(f"the book: {out / EPUB['epub_basename']}.epub")
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", metavar="PAGE", nargs="+", help="preview some pages, in a separate folder")
    parser.add_argument("--solutions", action="store_true", help="build the instructors' edition, with all solutions")
    parser.add_argument("--builder", choices=["html", "pdf", "epub", "linkcheck"], default="html")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="where the pages go (default: _build/html)")
    parser.add_argument("--copy", metavar="FOLDER", type=Path, help="also copy the pages to this folder")
    parser.add_argument("--fresh", action="store_true", help="read every page again (notebooks stay cached)")
    options = parser.parse_args(arguments)

    start = time.perf_counter()
    BUILD.mkdir(exist_ok=True)
    with FileLock(BUILD / ".lock"):  # all builds share the cache, the kernels' settings and the pages
        prepare_environment()
        if options.only:
            good = preview(options.only)
        elif options.solutions:
            good = instructors()
        elif options.builder in ("pdf", "epub"):
            good = {"pdf": pdf, "epub": epub}[options.builder]()
        else:
            out = (options.out or BUILD / options.builder).resolve()
            good = build(ROOT / "_toc.yml", out, builder=options.builder, fresh=options.fresh)
            if good and options.copy:
                copy_pages(out, options.copy)
    print(f"{'done' if good else 'failed'} in {time.perf_counter() - start:.1f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
