"""`make test-hard` finds the tests whose outcomes vary; its burners end with it."""

import re
import subprocess
import sys

import pytest

from tests import hard

MADE_UP = """
import pathlib
import pytest

def test_steady():
    assert True

@pytest.mark.parametrize("number", [1, 2])
def test_moody(number):
    seen = pathlib.Path(__file__).with_name("seen")
    if number == 2:
        assert not seen.exists()
        seen.touch()

def test_broken():
    assert False

@pytest.fixture
def breaks_in_the_end():
    yield
    raise RuntimeError

def test_that_passes_and_breaks_in_the_end(breaks_in_the_end):
    assert True

@pytest.mark.skip(reason="to see")
def test_skipped():
    assert False
"""


@pytest.fixture(autouse=True)
def light(monkeypatch):
    """The runs of pytest in this module start without the plugins that the made-up tests do not use."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_what_changes_and_what_fails_is_found(tmp_path, capsys):
    made_up = tmp_path / "test_made_up.py"
    made_up.write_text(MADE_UP)
    flags = ["-q", "-p", "no:cacheprovider", str(made_up)]
    assert hard.main(["--runs", "2", "--seed", "5", "--burners", "1", "--folder", str(tmp_path / "logs"), *flags]) == 1
    told = capsys.readouterr().out
    assert told == (tmp_path / "logs" / "log.txt").read_text()
    found = [line.split("test_made_up.py::")[1] for line in told.splitlines() if "test_made_up.py::" in line]
    assert found == ["test_moody[2]: passed, failure", "test_broken", "test_that_passes_and_breaks_in_the_end"]
    assert "seed 5: 1 error, 1 failure, 3 passed, 1 skipped" in told
    assert "seed 6: 1 error, 2 failure, 2 passed, 1 skipped" in told
    orders = [re.match("[sEF.]+", (tmp_path / "logs" / f"{seed}.log").read_text())[0] for seed in (5, 6)]
    assert len(orders[0]) == len(orders[1]) and orders[0] != orders[1]


def test_steady_tests_are_no_finding_and_no_tests_are_one(tmp_path):
    made_up = tmp_path / "test_made_up.py"
    made_up.write_text("def test_steady(): assert True\ndef test_other(): assert True")
    options = ["--runs", "1", "--burners", "0", "--folder", str(tmp_path), "-p", "no:cacheprovider", str(made_up)]
    assert hard.main(options) == 0
    assert hard.main([*options, "-k", "nothing is called so"]) == 1


def test_a_test_that_is_missing_from_a_run_has_not_given_the_same_answer():
    answers = [{"a": "passed", "b": "failure"}, {"b": "failure"}]
    assert hard.compare(answers) == ({"a": ["passed", hard.MISSING]}, ["b"])


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_burners_end_with_their_parent_however_it_ends(end):
    code = "from tests import hard\nwith hard.burners(2): print('burning', flush=True); input()"
    command = [sys.executable, "-c", code]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=hard.ROOT)
    assert parent.stdout.readline() == "burning\n"
    getattr(parent, end)()
    assert parent.stdout.read() == ""  # the pipe closes with the last process that holds it, burners included
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
