"""The paper's method, its baselines and their networks."""
