# nbgrader's configuration for this course: `nbgrader …` and the formgrader read it, and so does `kernelcourse`.
from pathlib import Path

import yaml

from kernelcourse.course.config import configure

c = get_config()  # noqa: F821 - nbgrader defines it
configure(c)

c.CourseDirectory.course_id = "kernelcourse"

# Once the book is published: its address, for the links in texts and hints. Empty, there are none.
c.StudentCopy.book = ""
# What `%pip install` fetches where the library is missing: the address of a wheel, or git+https://… (Colab and Binder).
# Here it is the repository that _config.yml names for the book. Empty, there is no such cell.
book = Path(__file__).with_name("_config.yml")
settings = yaml.safe_load(book.read_text(encoding="utf-8")) if book.exists() else {}
repository = (settings.get("repository") or {}).get("url", "")
c.StudentCopy.package = f"git+{repository}" if repository else ""

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
