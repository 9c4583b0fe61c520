"""The exercises on the pages: their names with points and minutes, a table of all exercises, and buttons to open them.

`{exercise}`06`` links to a notebook as "Exercise 6: support vector machines (19 points, about 90 minutes)"; the words
come from the students' notebook. Below it come the buttons: in the browser, on the site that `make lite` builds beside
the pages (if it has not been built yet, a page says so), and, once the repository has an address, on Colab and Binder.
The line below a section's title links to the same notebook. A block `{exercise-table}` lists all exercises.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from .contents import LABEL, READING, read_sections

NOTEBOOK = re.compile(r"/exercises/([\w-]+/[\w-]+\.ipynb)")  # folder and file
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
IN_BROWSER = "your browser"
NOT_BUILT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Exercises in the browser</title>
</head>
<body><main><h1>Exercises in the browser</h1>
<p>They are not part of this build of the book. In the course's folder, <code>make lite</code> builds them and
<code>make serve</code> opens them.</p>
<p><a href="../../index.html">Back to the book</a></p></main></body>
</html>
"""


WORKING = re.compile(r"\*\*Time:\*\* about (\d+) minutes")
FIRST_READ = re.compile(r"\*\*Read first:\*\*(.*?)(?=\n\n|\Z)", re.DOTALL)
TITLE = re.compile(r"(?<!\*)\*(?:\d+\. )?([^*]+)\*(?!\*)")


class Exercise(NamedTuple):
    path: str  # exercises/06-support-vector-machines/support-vector-machines.ipynb
    title: str
    minutes: int
    points: int
    titles: list[str]  # the titles of the sections to read first

    @property
    def number(self) -> int:
        return int(Path(self.path).parent.name[:2])

    @property
    def name(self) -> str:
        return f"Exercise {self.number}: {self.title[0].lower()}{self.title[1:]}"

    @property
    def size(self) -> str:
        return f"{self.points} points, about {self.minutes} minutes"

    @property
    def notebook(self) -> str:
        return self.path.removeprefix("exercises/")


def read_exercise(root: Path, number: str) -> Exercise:
    """The students' notebook for an exercise: the title, time and sections that it states, and the points of its
    cells."""
    paths = sorted(root.glob(f"exercises/{number}-*/*.ipynb"))
    if len(paths) != 1:
        raise ValueError(f"expected one notebook in exercises/{number}-…, found {len(paths)}")
    cells = json.loads(paths[0].read_text(encoding="utf-8"))["cells"]
    first = "".join(cells[0]["source"])
    title, stated = re.match(r"# \d+ (.+)", first), WORKING.search(first)
    if not title or not stated:
        raise ValueError(f"{paths[0].name} does not state its title and its time in the first cell")
    points = sum(cell["metadata"].get("nbgrader", {}).get("points", 0) for cell in cells)
    reading = FIRST_READ.search(first)
    titles = [" ".join(name.split()) for name in TITLE.findall(reading[1])] if reading else []
    return Exercise(paths[0].relative_to(root).as_posix(), title[1].strip(), int(stated[1]), points, titles)


def read_exercises(root: Path) -> list[Exercise]:
    return [read_exercise(root, folder.name[:2]) for folder in sorted((root / "exercises").glob("*-*"))]


def elsewhere(notebook: str, repository: str, branch: str) -> dict[str, str]:
    """The addresses of a notebook on Colab and Binder, which open what is in a public repository on GitHub.

    >>> elsewhere("01-a/a.ipynb", "https://github.com/me/course", "main")["Colab"]
    'https://colab.research.google.com/github/me/course/blob/main/exercises/01-a/a.ipynb'
    >>> elsewhere("01-a/a.ipynb", "", "main")
    {}
    """
    match = GITHUB.fullmatch(repository)
    if match is None:
        return {}
    path = quote(f"lab/tree/exercises/{notebook}", safe="")
    return {
        "Colab": f"https://colab.research.google.com/github/{match[1]}/blob/{branch}/exercises/{notebook}",
        "Binder": f"https://mybinder.org/v2/gh/{match[1]}/{branch}?urlpath={path}",
    }


