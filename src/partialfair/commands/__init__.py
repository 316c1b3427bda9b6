"""The verbs of the command line, by theme; :mod:`partialfair.cli` joins them."""
