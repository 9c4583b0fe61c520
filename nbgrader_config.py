# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from nbgrader.converters import GenerateAssignment

from kernelcourse.course.preprocessors import StableNotebook

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "kernelcourse"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

# Every other file of a source folder goes to the students. The text form of the notebooks holds the solutions.
c.CourseDirectory.ignore = ["*.md", ".*", "__pycache__", "*.pyc"]

c.GenerateAssignment.preprocessors = [*GenerateAssignment().preprocessors, StableNotebook]

# A cell may take this many seconds before it counts as endless.
c.ExecutePreprocessor.timeout = 60
c.Execute.timeout = 60
