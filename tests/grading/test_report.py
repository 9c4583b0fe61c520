"""The report on a graded assignment: what it counts, what it finds alike, and that no student's text is executed."""

import argparse
import csv
import io
import json
import re
from pathlib import Path
from tokenize import NAME, OP, STRING, TokenInfo

import pytest

from kernelcourse.checking import dual_representation
from kernelcourse.course import report as command
from kernelcourse.course import similarity
from kernelcourse.course.anonymous import anonymous
from kernelcourse.course.engine import nbgrader_api
from kernelcourse.course.errors import CourseError
from kernelcourse.course.graded import Ending, PieceResult, Submission, _from_gradebook
from kernelcourse.course.graded import Graded as Everything
from kernelcourse.course.lms import harmless
from kernelcourse.course.notebooks import replace_file, write_notebook
from kernelcourse.course.release import release
from kernelcourse.course.report import report
from kernelcourse.course.similarity import near_identical, structure
from kernelcourse.course.summary import histogram
from tests.course.conftest import HERE, Graded, cell_by_id, temporary_course

AXE = (Path(__file__).parents[1] / "book/vendor/axe.min.js").read_text(encoding="utf-8")
ASSIGNMENT, STEM = "01-dual-representation", "dual-representation"
PIECES = {piece.name: piece for piece in dual_representation.PIECES}
FORMULA = "=cmd|'C calc'!A0"
SCRIPT = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"

COPIED = """def kernel_regression(X, t, Z, sigma, lam):
    total_points = len(X)
    table = np.empty((total_points, total_points))
    for left in range(total_points):
        for right in range(total_points):
            gap = X[left] - X[right]
            table[left, right] = np.exp(-gap.dot(gap) / (2 * sigma**2))
    answer = np.linalg.inv(table + lam * np.identity(total_points)).dot(t)
    gaps = [[z - x for x in X] for z in Z]
    return np.array([sum(a * np.exp(-g.dot(g) / (2 * sigma**2)) for a, g in zip(answer, row)) for row in gaps])
"""
NAMES = {"total_points": "n", "table": "gram", "left": "i1", "right": "i2", "gap": "d", "answer": "alpha", "gaps": "ds"}
RENAMED = re.sub(r"\w+", lambda found: NAMES.get(found[0], found[0]), COPIED).replace(
    "len(X)\n", "len(X)  # how many\n"
)


def record(name, mistake=None, problem=""):
    """The grader's record of a piece; the piece is wrong if a mistake is named."""
    piece = PIECES[name]
    hints = {entry.name: entry.hint for entry in piece.mistakes}
    earned = piece.points if mistake is None else 0
    hint = hints.get(mistake, "")
    return {
        "piece": name,
        "points": piece.points,
        "earned": earned,
        "problem": problem,
        "hint": hint,
        "mistake": mistake or "",
    }


def write_result(course, student, records, *, endings=(), unsafe=False):
    notebooks = {STEM: {"pieces": records, "scores": {}}}
    result = {"student": student, "assignment": ASSIGNMENT, "endings": list(endings), "notebooks": notebooks}
    result |= {"seed": "0123", "unsafe": unsafe, "seconds": 1.0, "digest": "00"}
    replace_file(course.root / ".grading" / ASSIGNMENT / student / "result.json", json.dumps(result).encode())


def enter(gradebook, student, points, **who):
    """Enter a submission into the gradebook: `points` for one of the checks, and written answers still to be read."""
    gradebook.update_or_create_student(student, **who)
    gradebook.update_or_create_submission(ASSIGNMENT, student)
    notebook = gradebook.find_submission_notebook(STEM, ASSIGNMENT, student)
    for grade in notebook.grades:
        grade.auto_score, grade.needs_manual_grade = 0, grade.cell.cell_type == "markdown"
    notebook.grades[0].extra_credit = points
    gradebook.db.commit()


