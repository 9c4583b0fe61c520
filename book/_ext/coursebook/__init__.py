"""What the book adds to Jupyter Book: formulas without scripts, figures with alternative text, figures to drag, the
exercises with their buttons, problems on paper, the home page, the reference, the search, and pages that a keyboard
and a screen reader can use.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from . import (
    api,
    contents,
    copies,
    exercises,
    figures,
    formulas,
    home,
    lab,
    lectures,
    pages,
    print,
    problems,
    search,
    speed,
    syllabus,
    weight,
)


def setup(app: Sphinx) -> dict[str, Any]:
    for part in (
        contents,
        formulas,
        figures,
        lab,
        exercises,
        api,
        lectures,
        syllabus,
        problems,
        home,
        pages,
        print,
        copies,
        search,
        weight,
        speed,
    ):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
