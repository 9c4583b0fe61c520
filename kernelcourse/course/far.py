"""Grading on another machine: what is sent and what comes back is text, JSON in both directions.

A worker of the cluster keeps one helper, which forks a process with limits for every submission, as the grader does.
Only what notebooks showed is sent back: texts, points and names are never taken from a worker.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from typing import Any

from .handed import Handed
from .submission import Graded, Task, own_task
from .variants import Variants

_helper: subprocess.Popen[str] | None = None
_lock = threading.Lock()


def payload(task: Task, student: str, handed: Handed) -> str:
    """Everything that a worker has to know about a submission."""
    task = replace(own_task(task, student), shelf="", variants=Variants())
    shared = asdict(task) | {"course": _to_text(task.course)}
    own = asdict(handed) | {"files": _to_text(handed.files)}
    return json.dumps({"task": shared, "student": student, "handed": own})


def _to_text(files: dict[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(content).decode("ascii") for name, content in files.items()}


def _to_bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {name: base64.b64decode(content) for name, content in files.items()}


def read_payload(text: str) -> tuple[Task, str, Handed]:
    """The inverse of `payload`."""
    message = json.loads(text)
    message["task"]["variants"] = Variants()
    message["task"]["course"] = _to_bytes(message["task"]["course"])
    message["handed"]["files"] = _to_bytes(message["handed"]["files"])
    return Task(**message["task"]), message["student"], Handed(**message["handed"])


def shown(graded: Graded) -> str:
    """The outcome of the notebooks, as text: the outputs of their code cells and what was odd about their run."""
    notebooks = {}
    for stem in graded.result["notebooks"]:
        notebook = json.loads(graded.files[f"{stem}.ipynb"])
        outputs = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        notebooks[stem] = {"outputs": outputs, "endings": notebook["metadata"]["kernelcourse"]["endings"]}
    return json.dumps({"notebooks": notebooks})


def grade_far(text: str) -> str:
    """Grade a submission on this worker; raise `RuntimeError` if that is not possible."""
    global _helper
    with _lock:
        if _helper is None or _helper.poll() is not None:
            command = [sys.executable, "-W", "ignore", "-m", f"{__package__}.far"]
            _helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert _helper.stdin is not None and _helper.stdout is not None
        _helper.stdin.write(text + "\n")
        _helper.stdin.flush()
        reply = _helper.stdout.readline()
    if not reply.startswith("{"):
        raise RuntimeError(json.loads(reply) if reply else "a worker's helper process was killed")
    return reply


def main() -> None:
    """The helper: it reads a submission per line, grades each in its own process, and writes a result per line."""
    import tempfile
    from pathlib import Path

    from .grade import seconds_for
    from .schedule import on_this_machine
    from .submission import grade_submission

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "reply"
        for line in sys.stdin:
            task, student, handed = read_payload(line)

            def work(student: str, task: Task = task, handed: Handed = handed) -> None:
                place.write_text(shown(grade_submission(task, student, handed)), encoding="utf-8")

            ((_, trouble),) = on_this_machine(work, [student], jobs=1, seconds=seconds_for(task))
            print(json.dumps(trouble) if trouble else place.read_text(encoding="utf-8"), flush=True)


def checked(reply: str, task: Task, student: str, handed: Handed) -> Graded:
    """The result built from a worker's reply and the notebook that we put together ourselves.

    Whatever else the reply contains, only the outputs of code cells are used, and of those only text and pictures.
    """
    from .secret import fingerprint
    from .session import clean_outputs
    from .submission import put_together
    from .transplant import shorten

    message = json.loads(reply)
    notebooks = message.get("notebooks") if isinstance(message, dict) else None
    if not isinstance(notebooks, dict) or set(notebooks) != set(task.locked):
        raise ValueError("a worker sent something that is not a result")

    def run(stem: str, notebook: Any) -> Any:
        entry = notebooks[stem] if isinstance(notebooks[stem], dict) else {}
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        outputs, endings = entry.get("outputs"), entry.get("endings")
        if not isinstance(outputs, list) or not isinstance(endings, list) or len(outputs) != len(cells):
            raise ValueError("a worker sent more or fewer outputs than the notebook has cells")
        for number, (cell, sent) in enumerate(zip(cells, outputs, strict=True), start=1):
            cell.outputs, cell.execution_count = clean_outputs(sent, verdicts=_is_check(cell)), number
        shorten(notebook)
        odd = [{key: str(one.get(key, ""))[:500] for key in ("notebook", "kind", "text")} for one in endings[:100]]
        ours = {"endings": odd, "seed": fingerprint(task.secret), "unsafe": task.unsafe}
        notebook.metadata["kernelcourse"] = ours
        return notebook

    return put_together(task, student, handed, run)


def _is_check(cell: Any) -> bool:
    ours = cell.metadata.get("nbgrader", {})
    return bool(ours.get("grade") and not ours.get("solution"))


if __name__ == "__main__":
    main()
