"""Demographic parity of regressions by post-processing, and by reduction."""
