"""Files: those beside the notebook, those that can be read, and those that can be written."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .submission import RIGHT, STEM, WRONG, Attack

NUMPY = b"""
import sys
sys.path = [folder for folder in sys.path if folder not in ("", ".")]
del sys.modules["numpy"]
import numpy
from kernelcourse.checking import piece
def examine(self, function, rng, hidden=False):
    return piece.Result(self.name, self.points, 1)
piece.Claim.examine = piece.Piece.examine = examine
"""
ANYTHING = b"def __getattr__(name):\n    return lambda *args, **options: True\n"


def own_numpy(made):
    made.files["numpy.py"] = NUMPY


def own_packages(made):
    for name in ("scipy", "json", "zmq", "sitecustomize", "usercustomize", "ipykernel_launcher", "kernelcourse"):
        made.files[f"{name}.py"] = ANYTHING
    made.files["kernelcourse/checking/__init__.py"] = ANYTHING
    for name in ("ipython_config.py", "nbgrader_config.py", ".ipython/profile_default/startup/0.py"):
        made.files[name] = b"c.InteractiveShellApp.exec_lines = ['check = print']"


def symlinks(made):
    made.links = {
        "passwd": "/etc/passwd",
        "book.db": "@COURSE@/gradebook.db",
        "zero": "/dev/zero",
        "loop": "loop",
        "up": "@COURSE@",
    }


def the_notebook_is_a_link(made):
    made.links = {f"{STEM}.ipynb": "@COURSE@/submitted/honest-1/01-dual-representation/dual-representation.ipynb"}


def folder_is_a_link(made):
    made.stead = "@COURSE@/submitted/honest-1/01-dual-representation"


def folder_is_the_solutions(made):
    made.stead = "@COURSE@/solutions/01-dual-representation"


def student_is_a_link(made):
    made.stead = "student: @COURSE@/submitted/honest-1"


def hard_link(made):
    for name, text in RIGHT.items():
        made.cell(name)["source"] = text

    def finish(folder: Path) -> None:
        elsewhere = folder.with_name("somebody's work.ipynb")
        (folder / f"{STEM}.ipynb").rename(elsewhere)
        os.link(elsewhere, folder / f"{STEM}.ipynb")

    made.finish = finish


def second_name_of_its_own(made):
    def finish(folder: Path) -> None:
        os.link(folder / f"{STEM}.ipynb", folder / "backup of it.txt")

    made.finish = finish


def a_folder_called_so(made):
    def finish(folder: Path) -> None:
        (folder / f"{STEM}.ipynb").unlink()
        (folder / f"{STEM}.ipynb").mkdir()

    made.finish = finish


def two_notebooks(made):
    def finish(folder: Path) -> None:
        work = folder / f"{STEM}.ipynb"
        stub = json.loads(work.read_bytes())
        for cell in stub["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                cell["source"] = "raise NotImplementedError()"
        (folder / f"{STEM} (1).ipynb").write_bytes(work.read_bytes())
        work.write_text(json.dumps(stub))
        os.utime(work, (1_700_000_000, 1_700_000_000))

    made.finish = finish


def forged_time(made):
    made.files["timestamp.txt"] = b"2001-01-01 00:00:00 UTC"


def strange_files(made):
    def finish(folder: Path) -> None:
        os.mkfifo(folder / "pipe.csv")
        (folder / "other.ipynb").write_text('{"cells": []}')
        (folder / "new\nline and $(touch oops) \u202e.txt").write_text("x")
        Path(os.fsdecode(bytes(folder) + b"/\xff\xfe.bin")).write_text("x")
        with (folder / "sparse.bin").open("wb") as file:
            file.truncate(50_000_000_000)

    made.finish = finish


def no_time(made):
    made.files["timestamp.txt"] = b"\xff the 31st of February"


def no_text(made):
    def finish(folder: Path) -> None:
        (folder / f"{STEM}.ipynb").rename(os.fsdecode(bytes(folder) + b"/\xff\x1b[31m\n.ipynb"))

    made.finish = finish


def long_time(made):
    made.files["timestamp.txt"] = b"1 " * 1_000_000


def large_neighbours(made):
    def finish(folder: Path) -> None:
        for number in range(40):
            with (folder / f"{number}.ipynb").open("wb") as file:
                file.truncate(190_000_000)

    made.finish = finish


SEARCH = """
from pathlib import Path
def found(pattern):
    for base in (Path("@COURSE@"), Path.cwd(), *Path.cwd().parents[:2]):
        try:
            yield from base.glob(pattern)
        except OSError:
            pass
