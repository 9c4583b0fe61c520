"""Estimators: fit/predict shells that join a kernel to an algorithm, with scikit-learn's conventions."""

from . import base, classifiers, networks, regressors
from .base import *  # noqa: F403
from .classifiers import *  # noqa: F403
from .networks import *  # noqa: F403
from .regressors import *  # noqa: F403

__all__ = [*base.__all__, *classifiers.__all__, *networks.__all__, *regressors.__all__]
