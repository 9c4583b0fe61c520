"""The steps that our course adds to nbgrader's own; nbgrader_config.py names them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Float, Integer, List, Unicode

from ..checking.checks import checks_in
from . import guard  # noqa: F401 - nbgrader's own commands become careful with it
from .library import REFUSED, library_for, locked_cells
from .notebooks import give_stable_ids, parse_once, seed_of, strip_noise
from .proxy import RemoteFunction
from .sandbox import Died, Limits, Sandbox
from .secret import assignment_secret, fingerprint, grading_folder, revealed
from .session import Session
from .solution import rubric
from .student_copy import MAY_FAIL, link_texts, surround
from .submission import restore
from .transplant import Cell, Ending, shorten, transplant
from .variants import read_variants
from .verdict import Grounds, Hearing, Judge

UNSAFE = "Graded without a sandbox (--unsafe)."
# A released cell that compares with the library fails in the sandbox, whose library lacks what students must write.
NOT_RUN = {
    "output_type": "stream",
    "name": "stdout",
    "text": "(Not run while grading: it uses a part of the library that this assignment asks you to write.)",
}


class StudentCopy(NbGraderPreprocessor):
    """A step of a release: add what `student_copy` describes, and let no check stop *Run All*."""

    book = Unicode(help="address of the published book, for links").tag(config=True)
    package = Unicode(help="what `%pip install` fetches where kernelcourse is missing").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        for cell in filter(_is_check, nb.cells):
            cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), MAY_FAIL})
        surround(nb, self.book, self.package)
        if self.book:
            link_texts(nb, resources["nbgrader"]["notebook"], self.book)
        return nb, resources


class StableNotebook(NbGraderPreprocessor):
    """The last step of a release: nothing in the notebook depends on when, where or by whom it was made."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        give_stable_ids(nb)
        strip_noise(nb)
        return nb, resources


def _course_root(preprocessor: Any) -> Path:
    return Path(preprocessor.parent.parent.coursedir.root)  # nbgrader's exporter and converter


def _release(root: Path, resources: Any) -> Any:
    ours = resources["nbgrader"]
    variants = read_variants(root, ours["assignment"])
    if ours.get("student") in variants.seeds:
        return variants.notebook(ours["student"], ours["notebook"])
    return parse_once((root / "exercises" / ours["assignment"] / f"{ours['notebook']}.ipynb").read_bytes())


