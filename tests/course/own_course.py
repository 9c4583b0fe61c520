"""A course about sorting, in an empty folder: all commands of the page "Running the exercises", in order.

`python -m tests.course.own_course FOLDER` runs them for any user.
"""

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import kernelcourse.course  # noqa: F401 - before any import of nbformat, which is then three seconds faster

# isort: split
import nbformat
from nbgrader.apps import NbGraderApp

from kernelcourse.course import cli
from kernelcourse.course.notebooks import read_source, write_notebook

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "book" / "running.md"
ASSIGNMENT, STEM = "12-sorting-algorithms", "sorting-algorithms"
BOOKS = "01-dual-representation"

SOURCE = """---
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# 12 Sorting algorithms

```{code-cell}
:nbgrader: {grade: false, grade_id: setup, locked: true, solution: false, @}
from kernelcourse.checking import catalogue

SEED = 1
check = catalogue("sorting-algorithms").checks(SEED)
```

```{code-cell}
:nbgrader: {grade: false, grade_id: sort, locked: false, solution: true, @}
def merge_sort(words):
    ### BEGIN SOLUTION
    return sorted(words)
    ### END SOLUTION


def count(words):
    ### BEGIN SOLUTION
    return {word: (words.count(word), set(word)) for word in words}
    ### END SOLUTION
```

```{code-cell}
:nbgrader: {grade: true, grade_id: check-sort, locked: true, points: 5, solution: false, @}
check(merge_sort=merge_sort, count=count)
### BEGIN HIDDEN TESTS
check.hidden(merge_sort=merge_sort, count=count)
### END HIDDEN TESTS
```

```{code-cell}
:nbgrader: {grade: false, grade_id: steps, locked: false, solution: true, @}
### BEGIN SOLUTION
steps = {"merge": "n log n", "bubble": "n**2"}
### END SOLUTION
```

```{code-cell}
:nbgrader: {grade: true, grade_id: check-steps, locked: true, points: 1, solution: false, @}
from math import inf

assert steps["merge"] == "n log n"
try:
    merge_sort(3)
except TypeError:
    pass
else:
    raise AssertionError("a number cannot be sorted")
### BEGIN HIDDEN TESTS
def in_order(items):
    return all(merge_sort(items)[i] <= merge_sort(items)[i + 1] for i in range(len(items) - 1))
assert in_order([3, 1, 2]) and all(len(steps[name]) < inf for name in steps)
### END HIDDEN TESTS
```

```{code-cell}
:nbgrader: {grade: false, grade_id: unsorted, locked: false, solution: true, @}
def unsorted():
    ### BEGIN SOLUTION
    return ["b", "a"]
    ### END SOLUTION
```

```{code-cell}
:nbgrader: {grade: true, grade_id: check-unsorted, locked: true, points: 1, solution: false, @}
check(unsorted=unsorted)
### BEGIN HIDDEN TESTS
check.hidden(unsorted=unsorted)
### END HIDDEN TESTS
```
""".replace("@", "schema_version: 3, task: false")

CHECKS = '''"""Assignment 12."""

from kernelcourse.checking import Case, Claim, Mistake, Piece

WORDS = ["pear", "fig", "apple", "date", "plum", "kiwi"]


def cases(rng):
    yield Case(([],), "an empty list")
    yield Case((["b", "a", "b"],), "a repeated word")
    for size in (3, 5):
        yield Case((rng.choice(WORDS, size).tolist(),))


def reference_sort(words):
    return sorted(words)


def descending(words):
    return sorted(words, reverse=True)


def in_place(words):
    words.sort()
    return words


def reference_count(words):
    return {word: (words.count(word), set(word)) for word in words}


def one_each(words):
    return {word: (1, set(word)) for word in words}


SORTED = "These words are sorted."


def in_order(words):
    return words == sorted(words)


def verify(words):
    return SORTED if in_order(words) else ""


def one_word():
    return ["a"]


PIECES = [
    Piece(
        "merge_sort",
        3,
        reference_sort,
        cases,
        [Mistake(descending, "This is sorted downwards."), Mistake(in_place, "Sort a copy.")],
    ),
    Piece("count", 2, reference_count, cases, [Mistake(one_each, "Count repeated words.")]),
    Claim("unsorted", 1, lambda: ["b", "a"], verify, [Mistake(one_word, SORTED)]),
]
'''


def commands():
    """What the page tells an instructor to type, from top to bottom: the lines of blocks that name no language."""
    found, fence = [], None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.strip().startswith("```"):
            fence = line.strip() if fence is None else None
        elif fence == "```" and line.strip():
            found.append(line.strip())
    return found


