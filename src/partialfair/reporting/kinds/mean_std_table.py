"""Tables of means and standard deviations over runs, published beside reproduced."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from partialfair.metrics import get
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import run_scores, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published
from partialfair.verdicts.results import Setting

COLUMNS = (
    "experiment", "algorithm", "kappa", "split", "metric", "published_mean", "published_std", "mean", "std", "ci_low",
    "ci_high", "n_runs", "band_low", "band_high", "verdict", "best",
)  # fmt: skip
STANDARD_ERRORS = 3  # by which two means of equally many runs may differ
SPREAD_RATIO = 2.56  # of two standard deviations of ten runs each: the 99% range of their F distribution


def settings(context: Context) -> Iterator[tuple[str, Setting]]:
    """Rows of the table: a block's title, and a setting; block by block."""
    for name in context.experiments:
        experiment = context.config.experiment(name)
        for dataset, run in experiment.runs.items():
            for algorithm, kappas in run.algorithms.items():
                for kappa in kappas:
                    yield experiment.title, Setting(name, dataset, algorithm, kappa)


def setting_of(context: Context, row: Published) -> Setting | None:
    """The setting of the exhibit's first experiment that has the number's algorithm."""
    first = context.experiments[0]
    for _, setting in settings(context):
        if (setting.experiment, setting.dataset, setting.algorithm) == (first, row.dataset, row.algorithm):
            return setting
    return None


def band(context: Context, row: Published, spread: float | None) -> tuple[float, float]:
    """What counts as reproduced: the entry's ``bands``, else three standard errors of a difference of two means of ten.

    For a standard deviation, the range that its ratio to another of ten runs has in 99 of 100 cases.
    """
    if row.options["statistic"] == "std":
        return row.value / SPREAD_RATIO, row.value * SPREAD_RATIO
    entry = context.options.get("bands", {}).get(row.options["split"], {}).get(row.algorithm, {}).get(row.metric)
    if entry is not None:
        return float(entry[0]), float(entry[1])
    n = len(context.config.seeds(context.experiments[0]))
    width = STANDARD_ERRORS * math.sqrt(2 / n) * (spread or 0.0)
    return row.value - width, row.value + width


def reproduce(context: Context, row: Published) -> Outcome:
    """Mean, or standard deviation, over the runs of the number's method."""
    setting = setting_of(context, row)
    if setting is None:
        return Outcome(None, f"no run of {row.algorithm} on {row.dataset} in {context.experiments[0]}")
    split = row.options["split"]
    estimate, spread = run_scores.mean_and_spread(context, setting, row.metric, split)
    if not estimate.n:
        return Outcome(None, "not run")
    where = f"{row.metric} of {setting.experiment}, {split} rows"
    limits = band(context, row, _spread(context, row))
    excluded = len(context.config.seeds(setting.experiment)) - estimate.n
    note = f"{excluded} runs without a value are left out" if excluded else ""
    if row.options["statistic"] == "std":
        found = run_scores.spread_interval(spread, estimate.n, context.results.level)
        return Outcome(found, note, f"standard deviation over runs, {where}", limits)
    return Outcome(estimate, note, f"mean over runs, {where}", limits)


def _spread(context: Context, row: Published) -> float | None:
    """The published standard deviation that stands beside a published mean."""
    for other in context.published:
        same = (other.algorithm, other.metric, other.options["split"]) == (
            row.algorithm, row.metric, row.options["split"],
        )  # fmt: skip
        if same and other.options["statistic"] == "std":
            return other.value
    return None


