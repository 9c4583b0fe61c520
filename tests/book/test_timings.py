"""Timings in the book are those of a saved run: no build fails because the machine was busy."""

import ast
import json
import re
import sys
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]
CLOCK = re.compile(r"\b(?:process_time|perf_counter|monotonic|timeit|Timer|thread_time)\b")
TIMED = [page for page in sorted(ROOT.glob("book/*/*.md")) if CLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.fixture
def saved(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "notebook"))
    monkeypatch.delenv("BOOK_MEASURE", raising=False)
    sys.modules.pop("timings", None)
    from timings import saved

    return saved


def first(*args):
    return args


def second(*args):
    return args


def test_the_saved_timings_come_back_in_order_and_nothing_is_run(saved, tmp_path):
    file = tmp_path / "timings.json"
    file.write_text(json.dumps({"timings": [["first", 0.5], ["second", 0.25]]}), encoding="utf-8")
    seconds = saved(pytest.fail, str(file))
    assert [seconds(first, 1, repeats=7), seconds(second)] == [0.5, 0.25]
    with pytest.raises(LookupError, match=r"first where .*has nothing more: measure again with `make bench"):
        seconds(first)


def test_a_page_that_no_longer_fits_its_timings_says_so(saved, tmp_path):
    file = tmp_path / "timings.json"
    file.write_text(json.dumps({"timings": [["first", 0.5]]}), encoding="utf-8")
    with pytest.raises(LookupError, match=r"the page measures second where .*timings\.json has first"):
        saved(pytest.fail, str(file))(second)


def test_a_run_that_measures_writes_what_it_measured(saved, tmp_path, monkeypatch):
    record = tmp_path / "record"
    monkeypatch.setenv("BOOK_MEASURE", str(record))
    seconds = saved(lambda run, *args, repeats=1: float(repeats), "there is no such file")
    assert [seconds(first, repeats=3), seconds(second)] == [3.0, 1.0]
    assert [json.loads(line) for line in record.read_text().splitlines()] == [["first", 3.0], ["second", 1.0]]


def names(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


@pytest.mark.parametrize("page", TIMED, ids=lambda page: page.stem)
def test_no_assertion_depends_on_a_clock(page):
    """Follow what comes from a clock through a page, except what a saved run replaces."""
    timed = set()
    for cell in jupytext.read(page, fmt="md:myst").cells:
        for node in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ():
            code = ast.unparse(node) if isinstance(node, ast.stmt) else ""
            if isinstance(node, ast.FunctionDef) and CLOCK.search(code):
                timed.add(node.name)
            elif isinstance(node, ast.Assign) and " = saved(" in code:
                timed -= names(node)
            elif isinstance(node, ast.Assert):
                assert not names(node) & timed, f"{page.name}: {code}"
            elif isinstance(node, ast.Assign | ast.AugAssign) and (CLOCK.search(code) or names(node) & timed):
                timed |= set().union(*map(names, getattr(node, "targets", [getattr(node, "target", node)])))
            elif isinstance(node, ast.Expr) and ".append(" in code and names(node) & timed:
                timed |= names(node)
