# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from pathlib import Path

import yaml

from kernelcourse.course.config import configure

c = get_config()  # noqa: F821 - nbgrader defines it
configure(c)

c.CourseDirectory.course_id = "kernelcourse"

# The address of the book once it is published, for the links in texts and hints. If it is empty, there are no links.
c.StudentCopy.book = ""
# What `%pip install` fetches where the library is missing: the address of a wheel, or git+https://… (Colab and Binder).
# Here it is the repository that _config.yml names for the book. If it is empty, no cell installs the library.
book = Path(__file__).with_name("_config.yml")
settings = yaml.safe_load(book.read_text(encoding="utf-8")) if book.exists() else {}
repository = (settings.get("repository") or {}).get("url", "")
c.StudentCopy.package = f"git+{repository}" if repository else ""

# What lateness costs, as fractions of the points: nothing within the grace period, then `per_day` for each day begun
# since the due date, at most `cap`. For example {"grace_hours": 1, "per_day": 0.10, "cap": 0.50}. With an empty table,
# lateness costs nothing. Use `kernelcourse due` to set due dates and extensions.
c.LatePolicy.table = {}

# Which of a student's submissions counts: the "last", or the "best", which has the most points after penalties.
c.Submissions.counts = "last"
# What says when a submission arrived: the "collector", or "timestamp.txt" or "file", which students can forge.
c.Submissions.received = "collector"

# A student's cell, or the calls of one function in a check, may take this many seconds.
c.GradeSafely.timeout = 60
