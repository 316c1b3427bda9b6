"""Fairness constraints on an interval of score percentiles: solvers, metrics, reproduction."""

__version__ = "0.2.0"
