"""Old names, which work for one more release and warn with the new name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def renamed(old: str, new: F) -> F:
    """The function under its old name.

    >>> def color(): return "red"
    >>> colour = renamed("colour", color)
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     print(colour(), seen[0].message)
    red colour is now called color: the old name will go
    """

    @wraps(new)
    def alias(*args: Any, **kwargs: Any) -> Any:
        message = f"{old} is now called {new.__name__}: the old name will go"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return new(*args, **kwargs)

    alias.__name__ = alias.__qualname__ = old
    return cast("F", alias)
