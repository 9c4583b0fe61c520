"""Checks are judged outside the sandbox: by what functions return, not by what they are."""

import json
import multiprocessing
import os
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from nbformat import from_dict
from nbgrader.utils import determine_grade

from kernelcourse.checking import dual_representation
from kernelcourse.checking.cases import Case, case_generator
from kernelcourse.course import receipt as receipts
from kernelcourse.course.plain import Unknown
from kernelcourse.course.preprocessors import GradeSafely
from kernelcourse.course.proxy import AnswerRaised, RemoteFunction
from kernelcourse.course.sandbox import Died, Limits, Sandbox
from kernelcourse.course.secret import assignment_secret, commitment, fingerprint, revealed, secret_seed
from kernelcourse.course.session import Session, _clean
from kernelcourse.course.verdict import Grounds, Judge, Recorder, bound_names
from kernelcourse.course.worker import Outputs

SETUP = """
from kernelcourse.checking import dual_representation
check = dual_representation.checks(1)
"""
CHECK = "check({0})\ncheck.hidden({0})"
RIGHT = {"gram_matrix": "Phi @ Phi.T", "predict": "Phi @ rest[0]"}


@pytest.fixture(scope="module")
def session(library):
    limits = Limits(seconds=2, patience=300)
    session = Session(lambda: Sandbox(library, limits=limits), seconds=3000)
    session.run("import numpy as np")
    yield session
    session.end()


def define(session, **bodies):
    for name, body in bodies.items():
        session.run(f"def {name}(Phi, *rest):\n    return {body}")


def judge(session, *names, setup=SETUP):
    """The outcome of these pieces' check cell: points by nbgrader's rule, records of the pieces, functions called."""
    source = CHECK.format(", ".join(f"{name}={name}" for name in names))
    return verdict(session, source, setup)


def verdict(session, source, setup=SETUP, points=2):
    court = Judge(setup, {"gram_matrix", "predict", "not_a_kernel"}, lambda name: RemoteFunction(session, name))
    hearing = court.judge(source)
    if hearing.waits:
        hearing.kept(session.keep())
    outputs, functions = hearing.conclude(), hearing.functions
    meta = {"nbgrader": {"grade": True, "solution": False, "points": points, "grade_id": "x"}}
    cell = from_dict({"cell_type": "code", "source": source, "metadata": meta, "outputs": outputs})
    records = [record for output in outputs for record in output.get("metadata", {}).get("kernelcourse", [])]
    return determine_grade(cell)[0], {record["piece"]: record for record in records}, functions


def test_right_half_right_and_wrong(session):
    define(session, **RIGHT)
    score, records, _ = judge(session, "gram_matrix", "predict")
    assert score == 2 and all(record["earned"] == 1 for record in records.values())
    define(session, predict="Phi")
    score, records, _ = judge(session, "gram_matrix", "predict")
    assert score == 1 and records["predict"]["earned"] == 0 and records["gram_matrix"]["earned"] == 1
    define(session, gram_matrix="Phi.T @ Phi")
    score, records, _ = judge(session, "gram_matrix", "predict")
    assert score == 0 and records["gram_matrix"]["mistake"]


def test_a_name_that_is_not_there_costs_its_own_piece_only(session):
    define(session, **RIGHT)
    session.run("del predict")
    score, records, _ = judge(session, "gram_matrix", "predict")
    assert score == 1 and "NameError" in records["predict"]["problem"]


def test_what_is_printed_or_warned_of_is_no_failure(session):
    session.run("import sys, warnings")
    define(session, gram_matrix="(warnings.warn('x'), print('x', file=sys.stderr), Phi @ Phi.T)[-1]")
    assert judge(session, "gram_matrix")[0] == 2


@pytest.mark.parametrize(
    "body",
    [
        "type('Liar', (), {'__eq__': lambda *a: True, '__array__': lambda *a, **k: np.zeros(1)})()",
        "np.full((len(Phi),) * 2, np.nan)",
        "np.array([[object()] * len(Phi)] * len(Phi))",
        "(lambda: 1)",
        "1.0",
        "[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]",
        "'x' * 50_000_000",
        "[0] * 500_000",
        "np.zeros(10**7)",
        "(_ for _ in ()).throw(SystemExit)",
        "(_ for _ in ()).throw(KeyboardInterrupt)",
        "__import__('os')._exit(0)",
        "__import__('os').kill(__import__('os').getpid(), 9)",
        "(lambda f: f(f))(lambda f: f(f))",
    ],
)
def test_whatever_comes_is_wrong_and_nothing_worse(session, body):
    define(session, gram_matrix=body, predict=RIGHT["predict"])
    score, records, _ = judge(session, "gram_matrix", "predict")
    assert score == 1 and records["gram_matrix"]["earned"] == 0 and records["predict"]["earned"] == 1


