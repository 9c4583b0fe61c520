"""The tests of a folder that imports `engine_state` run twice: with the engine on, and on the definitions alone."""

import pytest

from kernelcourse.seam import engine


@pytest.fixture(scope="module", autouse=True, params=["on", "off"])
def engine_state(request):
    with engine(request.param):
        yield request.param
