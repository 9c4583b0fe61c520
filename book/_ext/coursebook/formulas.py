r"""Formulas, rendered by KaTeX while the book is built, so that a page needs no script to show them.

The script is the one in sphinxcontrib-katex, which would run it in node; here a JavaScript engine inside this process
runs it, so that building the book needs nothing but Python. This module adds the book's macros, a warning that names
the line of a formula that KaTeX refuses (and fails the build), a box around each displayed formula, which scrolls on a
phone, and punctuation that stays on the line of its formula.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import quickjs
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinxcontrib import katex

logger = logging.getLogger(__name__)

# One table for the pages (KaTeX) and for the PDF (LaTeX).
MACROS = {
    r"\R": r"\mathbb{R}",
    r"\N": r"\mathbb{N}",
    r"\T": r"\top",
    r"\hilbert": r"\mathcal{H}",
    r"\E": r"\operatorname{\mathbb{E}}",
    r"\Prob": r"\operatorname{\mathbb{P}}",
    r"\argmin": r"\operatorname*{arg\,min}",
    r"\argmax": r"\operatorname*{arg\,max}",
    r"\sgn": r"\operatorname{sgn}",
    r"\tr": r"\operatorname{tr}",
    r"\diag": r"\operatorname{diag}",
    r"\rank": r"\operatorname{rank}",
    r"\softmax": r"\operatorname{softmax}",
    r"\norm": r"\left\lVert #1 \right\rVert",
    r"\abs": r"\left\lvert #1 \right\rvert",
    r"\inner": r"\left\langle #1, #2 \right\rangle",
    r"\dd": r"\mathrm{d}",
}
OPTIONS = {"throwOnError": True, "strict": "error", "macros": MACROS}
SOURCE = re.compile(r"</?semantics>|<annotation.*?</annotation>", re.DOTALL)
# "Function application" after the max of an index, where MathML allows no further part.
APPLIED = re.compile("<mo>\u2061</mo>(?=</ms(?:ub|up)>|<(m[ino])[^>]*>[^<]*</\\1></msubsup>)")
START, END = '<span class="base">', "</span></span></span>"  # the tags of parts between which a line may break
BEFORE = re.compile(r"[(\[“‘]+$")
AFTER = re.compile(r"^(?:[-’]\w+|[,.;:!?)\]”’…])[,.;:!?)\]”’…]*")
DONE, MARK = r"\square", "\u00a0□"  # the end of a proof, which stays on the line of its last word


RENDER = """(latex, options) => {
  try {
    return JSON.stringify({ html: katex.renderToString(latex, JSON.parse(options)) });
  } catch (error) {
    return JSON.stringify({ error: error.message });
  }
}"""


@cache
def _katex() -> Callable[[str, str], str]:
    """KaTeX's `renderToString`, loaded once."""
    context = quickjs.Context()
    context.eval((Path(katex.__file__).parent / "katex.min.js").read_text(encoding="utf-8"))
    return context.eval(RENDER)


@cache
def to_html(latex: str, *, display: bool) -> str:
    """A formula as HTML and MathML, without its source, which would take up a tenth of the page and match searches."""
    answer = json.loads(_katex()(latex, json.dumps(OPTIONS | {"displayMode": display})))
    if "error" in answer:
        raise ValueError(answer["error"])
    return APPLIED.sub("", SOURCE.sub("", answer["html"]))


def render(writer, node: nodes.Element, *, display: bool) -> str:
    """The formula as HTML and MathML. A formula that KaTeX refuses causes a warning and is shown as it was written."""
    try:
        return to_html(node.astext(), display=display)
    except ValueError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{writer.encode(node.astext())}</code>"


class Punctuation(SphinxPostTransform):
    """Put text that touches an inline formula into the formula: a browser may break the line at either end of it."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for math in list(self.document.findall(nodes.math)):
            after = math.next_node(descend=False, siblings=True)
            for side, text, pattern in (("before", math.previous_sibling(), BEFORE), ("after", after, AFTER)):
                if isinstance(text, nodes.Text) and (found := pattern.search(text.astext())):
                    math[side] = found[0]
                    text.parent.replace(text, nodes.Text(pattern.sub("", text.astext(), count=1)))
        for math in [math for math in self.document.findall(nodes.math) if math.astext() == DONE]:
            before = math.parent.children[: math.parent.index(math)]
            last = next((node for node in reversed(before) if node.astext().strip()), None)
            if isinstance(last, nodes.Text):
                last.parent.replace(last, nodes.Text(last.astext().rstrip() + MARK))
                math.parent.remove(math)
            elif isinstance(last, nodes.math):
                last["after"] = last.get("after", "") + MARK
                math.parent.remove(math)


def visit_inline(writer, node: nodes.math) -> None:
    def beside(side: str) -> str:
        return f'<span class="beside">{writer.encode(node[side])}</span>' if side in node else ""

    html = render(writer, node, display=False).replace(START, START + beside("before"), 1)
    end = END if html.endswith(END) else ""
    writer.body.append(f'<span class="math">{html.removesuffix(END)}{beside("after")}{end}</span>')
    raise nodes.SkipNode


def visit_display(writer, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="formula"))
    writer.body.append(f'<div class="scroll">{render(writer, node, display=True)}</div>')
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="number">({number})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def latex_macros(app: Sphinx, config: Config) -> None:
    def define(name: str, meaning: str) -> str:
        count = sum(f"#{n}" in meaning for n in (1, 2, 3))
        arguments = f"[{count}]" if count else ""
        return rf"\providecommand{{{name}}}{{}}\renewcommand{{{name}}}{arguments}{{{meaning}}}"

    preamble = "\n".join(define(*macro) for macro in MACROS.items())
    config.latex_elements["preamble"] = config.latex_elements.get("preamble", "") + "\n" + preamble


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("prerendered", (visit_inline, None), (visit_display, None))
    app.add_post_transform(Punctuation)
    app.connect("config-inited", latex_macros)
