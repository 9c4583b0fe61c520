"""The set-up behind `make book` and `make test`: what it installs and prints; an incomplete one never counts."""

import hashlib
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import psutil
import pytest

import environment

ROOT = Path(__file__).parents[1]

# A stand-in for `python -m venv`, which takes six seconds: pip, or a stand-in for it, is a link. It may stop when only
# Python is installed.
VENV = """
import os, sys, time
from pathlib import Path
fake = sys.path.pop(next(i for i, p in enumerate(sys.path) if p.endswith("fakes")))
del sys.modules["venv"]
import pip, venv
folder = Path(sys.argv[-1])
venv.create(folder, clear=True)
if os.environ.get("TROUBLE") == "in venv":
    Path("stopped").touch()
    time.sleep(600)
(site,) = folder.glob("lib/python*/site-packages")
(site / "pip").symlink_to(os.environ.get("PIP") or Path(pip.__file__).parent)
"""

# A stand-in for uv and pip, which takes a tenth of pip's time. It unpacks the wheels whose hashes the lock names,
# unless they are installed, and the one that our backend builds. As uv, it may leave half a package that counts as
# installed.
INSTALLER = """
import hashlib, os, re, sys, sysconfig, tempfile, time
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile
site = Path(sysconfig.get_path("purelib"))
if __package__ == "uv" and os.environ.get("TROUBLE", "").startswith("in uv") and "--requirement" in sys.argv:
    (site / "first.py").write_text("")
    (site / "first-1.0.dist-info").mkdir(exist_ok=True)
    (site / "first-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\\nName: first\\nVersion: 1.0\\n")
    if os.environ["TROUBLE"] == "in uv, failing":
        sys.exit("many words\\nno route to the index")
    Path("stopped").touch()
    time.sleep(600)
*options, last = sys.argv[1:]
assert {"install", "--no-deps"} <= {*options}
if options[-2:] == ["--require-hashes", "--requirement"]:
    wheels = Path(unquote(urlsplit(os.environ["PIP_FIND_LINKS"]).path))
    found = []
    for name, digest in re.findall(r"(\\w+)==1.0 .*\\n *--hash=sha256:(\\w+)", Path(last).read_text()):
        if not (site / f"{name}-1.0.dist-info").exists():
            found.append(wheels / f"{name}-1.0-py3-none-any.whl")
            assert hashlib.sha256(found[-1].read_bytes()).hexdigest() == digest, name
else:
    assert options[-2:] == ["--no-build-isolation", "--editable"]
    import backend
    os.chdir(last)
    temporary = tempfile.mkdtemp()
    found = [Path(temporary, backend.build_editable(temporary))]
for path in found:
    ZipFile(path).extractall(site)
"""


def wheel(folder, name, files):
    """Write a wheel of version 1.0 and return its file."""
    info = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = Path(folder) / f"{name}-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"]))
    return path


BACKEND = f"""
import os
from pathlib import Path
from zipfile import ZipFile

{inspect.getsource(wheel)}

def build_editable(folder, config_settings=None, metadata_directory=None):
    return wheel(folder, "kernelcourse", {{"kernelcourse.pth": os.getcwd()}}).name
"""


def section(name, *wheels):
    lines = [
        f"{w.name.split('-')[0]}==1.0 \\\n    --hash=sha256:{hashlib.sha256(w.read_bytes()).hexdigest()}\n"
        for w in wheels
    ]
    return f"# === {name}\n{''.join(lines)}"


class Checkout:
    """A folder with our Makefile and environment.py, and a lock of three small packages."""

    def __init__(self, folder):
        pytest.importorskip("pip", reason="this environment was not made by environment.py")
        self.folder = folder
        self.wheels = folder / "wheels"
        fakes = folder / "fakes"
        (fakes / "venv").mkdir(parents=True)
        (fakes / "venv/__init__.py").touch()
        (fakes / "venv/__main__.py").write_text(VENV, encoding="utf-8")
        self.pip = folder / "pip"
        self.pip.mkdir()
        (self.pip / "__main__.py").write_text(INSTALLER, encoding="utf-8")
        self.wheels.mkdir()
        for file in ("Makefile", "environment.py"):
            shutil.copy(ROOT / file, folder)
        backend = '[build-system]\nrequires = []\nbuild-backend = "backend"\n'
        for file in (*environment.BUILT_FROM, f"{environment.LOOPS}/libloops.so"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(backend if file == "pyproject.toml" else "", encoding="utf-8")
        imported = [f"{name.strip().replace('.', '/')}.py" for name in environment.IMPORTED.split(",")]
        self.parts = {
            "uv": wheel(self.wheels, "uv", {"uv/__init__.py": "", "uv/__main__.py": INSTALLER}),
            "backend": wheel(self.wheels, "backend", {"backend.py": BACKEND, **dict.fromkeys(imported, "")}),
            "first": wheel(self.wheels, "first", {"first.py": "whole = True"}),
            "second": wheel(self.wheels, "second", {"second.py": "whole = True"}),
            "third": wheel(self.wheels, "third", {"third.py": "whole = True"}),
        }
        self.write_lock()

    def write_lock(self):
        part = self.parts
        text = section("uv", part["uv"]) + section("book", part["backend"], part["first"])
        text += section("tests", part["second"]) + section("workshop", part["third"])
        (self.folder / "requirements.lock").write_text(text, encoding="utf-8")

    def start(self, need, trouble=""):
        variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE"))},
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": self.wheels.as_uri(),
            "PIP_CONFIG_FILE": os.devnull,
            "PYTHONPATH": str(self.folder / "fakes"),
            "PIP": str(self.pip or ""),
            "TROUBLE": trouble,
        }
        return subprocess.Popen(
            ["make", f"PYTHON={sys.executable}", f"setup-{need}"],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )

    def make(self, need, trouble=""):
        process = self.start(need, trouble)
        output, _ = process.communicate()
        return process.returncode, output

    def interrupt(self, need, trouble):
        """Kill a set-up with all its processes when it reaches the moment that `trouble` names."""
        process = self.start(need, trouble)
        while not (self.folder / "stopped").exists():
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        (self.folder / "stopped").unlink()

    @property
    def installed(self):
        file = self.folder / ".venv/.installed"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def holds(self, *names):
        """Whether these modules are complete, from the first line to the last."""
        program = "".join(f"import {name}; assert {name}.whole\n" for name in names)
        python = self.folder / ".venv/bin/python"
        return (
            subprocess.run([python, "-c", program], cwd=self.folder, capture_output=True, check=False).returncode == 0
        )


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "é x"
    folder.mkdir()
    return Checkout(folder)


