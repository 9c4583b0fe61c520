"""The tests in a folder whose conftest imports these hooks run twice: with the engine on, and with definitions only.

If no twin answers during the first run, the second would compute the same thing by the same functions. It is then left
out, and counts as passed. Every test run determines this anew, so that every test that calls a new twin tries it.
The fixtures of such a folder last for one test: an object shared by several could hide a twin's answer.
"""

import pytest

from kernelcourse import seam


class Answers(dict):
    """Stands in for the seam's table of twins, and records whether one of them answers."""

    any = False

    def get(self, plain):
        twin = super().get(plain)
        return twin and (lambda *args, **kwargs: self.noticed(twin(*args, **kwargs)))

    def noticed(self, answer):
        self.any = self.any or answer is not NotImplemented
        return answer


without_twins = set()  # the tests in which no twin answered


@pytest.fixture(scope="module", autouse=True, params=["on", "off"])
def engine_state(request):
    with seam.engine(request.param):
        yield request.param


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Watch the first run of a test, with its fixtures. Pytest calls this for the tests of other folders as well."""
    if state_of(item) is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        seam.import_engine()
        patch.setattr(seam, "twins", answers := Answers(seam.twins))
        result = yield
    if not answers.any and state_of(item) == "on":
        without_twins.add(but_for_the_state(item))
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Leave out the second run of a test that had no answers from twins in the first; None lets pytest run it."""
    return True if state_of(pyfuncitem) == "off" and but_for_the_state(pyfuncitem) in without_twins else None


def state_of(item):
    return item.callspec.params.get("engine_state") if hasattr(item, "callspec") else None


def but_for_the_state(item):
    others = {name: index for name, index in item.callspec.indices.items() if name != "engine_state"}
    return item.parent.nodeid, item.originalname, frozenset(others.items())
