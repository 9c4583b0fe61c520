"""What `nbgrader export` writes, with quoted cells and without formulas that a spreadsheet would run.

nbgrader puts names and addresses into its file as they are: a comma in one moves the points to another column, and a
spreadsheet runs what begins with an equals sign.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nbgrader.plugins import CsvExportPlugin

from .lms import harmless


class _Cell(str):
    """Text that nbgrader treats as an ordinary string and that is written as one quoted cell."""

    def __format__(self, form: str) -> str:
        return '"' + harmless(self).replace('"', '""') + '"'


class SafeExport(CsvExportPlugin):
    """nbgrader's table, with people's names quoted and made harmless."""

    def export(self, gradebook: Any) -> None:
        students = [
            SimpleNamespace(
                id=_Cell(one.id),
                first_name=_Cell(one.first_name or ""),
                last_name=_Cell(one.last_name or ""),
                email=_Cell(one.email or ""),
            )
            for one in gradebook.students
        ]
        find = gradebook.find_submission
        super().export(SimpleNamespace(assignments=gradebook.assignments, students=students, find_submission=find))
