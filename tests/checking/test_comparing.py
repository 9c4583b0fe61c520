"""Comparing a student's value with the expected one."""

import subprocess
import sys
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kernelcourse.checking.calling import Raised, describe, student_line
from kernelcourse.checking.comparing import difference, vague
from kernelcourse.checking.report import shown
from kernelcourse.checking.values import Frame, same, size

FLOATS = st.floats(-1e6, 1e6)


@given(arrays(float, array_shapes(max_dims=2, max_side=4), elements=FLOATS))
def test_a_value_equals_itself_and_its_list(want):
    assert difference(want.copy(), want, 1e-9) == ""
    assert difference(want.tolist(), want, 1e-9) == ""


@given(arrays(float, array_shapes(max_dims=2, max_side=4), elements=FLOATS), st.data())
def test_one_entry_off_by_more_than_the_tolerance_is_found(want, data):
    index = tuple(data.draw(st.integers(0, side - 1)) for side in want.shape)
    got = want.copy()
    got[index] += 2e-6 * max(1, np.abs(want).max())
    problem = difference(got, want, 1e-6)
    assert problem.startswith("1 of ")
    assert str(index if len(index) > 1 else index[0]) in problem


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (True, True),
        (np.bool_(False), False),
        ("dual", "dual"),
        ((1, [2.0]), (1, np.array([2.0]))),
        ([1, 2], (1, 2)),
        (3, 3.0),
        (None, None),
        (["b", "a"], ["b", "a"]),
        (("b", "a"), ["b", "a"]),
        (np.array(["b", "a"]), ["b", "a"]),
        (["b", "a"], np.array(["b", "a"])),
        ([True, None], [True, None]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        ({"b": {2.0}, "a": [1.0 + 1e-12]}, {"a": [1], "b": {2 + 1e-12}}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (frozenset({("a", 1)}), {("a", 1)}),
        (Fraction(1, 3), Fraction(2, 6)),
        (1 / 3, Fraction(1, 3)),
        (np.array(3.0), 3),
        (10**30, 10**30),
        ([10**30], [10**30]),
        (float("inf"), np.inf),
        ([np.nan, 1.0], np.array([np.nan, 1.0])),
        (1j, 1j),
        (b"ab", b"ab"),
        (np.full(2, 0.1, np.float32), np.full(2, 0.1)),
        (np.float32(0.1) * np.ones(2), np.float32(0.1) * np.ones(2, np.float32)),
        (np.full(3, 0.1, np.float32).cumsum()[-1], np.float32(0.3)),
        ([], []),
    ],
)
def test_equal_in_meaning_is_equal(got, want):
    assert difference(got, want, 1e-9) == ""


@pytest.mark.parametrize(
    ("got", "want", "problem"),
    [
        (1, True, "True or False is expected"),
        (False, True, "opposite"),
        (1.0, "dual", "a string is expected"),
        ("primal", "dual", "The text differs"),
        (1.0, (1.0, 2.0), "2 values are expected"),
        ((1.0,), (1.0, 2.0), "2 values are expected"),
        ((1.0, 3.0), (1.0, 2.0), "Value number 2 of the 2: The value is off by 1."),
        ({"a": 1}, 1.0, "a dict of length 1"),
        (1.0, np.ones((2, 2)), "It is a plain number"),
        (np.zeros(0), np.ones(2), "The shape is (0,)"),
        (3, None, "not None"),
        (None, ["a"], "Is a `return` missing?"),
        (["a", "b"], ["b", "a"], "Item number 1 of the 2: The text differs."),
        (["a"], ["b", "a"], "The list has 1 items, but 2 are expected."),
        ("ba", ["b", "a"], "a list is expected"),
        ({"a", "b"}, ["b", "a"], "a list is expected"),
        ([1, 0], [True, False], "True or False is expected"),
        ({"a": 1}, {"a": 1, "b": 2}, "The key 'b' is missing."),
        ({"a": 1, "b": 2}, {"a": 1}, "The key 'b' is not expected."),
        ({"a": 1}, {"a": 2}, "Under the key 'a': The value is off by 1."),
        ([("a", 1)], {"a": 1}, "a dict is expected"),
        ({1, 2}, {1, 3}, "'3' is missing from the set."),
        ({1, 2, 3}, {1, 3}, "'2' does not belong in the set."),
        ([1], {1}, "a set is expected"),
        (10**30 + 1, 10**30, "The value is off by 1."),
        (Fraction(1, 3), Fraction(1, 2), "The value is off by 0.167."),
        (1.0, np.inf, "infinite or NaN"),
        (np.ones(2), np.array([1.0, np.inf]), "1 of 2 entries differ, most at index 1, by inf."),
        (np.full(2, 0.1, np.float32), np.full(2, 0.1001), "2 of 2 entries differ"),
        (np.full(2, 0.1, np.float16), np.full(2, 0.1), "2 of 2 entries differ"),
        (0.3001, np.float32(0.3), "off by 0.0001"),
        ("a", b"a", "a string of bytes is expected"),
    ],
)
def test_what_differs_is_said(got, want, problem):
    assert problem in difference(got, want, 1e-9)


