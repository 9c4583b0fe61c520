# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.preprocessors import Execute, SaveAutoGrades

from kernelcourse.course.policy import LatePolicy
from kernelcourse.course.preprocessors import GradeSafely, HideTests, NoteUnsafe, StableNotebook, Transplant

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "kernelcourse"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

# Every other file of a source folder goes to the students. The text form of the notebooks holds the solutions.
c.CourseDirectory.ignore = ["*.md", ".*", "__pycache__", "*.pyc"]

c.GenerateAssignment.preprocessors = [*GenerateAssignment().preprocessors, StableNotebook]

# Grading takes only texts from a submission, runs them in a sandbox, and judges outside of it.
c.Autograde.sanitize_preprocessors = [Transplant, *Autograde().sanitize_preprocessors]
ours = {Execute: [GradeSafely], SaveAutoGrades: [SaveAutoGrades, NoteUnsafe]}
c.Autograde.autograde_preprocessors = [
    step for stock in Autograde().autograde_preprocessors for step in ours.get(stock, [stock])
]
c.GenerateFeedback.preprocessors = [HideTests, *GenerateFeedback().preprocessors]

# What lateness costs, as shares of the points: nothing within the grace period, then `per_day` for each day begun since
# the due date, at most `cap`. For example {"grace_hours": 1, "per_day": 0.10, "cap": 0.50}; empty: lateness is free.
# Due dates and extensions: `kernelcourse due`.
c.AssignLatePenalties.plugin_class = LatePolicy
c.LatePolicy.table = {}

# Of several submissions of a student the last counts; "best": the one with the most points after penalties.
c.Submissions.counts = "last"
# Who says when a submission came: the collector. Others are "timestamp.txt" and "file", which students can forge.
c.Submissions.received = "collector"

# A student's cell, or the calls of one function in a check, may take this many seconds.
c.GradeSafely.timeout = 60
