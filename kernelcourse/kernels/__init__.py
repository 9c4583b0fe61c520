"""Kernels: on vectors, sets, strings, texts and graphs, and the rules that combine them."""

from . import counts, graphs, kernel, rules, sets, strings, text, vectors
from .counts import *
from .graphs import *
from .kernel import *
from .rules import *
from .sets import *
from .strings import *
from .text import *
from .vectors import *

__all__ = [
    *counts.__all__, *graphs.__all__, *kernel.__all__, *rules.__all__, *sets.__all__, *strings.__all__, *text.__all__,
    *vectors.__all__,
]  # fmt: skip
