"""Estimators: fit/predict shells that join a kernel to an algorithm, with scikit-learn's conventions."""

from . import base, classifiers, networks, regressors
from .base import *
from .classifiers import *
from .networks import *
from .regressors import *

__all__ = [*base.__all__, *classifiers.__all__, *networks.__all__, *regressors.__all__]
