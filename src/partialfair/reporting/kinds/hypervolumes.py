"""Table: hypervolume of each algorithm's models, and the ranks of the algorithms over datasets and constraints."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from partialfair.metrics.statistics.hypervolume import hypervolume
from partialfair.metrics.statistics.paired import Difference, paired_difference
from partialfair.metrics.statistics.ranks import RankTest, rank_test
from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import frontiers
from partialfair.verdicts.frontiers import SCALES, Side, algorithms_of, metric_of, missing, panels
from partialfair.verdicts.results import convention

COLUMNS = (
    "experiment", "dataset", "scale", "metric", "algorithm", "reference_fairness", "reference_accuracy", "hypervolume",
    "half_width", "n_seeds", "difference", "ci_low", "ci_high", "p_value", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """Hypervolumes on one dataset under one constraint, by algorithm and seed.

    Attributes:
        reference: (fairness, accuracy) of the reference point.
        found: values by algorithm and seed; an algorithm without models has none.
    """

    reference: tuple[float, float]
    found: dict[str, dict[int, float]]


def panel(
    context: Context, experiment: str, dataset: str, names: Sequence[str], scale: str = "absolute"
) -> Panel | None:
    """Compute the hypervolumes of one panel; ``None`` without an unconstrained model to refer to.

    The reference point has the unconstrained model's fairness, its mean over the seeds, and the accuracy that the
    exhibit's ``reference_accuracy`` names for the dataset, else the lowest of all the models compared.
    """
    metric = metric_of(context, experiment, scale)
    start = frontiers.start_of(context, experiment, dataset, metric)
    points = {name: frontiers.frontier_points(context, Side(experiment, name), dataset, metric) for name in names}
    accuracies = [right.min() for found in points.values() for _, right in found.values()]
    if not start or not accuracies:
        return None
    named = (context.options.get("reference_accuracy") or {}).get(dataset, min(accuracies))
    reference = float(np.mean([fairness for fairness, _ in start.values()])), float(named)
    volumes = {
        name: {seed: hypervolume(*own, reference) for seed, own in found.items()} for name, found in points.items()
    }
    return Panel(reference, volumes)


def rank_test_of(context: Context, experiments: Sequence[str], control: str, names: Sequence[str]) -> RankTest:
    """Rank algorithms by mean hypervolume on every dataset and constraint, and compare the control with the others."""
    rows = {}
    for experiment in experiments:
        for dataset in context.config.experiment(experiment).runs:
            found = panel(context, experiment, dataset, names)
            volumes = found.found if found is not None else {}
            rows[experiment, dataset] = [_mean(volumes.get(name, {})) for name in names]
    return rank_test(pd.DataFrame.from_dict(rows, orient="index", columns=list(names)), control)


def _mean(volumes: Mapping[int, float]) -> float:
    return float(np.mean(list(volumes.values()))) if volumes else math.nan


def lines(context: Context) -> list[dict[str, Any]]:
    """One line per panel, convention and algorithm; differences are those to the exhibit's ``algorithm``."""
    names, control = algorithms_of(context), str(context.options.get("algorithm", "idca"))
    result: list[dict[str, Any]] = []
    for experiment, dataset in panels(context):
        for scale in SCALES:
            found = panel(context, experiment, dataset, names, scale)
            key = {"experiment": experiment, "dataset": dataset, "scale": scale}
            key["metric"] = metric_of(context, experiment, scale)
            for name in names:
                line: dict[str, Any] = key | {"algorithm": name}
                own = found.found[name] if found is not None else {}
                if found is None or not own:
                    result.append(line | {"n_seeds": 0, "note": missing(context, Side(experiment, name), dataset)})
                    continue
                estimate = t_interval(list(own.values()), context.results.level)
                line |= {"reference_fairness": found.reference[0], "reference_accuracy": found.reference[1]}
                line |= {"hypervolume": estimate.mean, "half_width": estimate.half_width, "n_seeds": estimate.n}
                gap = _gap(own, found.found.get(control, {}), context.results.level)
                if name != control and gap.tested:
                    line |= {"difference": gap.mean, "ci_low": gap.low, "ci_high": gap.high}
                    line["p_value"] = gap.p_two_sided
                result.append(line)
    return result


