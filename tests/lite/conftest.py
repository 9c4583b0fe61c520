"""The exercises in the browser: the site, built once and kept until something changes, and a server."""

from __future__ import annotations

import importlib.util
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.book.conftest import html  # noqa: F401 - the book that the site is placed beside

ROOT = Path(__file__).resolve().parents[2]


def load_builder():
    """book/lite/build.py, which is not part of the library."""
    if "lite_builder" not in sys.modules:
        spec = importlib.util.spec_from_file_location("lite_builder", ROOT / "book/lite/build.py")
        sys.modules["lite_builder"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["lite_builder"]


@pytest.fixture(scope="session")
def builder():
    return load_builder()


@pytest.fixture(scope="session")
def site(builder):
    """The site as `make lite` builds it, without --online."""
    try:
        return builder.build()
    except builder.NotSetUp as error:
        pytest.skip(str(error))


class Quiet(SimpleHTTPRequestHandler):
    """Python's own server, counting what it sends."""

    def log_message(self, *_):
        pass

    def copyfile(self, source, outputfile):
        self.server.sent += Path(source.name).stat().st_size
        super().copyfile(source, outputfile)


@contextmanager
def served(folder):
    """A server for a folder, on its own port; its `address` is that of the folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    server.sent = 0
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
