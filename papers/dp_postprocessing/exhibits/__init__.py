"""Exhibits of dp postprocessing."""
