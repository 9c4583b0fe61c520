"""The code that a reader sees comes in pieces that can be read at a glance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [name for name in parse_toc_yaml(ROOT / "_toc.yml") if (ROOT / f"{name}.md").exists()]
CELL = re.compile(r"^```\{code-cell\}.*\n((?:---\n(?:.*\n)*?---\n)?(?::.*\n)*)((?:.*\n)*?)^```$", re.MULTILINE)
NOT_SEEN = re.compile(r"hide-input|hide-cell|remove-input|remove-cell")
MOST_LINES = 20


def long_cells(text: str) -> list[str]:
    """The first lines of the visible cells that are too long."""
    seen = [body.strip("\n").splitlines() for head, body in CELL.findall(text) if not NOT_SEEN.search(head)]
    return [lines[0] for lines in seen if len(lines) > MOST_LINES]


@pytest.mark.parametrize("name", PAGES)
def test_cells_that_are_seen_are_short(name):
    assert long_cells((ROOT / f"{name}.md").read_text(encoding="utf-8")) == []


def test_a_long_cell_is_found_unless_it_is_folded():
    code = "".join(f"x{i} = {i}\n" for i in range(21))
    header = "---\ntags: [hide-input]\nmystnb:\n  image: {alt: A picture of it}\n---\n"
    cells = [f"```{{code-cell}} python3\n{head}{code}```\n" for head in ("", header, ":tags: [remove-cell]\n")]
    assert long_cells("Words.\n\n" + "\n".join(cells)) == ["x0 = 0"]
