r"""A plan for a term: which sections and exercises to do in which week, and how long they take.

A block `{syllabus}` has one line for each week: sections, or the folder of a part for all of its sections, and the
numbers of exercises.

    1 | introduction, dual | 01

Minutes of reading are those that a section states below its title, `*25 minutes. Before this: …*`; an optional
section says so there. Minutes and points of an exercise are those of the students' notebook.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .contents import Section, read_section
from .exercises import Exercise, read_exercise

NOT_READ_IN_CLASS = ("opening", "recap")  # the first and the last page of a part


class Week(NamedTuple):
    name: str
    sections: list[Section]
    exercises: dict[str, Exercise]


def sections_of(names: str, pages: Iterable[str]) -> list[str]:
    """The sections that a line names, one by one or by their folder, in the order of the book."""
    listed = [page.removeprefix("book/") for page in pages if page.count("/") == 2]
    listed = [name for name in listed if not name.endswith(NOT_READ_IN_CLASS)]
    found = []
    for wanted in names.split(", "):
        matching = [name for name in listed if name == wanted or name.startswith(f"{wanted}/")]
        if not matching:
            raise ValueError(f"{wanted!r} is neither a section nor a part of the book")
        found += matching
    return found


def read_plan(block: str, root: Path, pages: Iterable[str]) -> list[Week]:
    pages, weeks = list(pages), []
    for line in filter(None, map(str.strip, block.splitlines())):
        fields = line.split(" | ")
        if len(fields) != 3:
            raise ValueError(f"{line!r}: expected a week, its sections and its exercises, as in 1 | introduction | 01")
        week, names, numbers = fields
        sections = [read_section(root, name) for name in sections_of(names, pages)]
        exercises = {number: read_exercise(root, number) for number in numbers.split(", ") if number != "–"}
        weeks.append(Week(week, [section for section in sections if not section.optional], exercises))
    return weeks


def table(weeks: list[Week]) -> str:
    """The plan as a table in MyST, with a row for the sums."""
    lines = ["| week | read | minutes | exercise | minutes | points |", "|---|---|---|---|---|---|"]
    for week in weeks:
        read = ", ".join(f"[](/book/{section.name}.md) ({section.minutes})" for section in week.sections)
        exercises = ", ".join(f"{{download}}`{n} </{exercise.path}>`" for n, exercise in week.exercises.items())
        reading, working, points = sums([week])
        lines.append(f"| {week.name} | {read} | {reading} | {exercises or '–'} | {working or '–'} | {points or '–'} |")
    reading, working, points = sums(weeks)
    lines.append(f"| **all** | | **{reading}** | | **{working}** | **{points}** |")
    return "\n".join(lines)


def sums(weeks: list[Week]) -> tuple[int, int, int]:
    """Minutes of reading, minutes of exercises, points."""
    exercises = [exercise for week in weeks for exercise in week.exercises.values()]
    return (
        sum(section.minutes for week in weeks for section in week.sections),
        sum(exercise.minutes for exercise in exercises),
        sum(exercise.points for exercise in exercises),
    )


class Syllabus(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        pages = [page.docname for page in self.env.external_site_map.values()]
        try:
            weeks = read_plan("\n".join(self.content), root, pages)
        except ValueError as error:
            raise self.error(str(error)) from None
        for week in weeks:
            sources = [f"book/{section.name}.md" for section in week.sections]
            for path in [*sources, *(exercise.path for exercise in week.exercises.values())]:
                self.env.note_dependency(str(root / path))
        return self.parse_text_to_nodes(table(weeks))


def setup(app: Sphinx) -> None:
    app.add_directive("syllabus", Syllabus)
