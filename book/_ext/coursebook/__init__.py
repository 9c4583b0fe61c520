"""What the book adds to Jupyter Book: formulas without scripts, figures with alternative text, figures to drag, buttons
that open an exercise, problems on paper, the API page, and pages that a keyboard and a screen reader can use.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from . import api, exercises, figures, formulas, lab, lectures, pages, problems, syllabus, weight


def setup(app: Sphinx) -> dict[str, Any]:
    for part in (formulas, figures, lab, exercises, api, lectures, syllabus, problems, pages, weight):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
