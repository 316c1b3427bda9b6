"""Processor time of one tolerance, and its ratio to post-processing (DP post-processing paper, Table 1).

Times depend on the machine, so only ratios are held against published ones.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting.exhibit import Context, Kind, Options
from partialfair.reporting.regression_points import TITLES, SeriesOption, published_name, series
from partialfair.verdicts import statements
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = (
    "series",
    "label",
    "dataset",
    "seconds",
    "seconds_low",
    "seconds_high",
    "n",
    "ratio",
    "published_seconds",
    "published_ratio",
)


class RegressionTimes(Options):
    """What an entry takes."""

    series: dict[str, SeriesOption] = Field(description="rows, by published names; ratios are to the first")


def seconds(context: Context[RegressionTimes], experiment: str, algorithm: str) -> dict[str, np.ndarray]:
    """Processor seconds of every tolerance and repetition, by dataset: after minus before, from the histories."""
    found: dict[str, list[float]] = {}
    for job in context.config.jobs(experiment):
        file = context.root / job.path / "history.parquet"
        if job.algorithm != algorithm or not file.exists():
            continue
        table = pd.read_parquet(file)
        spent = table.groupby("candidate", sort=False)["cpu_seconds"].agg(lambda times: times.iloc[-1] - times.iloc[0])
        found.setdefault(published_name(job.dataset), []).extend(spent.tolist())
    return {dataset: np.array(values) for dataset, values in found.items()}


def lines(context: Context[RegressionTimes]) -> list[dict[str, Any]]:
    """One line per series and dataset; ratios are to the first series."""
    shown = series(context)
    times = {one.name: seconds(context, one.experiment, one.algorithm) for one in shown}
    printed = {(row.dataset, row.algorithm): row.value for row in context.published}
    out = []
    for one in shown:
        for dataset in TITLES:
            spent, unit = times[one.name].get(dataset), times[shown[0].name].get(dataset)
            line: dict[str, Any] = {"series": one.name, "label": one.label, "dataset": dataset}
            theirs, base = printed.get((dataset, one.name)), printed.get((dataset, shown[0].name))
            line |= {"published_seconds": theirs, "published_ratio": theirs / base if theirs and base else None}
            if spent is not None and unit is not None:
                # Medians: the first run of all also loads the compiled loops.
                low, middle, high = np.quantile(spent, [0.25, 0.5, 0.75])
                line |= {"seconds": middle, "seconds_low": low, "seconds_high": high, "n": len(spent)}
                line["ratio"] = float(middle / np.median(unit))
            out.append(line)
    return out


def table(found: list[dict[str, Any]]) -> Table:
    """All lines, dataset by dataset."""
    rows: list[list[Cell]] = []
    breaks = set()
    for dataset, title in TITLES.items():
        breaks.add(len(rows))
        for place, line in enumerate(line for line in found if line["dataset"] == dataset):
            rows.append(
                [
                    cells.text(title if place == 0 else ""),
                    cells.text(line["label"]),
                    Cell(_spread(line)) if "n" in line else _none(),
                    Cell(_ratio(line["ratio"])) if "n" in line else _none(),
                    Cell(f"{line['published_seconds']:.2f}", "published") if line["published_seconds"] else _none(),
                    Cell(_ratio(line["published_ratio"]), "published") if line["published_ratio"] else _none(),
                ]
            )
    groups = [("", 2), ("processor time of one tolerance", 2), ("published", 2)]
    columns = ["dataset", "method", "milliseconds, median and quartiles", "ratio", "seconds", "ratio"]
    return Table(groups, columns, rows, frozenset(breaks))


def _spread(line: dict[str, Any]) -> str:
    """Median and quartiles in milliseconds."""
    middle, low, high = (1000 * line[name] for name in ("seconds", "seconds_low", "seconds_high"))
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def _none() -> Cell:
    return Cell("–", "none")


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def reproduce(context: Context[RegressionTimes], row: Published) -> Outcome:
    """Seconds of this machine; they are reported, not judged."""
    one = next((one for one in series(context) if one.name == row.algorithm), None)
    spent = None if one is None else seconds(context, one.experiment, one.algorithm).get(row.dataset)
    if spent is None:
        return Outcome(None, "no run gives this time")
    return Outcome(
        t_interval(spent, context.results.level), "times of another machine and implementation; see the ratios"
    )


def claims(context: Context[RegressionTimes]) -> list[dict[str, Any]]:
    """Scorecard lines: published ratios, which hold of the released implementations only."""
    out = []
    for line in lines(context):
        if not line["published_ratio"] or line["published_ratio"] == 1:
            continue
        ratio = line.get("ratio", math.nan)
        close = not math.isnan(ratio) and 0.5 <= ratio / line["published_ratio"] <= 2
        verdict = "not run" if math.isnan(ratio) else "reproduced" if close else "differs"
        note = "within a factor of 2 counts as reproduced; both methods are vectorised here"
        words = "one eps threshold", "train_time_ratio (of medians)"
        numbers = {"kind": "number", "published": round(line["published_ratio"], 1), "reproduced": ratio}
        more = numbers | {"verdict": verdict, "note": note}
        out.append(statements.fact(context, line["dataset"], line["series"], *words, **more))
    return out


KIND = Kind.of(
    RegressionTimes, COLUMNS, lines, table=lambda context: table(lines(context)), reproduce=reproduce, claims=claims
)
