"""Table: hypervolume of each algorithm's models, and the ranks of the algorithms over datasets and constraints."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.statistics.paired import Difference, paired_difference
from reproduction.verdicts.frontiers import SCALES, TrainedMethod, algorithms_of, metric_of, missing, panels
from reproduction.verdicts.hypervolumes import panel, rank_test_of

COLUMNS = (
    "experiment", "dataset", "scale", "metric", "algorithm", "reference_fairness", "reference_accuracy", "hypervolume",
    "half_width", "n_seeds", "difference", "ci_low", "ci_high", "p_value", "note",
)  # fmt: skip


class Hypervolume(Options):
    """Area that an algorithm's models dominate, tested against that of the others."""

    algorithm: str = Field(description="whose differences to the others are tested")
    algorithms: list[str] | None = Field(None, description="algorithms compared; all of them by default")
    reference_accuracy: dict[str, float] = Field({}, description="of the reference point, by dataset; else the lowest")


HypervolumeContext = Context[Hypervolume]
GAPS = {"absolute": "as in the published numbers", "relative": "by the definition"}
"""What a row calls its scale."""


def _compared_algorithms(context: HypervolumeContext) -> list[str]:
    """Return the algorithms that the entry names, or all of them, in the order of the grid."""
    chosen = context.options.algorithms
    return [name for name in algorithms_of(context) if chosen is None or name in chosen]


def csv_lines(context: HypervolumeContext) -> list[Line]:
    """Return one line per panel, convention and algorithm; differences are those to the exhibit's ``algorithm``."""
    names, control = _compared_algorithms(context), context.options.algorithm
    result: list[Line] = []
    for experiment, dataset in panels(context):
        for scale in SCALES:
            panel_volumes = panel(context, experiment, dataset, names, scale)
            key = {"experiment": experiment, "dataset": dataset, "scale": scale}
            key["metric"] = metric_of(context, experiment, scale)
            for name in names:
                line: Line = key | {"algorithm": name}
                volumes = panel_volumes.by_algorithm[name] if panel_volumes is not None else {}
                if panel_volumes is None or not volumes:
                    result.append(
                        line | {"n_seeds": 0, "note": missing(context, TrainedMethod(experiment, name), dataset)}
                    )
                    continue
                estimate = t_interval(list(volumes.values()), context.results.level)
                line |= {
                    "reference_fairness": panel_volumes.reference[0],
                    "reference_accuracy": panel_volumes.reference[1],
                }
                line |= {"hypervolume": estimate.mean, "half_width": estimate.half_width, "n_seeds": estimate.n}
                gap = _gap(volumes, panel_volumes.by_algorithm.get(control, {}), context.results.level)
                if name != control and gap.tested:
                    line |= {"difference": gap.mean, "ci_low": gap.low, "ci_high": gap.high}
                    line["p_value"] = gap.p_two_sided
                result.append(line)
    return result


def _gap(volumes: Mapping[int, float], other_volumes: Mapping[int, float], level: float) -> Difference:
    seeds = sorted(volumes.keys() & other_volumes.keys())
    first_values, second_values = (
        np.array([volumes_of[seed] for seed in seeds]) for volumes_of in (volumes, other_volumes)
    )
    return paired_difference(first_values, second_values, level)


def table(context: HypervolumeContext, lines: Sequence[Mapping[str, Any]]) -> Table:
    """Return the hypervolumes times 1000, one row per constraint, dataset and scale of the gap."""
    names = _compared_algorithms(context)
    line_of = {(line["experiment"], line["dataset"], line["scale"], line["algorithm"]): line for line in lines}
    rows: list[tuple[list[Cell], list[Cell]]] = []
    for experiment, dataset in panels(context):
        title = context.convention(experiment).title
        shared = [cells.text(title), cells.text(style.dataset_title(dataset))]
        for scale in SCALES:
            entries = [line_of[experiment, dataset, scale, name] for name in names]
            best = max((line.get("hypervolume", -math.inf) for line in entries), default=-math.inf)
            volumes = [_volume(entry, best) for entry in entries]
            rows.append((shared, [cells.text(GAPS[scale]), _reference(entries), *volumes]))
    labels = [style.plot_style(name).label for name in names]
    return cells.blocks([], ["constraint", "dataset", "gap", "reference point", *labels], rows)


def _reference(entries: Sequence[Mapping[str, Any]]) -> Cell:
    with_reference = [entry for entry in entries if "reference_fairness" in entry]
    if not with_reference:
        return Cell("–", "none")
    return Cell(f"({with_reference[0]['reference_fairness']:.3f}, {with_reference[0]['reference_accuracy']:.3f})")


def _volume(entry: Mapping[str, Any], best: float) -> Cell:
    if "hypervolume" not in entry:
        return Cell("not run", "none", str(entry.get("note", "")))
    note = ""
    if "difference" in entry:
        note = f"difference {1000 * entry['difference']:+.2f}, p = {entry['p_value']:.3g}"
    half_width = "" if math.isnan(entry["half_width"]) else f" ± {1000 * entry['half_width']:.2f}"
    kind = "best" if entry["hypervolume"] == best else "number"
    return Cell(f"{1000 * entry['hypervolume']:.2f}{half_width}", kind, note)


def summary(context: HypervolumeContext) -> str:
    """State the rank test in one sentence."""
    names, control = _compared_algorithms(context), context.options.algorithm
    rank_test = rank_test_of(context, context.experiments, control, names)
    if rank_test.reason:
        return f"No rank test: {rank_test.reason}."
    ranks = ", ".join(
        f"{style.plot_style(n).label} {rank:.2f}"
        for n, rank in sorted(rank_test.mean_ranks.items(), key=lambda item: item[1])
    )
    post_hoc = ", ".join(f"{style.plot_style(name).label} p = {p:.3g}" for name, p in rank_test.post_hoc.items())
    label = style.plot_style(control).label
    text = (
        f"Mean ranks over {rank_test.blocks} pairs of dataset and constraint (1 is best): {ranks}. Friedman's test: "
        f"chi-square {rank_test.statistic:.2f}, p = {rank_test.p:.3g}. {label} against each, corrected by "
        f"Holm's method: {post_hoc}."
    )
    omitted = ", ".join(style.plot_style(name).label for name in rank_test.left_out)
    return text + (f" Left out for missing runs: {omitted}." if omitted else "")


def body(context: HypervolumeContext, lines: list[Line]) -> str:
    """Return the rank test in one sentence, and the table, as HTML."""
    return f"<p class='finding'>{html.escape(summary(context))}</p>" + cells.html(table(context, lines))


FROM_TABLES = True
KIND = ExhibitKind.from_lines(Hypervolume, COLUMNS, csv_lines, table=body)
