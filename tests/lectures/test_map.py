"""The map of the lectures: every numbered equation and topic has a test named after its id."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS = {"B": 16, "I": 5, "S": 14, "K": 14, "H": 10}
IDS = [f"{lecture}{number}" for lecture, rows in ROWS.items() for number in range(1, rows + 1)]


def collected(path):
    """The names of the functions that pytest collects from a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


NAMES = [name for path in sorted(HERE.glob("test_*.py")) for name in collected(path)]


@pytest.mark.parametrize("row", IDS)
def test_every_row_of_the_map_has_a_test_of_its_name(row):
    assert [name for name in NAMES if name.startswith(f"test_{row}_")]


@pytest.mark.parametrize("lecture", ROWS)
def test_a_lecture_s_tests_are_in_its_own_file_in_the_order_of_the_map(lecture):
    path = HERE / f"test_{lecture.lower()}.py"
    rows = [re.match(r"test_([A-Z]\d+)_", name) for name in collected(path)]
    assert all(rows), f"a test in {path.name} carries no id"
    numbers = [IDS.index(row[1]) for row in rows]
    assert numbers == sorted(numbers)
    assert {IDS[i][0] for i in numbers} == {lecture}


def test_no_two_tests_share_a_name():
    assert len(NAMES) == len(set(NAMES))