def test_an_endless_call_costs_its_piece_and_is_reported(session):
    session.run("def gram_matrix(Phi):\n    while True: pass")
    define(session, predict=RIGHT["predict"])
    score, records, functions = judge(session, "gram_matrix", "predict")
    assert score == 1 and "more than 2 seconds of processor time" in records["gram_matrix"]["problem"]
    assert [f.died.kind for f in functions if f.died] == ["timeout"]


def test_a_call_that_cannot_be_stopped_costs_a_sandbox_and_no_more(session):
    define(session, predict=RIGHT["predict"])
    session.run(
        "import os, signal\ndef gram_matrix(Phi):\n    os.kill(os.getppid(), signal.SIGKILL); os.kill(os.getpid(), 19)"
    )
    before = session.sandbox
    score, records, functions = judge(session, "gram_matrix", "predict")
    assert session.sandbox is not before
    assert score == 1 and records["predict"]["earned"] == 1
    assert [f.name for f in functions if f.died] == ["gram_matrix"]


def test_what_a_function_remembers_of_a_check_is_forgotten(session):
    session.run("seen = []\ndef gram_matrix(Phi):\n    seen.append(Phi)\n    return Phi @ Phi.T")
    assert judge(session, "gram_matrix")[0] == 2
    assert session.run("print(len(seen))")[0][0]["text"] == "0\n"


def hearing(session, *names, check=CHECK):
    """Run a check at its place, before its hidden cases."""
    court = Judge(SETUP, names, lambda name: RemoteFunction(session, name))
    waiting = court.judge(check.format(", ".join(f"{name}={name}" for name in names)))
    assert waiting.waits
    waiting.kept(session.keep())
    return waiting


def passed(outputs):
    return all(record["earned"] for output in outputs for record in output["metadata"]["kernelcourse"])


def test_no_cell_can_show_what_the_hidden_inputs_were(session):
    session.run("def gram_matrix(Phi):\n    open('/tmp/seen', 'a').write('x')\n    return Phi @ Phi.T")
    waiting = hearing(session, "gram_matrix")
    look = "print(len(open('/tmp/seen').read()))"
    before = session.run(look)[0][0]["text"]
    assert passed(waiting.conclude())
    assert int(session.run(look)[0][0]["text"]) > int(before) > 0


def test_hidden_cases_are_for_the_function_as_it_was_at_the_check(session):
    define(session, **RIGHT)
    waiting = hearing(session, "gram_matrix", "predict")
    define(session, gram_matrix="0", predict="0")
    assert passed(waiting.conclude())


def test_hidden_cases_of_one_function_leave_nothing_behind_for_the_next(session):
    """The last one is answered by the kept copy itself, in which no other function may have been called."""
    session.run("others = set()")
    for name, body in RIGHT.items():
        session.run(f"def {name}(Phi, *rest):\n    others.add({name!r})\n    return {body} if len(others) == 1 else 0")
    assert passed(hearing(session, *RIGHT, check="check.hidden({0})").conclude())


def test_functions_share_a_copy_for_visible_cases_until_one_of_them_fails(session):
    session.run("import os\ndef gram_matrix(): return os.getpid()\ndef predict():\n    while True: pass")
    first, second, third = (RemoteFunction(session, name) for name in ("gram_matrix", "gram_matrix", "predict"))
    process = first()
    assert second() == process
    third.seconds = 0.1
    assert third.try_on(Case(())).error.kind == "Timeout"
    assert second() != process
    second.close()


def test_a_kept_copy_that_dies_on_its_last_function_costs_that_function_only(library):
    session = Session(lambda: Sandbox(library), seconds=3000)
    try:
        define(session, **RIGHT)
        session.run(
            "import os\nright = predict\ndef predict(Phi, a):\n    return os._exit(3) if os.path.exists('/tmp/x') else "
            "right(Phi, a)"
        )
        waiting = hearing(session, *RIGHT)
        session.run("open('/tmp/x', 'w').close()")
        outputs = waiting.conclude()
        earned = [record["earned"] for output in outputs for record in output["metadata"]["kernelcourse"]]
        assert earned[0] > 0 and earned[1] == 0
        assert [function.name for function in waiting.functions if function.died] == ["predict"]
        assert session.run("print(7)")[0][0]["text"] == "7\n"
    finally:
        session.end()


