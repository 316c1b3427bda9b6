"""Kinds of exhibit: every module that binds KIND, found by scanning this folder."""
