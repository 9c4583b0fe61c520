"""Lines that are made by hand, for a legend."""

from . import Nothing as Line2D

__all__ = ["Line2D"]
