"""Every test of this folder holds for the definitions as well as for their twins."""

from tests.engine.states import engine_state  # noqa: F401
