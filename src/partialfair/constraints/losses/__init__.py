"""Losses of the general path: one module per loss, found by scanning this folder."""