"""

ATTACKS = [
    Attack("numpy-py", "puts a numpy.py beside the notebook, which changes our checks when imported", edit=own_numpy),
    Attack("other-packages", "puts a json.py, a zmq.py and configuration files beside the notebook", edit=own_packages),
    Attack("symlinks", "links to the gradebook, to /etc/passwd and to /dev/zero", edit=symlinks),
    Attack(
        "notebook-is-a-link",
        "hands in a link to another student's notebook",
        edit=the_notebook_is_a_link,
        earns=0,
        ending="link",
    ),
    Attack(
        "folder-is-a-link",
        "hands in a link to another student's folder",
        edit=folder_is_a_link,
        earns=0,
        ending="link",
    ),
    Attack(
        "folder-is-the-solutions",
        "hands in a link to the solutions folder",
        edit=folder_is_the_solutions,
        earns=0,
        ending="link",
    ),
    Attack(
        "student-is-a-link",
        "replaces its folder by a link to another student's",
        edit=student_is_a_link,
        earns=0,
        ending="link",
    ),
    Attack(
        "hard-link",
        "hands in a hard link to a file elsewhere that has all answers",
        edit=hard_link,
        earns=0,
        ending="link",
    ),
    Attack("own-hard-link", "has a second name for its own notebook", edit=second_name_of_its_own),
    Attack(
        "notebook-is-a-folder",
        "hands in a folder under the name of the notebook",
        edit=a_folder_called_so,
        earns=0,
        ending="missing notebook",
    ),
    Attack(
        "two-notebooks",
        "hands in an empty notebook and, saved later, a second one with the work",
        edit=two_notebooks,
        ending="several files",
    ),
    Attack("forged-time", "brings a forged time stamp, long before the due date", edit=forged_time),
    Attack(
        "strange-files",
        "brings a pipe, a file of 50 GB, another notebook and file names that are not text",
        edit=strange_files,
    ),
    Attack("no-time", "brings a time stamp that is not a time", edit=no_time),
    Attack(
        "read-solutions",
        "reads the solutions and runs them",
        SEARCH
        + """
import re
for path in found("solutions/*/*.md"):
    try:
        solution = path.read_text()
    except OSError:
        continue
    for cell in re.findall(r"```\\{code-cell\\}[^`]*?\\n\\n(def [^`]*)```", solution):
        try:
            exec(cell, globals())
        except Exception:
            pass
    stolen = {name: globals()[name] for name in ("gram_matrix", "dual_weights", "predict") if name in globals()}
""",
        {"dual": WRONG["dual"] + "\nglobals().update(globals().get('stolen', {}))\n"},
    ),
    Attack(
        "read-a-neighbour",
        "reads another student's notebook and runs its answers",
        SEARCH
        + """
import json
stolen = {}
for path in found("submitted/honest-1/*/*.ipynb"):
    try:
        cells = json.loads(path.read_text())["cells"]
    except OSError:
        continue
    for cell in cells:
        if "def dual_weights" in "".join(cell["source"]):
            exec("".join(cell["source"]), globals())
            stolen = {name: globals()[name] for name in ("gram_matrix", "dual_weights", "predict")}
""",
        {"dual": WRONG["dual"] + "\nglobals().update(globals().get('stolen', {}))\n"},
    ),
    Attack(
        "call-the-library",
        "calls the library instead of implementing the piece",
        answers={
            "dual": WRONG["dual"]
            + """
try:
    from kernelcourse.algorithms import ridge
    import kernelcourse
    gram_matrix = lambda Phi: kernelcourse.Linear()(Phi)
    dual_weights = lambda K, t, lam: ridge.dual_weights(K, t, ridge=lam)
    predict = ridge.predict
except ImportError:
    pass
"""
        },
    ),
    Attack(
        "copy-the-library",
        "runs the library's source under another name and silences the profiler to hide the call",
        WRONG["dual"]
        + """
