"""Linear scores under constraints on hinge means: the Partial fairness paper and its baselines."""
