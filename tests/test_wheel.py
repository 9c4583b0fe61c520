"""The wheel: the data and the loops that are compiled when it is built, with any compiler or without one."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "kernelcourse" / "data"
LIBRARY = "kernelcourse/_engine/libloops.so"


@pytest.fixture
def built(tmp_path):
    """A function that builds the wheel from a copy of the sources; it returns the wheel and what the build printed."""
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "kernelcourse", source / "kernelcourse", ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)

    def build(**environment):
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, cwd=source, env=os.environ | environment, check=True, **out)
        (wheel,) = tmp_path.glob("*.whl")
        return wheel, done.stdout

    return build


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken compiler"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo it is broken >&2; exit 1; }\n', encoding="utf-8")
    path.chmod(0o755)
    return f"'{path}'"


def test_the_wheel_contains_the_data_and_working_loops_and_is_for_this_kind_of_machine(built, tmp_path):
    wheel, _ = built()
    assert "-py3-none-" in wheel.name and not wheel.name.endswith("-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if name.startswith("kernelcourse/data/")}
        archive.extractall(tmp_path / "installed")
    assert held == {f"kernelcourse/data/{path.name}": path.read_bytes() for path in DATA.iterdir()}
    code = "from kernelcourse._engine import loops; print(loops.__file__, loops.between(loops.np.arange(4.0), 1))"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=tmp_path / "installed", check=True, capture_output=True, text=True).stdout
    assert found.split()[0].startswith(str(tmp_path / "installed")) and found.split()[1] == "1.5"


def test_a_compiler_that_fails_is_passed_over(built, broken):
    wheel, printed = built(CC=broken)
    assert LIBRARY in zipfile.ZipFile(wheel).namelist() and "broken" not in printed


def test_without_a_working_compiler_the_wheel_is_for_all_machines_and_the_build_says_why(built, broken, tmp_path):
    (tmp_path / "empty").mkdir()
    wheel, printed = built(CC=broken, PATH=str(tmp_path / "empty"))
    assert wheel.name.endswith("-py3-none-any.whl") and LIBRARY not in zipfile.ZipFile(wheel).namelist()
    assert "the compiled loops are left out" in printed and "it is broken" in printed


def test_pip_fetches_a_compiler_only_where_there_is_none_and_one_exists(monkeypatch):
    hook = SimpleNamespace()
    needs = hatch_build.CompiledLoops.dependencies
    assert needs(hook) == []
    monkeypatch.setattr(hatch_build, "compilers", list)
    monkeypatch.setattr(hatch_build.platform, "system", lambda: "Windows")
    monkeypatch.setattr(hatch_build.platform, "machine", lambda: "AMD64")
    assert needs(hook) == ["ziglang>=0.13"]
    monkeypatch.setattr(hatch_build.platform, "system", lambda: "Plan 9")
    assert needs(hook) == []
