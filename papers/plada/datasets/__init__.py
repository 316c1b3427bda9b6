"""Datasets of plada."""
