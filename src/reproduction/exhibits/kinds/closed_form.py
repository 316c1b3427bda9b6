"""Simulated data: metrics measured on test beside the closed-form population values of the same fitted model.

A metric of a finite sample scatters, and one that is a largest difference is too large on average. Both are known
here: the model's scores on ``DRAWS`` further samples of as many rows give the mean and the standard error of the
estimate, in which the difference is expressed.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair.data.dataset import Dataset
from partialfair.data.files import read_json
from partialfair.data.intervals import Interval, format_interval
from partialfair.metrics import evaluate_all
from partialfair.metrics.uncertainty import Estimate, t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Options
from reproduction.grid import paths
from reproduction.grid.config import Job
from reproduction.statistics.effect import TINY
from reproduction.verdicts.line import OURS, Line
from reproduction.verdicts.missing_files import is_here

DATASET = "simulated"
METRICS = ("accuracy", "sp", "rank_gap", "dp")
COLUMNS = (
    "experiment", "algorithm", "kappa", "seed", "metric", "closed_form", "rows", "expected", "standard_error",
    "measured", "standard_errors_apart",
)  # fmt: skip
DRAWS = 40
_FIRST_DRAW = 1_000  # seeds of the further samples: none of them is the table that was trained on
STANDARD_ERRORS = 3.0  # up to which the two agree


def group_weights(model: Any, n_features: int) -> NDArray[np.float64]:
    """Return the weights (2d + 2,) of a linear score on raw features, order (1, x, s, s x), read off its scores.

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
    """Return closed-form values of a linear score by metric name."""
    from reproduction.datasets import simulated

    (union,) = Interval.of(interval).unions  # the same for both groups
    values: dict[str, Callable[[], float]] = {
        "accuracy": lambda: simulated.population_accuracy(weights),
        "sp": lambda: simulated.population_sp(weights, union),
        "rank_gap": lambda: simulated.population_rank_gap(weights, union),
        "dp": lambda: simulated.population_dp(weights, union),
    }
    return {name: float(value()) for name, value in values.items()}


def csv_lines(context: Context[Options]) -> list[dict[str, Any]]:
    """Return one line per run and metric: ``COLUMNS``. Runs without a model have none."""
    lines: list[dict[str, Any]] = []
    for experiment in context.experiments:
        for job in context.config.jobs(experiment):
            if job.dataset == DATASET:
                lines += _lines_of(context, job)
    return lines


def _lines_of(context: Context[Options], job: Job) -> list[dict[str, Any]]:
    from partialfair.models.stored import load_model
    from reproduction.datasets.simulated import DIMENSION

    folder = context.root / job.path
    if not all(is_here(folder / name) for name in (paths.MODEL, paths.METRICS, paths.SCORES)):
        return []
    stored = read_json(folder / paths.METRICS)
    if "test" not in stored["splits"]:
        return []
    interval = context.config.experiment(job.experiment).runs[DATASET].interval
    weights = group_weights(load_model(folder / paths.MODEL), DIMENSION)
    rows = int((pd.read_parquet(folder / paths.SCORES, columns=["split"])["split"] == "test").sum())
    closed_form, sample_values = population(weights, interval), sampled(tuple(weights), str(interval), rows, interval)
    lines = []
    for metric, value in closed_form.items():
        measured, (mean, error) = stored["splits"]["test"][metric], sample_values[metric]
        lines.append(
            {"experiment": job.experiment, "algorithm": job.algorithm, "kappa": job.kappa, "seed": job.seed}
            | {"metric": metric, "closed_form": value, "rows": rows, "expected": mean, "standard_error": error}
            | {"measured": measured, "standard_errors_apart": _standard_errors_apart(measured - mean, error)}
        )
    return lines


def _standard_errors_apart(difference: float, error: float) -> float:
    """Return difference in standard errors; of a metric that does not vary, 0 or infinite."""
    if error < TINY:
        return 0.0 if abs(difference) < TINY else math.copysign(math.inf, difference)
    return difference / error


_CACHED_SAMPLES: dict[tuple[Any, ...], dict[str, tuple[float, float]]] = {}


