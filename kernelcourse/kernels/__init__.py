"""Kernels: on vectors, sets, strings, texts and graphs, and the rules that combine them."""

from .counts import CountKernel
from .graphs import ShortestPath, WeisfeilerLehman
from .kernel import InvalidKernel, Kernel, NoFiniteFeatureMap, VectorKernel
from .rules import Constant
from .sets import Intersection, Subset
from .strings import Hamming, Positions, Spectrum, Subsequence
from .text import BagOfWords, TfIdf, words
from .vectors import (
    Bilinear,
    Cosine,
    DotProduct,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Radial,
    RationalQuadratic,
)

__all__ = [
    "BagOfWords",
    "Bilinear",
    "Constant",
    "Cosine",
    "CountKernel",
    "DotProduct",
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
    "Radial",
    "RationalQuadratic",
    "ShortestPath",
    "Spectrum",
    "Subsequence",
    "Subset",
    "TfIdf",
    "VectorKernel",
    "WeisfeilerLehman",
    "words",
]
