"""Sentences that compare, and numbers in prose, are backed by an assertion nearby or by a written reason.

A *claim* is a paragraph, a list item, a caption or an alternative text with a comparing word or a typed decimal
number. It is backed if

- a code cell in the same subsection, from one heading to the next, has an `assert`,
- or its numbers come from the cells through `{glue}`,
- or a comment `% holds: the reason` stands directly below it (below a list, for all its items; below a cell, for its
  caption and its alternative text).

Definitions, theorems and proofs need no backing; nor do aims ("What you will be able to do") and tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[2]
NOT_PROSE = ("book/appendix/api", "book/appendix/bibliography", "book/appendix/answers")
PAGES = [name for name in parse_toc_yaml(ROOT / "_toc.yml") if not name.startswith(NOT_PROSE)]

ADJECTIVES = (
    "better|worse|faster|slower|larger|smaller|bigger|fewer|higher|lower|steeper|flatter|longer|shorter|wider|narrower|"
    "cheaper|smoother|earlier|later|farther|nearer|closer|stronger|weaker|safer|easier|harder|simpler"
)
WORDS = re.compile(
    rf"""\b(?:
      nearly | almost | hardly | barely | roughly | approximately | scarcely | tenfold | twice | beats? | outperforms?
    | vanish(?:es|ed)? | exceeds? | surpass(?:es)? | orders?\ of\ magnitude | several\ times | many\ times | by\ far
    | (?:better|worse|faster|slower|fewer|fastest|slowest)
    | (?:more|less|{ADJECTIVES})\ than(?!\ (?:one|two)\b)
    | (?:far|much|a\ little|slightly|even|times|noticeably|considerably)\ (?:more|less|{ADJECTIVES})
    | far\ from(?!\ (?:the|each|it|x|one|zero)\b) | far\ too | too\ few | as\ good\ as | as\ well\ as\ possible
    | times\ as | half\ (?:as|of|the) | (?:a|one)\ (?:third|quarter|fifth)\ (?:of|as)
    | (?:a|one)\ (?:tenth|hundredth|thousandth)
    | most\ of\ (?:the|them|it|all) | the\ majority
    | (?:about|around|some|close\ to|up\ to)\ (?:\d|half|a\ (?:third|quarter)|the\ same|as\ (?:many|much|good|long))
    )\b(?!-)""",
    re.VERBOSE | re.IGNORECASE,
)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")
# A chosen value, $\lambda = 0.1$; the number of a section or of an equation in a source.
NOT_A_RESULT = re.compile(
    r"\$\\?[A-Za-z']+(?:_\w|_\{[^}]*\})? *= *-?\d+\.\d+\$"
    r"|\b(?:[Ss]ections?|[Cc]hapters?|[Ee]quations?|[Ee]qs?\.|[Tt]heorems?|versions?|Python|numpy)"
    r" \(?\d+\.\d+(?:(?:,| to| and) \(?\d+\.\d+\)?)*"
    r"|\(\d\.\d+\)"
)
MARKUP = re.compile(r"\{(?!glue)[\w:-]+\}`[^`]*`|`+[^`]*`+|\]\([^)]*\)|https?://\S+|\{cite[^}]*\}")
NO_CLAIMS = ("{prf:", "{problems}", "{lab}", "{index}", "{math}", "{toctree}")
HOLDS = re.compile(r"\s*% holds: \S.{9,}")
FENCE = re.compile(r"(\s*)(`{3,}|:{3,})(.*)")
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.) ")


@dataclass
class Claim:
    line: int
    text: str
    in_list: bool = False
    held: bool = False

    @property
    def words(self) -> list[str]:
        text = MARKUP.sub(" ", NOT_A_RESULT.sub(" ", " ".join(self.text.split())))
        return [] if "{glue" in text else [match[0] for pattern in (WORDS, DECIMAL) for match in pattern.finditer(text)]


@dataclass
class Reader:
    """Reads a page line by line and collects its claims, subsection by subsection."""

    lines: list[str]
    number: int = 0  # number of lines read
    fences: list[str] = field(default_factory=list)
    current: Claim | None = None
    recent: list[Claim] = field(default_factory=list)  # the claims that a following `% holds:` would back
    subsection: list[Claim] = field(default_factory=list)
    asserted: bool = False

    def open_claims(self) -> Iterator[Claim]:
        self.skip_header()
        while self.number < len(self.lines):
            line = self.next_line()
            fence = FENCE.match(line)
            if fence:
                self.finish()
                self.fence(fence)
            elif re.match(r"#{1,4} ", line):
                yield from self.end_of_subsection()
            else:
                self.prose(line)
        yield from self.end_of_subsection()

    def next_line(self) -> str:
        self.number += 1
        return self.lines[self.number - 1]

    def skip_header(self) -> None:
        if self.lines and self.lines[0] == "---":
            self.number = self.lines.index("---", 1) + 1

    def end_of_subsection(self) -> Iterator[Claim]:
        self.finish()
        if not self.asserted:
            yield from (claim for claim in self.subsection if claim.words and not claim.held)
        self.subsection, self.recent, self.asserted = [], [], False

    def prose(self, line: str) -> None:
        if not line.strip():
            self.finish()
        elif HOLDS.match(line):
            self.finish()
            for claim in self.recent:
                claim.held = True
        elif line.lstrip().startswith("%") or line.lstrip().startswith("|") or re.match(r"\s*:[\w-]+:", line):
            self.finish()
            if alt := re.match(r"\s*:alt: (.*)", line):
                self.start(alt[1])
        elif line.strip() == "$$" or (line.lstrip().startswith("$$") and "$$" not in line.strip()[2:]):
            while "$$" not in self.next_line():  # a formula does not end the paragraph around it
                pass
        elif self.current is None or ITEM.match(line):
            self.finish()
            self.start(line, in_list=bool(ITEM.match(line)))
        else:
            self.current.text += " " + line

    def start(self, text: str, *, in_list: bool = False, line: int | None = None) -> None:
        self.current = Claim(line or self.number, text, in_list)

    def finish(self) -> None:
        if self.current is not None:
            keeps = self.current.in_list and self.recent and self.recent[-1].in_list
            self.recent = [*self.recent, self.current] if keeps else [self.current]
            self.subsection.append(self.current)
            self.current = None

    def fence(self, fence: re.Match[str]) -> None:
        _, marks, kind = fence.groups()
        if not kind.strip() and self.fences and marks == self.fences[-1]:
            self.fences.pop()
        elif "{code-cell}" in kind:
            self.cell(self.block(marks))
        elif kind.startswith(NO_CLAIMS) or not kind.startswith("{") or "What you will be able to do" in kind:
            self.block(marks)
        else:
            self.fences.append(marks)

    def block(self, marks: str) -> list[str]:
        """The lines up to the closing fence."""
        found = []
        while (line := self.next_line()).strip() != marks:
            found.append(line)
        return found

    def cell(self, lines: list[str]) -> None:
        self.asserted |= any(re.match(r"\s*assert\b", line) or "np.testing.assert_" in line for line in lines)
        if lines and lines[0] == "---":
            settings = yaml.safe_load("\n".join(lines[1 : lines.index("---", 1)])).get("mystnb", {})
            words = [settings.get("image", {}).get("alt", ""), settings.get("figure", {}).get("caption", "")]
            self.start("\n\n".join(words), line=self.number - len(lines) - 1)
            self.finish()


def unheld(text: str) -> list[tuple[int, list[str]]]:
    return [(claim.line, claim.words) for claim in Reader(text.splitlines()).open_claims()]


@pytest.mark.parametrize("page", PAGES)
def test_claims_are_held(page):
    found = unheld((ROOT / f"{page}.md").read_text(encoding="utf-8"))
    listed = "\n".join(f"{page}.md:{line}: {', '.join(words)}" for line, words in found)
    assert not found, f"nothing backs these claims: assert them, or write `% holds: why` below\n{listed}"


CELL = "```{code-cell} python3\n%s\n```\n"
CLAIM = "The first is nearly as good\nas the second.\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (CLAIM, [1]),
        ("The error is 0.25.\n", [1]),
        ("It takes about 30 steps, or twice the number.\n", [1]),
        ("- one\n- the other is worse\n- the last beats both\n", [2, 3]),
        ("```{note}\nIt vanishes.\n```\n", [2]),
        ("It\n\n$$\nx\n$$ (eq-x)\n\nvanishes.\n", [7]),
        (CELL % "---\nmystnb:\n  figure: {caption: The dashed curve is far steeper.}\n---\nplot()", [1]),
        (CLAIM + "\n" + CELL % "print(1)", [1]),
        (CLAIM + "\n## Next\n\n" + CELL % "assert True", [1]),
        (CLAIM + "% holds:\n", [1]),
        (CLAIM + "\nAnother paragraph.\n% holds: proved in the section before\n", [1]),
        # backed, or not a claim
        (CLAIM + "\n" + CELL % "assert True", []),
        (CELL % "assert True" + "\n" + CLAIM, []),
        (CLAIM + "% holds: proved in the section before\n", []),
        ("- one\n- the other is worse\n- the last is worse\n% holds: proved in the section before\n", []),
        ("The error is {glue:text}`error`, nearly the same.\n", []),
        ("With $\\lambda = 0.1$ and `x = 0.25`, as in section 6.1 and (6.13), there is more than one kernel.\n", []),
        ("```{prf:proof}\nThis is almost all.\n```\n", []),
        ("| nearly | twice |\n", []),
        ("A sentence about two half moons far from the origin.\n", []),
    ],
)
def test_what_is_found(text, lines):
    assert [line for line, _ in unheld(text)] == lines
