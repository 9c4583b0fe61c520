"""nbgrader, set up for a course."""

from __future__ import annotations

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
    """nbgrader's Python interface to a course, with the course's own configuration and gradebook by default."""
    import nbgrader.api
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    nbgrader.api.get_alembic_version = _newest_form
    config = config or load_config(course)
    folder = CourseDirectory(config=config, root=str(course.root), db_url=gradebook or course.gradebook)
    yield NbGraderAPI(folder, config=config)


def _newest_form() -> str:
    """The version that a new gradebook is marked with.

    nbgrader runs the command `alembic heads`, which may not be on PATH and imports nbgrader once more, which takes
    eight seconds of processor time.
    """
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    return str(ScriptDirectory(ALEMBIC_DIR).get_current_head())


def succeed(result: dict[str, Any], task: str) -> None:
    """Turn nbgrader's report of a failure into an error that carries its log."""
    if not result["success"]:
        raise CourseError(f"nbgrader could not {task}:\n{result.get('log') or result.get('error')}")
