# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from kernelcourse.course.config import configure

c = get_config()  # noqa: F821 - nbgrader defines it
configure(c)

c.CourseDirectory.course_id = "kernelcourse"

# Once the book is published: its address, for the links in texts and hints. Empty, there are none.
c.StudentCopy.book = ""
# What `%pip install` fetches on Colab or in a browser: the address of a wheel, or git+https://… (Colab alone).
c.StudentCopy.package = ""

# What lateness costs, as shares of the points: nothing within the grace period, then `per_day` for each day begun since
# the due date, at most `cap`. For example {"grace_hours": 1, "per_day": 0.10, "cap": 0.50}; empty: lateness is free.
# Due dates and extensions: `kernelcourse due`.
c.LatePolicy.table = {}

# Of several submissions of a student the last counts; "best": the one with the most points after penalties.
c.Submissions.counts = "last"
# Who says when a submission came: the collector. Others are "timestamp.txt" and "file", which students can forge.
c.Submissions.received = "collector"

# A student's cell, or the calls of one function in a check, may take this many seconds.
c.GradeSafely.timeout = 60