class Walk:
    """The commands of a term, and what people do between them."""

    def __init__(self, folder):
        self.folder = folder
        self.log = []
        self.secret = ""

    def run(self, lines):
        for line in lines:
            program, *arguments = shlex.split(line.replace("SECRET", self.secret))
            if program == "pip":
                continue  # the tests run in an environment that has the package
            assert program in ("kernelcourse", "nbgrader"), line
            os.chdir(self.folder)
            self.before(arguments)
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = cli.main(arguments) if program == "kernelcourse" else self.nbgrader(arguments)
            self.log.append({"line": line, "code": code, "out": out.getvalue(), "err": err.getvalue()})
            if arguments[0] == "new":
                self.write()
            if arguments[0] == "reveal":
                self.secret = out.getvalue().split("secret of")[1].split()[1]
        os.chdir("/")

    def nbgrader(self, arguments):
        NbGraderApp.clear_instance()
        try:
            NbGraderApp.launch_instance([*arguments, "--log-level=CRITICAL"])
        except SystemExit as done:
            return done.code or 0
        return 0

    def before(self, arguments):
        if arguments[:2] == ["db", "student"]:
            with open("students.csv", "a", encoding="utf-8") as roster:
                roster.write("ada,Ada,Lovelace,ada@example.org,1\nbob,Bob,Bubble,bob@example.org,2\n")
        elif arguments == ["grade", ASSIGNMENT]:
            self.hand_in()
        elif arguments[:2] == ["release", BOOKS]:
            source = ROOT / "solutions" / BOOKS
            shutil.copytree(source, self.folder / "solutions" / BOOKS, ignore=shutil.ignore_patterns("*.ipynb"))
        elif arguments[0] == "replay" and arguments[1].endswith(".ipynb"):
            self.go_to_a_student()
        elif arguments == ["amend", ASSIGNMENT]:
            self.change()

    def write(self):
        """Replace what `new` wrote."""
        (self.folder / "solutions" / ASSIGNMENT / f"{STEM}.md").write_text(SOURCE, encoding="utf-8")
        (self.folder / "solutions" / ASSIGNMENT / "checks.py").write_text(CHECKS, encoding="utf-8")
        (self.folder / "solutions" / ASSIGNMENT / f"{STEM}.ipynb").unlink()

    def hand_in(self):
        solved = read_source(self.folder / "solutions" / ASSIGNMENT / f"{STEM}.md")
        solutions = {
            cell.metadata.nbgrader.grade_id: cell.source for cell in solved.cells if "nbgrader" in cell.metadata
        }
        wrong = "def merge_sort(words):\n    words.sort()\n    return words\n\ndef count(words):\n    return {}"
        for student, answers in {"ada": solutions, "bob": {}, "cleo": solutions | {"sort": wrong}}.items():
            notebook = nbformat.read(self.folder / "exercises" / ASSIGNMENT / f"{STEM}.ipynb", as_version=4)
            for cell in notebook.cells:
                meta = cell.metadata.get("nbgrader", {})
                if meta.get("solution"):
                    cell.source = answers.get(meta["grade_id"], cell.source)
            write_notebook(notebook, self.folder / "submitted" / student / ASSIGNMENT / f"{STEM}.ipynb")

    def go_to_a_student(self):
        """Go to a folder with what cleo has: the notebook, the release, the revealed inputs and the feedback."""
        home = self.folder / "cleo"
        home.mkdir()
        for name in (
            *(self.folder / "exercises" / ASSIGNMENT).glob("*.json"),
            *(self.folder / "revealed" / ASSIGNMENT).iterdir(),
            *(self.folder / "feedback" / "cleo" / ASSIGNMENT).glob("*.json"),
            *(self.folder / "submitted" / "cleo" / ASSIGNMENT).iterdir(),
        ):
            shutil.copy(name, home)
        os.chdir(home)

    def change(self):
        """Rename a check and give it one more point."""
        for name, old, new in (
            (
                f"{STEM}.md",
                "grade_id: check-unsorted, locked: true, points: 1",
                "grade_id: broken, locked: true, points: 2",
            ),
            ("checks.py", 'Claim("unsorted", 1,', 'Claim("unsorted", 2,'),
        ):
            path = self.folder / "solutions" / ASSIGNMENT / name
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    walk = Walk(Path(sys.argv[1]))
    walk.run(commands())
    json.dump(walk.log, sys.stdout)