def test_a_kept_copy_outlives_its_sandbox(library):
    session = Session(lambda: Sandbox(library), seconds=3000)
    try:
        define(session, **RIGHT)
        first = hearing(session, "predict")
        second = hearing(session, "gram_matrix")
        define(session, gram_matrix="0", predict="0")
        assert session.run("import os; os._exit(0)")[1].kind == "kernel died"
        assert passed(first.conclude()) and passed(second.conclude())
    finally:
        session.end()


def test_hidden_inputs_do_not_come_back_in_an_error(session):
    session.run("def gram_matrix(Phi):\n    raise ValueError('told ' + repr(Phi))")
    _, shown, _ = verdict(session, "check(gram_matrix=gram_matrix)")
    _, hidden, _ = verdict(session, "check.hidden(gram_matrix=gram_matrix)")
    assert "told" in shown["gram_matrix"]["problem"]
    assert hidden["gram_matrix"]["problem"] == "It raised ValueError"
    for answer in (
        "raise type('told', (Exception,), {})",
        "raise type('LibraryRefused', (Exception,), {})('told')",
        "return type('told', (), {})()",
    ):
        session.run(f"def gram_matrix(Phi):\n    {answer}")
        assert "told" not in str(verdict(session, "check.hidden(gram_matrix=gram_matrix)")[1])
        assert "told" in str(verdict(session, "check(gram_matrix=gram_matrix)")[1]) or "return" in answer


def test_the_library_is_no_answer(session):
    session.run("import kernelcourse")
    define(session, gram_matrix="kernelcourse.Linear()(Phi)")
    _, records, _ = judge(session, "gram_matrix")
    assert records["gram_matrix"]["mistake"] == "called the library"


def test_only_names_that_are_asked_for_are_the_students(session):
    session.run("helper = check = Checks = print = lambda *a, **k: 1")
    define(session, **RIGHT)
    assert verdict(session, "helper(1)")[0] == 0
    assert verdict(session, "assert gram_matrix(np.eye(2)).shape == (2, 2)", SETUP + "import numpy as np")[0] == 2
    assert verdict(session, "assert gram_matrix(np.eye(2)).shape == (3, 3)", SETUP + "import numpy as np")[0] == 0
    assert verdict(session, "assert gram_matrix == gram_matrix")[0] == 0
    assert verdict(session, "check(gram_matrix=len)")[0] == 0
    session.run("del print")


def test_a_remote_function_can_be_called_and_nothing_else(session):
    define(session, gram_matrix="Phi + 1")
    function = RemoteFunction(session, "gram_matrix")
    assert function(1) == function(Phi=1) == 2
    with pytest.raises(TypeError, match="can only concatenate"):  # which a check cell can catch, as in a kernel
        function("a")
    session.run("class Own(Exception): pass\ndef predict(Phi): raise [Own, SystemExit, UnicodeDecodeError][Phi]('a')")
    raising = RemoteFunction(session, "predict")
    for kind in range(2):
        with pytest.raises(AnswerRaised):
            raising(kind)
    raising.close()
    session.run("x = {'a': [1, {2}]}")
    assert RemoteFunction(session, "x").bound() == {"a": [1, {2}]}
    assert isinstance(RemoteFunction(session, "gram_matrix").bound(), RemoteFunction)
    with pytest.raises(NameError):
        RemoteFunction(session, "nothing").bound()
    for ask in (bool, len, iter, float, hash, lambda f: f == f, lambda f: f + 1, np.asarray, lambda f: np.eye(2) * f):
        with pytest.raises(TypeError):
            ask(function)
    assert isinstance(RemoteFunction(session, "np").try_on(Case(())).error.kind, str)
    define(session, gram_matrix="object()")
    assert isinstance(function.try_on(Case((1,))).value, Unknown)
    function.close()


def test_arguments_come_back_changed_or_not(session):
    session.run("def gram_matrix(Phi):\n    Phi += 0 if len(Phi) > 2 else 1\n    return Phi @ Phi.T")
    function = RemoteFunction(session, "gram_matrix")
    assert function.try_on(Case((np.zeros((2, 2)),))).changed == (0,)
    assert function.try_on(Case((np.zeros((3, 2)),))).changed == ()
    assert "read-only" in function.try_on(Case((np.zeros((2, 2)),), frozen=True)).error.message
    function.close()
    session.run("def gram_matrix(Phi):\n    return Phi.flags.c_contiguous")
    assert RemoteFunction(session, "gram_matrix").try_on(Case((np.zeros((2, 2)),), strided=True)).value is False
    session.guest.close()


