"""Tests of auc fairness."""
