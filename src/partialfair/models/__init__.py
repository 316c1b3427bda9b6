"""Score models."""
