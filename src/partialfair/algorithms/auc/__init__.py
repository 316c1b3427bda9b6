"""AUC maximisation under AUC gaps: the AUC fairness paper and its baselines."""
