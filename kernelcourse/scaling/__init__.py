"""Beyond n²: blocks of rows, landmarks and random features, on one machine or on many."""

from . import blocks, estimators, landmarks, maps, models
from .blocks import *
from .estimators import *
from .landmarks import *
from .maps import *
from .models import *

__all__ = [*blocks.__all__, *estimators.__all__, *landmarks.__all__, *maps.__all__, *models.__all__]
