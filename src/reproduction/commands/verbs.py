"""Adds the verbs of the workbench to the command line of the library."""

import typer

from reproduction.commands import data, project, reproduce, results, runs
from reproduction.commands.common import STEPS


def add(app: typer.Typer) -> None:
    """Add the verbs to a program."""
    app.add_typer(data.app, name="data", rich_help_panel=STEPS)
    for theme in (runs, results, reproduce, project):
        app.add_typer(theme.app)  # without a name: its verbs are the program's own
