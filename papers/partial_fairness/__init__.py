"""What serves the paper partial fairness alone."""
