"""Tests of partial fairness."""
