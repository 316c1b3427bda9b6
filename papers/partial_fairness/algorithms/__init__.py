"""Networks: stochastic IDCA and training without constraints."""
