"""Classifiers and regressors in the scikit-learn convention."""

from partialfair.estimators.classifier import PartialFairClassifier, UnconstrainedWarning
from partialfair.estimators.frontier import Frontier, frontier
from partialfair.estimators.inputs import InputError
from partialfair.estimators.regressor import DemographicParityRegressor

__all__ = [
    "DemographicParityRegressor",
    "Frontier",
    "InputError",
    "PartialFairClassifier",
    "UnconstrainedWarning",
    "frontier",
]
