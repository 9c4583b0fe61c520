"""The script of the interactive figures: its unit tests, its size, and how it gets into a page."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path

import pytest

from tests.lab.pages import LAB, ROOT

MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def node():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "book/_ext"))
        return importlib.import_module("coursebook.formulas").node_binary()


def test_modules_pass_their_own_tests(node):
    files = sorted(map(str, Path(__file__).parent.glob("*.test.mjs")))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout or "ℹ fail 0" in done.stdout


def test_script_and_style_are_small():
    assert len((LAB.bundle() + LAB.style()).encode()) <= MOST_BYTES


def test_bundle_is_one_plain_script():
    script = LAB.bundle()
    lines = script.splitlines()
    assert lines[0] == "(() => {" and lines[-1] == "})();"
    assert not [line for line in lines if line.startswith(("import ", "import{", "export "))]
    assert "http" not in script  # nothing is fetched


def test_every_module_is_in_the_bundle():
    script = LAB.bundle()
    for module in LAB.SOURCE.glob("*.js"):
        exports = [line for line in module.read_text(encoding="utf-8").splitlines() if line.startswith("export ")]
        for line in exports:
            assert LAB.squeeze(line.removeprefix("export ")) in script, f"{module.name}: {line}"


def test_two_modules_may_not_define_one_name(tmp_path, monkeypatch):
    (tmp_path / "main.js").write_text('import { a } from "./other.js";\nconst b = 1;\n')
    (tmp_path / "other.js").write_text("export const a = 1;\nconst b = 2;\n")
    monkeypatch.setattr(LAB, "SOURCE", tmp_path)
    with pytest.raises(ValueError, match=r"other\.js and main\.js both define b"):
        LAB.bundle()


def test_squeezing_spares_strings_templates_and_regular_expressions():
    assert LAB.squeeze('  f( "a , b" , c );') == 'f("a , b",c);'
    assert LAB.squeeze("  f(`a , b` , c );") == "f(`a , b` , c );"
    assert LAB.squeeze("  x = /a , b/ ;") == "x = /a , b/ ;"


@pytest.mark.parametrize("name", sorted(LAB.STARTS))
def test_points_survive_the_three_digits_of_a_link(name):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        return [n for each in value for n in numbers(each)] if isinstance(value, list) else [value]

    found = numbers(LAB.STARTS[name]())
    assert found
    assert all(abs(n) < 20 and round(n, 3) == n for n in found)
