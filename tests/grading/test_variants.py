"""Each student's own numbers: texts, checks, hints and hidden cases use them; a copied answer fails and is named."""

import json
import re
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook

from kernelcourse.checking import Case, CheckFailed, Checks, Claim, Mistake, Passed, Piece, catalogue, checks_in
from kernelcourse.checking.variants import checked_parameters
from kernelcourse.course.cli import main
from kernelcourse.course.engine import nbgrader_api, succeed
from kernelcourse.course.errors import CourseError
from kernelcourse.course.folder import Course
from kernelcourse.course.grade import grade
from kernelcourse.course.init import init
from kernelcourse.course.per_student import release_to_each
from kernelcourse.course.release import lay_out_sources
from kernelcourse.course.secret import VARIABLE
from kernelcourse.course.similarity import near_identical
from kernelcourse.course.transplant import Ending
from kernelcourse.course.variants import Variants, read_variants

ASSIGNMENT, STEM = "01-powers", "powers"
SOURCE = """---
kernelspec: {display_name: Python 3, language: python, name: python3}
---

```{code-cell}
:nbgrader: {grade: false, grade_id: setup, locked: true, solution: false, @}
from kernelcourse.checking import catalogue

SEED = 1
check = catalogue("powers").checks(SEED)
```

Return $x^{{{degree}}}$, that is `x` to the power of {{degree}}.

```{code-cell}
:nbgrader: {grade: false, grade_id: power, locked: false, solution: true, @}
def power(x):
    ### BEGIN SOLUTION
    return x**{{degree}}
    ### END SOLUTION
```

```{code-cell}
:nbgrader: {grade: true, grade_id: check-power, locked: true, points: 2, solution: false, @}
check(power=power)
### BEGIN HIDDEN TESTS
check.hidden(power=power)
assert power(2) == 2**{{degree}}
### END HIDDEN TESTS
```
""".replace("@", "schema_version: 3, task: false")
CHECKS = """
from kernelcourse.checking import Case, Mistake, Piece

PARAMETERS = {"degree": range(2, 12)}

def cases(rng, *, degree):
    yield Case((2,), f"to the power of {degree}")
    yield Case((float(rng.uniform(1, 1.5)),))

def reference(x, *, degree):
    return x**degree

def times(x, *, degree):
    return 3 * x * degree

PIECES = [Piece("power", 2, reference, cases, [Mistake(times, "This multiplies x {{degree}} times by 3.")])]
"""


def cases(rng, *, degree):
    yield Case((degree,), f"the degree {degree} itself")
    yield Case((int(rng.integers(20, 30)),))


def power(x, *, degree):
    return x**degree


def times(x, *, degree):
    return x * degree


def verify(answer, *, degree):
    return "" if answer == degree else "Return {{degree}}."


PIECES = [
    Piece("power", 2, power, cases, [Mistake(times, "This is {{degree}} times x.")]),
    Claim("number", 1, lambda *, degree: degree, verify, [Mistake(lambda: 0, "Return {{degree}}.")]),
]


