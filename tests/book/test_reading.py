"""The EPUB: its pages keep their style sheets, their punctuation, and formulas that an e-reader accepts."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def printed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module("coursebook.print")


def repaired(printed, page: str) -> str:
    for wrong, right in printed.REPAIRS:
        page = wrong.sub(right, page)
    return page


@pytest.mark.parametrize("folder", ["", "../", "../../"])
@pytest.mark.parametrize(("sheet", "stays"), [("reading", True), ("basic", True), ("sphinx-book-theme", False)])
def test_pages_in_folders_keep_the_style_sheets_of_the_book(printed, folder, sheet, stays):
    link = f'<link rel="stylesheet" type="text/css" href="{folder}_static/{sheet}.css" />'
    assert repaired(printed, link) == (link if stays else "")


def test_what_unfolds_has_one_title(printed):
    titles = '<p class="collapsed admonition-title">Code</p><p class="expanded admonition-title">Hide the code</p>'
    assert repaired(printed, titles) == "<span>Code</span>"


def test_of_the_drawings_in_a_page_only_the_map_stays(printed):
    assert repaired(printed, '<svg class="icon"><path/></svg>') == ""
    assert repaired(printed, '<svg class="book-map"><path/></svg>') == '<svg class="book-map"><path/></svg>'


def test_the_map_has_a_role_that_epub_allows(printed):
    page = '<svg class="book-map" viewBox="0 0 1 1" role="group"><a/></svg>'
    assert repaired(printed, page) == page.replace("group", "document")


@pytest.mark.parametrize("attributes", ['id="DejaVuSans-20"', 'clip-path="url(#p1)" style="stroke: none"', ""])
def test_every_path_has_an_outline(printed, attributes):
    drawing = f'<path {attributes}/>\n<path id="seen"\n d="M 0 0"/>'
    assert printed.NO_OUTLINE.sub('<path d=""', drawing) == f'<path d="" {attributes}/>\n<path id="seen"\n d="M 0 0"/>'


def test_letters_of_formulas_have_their_style_themselves_and_names_of_functions_stand_apart(printed):
    assert "<mi>𝒳</mi>" in printed.mathml(r"\mathcal X", display=False)
    assert "<mn>𝟏</mn>" in printed.mathml(r"\mathbf 1", display=False)
    assert "mathvariant" not in printed.mathml(r"\mathcal H \to \mathbb R", display=True)
    assert '<mi>log</mi><mspace width="0.17em"/><mi>s</mi>' in printed.mathml(r"\log s(f)", display=False)
    assert "mspace" not in printed.mathml(r"\log(x) + \sin^2 x", display=False)


def test_punctuation_stays_with_its_formula(printed):
    writer = SimpleNamespace(body=[], encode=lambda text: text.replace("<", "&lt;"))
    with pytest.raises(nodes.SkipNode):
        printed.visit_inline(writer, nodes.math("", "x", before="(", after="),"))
    (formula,) = writer.body
    assert formula.startswith('<span class="together">(<math')
    assert formula.endswith("</math>),</span>")


@pytest.mark.parametrize("formula", [r"\mu_{\max}", r"\mu_{\max} = 1", r"x^{\min}", r"\lambda_{\max}^2"])
def test_an_index_has_as_many_parts_as_mathml_allows(printed, formula):
    from xml.etree import ElementTree

    tree = ElementTree.fromstring(printed.mathml(formula, display=False))
    parts = {"msub": 2, "msup": 2, "msubsup": 3}
    names = [(element.tag.rpartition("}")[2], len(element)) for element in tree.iter()]
    assert any(name in parts for name, _ in names)
    assert all(count == parts[name] for name, count in names if name in parts)


def test_equal_maps_have_no_name_in_common(printed):
    drawing = '<image xlink:href="data:image/png;base64,\nAAA" id="image1" x="0"/>' * 2
    assert "id=" not in printed.SAME_ID.sub(r"\1", drawing)
