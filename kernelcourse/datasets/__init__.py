"""Data sets: generated ones, whose law is known, and measured ones, whose law is not. None is downloaded."""

from . import chimeras as _chimeras
from . import generated as _generated
from . import measured as _measured
from .chimeras import *
from .chimeras import Chimeras
from .generated import *
from .generated import Data, GaussianMixture, Graph, Graphs, Labelled, Texts, TrendAndWiggle, sinc
from .measured import *
from .measured import Measured, MeasuredSeries

__all__ = [*_chimeras.__all__, *_generated.__all__, *_measured.__all__]
