# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.preprocessors import Execute, SaveAutoGrades

from kernelcourse.course.preprocessors import (
    GradeSafely,
    HideTests,
    NoteUnsafe,
    ShowRubric,
    StableNotebook,
    StudentCopy,
    Transplant,
)

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "kernelcourse"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

# Every other file of a source folder goes to the students. The text form of the notebooks holds the solutions.
c.CourseDirectory.ignore = ["*.md", ".*", "__pycache__", "*.pyc"]

c.GenerateAssignment.preprocessors = [*GenerateAssignment().preprocessors, StudentCopy, StableNotebook]

# Once the book is published: its address, for the links in texts and hints. Empty, there are none.
c.StudentCopy.book = ""
# What `%pip install` fetches on Colab or in a browser: the address of a wheel, or git+https://… (Colab alone).
c.StudentCopy.package = ""

# Grading takes only texts from a submission, runs them in a sandbox, and judges outside of it.
c.Autograde.sanitize_preprocessors = [Transplant, *Autograde().sanitize_preprocessors]
ours = {Execute: [GradeSafely], SaveAutoGrades: [SaveAutoGrades, NoteUnsafe]}
c.Autograde.autograde_preprocessors = [
    step for stock in Autograde().autograde_preprocessors for step in ours.get(stock, [stock])
]
c.GenerateFeedback.preprocessors = [HideTests, ShowRubric, *GenerateFeedback().preprocessors]

# A student's cell, or the calls of one function in a check, may take this many seconds.
c.GradeSafely.timeout = 60
