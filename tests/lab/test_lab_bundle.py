"""The script of the interactive figures: its unit tests, its size, and how it gets into a page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import quickjs

from tests.lab.pages import LAB

MOST_BYTES = 60_000


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


def test_bundle_is_one_plain_script():
    script = LAB.bundle()
    assert script.startswith('(()=>{"use strict";') and script.endswith("})();\n")
    assert not re.search(r"\b(import|export)\b", script)
    assert "http" not in script  # nothing is fetched


def test_every_module_is_in_the_bundle():
    script = LAB.bundle()
    for module in LAB.SOURCE.glob("*.js"):
        text = module.read_text(encoding="utf-8")
        names = re.findall(r"^export (?:const|let|class|function) (\w+)", text, re.MULTILINE)
        assert len(names) == len(re.findall(r"^export\b", text, re.MULTILINE))
        for name in names:
            assert re.search(rf"(const|let|class|function) {name}\b", script), f"{module.name}: {name}"


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    """`bundled(**modules)`: the script made of the module `main` and of those that it imports."""

    def of(**modules: str) -> str:
        for name, text in modules.items():
            (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")
        monkeypatch.setattr(LAB, "SOURCE", tmp_path)
        return LAB.bundle()

    return of


@pytest.fixture
def answer_of(bundled):
    """What the script computes for the variable `answer`, which only its text tells from what the module says."""

    def run(main: str) -> str:
        script = bundled(main=f"{main}\nglobalThis.answer = answer;\n")
        context = quickjs.Context()
        context.eval(script)
        return context.get("answer")

    return run


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("let answer = 1; // first, second,\nanswer = 2;", 2),
        ("let answer = 1; // f(\nanswer = 2;", 2),
        ("let answer = 1; /* then // */ answer = 2;", 2),
        ("const answer = 'a , b';", "a , b"),
        (r'const answer = "a\" , b";', 'a" , b'),
        ("const answer = `a (\n   b , c`;", "a (\n   b , c"),
        ("const answer = `a\n\n// b ${1 + 1} /* c */`;", "a\n\n// b 2 /* c */"),
        ("const answer = 'a , b;\"c'.replace(/ , (?=b;\")/, ' // ');", 'a // b;"c'),
        ("let answer = 1\nlet b = 2\nanswer = b\n++b", 2),
        ("const b = 1;\nconst answer = 1 - -b + +b;", 3),
    ],
)
def test_minified_script_computes_what_the_module_says(answer_of, code, answer):
    assert answer_of(code) == answer


@pytest.mark.parametrize(
    "line",
    [
        'import { a as b } from "./other.js";',
        'import {a} from "./other.js";',
        'import { a } from "./other.js"',
        "import { a } from './other.js';",
        'import { a } from "./folder/other.js";',
        'import { a } from "other";',
        'import a from "./other.js";',
        'import * as a from "./other.js";',
        'import a, { b } from "./other.js";',
        'import "./other.js";',
        "import {",
        'const a = await import("./other.js");',
        "const a = import.meta.url;",
        'f(); import { a } from "./other.js";',
        "export { a };",
        "export { a as b };",
        'export { a } from "./other.js";',
        'export * from "./other.js";',
        "export default function f() {}",
        "export default 1;",
        "export const { a, b } = f();",
        "  export const a = 1;",
    ],
)
def test_other_forms_of_import_and_export_are_refused(bundled, line):
    with pytest.raises(ValueError, match=rf"^main\.js, line 2: .*{re.escape(line.strip())}.* cannot be joined"):
        bundled(main=f"const start = 0;\n{line}\n", other="export const a = 1;\n")


def test_import_that_leads_nowhere_is_refused(bundled):
    with pytest.raises(ValueError, match=r"^main\.js, line 1: there is no module none\.js$"):
        bundled(main='import { a } from "./none.js";\n')
    with pytest.raises(ValueError, match=r"^main\.js, line 2: other\.js does not export b, c$"):
        bundled(main='// b\nimport { a, b, c } from "./other.js";\n', other="export const a = 1;\nconst b = 2;\n")


@pytest.mark.parametrize("define", ["const b = 2;", "let b;", "var b;", "class b {}", "function b() {}"])
@pytest.mark.parametrize("again", ["async function b() {}", "export function* b() {}", "const b = 1;"])
def test_two_modules_may_not_define_one_name(bundled, define, again):
    with pytest.raises(ValueError, match=r"other\.js and main\.js both define b"):
        bundled(main=f'import {{ a }} from "./other.js";\n{again}\n', other=f"export const a = 1;\n{define}\n")


def test_template_inside_a_template_is_refused(bundled):
    with pytest.raises(ValueError, match=r"main\.js: a template inside a template"):
        bundled(main='const a = `x ${b ? `, class ${c}` : ""}`;\n')


@pytest.mark.parametrize("name", sorted(LAB.STARTS))
def test_points_survive_the_three_digits_of_a_link(name):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        return [n for each in value for n in numbers(each)] if isinstance(value, list) else [value]

    found = numbers(LAB.STARTS[name]())
    assert found
    assert all(abs(n) < 20 and round(n, 3) == n for n in found)
