"""Rows and attributes of datasets, as published and as counted in the prepared tables."""

import math
from typing import Any

import numpy as np

from partialfair.datasets.named import named_dataset
from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Line, Options
from partialfair.verdicts import scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("dataset", "metric", "published", "reproduced", "verdict", "note")


class DatasetStatistics(Options):
    """What an entry takes."""


def reproduce(context: Context[Any], row: Published) -> Outcome:
    """Rows and attributes of a prepared table; attributes include the columns that are counted but no inputs."""
    path = context.root / "data" / "processed" / row.dataset / "table.npz"
    if not path.exists():
        return Outcome(None, f"{row.dataset} has not been prepared (no data/processed/{row.dataset}/table.npz)")
    with np.load(path, allow_pickle=False) as stored:
        rows, features = (int(size) for size in stored["shape"])
    spec = named_dataset(row.dataset, context.config.dataset_options(row.dataset)).spec
    value = rows if row.metric == "n_instances" else features + spec.other_columns
    return Outcome(Estimate(float(value), math.nan, math.nan, math.nan, 1), source="counted in the prepared table")


def table(context: Context[Any]) -> Table:
    """One line per dataset, rows and attributes, published beside counted."""
    by_dataset: dict[str, dict[str, Published]] = {}
    for row in context.published:
        by_dataset.setdefault(row.dataset, {})[row.metric] = row
    lines = []
    for dataset, numbers in by_dataset.items():
        line = [cells.text(style.dataset_title(dataset))]
        for metric in ("n_instances", "n_attributes"):
            compared = scorecard.compare(context, numbers[metric], reproduce)
            line += [cells.published(compared["published"], 0), _count(compared)]
        lines.append(line)
    columns = ["dataset", *["published", "counted"] * 2]
    return Table([("", 1), ("instances", 2), ("attributes", 2)], columns, lines)


def _count(compared: dict[str, Any]) -> Cell:
    if compared["verdict"] == "not run":
        return Cell("not prepared", "none", compared["note"])
    return Cell(f"{compared['reproduced']:.0f}", cells.verdict_kind(compared["verdict"]), compared["note"])


def lines(context: Context[Any]) -> list[Line]:
    """One line per published number: ``COLUMNS``."""
    return [scorecard.compare(context, row, reproduce) for row in context.published]


KIND = Kind.of(DatasetStatistics, COLUMNS, lines, table=table, reproduce=reproduce, needs_results=False)
