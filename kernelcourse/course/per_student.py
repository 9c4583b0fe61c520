"""Write a notebook for each student: the same assignment, with the student's own numbers, data and hidden inputs."""

from __future__ import annotations

import hashlib
import hmac
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..checking.checks import checks_in
from .errors import CourseError
from .folder import CONFIG, VARIANTS, Course
from .handed import is_student
from .notebooks import read_source, replace_file, write_notebook
from .rehearsal import rehearse
from .secret import assignment_secret
from .variants import Variants, fill_notebook, read_variants, values_of, write_variants


def release_to_each(course: Course, assignment: str, students: Iterable[str], config: Any) -> list[Path]:
    """Write variants for these students, and rewrite all existing ones; return the notebooks' paths.

    The common release must exist.
    """
    secret = assignment_secret(course.root, assignment)
    seeds = read_variants(course.root, assignment).seeds | {one: _seed(secret, one) for one in students}
    if bad := [student for student in seeds if not is_student(student) or student.startswith(".")]:
        raise CourseError(f"{bad[0]!r} cannot be a student's id")
    folder = course.solutions / assignment
    sources = {path.stem: read_source(path) for path in course.sources(assignment)}
    with checks_in(folder):
        values = {student: {stem: values_of(stem, seed) for stem in sources} for student, seed in seeds.items()}
    for student in _one_for_each_value(values):
        rehearse(
            folder,
            {stem: _own(sources[stem], seeds[student], values[student][stem]) for stem in sources},
            secret,
            config,
        )
    variants = Variants(seeds, values, *_with_places(course, assignment, config))
    write_variants(course.root, assignment, variants)
    return [
        path for student in sorted(seeds) for path in _write(course, assignment, student, variants, sources, secret)
    ]


def _seed(secret: str, student: str) -> int:
    """A seed that no student can choose and that reveals nothing about another student's seed."""
    return int.from_bytes(hmac.new(secret.encode(), f"variant {student}".encode(), hashlib.sha256).digest()[:4])


def _own(source: Any, seed: int, values: dict[str, Any]) -> Any:
    import copy

    notebook = copy.deepcopy(source)
    fill_notebook(notebook, seed, values)
    return notebook


def _one_for_each_value(values: dict[str, dict[str, dict[str, Any]]]) -> Iterator[str]:
    """A set of students that covers every value that any student was given."""
    seen: set[tuple[str, str, str]] = set()
    for student, notebooks in values.items():
        own = {(stem, name, repr(value)) for stem, each in notebooks.items() for name, value in each.items()}
        if own - seen:
            seen |= own
            yield student


def _with_places(course: Course, assignment: str, config: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The release that nbgrader makes from the source, with its places for values, and its locked cells."""
    from .engine import nbgrader_api
    from .merge import locked_sources
    from .release import generate, lay_out_sources

    with TemporaryDirectory() as folder:
        workshop = Course(Path(folder).resolve())
        shutil.copy(course.root / CONFIG, workshop.root)
        lay_out_sources(course, workshop, assignment, None, filled=False)
        with nbgrader_api(workshop, config=config) as api:
            generate(api, assignment)
        made = sorted((workshop.exercises / assignment).glob("*.ipynb"))
        return {path.stem: path.read_text(encoding="utf-8") for path in made}, locked_sources(workshop, assignment)


def _write(
    course: Course, assignment: str, student: str, variants: Variants, sources: dict[str, Any], secret: str
) -> list[Path]:
    from .release import for_students

    folder = course.root / VARIANTS / student / assignment
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(course.exercises / assignment, folder)
    seed, values = variants.seeds[student], variants.values[student]
    own = {stem: _own(source, seed, values[stem]) for stem, source in sources.items()}
    for name, content in for_students(course, assignment, own, secret, named=True).items():
        replace_file(folder / name, content)
    for stem in own:
        write_notebook(variants.notebook(student, stem), folder / f"{stem}.ipynb")
    return [folder / f"{stem}.ipynb" for stem in own]
