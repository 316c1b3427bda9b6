"""Figures, tables, the scorecard and the page: from the tidy tables of the runs, never from models' training."""
