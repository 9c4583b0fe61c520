"""Every twin of linear algebra, solvers, loops and searches gives the answer of its definition, or its certificate."""

from importlib import util
from pathlib import Path

import numpy as np
import pytest

from kernelcourse import seam
from kernelcourse.validation import square

spec = util.spec_from_file_location("cases_algorithms", Path(__file__).with_name("cases_algorithms.py"))
cases = util.module_from_spec(spec)
spec.loader.exec_module(cases)

square(np.eye(2))  # the first call of a definition imports the engine
TWINS = {plain.__qualname__: (plain, twin) for plain, twin in seam.twins.items()}


def assert_same(fast, plain, twin):
    if isinstance(plain, tuple):
        for one, other in zip(fast, plain, strict=True):
            assert_same(one, other, twin)
    elif plain is not None:
        scale = np.abs(plain).max() if np.size(plain) else 1.0
        np.testing.assert_allclose(fast, plain, rtol=twin.rtol, atol=twin.atol * scale)


@pytest.mark.filterwarnings("ignore::kernelcourse.validation.KernelCourseWarning")
@pytest.mark.parametrize("name", cases.CASES)
def test_a_twin_is_its_definition(name):
    plain, twin = TWINS[name]
    taken = 0
    for args, kwargs in cases.CASES[name]():
        with seam.engine("always"):
            fast = twin.call(*args, **kwargs)
        with seam.engine("off"):
            expected = plain(*args, **kwargs)
        if fast is NotImplemented:
            continue
        taken += 1
        if name in cases.CERTIFIED:
            cases.CERTIFIED[name](args, kwargs, fast, expected)
        else:
            assert_same(fast, expected, twin)
    assert taken > 0, "the twin declined every case"
