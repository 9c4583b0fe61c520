"""nbgrader, set up for a course."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import CourseError
from .folder import CONFIG, Course


def load_config(course: Course) -> Any:
    """The course's nbgrader configuration."""
    from traitlets.config import PyFileConfigLoader

    return PyFileConfigLoader(CONFIG, path=str(course.root)).load_config()


@contextmanager
def nbgrader_api(course: Course, *, config: Any = None, gradebook: str = "") -> Iterator[Any]:
    """nbgrader's Python interface to a course, with the course's own configuration and gradebook by default.

    nbgrader starts `alembic` by name to make a gradebook; it lies beside the interpreter, which need not be on PATH.
    """
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    config = config or load_config(course)
    path = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), path])
    try:
        folder = CourseDirectory(config=config, root=str(course.root), db_url=gradebook or course.gradebook)
        yield NbGraderAPI(folder, config=config)
    finally:
        os.environ["PATH"] = path


def succeed(result: dict[str, Any], task: str) -> None:
    """Turn nbgrader's report of a failure into an error that carries its log."""
    if not result["success"]:
        raise CourseError(f"nbgrader could not {task}:\n{result.get('log') or result.get('error')}")
