"""The site of the exercises: what it is made of, and that it is complete."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
from html.parser import HTMLParser
from urllib.parse import urlsplit

import nbformat
import pytest
import yaml

from environment import packages, sections
from kernelcourse.course.engine import load_config
from kernelcourse.course.folder import Course
from tests.course.conftest import HERE
from tests.lite.conftest import ROOT

LITE = ROOT / "book/lite"


with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(ROOT / "book/_ext"))
    BUTTONS = importlib.import_module("coursebook.exercises")


# ------------------------------------------------------------------------------------------------- what is shipped


def lock_of(site):
    return json.loads((site / "static/pyodide/pyodide-lock.json").read_text(encoding="utf-8"))


def test_the_site_is_no_larger_than_promised(builder, site):
    assert builder.megabytes(site) <= 45


def test_every_wheel_is_in_the_lock_with_its_hash_and_all_that_it_needs(site):
    folder, locked = site / "static/pyodide", lock_of(site)["packages"]
    assert {package["file_name"] for package in locked.values()} == {path.name for path in folder.glob("*.whl")}
    for name, package in locked.items():
        assert package["name"] == name
        assert package["sha256"] == hashlib.sha256((folder / package["file_name"]).read_bytes()).hexdigest()
        assert set(package["depends"]) <= set(locked), name
    asked = json.loads((site / "jupyter-lite.json").read_text(encoding="utf-8"))["jupyter-config-data"]
    kernel = asked["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["disablePyPIFallback"] is True and kernel["pyodideUrl"] == "./static/pyodide/pyodide.js"
    assert {name.replace("_", "-") for name in kernel["loadPyodideOptions"]["packages"]} <= set(locked)


def test_the_licence_of_each_part_is_listed(site):
    lines = (site / "licences.txt").read_text(encoding="utf-8").split("\n\n", 1)[1].splitlines()
    listed = dict(line.split(": ", 1) for line in lines)
    for wheel in (site / "static/pyodide").glob("*.whl"):
        name, version = wheel.name.split("-")[:2]
        assert any(part.lower().replace("-", "_") == f"{name} {version}".lower() for part in listed), wheel.name
    assert {"Pyodide", "JupyterLite", "Python's standard library"} <= set(listed)
    assert all(re.search(r"MIT|BSD|Apache|MPL|Mozilla|PSF", licence) for licence in listed.values()), listed


def test_every_version_is_pinned_with_its_hash():
    asked, locked = (sections((LITE / f"requirements.{end}").read_text(encoding="utf-8")) for end in ("txt", "lock"))
    assert [*asked] == [*locked] == ["build", "browser"]
    for name, text in asked.items():
        pins = {line.split()[0] for line in text.splitlines() if "==" in line}
        heads = {head.split()[0] for head in packages(locked[name])}
        assert pins <= heads and (name == "build" or pins == heads)
        assert all("--hash=sha256:" in lines for lines in packages(locked[name]).values())
        assert "".join(packages(locked[name]).values()).split() == locked[name].split()
    for pin in json.loads((LITE / "npm.json").read_text(encoding="utf-8")).values():
        assert pin["integrity"].startswith("sha512-")


def test_the_notebooks_are_the_released_ones_after_a_cell_on_the_browser(site):
    released = sorted((ROOT / "exercises").glob("*/*.ipynb"))
    assert {path.name for path in released} == {path.name for path in (site / "files").glob("*.ipynb")}
    for path in released:
        first, *rest = nbformat.read(site / "files" / path.name, as_version=4).cells
        assert "saves your work in this browser" in first.source and "File › Download" in first.source
        assert "Restart Kernel" in first.source
        ours = nbformat.read(path, as_version=4).cells
        assert [(c.source, c.metadata) for c in rest] == [(c.source, c.metadata) for c in ours]


class Links(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.found = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found += [value for key, value in attributes if key in ("href", "src") and value]


def test_links_of_the_site_lead_to_its_files(site):
    pages = sorted(site.rglob("index.html"))
    assert len(pages) >= 3
    for page in pages:
        links = Links(page).found
        assert any(link.endswith("course.js") for link in links)
        for link in links:
            assert not urlsplit(link).netloc, f"{page}: {link}"
            target = (page.parent / urlsplit(link).path).resolve()
            assert target.exists(), f"{page}: {link}"


def test_the_online_lock_takes_the_official_packages_from_their_host_and_ours_from_the_site(builder, site):
    with tarfile.open(builder.checked(builder.parts.archive("pyodide"))) as archive:
        official = json.load(archive.extractfile("package/pyodide-lock.json"))
    ours = [*(site / "static/pyodide").glob("kernelcourse-*.whl"), *(site / "static/pyodide").glob("comm-*.whl")]
    lock = builder.lock.online(official, ours)
    assert lock["info"] == official["info"]
    for name in ("numpy", "scipy", "matplotlib", "ipython"):
        package = lock["packages"][name]
        assert package["file_name"].startswith("https://cdn.jsdelivr.net/pyodide/v0.27.7/full/")
        assert package["sha256"] == official["packages"][name]["sha256"]
    assert lock["packages"]["kernelcourse"]["file_name"] == ours[0].name
    assert lock["packages"]["kernelcourse"]["depends"] == ["numpy", "scipy", "matplotlib"]
    assert {"comm", "kernelcourse"} | set(official["packages"]) == set(lock["packages"])


# --------------------------------------------------------------------------------------- stale, half, damaged, missing


def test_the_site_is_whole_and_not_that_of_another_lock(builder, site):
    assert builder.is_whole(site, builder.key(online=False))
    assert not builder.is_whole(site, builder.key(online=True))


def test_a_site_that_is_stale_half_or_damaged_does_not_count_and_is_copied_again(builder, tmp_path):
    site, copy = tmp_path / "offline", tmp_path / "html" / "lite"
    (site / "static").mkdir(parents=True)
    (site / "static/pyodide.js").write_text("all of it", encoding="utf-8")
    built = {"key": "now", "files": builder.contents(site)}
    (site / "built.json").write_text(json.dumps(built), encoding="utf-8")
    assert builder.is_whole(site, "now") and not builder.is_whole(site, "yesterday")
    assert not builder.is_whole(tmp_path / "nowhere", "now")

    def damages():
        yield (copy / "static/pyodide.js").unlink
        yield lambda: (copy / "static/pyodide.js").write_text("half of", encoding="utf-8")
        yield lambda: (copy / "static/more.js").write_text("", encoding="utf-8")
        yield lambda: (copy / "built.json").write_text("half a fi", encoding="utf-8")

    copy.mkdir(parents=True)  # the book's placeholder
    for damage in damages():
        builder.publish(site, copy)
        assert builder.is_whole(copy, "now")
        damage()
        assert not builder.is_whole(copy, "now")


def test_the_key_changes_with_a_notebook(builder, tmp_path, monkeypatch):
    for folder in ("book/lite", "exercises/01-a", "kernelcourse"):
        (tmp_path / folder).mkdir(parents=True)
    notebook = tmp_path / "exercises/01-a/a.ipynb"
    notebook.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(builder, "ROOT", tmp_path)
    before = builder.key(online=False)
    assert builder.key(online=False) == before
    notebook.write_text("{ }", encoding="utf-8")
    assert builder.key(online=False) != before


def test_a_damaged_download_is_refused(builder, site, tmp_path, monkeypatch):
    monkeypatch.setattr(builder.parts, "PARTS", tmp_path)
    archive = builder.parts.archive("pyodide")
    archive.write_bytes(b"something else")
    with pytest.raises(builder.NotSetUp, match=r"pyodide-0.27.7.tgz is damaged"):
        builder.checked(archive)


def test_without_npm_it_says_what_is_missing(tmp_path):
    for name in ("environment.py", "book/lite/parts.py", "book/lite/npm.json", "book/lite/requirements.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, str(tmp_path / "book/lite/parts.py")]
    done = subprocess.run(
        command, env=os.environ | {"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "need npm, which is not installed here" in done.stderr and "The book can be built" in done.stderr
    assert not (tmp_path / ".venv").exists()


# --------------------------------------------------------------------------------------------------- in the book


def buttons_on(page):
    tags = re.findall(r'<a [^>]*class="do-exercise"[^>]*>', page.read_text(encoding="utf-8"))
    return [re.search(r'href="([^"]*)"', tag)[1] for tag in tags]


def test_the_button_leads_to_the_notebook_from_any_folder(html, site):
    pages = [path for path in (html / "book").rglob("*.html") if buttons_on(path)]
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    sections_ = [c["file"] for part in toc["parts"] if part.get("numbered") for c in part["chapters"]]
    assert {html / f"{name}.html" for name in [*sections_, "book/exercises"]} <= set(pages)
    for page in pages:
        for link in buttons_on(page):
            parts = urlsplit(link)
            assert (page.parent / parts.path).resolve() == html / "lite/notebooks/index.html"
            assert (site / "files" / parts.query.removeprefix("path=")).is_file()
    assert len(buttons_on(html / "book/exercises.html")) == len(HERE.assignments())


def test_colab_and_binder_are_offered_once_the_repository_has_an_address():
    assert "Colab" not in BUTTONS.buttons("01-a/a.ipynb", to_root="../")
    assert "Colab" not in BUTTONS.buttons("01-a/a.ipynb", to_root="../", repository="https://example.org/me/course")
    page = BUTTONS.buttons("01-a/a.ipynb", to_root="../", repository="https://github.com/me/course.git", branch="v2")
    assert '"../lite/notebooks/index.html?path=a.ipynb"' in page
    assert '"https://colab.research.google.com/github/me/course/blob/v2/exercises/01-a/a.ipynb"' in page
    assert '"https://mybinder.org/v2/gh/me/course/v2?urlpath=lab%2Ftree%2Fexercises%2F01-a%2Fa.ipynb"' in page


@pytest.mark.parametrize("address", ["", "https://github.com/me/course"])
def test_the_address_of_the_repository_is_what_the_first_cell_installs_from(tmp_path, address):
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    settings = yaml.safe_dump({"repository": {"url": address}})
    (tmp_path / "_config.yml").write_text(settings, encoding="utf-8")
    assert load_config(Course(tmp_path)).StudentCopy.package == (f"git+{address}" if address else "")


# -------------------------------------------------------------------------------------------- the server, the stand-in


def fetched(app, path):
    """The status and the text with which an ASGI application answers."""
    sent = []

    async def receive():  # the client neither sends more nor disconnects
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": path, "raw_path": path.encode()}
    asyncio.run(app(scope | {"query_string": b"", "headers": [], "root_path": "", "scheme": "http"}, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def test_the_server_has_the_book_and_leaves_the_site_as_it_is(tmp_path):
    from starlette.responses import PlainTextResponse

    spec = importlib.util.spec_from_file_location("book_server", ROOT / "book/serve.py")
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)
    (tmp_path / "lite/notebooks").mkdir(parents=True)
    (tmp_path / "lite/notebooks/index.html").write_text("<p>the notebook", encoding="utf-8")
    both = server.beside(PlainTextResponse("the book"), tmp_path)
    assert fetched(both, "/book/exercises.html") == (200, "the book")
    assert fetched(both, "/lite/notebooks/index.html") == (200, "<p>the notebook")
    assert fetched(both, "/lite/nothing")[0] == 404
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SystemExit, match=rf"port {port} cannot be used .*: end the program that uses it"):
            server.check_port(port)
    assert server.PORT == 8421, "with another port, students no longer find what they saved"


STANDIN = """
import kernelcourse.plots as plots, matplotlib.pyplot as plt, numpy as np
fig, axes = plt.subplots(2, 3, figsize=(3, 2))
assert axes.shape == (2, 3)
for ax, i in zip(axes.flat, range(6)):
    ax.imshow(np.eye(2)); ax.set_title(f"{i}")
fig, ax = plt.subplots()
line, = ax.plot([1, 2], label="a")
line.set_label("b")
with plt.style.context("ggplot"):
    plt.legend(); plt.show()
X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([-1, 1, 1])
plots.decision_regions(lambda Z: Z.sum(axis=1) - 1, X, y, bayes=lambda Z: Z[:, 0] - 1)
plots.gram_heatmap(np.eye(3))
plots.loglog_times([10, 100], {"dual": [1e-3, 1.0]})
"""


def test_the_stand_in_draws_nothing_and_says_so_once():
    clean = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    clean["PYTHONPATH"] = os.pathsep.join([str(LITE / "standin"), str(ROOT)])
    done = subprocess.run([sys.executable, "-c", STANDIN], env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("This picture needs matplotlib") == 1
