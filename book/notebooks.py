"""Run the book's notebooks, one on each core, and keep their outputs where Jupyter Book will look for them.

jupyter-cache's own `local-parallel` supports neither a cache for each state of the library nor forks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from forks import ForkingKernelManager
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode

FORKS = sys.platform == "linux"  # elsewhere the system's linear algebra may not survive a fork
FEWEST = 3  # notebooks for which it pays to import first what any page might import


def read_notebooks(paths: Iterable[Path], syntax: Sequence[str]) -> dict[Path, NotebookNode]:
    """The pages that are notebooks, parsed as Jupyter Book will parse them."""
    config = MdParserConfig(enable_extensions=set(syntax))
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    return {
        path: read_myst_markdown_notebook(text, config, add_source_map=True, path=path)
        for path, text in texts.items()
        if is_myst_markdown_notebook(text)
    }


def is_cached(notebook: NotebookNode, cache: JupyterCacheAbstract) -> bool:
    try:
        return bool(cache.match_cache_notebook(notebook))
    except KeyError:
        return False


def processors() -> int:
    """The cores that we may run on; in a container or under taskset there are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_notebooks(paths: Iterable[Path], *, cache_folder: Path, syntax: Sequence[str], timeout: float) -> bool:
    """Run the notebooks that are not in the cache, and return whether all succeeded. `timeout` is for each cell."""
    cache = get_cache(str(cache_folder))
    todo = {path: nb for path, nb in read_notebooks(paths, syntax).items() if not is_cached(nb, cache)}

    def execute(path: Path) -> tuple[float, str | None]:
        result = single_nb_execution(
            todo[path],
            cwd=str(path.parent),
            timeout=timeout,
            startup_timeout=timeout,
            allow_errors=False,
            coalesce_streams=True,  # where a kernel splits its output depends on the machine's load
            **({"kernel_manager_class": ForkingKernelManager} if FORKS and len(todo) >= FEWEST else {}),
        )
        return result.time, result.err and str(result.err)

    good = True
    with ThreadPoolExecutor(processors()) as pool:
        for path, (seconds, error) in zip(todo, pool.map(execute, todo), strict=True):
            if error:
                good = False
                print(f"{os.path.relpath(path)}: a cell failed\n{error}", file=sys.stderr)
                continue
            print(f"ran {os.path.relpath(path)} in {seconds:.1f} s", flush=True)
            bundle = CacheBundleIn(todo[path], str(path), data={"execution_seconds": seconds})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return good
