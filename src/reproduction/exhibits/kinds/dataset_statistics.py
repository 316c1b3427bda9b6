"""Rows and attributes of datasets, as published and as counted in the prepared tables."""

import math
from typing import Any

import numpy as np

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.datasets.named import named_dataset
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.grid import paths
from reproduction.verdicts import scorecard
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.published import Published

COLUMNS = ("dataset", "metric", "published", "reproduced", "verdict", "note")


def reproduce(context: Context[Any], row: Published) -> ReproducedNumber:
    """Return rows and attributes of a prepared table; attributes include the columns that are counted but no inputs."""
    path = context.root / paths.table(row.dataset)
    if not is_here(path):
        reason = f"{row.dataset} has not been prepared (no {paths.table(row.dataset)})"
        return ReproducedNumber(None, reason, kind="setting")
    with np.load(path, allow_pickle=False) as stored:
        rows, features = (int(size) for size in stored["shape"])
    spec = named_dataset(row.dataset, context.config.dataset_options(row.dataset)).spec
    value = rows if row.metric == "n_instances" else features + spec.other_columns
    verdict = "as stated" if value == row.value else "differs from the paper"
    note = "" if value == row.value else f"{value - row.value:+.0f}"
    counted = Estimate(float(value), math.nan, math.nan, math.nan, 1)
    return ReproducedNumber(counted, note, "counted in the prepared table", kind="setting", verdict=verdict)


def table(_: Context[Any], lines: list[Line]) -> Table:
    """Return one line per dataset, rows and attributes, published beside counted."""
    numbers = {(line["dataset"], line["metric"]): line for line in lines}
    rows = []
    for dataset in dict.fromkeys(line["dataset"] for line in lines):
        row = [cells.text(style.dataset_title(dataset))]
        for metric in ("n_instances", "n_attributes"):
            compared = numbers[dataset, metric]
            row += [cells.published(compared["published"], 0), _count(compared)]
        rows.append(row)
    columns = ["dataset", *["published", "counted"] * 2]
    return Table([("", 1), ("instances", 2), ("attributes", 2)], columns, rows)


def _count(compared: dict[str, Any]) -> Cell:
    if compared["verdict"] == "not run":
        return Cell("not prepared", "none", compared["note"])
    return Cell(f"{compared['reproduced']:.0f}", cells.verdict_kind(compared["verdict"]), compared["note"])


def csv_lines(context: Context[Any]) -> list[Line]:
    """Return one line per published number: ``COLUMNS``."""
    return [scorecard.compare(context, row, reproduce) for row in context.published]


FROM_TABLES = True
KIND = ExhibitKind.from_lines(Options, COLUMNS, csv_lines, table=table, reproduce=reproduce, needs_results=False)
