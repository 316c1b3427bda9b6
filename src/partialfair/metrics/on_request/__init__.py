"""Metrics of particular papers: computed where an experiment names them under ``metrics``."""
