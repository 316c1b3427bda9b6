"""Algorithms of stochastic benchmark."""
