"""Datasets of several papers."""
