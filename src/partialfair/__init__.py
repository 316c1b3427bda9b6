"""Fairness constraints on an interval of score percentiles: solvers, metrics, reproduction."""

__version__ = "0.1.0"
