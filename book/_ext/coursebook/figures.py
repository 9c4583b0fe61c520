"""Every image has alternative text: what it shows, in a sentence, for those who do not see it.

A figure made by code gets its text, its caption and its name in the cell's own header:

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
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
FEWEST_WORDS = 4
FILE = re.compile(r"\.(png|svg|jpe?g|gif|pdf)$|^[\w./\\-]+$", re.IGNORECASE)


def check_alternative_text(app: Sphinx, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        alt = " ".join(image.get("alt", "").split())
        if not alt:
            logger.warning("an image has no alternative text (see book/_ext/coursebook/figures.py)", location=image)
        elif FILE.search(alt) or len(alt.split()) < FEWEST_WORDS:
            logger.warning("the alternative text %r does not say what the image shows", alt, location=image)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", check_alternative_text)
