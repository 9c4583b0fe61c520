"""`kernelcourse check` for students on Windows and macOS: with everything removed that Python has only on Linux.

The workflow `students` runs the same commands on those systems; this test says earlier what would fail there.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.course.conftest import HERE, PATIENCE, Graded

ASSIGNMENT = "01-dual-representation"
MODULES = ["fcntl", "resource"]
NAMES = {
    "os": ["fork", "forkpty", "sched_getaffinity", "sched_setaffinity", "geteuid", "O_NOFOLLOW", "O_NONBLOCK"],
    "signal": ["SIGALRM", "alarm", "setitimer", "ITIMER_REAL"],
}
# Python runs sitecustomize.py before anything else, in the command and in the kernel that it starts. Other people's
# packages ask sys.platform which system this is, so what each of the two needs is imported while everything is still
# available.
HIDE = f"""
import sys
if "ipykernel_launcher" in sys.orig_argv:
    import ipykernel.kernelapp, matplotlib.pyplot, scipy.linalg
else:
    sys.modules["rfc3987_syntax"] = None  # as kernelcourse.course does, which is imported later than usual
    import jupyter_client.provisioning, nbclient
for module in {MODULES}:
    sys.modules[module] = None
for module, names in {NAMES}.items():
    for name in names:
        delattr(sys.modules[module], name)
assert not any(module.startswith("kernelcourse") for module in sys.modules)
"""
HIDDEN = """
import os, signal
for name in ("fcntl", "resource"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(name)
assert not hasattr(os, "fork") and not hasattr(os, "sched_getaffinity") and not hasattr(signal, "SIGALRM")
"""


@pytest.fixture
def check_elsewhere(tmp_path):
    """Run `kernelcourse check` on a notebook as if on another system; return its exit code and its table."""
    (tmp_path / "sitecustomize.py").write_text(HIDE, encoding="utf-8")

    def run(notebook, encoding):
        meta = {"nbgrader": {"grade": True, "solution": False, "grade_id": "really-hidden", "points": 1}}
        notebook.cells.append(nbformat.v4.new_code_cell(HIDDEN, metadata=meta))
        path = tmp_path / "mine é.ipynb"
        nbformat.write(notebook, path)
        variables = {"PYTHONPATH": str(tmp_path), "PYTHONIOENCODING": encoding}
        if not os.access(Path.home(), os.W_OK):  # IPython and matplotlib would warn
            variables["HOME"] = str(tmp_path)
        command = [sys.executable, "-m", "kernelcourse", "check", str(path), "--timeout", str(PATIENCE)]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, encoding=encoding, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout

    return run


def points(notebook):
    """(by checks, by hand) of a notebook."""
    metas = [cell.metadata["nbgrader"] for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    return tuple(sum(meta["points"] for meta in metas if meta["solution"] is by_hand) for by_hand in (False, True))


def test_a_solved_exercise_gets_all_its_points_on_any_system(check_elsewhere):
    notebook = Graded(HERE, HERE, ASSIGNMENT, api=None).perfect()
    checked, by_hand = points(notebook)
    code, table = check_elsewhere(notebook, "utf-8")
    assert code == 0
    assert "✓ really-hidden" in table
    assert "✗" not in table
    assert f"\n{checked + 1} of {checked + 1} points, and {by_hand} more read by your instructor\n" in table


def test_an_untouched_exercise_gets_none_even_where_the_console_knows_few_letters(check_elsewhere):
    notebook = Graded(HERE, HERE, ASSIGNMENT, api=None).released()
    checked, _ = points(notebook)
    code, table = check_elsewhere(notebook, "cp1252")
    assert code == 1
    assert re.search(r"^\? really-hidden +1 of 1", table, re.MULTILINE)
    assert f"\n1 of {checked + 1} points" in table
