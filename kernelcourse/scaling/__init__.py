"""Beyond n²: blocks of rows, landmarks and random features, on one machine or on many."""

from . import blocks, estimators, landmarks, maps, models
from .blocks import *  # noqa: F403
from .estimators import *  # noqa: F403
from .landmarks import *  # noqa: F403
from .maps import *  # noqa: F403
from .models import *  # noqa: F403

__all__ = [*blocks.__all__, *estimators.__all__, *landmarks.__all__, *maps.__all__, *models.__all__]
