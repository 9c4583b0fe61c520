"""Make nbgrader's own commands as careful as `kernelcourse grade` when they run on one of our courses.

nbgrader's converters copy whatever lies in a submission, follow links, and trust a time stamp that the student wrote;
none of their hooks can stop them. So this module wraps them as soon as the course's nbgrader_config.py imports our
preprocessors: `autograde` works on a safe copy of the submissions, `generate_feedback` refuses links and leaves out
what takes too long to show, `collect` and `zip_collect` record when a submission arrived.
"""

from __future__ import annotations

import contextlib
import fnmatch
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any

from nbgrader.apps.zipcollectapp import ZipCollectApp
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.exchange.default.collect import ExchangeCollect
from nbgrader.plugins import FileNameCollectorPlugin

from .folder import Course
from .handed import owns, read_handed, students_with
from .notebooks import write_notebook
from .policy import Submissions
from .received import in_utc, note_received, read_received, time_of
from .secret import grading_folder
from .transplant import assign, transplant
from .variants import read_variants

FEEDBACK = 60  # seconds of processor time for one notebook's page
TOO_LONG = "(Too long to be shown here.)"


def _in_front(owner: Any, name: str) -> Callable[[Any], Any]:
    """Replace a method by one that gets the original as its first argument."""
    original = getattr(owner, name)

    def put(careful: Any) -> Any:
        if getattr(original, "_careful", False):
            return careful

        @wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return careful(original, self, *args, **kwargs)

        method._careful = True  # type: ignore[attr-defined]
        setattr(owner, name, method)
        return careful

    return put


@_in_front(Autograde, "start")
def _autograde_copies(start: Any, self: Any) -> None:
    directory = self.coursedir.submitted_directory
    folder = grading_folder(Path(self.coursedir.root))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="submitted-") as copies:
        for student, line in copy_submissions(self, Path(copies)):
            self.log.warning("%s: %s", student, line)
        self.coursedir.submitted_directory = str(Path(copies).relative_to(self.coursedir.root))
        try:
            start(self)
        finally:
            self.coursedir.submitted_directory = directory


def copy_submissions(converter: Any, target: Path) -> Iterator[tuple[str, str]]:
    """Write the gradable part of the chosen submissions into a folder; yield what is odd about them."""
    import nbformat

    course = Course(Path(converter.coursedir.root))
    submitted = course.root / converter.coursedir.submitted_directory
    source = Submissions(config=converter.config).received
    releases_of = course.root / converter.coursedir.release_directory
    for place in sorted(path for path in releases_of.glob("*") if path.is_dir()):
        if not fnmatch.fnmatchcase(place.name, converter.coursedir.assignment_id):
            continue
        common = {path.stem: nbformat.read(path, as_version=4) for path in sorted(place.glob("*.ipynb"))}
        variants = read_variants(course.root, place.name)
        noted = read_received(submitted, place.name)
        for student in fnmatch.filter(students_with(submitted, place.name), converter.coursedir.student_id):
            handed = read_handed(submitted, student, place.name)
            own = student in variants.seeds
            releases = {stem: variants.notebook(student, stem) for stem in common} if own else common
            found = assign(handed.files, releases, handed.saved)
            folder = target / student / place.name
            for stem, cells in found.cells.items():
                write_notebook(transplant(cells, releases[stem]), folder / f"{stem}.ipynb")
            when = noted.get((student, place.name), "")
            if when := time_of(handed, when, source, submitted / student / place.name):
                (folder / "timestamp.txt").write_text(when, encoding="ascii")
            for ending in (*handed.endings, *(ending.record for ending in found.endings)):
                yield student, f"{ending['kind']}: {ending['text']}"


@_in_front(GenerateFeedback, "init_assignment")
def _feedback_without_links(init: Any, self: Any, assignment_id: str, student_id: str) -> None:
    refuse_links(Path(self._format_source(assignment_id, student_id)))
    init(self, assignment_id, student_id)


def refuse_links(folder: Path) -> None:
    """Raise if a student's folder, or anything in it, is a link or a second name for another file."""
    for path in (folder.parent, folder, *folder.rglob("*")):
        entry = path.lstat()
        if stat.S_ISLNK(entry.st_mode) or (stat.S_ISREG(entry.st_mode) and entry.st_nlink > 1):
            raise OSError(f"{path} is a link: it is not followed, and there is no feedback on {folder}")


@_in_front(GenerateFeedback, "convert_single_notebook")
def _feedback_in_time(convert: Any, self: Any, notebook_filename: str) -> None:
    try:
        with _processor_time(FEEDBACK):
            convert(self, notebook_filename)
    except TimeoutError:
        self.log.warning("%s takes too long to show: its texts and outputs are left out", notebook_filename)
        step = self.exporter.register_preprocessor(leave_out, enabled=True)
        try:
            convert(self, notebook_filename)
        finally:
            self.exporter._preprocessors.remove(step)


def leave_out(notebook: Any, resources: Any) -> tuple[Any, Any]:
    """Remove what a student wrote or printed; keep our own cells and the verdicts."""
    for cell in notebook.cells:
        ours = cell.metadata.get("nbgrader", {})
        if not ours.get("locked"):
            cell.source = TOO_LONG
        if cell.cell_type == "code" and not (ours.get("grade") and not ours.get("solution")):
            cell.outputs = []
    return notebook, resources


@contextlib.contextmanager
def _processor_time(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in code that uses more; has no effect in a server's thread, where no signal arrives."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGPROF"):
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@_in_front(ExchangeCollect, "do_copy")
def _collect_with_care(copy: Any, self: Any, src: str, dest: str, log: Any = None) -> None:
    """Copy what arrived through the exchange, links as links, and record when it arrived.

    The folder's name and the file timestamp.txt come from the student. The time of the last change to the folder or to
    a file in it comes from the system, and only root can set it.
    """
    came = max(path.lstat().st_ctime for path in (Path(src), *Path(src).rglob("*")))
    original: Any = shutil.copytree
    shutil.copytree = partial(original, symlinks=True)
    try:
        copy(self, src, dest, log)
    finally:
        shutil.copytree = original
    for path in Path(src).rglob("*"):
        entry = path.lstat()
        if stat.S_ISREG(entry.st_mode) and entry.st_nlink > 1 and not owns(Path(src).lstat(), entry):
            self.log.warning("%s is a hard link to a file elsewhere: it is left out", path)
            (Path(dest) / path.relative_to(src)).unlink(missing_ok=True)
    submitted = Path(self.coursedir.root) / self.coursedir.submitted_directory
    note_received(submitted, Path(dest).name, {Path(dest).parent.name: datetime.fromtimestamp(came, UTC)})


@_in_front(FileNameCollectorPlugin, "collect")
def _read_the_time(collect: Any, self: Any, submitted_file: str) -> Any:
    """nbgrader's parser reads 2027-01-30-15-30-10, from its own example, as the next day."""
    found = collect(self, submitted_file)
    if found and found.get("timestamp"):
        with contextlib.suppress(ValueError):  # nbgrader reports that this is not a time
            found["timestamp"] = in_utc(found["timestamp"])
    return found


@_in_front(ZipCollectApp, "_transfer_files")
def _note_the_times(transfer: Any, self: Any, collected_data: dict[str, Any]) -> None:
    transfer(self, collected_data)
    submitted = Path(self.coursedir.root) / self.coursedir.submitted_directory
    times = {student: data["timestamp"] for student, data in collected_data.items() if data.get("timestamp")}
    note_received(submitted, self.coursedir.assignment_id, times)
