"""Every test of this folder holds for the definitions as well as for their twins."""

from tests.engine.states import engine_state, pytest_pyfunc_call, pytest_runtest_protocol  # noqa: F401
