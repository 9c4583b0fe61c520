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

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

SOURCE = Path(__file__).resolve().parents[2] / "_static" / "lab"
IMPORT = re.compile(r'^import \{ .* \} from "\./(\w+\.js)";$')
DEFINED = re.compile(r"^(?:function|class|const|let) (\w+)")


# ----------------------------------------------------------------------------------------------- the script


def squeeze(line: str) -> str:
    """A line without its indentation and without the spaces around punctuation, but for those in strings.

    >>> squeeze('  const f = (x) => g(x, "a, b");')
    'const f=(x)=>g(x,"a, b");'
    """
    if "`" in line or re.search(r"/\S", line):  # templates and regular expressions are left alone
        return line.strip()
    pieces = re.split(r'("[^"]*")', line.strip())
    pieces[::2] = [re.sub(r" ?([=,;:{}()<>?&|*\[\]]) ?", r"\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def bundle(entry: str = "main.js") -> str:
    """The module `entry` and all that it imports, each once and after what it needs, as one script."""
    lines, defined, seen = [], {}, set()

    def add(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        own = []
        for line in (SOURCE / name).read_text(encoding="utf-8").splitlines():
            if match := IMPORT.match(line):
                add(match[1])
            elif line.strip() and not line.lstrip().startswith("//"):
                own.append(line.removeprefix("export "))
        for line in own:
            if match := DEFINED.match(line):
                other = defined.setdefault(match[1], name)
                if other != name:
                    raise ValueError(f"{other} and {name} both define {match[1]}: names of the lab must be unique")
        lines.extend(map(squeeze, own))

    add(entry)
    script = "\n".join(["(() => {", '"use strict";', *lines, "})();", ""])
    return re.sub(r"(?<=[,{(\[])\n", "", script)  # where a statement goes on anyway


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
