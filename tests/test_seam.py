"""The seam: twins are tried first, may decline, do not apply to subclasses, and can be switched off."""

import os
import subprocess
import sys

import numpy as np
import pytest

import kernelcourse
from kernelcourse import Gaussian, seam
from kernelcourse.seam import accelerates, always, definition, engine


@pytest.fixture
def twice(monkeypatch):
    """A definition whose twin handles even numbers; the twin records that it was called."""
    seam.import_engine()  # once, into the table that stays
    monkeypatch.setattr(seam, "twins", dict(seam.twins))

    @definition
    def twice(x):
        """Two times x."""
        return x + x

    @accelerates(twice)
    def fast(x):
        return (2 * x, "fast") if x % 2 == 0 else NotImplemented

    return twice


def test_the_twin_goes_first_and_may_decline(twice):
    assert twice(4) == (8, "fast")
    assert twice(3) == 6
    assert twice.plain(4) == 8
    assert (twice.__name__, twice.__doc__) == ("twice", "Two times x.")


def test_switched_off_the_definition_does_everything(twice):
    with engine("off"):
        assert twice(4) == 8
        with engine("on"):
            assert twice(4) == (8, "fast")
        assert twice(4) == 8
    assert twice(4) == (8, "fast")


def test_the_state_comes_back_after_an_error(twice):
    with pytest.raises(ZeroDivisionError), engine("off"):
        1 / 0  # noqa: B018
    assert twice(4) == (8, "fast")


def test_always_is_for_tests():
    assert not always()
    with engine("always"):
        assert always()


def test_what_is_refused(twice):
    with pytest.raises(ValueError, match="state must be one of 'on', 'off', 'always', got 'fast'"), engine("fast"):
        pass
    with pytest.raises(TypeError, match="takes a definition"):
        accelerates(len)
    with pytest.raises(TypeError, match=r"has no twin yet, got .*twice"):
        accelerates(twice)


def test_a_subclass_with_another_formula_has_no_twin():
    class Narrow(Gaussian):
        def formula(self, X, Z):
            return Gaussian.formula(self, X, Z) ** 4

    class Same(Gaussian):
        pass

    X = np.random.default_rng(0).normal(size=(60, 2))
    np.testing.assert_allclose(Narrow(1.0)(X), Gaussian(0.5)(X), rtol=1e-12)
    np.testing.assert_array_equal(Same(1.0)(X), Gaussian(1.0)(X))
    assert Same.formula.plain in seam.twins
    assert getattr(Narrow.formula, "plain", None) not in seam.twins


def run(code, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KERNELCOURSE_")}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean | environment)


def test_the_environment_switches_it_off_for_a_program():
    code = (
        "import sys, kernelcourse as kc; kc.Gaussian(1.0)([[0.0]] * 90); print('kernelcourse._engine' in sys.modules)"
    )
    assert run(code).stdout.strip() == "True"
    assert run(code, KERNELCOURSE_ENGINE="off").stdout.strip() == "False"
    wrong = run(code, KERNELCOURSE_ENGINE="banana")
    assert "KERNELCOURSE_ENGINE must be one of 'on', 'off', 'always', got 'banana'" in wrong.stderr


def test_the_first_calls_may_come_from_many_threads():
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np, kernelcourse as kc
from kernelcourse import seam
sys.setswitchinterval(1e-6)
X = np.random.default_rng(0).normal(size=(80, 3))
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda _: kc.Gaussian(1.0)(X), range(32)))
assert all(np.allclose(K, found[0], rtol=1e-12) for K in found)
assert seam.import_engine.cache_info().currsize == 1 and len(seam.twins) > 10
"""
    assert run(code).stderr == ""


def test_all_parts_of_the_engine_are_there():
    seam.import_engine()
    for name in seam.ENGINE:
        module = sys.modules[f"kernelcourse._engine.{name}"]
        assert any(twin.__module__ == module.__name__ for twin in seam.twins.values()), name
    assert kernelcourse.engine is engine
