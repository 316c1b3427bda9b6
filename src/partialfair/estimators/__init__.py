"""Classifiers in the scikit-learn convention."""

from partialfair.estimators.classifier import PartialFairClassifier, UnconstrainedWarning
from partialfair.estimators.frontier import Frontier, frontier
from partialfair.estimators.inputs import InputError

__all__ = ["Frontier", "InputError", "PartialFairClassifier", "UnconstrainedWarning", "frontier"]
