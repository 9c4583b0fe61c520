"""The seam between what is taught and what is fast.

A function that is written to be read is marked `@definition`. It may have a faster twin in `kernelcourse._engine`,
which is marked `@accelerates(the_definition)` and is tried first while the engine is on. A twin that does not fit the
job returns `NotImplemented`, and the definition runs instead. Nothing else connects the two: with the engine off,
or without the packages that it needs, the same functions give the same answers on numpy alone.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["engine"]

Function = TypeVar("Function", bound=Callable[..., Any])
ENGINE = ("gram", "linalg", "svm", "steps", "search", "blocks", "features")  # the modules that hold twins
twins: dict[Any, Any] = {}  # keyed by the plain function, so that a subclass's own formula has no twin
tolerances: dict[Any, dict[str, float]] = {}  # how far apart the two results may be, with the same keys


def definition(plain: Function) -> Function:
    """Mark a function that is taught. While the engine is on, its twin is tried first, if it has one."""

    @wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _state.get() != "off":
            import_engine()
            if (twin := twins.get(plain)) and (result := twin(*args, **kwargs)) is not NotImplemented:
                return result
        return plain(*args, **kwargs)

    call.plain = plain  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def accelerates(of: Any, *, rtol: float = 1e-12, atol: float = 1e-12) -> Callable[[Function], Function]:
    """Make a function the twin of a definition; it takes the same arguments, and may return `NotImplemented`."""
    if not hasattr(of, "plain") or of.plain in twins:
        raise TypeError(f"accelerates() takes a definition that has no twin yet, got {of!r}")
    tolerances[of.plain] = {"rtol": rtol, "atol": atol}
    return lambda twin: twins.setdefault(of.plain, twin)


@cache
def import_engine() -> None:
    """Fill the table of twins at the first call of a definition; a module whose packages are missing adds none."""
    for part in ENGINE:
        try:
            import_module(f"._engine.{part}", __package__)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(f"{__package__}.") and error.name != f"{__package__}._engine":
                raise


@contextmanager
def engine(state: str) -> Iterator[None]:
    """A context in which the engine is "on", "off", or takes even the smallest jobs ("always", for tests).

    >>> with engine("off"):
    ...     always()
    False
    """
    before = _state.set(_known(state, "state"))
    try:
        yield
    finally:
        _state.reset(before)


def always() -> bool:
    """Whether twins must take even jobs that are too small to benefit."""
    return _state.get() == "always"


def _known(state: str, name: str) -> str:
    if state not in ("on", "off", "always"):
        raise ValueError(f"{name} must be one of 'on', 'off', 'always', got {state!r}")
    return state


_default = _known(os.environ.get("KERNELCOURSE_ENGINE", "on"), "KERNELCOURSE_ENGINE")
_state = ContextVar("engine", default=_default)
