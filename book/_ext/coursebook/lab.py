r"""Figures to drag: a block

    ```{lab} dual
    ```

becomes an empty box which the book's own script fills. Without JavaScript, and in print, the box takes no room, and
the static figure beside it shows the same start.

The script is written as modules in book/_static/lab. A browser does not load modules from disk, so the build joins
them into one plain script, and only the pages with such a box load it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rjsmin
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

SOURCE = Path(__file__).resolve().parents[2] / "_static" / "lab"
IMPORT = re.compile(r'import \{ ([\w$]+(?:, [\w$]+)*) \} from "\./([\w-]+\.js)";')
DEFINED = re.compile(r"(export )?(?:(?:async )?function\*? ?|class |const |let |var )([\w$]+)")
KNOWN = 'import { a, b } from "./module.js"; and export before const, let, var, class or function'
TEMPLATE = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)


# ----------------------------------------------------------------------------------------------- the script


def bundle(entry: str = "main.js") -> str:
    """The module `entry` and all that it imports, each once and after what it needs, as one script.

    A bundler such as esbuild would want npm beside pip. Our modules use one form of import and one of export; any other
    line with one of these two words is refused, wherever the word stands.
    """
    scripts: list[str] = []
    defined: dict[str, str] = {}
    exports: dict[str, set[str]] = {}

    def add(name: str) -> None:
        exports[name], own = set(), []
        for number, line in enumerate((SOURCE / name).read_text(encoding="utf-8").splitlines(), 1):
            place = f"{name}, line {number}"
            if match := IMPORT.fullmatch(line):
                names, other = match.groups()
                if not (SOURCE / other).is_file():
                    raise ValueError(f"{place}: there is no module {other}")
                if other not in exports:
                    add(other)
                if unknown := set(names.split(", ")) - exports[other]:
                    raise ValueError(f"{place}: {other} does not export {', '.join(sorted(unknown))}")
                continue
            if match := DEFINED.match(line):
                line = line.removeprefix("export ")
                if match[1]:
                    exports[name].add(match[2])
                first = defined.setdefault(match[2], name)
                if first != name:
                    raise ValueError(f"{first} and {name} both define {match[2]}: names of the lab must be unique")
            if re.search(r"\b(import|export)\b", line) and not line.lstrip().startswith("//"):
                raise ValueError(f"{place}: {line.strip()!r} cannot be joined; the only forms are {KNOWN}")
            own.append(line)
        script = "\n".join(own)
        for template in TEMPLATE.findall(script):
            if template.count("{") != template.count("}"):  # rjsmin would take the inner one for code
                raise ValueError(f"{name}: a template inside a template, or a lone brace in one: {template!r}")
        scripts.append(script)

    add(entry)
    return rjsmin.jsmin("\n".join(["(() => {", '"use strict";', *scripts, "})();"])) + "\n"


def style() -> str:
    """The style sheet without its indentation."""
    return "".join(f"{line.strip()}\n" for line in (SOURCE / "lab.css").read_text(encoding="utf-8").splitlines())


# ------------------------------------------------------------------------------- the points that a figure starts with


def _points(X: Any, y: Any) -> list[list[float]]:
    """[x, y] or [x, y, label] for each point, to the three digits that a link to a state keeps."""
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


def _builder() -> dict[str, Any]:
    return {"points": [[x, 0] for x in (-3.5, -2, -1, 0.5, 1.5, 3)]}


STARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "builder": _builder,
    "dual": _dual,
    "gaussian": _gaussian,
    "perceptron": _perceptron,
    "playground": _playground,
    "svm": _svm,
}


# --------------------------------------------------------------------------------------------------- the directive


class lab(nodes.General, nodes.Element):
    """The box of one figure."""


class LabDirective(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in STARTS:
            raise self.error(f"there is no figure {name!r} to drag; there are {', '.join(STARTS)}")
        return [lab(name=name)]


def box(name: str) -> str:
    """The HTML of a figure before its script has run."""
    start = json.dumps(STARTS[name](), separators=(",", ":"))
    return f'<div class="lab" data-lab="{name}" data-start=\'{start}\'></div>\n'


def visit_html(writer: Any, node: lab) -> None:
    writer.body.append(box(node["name"]))
    raise nodes.SkipNode


def skip(writer: Any, node: lab) -> None:
    raise nodes.SkipNode


def load_on_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if doctree is not None and next(doctree.findall(lab), None) is not None:
        app.add_js_file("lab.js", loading_method="defer")
        app.add_css_file("lab.css")


def write_assets(app: Sphinx) -> None:
    """Before any page is written: a page's link carries a checksum of the file."""
    if app.builder.format == "html":
        static = Path(app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        (static / "lab.js").write_text(bundle(), encoding="utf-8")
        (static / "lab.css").write_text(style(), encoding="utf-8")


def leave_sources(app: Sphinx, config: Config) -> None:
    """The modules are not copied beside the script that is made of them."""
    config.exclude_patterns = [*config.exclude_patterns, "lab"]


def setup(app: Sphinx) -> None:
    app.add_node(lab, html=(visit_html, None), latex=(skip, None), text=(skip, None))
    app.add_directive("lab", LabDirective)
    app.connect("config-inited", leave_sources)
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", load_on_page)
