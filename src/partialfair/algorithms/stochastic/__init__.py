"""Stochastic methods of the benchmark paper."""