def _gap(own: Mapping[int, float], other: Mapping[int, float], level: float) -> Difference:
    seeds = sorted(own.keys() & other.keys())
    return paired_difference(frontiers.by_seed(own, seeds), frontiers.by_seed(other, seeds), level)


def table(context: Context, shown: Sequence[Mapping[str, Any]]) -> Table:
    """Hypervolumes, times 1000, one row per dataset and constraint; below them mean ranks and post-hoc p-values."""
    names = algorithms_of(context)
    found = {(e["experiment"], e["dataset"], e["scale"], e["algorithm"]): e for e in shown}
    rows: list[list[Cell]] = []
    for experiment, dataset in panels(context):
        title = convention(context.config.experiment(experiment).constraint).title
        row = [cells.text(title), cells.text(style.dataset_title(dataset))]
        for scale in SCALES:
            entries = [found[experiment, dataset, scale, name] for name in names]
            best = max((e.get("hypervolume", -math.inf) for e in entries), default=-math.inf)
            if scale == "absolute":
                row.append(_reference(entries))
            row += [_volume(entry, best) for entry in entries]
        rows.append(row)
    labels = [style.look(name).label for name in names]
    groups = [("", 3), ("absolute gap, as published numbers", len(names)), ("by the definition", len(names))]
    return Table(groups, ["constraint", "dataset", "reference point", *labels, *labels], rows, frozenset({0}))


def _reference(entries: Sequence[Mapping[str, Any]]) -> Cell:
    known = [e for e in entries if "reference_fairness" in e]
    if not known:
        return Cell("–", "none")
    return Cell(f"({known[0]['reference_fairness']:.3f}, {known[0]['reference_accuracy']:.3f})")


def _volume(entry: Mapping[str, Any], best: float) -> Cell:
    if "hypervolume" not in entry:
        return Cell("not run", "none", str(entry.get("note", "")))
    note = ""
    if "difference" in entry:
        note = f"difference {1000 * entry['difference']:+.2f}, p = {entry['p_value']:.3g}"
    half = "" if math.isnan(entry["half_width"]) else f" ± {1000 * entry['half_width']:.2f}"
    kind = "near" if entry["hypervolume"] == best else "number"
    return Cell(f"{1000 * entry['hypervolume']:.2f}{half}", kind, note)


def summary(context: Context) -> str:
    """The rank test in one sentence."""
    names, control = algorithms_of(context), str(context.options.get("algorithm", "idca"))
    found = rank_test_of(context, context.experiments, control, names)
    if found.reason:
        return f"No rank test: {found.reason}."
    ranks = ", ".join(
        f"{style.look(n).label} {rank:.2f}" for n, rank in sorted(found.mean_ranks.items(), key=lambda i: i[1])
    )
    against = ", ".join(f"{style.look(name).label} p = {p:.3g}" for name, p in found.post_hoc.items())
    text = (
        f"Mean ranks over {found.blocks} pairs of dataset and constraint (1 is best): {ranks}. Friedman's test: "
        f"chi-square {found.statistic:.2f}, p = {found.p:.3g}. {style.look(control).label} against each, corrected by "
        f"Holm's method: {against}."
    )
    left = ", ".join(style.look(name).label for name in found.left_out)
    return text + (f" Left out for missing runs: {left}." if left else "")


def render(context: Context) -> list[Path]:
    """Write the hypervolumes as CSV and HTML."""
    shown = lines(context)
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    paths = [cells.write_csv(context.path("csv"), COLUMNS, shown)]
    return [*paths, cells.write_html(context.path("html"), title, caption, _body(context, shown))]


def _body(context: Context, shown: Sequence[Mapping[str, Any]]) -> str:
    return f"<p class='finding'>{html.escape(summary(context))}</p>" + cells.html(table(context, shown))


KINDS = {"hypervolume": Kind(render, lambda context: _body(context, lines(context)))}
