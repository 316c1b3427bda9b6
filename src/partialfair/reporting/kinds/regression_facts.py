"""Counts and settings that the DP post-processing paper prints, against tables and configuration."""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.grid.paths import SPLIT, TABLE
from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting.exhibit import Context, Kind
from partialfair.tables.dataset import Dataset, Split
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("dataset", "fact", "part", "published", "measured", "note")
TABLES = {"communities": "dp_communities", "law_school": "dp_law", "adult": "dp_adult", "synthetic": "four_groups"}
PARTS = {"train": "train", "unlabeled": "validation", "test": "test"}
NOTES = {
    ("n_instances_raw", "law_school"): "complete rows of the released file; with them the base risk is reproduced",
    ("n_instances_raw", "adult"): "the training file alone",
    ("n_columns_after_preprocessing", ""): "inputs, group and label together",
}


def measure(context: Context, row: Published) -> tuple[float | None, str]:
    """The number of a table, split or setting that a published one speaks of, and a note."""
    from partialfair.datasets.named import named_dataset

    name = TABLES.get(row.dataset)
    path = context.root / TABLE.format(dataset=name)
    if name is None or not path.exists():
        return None, "no table of that name"
    data, options = Dataset.load(path), context.config.dataset_options(name)
    note = NOTES.get((row.metric, row.dataset), NOTES.get((row.metric, ""), ""))
    experiment = "dp_released"
    settings = context.config.algorithm_settings(experiment, "dp_postproc")
    extra = 2 if row.dataset != "synthetic" else 0
    found: dict[str, float] = {
        "n_instances_used": data.n_rows,
        "n_columns_after_preprocessing": data.n_features + extra,
        "n_features": data.n_features,
        "n_groups": data.n_groups,
        "n_iterations": settings["steps"].get(f"{name}_released", float("nan")),
        "n_repetitions": len(context.config.seeds(experiment)),
        "B": 1.0,
    }
    spec = named_dataset(name, options).spec
    rows = {"communities": 1994}.get(row.dataset, spec.n_rows or data.n_rows)
    found["n_instances_raw"] = rows
    if row.metric == "split_fraction":
        split = Split.load(context.root / SPLIT.format(dataset=name, seed=context.config.seeds(experiment)[0]))
        part = getattr(split, PARTS[_part(row)])
        return float(len(part) / data.n_rows), "of the first repetition"
    value = found.get(row.metric)
    return (None, "not measured") if value is None or np.isnan(value) else (float(value), note)


def _part(row: Published) -> str:
    """Which part a split fraction is of: published rows of one dataset stand in the order of the parts."""
    values = {0.4: "train", 0.2: "test"}
    return values[row.value]


def lines(context: Context) -> list[dict[str, Any]]:
    """One line per published count."""
    out = []
    for source in ("text_appG", "text_sec6"):
        for row in context.published_of(source):
            value, note = measure(context, row)
            out.append(
                {"dataset": row.dataset, "fact": row.metric, "published": row.value, "measured": value, "note": note}
            )
    return out


def table(found: list[dict[str, Any]]) -> Table:
    """All counts."""
    rows = []
    for line in found:
        value = line["measured"]
        kind = "none" if value is None else "good" if abs(value - line["published"]) < 5e-3 else "bad"
        shown = "–" if value is None else f"{value:g}" if value > 1 else f"{value:.3g}"
        words = str(line["fact"]).removeprefix("n_").replace("_", " ")
        names = [cells.text(str(line["dataset"]).replace("_", " ")), cells.text(words)]
        rows.append([*names, Cell(f"{line['published']:g}", "published"), Cell(shown, kind), cells.text(line["note"])])
    return Table([], ["dataset", "fact", "published", "here", "note"], rows)


def reproduce(context: Context, row: Published) -> Outcome:
    """The number of a table, split or setting that a published one speaks of."""
    value, note = measure(context, row)
    if value is None:
        return Outcome(None, note)
    return Outcome(Estimate(value, float("nan"), float("nan"), float("nan"), 1), note)


def render(context: Context) -> list[Path]:
    """Write the counts as CSV and HTML."""
    found = lines(context)
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(table(found)))
    return [cells.write_csv(context.path("csv"), COLUMNS, found), page]


def fragment(context: Context) -> str:
    """Return the table of counts."""
    return cells.html(table(lines(context)))


KINDS = {"regression_facts": Kind(render, fragment, reproduce)}