def test_a_cell_that_kills_its_kernel_is_left_out_and_the_others_run_again(library):
    session = Session(lambda: Sandbox(library), seconds=3000)
    try:
        assert session.run("x = 1")[1] is None
        outputs, died = session.run("import os; os._exit(3)")
        assert died.kind == "kernel died" and outputs[0]["output_type"] == "error"
        assert session.run("print(x)")[0][0]["text"] == "1\n"
        session.begun, session.seconds = 0, 1e-9
        assert session.run("x")[1].kind == "timeout"
    finally:
        session.end()


def test_outputs_are_text_and_pictures_only():
    data = {
        "text/plain": "x",
        "text/html": "<script>",
        "image/png": "aGk=",
        "image/jpeg": '"><script>',
        "text/latex": "$",
    }
    forged = [5, {"output_type": "raw"}, {"output_type": "stream"}, {"output_type": "display_data", "data": data}]
    forged += [{"output_type": "error", "traceback": 5, "ename": ["a"]}, {"output_type": "execute_result", "data": 5}]
    forged.append({"output_type": "error", "ename": "Own", "evalue": "told", "traceback": ["line 1", "line 2"]})
    stream, display, error, other = _clean(forged, 100)
    assert stream["text"] == "" and error["ename"] == "['a']" and error["traceback"] == ["['a']: None"]
    assert other == forged[-1]
    assert display["data"] == {"text/plain": "x", "image/png": "aGk="}


def test_what_is_printed_goes_on_where_it_was_printed_last():
    outputs = Outputs(limit=8)
    for name, text in (("stdout", "a"), ("stderr", "b"), ("stderr", "c"), ("stdout", "d"), ("stdout", "efghij")):
        outputs.write(name, text)
    shown = [("stdout", "a"), ("stderr", "bc"), ("stdout", "defgh")]
    assert [(one["name"], one["text"]) for one in outputs.plain()] == shown and outputs.cut


class Answering:
    """A sandbox that answers at once."""

    limits, spent, idle = Limits(), 0.0, 0.0

    def __init__(self):
        self.asked, self.ended = [], False

    def ask(self, message, *limits):
        self.asked.append(message["op"])
        return {}

    def used(self):
        return 0.0

    def end(self):
        self.ended = True


def test_a_copy_is_kept_in_the_sandbox_and_a_notebook_that_takes_too_long_ends_it():
    session = Session(Answering, seconds=3000)
    sandbox = session.sandbox
    kept = [session.keep(), session.run("x = 1"), session.keep()]
    assert kept == [0, ([], None), 1] and sandbox.asked == ["keep", "run", "keep"]
    session.begun, session.seconds = 0, 1e-9
    with pytest.raises(Died, match="the notebook as a whole took too long"):
        session.keep()
    assert sandbox.ended and session.sandbox is None


def test_cells_are_numbered_from_one_in_notebooks_and_endings():
    cells = [nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_markdown_cell("so"), nbformat.v4.new_code_cell("x")]
    died = Died("timeout", "took too long")
    running = SimpleNamespace(run=lambda source: ([], died if source == "x" else None))
    notebook = nbformat.v4.new_notebook(cells=cells)
    (ending,) = GradeSafely()._grade(notebook, notebook, running, "stem")
    assert [cells[0].execution_count, cells[2].execution_count] == [1, 2]
    assert ending.record == {"notebook": "stem", "kind": "timeout", "text": "Cell 2 took too long."}


def test_a_check_is_for_the_functions_of_students_only():
    recorder = Recorder(dual_representation.checks(1))
    for judge in (recorder, recorder.hidden):
        with pytest.raises(TypeError, match="a check is for the student's functions"):
            judge(gram_matrix=lambda Phi: Phi @ Phi.T)


