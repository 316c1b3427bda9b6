"""Simulated data: metrics measured on test beside the closed-form population values of the same fitted model."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.grid.config import Job
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind, Options
from partialfair.tables.intervals import Interval, format_interval
from partialfair.verdicts.finding import Line
from partialfair.verdicts.scorecard import verdict

DATASET = "simulated"
COLUMNS = (
    "experiment", "algorithm", "kappa", "seed", "metric", "closed_form", "measured", "ci_low", "ci_high",
    "difference", "inside_interval",
)  # fmt: skip


class ClosedForm(Options):
    """What an entry takes."""


def group_weights(model: Any, n_features: int) -> NDArray[np.float64]:
    """Weights (2d + 2,) of a linear score on raw features, order (1, x, s, s x), read off its scores.

    A linear score is determined by its values at the origin and at the unit vectors, so no knowledge of how the
    model stores its weights is needed.
    """
    probes = np.vstack([np.zeros(n_features), np.eye(n_features)]).astype(np.float64)
    by_group = []
    for code in (0, 1):
        values = model.scores(probes, np.full(len(probes), code))
        by_group.append(np.concatenate([values[:1], values[1:] - values[0]]))
    return np.concatenate([by_group[0], by_group[1] - by_group[0]])


def population(weights: NDArray[np.float64], interval: Any) -> dict[str, float]:
    """Closed-form values of a linear score by metric name."""
    from partialfair.datasets import simulated

    (union,) = Interval.of(interval).unions  # the same for both groups
    values: dict[str, Callable[[], float]] = {
        "accuracy": lambda: simulated.population_accuracy(weights),
        "sp": lambda: simulated.population_sp(weights, union),
        "rank_gap": lambda: simulated.population_rank_gap(weights, union),
        "dp": lambda: simulated.population_dp(weights, union),
    }
    return {name: float(value()) for name, value in values.items()}


def model_lines(context: Context[ClosedForm]) -> list[dict[str, Any]]:
    """One line per run and metric: ``COLUMNS``. Runs without a model have none."""
    lines: list[dict[str, Any]] = []
    for experiment in context.experiments:
        for job in context.config.jobs(experiment):
            if job.dataset == DATASET:
                lines += _lines_of(context, job)
    return lines


def _lines_of(context: Context[ClosedForm], job: Job) -> list[dict[str, Any]]:
    from partialfair.datasets.simulated import DIMENSION
    from partialfair.models.stored import load_model

    folder = context.root / job.path
    if not (folder / "model.npz").exists() or not (folder / "metrics.json").exists():
        return []
    stored = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    if "test" not in stored["splits"]:
        return []
    interval = context.config.experiment(job.experiment).runs[DATASET].interval
    exact = population(group_weights(load_model(folder / "model.npz"), DIMENSION), interval)
    lines = []
    for metric, value in exact.items():
        measured = stored["splits"]["test"][metric]
        low, high = stored["bootstrap"].get("test", {}).get(metric, (math.nan, math.nan))
        lines.append(
            {"experiment": job.experiment, "algorithm": job.algorithm, "kappa": job.kappa, "seed": job.seed}
            | {"metric": metric, "closed_form": value, "measured": measured, "ci_low": low, "ci_high": high}
            | {"difference": measured - value, "inside_interval": low <= value <= high}
        )
    return lines


def _summaries(context: Context[ClosedForm]) -> list[tuple[tuple[str, str, float], dict[str, dict[str, Any]]]]:
    """Means over seeds by (experiment, algorithm, kappa) and metric."""
    grouped: dict[tuple[str, str, float], dict[str, list[dict[str, Any]]]] = {}
    for line in model_lines(context):
        key = (line["experiment"], line["algorithm"], line["kappa"])
        grouped.setdefault(key, {}).setdefault(line["metric"], []).append(line)
    return [(key, {metric: _mean(lines) for metric, lines in by.items()}) for key, by in grouped.items()]


def _mean(lines: list[dict[str, Any]]) -> dict[str, Any]:
    inside = sum(line["inside_interval"] for line in lines)
    return {
        "closed_form": float(np.mean([line["closed_form"] for line in lines])),
        "measured": t_interval([line["measured"] for line in lines]),
        "inside": f"closed form inside the bootstrap interval of {inside} of {len(lines)} models",
    }


def claims(context: Context[ClosedForm]) -> list[dict[str, Any]]:
    """Scorecard lines: the closed form stands where a paper's number would."""
    lines = []
    for (experiment, algorithm, kappa), by_metric in _summaries(context):
        run = context.config.experiment(experiment)
        for metric, found in by_metric.items():
            tolerance = context.tolerance(metric, DATASET)
            estimate: Estimate = found["measured"]
            mark = verdict(estimate.mean, found["closed_form"], tolerance)
            setting = "unconstrained" if math.isinf(kappa) else f"kappa={kappa:g}"
            interval = format_interval(run.runs[DATASET].interval)
            line = Line(
                "closed form", context.name, DATASET, algorithm, run.constraint, interval, setting, metric,
                found["closed_form"], estimate.mean, estimate.low, estimate.high, tolerance, verdict=mark,
                note=found["inside"],
            )  # fmt: skip
            lines.append(line.row())
    return lines


def _table(context: Context[ClosedForm]) -> Table:
    metrics = ("accuracy", "rank_gap", "sp", "dp")
    rows = []
    for (_, algorithm, kappa), by_metric in _summaries(context):
        row = [cells.text(style.look(algorithm).label), Cell("∞" if math.isinf(kappa) else f"{kappa:g}")]
        for metric in metrics:
            found = by_metric[metric]
            mark = verdict(found["measured"].mean, found["closed_form"], context.tolerance(metric, DATASET))
            row += [cells.published(found["closed_form"]), cells.measured(found["measured"], mark, found["inside"])]
        rows.append(row)
    columns = ["algorithm", "κ", *["closed form", "measured"] * len(metrics)]
    return Table([("", 2), *((metric, 2) for metric in metrics)], columns, rows)


KIND = Kind.of(ClosedForm, COLUMNS, model_lines, table=_table, claims=claims)
