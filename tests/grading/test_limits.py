"""Limits on what is read and written for submissions: just within them everything passes, just beyond nothing does."""

import nbformat
import pytest
from traitlets.config import Config

from kernelcourse.checking.plain import DEEPEST, MOST, NotPlain, Unknown, decode, encode
from kernelcourse.course import graded, submission
from kernelcourse.course.folder import Course
from kernelcourse.course.lms import harmless
from kernelcourse.course.notebooks import strip_noise
from kernelcourse.course.preprocessors import GradeSafely


def test_every_setting_of_the_grader_can_be_made_in_nbgrader_config():
    settings = {name: trait for name, trait in GradeSafely.class_own_traits().items() if trait.help}
    assert len(settings) == 9
    assert [name for name, trait in settings.items() if not trait.metadata.get("config")] == []


@pytest.mark.parametrize("sign", [1, -1])
def test_a_whole_number_is_a_number_as_long_as_json_readers_agree_on_it(sign):
    for number in (0, 126, 2**62, 2**63 - 1):
        assert encode(sign * number) == sign * number
    assert encode(sign * 2**63) == {"int": hex(sign * 2**63)}


def nested(kind, depth):
    value = kind()
    for _ in range(depth):
        value = {"key": value} if kind is dict else kind([value])
    return value


def innermost(value):
    while not isinstance(value, Unknown) and len(value):
        value = value["key"] if isinstance(value, dict) else value[0]
    return value


@pytest.mark.parametrize("kind", [tuple, list, dict])
def test_values_within_values_arrive_up_to_a_depth(kind):
    assert decode(encode(nested(kind, DEEPEST - 1))) == nested(kind, DEEPEST - 1)
    assert isinstance(innermost(decode(encode(nested(kind, DEEPEST)))), Unknown)


def test_as_many_values_are_read_as_a_message_may_hold():
    assert len(decode({"list": [1] * (MOST - 1)})) == MOST - 1  # plus one for the list itself
    with pytest.raises(NotPlain, match="too many"):
        decode({"list": [1] * MOST})


def test_a_table_of_marks_holds_no_control_characters_but_tabs():
    assert harmless("a\x00b\x1b[31mc\nd\te é") == "ab[31mcd\te é"


def test_a_notebook_says_that_it_is_in_python_and_nothing_about_who_wrote_it():
    notebook = nbformat.v4.new_notebook(metadata={"language_info": {"name": "julia"}, "author": "me"})
    strip_noise(notebook)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert notebook.metadata == {"kernelspec": kernel, "language_info": {"name": "python"}}


def test_a_notebook_of_the_largest_size_is_read_for_its_answers(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), path)
    monkeypatch.setattr(graded, "_segments", lambda notebook, stem: {"read": stem})
    monkeypatch.setattr(graded, "_LONGEST_NOTEBOOK", path.stat().st_size)
    assert graded._answers(path, "a") == {"read": "a"}
    monkeypatch.setattr(graded, "_LONGEST_NOTEBOOK", path.stat().st_size - 1)
    assert graded._answers(path, "a") == {}
    (tmp_path / "link.ipynb").symlink_to(path)
    monkeypatch.undo()
    assert graded._answers(tmp_path / "link.ipynb", "a") == graded._answers(tmp_path / "gone.ipynb", "a") == {}


def test_a_configuration_sets_every_limit_of_grading():
    settings = {"timeout": 1.5, "patience": 2.5, "total": 7.0, "memory": 10**9, "output": 99, "packages": ["numpy"]}
    settings |= {"unsafe": True, "shelf": "/shelf", "secret": "words"}
    step = GradeSafely(config=Config({"GradeSafely": settings}))
    assert {name: getattr(step, name) for name in settings} == settings


def test_a_run_takes_the_libraries_of_its_sandboxes_from_its_own_shelf(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\nc.GradeSafely.timeout = 7\n", encoding="ascii")
    for shelf, expected in (("/shelf", "/shelf"), ("", submission._own_shelf())):
        task = submission.Task("01-a", {}, {}, "words", unsafe=True, run="1", shelf=shelf)
        step = submission._steps(Course(tmp_path), task)[0]
        assert (step.shelf, step.secret, step.unsafe, step.timeout) == (expected, "words", True, 7)
