"""Demographic parity of predictions: groups have one distribution of predictions.

Source: DP post-processing paper, section 3, where the largest difference of shares of an atom is bounded. For the
scores of a classifier the same notion is statistical parity on the whole range of ranks, so linear models of other
papers are trained under :mod:`partialfair.constraints.partial_statistical_parity`, on an interval if one is given.
"""

from partialfair.constraints.partial_statistical_parity import HAS_GRID, build

__all__ = ["HAS_GRID", "TITLE", "VIOLATION", "build"]

TITLE = "demographic parity of predictions"
VIOLATION = {"absolute": "ks_unfairness", "relative": "ks_unfairness"}
