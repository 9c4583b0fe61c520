"""Where the lectures need care: what each item states, when it is right, what goes wrong, and where it is shown."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "book/appendix/care.md").read_text(encoding="utf-8")
TITLES, TEXTS = zip(*re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S), strict=True)
ITEMS = {title: text for title, text in zip(TITLES, TEXTS, strict=True) if "our copies" not in title}


@pytest.mark.parametrize("title", ITEMS)
def test_an_item_has_its_four_lines_in_order(title):
    heads = re.findall(r"^- \*\*([\w ]+?)[:,]?\*\*", ITEMS[title], re.M)
    assert [head.replace("They are", "It is").replace("they say", "it says") for head in heads] == [
        "What it says", "It is right", "Otherwise", "Shown",
    ]  # fmt: skip
    shown = ITEMS[title].split("- **Shown**")[1]
    assert re.search(r"\{ref\}`sec-[\w-]+`", shown.split("\n\n")[0]), "name the section that shows it"


def test_every_lecture_is_treated():
    said = " ".join(re.findall(r"- \*\*What (?:it says|they say):\*\*.*?(?=\n- )", PAGE, re.S))
    assert set(re.findall(r"lectures? ([BISKH])\b", said)) == set("BISKH")
