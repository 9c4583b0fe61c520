"""Every twin gives what its definition gives: one test over the seam's table.

Each file `cases_*.py` beside this one has `CASES`, which maps a definition's name to a function that yields pairs of
positional and keyword arguments. For a solver that may take another path, `CERTIFIED` has a function of the arguments
and both results that asserts what must be true of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from kernelcourse import seam
from kernelcourse._engine import gram, threads

CASES, CERTIFIED = {}, {}
for path in sorted(Path(__file__).parent.glob("cases_*.py")):
    module = module_from_spec(spec := spec_from_file_location(path.stem, path))
    spec.loader.exec_module(module)
    assert not CASES.keys() & module.CASES.keys(), f"{path.name} repeats cases"
    CASES |= module.CASES
    CERTIFIED |= module.CERTIFIED

seam.import_engine()
TWINS = {plain.__qualname__: (plain, twin) for plain, twin in seam.twins.items()}


@cache
def loops_for_any_processor():
    """The compiled loops as they are on a processor without AVX2."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "exists", lambda path: False)
        module = module_from_spec(spec := find_spec("kernelcourse._engine.loops"))
        spec.loader.exec_module(module)
    assert module._LIBRARY._name.endswith("libloops.so")
    return module


WAYS = ("compiled", "compiled for any processor", "compiled, in slabs", "not compiled", "small tiles")


@contextmanager
def going(way):
    """Run with or without compiled loops, or in small tiles and two threads, so that small jobs have many tiles."""
    with pytest.MonkeyPatch.context() as patch, seam.engine("always"), np.errstate(all="ignore"):
        patch.setenv("KERNELCOURSE_FAST", "1" if way.startswith("compiled") else "0")
        if way == "compiled for any processor":
            patch.setattr(threads, "_loops", loops_for_any_processor)
        if way in ("compiled, in slabs", "small tiles"):
            patch.setenv("OPENBLAS_NUM_THREADS", "2")
            patch.setattr(threads, "WORTH_A_THREAD", 0)
            for name, value in {"ROWS": 7, "COLUMNS": 20, "WHOLE": 0, "SLAB_ROWS": 5}.items():
                patch.setattr(gram, name, value)
        yield


def by_the_definition(name, args, kwargs):
    with seam.engine("off"), np.errstate(all="ignore"):
        slow = TWINS[name][0](*args, **kwargs)
        return list(slow) if isinstance(slow, Iterator) else slow


def arrays(value):
    """All arrays and numbers in a result or in arguments."""
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays(part)]
    if isinstance(value, dict):
        return arrays(list(value.values()))
    return [value] if isinstance(value, (np.ndarray, np.generic, int, float)) else []


def test_every_twin_has_cases_and_every_case_a_twin():
    assert CASES.keys() == TWINS.keys()
    assert CERTIFIED.keys() <= CASES.keys()


@pytest.mark.parametrize("name", sorted((CASES.keys() & TWINS.keys()) - CERTIFIED.keys()))
def test_a_twin_is_its_definition(name):
    """A Gram matrix, by either, is also symmetric to the last digit."""
    (plain, twin), taken = TWINS[name], 0
    apart = seam.tolerances[plain]
    for number, (args, kwargs) in enumerate(CASES[name]()):
        before = [np.copy(array) for array in arrays((args, kwargs))]
        gram_matrix = name.endswith(".formula") and args[1] is args[2]
        slow = by_the_definition(name, args, kwargs) if gram_matrix else None
        if gram_matrix:
            np.testing.assert_array_equal(slow, slow.T, err_msg=f"{name}, case {number}, by the definition")
        for way in WAYS:
            with going(way):
                fast = twin(*args, **kwargs)
            if fast is NotImplemented:
                continue
            taken, where = taken + 1, f"{name}, case {number}, {way}"
            slow = by_the_definition(name, args, kwargs) if slow is None else slow
            assert len(arrays(fast)) == len(arrays(slow)) > 0
            if gram_matrix:
                np.testing.assert_array_equal(fast, fast.T, err_msg=where)
            for found, expected in zip(arrays(fast), arrays(slow), strict=True):
                np.testing.assert_allclose(found, expected, err_msg=where, **apart)
            for array, copy in zip(arrays((args, kwargs)), before, strict=True):
                np.testing.assert_array_equal(array, copy, err_msg=f"{where}: the arguments were changed")
    assert taken > 0


@pytest.mark.parametrize("name", sorted(CERTIFIED))
def test_a_twin_has_its_certificate(name):
    slow, taken = {}, set()
    for way in WAYS:
        for number, (args, kwargs) in enumerate(CASES[name]()):  # made again for each way: some twins write into them
            with going(way):
                fast = TWINS[name][1](*args, **kwargs)
            if fast is not NotImplemented:
                if slow.get(number) is None:
                    slow[number] = by_the_definition(name, args, kwargs)
                CERTIFIED[name](args, kwargs, fast, slow[number])
                taken.add(way)
    assert taken == set(WAYS)
