"""The compiled loops of linear scores."""
