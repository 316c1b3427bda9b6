"""One module per name that the {algorithm} wildcard can take: problem, solver and tuning protocol."""
