"""Classifiers and regressors in the scikit-learn convention."""

from partialfair.estimators.boosting import PartialFairBoosting
from partialfair.estimators.classifier import PartialFairClassifier
from partialfair.estimators.frontier import Frontier, frontier
from partialfair.estimators.inputs import InputError, UnconstrainedWarning
from partialfair.estimators.postprocessor import PartialFairPostProcessor
from partialfair.estimators.promise import Promise
from partialfair.estimators.regressor import DemographicParityRegressor

__all__ = [
    "DemographicParityRegressor",
    "Frontier",
    "InputError",
    "PartialFairBoosting",
    "PartialFairClassifier",
    "PartialFairPostProcessor",
    "Promise",
    "UnconstrainedWarning",
    "frontier",
]
