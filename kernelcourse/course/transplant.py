"""Rebuild a submission on the released notebook: only texts are taken from the student's file.

Tests, order, metadata, points and kernel are those of the release. What is taken is the text of the answer cells, by
grade_id, and of the cells that the student added, at their place among the graded cells. We do this ourselves,
because nbgrader's OverwriteCells keeps the student's file, and nbformat repairs or refuses what students actually send.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LARGEST = 100_000_000  # bytes in all notebooks of a submission, mostly old outputs, which are not taken
LONGEST = 1_000_000  # characters in a cell
BUDGET = 2_000_000  # bytes in all texts taken from a notebook
MOST = 500  # cells that a student may add
SHOWN, SHOWN_LINE, SHOWN_IN_ALL = 20_000, 2_000, 200_000  # characters of a cell, line and notebook that pages show
_BRACKETS = 10_000_000  # lists and objects in a file: each takes two bytes there and a hundred in memory
# A JSON string, or everything after a quotation mark that is never closed: a pattern that can fail would be tried again
# at every quotation mark inside.
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)', re.DOTALL)
_NUMBER = re.compile(r"\((\d{1,6})\)\.ipynb$")  # from a browser's second download
_DEFINITION = re.compile(r"^(?:(?:async +)?def|class)[ \t]+(\w+)|^(\w+) *=(?!=)", re.MULTILINE)


class Unreadable(ValueError):
    """A file that is not a notebook."""


@dataclass(frozen=True)
class Cell:
    """What is taken from a submitted cell."""

    text: str
    code: bool
    grade_id: str = ""
    by_nbgrader: bool = False  # the grade_id comes from nbgrader's metadata, not only from the cell's id


@dataclass(frozen=True)
class Ending:
    """Something unusual about a submission."""

    kind: str
    text: str
    notebook: str = ""

    @property
    def record(self) -> dict[str, str]:
        return {"notebook": self.notebook, "kind": self.kind, "text": self.text}


@dataclass
class Submitted:
    """A student's cells for each notebook of an assignment, and what was odd about the files."""

    cells: dict[str, list[Cell]] = field(default_factory=dict)
    endings: list[Ending] = field(default_factory=list)


def read_cells(content: bytes) -> list[Cell]:
    """The cells of a notebook file of any format version; raise `Unreadable` if it is not a notebook."""
    if len(content) > LARGEST:
        raise Unreadable(f"its size is {len(content) // 1_000_000} MB")
    if content.count(b"[") + content.count(b"{") > _BRACKETS:  # a long output may well contain as many
        rest = _TEXT.sub(b"", content)
        if rest.count(b"[") + rest.count(b"{") > _BRACKETS:
            raise Unreadable("it has millions of parts")
    try:
        document = json.loads(content.decode(json.detect_encoding(content), errors="replace"))
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is not JSON") from error
    except MemoryError as error:
        raise Unreadable("it takes too much memory") from error
    if not isinstance(document, dict):
        raise Unreadable("it holds no notebook")
    sheets = document.get("worksheets")  # notebooks of format 3
    groups = [document, *(sheets if isinstance(sheets, list) else [])]
    found = [group["cells"] for group in groups if isinstance(group, dict) and isinstance(group.get("cells"), list)]
    if not found:
        raise Unreadable("it has no cells")
    entries = (entry for cells in found for entry in cells if entry and isinstance(entry, dict))
    return [cell for cell in map(_cell, entries) if cell.text or cell.grade_id]


def _cell(entry: Mapping[str, Any]) -> Cell:
    text = entry.get("source", entry.get("input", ""))
    if isinstance(text, list):
        text = "".join(line for line in text if isinstance(line, str))
    text = text.replace("\r\n", "\n").replace("\r", "\n")[:LONGEST] if isinstance(text, str) else ""
    text = text.encode("utf-8", errors="replace").decode()  # half a surrogate pair cannot be written
    metadata = entry.get("metadata")
    ours = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = ours.get("grade_id") if isinstance(ours, dict) else None
    name = grade_id if isinstance(grade_id, str) else entry.get("id")  # released cells have it as their id, too
    code = entry.get("cell_type") == "code"
    return Cell(text, code, name if isinstance(name, str) else "", by_nbgrader=isinstance(grade_id, str))


