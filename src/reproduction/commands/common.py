"""Options that several verbs have."""

import json
from pathlib import Path
from typing import Annotated

import typer

from partialfair.commands.options import PROJECT, RESULTS, STEPS

__all__ = [
    "PARAMS", "PROJECT", "RAW", "REPLACE", "RESULTS", "STEPS", "ConfigOption", "JsonOption", "OutOption", "RawOption",
    "print_json",
]  # fmt: skip

ConfigOption = Annotated[Path, typer.Option("--config", envvar="PARTIALFAIR_PARAMS", help="The experiment grid.")]
RawOption = Annotated[Path, typer.Option("--raw", help="Folder of the raw files.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Folder to write; by default where the workflow has it.")]
REPLACE = "Write 'not run' over numbers that lack their runs here."
PARAMS = Path("params.yaml")
RAW = Path("data/raw")


def print_json(content: object) -> None:
    """Print JSON, indented."""
    print(json.dumps(content, indent=1))