def ways_to_open(notebook: str, *, to_root: str, repository: str = "", branch: str = "main") -> dict[str, str]:
    """Where a notebook opens: in the browser, and Colab and Binder if the repository is on GitHub."""
    site = f"{to_root}lite/notebooks/index.html?path={Path(notebook).name}"
    return {IN_BROWSER: site, **elsewhere(notebook, repository, branch)}


def buttons(notebook: str, *, to_root: str, repository: str = "", branch: str = "main") -> str:
    """The buttons for a notebook on a page from which `to_root` leads to the folder of the book."""
    ways = ways_to_open(notebook, to_root=to_root, repository=repository, branch=branch)
    links = [f'<a class="do-exercise" href="{escape(ways.pop(IN_BROWSER))}">Do the exercise in your browser</a>']
    links += [f'<a href="{escape(address)}">Open it on {name}</a>' for name, address in ways.items()]
    links += [f'<a href="{to_root}book/exercises.html">All exercises</a>']
    return f'<p class="exercise-buttons">{" ".join(links)}</p>'


def where(app: Sphinx, docname: str) -> dict[str, str]:
    """What `buttons` needs to know besides the notebook."""
    options = app.config.html_theme_options
    return {
        "to_root": "" if docname == app.config.root_doc else "../" * docname.count("/"),  # LaTeX has no addresses
        "repository": options.get("repository_url", ""),
        "branch": options.get("repository_branch", "main"),
    }


def add_buttons(app: Sphinx, doctree: nodes.document) -> None:
    """Add one row of buttons below the paragraph that first links to a notebook; tables have only their links.

    Only web pages have them: a PDF or an EPUB has nothing beside it that they could open.
    """
    if app.builder.name != "html":
        return
    seen: dict[str, download_reference] = {}
    for link in list(doctree.findall(download_reference)):
        match = NOTEBOOK.fullmatch(link["reftarget"])
        above = ancestors(link)
        paragraph = next((node for node in above if isinstance(node, nodes.paragraph)), None)
        in_table = any(isinstance(node, nodes.entry) for node in above)
        if match is None or match[1] in seen or in_table or paragraph is None:
            continue
        seen[match[1]] = link
        text = buttons(match[1], **where(app, app.env.docname))
        paragraph.parent.insert(paragraph.parent.index(paragraph) + 1, nodes.raw("", text, format="html"))
    add_launch_line(app, doctree, seen)


def add_launch_line(app: Sphinx, doctree: nodes.document, exercises: dict[str, download_reference]) -> None:
    """Links below the reading time of a page: to the page as a notebook, and to its exercise."""
    head = next((node for node in doctree.findall(nodes.paragraph) if READING.match(f"*{node.astext()}")), None)
    if head is None or not (is_notebook(app.env.doc2path(app.env.docname)) or exercises):
        return
    place = where(app, app.env.docname)
    line = nodes.paragraph(classes=["page-links"])
    if is_notebook(app.env.doc2path(app.env.docname)):
        page = app.env.docname.removeprefix("book/")
        line += raw_link("This page as a notebook", f"{place['to_root']}notebooks/{page}.ipynb", " download")
    for notebook, link in exercises.items():
        line += link.deepcopy()
        if place["repository"]:
            ways = ways_to_open(notebook, **place)
            line.extend(raw_link(way.capitalize(), address) for way, address in ways.items())
    head.parent.insert(head.parent.index(head) + 1, line)


def is_notebook(path: str) -> bool:
    return "```{code-cell}" in Path(path).read_text(encoding="utf-8")


def raw_link(words: str, address: str, more: str = "") -> nodes.raw:
    return nodes.raw("", f'<a href="{escape(address)}"{more}>{words}</a>', format="html")


