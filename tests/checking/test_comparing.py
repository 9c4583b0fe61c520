"""Comparing a student's value with the expected one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kernelcourse.checking.comparing import difference
from kernelcourse.checking.report import shown

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
    ],
)
def test_equal_in_meaning_is_equal(got, want):
    assert difference(got, want, 1e-9) == ""


@pytest.mark.parametrize(
    ("got", "want", "problem"),
    [
        (1, True, "True or False is expected"),
        (False, True, "the other one"),
        (1.0, "dual", "a string is expected"),
        ("primal", "dual", "The text differs"),
        (1.0, (1.0, 2.0), "2 values are expected"),
        ((1.0,), (1.0, 2.0), "2 values are expected"),
        ((1.0, 3.0), (1.0, 2.0), "Value number 2 of the 2: The value is off by 1."),
        ({"a": 1}, 1.0, "a value of type dict"),
        (1.0, np.ones((2, 2)), "It is a plain number"),
        (np.zeros(0), np.ones(2), "The shape is (0,)"),
    ],
)
def test_what_differs_is_said(got, want, problem):
    assert problem in difference(got, want, 1e-9)


def test_long_values_are_shortened():
    assert len(shown(np.zeros((100, 100)))) < 300
    assert len(shown(list(range(1000)))) <= 300


def test_a_value_may_be_off_by_the_tolerance_and_by_no_more():
    assert difference(0.5, 0.0, 0.5) == "" != difference(np.nextafter(0.5, 1), 0.0, 0.5)
    assert difference(12.0, 8.0, 0.5) == "" != difference(np.nextafter(12.0, 13), 8.0, 0.5)  # of the largest value
    assert difference(np.array([0.25, 8.0]), np.array([0.0, 8.0]), 1 / 32) == ""
