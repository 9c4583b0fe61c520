"""A small released course, and a library for sandboxes."""

import json
import shutil

import pytest

from kernelcourse.course.folder import Course
from tests.course.conftest import HERE
from tests.grading.hostile.classroom import limit, shared
from tests.grading.hostile.submission import ASSIGNMENT, STEM, copied_course


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
