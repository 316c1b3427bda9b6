"""Exhibits of plada."""
