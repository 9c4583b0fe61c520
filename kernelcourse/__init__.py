"""Kernel methods as in the book: kernels make Gram matrices, algorithms consume them, estimators join them."""

from types import ModuleType as _Module

from .algorithms.logistic import *
from .algorithms.mlp import *
from .algorithms.neighbors import *
from .algorithms.perceptron import *
from .algorithms.ridge import *
from .algorithms.softmax import *
from .algorithms.svm import *
from .datasets import *
from .estimators import *
from .features import *
from .gram import *
from .kernels import *
from .scaling import *
from .seam import *
from .selection import *
from .validation import *

__version__ = "0.1.0"
__all__ = [name for name, value in list(globals().items()) if name[0] != "_" and not isinstance(value, _Module)]
