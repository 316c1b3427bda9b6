"""What serves the paper auc fairness alone."""
