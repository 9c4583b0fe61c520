"""A small released course, and a library for sandboxes."""

import json
import os
import shutil

import pytest
from sqlalchemy import Engine, event

from kernelcourse.course.folder import Course
from tests.course.conftest import HERE
from tests.grading.hostile.classroom import limit, shared
from tests.grading.hostile.submission import ASSIGNMENT, STEM, copied_course


@pytest.fixture(scope="session", autouse=True)
def nothing_waits_for_the_disk():
    """Kill processes, but not the power: what is written need not reach the disk. Programs that tests start still wait.

    A graded submission waits a dozen times, and on a busy disk that takes longer than grading.
    """

    def hurry(connection, _):
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", hurry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
    event.remove(Engine, "connect", hurry)


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """A course with a short released assignment, to be copied, not changed."""
    course, _ = copied_course(
        tmp_path_factory.mktemp("released") / "course", HERE, shared(tmp_path_factory) / "small-course"
    )
    limit(course)
    return course


@pytest.fixture(scope="session")
def notebook(released):
    """The released notebook as plain data."""
    return json.loads((released.exercises / ASSIGNMENT / f"{STEM}.ipynb").read_bytes())


@pytest.fixture
def course(released, tmp_path):
    """A copy of the released course, without submissions."""
    shutil.copytree(released.root, tmp_path / "course")
    return Course(tmp_path / "course")


@pytest.fixture(scope="session")
def library(released):
    """The library of the short assignment's sandbox."""
    return next((released.root / ".grading" / "library").glob(f"{STEM}-*"))
