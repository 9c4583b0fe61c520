"""Kernel methods as in the book: kernels make Gram matrices, algorithms consume them, estimators join them."""

# The modules under names of their own: `logistic` and `perceptron` are functions too.
from . import datasets as _datasets
from . import estimators as _estimators
from . import features as _features
from . import gram as _gram
from . import kernels as _kernels
from . import scaling as _scaling
from . import seam as _seam
from . import selection as _selection
from . import validation as _validation
from .algorithms import logistic as _logistic
from .algorithms import mlp as _mlp
from .algorithms import neighbors as _neighbors
from .algorithms import perceptron as _perceptron
from .algorithms import ridge as _ridge
from .algorithms import softmax as _softmax
from .algorithms import svm as _svm
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
__all__ = [
    *_logistic.__all__, *_mlp.__all__, *_neighbors.__all__, *_perceptron.__all__, *_ridge.__all__, *_softmax.__all__,
    *_svm.__all__, *_datasets.__all__, *_estimators.__all__, *_features.__all__, *_gram.__all__, *_kernels.__all__,
    *_scaling.__all__, *_seam.__all__, *_selection.__all__, *_validation.__all__,
]  # fmt: skip
