"""Kinds of exhibit: every module that offers KINDS, found by scanning this folder."""
