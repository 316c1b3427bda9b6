"""Datasets of partial fairness."""
