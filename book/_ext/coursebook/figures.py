"""Figures: their alternative texts, their forms for phones and for dark mode, and the code below them.

A figure made by code gets its alternative text, its caption and its name in the cell's own header:

    ```{code-cell} python3
    ---
    mystnb:
      image:
        alt: Two clouds of points, and between them a curve that bends around the left one.
      figure:
        name: fig-boundary
        caption: The boundary of a kernel perceptron on two clouds.
    ---
    plots.decision_regions(model, X, y);
    ```

Its narrow form is drawn by the notebook (book/notebook/narrow.py), its dark forms by dark.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.core import render
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from .dark import darkened

logger = logging.getLogger(__name__)
FEWEST_WORDS = 4
FILE = re.compile(r"\.(png|svg|jpe?g|gif|pdf)$|^[\w./\\-]+$", re.IGNORECASE)
PHONE = "(max-width: 600px)"
POINT = 96 / 72  # pixels
SHORT = 16  # a twin's name begins with this many of the 64 letters of the figure's name


def check_alternative_text(app: Sphinx, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        alt = " ".join(image.get("alt", "").split())
        if not alt:
            logger.warning("an image has no alternative text (see book/_ext/coursebook/figures.py)", location=image)
        elif FILE.search(alt) or len(alt.split()) < FEWEST_WORDS:
            logger.warning("the alternative text %r does not say what the image shows", alt, location=image)


class WithNarrowForm:
    """Takes the narrow form of a figure out of the notebook, for myst-nb, which asks its plugins first."""

    mime_priority_overrides = ()

    @staticmethod
    def handle_mime(
        renderer: render.NbElementRenderer, data: render.MimeData, inline: bool
    ) -> list[nodes.Element] | None:
        narrow = data.output_metadata.get(data.mime_type, {}).get("narrow")
        if inline or narrow is None:
            return None
        (image,) = renderer.render_image(data)
        image["narrow"] = narrow
        return [image]


def visit_image(translator: Any, node: nodes.image) -> None:
    """Write a figure of the book as two pictures, one for light and one for dark mode, each in one or two forms."""
    source = Path(translator.builder.srcdir, node["uri"].lstrip("/"))
    type(translator).visit_image(translator, node)
    if translator.builder.name != "html" or source.suffix != ".svg" or not source.is_file():
        return
    tag = translator.body.pop()
    address = re.search(r'src="([^"]*)"', tag).group(1)
    forms = {"": source.read_text(encoding="utf-8")}
    if "narrow" in node:
        forms["-narrow"] = node["narrow"]
    images = Path(translator.builder.outdir, "_images")
    images.mkdir(exist_ok=True)
    for theme in ("light", "dark"):
        dark = "-dark" if theme == "dark" else ""
        translator.body.append('<picture class="figure">')
        for form, drawing in sorted(forms.items(), reverse=True):  # a browser uses the first that matches
            twin = f"{Path(address).stem[:SHORT]}{form}{dark}.svg" if form or dark else Path(address).name
            if form or dark:
                _write(images / twin, darkened(drawing) if dark else drawing)
            where, known = address.replace(Path(address).name, twin), size(drawing)
            room = f'width="{known[0]:.0f}" height="{known[1]:.0f}"' if known else ""
            if form:
                translator.body.append(f'<source media="{PHONE}" srcset="{where}" {room}>')
            else:
                shown = tag.replace(f'src="{address}"', f'src="{where}" class="only-{theme}" {room}')
                translator.body.append(shown.strip())
        translator.body.append("</picture>\n")


def size(drawing: str) -> tuple[float, float] | None:
    """Width and height of an SVG as matplotlib writes it, in pixels."""
    found = re.search(r'<svg [^>]*width="([\d.]+)pt" height="([\d.]+)pt"', drawing.replace("\n", " "))
    return (float(found[1]) * POINT, float(found[2]) * POINT) if found else None


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def remove_old_pictures(app: Sphinx, error: Exception | None) -> None:
    """A figure that has changed has a new name; the old file is no longer shown."""
    if error is None and app.builder.name == "html":
        out = Path(app.outdir)
        pages = [page.read_text(encoding="utf-8") for page in out.rglob("*.html") if "lite" not in page.parts]
        shown = {name for page in pages for name in re.findall(r"_images/([\w.-]+)", page)}
        for picture in out.glob("_images/*"):
            if picture.name not in shown:
                picture.unlink()


class CodeBelowFigures(SphinxPostTransform):
    """Move the folded code of a figure below its caption."""

    default_priority = 210  # after myst-nb has folded it
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for folded in list(self.document.findall(HideCodeCellNode)):
            cell = folded.parent
            if any(cell.findall(nodes.image)):
                folded["classes"].append("below-figure")
                cell.remove(folded)
                cell.append(folded)


def setup(app: Sphinx) -> None:
    render.load_mime_renders = lambda: [WithNarrowForm]  # myst-nb only finds plugins of installed packages
    app.connect("doctree-read", check_alternative_text)
    app.add_node(nodes.image, override=True, html=(visit_image, None))
    app.add_post_transform(CodeBelowFigures)
    app.connect("build-finished", remove_old_pictures)
