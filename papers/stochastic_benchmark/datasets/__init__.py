"""Datasets of stochastic benchmark."""
