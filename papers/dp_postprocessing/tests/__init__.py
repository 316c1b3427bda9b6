"""Tests of dp postprocessing."""
