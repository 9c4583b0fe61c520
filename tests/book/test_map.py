"""The map of the lectures in the book: complete, and true of the book, the library and the exercises."""

import importlib
import re
from pathlib import Path

import pytest

import kernelcourse
from kernelcourse import plots

ROOT = Path(kernelcourse.__file__).parents[1]
IDS = [
    f"{lecture}{i}"
    for lecture, last in {"B": 16, "I": 5, "S": 14, "K": 14, "H": 10}.items()
    for i in range(1, last + 1)
]
NOT_PRACTISED = {"B1", "B8", "B11", "I4", "S8", "S11", "S13", "S14", "K1", "K4", "K6", "K8", "K13", "K14"}
NOT_PRACTISED |= {"H1", "H2", "H4", "H6", "H8", "H10"}
SECTIONS = {
    label: path
    for path in (ROOT / "book").rglob("*.md")
    for label in re.findall(r"^\(([\w-]+)\)=", path.read_text(encoding="utf-8"), re.M)
}
ROWS = {
    row[0]: row
    for line in (ROOT / "book/appendix/map.md").read_text(encoding="utf-8").splitlines()
    if (row := [cell.strip() for cell in line.strip("|").split("|")])[0] in IDS
}


def test_every_topic_has_a_row():
    assert list(ROWS) == IDS


@pytest.mark.parametrize("id_", IDS)
def test_the_row_is_true(id_):
    _, topic, section, library, exercise = ROWS[id_]
    assert len(topic) > 5
    (label,) = re.findall(r"\{ref\}`([\w-]+)`", section)
    text = SECTIONS[label].read_text(encoding="utf-8")
    page = SECTIONS[label].relative_to(ROOT).with_suffix("").as_posix()
    assert page in (ROOT / "_toc.yml").read_text(encoding="utf-8"), f"{page} is not in the book"
    names = [name.split(".")[-1] for name in re.findall(r"\{lib\}`([\w.]+)`", library)]
    for name in names:
        owners = (kernelcourse, plots, kernelcourse.Kernel)
        assert any(hasattr(owner, name) for owner in owners), f"the library has no {name}"
    assert not names or any(re.search(rf"\b{name}\b", text) for name in names), f"{page} uses none of {names}"
    if id_ not in NOT_PRACTISED:
        (notebook,) = re.findall(r"</(exercises/[^>]+)>", exercise)
        assert (ROOT / notebook).exists()


# ------------------------------------------------------------------------------------------- page by page

MAP = (ROOT / "book/appendix/map.md").read_text(encoding="utf-8")


@pytest.fixture
def lectures(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module("coursebook.lectures")


@pytest.mark.parametrize("letter", "BISKH")
def test_every_topic_stands_on_a_page_of_its_lecture(lectures, letter):
    (block,) = re.findall(rf"^## Lecture {letter}: [^\n]*\n\n({lectures.BLOCK.pattern})", MAP, re.M | re.S)
    places = lectures.read_places(block[1])
    named = {id_ for _, ids in places for id_ in ids}
    assert {id_ for id_ in IDS if id_[0] == letter} <= named <= set(IDS)
    assert len({place for place, _ in places}) == len(places)


def test_a_page_leads_to_the_sections_and_exercises_of_its_topics(lectures):
    topics = lectures.read_topics(MAP)
    assert list(topics) == IDS
    row = lectures.table([("a page", ["S5", "S8", "B1"])], topics).splitlines()[-1]
    assert row.count("{ref}`sec-times`") == 1 and "{ref}`sec-two-ways`" in row and row.count("running-times.ipynb") == 1
    assert lectures.table([("a page", ["H4"])], topics).endswith("| a page | H4 | {ref}`sec-recipe` | – |")


@pytest.mark.parametrize("line", ["6.1, remark 2", "6.1 | B7 and more", "| B7"])
def test_a_line_that_names_no_topic_is_refused(lectures, line):
    with pytest.raises(ValueError, match="is not a place with its topics"):
        lectures.read_places(line)


def test_an_unknown_topic_is_refused(lectures):
    with pytest.raises(ValueError, match="there is no topic B99"):
        lectures.table([("a page", ["B99"])], lectures.read_topics(MAP))