class Transplant(NbGraderPreprocessor):
    """The first step of grading: the submission is rebuilt on the released notebook."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        cells = []
        for cell in nb.cells:
            ours = cell.metadata.get("nbgrader", {}).get("grade_id")
            name = ours if isinstance(ours, str) else cell.get("id", "")
            cells.append(Cell(cell.source, cell.cell_type == "code", name, ours is not None))
        return transplant(cells, _release(_course_root(self), resources)), resources


class GradeSafely(NbGraderPreprocessor):
    """Replaces nbgrader's `Execute`: cells run in a sandbox, and checks run in this process.

    The outputs of check cells are written here and nowhere else, so that nbgrader's own rule gives the points.
    """

    timeout = Float(
        60, help="seconds of processor time, and of waiting, for a cell or for all calls of one function in a check"
    ).tag(config=True)
    patience = Float(5, help="wall-clock limit, as a multiple of the processor time").tag(config=True)
    total = Float(900, help="seconds for a notebook").tag(config=True)
    memory = Integer(2_000_000_000, help="bytes that a student's processes may use together").tag(config=True)
    output = Integer(200_000, help="characters that a cell may show").tag(config=True)
    packages = List(
        Unicode(), ["ipython", "numpy", "scipy", "matplotlib"], help="what a student may import, beside the library"
    ).tag(config=True)
    unsafe = Bool(False, help="run without a sandbox, with the permissions of the person who grades").tag(config=True)
    shelf = Unicode(help="where the sandboxes' libraries are kept (default: .grading/library)").tag(config=True)

    secret = Unicode(help="seed of the hidden cases (default: what .grading/seed holds)").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        root = _course_root(self)
        stem = resources["nbgrader"]["notebook"]
        release = _release(root, resources)
        assignment = resources["nbgrader"]["assignment"]
        variants, student = read_variants(root, assignment), resources["nbgrader"].get("student", "")
        if student in variants.seeds:  # nbgrader has already inserted the common cells
            restore(nb, variants.locked_cells(student)[stem])
        with checks_in(root / "solutions" / assignment):
            session = Session(lambda: self._sandbox(root, release, resources), seconds=self.total)
            try:
                seed = self.secret or assignment_secret(root, assignment)
                with revealed(seed):
                    endings = self._grade(nb, release, session, stem)
            finally:
                session.end()
        shorten(nb)
        nb.metadata["kernelcourse"] = {
            "endings": [ending.record for ending in endings],
            "seed": fingerprint(seed),
            "unsafe": self.unsafe,
        }
        return nb, resources

    def _sandbox(self, root: Path, release: Any, resources: Any) -> Sandbox:
        ours = resources["nbgrader"]
        folder = root / "exercises" / ours["assignment"]
        files = {path.name: path for path in folder.iterdir() if path.is_file() and path.suffix != ".ipynb"}
        limits = Limits(self.timeout, self.patience, memory=self.memory, output=self.output, cpu=int(self.total))
        shelf = Path(self.shelf) if self.shelf else grading_folder(root) / "library"
        library = library_for(ours["notebook"], locked_cells(release), shelf)
        return Sandbox(library, files, tuple(self.packages), limits, self.unsafe)

    def _grade(self, nb: Any, release: Any, session: Session, stem: str) -> list[Ending]:
        import nbformat

        endings = []
        checks = [cell.source for cell in nb.cells if _is_code(cell) and _is_check(cell)]
        judge = Judge.on(Grounds(release, checks), lambda name: RemoteFunction(session, name))
        comparing = {cell.source for cell in release.cells if _is_code(cell) and not _grade_id(cell)}
        missing = {REFUSED}
        hearings = []
        for number, cell in enumerate(filter(_is_code, nb.cells), start=1):
            cell.execution_count = number
            if _is_check(cell):
                hearings.append((cell, self._hear(judge, cell, session)))
                continue
            outputs, died = session.run(cell.source)
            if cell.source in comparing and missing & {output.get("ename") for output in outputs}:
                outputs = [NOT_RUN]
                missing.add("NameError")  # the next cell may use what this one did not define
            cell.outputs = [nbformat.from_dict(output) for output in outputs]
            if died is not None:
                endings.append(Ending(died.kind, f"{_grade_id(cell) or f'Cell {number}'} {died}.", stem))
        for cell, hearing in hearings:  # no cell runs after this point, so none can show the hidden cases
            cell.outputs = [nbformat.from_dict(output) for output in hearing.conclude()]
            for function in hearing.functions:
                if function.died is not None:
                    endings.append(Ending(function.died.kind, f"{function.name} {function.died}.", stem))
        return endings

    def _hear(self, judge: Judge, cell: Any, session: Session) -> Hearing:
        hearing = judge.judge(cell.source)
        if hearing.waits:
            try:
                hearing.kept(session.keep())
            except Died as died:
                for function in hearing.functions:
                    function.lose(died)
        return hearing


def _grade_id(cell: Any) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _is_code(cell: Any) -> bool:
    return cell.cell_type == "code"


def _is_check(cell: Any) -> bool:
    return utils.is_grade(cell) and not utils.is_solution(cell)


class NoteUnsafe(NbGraderPreprocessor):
    """A step after the grades are saved: note in the gradebook's comments if there was no sandbox."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        from nbgrader.api import Gradebook

        if nb.metadata.get("kernelcourse", {}).get("unsafe"):
            ours = resources["nbgrader"]
            with Gradebook(ours["db_url"]) as gradebook:
                submitted = gradebook.find_submission_notebook(ours["notebook"], ours["assignment"], ours["student"])
                for comment in submitted.comments:
                    comment.auto_comment = " ".join(filter(None, (comment.auto_comment, UNSAFE)))
                gradebook.db.commit()
        return nb, resources


class ShowRubric(NbGraderPreprocessor):
    """A step of feedback: show the rubric below a written answer."""

    rubric = Bool(True, help="show the rubrics of written answers in the feedback").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        ours = resources["nbgrader"]
        source = _course_root(self) / "solutions" / ours["assignment"] / f"{ours['notebook']}.md"
        for cell in nb.cells:
            if self.rubric and source.is_file() and utils.is_grade(cell) and utils.is_solution(cell):
                cell.source = "\n\n".join(filter(None, (cell.source, rubric(source, _grade_id(cell), seed_of(nb)))))
        return nb, resources


class HideTests(NbGraderPreprocessor):
    """The first step of feedback: keep hidden tests hidden.

    nbgrader's ClearHiddenTests raises on a marker without its end, so a student's text could stop the feedback.
    """

    region = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?(END HIDDEN TESTS[^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        for cell in nb.cells:
            if utils.is_grade(cell):
                cell.source = self.region.sub("", cell.source).rstrip()
        return nb, resources
