r"""Docstrings are written to be read in a terminal: Markdown's backticks, and formulas between dollar signs.

Here they become reStructuredText for the pages of the reference, and Markdown for its tables.
"""

from __future__ import annotations

import re
import textwrap

INLINE = re.compile(r"``.+?``|`[^`]+`|\$[^$]+\$|(?<!\w)(\*\*?)\w[^*]*(?<!\s)\1(?![\w*])|[*_|\\]", re.DOTALL)


def restructure(text: str) -> str:
    """Markdown's inline code, formulas and emphasis as reStructuredText, everything else literally.

    >>> restructure("the weights `a` of $k(x)$")
    'the weights \\\\ ``a``\\\\  of \\\\ :math:`k(x)`\\\\ '
    >>> restructure("**all** rows of k * a * b, f(*args, **more)")
    '**all** rows of k \\\\* a \\\\* b, f(\\\\*args, \\\\*\\\\*more)'
    """

    def replace(match: re.Match[str]) -> str:
        piece = match[0]
        if piece[0] == "`":
            return rf"\ ``{piece.strip('`')}``\ "
        if piece[0] == "$":
            return rf"\ :math:`{piece[1:-1]}`\ "
        return piece if match[1] else "\\" + piece

    return INLINE.sub(replace, text)


def convert(text: str) -> str:
    """The paragraphs of a docstring in reStructuredText; doctests stay as they are."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        stripped = paragraph.strip()
        if stripped.startswith(">>>"):
            paragraphs.append(paragraph)
        elif stripped.startswith("$$") and stripped.endswith("$$"):
            paragraphs.append(".. math::\n\n" + textwrap.indent(stripped.strip("$"), "   "))
        else:
            paragraphs.append(restructure(paragraph))
    return "\n\n".join(paragraphs)


def split(text: str) -> tuple[str, str]:
    """What a docstring says, and its examples.

    >>> split("Add one.\\n\\n>>> f(1)\\n2")
    ('Add one.', '>>> f(1)\\n2')
    """
    paragraphs = text.split("\n\n")
    first = next((i for i, paragraph in enumerate(paragraphs) if paragraph.lstrip().startswith(">>>")), len(paragraphs))
    return "\n\n".join(paragraphs[:first]), "\n\n".join(paragraphs[first:])


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, in Markdown, without its final punctuation.

    >>> first_sentence("The weights: $a = 1$.\\n\\nMore.")
    'The weights: $a = 1$'
    """
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.]) (?=[A-Z`$])", paragraph)[0].rstrip(",:.")
