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
from reproduction.exhibits.exhibit import Context, Kind, Options
from reproduction.exhibits.regression_numbers import measured_time, seconds
from reproduction.exhibits.regression_points import SeriesOption, published_name, series, titles
from reproduction.verdicts.evidence import Outcome
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
class Row:
    """A row of the table on one dataset.

    Attributes:
        name: published name; label: what it is called; where: the experiments that its times come from.
        spent: seconds of its tolerances, by repetition.
    """

    name: str
    label: str
    where: str
    spent: Mapping[int, np.ndarray]


def rows(context: Context[RegressionTimes], dataset: str) -> list[Row]:
    """The rows of a dataset; a sum has the repetitions that all of its parts have.

    Raises:
        ConfigError: a sum names a series that the exhibit does not have.
    """
    single = [Row(s.name, s.label, s.of(dataset), seconds(context, s, dataset)) for s in series(context)]
    by_name = {row.name: row for row in single}
    sums = [(name, Sum.model_validate(option)) for name, option in (context.option("sums") or {}).items()]
    unknown = sorted({part for _, one in sums for part in one.of} - {*by_name})
    if unknown:
        raise ConfigError(f"{context.name}: sums name {', '.join(unknown)}; the series are {', '.join(by_name)}")
    return [_sum(name, one.label, [by_name[part] for part in one.of]) for name, one in sums] + single


def _sum(name: str, label: str, parts: Sequence[Row]) -> Row:
    """The sum of rows; where several have several times in a repetition, all pairs are added."""
    common = set.intersection(*({*part.spent} for part in parts))
    spent = {seed: reduce(np.add.outer, [part.spent[seed] for part in parts]).ravel() for seed in sorted(common)}
    return Row(name, label, " + ".join(dict.fromkeys(part.where for part in parts)), spent)


def lines(context: Context[RegressionTimes]) -> list[dict[str, Any]]:
    """One line per row and dataset; ratios of means are to the first row."""
    printed = {(row.dataset, row.algorithm): row for row in context.published}
    out = []
    for dataset in titles(context, _datasets(context)):
        shown = rows(context, dataset)
        unit, base = _all(shown[0]), printed.get((dataset, shown[0].name))
        for row in shown:
            line: dict[str, Any] = {"series": row.name, "label": row.label, "dataset": dataset}
            spent, theirs = _all(row), printed.get((dataset, row.name))
            if spent.size:
                line |= {"seconds": float(spent.mean()), "std": float(spent.std()), "median": float(np.median(spent))}
                line |= {"n": spent.size, "ratio": float(spent.mean() / unit.mean()) if unit.size else None}
            if theirs is not None and base is not None:
                line |= {"published_seconds": theirs.value, "published_std": theirs.spread}
                line["published_ratio"] = theirs.value / base.value
            out.append(line)
    return out


def _datasets(context: Context[RegressionTimes]) -> list[str]:
    """Published names of the datasets that the series run on or that have printed times."""
    names = {name for one in series(context) for name in (one.experiment, *one.instead.values())}
    trained = [dataset for name in sorted(names) for dataset in context.config.experiment(name).runs]
    return [*(published_name(context, name) for name in trained), *(row.dataset for row in context.published)]


def _all(row: Row) -> np.ndarray:
    return np.concatenate([*row.spent.values()]) if row.spent else np.zeros(0)


def table(context: Context[RegressionTimes], found: list[dict[str, Any]]) -> Table:
    """All lines, dataset by dataset."""
    named = titles(context, (line["dataset"] for line in found))
    rows = [
        ([cells.text(named[line["dataset"]])], [cells.text(line["label"]), *_measured(line), *_published(line)])
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
    one = next((one for one in rows(context, row.dataset) if one.name == row.algorithm), None)
    if one is None:
        return Outcome(None, "no run gives this time")
    return measured_time(context, one.spent, "processor time of another implementation on another machine", one.where)


KIND = Kind.of(RegressionTimes, COLUMNS, lines, table=table, reproduce=reproduce)
