"""Rows of tables: groups, intervals, missing values, splits, and the one intake of what a person passes."""
