"""The files of the built book: links, anchors, identifiers, images, and the reference."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """What the tests need to know about a page: its identifiers, its links and its images."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str]] = []
        # The hundred elements of a formula have none of these attributes.
        for tag in re.findall(r"<[^>]*\b(?:id|href|src)=[^>]*>", path.read_text(encoding="utf-8")):
            self.feed(tag)
            assert not self.rawdata, f"{path}: {tag}"
            self.clear_cdata_mode()  # after <script src=…>, nothing would be a tag

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.ids.append(values["id"])
        self.links += [values[key] for key in ("href", "src") if values.get(key)]
        if tag == "img":
            self.images.append(values)


@pytest.fixture(scope="module")
def pages(html) -> dict[Path, Page]:
    pages = {path: Page(path) for path in sorted(html.rglob("*.html")) if "_static" not in path.parts}
    for found in ("ids", "links", "images"):
        assert sum(len(getattr(page, found)) for page in pages.values()) > 400, found
    return pages


def test_links_and_anchors_lead_somewhere(pages):
    # We need only ten lines; linkchecker is under the GPL, and pytest-check-links has been inactive since 2024.
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                broken.append(f"{path.name}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                broken.append(f"{path.name}: {link} (no such anchor)")
    assert broken == []


def test_identifiers_are_unique_on_a_page(pages):
    for path, page in pages.items():
        twice = {name for name in page.ids if page.ids.count(name) > 1} if len(set(page.ids)) < len(page.ids) else set()
        assert not twice, f"{path.name}: {twice}"


def test_images_say_what_they_show(pages):
    for path, page in pages.items():
        for image in page.images:
            if "logo__image" in image.get("class", ""):  # it is beside the title, which says the same in words
                assert image["alt"] == ""
            else:
                assert len(image["alt"].split()) >= 4, f"{path.name}: {image}"
                assert not re.search(r"\.(svg|png)$", image["alt"]), f"{path.name}: {image}"


def test_every_page_with_code_is_there_as_a_notebook_that_jupyter_can_show(html):
    sections = [path for path in (ROOT / "book").rglob("*.md") if "```{code-cell}" in path.read_text(encoding="utf-8")]
    for path in sections:
        name = path.relative_to(ROOT / "book").with_suffix("").as_posix()
        cells = json.loads((html / f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        source = path.read_text(encoding="utf-8")
        assert len(code) == source.count("```{code-cell}") - source.count("only-in-book"), name
        words = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        left = re.findall(r"\{[\w:-]+\}`[^`]*`|^`{3,}\{.*|^\([\w-]+\)=|\$\$ \(eq-[\w-]+\)|^% .*", words, re.MULTILINE)
        assert left == [], name
        page = (html / ("index.html" if name == "intro" else f"book/{name}.html")).read_text(encoding="utf-8")
        minutes = re.search(r"^\*\d+ minutes", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not minutes or f"notebooks/{name}.ipynb" in page


@pytest.mark.parametrize("name", ["times/beyond", "times/large-n", "appendix/benchmarks"])
def test_a_notebook_brings_the_measurements_that_its_page_reads_from_a_file(html, tmp_path, monkeypatch, name):
    cells = json.loads((html / f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    (source,) = ("".join(cell["source"]) for cell in cells if "json.loads(" in "".join(cell["source"]))
    monkeypatch.chdir(tmp_path)
    exec(source, found := {})
    saved = json.loads((ROOT / f"book/times/measured/{'beyond' if 'times' in name else 'map'}.json").read_text("utf-8"))
    assert found["saved" if "times" in name else "cells"] == saved


def test_every_public_name_is_in_the_reference(html, pages):
    import kernelcourse

    ids = {name for path, page in pages.items() if "api" in path.parts for name in page.ids}
    names = [name for name in kernelcourse.__all__ if callable(getattr(kernelcourse, name))]
    assert names
    assert {f"kernelcourse.{name}" for name in names} <= ids


def test_bibliography_lists_every_entry(html):
    sources = (ROOT / "book/references.bib").read_text(encoding="utf-8")
    page = (html / "book/appendix/bibliography.html").read_text(encoding="utf-8")
    assert page.count('class="citation"') == len(re.findall(r"^@\w+\{", sources, re.MULTILINE))


def test_nothing_needs_a_network(html):
    """The style sheets and scripts that pages load fetch nothing from other hosts."""
    for path in sorted(html.rglob("*.css")):
        assert not re.search(r"(url\(|@import\s+)[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path.name


def test_no_style_depends_on_how_a_phone_is_held(html):
    for path in sorted(html.rglob("*.css")):
        assert not re.search(r"@media[^{]*orientation", path.read_text(encoding="utf-8")), path.name


def test_exercise_notebooks_are_no_pages(html):
    assert not (html / "exercises").exists()


def test_punctuation_stays_with_its_formula(html):
    """A line may break after an inline formula, and a comma would then stand alone."""
    alone = re.compile(r"</span></span></span></span>[,.;:!?)]")
    formulas = 0
    for path in sorted(html.glob("book/**/*.html")):
        article = path.read_text(encoding="utf-8").partition("<article")[2]
        text = article.partition("</article>")[0]  # the table of contents beside the article has short lines
        formulas += text.count('<span class="beside">')
        assert not alone.search(text), f"{path.name}: {alone.search(text)}"
        assert not re.search(r"[ >]□", text), f"{path.name}: the end of a proof may stand alone"
    assert formulas > 1000
