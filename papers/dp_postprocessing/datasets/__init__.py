"""Datasets of dp postprocessing."""
