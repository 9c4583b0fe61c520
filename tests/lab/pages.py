"""Small pages with one figure each, made of the same script, style sheet and box as the book's."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<link rel="stylesheet" href="lab.css">
<style>
html[data-theme="dark"] body {{ background: #121212; color: #eee }}
html[data-theme="dark"] a {{ color: #9cf }}
</style>
<main><h1>{name}</h1>
{boxes}</main>
<script defer src="lab.js"></script>
</html>
"""


def extension() -> ModuleType:
    """The book's extension, which is not part of the library."""
    spec = importlib.util.spec_from_file_location("lab_extension", ROOT / "book/_ext/coursebook/lab.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAB = extension()


def write_pages(folder: Path) -> Path:
    """A page for each figure, and one called `two` with two of them."""
    (folder / "lab.js").write_text(LAB.bundle(), encoding="utf-8")
    (folder / "lab.css").write_text(LAB.style(), encoding="utf-8")
    for name, figures in {**{name: [name] for name in LAB.STARTS}, "two": ["dual", "svm"]}.items():
        text = PAGE.format(name=name, boxes="".join(f"{LAB.opening(each)}</div>\n" for each in figures))
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def fragment(name: str, points: list[list[float]] | None = None, **state: object) -> str:
    """The address of a state, written as book/_static/lab/widgets.js writes it."""

    def code(value: float) -> str:
        number, text = round((value + 20) * 1000), ""
        for _ in range(3):
            number, digit = divmod(number, 36)
            text = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + text
        return text

    parts = [f"{key}:{value}" for key, value in state.items()]
    if points is not None:
        parts.append("points:" + "".join(code(x) + code(y) + str(int(label) + 1) for x, y, label in points))
    return f"#lab-{name}={','.join(parts)}"
