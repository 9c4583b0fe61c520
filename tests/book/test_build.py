"""What a build does: what it refuses, what it runs again, and that a second build writes the same files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from sphinxcontrib import katex

from tests.lab.pages import LAB

ROOT = Path(__file__).resolve().parents[2]
MACHINERY = ["build.py", "forks.py", "notebooks.py", "references.bib", "notebook"]
MACHINERY += ["_epub", "_ext", "_static", "_templates"]
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
DRAG = "# A figure to drag\n\n```{lab} dual\n```\n"
KINDS = r"""# Kinds of things

{index}`kernel <single: kernel; kind>`

```{prf:theorem} A theorem
:label: thm-some
The sum of two kernels is a kernel.
```

```{prf:proof}
By {prf:ref}`thm-some` and {cite:t}`aronszajn1950`, on [the page with a figure](figure.md).
```

```{bibliography}
:filter: cited
```
"""


def make_course(folder: Path, pages: dict[str, str]) -> Path:
    """A course with this one's machinery and library, but with a small book made for these tests."""
    ignore = shutil.ignore_patterns("*.nb[ci]*", "*.pyc.*")  # compiled code belongs to its file, not to a copy
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


class Built(NamedTuple):
    """What a build printed, and the files it wrote."""

    said: list[str]  # one entry per process that built at the same time
    files: dict[str, str]  # each file's digest
    pages: dict[str, str]  # the text of each page


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A small course that builds."""
    pages = {"start": "# Start\n", "figure": HEADER + FIGURE.format(caption="A line."), "wide": WIDE}
    folder = make_course(tmp_path_factory.mktemp("course"), pages | {"drag": DRAG, "kinds": KINDS})
    (folder / "book/stray.md").write_text("# Not in the table of contents\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def story(course, build) -> dict[str, Built]:
    """The course built repeatedly: from scratch by two processes at once, after edits, and from scratch again."""
    html = course / "_build/html"

    def built(processes: int = 1) -> Built:
        with ThreadPoolExecutor(processes) as pool:
            all_done = list(pool.map(build, [course] * processes))
        for done in all_done:
            assert done.returncode == 0, done.stdout + done.stderr
        pages = {path.stem: path.read_text(encoding="utf-8") for path in html.glob("book/*.html")}
        pages["start"] = (html / "index.html").read_text(encoding="utf-8")
        return Built([done.stdout for done in all_done], files(html), pages)

    story = {"by two": built(2)}
    edit(course / "book/wide.md", "# A wide formula", "# A very wide formula")
    story["other title"] = built()
    edit(course / "kernelcourse/kernels/vectors.py", r"\exp", r"\cosh")
    edit(course / "_config.yml", 'url: ""', "url: https://github.com/someone/course")
    story["other kernel and address"] = built()
    shutil.rmtree(course / "_build")
    story["afresh"] = built()
    return story


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.fixture(scope="module")
def complaints(tmp_path_factory, build) -> str:
    """What a build says about a book with a mistake on each page."""
    pages = {
        "start": "# Start\n",
        "macro": "# Macro\n\nA formula $\\nosuchmacro$.\n",
        "equation": "# Equation\n\nSee {eq}`eq-nowhere`.\n",
        "name": "# Name\n\nUse {lib}`dual_wieghts`, then {lib}`dual_weights`.\n",
        "citation": "# Citation\n\nSee {cite:t}`nobody1900`.\n",
        "link": "# Link\n\nSee [there](nowhere.md).\n",
        "download": "# Download\n\nGet {download}`the exercise </exercises/none.ipynb>`.\n",
        "drawing": "# Drawing\n\n![](_static/logo.svg)\n",
        "drag": "# Drag\n\n```{lab} duel\n```\n",
        "path": "# Path\n\n![_static/logo.svg](_static/logo.svg)\n",
        "paper": "# Paper\n\n```{problems} paper\n```\n",
        "none": "# None\n\n```{problems} none\n```\n",
        "silent": "# Silent\n",
        "plot": HEADER + "# Plot\n\n```{code-cell} python3\nimport matplotlib.pyplot as plt\nplt.plot([0, 1]);\n```\n",
        "noise": HEADER + "# Noise\n\n```{code-cell} python3\nimport warnings\nwarnings.warn('beware')\n```\n",
    }
    course = make_course(tmp_path_factory.mktemp("flawed"), pages)
    (course / "book/_problems").mkdir()
    for name in ("paper", "silent"):
        problem = "# Title\n\n## ● Half a problem\n\nWhat is $1 + 1$?\n\n### Solution\n\nTwo.\n"
        (course / f"book/_problems/{name}.md").write_text(problem, encoding="utf-8")
    done = build(course)
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
        ("drag", "there is no figure 'duel' to drag; the figures are builder, dual"),
        ("noise", "stderr was found"),
        ("paper", r"book/_problems/paper\.md, '● Half a problem': there is no ### Answer"),
        ("none", r"there is no file book/_problems/none\.md"),
        ("silent", r"the page does not show book/_problems/silent\.md: add {problems} silent"),
    ],
)
def test_mistake_on_a_page_fails_the_build(complaints, page, complaint):
    assert re.search(rf"book/{page}\.md.*{complaint}", complaints), complaints


def test_right_names_and_pages_are_not_complained_of(complaints):
    assert "dual_weights" not in complaints
    assert "start.md" not in complaints


def test_cell_that_fails_fails_the_build(tmp_path, build):
    cell = "# Fails\n\n```{code-cell} python3\n1 / 0\n```\n"
    done = build(make_course(tmp_path, {"start": "# Start\n", "fails": HEADER + cell}))
    assert done.returncode == 1
    assert re.search(r"fails\.md: a cell failed", done.stderr)
    assert "ZeroDivisionError" in done.stderr
    assert not (tmp_path / "_build/html/book/start.html").exists()


def test_pdf_without_latex_says_what_to_install(course, build):
    """It is refused before anything is built, so the course need not have been built before."""
    done = build(course, "--builder", "pdf", env=os.environ | {"PATH": ""})
    assert done.returncode == 1
    assert "apt-get install latexmk" in done.stderr


# --------------------------------------------------------------------------------------- first and later builds


def test_only_pages_of_the_table_of_contents_are_built(story):
    assert set(story["by two"].pages) == {"start", "figure", "wide", "drag", "kinds"}


def test_equations_are_numbered_and_kernels_print_as_formulas(story):
    pages = story["by two"].pages
    assert re.search(r'<span class="number">\(\d+\)', pages["wide"])
    assert re.search(r'<mstyle[^>]*displaystyle="true"[^>]*><mi>k</mi><mo[^>]*>\(</mo><mi>x</mi>', pages["figure"])


def test_only_pages_with_a_figure_to_drag_load_its_script(story):
    built = story["by two"]
    for asset in ("_static/lab.js", "_static/lab.css"):
        assert [name for name, text in built.pages.items() if asset in text] == ["drag"]
    assert '<div class="lab" data-lab="dual" data-start=\'{"points":[[' in built.pages["drag"]
    assert built.files["_static/lab.js"] == hashlib.sha256(LAB.bundle().encode()).hexdigest()
    assert not [name for name in built.files if name.startswith("_static/lab/")]


RAN = re.compile(r"ran .*figure\.md")


def test_of_two_builds_at_once_the_second_waits_and_runs_nothing(story):
    assert sorted(bool(RAN.search(said)) for said in story["by two"].said) == [False, True]


def test_changed_title_reaches_the_other_pages_and_runs_nothing(story):
    assert not RAN.search(story["other title"].said[0])
    assert "A very wide formula" not in story["by two"].pages["start"]
    assert "A very wide formula" in story["other title"].pages["start"]


def test_repository_address_is_the_one_switch_for_links_to_it(story):
    assert "github" not in story["other title"].pages["figure"]
    page = story["other kernel and address"].pages["figure"]
    assert "https://github.com/someone/course/issues" in page
    assert "https://mybinder.org" in page


def test_editing_a_kernel_runs_the_notebooks_again(story):
    assert RAN.search(story["other kernel and address"].said[0])
    assert "cosh" not in story["other title"].pages["figure"]
    assert "cosh" in story["other kernel and address"].pages["figure"]


def test_book_written_afresh_is_the_same(story):
    assert RAN.search(story["afresh"].said[0])
    assert story["afresh"].files == story["other kernel and address"].files


def test_what_kernels_are_to_find_imported_exists():
    """A name that cannot be imported is silently left out, and then every kernel imports it itself."""
    spec = importlib.util.spec_from_file_location("forks", ROOT / "book/forks.py")
    forks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(forks)
    engine = {path.stem for path in (ROOT / "kernelcourse/_engine").glob("[!_]*.py")}
    assert set(forks.ENGINE) == engine - {"threads"}
    assert [name for name in forks.IMPORTED if name != "__main__" and importlib.util.find_spec(name) is None] == []


# ------------------------------------------------------------------------------------------------- by keyboard


def test_what_scrolls_can_be_reached_by_keyboard(course, story, new_window):
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


# ------------------------------------------------------------------------------------------------- formulas


def test_style_sheet_of_the_formulas_is_that_of_the_script_that_makes_them():
    style = (ROOT / "book/_static/katex/katex.min.css").read_text(encoding="utf-8")
    assert re.search(r'\.katex-version:+after\{content:"([\d.]+)"', style)[1] == katex.katex_version
    script = (Path(katex.__file__).parent / "katex.min.js").read_text(encoding="utf-8")
    assert f'"{katex.katex_version}"' in script


@pytest.fixture
def to_html(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module("coursebook.formulas").to_html


def test_formulas_need_no_node(to_html, monkeypatch):
    monkeypatch.setenv("PATH", "")
    inline, display = (to_html(r"\norm{w}^2 \in \R", display=display) for display in (False, True))
    assert '<mo>∈</mo><mi mathvariant="double-struck">R</mi>' in inline
    assert "\\norm" not in inline, "the source is left out"
    assert 'class="katex-display"' in display and 'class="katex-display"' not in inline


@pytest.mark.parametrize(
    ("formula", "complaint"),
    [
        (r"\nosuchmacro", "Undefined control sequence"),
        (r"\frac{1}{2", "expected '}'"),
        ("é", "Accented Unicode text"),
        ("{" * 5000, "Maximum call stack size exceeded"),
        (r"\def\a{\a\a}\a", "Too many expansions"),
    ],
)
def test_formula_that_katex_refuses_is_an_error(to_html, formula, complaint):
    with pytest.raises(ValueError, match=complaint):
        to_html(formula, display=False)
    assert "katex" in to_html("x", display=False)  # the next formula is not affected


def test_definitions_in_a_formula_end_with_it(to_html):
    to_html(r"\gdef\mine{x} \mine", display=False)
    with pytest.raises(ValueError, match="Undefined control sequence"):
        to_html(r"\mine + 1", display=False)


# ------------------------------------------------------------------------------------------------------------ EPUB


def test_epub_has_formulas_that_readers_show_and_no_scripts(course, story, build):
    """Its figures come from the cache that the story has left, but their captions do not."""
    assert "A line." in story["afresh"].pages["figure"]
    edit(course / "book/figure.md", "A line.", "A rising line.")
    done = build(course, "--builder", "epub")
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(course / "_build/epub/kernel-methods.epub") as book:
        texts = {name: book.read(name).decode() for name in book.namelist() if not name.endswith(".png")}
    content = texts["content.opf"]
    spine = re.findall(r'<itemref idref="([^"]+)"', content)
    manifest = dict(re.findall(r'<item id="([^"]+)" href="([^"]+)"', content))
    assert [manifest[item] for item in spine][:2] == ["book/start.xhtml", "book/figure.xhtml"]
    assert len(set(spine)) == len(spine)
    assert {"book/start.xhtml", "book/figure.xhtml"} <= set(re.findall(r'src="([^"#]+)"', texts["toc.ncx"]))
    assert re.search(r'href="book/wide.xhtml"[^>]*properties="mathml"', content)
    assert "<math" in texts["book/wide.xhtml"] and "annotation" not in texts["book/wide.xhtml"]
    assert "A rising line." in texts["book/figure.xhtml"]
    pictures = [text for name, text in texts.items() if name.startswith("_images/")]
    assert pictures and not any("<!DOCTYPE" in text for text in pictures)
    for name, text in texts.items():
        assert "<script" not in text and 'class="lab"' not in text, name
        assert not name.endswith(".js")
