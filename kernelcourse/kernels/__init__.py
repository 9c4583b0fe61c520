"""Kernels: on vectors, sets, strings, texts and graphs, and the rules that combine them."""

from .counts import CountKernel
from .graphs import ShortestPath, WeisfeilerLehman
from .kernel import InvalidKernel, Kernel, NoFiniteFeatureMap
from .sets import Intersection, Subset
from .strings import Hamming, Positions, Spectrum, Subsequence
from .text import BagOfWords, TfIdf, words
from .vectors import (
    Bilinear,
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)

__all__ = [
    "BagOfWords",
    "Bilinear",
    "Constant",
    "Cosine",
    "CountKernel",
    "Exponential",
    "Gaussian",
    "Hamming",
    "Intersection",
    "InvalidKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "NoFiniteFeatureMap",
    "Periodic",
    "Polynomial",
    "Positions",
    "RationalQuadratic",
    "ShortestPath",
    "Spectrum",
    "Subsequence",
    "Subset",
    "TfIdf",
    "WeisfeilerLehman",
    "words",
]
