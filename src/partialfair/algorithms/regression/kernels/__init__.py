"""The compiled loops of the dual of post-processing."""
