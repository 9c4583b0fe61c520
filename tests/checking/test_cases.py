"""The inputs of a check are the same on every machine."""

import numpy as np

from kernelcourse.checking import Case
from kernelcourse.checking.cases import with_layouts
from kernelcourse.checking.report import shown


def test_whole_numbers_have_64_bits_where_numpy_makes_them_of_32():
    narrow = np.array([1, 2**30], dtype=np.int32)
    cases = list(with_layouts([Case((narrow, [narrow], 3), label="whole numbers")]))
    assert len(cases) == 3
    for case in cases:
        first, (second,), third = case.fresh()
        assert first.dtype == second.dtype == np.int64 and third == 3
        assert (first * 4)[1] == 2**32
    assert next(with_layouts([Case((np.array([1], dtype=np.uint8),))])).args[0].dtype == np.uint8


def test_what_is_shown_of_whole_numbers_does_not_depend_on_the_machine():
    assert {shown(np.array([1, 2], dtype=kind)) for kind in (np.int32, np.int64)} == {"[1 2]  shape (2,), dtype int"}
    assert shown(np.array([True])) == "[ True]  shape (1,), dtype bool"