def answered(graded, **answers):
    notebook = graded.perfect()
    for grade_id, text in answers.items():
        cell_by_id(notebook, grade_id.replace("_", "-")).source = text
    return notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class as the grader leaves it: results, gradebook, autograded notebooks."""
    course = temporary_course(tmp_path_factory.mktemp("reported"), HERE, ASSIGNMENT)
    release(course, ASSIGNMENT)
    graded = Graded(HERE, course, ASSIGNMENT, None)
    right = [record(name) for name in PIECES]
    mistakes = {"gram_matrix": "features_by_features", "predict": "not written"}
    puzzled = answered(graded, kernel_regression="check.why('gram_matrix')")
    submissions = {
        "ada": (25, right, graded.perfect()),
        "bob": (20, [record(name, mistakes.get(name)) for name in PIECES], puzzled),
        "cy": (22, right, answered(graded, kernel_regression=COPIED)),
        "di": (22, right, answered(graded, kernel_regression=RENAMED)),
        "eve": (0, [record("kernel", "", SCRIPT)], answered(graded, kernel=f"# {SCRIPT}\u202e\n{COPIED}")),
    }
    who = {"first_name": "@SUM(A1)", "last_name": "+1", "email": "-1@x.org", "lms_user_id": "77"}
    with nbgrader_api(course) as api, api.gradebook as gradebook:
        for student, (points, *_) in submissions.items():
            enter(gradebook, student, points)
        enter(gradebook, FORMULA, 1, **who)
    for student, (_, records, notebook) in submissions.items():
        write_result(course, student, records)
        write_notebook(notebook, course.root / "autograded" / student / ASSIGNMENT / f"{STEM}.ipynb")
    endings = [{"notebook": STEM, "kind": "timeout", "text": f"A cell took too long. {SCRIPT}"}]
    write_result(course, FORMULA, [record("kernel", "no_constant")], endings=endings, unsafe=True)
    replace_file(course.root / ".grading" / ASSIGNMENT / "broken" / "result.json", b'{"endings": 3')
    (course.root / "submitted" / "late" / ASSIGNMENT).mkdir(parents=True)
    return course


@pytest.fixture(scope="module")
def files(course):
    return report(course, ASSIGNMENT)


@pytest.fixture(scope="module")
def page(files):
    return files[0].read_text(encoding="utf-8")


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def section(page, title):
    """The text of a section without its tags."""
    body = page.split(f"<h2>{title}</h2>")[1].split("<h2>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


# The page


def test_points_are_the_gradebooks(page):
    absent = "1 enrolled without a grade (the list of students gives the reasons)"
    assert f"7 submissions, {absent}, 25 points in all; mean 12.86, median 20." in " ".join(page.split())
    assert "24 to 25: 1. " in page
    assert section(page, "Points").count("waits") == 6
    assert "6 of them wait for written answers" in " ".join(page.split())


def test_each_piece_has_its_success(page):
    assert "gram_matrix 1 4 of 7 1 3 43 %" in section(page, "Pieces")
    assert "predict 1 3 of 7 0 3 43 %" in section(page, "Pieces")


def test_mistakes_come_with_hint_and_students(page):
    text = section(page, "Mistakes")
    assert "features by features This is ΦᵀΦ, features against features" in text
    assert "1 student bob:" in text
    assert "kernel no constant" in text
    assert "kernel not in the catalogue Wrong in a way of its own" in text
    assert text.index("predict not written") > text.index("kernel no constant")


def test_odd_endings_are_listed(page):
    text = section(page, "Unusual endings")
    for words in (
        f"{STEM} timeout A cell took too long.",
        "no sandbox Graded with --unsafe",
        "broken unreadable result",
        "late not graded Submitted, but not graded yet.",
        "broken not in the gradebook",
    ):
        assert words in text


def test_renamed_copies_stand_side_by_side(page):
    groups = re.findall(r"<summary><code>(.*?)</code>: (.*?)\s*\(", section_html(page, "Near-identical answers"))
    assert groups == [(f"{STEM}: kernel-regression", "cy, di")]
    shown = section_html(page, "Near-identical answers")
    assert "gap.dot(gap)" in shown
    assert "d.dot(d)" in shown


def section_html(page, title):
    return page.split(f"<h2>{title}</h2>")[1]


def test_students_text_is_escaped_everywhere(page):
    assert "<script" not in page
    assert "onerror=alert(1)&gt;" in page
    assert re.findall(r"<img|<iframe|<object|<embed|<link", page) == []
    assert "javascript:" not in page


def test_hidden_characters_are_spelled_out(course, files, tmp_path):
    graded = Graded(HERE, course, ASSIGNMENT, None)
    for student in ("fay", "gus"):
        write_result(course, student, [])
        text = COPIED + "\n# \u202eyas \u200bcomment\x1b[2J"
        notebook = answered(graded, not_a_kernel=text)
        write_notebook(notebook, course.root / "autograded" / student / ASSIGNMENT / f"{STEM}.ipynb")
    page = report(course, ASSIGNMENT, out=tmp_path / "out.html")[0].read_text(encoding="utf-8")
    for student in ("fay", "gus"):
        (course.root / ".grading" / ASSIGNMENT / student / "result.json").unlink()
    assert "# \\u202eyas \\u200bcomment\\u001b[2J" in page
    assert "\u202e" not in page


def test_the_page_asks_for_nothing(page):
    assert re.findall(r"<[^>]*\s(?:src|href|on\w+)\s*=|url\(|@import|https?://", page) == []


@pytest.mark.parametrize("mode", ["desktop", "phone", "dark"])
def test_the_page_is_accessible_and_fits(files, new_window, mode):
    options = {
        "desktop": {"viewport": {"width": 1280, "height": 900}},
        "phone": {"viewport": {"width": 390, "height": 844}},
        "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    }[mode]
    context = new_window(**options)
    page = context.new_page()
    troubles = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("request", lambda request: request.url.startswith("file:") or troubles.append(request.url))
    page.goto(files[0].as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((part) => part.open = true)")
    assert page.title() == f"Report on {ASSIGNMENT}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    assert [(v["id"], [node["html"][:200] for node in v["nodes"]]) for v in found["violations"]] == []
    assert troubles == []
    context.close()


# The files for the learning platforms


def test_canvas_gets_its_columns_and_the_points_possible(files):
    head, possible, *students = rows(files[1])
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", ASSIGNMENT]
    assert possible == ["    Points Possible", "", "", "", "", "25"]
    assert ["ada", "", "", "ada", "", "25"] in students
    assert ["'+1,' @SUM(A1)", "77", "", "'=cmd|'C calc'!A0", "", "1"] in students


def test_moodle_gets_its_columns(files):
    head, *students = rows(files[2])
    item = f"Assignment: {ASSIGNMENT}"
    assert head == ["First name", "Last name", "ID number", "Email address", f"{item} (Real)", f"{item} (Feedback)"]
    eve = next(row for row in students if row[2] == "eve")
    assert eve == ["", "", "eve", "", "0", "kernel 0/2"]
    assert [
        "'@SUM(A1)",
        "'+1",
        "'=cmd|'C calc'!A0",
        "'-1@x.org",
        "1",
        "kernel 0/2; check-kernel 1/2 (by hand)",
    ] in students


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\n=1", "＝1"])
def test_no_cell_is_a_formula(text):
    buffer = io.StringIO()
    csv.writer(buffer).writerow([harmless(text)])
    assert buffer.getvalue().strip('"').startswith("'")


def test_a_manual_grade_counts(course, files, tmp_path):  # `files` comes first, so that it is made before the change
    with nbgrader_api(course) as api, api.gradebook as gradebook:
        for grade in gradebook.find_submission_notebook(STEM, ASSIGNMENT, "bob").grades:
            if grade.cell.cell_type == "markdown":
                grade.manual_score, grade.needs_manual_grade = 2, False
        gradebook.db.commit()
    _, canvas, _ = report(course, ASSIGNMENT, out=tmp_path / "out.html")
    assert ["bob", "", "", "bob", "", "24"] in rows(canvas)


# The command


def test_the_command_writes_where_it_is_told(course, tmp_path, capsys):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    out = tmp_path / "deep" / "mine.html"
    assert command.run(parser.parse_args([ASSIGNMENT, "--course", str(course.root), "--out", str(out)])) == 0
    written = capsys.readouterr().out.split()
    assert written == [str(out), str(out.with_name("mine-canvas.csv")), str(out.with_name("mine-moodle.csv"))]
    assert sorted(path.name for path in out.parent.iterdir()) == ["mine-canvas.csv", "mine-moodle.csv", "mine.html"]


def test_the_report_is_the_same_twice(course, files, tmp_path):
    again = report(course, ASSIGNMENT, out=tmp_path / "a.html")
    once_more = report(course, ASSIGNMENT, out=tmp_path / "b.html")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in once_more]


def test_a_place_that_cannot_be_written_is_refused(course, tmp_path):
    with pytest.raises(CourseError, match="is a folder"):
        report(course, ASSIGNMENT, out=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(CourseError, match="cannot be written"):
        report(course, ASSIGNMENT, out=tmp_path / "file" / "page.html")


def test_an_unknown_assignment_is_refused(course):
    with pytest.raises(CourseError, match="no assignment is called '77-nothing'"):
        report(course, "77-nothing")


def test_nothing_graded_yet_is_refused(tmp_path):
    course = temporary_course(tmp_path, HERE, ASSIGNMENT)
    with pytest.raises(CourseError, match=f"nothing of {ASSIGNMENT} has been graded yet: run `kernelcourse grade"):
        report(course, ASSIGNMENT)
    assert not (tmp_path / "gradebook.db").exists()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"endings": []}', b"\xff", b"[" * 100_000, b'{"endings": [1]}'])
def test_an_unreadable_result_is_an_odd_ending(tmp_path, content):
    course = temporary_course(tmp_path, HERE, ASSIGNMENT)
    replace_file(tmp_path / ".grading" / ASSIGNMENT / "ada" / "result.json", content)
    page = report(course, ASSIGNMENT)[0].read_text(encoding="utf-8")
    assert "ada" in section(page, "Unusual endings")
    assert "unreadable result" in section(page, "Unusual endings")


def test_half_a_character_does_not_stop_the_report(tmp_path):
    course = temporary_course(tmp_path, HERE, ASSIGNMENT)
    ending = {"notebook": STEM, "kind": "timeout", "text": "It took \ud800 long."}
    write_result(course, "ada", [record("kernel") | {"piece": "ker\ud800nel"}], endings=[ending])
    page, _, moodle = report(course, ASSIGNMENT)
    assert "It took \\ud800 long." in section(page.read_text(encoding="utf-8"), "Unusual endings")
    assert rows(moodle)[1][-1] == "ker?nel 2/2"


# Similarity

HEAD = "def dual_weights(K, t, lam):\n"
STUB = HEAD + '    """The dual weights a."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
SOLUTION = HEAD + "    return np.linalg.solve(K + lam * np.eye(len(K)), t)"
ALTERNATIVES = [
    SOLUTION,
    HEAD + "    return np.linalg.inv(K + lam * np.eye(len(K))) @ t",
    HEAD + "    n = K.shape[0]\n    return np.linalg.solve(K + lam * np.eye(n), t)",
    HEAD + "    A = K + lam * np.identity(len(t))\n    return np.linalg.solve(A, t)",
    HEAD + "    values, vectors = np.linalg.eigh(K)\n    return vectors @ ((vectors.T @ t) / (values + lam))",
    HEAD + "    A = 1.0 * K\n    for i in range(len(A)):\n        A[i, i] += lam\n    return np.linalg.solve(A, t)",
    HEAD + "    from scipy.linalg import solve\n    return solve(K + lam * np.eye(len(K)), t, assume_a='pos')",
    HEAD + "    return np.linalg.lstsq(K + np.diag([lam] * len(K)), t, rcond=None)[0]",
]


