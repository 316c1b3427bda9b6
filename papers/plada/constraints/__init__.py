"""Constraints of plada."""
