"""Loaded by the workers of a test's cluster: they do not grade, but act as good, dying or hostile workers."""

import json
import os
import signal
from pathlib import Path

from kernelcourse.course import far
from kernelcourse.course.submission import put_together

NOTES = "KERNELCOURSE_TEST_NOTES"  # names a folder


class Evil:
    """An object that runs a command where it is unpickled; the command records which program that was."""

    def __reduce__(self):
        return os.system, (f"tr '\\0' ' ' < /proc/$PPID/cmdline >> {os.environ[NOTES]}/taken",)


class EvilError(Exception):
    """An error that does the same."""

    __reduce__ = Evil.__reduce__


def code_cells(task, student, handed):
    """The number of code cells in the notebook that the grader put together."""
    found = []

    def run(stem, notebook):
        found.extend(cell for cell in notebook.cells if cell.cell_type == "code")
        notebook.metadata["kernelcourse"] = {"endings": []}
        return notebook

    put_together(task, student, handed, run)
    return found


def stand_in(text):
    task, student, handed = far.read_payload(text)
    died = Path(os.environ[NOTES]) / "died"
    if student == "dies" and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    cells = code_cells(task, student, handed)
    outputs = [[] for _ in cells]
    for cell, shown in zip(cells, outputs, strict=True):
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "check-dual":
            shown.append({"output_type": "error", "ename": "CheckFailed", "evalue": "no", "traceback": ["no"]})
    if student == "html":
        box = {"text/html": "<script>taken()</script>", "text/plain": "fine", "application/javascript": "taken()"}
        record = {"piece": "kernel", "points": 2, "earned": 2, "problem": "", "hint": "", "mistake": "", "evil": 1}
        forged = [{"output_type": "display_data", "data": box, "metadata": {"kernelcourse": [record, {"points": "x"}]}}]
        outputs = [shown or forged for shown in outputs]
    reply = {"notebooks": {name: {"outputs": outputs, "endings": []} for name in task.locked}, "student": "../../x"}
    strange = {"pickle": Evil, "short": lambda: json.dumps({"notebooks": {}}), "text": lambda: "[" * 100_000}
    if student == "error":
        raise EvilError
    return strange[student]() if student in strange else json.dumps(reply)


far.grade_far = stand_in
