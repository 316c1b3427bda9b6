"""The compiled loops of constraints and losses."""
