"""Groups that hand in together: `groups.csv` in the course folder, with the columns student and group.

If groups differ between assignments, a column assignment names the assignment that a line applies to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from .errors import CourseError
from .folder import Course
from .handed import Handed, is_student
from .tables import rows_with

FILE = "groups.csv"


def read_groups(course: Course, assignment: str) -> dict[str, tuple[str, ...]]:
    """Each student in a group -> all members of the group."""
    path = course.root / FILE
    members: dict[str, set[str]] = defaultdict(set)
    for line, row in rows_with(path, ("student", "group"), " and perhaps assignment"):
        if (row.get("assignment") or assignment) == assignment and row["student"] and row["group"]:
            if not is_student(row["student"]):
                raise CourseError(f"{path}, line {line}: {row['student']!r} cannot be a student's id")
            members[row["group"]].add(row["student"])
    found: dict[str, tuple[str, ...]] = {}
    for group, students in members.items():
        for student in students:
            if student in found:
                raise CourseError(f"{path}: {student} is in two groups for {assignment}, one of them {group}")
            found[student] = tuple(sorted(students))
    return found


def speakers(groups: Mapping[str, tuple[str, ...]], handed: Mapping[str, Handed]) -> dict[str, str]:
    """Who hands in for each student: the last member to do so, according to the collector or the files' times.

    >>> speakers({"ada": ("ada", "bob"), "bob": ("ada", "bob")}, {"bob": Handed(), "eve": Handed()})
    {'bob': 'bob', 'eve': 'eve', 'ada': 'bob'}
    """

    def came(student: str) -> tuple[bool, str, float, str]:
        one = handed[student]
        return bool(one.files), one.received, max(one.saved.values(), default=0.0), student

    found = {}
    for student in handed:
        found[student] = max((one for one in groups.get(student, (student,)) if one in handed), key=came)
    for student, members in groups.items():
        if student not in handed and (there := [one for one in members if one in handed]):
            found[student] = max(there, key=came)
    return found


def shared_result(
    result: Mapping[str, object], student: str, speaker: str, rivals: Collection[str]
) -> dict[str, object]:
    """The result of a group's submission, for another member, with a line that says who handed it in."""
    others = f"; {', '.join(sorted(rivals))} handed in as well, but earlier" if rivals else ""
    ending = {"notebook": "", "kind": "group", "text": f"Handed in by {speaker} for the group{others}."}
    endings = result["endings"]
    assert isinstance(endings, list)
    return {**result, "student": student, "endings": [*endings, ending]}
