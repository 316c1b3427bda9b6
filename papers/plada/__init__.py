"""What serves the paper plada alone."""
