"""What type hints and `isinstance` ask for."""

from . import Nothing as Axes

__all__ = ["Axes"]
