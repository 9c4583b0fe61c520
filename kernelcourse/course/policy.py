"""Rules for a term, which an instructor sets in nbgrader_config.py: what lateness costs, which submission counts, and
which source says when one arrived.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Dict, Enum, TraitError, validate
from traitlets.config import LoggingConfigurable

_DEFAULT = {"grace_hours": 0.0, "per_day": 0.0, "cap": 1.0}


class LatePolicy(LateSubmissionPlugin):
    """What lateness costs, as fractions of the points: nothing within the grace period, then `per_day` for each day
    begun since the due date, at most `cap`. Without a table, nbgrader's own `LateSubmissionPlugin` decides.

    >>> policy = LatePolicy(table={"grace_hours": 1, "per_day": 0.1, "cap": 0.5})
    >>> [policy.late_submission_penalty("ada", 20.0, 3600.0 * hours) for hours in (1, 2, 25, 24 * 30)]
    [0.0, 2.0, 4.0, 10.0]
    """

    table = Dict(help="grace_hours, per_day (a share of the points), cap (a share of the points)").tag(config=True)

    @validate("table")
    def _check(self, proposal: Any) -> dict[str, float]:
        table = proposal["value"]
        for name, value in table.items():
            if name not in _DEFAULT:
                raise TraitError(f"LatePolicy.table: {name!r} is not a rule; there are {', '.join(_DEFAULT)}")
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or value < 0 or (name != "grace_hours" and value > 1):
                wanted = "hours, 0 or more" if name == "grace_hours" else "a share from 0 to 1"
                raise TraitError(f"LatePolicy.table: {name} is {value!r}, expected {wanted}")
        return _DEFAULT | table if table else {}

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        if not self.table:
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        return score * share(self.table, total_seconds_late)


def share(table: Mapping[str, float], seconds_late: float) -> float:
    """The fraction of the points that is deducted.

    >>> share({"grace_hours": 0, "per_day": 0.2, "cap": 0.5}, 60.0)
    0.2
    """
    if seconds_late <= 3600 * table["grace_hours"]:
        return 0.0
    return min(table["cap"], table["per_day"] * math.ceil(seconds_late / 86400))


class Submissions(LoggingConfigurable):
    """Which of a student's submissions counts, and which source says when it arrived."""

    counts = Enum(("last", "best"), "last", help="of several submissions: the last, or the best after penalties").tag(
        config=True
    )
    received = Enum(
        ("collector", "timestamp.txt", "file"),
        "collector",
        help="what says when a submission arrived: the collector (submitted/received.csv, which `nbgrader collect`, "
        "`nbgrader zip_collect` and `kernelcourse collect` write), the file timestamp.txt in the student's folder, "
        "which a student may have written, or the notebook's own time",
    ).tag(config=True)


def late_plugin(config: Any) -> Any:
    """The plugin that the configuration names, or ours if it holds a table."""
    chosen = config.AssignLatePenalties.get("plugin_class") or LatePolicy
    if isinstance(chosen, str):
        from traitlets import import_item

        chosen = import_item(chosen)
    return chosen(config=config)
