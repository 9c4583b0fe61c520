"""Serve the book on this machine, rebuild it when a page or the library changes, reload the open page: `make serve`.

The server is sphinx-autobuild's, with book/build.py in the place of sphinx-build. Its command line only runs
sphinx-build, hence the private `_create_app`; requirements.txt bounds its version.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from sphinx_autobuild.__main__ import _create_app
from sphinx_autobuild.filter import IgnoreFilter
from sphinx_autobuild.utils import find_free_port, open_browser

ROOT = Path(__file__).resolve().parent.parent
WATCHED = ["book", "kernelcourse", "exercises", "_config.yml", "_toc.yml"]


def rebuild(changed_paths: Sequence[Path] = ()) -> None:
    """Build the book in a process of its own, which sees the library as it is now. A failed build is reported there."""
    if changed_paths:
        print("changed:", ", ".join(sorted({path.name for path in changed_paths})), flush=True)
    subprocess.run([sys.executable, str(ROOT / "book/build.py")], check=False)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args(arguments)

    address = f"127.0.0.1:{options.port or find_free_port()}"
    html = ROOT / "_build/html"
    html.mkdir(parents=True, exist_ok=True)
    rebuild()
    ignored = IgnoreFilter([], [r"__pycache__", r"\.ipynb_checkpoints", r"~$"])
    app = _create_app([ROOT / name for name in WATCHED], ignored, rebuild, html, address)
    print(f"the book: http://{address} (Ctrl+C ends)", flush=True)
    if not options.no_browser:
        open_browser(address, delay=1)
    host, port = address.split(":")
    uvicorn.run(app, host=host, port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
