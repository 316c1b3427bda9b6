"""Statistics that decide claims: paired tests over seeds, differences of frontiers, hypervolume, rank tests."""
