"""The verbs of the workbench, by theme; :mod:`reproduction.commands.verbs` adds them to the command line."""
