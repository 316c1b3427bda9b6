"""How a number of runs falls with an amount, such as steps or rows: one experiment per amount, a slope per method."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options

COLUMNS = ("dataset", "algorithm", "kappa", "seed", "experiment", "x", "value", "note")
SELECTED = "selected."


class Rates(Options):
    """A number of the runs of several experiments against an amount of which each experiment has its own."""

    amounts: dict[str, float] = Field(description="experiment -> amount")
    value: str = Field(description="a metric on test rows, a column of the table of runs, or selected.KEY of it")
    what: str = Field(description="what the amount is, in a few words")
    power: float | None = Field(None, description="of the amount, like whose inverse the number falls by the theorem")


def values(context: Context[Rates], experiment: str) -> Iterator[Line]:
    """Yield a line with the number of each run of an experiment; runs without one are left out."""
    name = context.options.value
    if name in context.results.runs.columns or name.startswith(SELECTED):
        table = context.results.runs
        rows = table[table["experiment"] == experiment]
        for row in rows.to_dict("records"):
            yield {key: row[key] for key in COLUMNS[:4]} | {"value": _number(row, name)}
        return
    table = context.results.metrics
    rows = table[(table["experiment"] == experiment) & (table["metric"] == name) & (table["split"] == "test")]
    for row in rows.to_dict("records"):
        yield {key: row[key] for key in COLUMNS[:5]} | {"value": row["value"]}


def _number(row: dict[str, Any], name: str) -> float:
    """Return a column of a run, or an entry of what its method recorded; NaN if there is none."""
    if not name.startswith(SELECTED):
        return float(row[name])
    recorded = json.loads(row["selected"]) if isinstance(row["selected"], str) else {}
    return float(recorded.get(name.removeprefix(SELECTED), math.nan))


def csv_lines(context: Context[Rates]) -> Iterator[Line]:
    """Yield a line per run, and one with a note for an experiment without runs."""
    for experiment, amount in context.options.amounts.items():
        lines = [line for line in values(context, experiment) if not math.isnan(line["value"])]
        for line in lines:
            yield line | {"experiment": experiment, "x": amount}
        if not lines:
            yield {"experiment": experiment, "x": amount, "note": "not run"}


def slope(points: list[tuple[float, float]]) -> float:
    """Return the slope of log value against log amount by least squares; NaN for fewer than three positive values."""
    positive = [(x, value) for x, value in points if x > 0 and value > 0]
    if len({x for x, _ in positive}) < 3:
        return math.nan
    x, y = np.log(np.array(positive)).T
    return float(np.polyfit(x, y, 1)[0])


def _table(context: Context[Rates], lines: list[Line]) -> Table:
    """Return a row per dataset and method: means over seeds by amount, and the slope."""
    amounts = sorted({line["x"] for line in lines})
    measured = [line for line in lines if "value" in line]
    rows = []
    for dataset, algorithm in dict.fromkeys((line["dataset"], line["algorithm"]) for line in measured):
        group_lines = [line for line in measured if (line["dataset"], line["algorithm"]) == (dataset, algorithm)]
        means = [
            np.mean([line["value"] for line in group_lines if line["x"] == amount] or [math.nan]) for amount in amounts
        ]
        group_slope = slope([(line["x"], line["value"]) for line in group_lines])
        cells_of_means = [
            Cell("not run", "none") if math.isnan(mean) else Cell(f"{mean:.3g}", "number") for mean in means
        ]
        last = Cell("none", "none") if math.isnan(group_slope) else Cell(f"{group_slope:+.2f}", "number")
        rows.append(
            (
                [cells.text(style.dataset_title(dataset))],
                [cells.text(style.plot_style(algorithm).label), *cells_of_means, last],
            )
        )
    theorem = "" if context.options.power is None else f" (theorem: {-context.options.power:+g})"
    heads = [context.options.what + f" {amount:,g}" for amount in amounts]
    return cells.blocks([], ["dataset", "method", *heads, f"slope{theorem}"], rows)


FROM_TABLES = True
KIND = ExhibitKind.from_lines(Rates, COLUMNS, csv_lines, table=_table)