@pytest.mark.parametrize("size", [2, 3, 8, 30, 100])
def test_an_honest_class_that_knows_a_few_ways_is_not_suspected(size):
    texts = {f"s{i:03}": ALTERNATIVES[i % len(ALTERNATIVES)] for i in range(size)}
    assert near_identical("dual", texts, [STUB, SOLUTION]) == []


def test_untouched_answers_are_not_alike():
    assert near_identical("dual", dict.fromkeys("abcdef", STUB), [STUB, SOLUTION]) == []


@pytest.mark.parametrize("size", [2, 10, 60])
def test_a_renamed_copy_is_found_in_classes_of_any_size(size):
    texts = {f"s{i:03}": ALTERNATIVES[i % len(ALTERNATIVES)] for i in range(size)} | {"cy": COPIED, "di": RENAMED}
    (group,) = near_identical("answer", texts, [STUB, SOLUTION])
    assert group.students == ("cy", "di")
    assert group.overlap == 1


def test_half_a_class_that_copied_word_for_word_is_found():
    copied = COPIED.replace("    answer", "    # my own clever trick here\n    answer")
    texts = dict.fromkeys([f"c{i}" for i in range(10)], copied) | {f"s{i}": ALTERNATIVES[i % 8] for i in range(10)}
    (group,) = near_identical("answer", texts, [STUB, SOLUTION])
    assert group.students == tuple(f"c{i}" for i in range(10))


