"""Every test in this folder runs with the definitions and with their twins."""

from tests.engine.states import engine_state, pytest_pyfunc_call, pytest_runtest_protocol  # noqa: F401
