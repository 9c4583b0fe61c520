"""Serve the book and the exercises in the browser on this machine: `make serve`.

The book is rebuilt when a page or the library changes, and its open page reloads. The exercises are those that
`make lite` has built. The port is always the same, because a browser stores a student's work by address.

The book's server is sphinx-autobuild's, with book/build.py in place of sphinx-build. Its command line can only run
sphinx-build, so the private `_create_app` is used; requirements.txt bounds the version.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from sphinx_autobuild.__main__ import _create_app
from sphinx_autobuild.filter import IgnoreFilter
from sphinx_autobuild.utils import open_browser
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build/html"
WATCHED = ["book", "kernelcourse", "exercises", "_config.yml", "_toc.yml"]
PORT = 8421


def rebuild(changed_paths: Sequence[Path] = ()) -> None:
    """Build the book in a separate process, which imports the library as it is now and reports a failed build."""
    if changed_paths:
        print("changed:", ", ".join(sorted({path.name for path in changed_paths})), flush=True)
    subprocess.run([sys.executable, str(ROOT / "book/build.py")], check=False)


def bring_exercises_up_to_date() -> None:
    """Build the exercises in the browser if their parts are installed; the book is also served without them."""
    if (ROOT / ".venv/lite/.installed").exists():
        subprocess.run([sys.executable, str(ROOT / "book/lite/build.py")], check=False)
    else:
        print("the exercises in the browser are not built: `make lite` builds them", flush=True)


def beside(book: Any, html: Path = HTML) -> Any:
    """The book's server with the site at /lite as plain files: a page that reloads would lose what a student wrote."""
    site = Starlette(routes=[Mount("/lite", StaticFiles(directory=html / "lite", html=True, check_dir=False))])

    async def serve(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/lite/"):
            await site(scope, receive, send)
        else:
            await book(scope, receive, send)

    return serve


def check_port(port: int) -> None:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            sys.exit(
                f"port {port} cannot be used ({error.strerror}): end the program that uses it, or choose another "
                '(FLAGS="--port 8422"); work saved in the browser stays with the port where it was saved'
            )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args(arguments)

    check_port(options.port)
    address = f"127.0.0.1:{options.port}"
    HTML.mkdir(parents=True, exist_ok=True)
    rebuild()
    bring_exercises_up_to_date()
    ignored = IgnoreFilter([], [r"__pycache__", r"\.ipynb_checkpoints", r"~$", r"/api/names/"])
    book = _create_app([ROOT / name for name in WATCHED], ignored, rebuild, HTML, address)
    print(f"the book: http://{address}, the exercises: http://{address}/book/exercises.html (Ctrl+C stops)", flush=True)
    if not options.no_browser:
        open_browser(address, delay=1)
    uvicorn.run(beside(book), host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
