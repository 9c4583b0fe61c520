r"""Problems on paper: asked on the page of their section, answered at the back, solved for instructors only.

The problems of the page book/dual/representation.md are written in book/_problems/dual/representation.md:

    # The dual representation
    ## ● Two points by hand
    The problem, in MyST.
    ### Answer
    A number, a formula or a sentence.
    ### Solution
    The whole argument.
    ### Check
    A block of Python that asserts the answer. Only a problem whose title ends in "(proof)" may omit it.

Three directives show them: `{problems} dual/representation` on the page, `{answers} dual kernels` at the back of the
book for these parts, and `{solutions}` on a page that only the instructors' edition has (`make problems`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)
LEVELS = {"●": "easy", "●●": "medium", "●●●": "hard"}
PARTS = ("Answer", "Solution", "Check")
FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})")
HEADING = re.compile(r"(#{1,3}) +(.+?) *$")
CODE = re.compile(r"```python\n(.*?)^```\s*\Z", re.DOTALL | re.MULTILINE)

# ---------------------------------------------------------------------------------------------------- the files


@dataclass(frozen=True)
class Problem:
    number: int
    mark: str  # one of LEVELS
    title: str
    text: str
    answer: str
    solution: str
    check: str  # Python, or nothing for a proof


@dataclass(frozen=True)
class Section:
    name: str  # dual/representation
    title: str
    problems: tuple[Problem, ...]

    def label(self, kind: str, problem: Problem) -> str:
        return f"{kind}-{self.name.replace('/', '-')}-{problem.number}"


def headings(text: str) -> Iterator[tuple[int, str, str]]:
    """The level, the title and the text below each heading. A `#` inside a fence is not a heading."""
    level, title, below, fence = 0, "", [], ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        heading = None if fence or mark else HEADING.match(line)
        if heading:
            yield level, title, "\n".join(below).strip()
            level, title, below = len(heading[1]), heading[2], []
        else:
            below.append(line)
    yield level, title, "\n".join(below).strip()


def read_problem(number: int, title: str, text: str, parts: dict[str, str]) -> Problem:
    """One problem, or a ValueError that says what is wrong with it."""
    mark, _, name = title.partition(" ")
    if mark not in LEVELS:
        raise ValueError(f"the title begins with {mark!r}; expected a level, one of {' '.join(LEVELS)}")
    if not text:
        raise ValueError("there is no text between the title and the first part")
    if unknown := parts.keys() - set(PARTS):
        raise ValueError(f"unknown part {', '.join(sorted(unknown))!r}; the parts are {', '.join(PARTS)}")
    for part in ("Answer", "Solution"):
        if not parts.get(part):
            raise ValueError(f"there is no ### {part}")
    code = CODE.fullmatch(parts.get("Check", ""))
    if "Check" in parts and not (code and "assert" in code[1]):
        raise ValueError("### Check must be one block of Python with an assert")
    if not code and not name.endswith("(proof)"):
        raise ValueError('there is no ### Check; only a title that ends in "(proof)" may omit it')
    return Problem(number, mark, name, text, parts["Answer"], parts["Solution"], code[1] if code else "")


def read_section(folder: Path, name: str) -> Section:
    """The problems of a section, or a ValueError that names the file and the problem."""
    path = folder / f"{name}.md"
    place = f"book/_problems/{name}.md"
    if not path.is_file():
        raise ValueError(f"there is no file {place}")
    top, *found = list(headings(path.read_text(encoding="utf-8")))[1:] or [(0, "", "")]
    if top[0] != 1:
        raise ValueError(f"{place}: the first heading must be # and the section's title")
    problems: list[Problem] = []
    while found:
        (level, title, text), *found = found
        if level != 2:
            raise ValueError(f"{place}: {'#' * level} {title} is outside a problem")
        parts: dict[str, str] = {}
        while found and found[0][0] == 3:
            (_, part, below), *found = found
            parts[part] = below
        try:
            problems.append(read_problem(len(problems) + 1, title, text, parts))
        except ValueError as error:
            raise ValueError(f"{place}, {title!r}: {error}") from None
    if not problems:
        raise ValueError(f"{place}: it has no problem; expected a heading ## with a level and a title")
    return Section(name, top[1], tuple(problems))


# ----------------------------------------------------------------------------------------------- the directives


class ProblemDirective(SphinxDirective):
    """What the three directives share: reading a section, and typesetting one entry per problem."""

    def section(self, name: str) -> Section:
        folder = Path(self.env.srcdir, "book/_problems")
        self.env.note_dependency(str(folder / f"{name}.md"))
        try:
            return read_section(folder, name)
        except ValueError as error:
            raise self.error(str(error)) from None

    def entry(self, label: str, heading: str, *texts: str, mark: str = "") -> nodes.Element:
        """A box with a heading and paragraphs; `label` is the target of links to it."""
        title, *body = self.parse_text_to_nodes("\n\n".join([heading, *texts]))
        title["classes"].append("problem-title")
        if mark:  # the dots for sighted readers, and the word for screen readers
            dots = nodes.raw("", f' <span class="level" aria-hidden="true">{mark}</span>\u00a0', format="html")
            room = nodes.raw("", rf"\quad {mark}~", format="latex")
            title.extend([dots, room, nodes.inline("", LEVELS[mark], classes=["level"])])
        box = nodes.container("", title, *body, classes=["problem"], ids=[label], names=[label])
        self.state.document.note_explicit_target(box, box)
        return box


class ProblemsDirective(ProblemDirective):
    """The problems of one section, each with a link to its answer."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        section = self.section(self.arguments[0])
        if self.env.docname != f"book/{section.name}":
            raise self.error(f"these are the problems of book/{section.name}.md")
        self.env.metadata[self.env.docname]["problems"] = True
        return [
            self.entry(
                section.label("problem", problem),
                f"**Problem {problem.number}. {problem.title}**",
                problem.text,
                f"{{ref}}`Answer to problem {problem.number} <{section.label('answer', problem)}>`",
                mark=problem.mark,
            )
            for problem in section.problems
        ]


