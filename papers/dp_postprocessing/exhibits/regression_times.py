"""Processor time of one tolerance, and its ratio to post-processing (DP post-processing paper, Table 1).

Means over tolerances and repetitions, as the paper has them, and medians. The paper's time of post-processing includes
the fits of the base models, so a row can be a sum of others. Times depend on the machine and on how well both methods
are written: they are reported, not judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from partialfair.errors import ConfigError
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits.exhibit import Context, ExhibitKind, Options
from reproduction.exhibits.regression_numbers import measured_time, seconds
from reproduction.exhibits.regression_points import SeriesOption, exhibit_series, published_name, titles
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.published import Published

COLUMNS = (
    "series", "label", "dataset", "seconds", "std", "median", "n", "ratio", "published_seconds", "published_std",
    "published_ratio",
)  # fmt: skip


class Sum(BaseModel):
    """A row of times that are added repetition by repetition."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    of: list[str] = Field(min_length=2, description="the series whose times are added")
    label: str = Field(description="what the row is called")


class RegressionTimes(Options):
    """Processor time of one tolerance by series, and its ratio to the first row."""

    sums: dict[str, Sum] = Field({}, description="first rows, by published names: sums of series")
    series: dict[str, SeriesOption] = Field(description="further rows, by published names; ratios are to the first row")


@dataclass(frozen=True)
class TimeRow:
    """A row of the table on one dataset.

    Attributes:
        name: published name; label: what it is called; where: the experiments that its times come from.
        spent: seconds of its tolerances, by repetition.
    """

    name: str
    label: str
    where: str
    spent: Mapping[int, np.ndarray]


def rows(context: Context[RegressionTimes], dataset: str) -> list[TimeRow]:
    """Return the rows of a dataset; a sum has the repetitions that all of its parts have.

    Raises:
        ConfigError: a sum names a series that the exhibit does not have.
    """
    series_rows = [
        TimeRow(series.name, series.label, series.experiment_of(dataset), seconds(context, series, dataset))
        for series in exhibit_series(context)
    ]
    by_name = {row.name: row for row in series_rows}
    sums = [(name, Sum.model_validate(option)) for name, option in (context.option("sums") or {}).items()]
    unknown = sorted({name_in_sum for _, series_sum in sums for name_in_sum in series_sum.of} - {*by_name})
    if unknown:
        raise ConfigError(f"{context.name}: sums name {', '.join(unknown)}; the series are {', '.join(by_name)}")
    sum_rows = [_sum(name, option.label, [by_name[series] for series in option.of]) for name, option in sums]
    return sum_rows + series_rows


def _sum(name: str, label: str, rows: Sequence[TimeRow]) -> TimeRow:
    """Return the sum of rows; rows with several times in a repetition are added in all pairs."""
    common = set.intersection(*({*row.spent} for row in rows))
    spent = {seed: reduce(np.add.outer, [row.spent[seed] for row in rows]).ravel() for seed in sorted(common)}
    return TimeRow(name, label, " + ".join(dict.fromkeys(row.where for row in rows)), spent)


def csv_lines(context: Context[RegressionTimes]) -> list[dict[str, Any]]:
    """Return one line per row and dataset; ratios of means are to the first row."""
    printed = {(row.dataset, row.algorithm): row for row in context.published}
    lines = []
    for dataset in titles(context, _datasets(context)):
        time_rows = rows(context, dataset)
        first_seconds, first_published = _all_seconds(time_rows[0]), printed.get((dataset, time_rows[0].name))
        for row in time_rows:
            line: dict[str, Any] = {"series": row.name, "label": row.label, "dataset": dataset}
            spent, printed_row = _all_seconds(row), printed.get((dataset, row.name))
            if spent.size:
                line |= {"seconds": float(spent.mean()), "std": float(spent.std()), "median": float(np.median(spent))}
                line["n"] = spent.size
                line["ratio"] = float(spent.mean() / first_seconds.mean()) if first_seconds.size else None
            if printed_row is not None and first_published is not None:
                line |= {"published_seconds": printed_row.value, "published_std": printed_row.spread}
                line["published_ratio"] = printed_row.value / first_published.value
            lines.append(line)
    return lines


def _datasets(context: Context[RegressionTimes]) -> list[str]:
    """Return published names of the datasets that the series run on or that have printed times."""
    names = {name for series in exhibit_series(context) for name in (series.experiment, *series.instead.values())}
    trained = [dataset for name in sorted(names) for dataset in context.config.experiment(name).runs]
    return [*(published_name(context, dataset) for dataset in trained), *(row.dataset for row in context.published)]


def _all_seconds(row: TimeRow) -> np.ndarray:
    return np.concatenate([*row.spent.values()]) if row.spent else np.zeros(0)


def table(context: Context[RegressionTimes], lines: list[dict[str, Any]]) -> Table:
    """Return all lines, dataset by dataset."""
    dataset_titles = titles(context, (line["dataset"] for line in lines))
    rows = [
        (
            [cells.text(dataset_titles[line["dataset"]])],
            [cells.text(line["label"]), *_measured(line), *_published(line)],
        )
        for line in lines
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
    text = f"{line['published_seconds']:.2f} ± {line['published_std']:.2f}"
    return [Cell(text, "published"), _ratio(line["published_ratio"], "published")]


def _ratio(value: float | None, kind: str = "number") -> Cell:
    return Cell("–", "none") if value is None else Cell(f"{value:.0f}" if value >= 10 else f"{value:.2g}", kind)


def reproduce(context: Context[RegressionTimes], row: Published) -> ReproducedNumber:
    """Return the seconds of this machine; they are reported, not judged."""
    time_row = next((time_row for time_row in rows(context, row.dataset) if time_row.name == row.algorithm), None)
    if time_row is None:
        return ReproducedNumber(None, "no run gives this time")
    note = "processor time of another implementation on another machine"
    return measured_time(context, time_row.spent, note, time_row.where)


KIND = ExhibitKind.from_lines(RegressionTimes, COLUMNS, csv_lines, table=table, reproduce=reproduce)
