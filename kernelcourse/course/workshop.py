"""A copy of a course in which one assignment can be released and graded while the course stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Collection
from pathlib import Path

from .errors import CourseError
from .folder import CONFIG, Course
from .secret import grading_folder
from .variants import record_file


def copy_course(course: Course, assignment: str, folder: Path, students: Collection[str] = ()) -> Course:
    """Copy what grading an assignment needs: the submissions of these students, or of all."""
    copy = Course(folder.resolve())
    copy.root.mkdir(parents=True, exist_ok=True)
    shutil.copy(course.root / CONFIG, copy.root)
    for part in (course.solutions, course.exercises):
        if (part / assignment).is_dir():
            shutil.copytree(part / assignment, copy.root / part.name / assignment)
    if not (course.root / "gradebook.db").is_file():
        raise CourseError(
            f"{assignment} is not released in {course.root}: run `kernelcourse release {assignment}` first"
        )
    copy_gradebook(course, copy)
    seed = grading_folder(course.root) / "seed"
    grading_folder(copy.root).mkdir()
    if seed.is_file():
        shutil.copy(seed, grading_folder(copy.root))
    if (variants := record_file(course.root, assignment)).is_file():
        record_file(copy.root, assignment).parent.mkdir()
        shutil.copy(variants, record_file(copy.root, assignment))
    with contextlib.suppress(OSError):  # if links are not possible, the sandbox's library is built again
        shelf = grading_folder(course.root) / "library"
        shelf.mkdir(exist_ok=True)
        os.symlink(shelf, grading_folder(copy.root) / "library")
    for path in sorted((course.root / "submitted").iterdir()):
        if path.is_file() and not path.is_symlink():  # the collector's records
            (copy.root / "submitted").mkdir(exist_ok=True)
            shutil.copy(path, copy.root / "submitted")
        elif (path / assignment).is_dir() and (not students or path.name in students):
            where = copy.root / "submitted" / path.name
            if path.is_symlink() or (path / assignment).is_symlink():  # stays a link, which grading refuses
                where.mkdir(parents=True)
                os.symlink(path / assignment, where / assignment)
            else:
                shutil.copytree(path / assignment, where / assignment, symlinks=True)
    return copy


def copy_gradebook(source: Course, target: Course) -> None:
    """Copy the gradebook, even while another program writes to it."""
    with (
        contextlib.closing(sqlite3.connect(source.root / "gradebook.db")) as old,
        contextlib.closing(sqlite3.connect(target.root / "gradebook.db")) as new,
    ):
        old.backup(new)
