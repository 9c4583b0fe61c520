"""Old names, which work for one more release and say what the new ones are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is now called {new}: the old name will go", DeprecationWarning, stacklevel=3)


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
        _warn(old, new.__name__)
        return new(*args, **kwargs)

    alias.__name__ = alias.__qualname__ = old
    return cast("F", alias)


def renamed_fields(**new_names: str) -> Callable[[C], C]:
    """For a class: keywords and attributes under their old names, as in `@renamed_fields(length="size")`."""

    def accept(cls: C) -> C:
        plain = cls.__init__  # type: ignore[misc]

        @wraps(plain)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            for old in new_names.keys() & kwargs.keys():
                new = new_names[old]
                if new in kwargs:
                    raise TypeError(f"{cls.__name__} got both {old} and {new}, which are the same")
                _warn(f"{old} of {cls.__name__}", new)
                kwargs[new] = kwargs.pop(old)
            plain(self, *args, **kwargs)

        cls.__init__ = init  # type: ignore[misc]
        for old, new in new_names.items():
            if not hasattr(cls, old):
                setattr(cls, old, _attribute(cls.__name__, old, new))
        return cls

    return accept


def _attribute(owner: str, old: str, new: str) -> property:
    def value(self: Any) -> Any:
        _warn(f"{old} of {owner}", new)
        return getattr(self, new)

    return property(value, doc=f"The old name of `{new}`.")
