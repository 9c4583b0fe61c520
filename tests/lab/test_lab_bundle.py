"""The script of the interactive figures: its unit tests, its size, and how it gets into a page."""

from __future__ import annotations

import importlib
import subprocess
import sys
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
    assert script.startswith('(() => {"use strict";') and script.endswith("})();\n")
    assert not [line for line in script.splitlines() if line.startswith(("import ", "import{", "export "))]
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


@pytest.fixture(scope="module")
def tiny_book(tmp_path_factory):
    """A book of three pages, of which one has a figure and one asks for a figure that does not exist."""
    source = tmp_path_factory.mktemp("tiny")
    (source / "conf.py").write_text('extensions = ["coursebook.lab"]\nhtml_static_path = ["_static"]\n')
    (source / "_static" / "lab").mkdir(parents=True)
    (source / "_static" / "lab" / "main.js").write_text("// a module")
    (source / "index.rst").write_text("Tiny\n====\n\n.. toctree::\n\n   with\n   wrong\n")
    (source / "with.rst").write_text("With\n====\n\n.. lab:: dual\n")
    (source / "wrong.rst").write_text("Wrong\n=====\n\n.. lab:: duel\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "book/_ext"))
        patch.setenv("PYTHONPATH", str(ROOT / "book/_ext"))
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(source / "html")]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return source / "html", done.stderr


def test_only_pages_with_a_figure_load_the_script(tiny_book):
    html, _ = tiny_book
    pages = {name: (html / f"{name}.html").read_text(encoding="utf-8") for name in ("index", "with", "wrong")}
    for asset in ("_static/lab.js", "_static/lab.css"):
        assert [name for name, text in pages.items() if asset in text] == ["with"]
    assert '<div class="lab" data-lab="dual" data-start=\'{"points":[[' in pages["with"]
    assert (html / "_static/lab.js").read_text(encoding="utf-8") == LAB.bundle()
    assert not (html / "_static/lab").exists()


def test_a_figure_that_does_not_exist_is_an_error(tiny_book):
    _, errors = tiny_book
    assert "there is no figure 'duel' to drag; there are builder, dual" in errors
