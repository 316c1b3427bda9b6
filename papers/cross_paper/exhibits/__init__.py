"""The comparison of all papers' methods."""