class BookDirective(ProblemDirective):
    """The problems of the whole book or of the named parts, section by section as in the table of contents."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # sections come and go
        parts = self.arguments[0].split() if self.arguments else []
        names = [page.docname.removeprefix("book/") for page in self.env.external_site_map.values()]
        found = [name for name in names if Path(self.env.srcdir, f"book/_problems/{name}.md").is_file()]
        return [self.group(self.section(name)) for name in found if not parts or name.split("/")[0] in parts]

    def group(self, section: Section) -> nodes.Element:
        """A section of this page, which links to the page that it belongs to."""
        name = f"on-{section.name.replace('/', '-')}"
        title = nodes.title("", "", *self.parse_inline(section.title)[0])
        where = self.parse_text_to_nodes(f"Problems of [](/book/{section.name}.md).")
        entries = [self.show(section, problem) for problem in section.problems]
        return nodes.section("", title, *where, *entries, ids=[name], names=[name])

    def show(self, section: Section, problem: Problem) -> nodes.Element:
        raise NotImplementedError


class AnswersDirective(BookDirective):
    """The answers, each with a link back to its problem."""

    def show(self, section: Section, problem: Problem) -> nodes.Element:
        back = f"{{ref}}`Problem {problem.number} <{section.label('problem', problem)}>`"
        return self.entry(section.label("answer", problem), f"**{back}. {problem.title}**", problem.answer)


class SolutionsDirective(BookDirective):
    """Everything, for instructors."""

    def show(self, section: Section, problem: Problem) -> nodes.Element:
        parts = (problem.text, "*Answer.*", problem.answer, "*Solution.*", problem.solution)
        heading = f"**Problem {problem.number}. {problem.title}**"
        return self.entry(section.label("solution", problem), heading, *parts, mark=problem.mark)


def check_shown(app: Sphinx, env: BuildEnvironment) -> None:
    """Every file with problems belongs to a page, and that page shows it."""
    folder = Path(env.srcdir, "book/_problems")
    for path in sorted(folder.rglob("*.md")):
        docname = f"book/{path.relative_to(folder).with_suffix('').as_posix()}"
        if docname in env.found_docs and "problems" not in env.metadata[docname]:
            name = docname.removeprefix("book/")
            logger.warning(
                "the page does not show book/_problems/%s.md: add {problems} %s", name, name, location=docname
            )


def setup(app: Sphinx) -> None:
    app.add_directive("problems", ProblemsDirective)
    app.add_directive("answers", AnswersDirective)
    app.add_directive("solutions", SolutionsDirective)
    app.connect("env-check-consistency", check_shown)
