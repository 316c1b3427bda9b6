"""The verbs of the command line, by theme; :mod:`partialfair.commands.cli` joins them."""
