"""The class that type hints and `isinstance` need."""

from . import Nothing as Axes

__all__ = ["Axes"]
