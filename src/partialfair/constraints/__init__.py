"""Constraint families: one module per family, found by scanning this folder."""
