"""Exhibits of partial fairness."""