@pytest.fixture
def real_pip(checkout):
    checkout.pip = None


def lines(output):
    return [line.split(" ... ")[0] for line in output.splitlines()]


def test_a_set_up_installs_what_is_needed_and_says_so_in_a_line_a_step(checkout, real_pip):
    code, output = checkout.make("book")
    assert code == 0, output
    assert lines(output) == [
        "making the virtual environment",
        "installing uv with pip",
        "installing 2 packages for the book with uv",
        "installing kernelcourse",
        "compiling",
    ]
    assert all(line.endswith(" s") for line in output.splitlines())
    assert checkout.holds("first")
    assert not checkout.holds("second")
    assert checkout.make("book") == (0, ""), "a set-up that has nothing to do is silent"

    code, output = checkout.make("workshop")
    assert lines(output)[:2] == [
        "installing 1 packages for the tests with uv",
        "installing 1 packages for the workshop with uv",
    ]
    assert checkout.holds("first", "second", "third")
    assert checkout.make("book") == (0, "")

    checkout.parts["second"] = wheel(checkout.wheels, "second", {"second.py": "whole = 'again'"})
    checkout.write_lock()
    assert checkout.make("book") == (0, ""), "a change in the tests' section does not affect the book"
    code, output = checkout.make("tests")
    assert lines(output)[0] == "installing 1 packages for the tests with uv"


@pytest.mark.parametrize("moment", ["in venv", "in uv"])
def test_a_set_up_that_was_killed_does_not_count(checkout, moment):
    checkout.interrupt("book", moment)
    assert checkout.installed == {}
    code, output = checkout.make("book")
    assert code == 0, output
    assert lines(output)[0] == "making the virtual environment"
    assert checkout.holds("first")


def test_what_was_whole_does_not_count_after_an_addition_was_killed(checkout):
    assert checkout.make("book")[0] == 0
    checkout.interrupt("tests", "in uv")
    assert checkout.installed == {}
    code, output = checkout.make("book")
    assert code == 0, output
    assert checkout.holds("first")


def test_where_uv_fails_pip_starts_again_from_nothing(checkout, real_pip):
    code, output = checkout.make("tests", "in uv, failing")
    assert code == 0, output
    assert "uv does not work here, so pip starts over: no route to the index" in output
    assert "installing 2 packages for the book with pip" in lines(output)
    assert checkout.holds("first", "second")
    assert checkout.installed["installer"] == "pip"


def test_where_uv_is_not_to_be_had_and_pip_fails_the_reason_is_shown_and_nothing_counts(checkout, real_pip):
    checkout.parts["uv"].unlink()
    checkout.parts["second"].write_bytes(b"not what the lock says")
    code, output = checkout.make("tests")
    assert code != 0
    assert "installing uv with pip ... failed" in output
    assert "installing 1 packages for the tests with pip ... failed" in output
    assert "HASHES" in output
    assert checkout.installed == {}


def test_the_next_set_up_waits_for_what_a_killed_one_left_running(checkout):
    process = checkout.start("book", "in uv")
    while not (checkout.folder / "stopped").exists():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
    (program,) = psutil.Process(process.pid).children()
    program.kill()  # environment.py alone; the processes that it started continue
    second = checkout.start("book")
    assert second.stdout.readline() == "waiting for another set-up of this folder\n"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    output, _ = second.communicate()
    assert second.returncode == 0, output
    assert checkout.holds("first")


def test_a_folder_that_was_moved_is_set_up_again(checkout, tmp_path):
    assert checkout.make("book")[0] == 0
    checkout.folder = checkout.folder.rename(tmp_path / "elsewhere")
    checkout.wheels, checkout.pip = checkout.folder / "wheels", checkout.folder / "pip"
    _, output = checkout.make("book")
    assert lines(output)[0] == "making the virtual environment"
    assert checkout.holds("first")


def test_an_old_python_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10))
    with pytest.raises(SystemExit, match=r"Python 3.11 or newer is needed, got 3"):
        environment.main()
