r"""What the book consists of, counted in every build: its parts and sections, minutes, exercises, figures to drag.

A page writes `{{ sections }}`, `{{ exercises }}`, `{{ problems }}`, `{{ labs }}` and `{{ hours }}` for the numbers. The
parts are those of _toc.yml: a part begins at a caption, and its sections are the numbered pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import yaml
from sphinx.application import Sphinx
from sphinx.config import Config

READING = re.compile(r"^\*(\d+) minutes(, optional)?\b", re.MULTILINE)
HEAD = re.compile(r"^\*\d+ minutes\b.*?\*$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"^\((sec-[\w-]+)\)=\n# (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"\[[^\]]*\]\((sec-[\w-]+)\)")
PROBLEM = re.compile(r"^## ●", re.MULTILINE)
LAB = re.compile(r"^```\{lab\} ", re.MULTILINE)


class Section(NamedTuple):
    name: str  # dual/representation
    minutes: int
    optional: bool


class Part(NamedTuple):
    caption: str
    folder: str  # dual
    sections: list[str]  # dual/representation, …


def read_section(root: Path, name: str) -> Section:
    """A section of the book, or a ValueError if it does not say how long it takes to read."""
    found = READING.search((root / f"book/{name}.md").read_text(encoding="utf-8"))
    if not found:
        raise ValueError(f"book/{name}.md states no reading time: expected a line *25 minutes. Before this: …*")
    return Section(name, int(found[1]), bool(found[2]))


def read_parts(root: Path) -> list[Part]:
    """The parts that have numbered sections."""
    parts: list[Part] = []
    for entry in yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")).get("parts", []):
        if "caption" in entry:
            parts.append(Part(entry["caption"], entry["chapters"][0]["file"].split("/")[1], []))
        if entry.get("numbered"):
            parts[-1].sections.extend(chapter["file"].removeprefix("book/") for chapter in entry["chapters"])
    return [part for part in parts if part.sections]


def read_sections(root: Path) -> list[str]:
    return [name for part in read_parts(root) for name in part.sections]


def minutes_of_parts(root: Path) -> dict[str, int]:
    """The minutes of each part whose sections all state theirs."""
    found = {}
    for part in read_parts(root):
        texts = [(root / f"book/{name}.md").read_text(encoding="utf-8") for name in part.sections]
        minutes = [int(stated[1]) for text in texts if (stated := READING.search(text))]
        if len(minutes) == len(texts):
            found[part.caption] = sum(minutes)
    return found


def needs(root: Path) -> dict[str, set[str]]:
    """For each section, the sections that it says to read first."""
    pages = {name: (root / f"book/{name}.md").read_text(encoding="utf-8") for name in read_sections(root)}
    names = {label[1]: name for name, text in pages.items() if (label := LABEL.search(text))}
    heads = {name: head[0] if (head := HEAD.search(text)) else "" for name, text in pages.items()}
    return {name: {names[label] for label in REFERENCE.findall(head)} for name, head in heads.items()}


def counts(root: Path) -> dict[str, int]:
    sections = read_sections(root)
    minutes = sum(read_section(root, name).minutes for name in sections)
    problems = (path.read_text(encoding="utf-8") for path in root.glob("book/_problems/**/*.md"))
    pages = (path.read_text(encoding="utf-8") for path in root.glob("book/**/*.md"))
    return {
        "sections": len(sections),
        "hours": round(minutes / 60),
        "exercises": len(list(root.glob("exercises/*/*.ipynb"))),
        "problems": sum(len(PROBLEM.findall(text)) for text in problems),
        "labs": sum(len(LAB.findall(text)) for text in pages),
    }


def substitute(app: Sphinx, config: Config) -> None:
    config.myst_substitutions = {**config.myst_substitutions, **counts(Path(app.srcdir))}


def setup(app: Sphinx) -> None:
    app.connect("config-inited", substitute, priority=300)  # before MyST reads its settings