def assign(
    files: Mapping[str, bytes], releases: Mapping[str, Any], saved: Mapping[str, float] | None = None
) -> Submitted:
    """Find each released notebook among the files of a submission, under its own name or another.

    If several fit, the one saved last counts; among those saved at the same time, the one that a browser or the student
    gave the highest number.
    """
    submitted = Submitted()
    readable: dict[str, list[Cell]] = {}
    broken: dict[str, str] = {}
    for name, content in files.items():
        try:
            readable[name] = read_cells(content)
        except Unreadable as error:
            broken[name] = str(error)
    for stem, release in releases.items():
        _find(stem, release, readable, broken, saved or {}, submitted)
    return submitted


def _find(
    stem: str,
    release: Any,
    readable: dict[str, list[Cell]],
    broken: dict[str, str],
    saved: Mapping[str, float],
    submitted: Submitted,
) -> None:
    def odd(kind: str, text: str) -> None:
        submitted.endings.append(Ending(kind, text, stem))

    def rank(other: str) -> tuple[Any, ...]:
        number = _NUMBER.search(other)
        return -(saved.get(other, 0) // 2), -int(number[1]) if number else 0, other != name, other

    name = f"{stem}.ipynb"
    fitting = sorted((other for other in readable if _fits(with_names(readable[other], release), release)), key=rank)
    if not fitting:
        submitted.cells[stem] = []
        odd(*_nothing_fits(name, readable, broken))
        return
    taken = fitting[0]
    submitted.cells[stem], left_out = within_budget(readable[taken], release)
    if len(submitted.cells[stem]) > MOST + len(release.cells):
        odd("too many cells", f"It has {len(submitted.cells[stem])} cells; of the added ones, {MOST} were run.")
    if left_out:
        text = f"Its texts add up to more than {BUDGET // 1_000_000} MB: {left_out} of its cells were left out."
        odd("too much text", text)
    if len(fitting) > 1:
        if saved.get(taken, 0) // 2 > saved.get(fitting[1], 0) // 2:
            why = "which was saved last"
        elif _NUMBER.search(taken):
            why = "whose number is the highest"
        else:
            why = "which has the right name" if taken == name else "which comes first"
        odd("several files", f"{listed(fitting)} fit; the one taken is {printable(taken)}, {why}.")
    elif taken != name:
        odd("wrong file name", f"{printable(taken)} was taken for {name}.")


def _nothing_fits(name: str, readable: Mapping[str, Any], broken: Mapping[str, str]) -> tuple[str, str]:
    """Why there is nothing to grade under a name."""
    if name in broken or (broken and not readable):
        other = name if name in broken else min(broken)
        return "unreadable notebook", f"{printable(other)} cannot be read: {broken[other]}."
    if readable:
        return "wrong assignment", f"{printable(min(readable))} is not the notebook {name}."
    return "missing notebook", f"There is no {name}."


def within_budget(cells: list[Cell], release: Any) -> tuple[list[Cell], int]:
    """The cells whose texts fit within the budget, answers first, and the number of cells that do not fit."""
    asked = {_grade_id(cell) for cell in release.cells if _is_solution(cell)}
    left, without = BUDGET, set[int]()
    for position in sorted(range(len(cells)), key=lambda i: (cells[i].grade_id not in asked, i)):
        size = written_size(cells[position].text)
        if size <= left:
            left -= size
        else:
            without.add(position)
    return [replace(cell, text="") if i in without else cell for i, cell in enumerate(cells)], len(without)


def written_size(text: str) -> int:
    """The bytes that a text takes in a notebook's file, where a control character takes six.

    >>> written_size("a\\x00")
    9
    """
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", errors="replace"))


def shorten(notebook: Any) -> None:
    """Cut long texts of a notebook that has run: highlighting one on a page takes quadratic time.

    The student's file keeps the whole text.
    """
    left = SHOWN_IN_ALL
    for cell in notebook.cells:
        if not cell.metadata.get("nbgrader", {}).get("locked"):
            cell.source = cut(cell.source, min(SHOWN, max(left, 100)))
            left -= len(cell.source)


def cut(text: str, most: int, line: int = SHOWN_LINE) -> str:
    """The beginning of a text and of each of its long lines.

    >>> cut("abcdef" + chr(10) + "g", 100, 3)
    'abc … (cut)\\ng'
    """
    if len(text) <= min(most, line):
        return text
    short = "\n".join(one if len(one) <= line else f"{one[:line]} … (cut)" for one in text[:most].split("\n"))
    return short if len(text) <= most else f"{short}\n… (cut: {len(text):,} characters in all)"


def printable(name: str) -> str:
    """A file's name, safe for a terminal and a page: no control characters, nothing but text.

    >>> printable("a\\x1b[31m\\udcff.ipynb")
    'a?[31m?.ipynb'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in name[:200])


def listed(names: list[str]) -> str:
    """File names for a line of text; if there are many, the first five.

    >>> listed(["a"]), listed(["a", "b"]), listed([*"abcdefgh"])
    ('a', 'a and b', 'a, b, c, d, e and 3 more')
    """
    shown = [printable(name) for name in names]
    shown = shown if len(shown) <= 6 else [*shown[:5], f"{len(shown) - 5} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _fits(cells: list[Cell], release: Any) -> bool:
    """Whether most of the grade_ids in the file are those of the release."""
    known = {_grade_id(cell) for cell in release.cells} - {""}
    ours = sum(cell.grade_id in known for cell in cells)
    return ours > 0 and ours >= sum(cell.by_nbgrader and cell.grade_id not in known for cell in cells)


def with_names(cells: list[Cell], release: Any) -> list[Cell]:
    """The cells with the ids that an editor dropped: ours are recognised by their text, answers by what they define.

    If any id is left, or most of our cells are missing, nothing is guessed.
    """
    graded = {_grade_id(cell): cell for cell in release.cells if _grade_id(cell) and cell.cell_type == "code"}
    if any(cell.grade_id in graded for cell in cells):
        return cells
    ours = {cell.source.strip(): name for name, cell in graded.items() if not _is_solution(cell)}
    if 2 * len(ours.keys() & {cell.text.strip() for cell in cells}) < len(ours):
        return cells
    answers = {name: defined_names([cell.source]) for name, cell in graded.items() if _is_solution(cell)}
    result = []
    for cell in cells:
        name = ours.get(cell.text.strip(), "")
        if cell.code and not name:
            here = defined_names([cell.text])
            name = next((answer for answer, names in answers.items() if names and names <= here), "")
            answers.pop(name, None)
        result.append(replace(cell, grade_id=name) if name else cell)
    return result


def defined_names(texts: Iterable[str]) -> set[str]:
    """The names that cells seem to define. A student's program is never parsed here: parsers can be made to crash."""
    return {name for text in texts for pair in _DEFINITION.findall(text) for name in pair if name}


def _is_solution(cell: Any) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _grade_id(cell: Any) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def transplant(cells: list[Cell], release: Any) -> Any:
    """The released notebook with the student's texts in it."""
    import nbformat

    cells = with_names(cells, release)
    layout = _Layout(release)
    answers: dict[int, str] = {}
    added: dict[int, list[Any]] = {}  # by the position of the released cell before them
    seen: set[int] = set()
    place, room = -1, MOST
    for cell in cells:
        position = layout.find(cell, place)
        if position is not None and position not in seen:
            seen.add(position)
            place = position
            if layout.is_answer(position):
                answers[position] = layout.text(position, cell)
        elif (position is None or layout.is_answer(position)) and cell.text.strip() and room:
            room -= 1
            new = nbformat.v4.new_code_cell(cell.text) if cell.code else None
            added.setdefault(place, []).append(new or nbformat.v4.new_markdown_cell(without_markup(cell.text)))
    elsewhere = defined_names(cell.text for cell in cells if cell.code)
    for position, ours in enumerate(release.cells):
        if position not in seen and _is_solution(ours) and ours.cell_type == "code":
            names = defined_names([ours.source])
            if names and names <= elsewhere:  # the stub would undo what another cell does
                answers[position] = "# This cell was deleted; another one defines what it asks for."
    return _put_together(release, answers, added, seen)


# MathJax commands that make a link, a script or a style
_WORDS = "href|require|style|class|cssId|mmlToken|bbox|unicode|tooltip|texttip|data|csname|url|includegraphics"
_ACTIVE = re.compile(rf"\\(?=(?:{_WORDS})(?![A-Za-z])|html[A-Z])")


def without_markup(text: str) -> str:
    """A student's text for a page that others read: HTML, links and diagrams are shown as they were typed.

    >>> without_markup("a <script>x</script> [b](javascript:y), https://z, and $a<b$, $x < y$")
    'a < script>x< /script> [b] (javascript:y), https: //z, and $a< b$, $x < y$'
    """
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)
    text = re.sub(r"\](?=[(:\[])", "] ", text)
    text = text.replace("://", ": //")  # a bare address would become a link
    text = re.sub(r"(?i)(mer)(maid)", r"\1 \2", text)  # a diagram that can contain links
    return _ACTIVE.sub(r"\\ ", text)


