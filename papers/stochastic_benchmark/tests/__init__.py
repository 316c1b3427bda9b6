"""Tests of stochastic benchmark."""
