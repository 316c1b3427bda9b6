"""What serves the paper stochastic benchmark alone."""