import importlib.util, sys
sys.setprofile = lambda function: None
try:
    origin = importlib.util.find_spec("kernelcourse.algorithms.ridge").origin
    text = open(origin).read().replace("from ..", "from kernelcourse.")
    space = {"__name__": "mine"}
    exec(compile(text, "<mine>", "exec"), space)
    dual_weights = lambda K, t, lam: space["dual_weights"](K, t, ridge=lam)
    predict = space["predict"]
except Exception as error:
    print(error)
stolen = {"dual_weights": dual_weights, "predict": predict}
""",
        {"dual": WRONG["dual"] + "\nglobals().update(stolen)\n"},
    ),
    Attack(
        "call-the-reference",
        "calls the reference and the cases of the catalogue",
        answers={
            "dual": WRONG["dual"]
            + """
try:
    from kernelcourse.checking import dual_representation as catalogue
    pieces = {piece.name: piece for piece in catalogue.PIECES}
    gram_matrix, dual_weights, predict = (pieces[n].reference for n in ("gram_matrix", "dual_weights", "predict"))
except Exception:
    pass
"""
        },
    ),
    Attack(
        "call-a-package",
        "lets scikit-learn and other libraries do the work",
        answers={
            "dual": WRONG["dual"]
            + """
try:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import linear_kernel as gram_matrix
    dual_weights = lambda K, t, lam: KernelRidge(alpha=lam, kernel="precomputed").fit(K, t).dual_coef_
except ImportError:
    pass
"""
        },
    ),
    Attack(
        "write-the-gradebook",
        "writes 99 points into the gradebook, for itself and for everyone else",
        SEARCH
        + """
import sqlite3
for path in found("gradebook.db"):
    try:
        book = sqlite3.connect(path, timeout=1)
        book.execute("update grade set manual_score = 99, auto_score = 99")
        book.execute("create trigger more after insert on grade begin update grade set manual_score = 99; end")
        book.commit()
    except sqlite3.Error as error:
        print(error)
""",
    ),
    Attack(
        "write-everywhere",
        "overwrites the course folder, the home folder and a file in /tmp",
        SEARCH
        + """
import os, shutil
home = os.path.expanduser("~/.kernelcourse-canary-@WORD@")
targets = ["@CANARY@", "@COURSE@/nbgrader_config.py", "@COURSE@/exercises/x", home,
           "@COURSE@/submitted/honest-1/01-dual-representation/dual-representation.ipynb"]
for target in targets:
    try:
        with open(target, "w") as file:
            file.write("taken")
    except OSError:
        pass
for folder in ("@COURSE@/autograded", "@COURSE@/.grading", "@COURSE@/solutions"):
    shutil.rmtree(folder, ignore_errors=True)
""",
    ),
    Attack(
        "write-the-library",
        "rewrites our checks on disk, for the next student",
        """
import importlib.util
generous = "\\nPiece.examine = Claim.examine = lambda self, *args, **options: Result(self.name, self.points, 1)\\n"
for name in ("kernelcourse.checking.piece", "kernelcourse.course.verdict", "kernelcourse.validation", "numpy.testing"):
    try:
        with open(importlib.util.find_spec(name).origin, "a") as file:
            file.write(f"{generous if name.endswith('piece') else ''}# taken\\n")
    except Exception as error:
        print(type(error).__name__)
""",
    ),
    Attack(
        "read-the-environment",
        "prints its environment and looks for the secret seed",
        """
import os
print(dict(os.environ))
print(os.environ.get("KERNELCOURSE_HIDDEN_SEED"))
mounts = ("/proc/self/mountinfo", "/proc/self/mounts", "/proc/1/mountinfo", "/proc/self/maps", "/proc/self/cgroup")
secrets = ("/proc/self/environ", "/proc/1/environ", "@COURSE@/.grading/seed", "/etc/passwd", "/etc/shadow")
for path in (*mounts, *secrets):
    try:
        print(path, open(path, errors="replace").read())
    except OSError as error:
        print(path, type(error).__name__)
""",
    ),
    Attack(
        "name-is-no-text",
        "has a file name with bytes that are not text and with terminal control codes",
        edit=no_text,
        ending="wrong file name",
    ),
    Attack("long-time", "brings a time stamp of 2 MB", edit=long_time),
    Attack("large-neighbours", "brings forty other notebooks of 190 MB", edit=large_neighbours),
]
