"""Metrics of a scored sample: classical, partial (on a score interval), pairwise, and their uncertainty."""

from partialfair.metrics.registry import Metric, evaluate_all, get, names

__all__ = ["Metric", "evaluate_all", "get", "names"]
