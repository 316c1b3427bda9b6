"""The papers: each folder holds one paper's grid, claims, and what serves that paper alone."""
