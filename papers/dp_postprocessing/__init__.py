"""What serves the paper dp postprocessing alone."""