def test_the_same_text_with_comments_of_ones_own_is_not_the_same_text():
    """What many wrote is the usual way to write it; only a text that agrees to the letter is a copy."""
    commented = COPIED.replace("    answer", "    # clever trick number {}\n    answer")
    others = {f"s{i}": ALTERNATIVES[i % 8] for i in range(10)}
    own = {f"c{i}": commented.format("abcdefghij"[i]) for i in range(10)}
    assert near_identical("answer", own | others, [STUB, SOLUTION]) == []
    spaced = {name: commented.replace("\n", "\n\n" if name == "c3" else "\n") for name in own}
    (group,) = near_identical("answer", spaced | others, [STUB, SOLUTION])
    assert group.students == tuple(own)  # blank lines make no difference


def test_answers_are_compared_by_runs_of_five_tokens_with_the_names_of_attributes():
    assert structure("a = np.linalg.solve") == ["name", "=", "name", ".", "linalg", ".", "solve"]
    assert similarity._runs("a = np.x") == {("name", "=", "name", ".", "x")}
    assert {" ".join(run) for run in similarity._runs("a = b.c.d")} == {
        "name = name . c",
        "= name . c .",
        "name . c . d",
    }
    assert similarity._runs("a = b") == frozenset()


def test_a_copy_with_a_few_lines_changed_is_found():
    changed = RENAMED.replace("np.identity(n)", "np.eye(len(gram))").replace("np.array([", "np.asarray([")
    (group,) = near_identical("answer", {"cy": COPIED, "di": changed, "ada": ALTERNATIVES[0]}, [STUB])
    assert group.students == ("cy", "di")
    assert group.overlap < 1


