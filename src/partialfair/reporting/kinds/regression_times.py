"""Processor time of one tolerance, and its ratio to post-processing (DP post-processing paper, Table 1).

Means over tolerances and repetitions, as the paper has them, and medians; the fits of the base models, which the paper
includes, are a row of their own. Times depend on the machine and on how well both methods are written: they are
reported, not judged.
"""

from typing import Any

import numpy as np
from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting.exhibit import Context, Kind, Options
from partialfair.reporting.regression_numbers import seconds, time_of
from partialfair.reporting.regression_points import TITLES, SeriesOption, series
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = (
    "series", "label", "dataset", "seconds", "std", "median", "n", "ratio", "published_seconds", "published_std",
    "published_ratio",
)  # fmt: skip


class RegressionTimes(Options):
    """What an entry takes."""

    series: dict[str, SeriesOption] = Field(description="rows, by published names; ratios are to the first")


def lines(context: Context[RegressionTimes]) -> list[dict[str, Any]]:
    """One line per series and dataset; ratios of means are to the first series."""
    shown = series(context)
    printed = {(row.dataset, row.algorithm): row for row in context.published}
    out = []
    for dataset in TITLES:
        unit, base = seconds(context, shown[0], dataset), printed.get((dataset, shown[0].name))
        for one in shown:
            line: dict[str, Any] = {"series": one.name, "label": one.label, "dataset": dataset}
            spent, theirs = seconds(context, one, dataset), printed.get((dataset, one.name))
            if spent.size:
                line |= {"seconds": float(spent.mean()), "std": float(spent.std()), "median": float(np.median(spent))}
                line |= {"n": spent.size, "ratio": float(spent.mean() / unit.mean()) if unit.size else None}
            if theirs is not None and base is not None:
                line |= {"published_seconds": theirs.value, "published_std": theirs.spread}
                line["published_ratio"] = theirs.value / base.value
            out.append(line)
    return out


def table(_: Context[RegressionTimes], found: list[dict[str, Any]]) -> Table:
    """All lines, dataset by dataset."""
    rows = [
        ([cells.text(TITLES[line["dataset"]])], [cells.text(line["label"]), *_measured(line), *_published(line)])
        for line in found
    ]
    groups = [("", 2), ("processor seconds of one tolerance", 3), ("published", 2)]
    columns = ["dataset", "method", "mean ± deviation", "median", "ratio", "seconds", "ratio"]
    return cells.blocks(groups, columns, rows)


def _measured(line: dict[str, Any]) -> list[Cell]:
    if "n" not in line:
        return [Cell("–", "none")] * 3
    spread = Cell(f"{line['seconds']:.2g} ± {line['std']:.2g}", "number", f"{line['n']} times")
    return [spread, Cell(f"{line['median']:.2g}"), _ratio(line["ratio"])]


def _published(line: dict[str, Any]) -> list[Cell]:
    if "published_seconds" not in line:
        return [Cell("–", "none")] * 2
    words = f"{line['published_seconds']:.2f} ± {line['published_std']:.2f}"
    return [Cell(words, "published"), _ratio(line["published_ratio"], "published")]


def _ratio(value: float | None, kind: str = "number") -> Cell:
    return Cell("–", "none") if value is None else Cell(f"{value:.0f}" if value >= 10 else f"{value:.2g}", kind)


def reproduce(context: Context[RegressionTimes], row: Published) -> Outcome:
    """Seconds of this machine; they are reported, not judged."""
    one = next((one for one in series(context) if one.name == row.algorithm), None)
    return Outcome(None, "no run gives this time") if one is None else time_of(context, row, one)


KIND = Kind.of(RegressionTimes, COLUMNS, lines, table=table, reproduce=reproduce)
