"""The script of the interactive figures: its unit tests, its size, and how a page includes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import quickjs

from tests.lab.pages import LAB

MOST_BYTES = 70_000


@pytest.fixture(scope="module")
def node() -> str:
    """The machine's node, or else the one that drives the browser for playwright."""
    if found := shutil.which("node"):
        return found
    try:
        from playwright._impl._driver import compute_driver_executable
    except ImportError:
        pytest.skip("no node on this machine, and no playwright that would bring one")
    return compute_driver_executable()[0]


def test_modules_pass_their_own_tests(node):
    files = sorted(map(str, Path(__file__).parent.glob("*.test.mjs")))
    command = [node, "--test", "--test-reporter=tap", *files]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"^# pass [1-9]\d*$", done.stdout, re.MULTILINE)
    assert "# fail 0" in done.stdout


def test_script_and_style_are_small():
    assert len((LAB.bundle() + LAB.style()).encode()) <= MOST_BYTES


def test_bundle_is_one_plain_script_that_fetches_nothing():
    script = LAB.bundle()
    quickjs.Context().eval(f"() => {{ {script} }}")  # a module's import or export would be a syntax error
    assert "http" not in script + LAB.style()
    for name in LAB.STARTS:
        assert f'"{name}"' in script


def test_an_import_that_leads_nowhere_stops_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(LAB, "SOURCE", tmp_path)
    (tmp_path / "other.js").write_text("export const a = 1;\n", encoding="utf-8")
    for line in ('import { a } from "./none.js";', 'import { b } from "./other.js";'):
        (tmp_path / "main.js").write_text(f"{line}\nwindow.answer = 1;\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"(?s)^main\.js cannot be bundled: .*(none|\"b\")"):
            LAB.bundle()


@pytest.mark.parametrize("name", sorted(LAB.STARTS))
def test_points_survive_the_three_digits_of_a_link(name):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        return [n for each in value for n in numbers(each)] if isinstance(value, list) else [value]

    found = numbers(LAB.STARTS[name]())
    assert found
    assert all(abs(n) < 20 and round(n, 3) == n for n in found)
