"""The submissions of an assignment: who handed in, for whom, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from .engine import load_config
from .errors import CourseError
from .folder import Course
from .groups import read_groups, speakers
from .handed import Handed, misnamed, read_handed, students_with
from .policy import Submissions
from .received import read_received, time_of
from .roster import enrolled, spelling
from .transplant import printable


class Submitted:
    """The submissions of an assignment, as they are when a run begins."""

    def __init__(self, course: Course, assignment: str) -> None:
        course.sources(assignment)  # raises an error that lists the assignments if this is not one of them
        self.course, self.assignment = course, assignment
        self.folder = course.root / "submitted"

    @cached_property
    def found(self) -> list[str]:
        return students_with(self.folder, self.assignment)

    @cached_property
    def noted(self) -> dict[str, str]:
        """When submissions arrived, according to the collector."""
        return {student: when for (student, _), when in read_received(self.folder, self.assignment).items()}

    @cached_property
    def source(self) -> str:
        return str(Submissions(config=load_config(self.course)).received)

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        return read_groups(self.course, self.assignment)

    @cached_property
    def speakers(self) -> dict[str, str]:
        """Who hands in for each student: a member of the group, or the student."""
        together = {student for student in self.found if student in self.groups}
        alone = {student: student for student in self.found if student not in together}
        return alone | speakers(self.groups, {student: self.read(student) for student in together})

    def read(self, student: str) -> Handed:
        handed = read_handed(self.folder, student, self.assignment)
        folder = self.folder / student / self.assignment
        handed.received = time_of(handed, self.noted.get(student, ""), self.source, folder)
        return handed

    def chosen(self, students: Sequence[str]) -> list[str]:
        """The students who were asked for, or all of them."""
        everybody = self.speakers
        if missing := sorted(set(students) - set(everybody)):
            raise CourseError(f"no submission of {self.assignment} by {', '.join(missing)} in {self.folder}")
        if not everybody:
            where = f"no folder submitted/<student>/{self.assignment} in {self.course.root}"
            raise CourseError(f"nothing to grade: {where}")
        return sorted(set(students)) or sorted(everybody)

    def members(self, speaker: str) -> list[str]:
        """The students for whom this one hands in."""
        return sorted(student for student, other in self.speakers.items() if other == speaker)

    def warnings(self) -> Iterator[str]:
        """A line for each name in the folder `submitted` or in groups.csv that is probably wrong."""
        for name in misnamed(self.folder, self.assignment):
            yield f"submitted/{printable(name)}: this cannot be a student's id; the folder is left out"
        roster = enrolled(self.course)
        for student in sorted(self.groups.keys() - roster - set(self.found)) if roster else ():
            yield f"groups.csv: {student} is not on the roster"
        spelled = {spelling(student): student for student in roster}
        for student in self.found:
            if student not in roster and (other := spelled.get(spelling(student))):
                yield f"submitted/{student}: the roster spells this id {other}; it is graded as another student's"

    def times(self) -> dict[str, str]:
        """When each submission arrived, as far as is known now."""
        if self.source == "collector":
            return {student: self.noted.get(speaker, "") for student, speaker in self.speakers.items()}
        return {student: self.read(speaker).received for student, speaker in self.speakers.items()}
