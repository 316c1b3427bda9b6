"""The guideline for choosing an interval, applied to the unconstrained models, beside the interval of the paper.

Candidates cover the positive rate of the unconstrained model; the guideline takes the one where that model is least
fair. Training rows only: a choice must not see test rows.
"""

import math
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from partialfair.errors import PartialFairError
from partialfair.metrics import get
from partialfair.metrics.choose_interval import Suggestion, suggest_interval
from partialfair.pages import cells, palette
from partialfair.pages.cells import Cell, Table
from partialfair.tables.intervals import Pairs
from reproduction.exhibits import canvas, style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.results import Setting

COLUMNS = (
    "dataset", "seed", "measure", "positive_rate", "alpha", "beta", "violation", "suggested", "of_the_paper", "note",
)  # fmt: skip
MEASURES = ("rank_gap", "sp")
SPLIT = "train"
PLAIN = 0.5  # opacity below which a bar is neither suggested nor the paper's


class IntervalChoice(Options):
    """Candidate intervals with the unconstrained model's violation on each, and a table over the seeds."""

    seed: int = Field(0, description="the seed drawn")


def suggestions(context: Context[Any], dataset: str, seed: int) -> tuple[dict[str, Suggestion], str]:
    """Suggestions by measure, or none and the reason."""
    setting = Setting(context.experiments[0], dataset, "unconstrained", math.inf)
    folder, reason = run_scores.folder(context, setting, seed)
    path = None if folder is None else folder / paths.SCORES
    if path is None or not is_here(path):
        return {}, reason or "the unconstrained model is not trained, or not evaluated"
    table = pd.read_parquet(path, columns=["split", "group", "score"])
    table = table[table["split"] == SPLIT]
    if table.empty:
        return {}, "the run has no scores of training rows"
    scores, group = table["score"].to_numpy(np.float64), table["group"].to_numpy(np.int64)
    try:
        return {measure: suggest_interval(scores, group, threshold=0.0, measure=measure) for measure in MEASURES}, ""
    except PartialFairError as error:
        return {}, str(error)


def datasets(context: Context[Any]) -> list[str]:
    """Datasets of the experiment whose interval is of one piece."""
    names = context.config.experiment(context.experiments[0]).runs
    return [name for name in names if len(_pairs(context, name)) == 1]


def _pairs(context: Context[Any], dataset: str) -> Pairs:
    """The interval that the experiment constrains."""
    return style.pairs_of(context.config.experiment(context.experiments[0]).runs[dataset].interval)


def _used(context: Context[Any], dataset: str) -> tuple[float, float]:
    """The same where it is of one piece."""
    return _pairs(context, dataset)[0]


def lines(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """One line per dataset, seed, measure and candidate: ``COLUMNS``."""
    for dataset in datasets(context):
        used = _used(context, dataset)
        for seed in context.config.seeds(context.experiments[0]):
            found, reason = suggestions(context, dataset, seed)
            if reason:
                yield {"dataset": dataset, "seed": seed, "note": reason}
            for measure, suggestion in found.items():
                for row in suggestion.table.itertuples():
                    same = bool(np.allclose((row.alpha, row.beta), used))
                    yield {
                        "dataset": dataset, "seed": seed, "measure": measure, "alpha": row.alpha, "beta": row.beta,
                        "positive_rate": suggestion.positive_rate, "violation": row.violation,
                        "suggested": int(row.chosen), "of_the_paper": int(same),
                    }  # fmt: skip


def draw(context: Context[IntervalChoice], points: list[Line]) -> Any:
    """Draw candidates of one seed: a row per measure, a column per dataset."""
    from matplotlib import pyplot as plt

    names, seed = datasets(context), context.options.seed
    size = (4.0 * len(names) + 0.4, 3.2 * len(MEASURES) + 0.3)
    figure, axes = plt.subplots(len(MEASURES), len(names), figsize=size, squeeze=False)
    for column, dataset in enumerate(names):
        found, reason = suggestions(context, dataset, seed)
        for row, measure in enumerate(MEASURES):
            axis = axes[row][column]
            axis.set_title(style.dataset_title(dataset))
            if measure not in found:
                canvas.empty(axis, "not run")
                continue
            found[measure].plot(axis, _used(context, dataset))
            _readable(axis)
            axis.grid(visible=False, axis="y")
            axis.set_ylabel("" if column else _label(measure))
    figure.tight_layout()
    return figure


def _readable(axis: Any) -> None:
    """Draw words in ink, and bars and lines in tones, which are seen on both pages; plain candidates are hollow."""
    from matplotlib.colors import to_hex

    for words in axis.texts:
        words.set(color=style.INK, fontsize=8)
    for bar in axis.patches:
        colour = palette.tone(to_hex(bar.get_facecolor()))
        plain = bar.get_alpha() < PLAIN
        bar.set(alpha=1.0, edgecolor=colour, linewidth=1.0, facecolor="none" if plain else colour)
    for line in axis.lines:
        line.set_color(palette.tone(to_hex(line.get_color())))


def _label(measure: str) -> str:
    """The measure by its name instead of its key, in lines that fit a panel's height."""
    return "\n".join(["candidates by", *textwrap.wrap(get(measure).title.replace("^I", "ᴵ"), 32)])


def table(context: Context[Any], _: list[Line]) -> Table:
    """What the guideline suggests, beside the interval of the paper, over the seeds."""
    rows = []
    for dataset in datasets(context):
        used = _used(context, dataset)
        by_seed = [suggestions(context, dataset, seed) for seed in context.config.seeds(context.experiments[0])]
        found = [own for own, _ in by_seed if own]
        head = [cells.text(style.dataset_title(dataset)), cells.text(f"[{used[0]:g}, {used[1]:g}]")]
        for measure in MEASURES:
            own = _summary([one[measure] for one in found], used, by_seed[0][1])
            rows.append((head, [cells.text(get(measure).title), *own]))
    columns = ["dataset", "interval of the paper", "measure", "positive rate", "suggested (seeds)", "its violation"]
    return cells.blocks([], [*columns, "violation on the paper's", "its place among the candidates"], rows)


def _summary(found: list[Suggestion], used: Any, reason: str) -> list[Cell]:
    """Cells of one line, means over the seeds."""
    if not found:
        return [Cell("not run", "none", reason), *[Cell("–", "none")] * 4]
    counts = pd.Series([f"[{s.interval[0]:g}, {s.interval[1]:g}]" for s in found]).value_counts()
    own = [float(s.table.loc[s.table["chosen"], "violation"].iloc[0]) for s in found]
    places = [s.place_of(used) for s in found]
    sizes = [len(s.table) for s in found]
    shown = "no candidate" if not all(places) else f"{min(places)} to {max(places)} of {min(sizes)} to {max(sizes)}"
    return [
        Cell(f"{np.mean([s.positive_rate for s in found]):.3f}"),
        cells.text(", ".join(f"{interval} ({count})" for interval, count in counts.items())),
        Cell(f"{np.mean(own):.3f}"),
        Cell(f"{np.mean([s.violation_of(used) for s in found]):.3f}" if all(places) else "–"),
        Cell(shown),
    ]


KIND = Kind.of(IntervalChoice, COLUMNS, lines, draw=draw, table=table)
