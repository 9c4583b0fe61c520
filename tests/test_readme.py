"""The README's promises: its commands exist and its example runs."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
    out = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr


def test_the_two_commands_stand_at_the_top_and_exist():
    first = re.search(r"```\n(.*?)```", README, re.S).group(1)
    assert re.findall(r"^make (\w+)", first, re.M) == ["book", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)", README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target} does not exist"
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_files_that_the_readme_names_exist():
    for path in re.findall(r"\]\(([\w./-]+)\)|(exercises/[\w./-]+\.ipynb)", README):
        assert (ROOT / (path[0] or path[1])).exists(), path


def test_what_the_readme_counts_is_there():
    notebooks = list((ROOT / "exercises").glob("*/*.ipynb"))
    assert len(notebooks) == 11 and "eleven notebooks" in README
    parts = {path.parent.name for path in (ROOT / "book").glob("*/*.md") if "Check yourself" in path.read_text("utf-8")}
    parts -= {"introduction"}
    named = {path.parent.name for path in (ROOT / "book").glob("*/*.md") if "{exercise}`" in path.read_text("utf-8")}
    assert len(parts) == 7 and parts <= named, "at least one notebook for every part after the introduction"
    to_drag = sum(path.read_text("utf-8").count("\n```{lab} ") for path in (ROOT / "book").rglob("*.md"))
    assert to_drag == 9 and "Nine figures are interactive" in README
