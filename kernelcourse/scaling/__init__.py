"""Beyond n²: blocks of rows, landmarks and random features, on one machine or on many."""

from .blocks import cg_ridge, gram_product
from .estimators import (
    CGRidge,
    Falkon,
    FourierLogisticRegression,
    FourierRidge,
    FourierSVM,
    NystromLogisticRegression,
    NystromRidge,
    NystromSVM,
)
from .falkon import FalkonFit, falkon
from .landmarks import kmeans_landmarks, leverage_landmarks, leverage_scores, uniform_landmarks
from .maps import FourierFeatures, GramError, LandmarkFeatures, gram_error, random_fourier
from .models import NewtonFit, feature_logistic, feature_ridge, feature_svm, normal_equations

__all__ = [
    "CGRidge",
    "Falkon",
    "FalkonFit",
    "FourierFeatures",
    "FourierLogisticRegression",
    "FourierRidge",
    "FourierSVM",
    "GramError",
    "LandmarkFeatures",
    "NewtonFit",
    "NystromLogisticRegression",
    "NystromRidge",
    "NystromSVM",
    "cg_ridge",
    "falkon",
    "feature_logistic",
    "feature_ridge",
    "feature_svm",
    "gram_error",
    "gram_product",
    "kmeans_landmarks",
    "leverage_landmarks",
    "leverage_scores",
    "normal_equations",
    "random_fourier",
    "uniform_landmarks",
]