def test_references_cases_mistakes_and_hints_have_the_students_own_values():
    check = Checks(PIECES, seed=3, parameters={"degree": range(2, 9)})
    own = check.own["degree"]
    assert len({Checks([], seed=seed, parameters={"degree": range(2, 9)}).own["degree"] for seed in range(20)}) > 3
    assert isinstance(check(power=lambda x: x**own, number=lambda: own), Passed)
    assert check.final(power=lambda x: x**own).earned == 2
    for wrong, hint in (
        (lambda x: x * own, f"This is {own} times x"),
        (lambda x: x ** (own + 1), f"This is right for degree = {own + 1}"),
    ):
        with pytest.raises(CheckFailed, match=f"the degree {own} itself"):
            check(power=wrong)
        assert hint in str(check.why("power"))
    with pytest.raises(CheckFailed, match=f"Return {own}"):
        check(number=lambda: own + 1)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([1], "expected a dict"),
        ({"not a name": [1]}, "cannot be the name of an argument"),
        ({"word": "abc"}, "expected a list, a tuple or a range"),
        ({"none": []}, "expected a list, a tuple or a range"),
        ({"pair": [(1, 2)]}, "expected only numbers and texts"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_in_words(parameters, words):
    with pytest.raises((TypeError, ValueError), match=words):
        checked_parameters(parameters)


LONG = """def f(table):
    total = 0
    for row in table:
        for entry in row[1:@]:
            if entry > @ and entry % 5 != 2:
                total = total + (entry - @) ** 2 / (1 + abs(entry))
            elif entry == 0 or row[0] < 0:
                total = total - max(row) * min(row) + @
    return round(total / len(table), 4) if table else None
"""


def test_a_copy_with_the_numbers_of_ones_own_is_found():
    texts = {"ada": LONG.replace("@", "7"), "bob": LONG.replace("@", "31")}
    own = {"ada": {"7"}, "bob": {"31"}}
    (group,) = near_identical("f", texts, own=own)
    assert group.students == ("ada", "bob") and group.overlap == 1
    assert [found.overlap for found in near_identical("f", texts)] != [1]


def test_a_copy_of_another_students_notebook_is_named_by_its_owner():
    variants = Variants(seeds={"ada": 11, "bob": 12})
    assert variants.endings("ada", {STEM: ["SEED = 11", "SEED = 12"]}) == []  # a copied cell beside one's own
    for text, whose in (("x = 0\nSEED = 12", "that of bob"), ("SEED = 13", "another")):
        said = f"The notebook is not the student's own but {whose}; it was graded with the student's numbers."
        assert variants.endings("ada", {STEM: [text]}) == [Ending("another variant", said, STEM)]


@pytest.mark.parametrize("student", ["..", ".hidden", "a/b", ""])
def test_a_notebook_is_released_to_ids_that_can_be_folders_only(tmp_path, student):
    with pytest.raises(CourseError, match=f"{re.escape(repr(student))} cannot be a student's id"):
        release_to_each(Course(tmp_path), ASSIGNMENT, ["ada", student], None)


def test_the_common_release_has_numbers_in_its_places(tmp_path):
    course, workshop = Course(tmp_path / "course"), Course(tmp_path / "workshop")
    folder = course.solutions / ASSIGNMENT
    folder.mkdir(parents=True)
    (folder / f"{STEM}.md").write_text(SOURCE, encoding="utf-8")
    (folder / "checks.py").write_text(CHECKS, encoding="utf-8")
    texts = "\n".join(cell.source for cell in lay_out_sources(course, workshop, ASSIGNMENT, None)[STEM].cells)
    assert "{{" not in texts and f"assert power(2) == 2**{common(course)}\n" in texts


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose students have their own notebooks, handed in and graded."""
    course = Course(tmp_path_factory.mktemp("variants") / "course")
    init(course.root)
    (course.solutions / ASSIGNMENT).mkdir()
    (course.solutions / ASSIGNMENT / f"{STEM}.md").write_text(SOURCE, encoding="utf-8")
    (course.solutions / ASSIGNMENT / "checks.py").write_text(CHECKS, encoding="utf-8")
    with (course.root / "students.csv").open("a", encoding="utf-8") as roster:
        roster.write("ada,,,,\nbob,,,,\ncleo,,,,\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "secret 0")
        roster = str(course.root / "students.csv")
        assert main(["release", ASSIGNMENT, "--per-student", roster, "--course", str(course.root)]) == 0
        degrees = {who: own[STEM]["degree"] for who, own in read_variants(course.root, ASSIGNMENT).values.items()}
        assert len(set(degrees.values())) == 3
        given = {who: course.root / "variants" / who / ASSIGNMENT / f"{STEM}.ipynb" for who in degrees}
        hand_in(course, "ada", given["ada"], degrees["ada"])
        hand_in(course, "bob", given["ada"], degrees["ada"])  # ada's notebook and ada's answer
        hand_in(course, "cleo", given["cleo"], degrees["cleo"])  # cleo's own notebook and answer
        hand_in(course, "dan", course.exercises / ASSIGNMENT / f"{STEM}.ipynb", common(course))
        yield course, degrees, {one["student"]: one for one in grade(course, ASSIGNMENT)}


def common(course):
    """The degree for students without a variant."""
    with checks_in(course.solutions / ASSIGNMENT):
        return catalogue(STEM).checks(1).own["degree"]


def hand_in(course, student, notebook, degree):
    released = nbformat.read(notebook, as_version=4)
    for cell in released.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = f"def power(x):\n    return x**{degree}"
    (course.root / "submitted" / student / ASSIGNMENT).mkdir(parents=True)
    nbformat.write(released, course.root / "submitted" / student / ASSIGNMENT / f"{STEM}.ipynb")


sandboxed = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names the package")


@sandboxed
def test_texts_and_instant_checks_are_the_students_own(course, monkeypatch):
    course, degrees, _ = course
    for student, degree in degrees.items():
        folder = course.root / "variants" / student / ASSIGNMENT
        text = (folder / f"{STEM}.ipynb").read_text(encoding="utf-8")
        assert f"to the power of {degree}." in text and "{{degree}}" not in text and "x**" not in text
        monkeypatch.chdir(folder)
        check = catalogue(STEM).checks(read_variants(course.root, ASSIGNMENT).seeds[student])
        assert check(power=lambda x, degree=degree: x**degree).earned == 2
        other = degree % 10 + 2
        with pytest.raises(CheckFailed, match=f"right for degree = {other}"):
            check(power=lambda x, other=other: x**other)


@sandboxed
def test_who_copies_an_answer_gets_nothing_and_who_shares_an_idea_all_of_it(course):
    course, degrees, results = course
    with Gradebook(course.gradebook) as gradebook:
        points = {one.student.id: one.score for one in gradebook.assignment_submissions(ASSIGNMENT)}
    assert points == {"ada": 2, "bob": 0, "cleo": 2, "dan": 2}
    (piece,) = results["bob"]["notebooks"][STEM]["pieces"]
    assert piece["mistake"] == f"right for degree = {degrees['ada']}"
    kinds = {who: [ending["kind"] for ending in one["endings"]] for who, one in results.items()}
    assert kinds == {"ada": [], "bob": ["another variant"], "cleo": [], "dan": ["no variant"]}
    assert "that of ada" in results["bob"]["endings"][0]["text"]


@sandboxed
def test_plain_nbgrader_a_replay_and_a_revelation_go_by_the_same_numbers(course, monkeypatch, capsys):
    course, _, _ = course
    root = ["--course", str(course.root)]
    assert main(["replay", "bob", ASSIGNMENT, *root]) == 0
    assert "the same verdict, byte for byte" in capsys.readouterr().out
    assert main(["reveal", ASSIGNMENT, *root]) == 0  # it compares each file with what the release promised
    hidden = {path.parent.name: path.read_bytes() for path in (course.root / "revealed").rglob("*.hidden.json")}
    assert set(hidden) == {ASSIGNMENT, "ada", "bob", "cleo"} and len(set(hidden.values())) == 4
    with nbgrader_api(course) as api:
        succeed(api.autograde(ASSIGNMENT, "cleo", force=True), "grade cleo")
        with api.gradebook as gradebook:
            assert gradebook.find_submission(ASSIGNMENT, "cleo").score == 2


@sandboxed
def test_a_second_release_changes_nobodys_numbers_and_other_parameters_are_noticed(course, capsys):
    course, degrees, _ = course
    before = json.loads((course.root / ".grading" / "variants" / f"{ASSIGNMENT}.json").read_bytes())["seeds"]
    checks = course.checks(ASSIGNMENT)
    checks.write_text(CHECKS.replace("range(2, 12)", "range(12, 22)"), encoding="utf-8")
    assert main(["grade", ASSIGNMENT, "--regrade", "--course", str(course.root)]) == 2
    assert f"ada was given degree = {degrees['ada']} in {ASSIGNMENT}, and would be given" in capsys.readouterr().err
    checks.write_text(CHECKS, encoding="utf-8")
    assert main(["release", ASSIGNMENT, "--course", str(course.root)]) == 0
    assert json.loads((course.root / ".grading" / "variants" / f"{ASSIGNMENT}.json").read_bytes())["seeds"] == before
