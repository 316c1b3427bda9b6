"""Exhibits of auc fairness."""