@pytest.mark.parametrize("text", ["", "def f(:\n", "'''", "%timeit 1\n!ls", "\x00\x00", "(" * 3000, "x = 1\n" * 50_000])
def test_text_that_is_no_python_is_no_error(text):
    assert isinstance(structure(text), list)
    near_identical("answer", {"a": text, "b": "x = 1"}, [STUB])


FORMATTED = "x = 1\nprint(f\"the {a!r} of {f'{b}'}\" + rest)\n"


def test_a_formatted_string_is_one_string_on_every_python(monkeypatch):
    alike = ["name", "=", "1", "print", "(", "string", "+", "name", ")"]
    assert structure(FORMATTED) == alike
    # The tokens of Python 3.12, here with type numbers that no version uses.
    opening, middle, closing = 901, 902, 903
    pieces = [(opening, 'f"'), (middle, "the "), (OP, "{"), (NAME, "a"), (OP, "!"), (NAME, "r"), (OP, "}")]
    pieces += [(middle, " of "), (OP, "{"), (opening, "f'"), (OP, "{"), (NAME, "b"), (OP, "}"), (closing, "'")]
    pieces += [(OP, "}"), (closing, '"')]
    line, column = FORMATTED.splitlines(keepends=True)[1], len("print(")
    tokens = [TokenInfo(NAME, "print", (2, 0), (2, 5), line), TokenInfo(OP, "(", (2, 5), (2, 6), line)]
    for kind, text in pieces:
        tokens.append(TokenInfo(kind, text, (2, column), (2, column + len(text)), line))
        column += len(text)
    tokens.append(TokenInfo(OP, "+", (2, column + 1), (2, column + 2), line))
    monkeypatch.setattr(similarity, "_OPENINGS", {opening})
    monkeypatch.setattr(similarity, "_CLOSINGS", {closing})
    whole = list(similarity._whole_strings(tokens, FORMATTED.splitlines(keepends=True)))
    string = "f\"the {a!r} of {f'{b}'}\""
    assert whole == [(NAME, "print"), (OP, "("), (STRING, string), (OP, "+")]


