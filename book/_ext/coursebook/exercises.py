"""The buttons below a link to an exercise: do it in the browser, and, once the repository has an address, elsewhere.

A page links to an exercise's notebook with {download}, and the button comes by itself. It leads to the site that
`make lite` builds beside the pages; where there is none yet, a page says so.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx

NOTEBOOK = re.compile(r"/exercises/([\w-]+/[\w-]+\.ipynb)")  # folder and file
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
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


def buttons(notebook: str, *, to_root: str, repository: str = "", branch: str = "main") -> str:
    """The buttons of a notebook on a page from which `to_root` leads to the folder of the book."""
    address = escape(f"{to_root}lite/notebooks/index.html?path={Path(notebook).name}")
    links = [f'<a class="do-exercise" href="{address}">Do the exercise in your browser</a>']
    for name, address in elsewhere(notebook, repository, branch).items():
        links.append(f'<a href="{escape(address)}">Open it on {name}</a>')
    return f'<p class="exercise-buttons">{" ".join(links)}</p>'


def add_buttons(app: Sphinx, doctree: nodes.document) -> None:
    """One row of buttons below the paragraph that first links to a notebook; tables keep to their links."""
    seen = set()
    options = app.config.html_theme_options
    for link in list(doctree.findall(download_reference)):
        match = NOTEBOOK.fullmatch(link["reftarget"])
        above = ancestors(link)
        paragraph = next((node for node in above if isinstance(node, nodes.paragraph)), None)
        in_table = any(isinstance(node, nodes.entry) for node in above)
        if match is None or match[1] in seen or in_table or paragraph is None:
            continue
        seen.add(match[1])
        text = buttons(
            match[1],
            to_root="../" * app.env.docname.count("/"),
            repository=options.get("repository_url", ""),
            branch=options.get("repository_branch", "main"),
        )
        paragraph.parent.insert(paragraph.parent.index(paragraph) + 1, nodes.raw("", text, format="html"))


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
    app.connect("doctree-read", add_buttons)
    app.connect("build-finished", fill_the_place)
