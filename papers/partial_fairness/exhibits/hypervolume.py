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
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.statistics.paired import Difference, paired_difference
from reproduction.verdicts.frontiers import SCALES, Side, algorithms_of, metric_of, missing, panels
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


Shown = Context[Hypervolume]
GAPS = {"absolute": "as in the published numbers", "relative": "by the definition"}
"""What a row calls its scale."""


def _compared(context: Shown) -> list[str]:
    """The algorithms that the entry names, or all of them, in the order of the grid."""
    chosen = context.options.algorithms
    return [name for name in algorithms_of(context) if chosen is None or name in chosen]


def lines(context: Shown) -> list[Line]:
    """One line per panel, convention and algorithm; differences are those to the exhibit's ``algorithm``."""
    names, control = _compared(context), context.options.algorithm
    result: list[Line] = []
    for experiment, dataset in panels(context):
        for scale in SCALES:
            found = panel(context, experiment, dataset, names, scale)
            key = {"experiment": experiment, "dataset": dataset, "scale": scale}
            key["metric"] = metric_of(context, experiment, scale)
            for name in names:
                line: Line = key | {"algorithm": name}
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
    one, two = (np.array([found[seed] for seed in seeds]) for found in (own, other))
    return paired_difference(one, two, level)


def table(context: Shown, shown: Sequence[Mapping[str, Any]]) -> Table:
    """Hypervolumes, times 1000, one row per constraint, dataset and scale of the gap."""
    names = _compared(context)
    found = {(e["experiment"], e["dataset"], e["scale"], e["algorithm"]): e for e in shown}
    rows: list[tuple[list[Cell], list[Cell]]] = []
    for experiment, dataset in panels(context):
        title = context.convention(experiment).title
        shared = [cells.text(title), cells.text(style.dataset_title(dataset))]
        for scale in SCALES:
            entries = [found[experiment, dataset, scale, name] for name in names]
            best = max((e.get("hypervolume", -math.inf) for e in entries), default=-math.inf)
            volumes = [_volume(entry, best) for entry in entries]
            rows.append((shared, [cells.text(GAPS[scale]), _reference(entries), *volumes]))
    labels = [style.look(name).label for name in names]
    return cells.blocks([], ["constraint", "dataset", "gap", "reference point", *labels], rows)


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
    kind = "best" if entry["hypervolume"] == best else "number"
    return Cell(f"{1000 * entry['hypervolume']:.2f}{half}", kind, note)


def summary(context: Shown) -> str:
    """The rank test in one sentence."""
    names, control = _compared(context), context.options.algorithm
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


def body(context: Shown, shown: list[Line]) -> str:
    """The rank test in one sentence, and the table."""
    return f"<p class='finding'>{html.escape(summary(context))}</p>" + cells.html(table(context, shown))


KIND = Kind.of(Hypervolume, COLUMNS, lines, table=body)
