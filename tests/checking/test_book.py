"""Links from hints to the book: every target exists, and without an address there is no link."""

import re
from pathlib import Path

import pytest

from kernelcourse.checking import CheckFailed, catalogue, dual_representation
from kernelcourse.checking.book import PAGES, PLACES, Links, book, links_for, page_of
from kernelcourse.course.student_copy import link_texts
from tests.course.conftest import HERE

ROOT = Path(__file__).parents[2]
SITE = "https://example.org/kernels"


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setenv("KERNELCOURSE_BOOK", SITE)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_in_the_book_under_its_title(page):
    path, title = PAGES[page]
    assert f"\n# {title}\n" in (ROOT / "book" / f"{path}.md").read_text(encoding="utf-8")
    assert f"book/{path}\n" in (ROOT / "_toc.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLACES)
def test_every_place_is_on_its_page_and_belongs_to_a_piece(name):
    page, pieces, equations = PLACES[name]
    assert pieces.keys() <= {piece.name for piece in catalogue(name).PIECES}
    for label in (page, *pieces.values(), *equations.values()):
        source = (ROOT / "book" / f"{PAGES[page_of(label)][0]}.md").read_text(encoding="utf-8")
        assert label in PAGES or f"$$ ({label})" in source, label


@pytest.mark.parametrize("source", [HERE.sources(name)[0] for name in HERE.assignments()], ids=lambda path: path.stem)
def test_every_assignment_has_places_and_every_equation_of_its_hints_is_known(source):
    name = source.stem.replace("-", "_")
    known = PLACES[name][2]
    for piece in catalogue(source.stem).PIECES:
        for mistake in piece.mistakes:
            for match in re.finditer(r"\beq\. \((\d+)\)(?: and \((\d+)\))?", mistake.hint):
                assert {int(number) for number in match.groups() if number} <= known.keys()


def test_a_hint_links_to_its_equation_and_its_section(published):
    with pytest.raises(CheckFailed) as caught:
        dual_representation.checks(1)(gram_matrix=lambda Phi: Phi.T @ Phi)
    place = f"{SITE}/book/dual/representation.html#equation-eq-dual-gram"
    verdict = caught.value.verdict
    assert verdict.text.endswith(f"Read: The dual representation, {place}")
    assert re.search(rf'<a href="{re.escape(place)}"[^>]*>eq\. \(9\)</a>', verdict.html)
    assert re.search(rf'Read: <a href="{re.escape(place)}"[^>]*>The dual representation</a>', verdict.html)


def test_two_equations_get_a_link_each_and_everything_else_is_escaped():
    links = Links("t", "a", ((16, "x.html#a&b"), (17, "y.html")))
    made = links.in_html("a < b; see eq. (16) and (17), not eq. (18).")
    assert made.startswith("a &lt; b; see <a ") and made.endswith("</a>, not eq. (18).")
    assert 'href="x.html#a&amp;b"' in made and ">eq. (16)</a> and <a " in made and ">(17)</a>" in made


def test_a_build_above_the_notebook_is_linked_without_a_path_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELCOURSE_BOOK")
    folder = tmp_path / "exercises" / "01"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert links_for("dual_representation", "predict") == Links()
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    assert book() == "../../_build/html/"
    assert links_for("dual_representation", "predict").address.startswith("../../_build/html/book/dual/")


def test_another_course_and_a_word_that_is_no_address_give_no_links(published, monkeypatch):
    assert links_for("not_ours", "predict") == Links()
    monkeypatch.setenv("KERNELCOURSE_BOOK", "none")
    assert book() == ""
    assert (Links().html, Links().text, Links().in_html("eq. (1) < 2")) == ("", "", "eq. (1) &lt; 2")


@pytest.mark.parametrize("source", [HERE.sources(name)[0] for name in HERE.assignments()], ids=lambda path: path.stem)
def test_every_section_to_read_first_becomes_a_link(source):
    from kernelcourse.course.notebooks import read_source

    notebook = read_source(source)
    (reading,) = re.findall(r"\*\*Read first:\*\*(.*?)\n\n", notebook.cells[0].source, re.DOTALL)
    titles = re.findall(r"\*([^*]+)\*", reading)
    link_texts(notebook, source.stem, SITE)
    linked = re.findall(r"\[\*([^*]+)\*\]\((\S+)\)", notebook.cells[0].source)
    assert [title for title, _ in linked] == titles and titles
    for _, address in linked:
        page = address.removeprefix(f"{SITE}/").removesuffix(".html")
        assert (ROOT / f"{page}.md").is_file()
