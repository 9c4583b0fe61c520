"""The plans for a term: nothing is left out, and every number comes from the pages and the notebooks."""

import importlib
import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
SECTIONS = [
    chapter["file"]
    for part in TOC["parts"]
    for chapter in part["chapters"]
    if part.get("numbered") and not chapter["file"].endswith(("opening", "recap"))
]
LINES = {
    weeks: [line.split(" | ") for line in block.strip().splitlines()]
    for weeks, block in re.findall(
        r"^## (\w+) weeks\n.*?^```\{syllabus\}\n(.*?)^```$",
        (ROOT / "book/instructors.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
}
EXERCISES = sorted(path.name[:2] for path in (ROOT / "exercises").iterdir())


@pytest.fixture
def syllabus(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module("coursebook.syllabus")


def optional(page: str) -> bool:
    return bool(re.search(r"^\*\d+ minutes, optional", (ROOT / f"{page}.md").read_text(encoding="utf-8"), re.M))


def test_there_are_plans_for_six_and_for_twelve_weeks():
    assert {weeks: [line[0] for line in lines] for weeks, lines in LINES.items()} == {
        "Six": [str(week) for week in range(1, 7)],
        "Twelve": [str(week) for week in range(1, 13)],
    }


@pytest.mark.parametrize("weeks", LINES)
def test_a_plan_repeats_nothing(syllabus, weeks):
    read = [name for _, names, _ in LINES[weeks] for name in syllabus.sections_of(names, SECTIONS)]
    done = [number for _, _, numbers in LINES[weeks] for number in numbers.split(", ") if number != "–"]
    assert len(set(read)) == len(read) and len(set(done)) == len(done)


def test_twelve_weeks_are_enough_for_everything(syllabus):
    read = [f"book/{name}" for _, names, _ in LINES["Twelve"] for name in syllabus.sections_of(names, SECTIONS)]
    assert {page for page in SECTIONS if not optional(page)} <= set(read) <= set(SECTIONS)
    assert read == sorted(read, key=SECTIONS.index)
    assert sorted(", ".join(line[2] for line in LINES["Twelve"]).replace("–, ", "").split(", ")) == EXERCISES


def test_points_and_minutes_are_those_of_the_notebook(syllabus):
    exercise = syllabus.read_exercise(ROOT, "01")
    source = (ROOT / "solutions/01-dual-representation/dual-representation.md").read_text(encoding="utf-8")
    assert f"**Points:** {exercise.points} · **Time:** about {exercise.minutes} minutes" in source


# ------------------------------------------------------------------------------------------- a small book


@pytest.fixture
def book(tmp_path):
    pages = {"one/a": "*25 minutes.", "one/b": "*15 minutes. Before this: a.", "one/more": "*30 minutes, optional."}
    for name, head in pages.items():
        path = tmp_path / f"book/{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Title\n\n{head}*\n", encoding="utf-8")
    first = {"source": ["# 01 Sorting\n", "**Time:** about ", "40 minutes"], "metadata": {}}
    graded = [{"source": [], "metadata": {"nbgrader": {"points": points}}} for points in (2, 3)]
    (tmp_path / "exercises/01-x").mkdir(parents=True)
    (tmp_path / "exercises/01-x/x.ipynb").write_text(json.dumps({"cells": [first, *graded]}), encoding="utf-8")
    return tmp_path


PAGES = ["book/intro", "book/one/opening", "book/one/a", "book/one/b", "book/one/more", "book/one/recap"]


def test_rows_add_up(syllabus, book):
    text = syllabus.table(syllabus.read_plan("1 | one/b | –\n2 | one/a | 01\n", book, PAGES))
    assert text.splitlines()[2:] == [
        "| 1 | [](/book/one/b.md) (15) | 15 | – | – | – |",
        "| 2 | [](/book/one/a.md) (25) | 25 | {download}`01 </exercises/01-x/x.ipynb>` | 40 | 5 |",
        "| **all** | | **40** | | **40** | **5** |",
    ]


def test_a_part_stands_for_its_sections_without_optional_ones(syllabus, book):
    (week,) = syllabus.read_plan("1 | one | 01", book, PAGES)
    assert [section.name for section in week.sections] == ["one/a", "one/b"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1 | one", "expected a week, its sections and its exercises"),
        ("1 | two | 01", "'two' is neither a section nor a part"),
        ("1 | one | 07", r"expected one notebook in exercises/07-…, found 0"),
    ],
)
def test_a_wrong_line_is_refused(syllabus, book, line, complaint):
    with pytest.raises(ValueError, match=complaint):
        syllabus.read_plan(line, book, PAGES)


def test_a_page_without_its_minutes_is_refused_by_name(syllabus, book):
    (book / "book/one/a.md").write_text("# Title\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"book/one/a\.md states no reading time"):
        syllabus.read_plan("1 | one | 01", book, PAGES)
