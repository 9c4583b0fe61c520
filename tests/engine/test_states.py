"""A test is run again with the engine off if, and only if, a twin answered in its first run."""

from types import SimpleNamespace

import numpy as np
import pytest

from kernelcourse import seam
from kernelcourse.kernels import Gaussian
from tests.engine import states


def item(state, n=4):
    """What pytest passes to the hooks for a test with a parameter."""
    callspec = SimpleNamespace(params={"engine_state": state, "n": n}, indices={"engine_state": 0, "n": n})
    return SimpleNamespace(callspec=callspec, parent=SimpleNamespace(nodeid="test_it.py"), originalname="test_it")


def run(item, body):
    """Send a test through the hooks; return whether it was left out."""
    watched = states.pytest_runtest_protocol(item)
    next(watched)
    left_out = states.pytest_pyfunc_call(item)
    if not left_out:
        with seam.engine(item.callspec.params["engine_state"]):
            body()
    with pytest.raises(StopIteration):
        watched.send(True)
    return bool(left_out)


@pytest.mark.parametrize(
    ("n", "left_out"), [(4, True), (400, False)]
)  # Gaussian matrices that are too small for the twin, or large enough
def test_only_what_a_twin_answered_runs_again_with_the_engine_off(monkeypatch, n, left_out):
    monkeypatch.setattr(states, "without_twins", set())
    X = np.ones((n, 3))
    for state, expected in (("off", False), ("on", False), ("off", left_out)):  # unknown, first, second
        assert run(item(state, n), lambda: Gaussian()(X)) is expected
    assert run(item("off", n + 1), lambda: Gaussian()(X)) is False
    assert type(seam.twins) is dict
