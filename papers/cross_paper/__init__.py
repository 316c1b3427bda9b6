"""What several papers share: datasets, and the comparison of all their methods."""
