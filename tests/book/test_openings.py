"""The first page of a part: it lists the part's sections, each with the minutes that the section itself names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPENINGS = sorted((ROOT / "book").glob("*/opening.md"))
ROW = re.compile(r"^\| \[\]\(([\w-]+)\) \|.*\| (\d+) \|$", re.MULTILINE)


def sections(folder: Path) -> dict[str, int]:
    """The label of each section of a part, and its reading time."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.md") if path.stem not in ("opening", "recap")]
    return {
        re.search(r"^\((sec-[\w-]+)\)=\n# ", text, re.MULTILINE)[1]: int(minutes[1])
        for text in texts
        if (minutes := re.search(r"^\*(\d+) minutes[.,]", text, re.MULTILINE))
    }


@pytest.mark.parametrize("path", OPENINGS, ids=lambda path: path.parent.name)
def test_sections_and_their_minutes(path):
    rows = {label: int(minutes) for label, minutes in ROW.findall(path.read_text(encoding="utf-8"))}
    assert rows == sections(path.parent)


@pytest.mark.parametrize("path", OPENINGS, ids=lambda path: path.parent.name)
def test_part_that_opens_also_ends(path):
    recap = path.with_name("recap.md").read_text(encoding="utf-8")
    assert recap.count("```{dropdown}") == 3
