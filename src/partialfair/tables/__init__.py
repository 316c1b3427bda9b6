"""Tables and what every layer builds on: datasets, splits, intervals, groups, files written whole, compiled loops."""
