"""The settings that a course's nbgrader_config.py loads: nbgrader's steps, with ours among them."""

from __future__ import annotations

from typing import Any

from ..checking.checks import FILE


def configure(c: Any) -> None:
    """Set up nbgrader for a course of this form; the course's own file can override the settings."""
    from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
    from nbgrader.preprocessors import Execute, SaveAutoGrades

    from .export import SafeExport
    from .policy import LatePolicy
    from .preprocessors import GradeSafely, HideTests, NoteUnsafe, ShowRubric, StableNotebook, StudentCopy, Transplant

    c.CourseDirectory.source_directory = "solutions"
    c.CourseDirectory.release_directory = "exercises"

    # These files contain the solutions; every other file in a source folder goes to the students.
    c.CourseDirectory.ignore = ["*.md", FILE, ".*", "__pycache__", "*.pyc"]

    c.GenerateAssignment.preprocessors = [*GenerateAssignment().preprocessors, StudentCopy, StableNotebook]

    # Grading takes only texts from a submission, runs them in a sandbox, and judges the results outside it.
    c.Autograde.sanitize_preprocessors = [Transplant, *Autograde().sanitize_preprocessors]
    ours = {Execute: [GradeSafely], SaveAutoGrades: [SaveAutoGrades, NoteUnsafe]}
    c.Autograde.autograde_preprocessors = [
        step for stock in Autograde().autograde_preprocessors for step in ours.get(stock, [stock])
    ]
    c.GenerateFeedback.preprocessors = [HideTests, ShowRubric, *GenerateFeedback().preprocessors]

    c.AssignLatePenalties.plugin_class = LatePolicy
    c.ExportApp.plugin_class = SafeExport
