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

from partialfair.data.intervals import Pairs
from partialfair.errors import PartialFairError
from partialfair.metrics import get
from partialfair.metrics.choose_interval import Suggestion, suggest_interval
from partialfair.pages import cells, palette
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import canvas, style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.missing_files import is_here
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
    """Return suggestions by measure, or none and the reason."""
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
    """Return datasets of the experiment whose interval is of one piece."""
    names = context.config.experiment(context.experiments[0]).runs
    return [name for name in names if len(_pairs(context, name)) == 1]


def _pairs(context: Context[Any], dataset: str) -> Pairs:
    """Return the interval that the experiment constrains."""
    return style.pairs_of(context.config.experiment(context.experiments[0]).runs[dataset].interval)


def _single_pair(context: Context[Any], dataset: str) -> tuple[float, float]:
    """Return the interval that the experiment constrains, which is of one piece."""
    return _pairs(context, dataset)[0]


def csv_lines(context: Context[Any]) -> Iterator[dict[str, Any]]:
    """Yield one line per dataset, seed, measure and candidate: ``COLUMNS``."""
    for dataset in datasets(context):
        paper_interval = _single_pair(context, dataset)
        for seed in context.config.seeds(context.experiments[0]):
            suggestions_by_measure, reason = suggestions(context, dataset, seed)
            if reason:
                yield {"dataset": dataset, "seed": seed, "note": reason}
            for measure, suggestion in suggestions_by_measure.items():
                for row in suggestion.table.itertuples():
                    is_of_the_paper = bool(np.allclose((row.alpha, row.beta), paper_interval))
                    yield {
                        "dataset": dataset, "seed": seed, "measure": measure, "alpha": row.alpha, "beta": row.beta,
                        "positive_rate": suggestion.positive_rate, "violation": row.violation,
                        "suggested": int(row.chosen), "of_the_paper": int(is_of_the_paper),
                    }  # fmt: skip


def draw(context: Context[IntervalChoice], points: list[Line]) -> Any:
    """Draw candidates of one seed: a row per measure, a column per dataset."""
    from matplotlib import pyplot as plt

    names, seed = datasets(context), context.options.seed
    size = (4.0 * len(names) + 0.4, 3.2 * len(MEASURES) + 0.3)
    figure, axes = plt.subplots(len(MEASURES), len(names), figsize=size, squeeze=False)
    for column, dataset in enumerate(names):
        suggestions_by_measure, reason = suggestions(context, dataset, seed)
        for row, measure in enumerate(MEASURES):
            axis = axes[row][column]
            axis.set_title(style.dataset_title(dataset))
            if measure not in suggestions_by_measure:
                canvas.write_reason(axis, "not run")
                continue
            suggestions_by_measure[measure].plot(axis, _single_pair(context, dataset))
            _use_page_colours(axis)
            axis.grid(visible=False, axis="y")
            axis.set_ylabel("" if column else _label(measure))
    figure.tight_layout()
    return figure


def _use_page_colours(axis: Any) -> None:
    """Draw words in ink, and bars and lines in tones, which are seen on both pages; plain candidates are hollow."""
    from matplotlib.colors import to_hex

    for label in axis.texts:
        label.set(color=style.INK, fontsize=8)
    for bar in axis.patches:
        colour = palette.tone(to_hex(bar.get_facecolor()))
        is_plain = bar.get_alpha() < PLAIN
        bar.set(alpha=1.0, edgecolor=colour, linewidth=1.0, facecolor="none" if is_plain else colour)
    for line in axis.lines:
        line.set_color(palette.tone(to_hex(line.get_color())))


def _label(measure: str) -> str:
    """Return the measure by its name instead of its key, in lines that fit a panel's height."""
    return "\n".join(["candidates by", *textwrap.wrap(get(measure).title.replace("^I", "ᴵ"), 32)])


def table(context: Context[Any], _: list[Line]) -> Table:
    """Return the guideline's suggestions over the seeds, beside the interval of the paper."""
    rows = []
    for dataset in datasets(context):
        paper_interval = _single_pair(context, dataset)
        seeds = context.config.seeds(context.experiments[0])
        by_seed = [suggestions(context, dataset, seed) for seed in seeds]
        by_measure = [suggested for suggested, _ in by_seed if suggested]
        low, high = paper_interval
        row_head = [cells.text(style.dataset_title(dataset)), cells.text(f"[{low:g}, {high:g}]")]
        for measure in MEASURES:
            row_cells = _summary([suggested[measure] for suggested in by_measure], paper_interval, by_seed[0][1])
            rows.append((row_head, [cells.text(get(measure).title), *row_cells]))
    columns = ["dataset", "interval of the paper", "measure", "positive rate", "suggested (seeds)", "its violation"]
    return cells.blocks([], [*columns, "violation on the paper's", "its place among the candidates"], rows)


def _summary(suggestions: list[Suggestion], paper_interval: Any, reason: str) -> list[Cell]:
    """Return cells of one line, means over the seeds."""
    if not suggestions:
        return [Cell("not run", "none", reason), *[Cell("–", "none")] * 4]
    counts = pd.Series([f"[{s.interval[0]:g}, {s.interval[1]:g}]" for s in suggestions]).value_counts()
    violations = [float(s.table.loc[s.table["chosen"], "violation"].iloc[0]) for s in suggestions]
    positions = [suggestion.place_of(paper_interval) for suggestion in suggestions]
    sizes = [len(suggestion.table) for suggestion in suggestions]
    if all(positions):
        position_text = f"{min(positions)} to {max(positions)} of {min(sizes)} to {max(sizes)}"
        violation_text = f"{np.mean([s.violation_of(paper_interval) for s in suggestions]):.3f}"
    else:
        position_text, violation_text = "no candidate", "–"
    return [
        Cell(f"{np.mean([suggestion.positive_rate for suggestion in suggestions]):.3f}"),
        cells.text(", ".join(f"{interval} ({count})" for interval, count in counts.items())),
        Cell(f"{np.mean(violations):.3f}"),
        Cell(violation_text),
        Cell(position_text),
    ]


KIND = ExhibitKind.from_lines(IntervalChoice, COLUMNS, csv_lines, draw=draw, table=table)
