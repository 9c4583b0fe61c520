"""The home page: its numbers, one sentence for each part, and the map of prerequisites."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTRO = (ROOT / "book/intro.md").read_text(encoding="utf-8")


@pytest.fixture
def coursebook(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module


def block(name: str) -> str:
    return re.search(rf"^```\{{{name}\}}\n(.*?)^```$", INTRO, re.MULTILINE | re.DOTALL)[1]


def test_numbers_on_the_home_page_are_counted_and_not_typed(coursebook):
    counts = coursebook("coursebook.contents").counts(ROOT)
    head = INTRO[INTRO.index("# Kernel methods") : INTRO.index("```{code-cell}")]
    assert not re.search(r"\d", head)
    used = set(re.findall(r"\{\{ (\w+) \}\}", INTRO))
    assert used == counts.keys()
    assert counts["exercises"] == len(list((ROOT / "exercises").iterdir()))
    assert all(counts.values())


def test_every_part_has_its_sentence(coursebook):
    home = coursebook("coursebook.home")
    text = home.part_list(block("parts"), ROOT)
    for part in coursebook("coursebook.contents").read_parts(ROOT):
        assert part.caption in text
        assert all(f"(/book/{name}.md)" in text for name in part.sections)
    without = block("parts").split("\n", 1)[1]
    with pytest.raises(ValueError, match="expected a sentence for each of introduction, dual"):
        home.part_list(without, ROOT)


def test_the_map_has_every_section_and_its_arrows_are_what_the_sections_need(coursebook):
    home, contents = coursebook("coursebook.home"), coursebook("coursebook.contents")
    needed = contents.needs(ROOT)
    nodes = home.read_map(block("book-map"), contents.read_sections(ROOT))
    rows = {node.name: node.row for node in nodes}
    arrows = home.arrows(nodes, needed)
    assert arrows and all(rows[start] < rows[end] for start, end in arrows), "an arrow must lead down the page"
    behind = {node.name: {node.name} for node in nodes}
    for node in sorted(nodes, key=lambda node: node.row):
        behind[node.name].update(*(behind[start] for start, end in arrows if end == node.name))
    for node in nodes:
        for section in node.sections:
            for other in needed[section]:
                assert any(other in found.sections for found in nodes if found.name in behind[node.name])
    for here in nodes:
        for there in nodes:
            apart = abs(here.left - there.left) >= home.WIDTH or here.row != there.row
            assert here is there or apart, f"{here.name} covers {there.name}"


def test_an_arrow_that_others_imply_is_not_drawn(coursebook):
    home = coursebook("coursebook.home")
    lines = "a | 0, 0 | A | x/a\nb | 0, 1 | B | x/b\nc | 0, 2 | C | x/c, x/d"
    nodes = home.read_map(lines, ["x/a", "x/b", "x/c", "x/d"])
    needed = {"x/a": set(), "x/b": {"x/a"}, "x/c": {"x/a", "x/b"}, "x/d": {"x/c"}}
    assert home.arrows(nodes, needed) == [("a", "b"), ("b", "c")]
    drawing = home.drawing(nodes, [("a", "b")], {"a": "a.html", "b": "b.html", "c": "c.html"})
    assert drawing.count('class="arrow"') == 1 and drawing.count("<a href=") == 3
    assert '<a href="c.html"><title>C</title>' in drawing, "readers of EPUBs name a link by its title"
    printed = home.latex_drawing(nodes, [("a", "b")])
    assert printed.count(r"\draw") == 1 and printed.count(r"\hyperref[\detokenize{book/x/") == 3
    with pytest.raises(ValueError, match="every section of the book exactly once; check x/e"):
        home.read_map(lines, ["x/a", "x/b", "x/c", "x/d", "x/e"])
