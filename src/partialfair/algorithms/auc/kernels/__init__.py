"""The compiled loops over pairs of rows."""
