"""Model cards of trained runs."""