def lines(context: Context) -> list[dict[str, Any]]:
    """One line per setting, split and metric: ``COLUMNS``; the first experiment has published numbers."""
    known = {
        (row.algorithm, row.metric, row.options["split"], row.options["statistic"]): row for row in context.published
    }
    found = []
    for _, setting in settings(context):
        for split in context.options.get("splits", ("train", "test")):
            for metric in context.options["metrics"]:
                estimate, spread = run_scores.mean_and_spread(context, setting, metric, split)
                line: dict[str, Any] = {
                    "experiment": setting.experiment, "algorithm": setting.algorithm, "kappa": setting.kappa,
                    "split": split, "metric": metric, "mean": estimate.mean, "std": spread, "ci_low": estimate.low,
                    "ci_high": estimate.high, "n_runs": estimate.n,
                }  # fmt: skip
                mean = known.get((setting.algorithm, metric, split, "mean"))
                if mean is not None and setting.experiment == context.experiments[0]:
                    line |= {"published_mean": mean.value, "published_std": _spread(context, mean)}
                    line["band_low"], line["band_high"] = band(context, mean, line["published_std"])
                    line["verdict"] = scorecard.compare(context, mean, reproduce)["verdict"]
                found.append(line)
    return _with_best(found)


def _with_best(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the smallest mean of each column within an experiment (the largest of a quality)."""
    for line in found:
        same = [other for other in found if all(other[k] == line[k] for k in ("experiment", "split", "metric"))]
        own = [other["mean"] for other in same if not math.isnan(other["mean"])]
        pick = max if get(line["metric"]).direction == "quality" else min
        line["best"] = int(len(own) > 1 and line["mean"] == pick(own)) if line["metric"] != "loss_difference" else 0
    return found


def tables(context: Context) -> list[Table]:
    """One table per split."""
    found = lines(context)
    metrics = list(context.options["metrics"])
    out = []
    for split in context.options.get("splits", ("train", "test")):
        rows: list[list[Cell]] = []
        breaks, previous = set(), None
        for title, setting in settings(context):
            own = {
                line["metric"]: line for line in found
                if line["split"] == split and _same(line, setting)
            }  # fmt: skip
            if title != previous:
                breaks.add(len(rows))
            label = style.look(setting.algorithm).label
            runs = max(line["n_runs"] for line in own.values())
            rows.append(
                [
                    Cell(title if title != previous else "", "text wrap"), cells.text(label), Cell(str(runs)),
                    *(_cell(own[metric]) for metric in metrics),
                ]
            )  # fmt: skip
            if any(line.get("published_mean") is not None for line in own.values()):
                published = [_published(own[metric]) for metric in metrics]
                rows.append([cells.text(""), cells.text(""), Cell("published", "published"), *published])
            previous = title
        columns = ["runs of", "method", "runs", *(short(metric) for metric in metrics)]
        out.append(
            Table([("", 3), (f"{split} rows, mean ± standard deviation over runs", len(metrics))], columns, rows)
        )
    return out


def short(metric: str) -> str:
    """The name in brackets in a metric's title, if there is one."""
    title = get(metric).title
    return title.partition("(")[2].rstrip(")") or title


def _same(line: dict[str, Any], setting: Setting) -> bool:
    return (line["experiment"], line["algorithm"], line["kappa"]) == (
        setting.experiment, setting.algorithm, setting.kappa,
    )  # fmt: skip


def _cell(line: dict[str, Any]) -> Cell:
    if not line["n_runs"]:
        return Cell("not run", "none")
    kind = {"reproduced": "good", "differs": "bad"}.get(line.get("verdict", ""), "number")
    spread = "" if math.isnan(line["std"]) else f" ± {line['std']:.4f}"
    note = f"band {line['band_low']:.4f} to {line['band_high']:.4f}" if "band_low" in line else ""
    return Cell(f"{line['mean']:.4f}{spread}{' *' if line['best'] else ''}", kind, note)


def _published(line: dict[str, Any]) -> Cell:
    if line.get("published_mean") is None:
        return Cell("–", "none")
    spread = "" if line["published_std"] is None else f" ± {line['published_std']:.4f}"
    return Cell(f"{line['published_mean']:.4f}{spread}", "published")


def body(context: Context) -> str:
    """All tables as HTML."""
    return "\n".join(cells.html(table) for table in tables(context))


def render(context: Context) -> list[Path]:
    """Write the table as CSV and HTML."""
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, body(context))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines(context)), page]


KINDS = {"mean_std_table": Kind(render, body, reproduce)}