def test_a_formatted_string_over_two_lines_is_one_string(monkeypatch):
    monkeypatch.setattr(similarity, "_OPENINGS", {901})
    monkeypatch.setattr(similarity, "_CLOSINGS", {903})
    lines = ['x = f"""one {a}\n', 'two"""\n']
    tokens = [TokenInfo(901, 'f"""', (1, 4), (1, 8), lines[0]), TokenInfo(903, '"""', (2, 3), (2, 6), lines[1])]
    assert list(similarity._whole_strings(tokens, lines)) == [(STRING, 'f"""one {a}\ntwo"""')]


def test_points_fill_the_histogram():
    bars = histogram([0, 0.5, 12, 25, 25], 25)
    assert sum(bar.count for bar in bars) == 5
    assert (bars[0].low, bars[-1].high, bars[-1].count) == (0, 25, 2)
    assert len(bars) <= 12
    assert histogram([3.0], 0)[-1].count == 1


def test_an_anonymous_report_leaves_no_name_in_a_text_and_no_part_of_one():
    one = Submission(
        "ada", "Ada", "Ada-Lovelace", "ada@x.org", "7", answers={"why": "ADA-LOVELACE (ada@x.org), 7, Adam"}
    )
    one.pieces = [PieceResult("kernel", 2, 0, "name 'ada' is not defined")]
    both = [one, Submission("jo", answers={"why": "with Ada"})]
    hidden = anonymous(Everything("01-a", 2, both, [Ending("ada", "late", "Ada was late", "ada")], [], {}), "secret")
    (who,) = {ending.student for ending in hidden.endings}
    texts = {one.student == who: one.answers["why"] for one in hidden.submissions}
    assert texts == {True: "… (…), 7, Adam", False: "with …"}  # what is shorter than three letters stays
    (mine,) = (one for one in hidden.submissions if one.student == who)
    assert mine.pieces[0].problem == "name '…' is not defined" and mine.name == who
    assert hidden.endings == [Ending(who, "late", "… was late", "…")]
    short = anonymous(Everything("01-a", 2, [Submission("jo", answers={"why": "by Jo"})], [], [], {}), "secret")
    assert short.submissions[0].answers == {"why": "by Jo"}


def test_what_came_late_or_at_no_known_time_is_odd(tmp_path):
    course, endings = temporary_course(tmp_path), []
    with nbgrader_api(course) as api, api.gradebook as gradebook:
        gradebook.add_assignment("01-a", duedate="2027-03-01")
        for student, time in {"ada": "2027-03-03", "bob": "2027-02-28", "cleo": None}.items():
            gradebook.add_student(student)
            gradebook.add_submission("01-a", student, timestamp=time)
    _from_gradebook(course, "01-a", endings)
    assert sorted(endings, key=lambda one: one.student) == [
        Ending("ada", "late", "2 days late: 0 points off."),
        Ending("cleo", "no time stamp", "No collector noted when it arrived: it counts as on time."),
    ]
