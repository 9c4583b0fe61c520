r"""The map of the lectures, page by page: which section to read with a lecture in hand.

A block `{lecture-pages}` on the page of the map has one line for each place in a lecture and its topics,

    6.2, equations 15 to 17 | B15

and becomes a table with the sections and exercises of these topics. Both are taken from the table of topics on the
same page, so that no section is named twice.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ID = re.compile(r"[BISKH]\d+")
BLOCK = re.compile(r"^```\{lecture-pages\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Topic(NamedTuple):
    title: str
    section: str  # a reference, in MyST
    exercise: str  # a link, or a dash


def read_topics(page: str) -> dict[str, Topic]:
    """The rows of the table of topics: id, topic, section, library, exercise."""
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines())
    return {
        row[0]: Topic(row[1], row[2], row[4])
        for row in rows
        if len(row) == 5 and ID.fullmatch(row[0])
    }  # fmt: skip


def read_places(block: str) -> list[tuple[str, list[str]]]:
    """The lines of a block: a place in the lecture, and the ids of its topics."""
    places = []
    for line in filter(None, map(str.strip, block.splitlines())):
        place, _, ids = line.rpartition(" | ")
        if not place or not all(ID.fullmatch(id_) for id_ in ids.split(", ")):
            raise ValueError(f"{line!r} is not a place with its topics; expected a line such as 6.1, remark 2 | B7")
        places.append((place, ids.split(", ")))
    return places


def table(places: list[tuple[str, list[str]]], topics: dict[str, Topic]) -> str:
    """A table in MyST: the place, its topics, the sections and the exercises."""
    lines = ["| in the lecture | topics | read | practise |", "|---|---|---|---|"]
    for place, ids in places:
        if unknown := [id_ for id_ in ids if id_ not in topics]:
            raise ValueError(f"{place!r}: there is no topic {', '.join(unknown)} in the table of topics")
        sections = dict.fromkeys(topics[id_].section for id_ in ids)
        exercises = dict.fromkeys(topics[id_].exercise for id_ in ids if topics[id_].exercise != "–")
        lines.append(f"| {place} | {', '.join(ids)} | {', '.join(sections)} | {', '.join(exercises) or '–'} |")
    return "\n".join(lines)


class LecturePages(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        try:
            text = table(read_places("\n".join(self.content)), read_topics(page))
        except ValueError as error:
            raise self.error(str(error)) from None
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> None:
    app.add_directive("lecture-pages", LecturePages)