class ExerciseRole(SphinxRole):
    """`{exercise}`06``: the notebook's name as a link, then its points and minutes; in a table, number and title."""

    def __init__(self, in_table: bool = False) -> None:
        self.in_table = in_table

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        root = Path(self.env.srcdir)
        try:
            exercise = read_exercise(root, self.text)
        except ValueError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        self.env.note_dependency(str(root / exercise.path))
        link = download_reference(
            "",
            "",
            nodes.inline("", f"{exercise.number}. {exercise.title}" if self.in_table else exercise.name),
            reftype="download",
            refdomain="",
            reftarget=f"/{exercise.path}",
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=False,
        )
        return [link] if self.in_table else [link, nodes.Text(f" ({exercise.size})")], []


class OpenExerciseRole(SphinxRole):
    """`{open-exercise}`06-a/a.ipynb``: where the notebook opens, for the cell of a table."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        ways = ways_to_open(self.text, **where(self.env.app, self.env.docname))
        links: list[nodes.Node] = [
            raw_link(way, address, ' class="do-exercise"' if way == IN_BROWSER else "") for way, address in ways.items()
        ]
        return [node for link in links for node in (nodes.Text(" "), link)][1:], []


def table(exercises: list[Exercise], sections: dict[str, str]) -> list[str]:
    """The rows of the table in MyST: exercise, points, minutes, where to open it, sections to read."""
    rows = []
    for exercise in exercises:
        if unknown := [title for title in exercise.titles if title not in sections]:
            raise ValueError(f"{exercise.path} names sections that the book does not have: {', '.join(unknown)}")
        read = ", ".join(f"[](/book/{sections[title]}.md)" for title in exercise.titles)
        link = f"{{exercise-title}}`{exercise.number:02}`"
        opened = f"{{open-exercise}}`{exercise.notebook}`"
        rows.append(f"| {link} | {exercise.points} | {exercise.minutes} | {opened} | {read} |")
    return rows


class ExerciseTable(SphinxDirective):
    """All exercises: what to read first, points, minutes, and where to open them."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        pages = {name: root / f"book/{name}.md" for name in read_sections(root)}
        titles = {LABEL.search(path.read_text(encoding="utf-8"))[2]: name for name, path in pages.items()}  # type: ignore[index]
        exercises = read_exercises(root)
        for path in (*pages.values(), *(root / exercise.path for exercise in exercises)):
            self.env.note_dependency(str(path))
        try:
            rows = table(exercises, titles)
        except ValueError as error:
            raise self.error(str(error)) from None
        points, minutes = (sum(getattr(entry, what) for entry in exercises) for what in ("points", "minutes"))
        head = ["| exercise (download) | points | minutes | open in | read first |", "|---|---|---|---|---|"]
        last = f"| **all** | **{points}** | **{minutes}** | | |"
        lines = [*head, *rows, last]
        if self.env.app.builder.name != "html":  # nothing opens a notebook from paper
            lines = ["|".join([*(cells := line.split("|"))[:4], *cells[5:]]) for line in lines]
        made = self.parse_text_to_nodes("\n".join(lines))
        return [nodes.container("", *made, classes=["exercise-table"])]


def ancestors(node: nodes.Node) -> list[nodes.Node]:
    return [node.parent, *ancestors(node.parent)] if node.parent is not None else []


def write_placeholder(book: Path) -> None:
    """Where the site has not been built, the buttons lead to a page that says so."""
    site = book / "lite"
    if not (site / "built.json").exists():
        (site / "notebooks").mkdir(parents=True, exist_ok=True)
        (site / "notebooks/index.html").write_text(NOT_BUILT, encoding="utf-8")


def fill_the_place(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        write_placeholder(Path(app.outdir))


def setup(app: Sphinx) -> None:
    app.add_role("exercise", ExerciseRole())
    app.add_role("exercise-title", ExerciseRole(in_table=True))
    app.add_role("open-exercise", OpenExerciseRole())
    app.add_directive("exercise-table", ExerciseTable)
    app.connect("doctree-read", add_buttons)
    app.connect("build-finished", fill_the_place)
