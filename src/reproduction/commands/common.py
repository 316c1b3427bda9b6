"""Options that several verbs have."""

import json
from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[Path, typer.Option("--config", envvar="PARTIALFAIR_PARAMS", help="The experiment grid.")]
RawOption = Annotated[Path, typer.Option("--raw", help="Folder of the raw files.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Folder to write; by default where the workflow has it.")]
SCORES, PROJECT, RESULTS = "Scores of any model", "The project", "Results"
REPLACE = "Write 'not run' over numbers that lack their runs here."
STEPS = "Steps of the workflow, which calls them itself"
"""Titles under which the verbs are listed, in this order."""
PARAMS = Path("params.yaml")
RAW = Path("data/raw")


def print_json(content: object) -> None:
    """Print JSON, indented."""
    print(json.dumps(content, indent=1))