def test_the_same_verdict_has_the_same_bytes_and_a_receipt_can_be_read():
    pieces = [{"piece": "f", "earned": 1, "points": 2}]
    first = {"scores": {"check-f": 1.0, "written": None}, "pieces": pieces}
    other = {"pieces": pieces, "scores": {"written": None, "check-f": 1.0}}
    assert receipts.verdict({"notebooks": {"a": first, "b": other}}) == receipts.verdict(
        {"notebooks": {"b": first, "a": other}}
    )
    result = {"student": "ada", "assignment": "01-a", "notebooks": {"a": first}, "digest": "00", "versions": {}}
    text = receipts.receipt(result, "words").decode()
    content = json.loads(text)
    assert content["points"] == 1 and content["pieces"] == {"a": {"f": [1, 2]}}
    assert text == json.dumps(content, indent=1) + "\n"


def test_names_that_cells_bind():
    assert bound_names(["def f(x): y = 1", "a, b = 1, 2\nimport c", "class D: pass", "%magic"]) == {"f", "a", "b", "D"}


def test_the_secret_is_made_once_and_named_without_telling(tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELCOURSE_HIDDEN_SEED", raising=False)
    monkeypatch.delattr(os, "link")  # some file systems have no links
    seed = secret_seed(tmp_path)
    assert len(seed) == 32 and secret_seed(tmp_path) == seed
    assert (tmp_path / ".grading" / "seed").stat().st_mode & 0o777 == 0o600
    assert seed not in fingerprint(seed) and fingerprint(seed) != fingerprint("other")
    with revealed("words"):
        assert secret_seed(tmp_path) == "words"
    assert secret_seed(tmp_path) == seed


def test_the_secret_of_one_assignment_tells_nothing_of_another(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELCOURSE_HIDDEN_SEED", "words")
    one, other = assignment_secret(tmp_path, "01-a"), assignment_secret(tmp_path, "02-b")
    assert one != other and one == assignment_secret(tmp_path, "01-a") and "words" not in one + other
    assert fingerprint(one) == commitment(one)[:12]


def test_processes_that_come_together_get_the_same_secret(tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELCOURSE_HIDDEN_SEED", raising=False)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert len(set(pool.map(secret_seed, [tmp_path] * 8, chunksize=1))) == 1


def test_other_secrets_draw_other_hidden_cases(session):
    define(session, gram_matrix="float(Phi.sum())")
    seen = []
    for seed in ("one", "two", "one"):
        with revealed(seed):
            _, records, _ = verdict(session, "check.hidden(predict=gram_matrix)", points=1)
            seen.append(case_generator(1, "gram_matrix", hidden=True).normal())
            assert records["predict"]["earned"] == 0
    assert seen[0] == seen[2] != seen[1]


def notebook_of(*cells):
    """A notebook of code cells, each with nbgrader's metadata."""
    made = [
        from_dict({"cell_type": "code", "source": source, "metadata": {"nbgrader": meta}}) for source, meta in cells
    ]
    return from_dict({"cells": made})


ANSWER, TEST, LOCKED = {"solution": True}, {"grade": True}, {"locked": True}


def test_plain_assertions_need_neither_a_setup_nor_a_catalogue(session):
    """Variables, errors, keywords, helpers and generators work as in nbgrader. What a released cell defines is ours."""
    session.run("x = [1, {'a': 2}]\nf = lambda n, by=1: [n][by - 1]\nhelper = all = lambda *a: True")
    release = notebook_of(
        ("%matplotlib inline\nx + 1", {}),
        ("import math\nplot(f)", {}),
        ("def helper(value): return value == [1, {'a': 2}]", LOCKED),
        ("# YOUR CODE HERE\nraise NotImplementedError()", ANSWER),
    )
    good = "from itertools import count\nassert helper(x) and all(f(n, by=1) == n for n in (1, 2)) and math.pi"
    cells = {
        good: 2,
        "def equal(a, b):\n    assert a == b\nequal(f(next(count(3))), 3)": 2,
        "try:\n    f(1, by=9)\nexcept IndexError:\n    pass\nelse:\n    assert False": 2,
        "assert helper([1])": 0,
        "assert all([f(1) == 2])": 0,
        "assert nowhere": 0,
        "assert x == 3": 0,
    }
    grounds = Grounds(release, cells)
    assert grounds.names == {"x", "f", "nowhere"} and grounds.setup is None
    court = Judge.on(grounds, lambda name: RemoteFunction(session, name))
    for source, points in cells.items():
        outputs = court.judge(source).conclude()
        meta = {"nbgrader": {"grade": True, "solution": False, "points": 2, "grade_id": "x"}}
        cell = from_dict({"cell_type": "code", "source": source, "metadata": meta, "outputs": outputs})
        assert determine_grade(cell)[0] == points, source
    session.run("del all")
