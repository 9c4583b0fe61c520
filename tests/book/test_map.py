"""The map of the lectures in the book: complete, and true of the book, the library and the exercises."""

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
PRACTISED = (
    "B2 B3 B4 B5 B6 B7 B9 B10 B12 B13 B14 B15 B16 I1 I2 I3 I5 S1 S2 S3 S4 S5 S6 S7 S9 S10 S12 "
    "K2 K3 K5 K7 K9 K10 K11 K12 H3 H5 H7 H9"
).split()
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
    if id_ in PRACTISED:
        (notebook,) = re.findall(r"</(exercises/[^>]+)>", exercise)
        assert (ROOT / notebook).exists()