def test_what_a_function_may_choose_is_not_told_of_a_hidden_input():
    """Keys and members can consist of letters only, without a digit that would give them away."""
    for got, want in (({"abc": 1}, {}), ({}, {"abc": 1}), ({"abc"}, set()), ({"abc": 1}, {"abc": "x"})):
        assert "abc" in difference(got, want, 1e-9) and "abc" not in vague(difference(got, want, 1e-9))


def test_sparse_matrices_and_data_frames_are_compared_by_value():
    sparse, pd = pytest.importorskip("scipy.sparse"), pytest.importorskip("pandas")
    dense = np.array([[0.0, 2.0], [3.0, 0.0]])
    want = sparse.csr_matrix(dense)
    twice = sparse.coo_array(([1.0, 1.0, 3.0, 0.0], ([0, 0, 1, 1], [1, 1, 0, 1])), shape=(2, 2))
    assert difference(sparse.csc_array(dense), want, 1e-9) == difference(twice, want, 1e-9) == ""
    assert difference(sparse.csr_matrix(dense.T), want, 1e-9).startswith("2 of 2 entries differ")
    assert difference(sparse.eye(3), want, 1e-9) == "The shape is (3, 3), but (2, 2) is expected."
    assert "a sparse matrix is expected" in difference(dense, want, 1e-9)
    assert "an array is expected" in difference(want, dense, 1e-9)
    frame = pd.DataFrame({"word": ["a", None], "count": [1, 2]}, index=["x", "y"])
    assert difference(frame.astype({"count": float}), frame, 1e-9) == ""
    assert difference(frame[["count", "word"]], frame, 1e-9).startswith("The columns are")
    assert difference(frame.rename(index={"x": "z"}), frame, 1e-9) == "The index differs."
    assert difference(frame.replace(2, 3), frame, 1e-9).startswith("Column 'count': 1 of 2 entries differ")
    assert "a data frame is expected" in difference(frame["count"], frame, 1e-9)
    assert difference(frame["count"].rename("other"), frame["count"], 1e-9) == ""


def test_comparing_imports_neither_scipy_nor_pandas():
    code = "from kernelcourse.course import plain; from kernelcourse.checking import comparing as c; import sys"
    code += "\nassert not c.difference(plain.decode(plain.encode({'a': {1}})), {'a': {1}}, 0)"
    code += "\nprint({'scipy', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_long_values_are_shortened():
    assert len(shown(np.zeros((100, 100)))) < 300
    assert len(shown(list(range(1000)))) <= 300


def test_a_value_may_be_off_by_the_tolerance_and_by_no_more():
    assert difference(0.5, 0.0, 0.5) == "" != difference(np.nextafter(0.5, 1), 0.0, 0.5)
    assert difference(12.0, 8.0, 0.5) == "" != difference(np.nextafter(12.0, 13), 8.0, 0.5)  # of the largest value
    assert difference(np.array([0.25, 8.0]), np.array([0.0, 8.0]), 1 / 32) == ""


def test_values_that_are_not_finite_make_no_warning():
    want = np.array([1e-300, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (np.array([np.inf, 1.0]), np.array([np.nan, 1.0]), np.array([1e308, 1e308])):
            assert difference(value, want, 1e-9)


def test_the_line_of_an_error_is_the_deepest_that_is_the_students_own():
    def hidden(text, **names):
        """Code whose source is not available."""
        exec(compile(text, "<nowhere>", "exec"), names)
        return names["f"]

    def shown():
        raise ValueError

    with pytest.raises(ValueError) as found:
        shown()
    assert "raise ValueError" in student_line(found.value)
    with pytest.raises(ValueError) as found:
        hidden("def f():\n    g()", g=shown)()
    assert student_line(found.value).endswith("of shown:  raise ValueError")
    with pytest.raises(ValueError) as found:
        hidden("def f():\n    int('a')")()
    assert student_line(found.value) == ""


def test_an_error_that_cannot_be_printed_has_an_empty_message():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

    assert describe(Silent()) == Raised("Silent")


def test_only_an_untouched_stub_counts_as_not_written():
    assert describe(NotImplementedError("later")) == Raised("NotImplementedError", "later", not_written=True)
    assert describe(ValueError("later")) == Raised("ValueError", "later")


def test_columns_of_complex_numbers_are_compared_whole():
    def frame(z):
        return Frame(["z"], [0, 1], [np.array(z)], ["complex128"])

    assert difference(frame([1j, 2]), frame([1j, 2]), 1e-9) == ""
    assert difference(frame([1j, 2]), frame([3j, 2]), 1e-9).startswith("Column 'z': 1 of 2")
    counts, gaps = (
        Frame(["n"], [0, 1], [np.array([1, 2])], ["int64"]),
        Frame(["n"], [0, 1], [np.array([1, np.nan])], ["float64"]),
    )
    assert difference(gaps, counts, 1e-9).startswith("Column 'n'") and difference(counts, counts, 1e-9) == ""


def test_what_is_not_plain_counts_as_unchanged_and_all_numbers_are_counted():
    assert same(object(), object()) and not same(object(), 1)
    assert size({"ab": [1, 2, 3], "c": 4}) == 2 + 3 + 1 + 1
    assert size([np.ones((2, 3)), "", None, {1, 2}]) == 6 + 1 + 1 + 2
