"""The seam between what is taught and what is fast.

A function that a reader is meant to read is marked `@definition`. It may have a faster twin in
`kernelcourse._engine`, which is marked `@accelerates(the_definition)` and is tried first while the engine is on. A twin
that does not fit the job returns `NotImplemented`, and the definition does it. Nothing else connects the two: with the
engine off, or without the packages that it needs, the same functions give the same answers on numpy alone.

    with kernelcourse.engine("off"):      # or KERNELCOURSE_ENGINE=off in the environment
        ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from threading import RLock
from typing import Any, NamedTuple, TypeVar, cast

__all__ = ["engine"]

Function = TypeVar("Function", bound=Callable[..., Any])

STATES = ("on", "off", "always")
ENGINE = ("gram", "linalg", "svm", "steps", "search", "blocks", "features")  # the modules that hold twins


class Twin(NamedTuple):
    """A fast form of a definition, and how far from it the answers may be."""

    call: Callable[..., Any]
    rtol: float
    atol: float


twins: dict[Callable[..., Any], Twin] = {}  # by the plain function: a subclass with another formula has no twin
_waiting, _importing = list(ENGINE), RLock()


def _known(state: str, name: str = "state") -> str:
    if state not in STATES:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, STATES))}, got {state!r}")
    return state


_default = _known(os.environ.get("KERNELCOURSE_ENGINE", "on"), "KERNELCOURSE_ENGINE")
_state = ContextVar("engine", default=_default)


def definition(plain: Function) -> Function:
    """Mark what is taught: while the engine is on and has a twin of it, the twin is asked first.

    >>> @definition
    ... def double(x):
    ...     return x + x
    >>> double(2), double.plain(2)
    (4, 4)
    """

    @wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _state.get() != "off":
            twin = _twin_of(plain)
            if twin is not None and (result := twin.call(*args, **kwargs)) is not NotImplemented:
                return result
        return plain(*args, **kwargs)

    call.plain = plain  # type: ignore[attr-defined]
    return cast("Function", call)


def accelerates(of: Any, *, rtol: float = 1e-12, atol: float = 1e-12) -> Callable[[Callable[..., Any]], Any]:
    """Make a function the twin of a definition; it takes the same arguments, and may return `NotImplemented`.

    >>> accelerates(len)
    Traceback (most recent call last):
    TypeError: accelerates() takes a definition, got <built-in function len>
    """
    if not hasattr(of, "plain"):
        raise TypeError(f"accelerates() takes a definition, got {of!r}")

    def register(twin: Callable[..., Any]) -> Callable[..., Any]:
        if of.plain in twins:
            raise ValueError(f"{of.__qualname__} has a twin already: {twins[of.plain].call.__qualname__}")
        twins[of.plain] = Twin(twin, rtol, atol)
        return twin

    return register


@contextmanager
def engine(state: str) -> Iterator[None]:
    """Within it the engine is "on", "off", or takes every job however small ("always", for tests).

    >>> with engine("off"):
    ...     always()
    False
    """
    before = _state.set(_known(state))
    try:
        yield
    finally:
        _state.reset(before)


def always() -> bool:
    """Whether twins are to take jobs that are too small to be worth it."""
    return _state.get() == "always"


def _twin_of(plain: Callable[..., Any]) -> Twin | None:
    """The twin, if there is one. The first call imports the engine; a part whose packages are missing has no twins."""
    if _waiting:
        with _importing:  # a second thread waits for the first
            while _waiting:
                try:
                    import_module(f"._engine.{_waiting.pop()}", __package__)
                except ModuleNotFoundError as error:
                    if (error.name or "").startswith(f"{__package__}.") and error.name != f"{__package__}._engine":
                        raise
    return twins.get(plain)