def sampled(weights: tuple[float, ...], name: str, rows: int, interval: Any) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each metric over samples of ``rows`` rows scored with some weights.

    The closed form plus the first gives the bias of the estimate at that sample size, the second its standard error.
    """
    key = (weights, name, rows)
    if key not in _CACHED_SAMPLES:
        group_weight_rows, sample_metrics = np.array(weights).reshape(2, -1), []
        for data in _samples(rows):
            design = np.column_stack([np.ones(rows), data.X])
            scores = design @ group_weight_rows[0] + data.group * (design @ group_weight_rows[1])
            numbers, _ = evaluate_all(scores, data.y, data.group, Interval.of(interval).for_groups(2), only=METRICS)
            sample_metrics.append([numbers[metric] for metric in METRICS])
        table = np.array(sample_metrics)
        pairs = zip(table.mean(axis=0), table.std(axis=0, ddof=1), strict=True)
        _CACHED_SAMPLES[key] = {
            metric: (float(mean), float(deviation)) for metric, (mean, deviation) in zip(METRICS, pairs, strict=True)
        }
    return _CACHED_SAMPLES[key]


@cache
def _samples(rows: int) -> tuple[Dataset, ...]:
    from reproduction.datasets import simulated

    return tuple(simulated.load(rows=rows, seed=_FIRST_DRAW + draw) for draw in range(DRAWS))


def _summaries(
    run_distances: list[dict[str, Any]],
) -> list[tuple[tuple[str, str, float], dict[str, dict[str, Any]]]]:
    """Return means over seeds by (experiment, algorithm, kappa) and metric."""
    grouped: dict[tuple[str, str, float], dict[str, list[dict[str, Any]]]] = {}
    for line in run_distances:
        key = (line["experiment"], line["algorithm"], line["kappa"])
        grouped.setdefault(key, {}).setdefault(line["metric"], []).append(line)
    return [
        (key, {metric: _mean(lines) for metric, lines in lines_by_metric.items()})
        for key, lines_by_metric in grouped.items()
    ]


def _mean(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over the models of one setting; all share one test table, so the error is that of one model."""
    mean = {name: float(np.mean([line[name] for line in lines])) for name in COLUMNS[5:]}
    distance = abs(mean["standard_errors_apart"])
    detectable = STANDARD_ERRORS * mean["standard_error"]
    note = (
        f"{mean['standard_errors_apart']:+.1f} standard errors from {mean['expected']:.4f}, the closed form with the "
    )
    note += f"bias of {lines[0]['rows']} rows; an error of {detectable:.3g} would be seen"
    verdict = "agrees" if distance <= STANDARD_ERRORS else "differs"
    measured = t_interval([line["measured"] for line in lines])
    return mean | {"measured": measured, "noise": detectable, "verdict": verdict, "note": note}


def claims(context: Context[Options]) -> list[dict[str, Any]]:
    """Return the lines of the scorecard: questions of ours, whose answer is known in closed form."""
    lines = []
    for (experiment, algorithm, kappa), by_metric in _summaries(csv_lines(context)):
        run = context.config.experiment(experiment)
        for metric, summary in by_metric.items():
            estimate: Estimate = summary["measured"]
            line = Line(
                context.paper, context.name, DATASET, algorithm, run.constraint,
                format_interval(run.runs[DATASET].interval),
                "unconstrained" if math.isinf(kappa) else f"kappa={kappa:g}", metric, summary["expected"], "question",
                OURS, reproduced=estimate.mean, ci_low=estimate.low, ci_high=estimate.high, n=estimate.n,
                noise=summary["noise"], verdict=summary["verdict"], test="closed form, in standard errors",
                note=summary["note"],
            )  # fmt: skip
            lines.append(line.row())
    return lines


def _table(_: Context[Options], lines: list[dict[str, Any]]) -> Table:
    rows: list[tuple[list[Cell], list[Cell]]] = []
    for (_experiment, algorithm, kappa), by_metric in _summaries(lines):
        shared = [cells.text(style.plot_style(algorithm).label), Cell(style.kappa_symbol(kappa))]
        for metric in METRICS:
            summary = by_metric[metric]
            row = [cells.text(metric), cells.published(summary["closed_form"]), cells.published(summary["expected"])]
            row += [cells.measured(summary["measured"], summary["verdict"], summary["note"])]
            row += [Cell(f"{summary['standard_errors_apart']:+.1f}"), Cell(f"{summary['noise']:.3f}")]
            rows.append((shared, row))
    columns = ["algorithm", "κ", "metric", "closed form", "with bias", "measured", "apart [s.e.]", "would be seen"]
    return cells.blocks([], columns, rows)


KIND = ExhibitKind.from_lines(Options, COLUMNS, csv_lines, table=_table, claims=claims)
