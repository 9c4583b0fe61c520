# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from kernelcourse.course.config import configure

c = get_config()  # noqa: F821 - nbgrader defines it
configure(c)

c.CourseDirectory.course_id = "kernelcourse"

# Once the book is published: its address, for the links in texts and hints. Empty, there are none.
c.StudentCopy.book = ""
# What `%pip install` fetches on Colab or in a browser: the address of a wheel, or git+https://… (Colab alone).
c.StudentCopy.package = ""

# A student's cell, or the calls of one function in a check, may take this many seconds.
c.GradeSafely.timeout = 60
