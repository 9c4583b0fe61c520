"""Tables that an instructor keeps or a platform exports: CSV files, whichever program saved them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from .errors import CourseError

Rows = list[tuple[int, dict[str, str]]]


def read_table(path: Path) -> tuple[list[str], Rows]:
    """The columns of a CSV file, and its rows with their line numbers.

    Cells are separated by commas, semicolons or tabs; the text is UTF-8, or UTF-16 with a byte order mark.
    """
    try:
        content = path.read_bytes()
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read as a table: {error}") from error
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = table.fieldnames = [(name or "").strip() for name in table.fieldnames or ()]
        rows = [(table.line_num, {name: (row[name] or "").strip() for name in columns}) for row in table]
    except csv.Error as error:
        raise CourseError(f"{path}, after line {table.line_num}: {error}") from error
    return columns, rows


def rows_with(path: Path, columns: tuple[str, ...], others: str = "") -> Rows:
    """The rows of a table that must have these columns; none if there is no such file."""
    if not path.is_file():
        return []
    found, rows = read_table(path)
    if missing := [name for name in columns if name not in found]:
        raise CourseError(f"{path} has no column {missing[0]!r}; expected {', '.join(columns)}{others}")
    return rows