class _Layout:
    """Where the cells of a release are, by grade_id and by text."""

    def __init__(self, release: Any) -> None:
        self.cells = release.cells
        self.by_id = {_grade_id(cell): i for i, cell in enumerate(release.cells) if _grade_id(cell)}
        self.by_text: dict[str, list[int]] = {}
        for i, cell in enumerate(release.cells):
            if not _grade_id(cell):
                self.by_text.setdefault(cell.source.strip(), []).append(i)
        self.graded = sorted(self.by_id.values())

    def is_answer(self, position: int) -> bool:
        return _is_solution(self.cells[position])

    def text(self, position: int, cell: Cell) -> str:
        """An answer's text, left alone if it is code or as it was released."""
        ours = self.cells[position]
        return cell.text if ours.cell_type == "code" or cell.text == ours.source else without_markup(cell.text)

    def find(self, cell: Cell, place: int) -> int | None:
        """The released cell that a submitted cell was copied from.

        A cell that is not graded is recognised by its text, and only where it belongs: elsewhere it counts as added.
        """
        if cell.grade_id in self.by_id:
            return self.by_id[cell.grade_id]
        same = self.by_text.get(cell.text.strip())
        if same is None:
            return None
        following = (i for i in self.graded if i > place)
        end = next(following, len(self.cells))
        return next((i for i in same if place < i < end), None)


def _put_together(release: Any, answers: Mapping[int, str], added: Mapping[int, list[Any]], seen: set[int]) -> Any:
    result = copy.copy(release)
    result.metadata = copy.deepcopy(release.metadata)
    result.cells = list(added.get(-1, []))
    for position, original in enumerate(release.cells):
        deleted = seen and position not in seen and original.cell_type == "code" and not _grade_id(original)
        if not deleted:
            cell = copy.deepcopy(original)
            cell.source = answers.get(position, cell.source)
            result.cells.append(cell)
        result.cells += added.get(position, [])
    for number, cell in enumerate(result.cells):
        cell["id"] = f"{number:03}-{_grade_id(cell)}"[:64].rstrip("-")
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return result
