"""Estimators: fit/predict shells that join a kernel to an algorithm, with scikit-learn's conventions."""

from .base import Classifier, Estimator, NotFittedError, Regressor
from .classifiers import (
    KernelLogisticRegression,
    KernelNeighbors,
    KernelPerceptron,
    KernelSVM,
    LogisticRegression,
    Perceptron,
    SoftmaxRegression,
)
from .networks import MLP, MLPRegressor
from .regressors import KernelRidge, Parts, RegularizationNetwork, Ridge, SemiparametricRidge

__all__ = [
    "MLP",
    "Classifier",
    "Estimator",
    "KernelLogisticRegression",
    "KernelNeighbors",
    "KernelPerceptron",
    "KernelRidge",
    "KernelSVM",
    "LogisticRegression",
    "MLPRegressor",
    "NotFittedError",
    "Parts",
    "Perceptron",
    "Regressor",
    "RegularizationNetwork",
    "Ridge",
    "SemiparametricRidge",
    "SoftmaxRegression",
]
