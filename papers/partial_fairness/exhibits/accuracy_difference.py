"""Figure: accuracy of one algorithm minus that of each other one, along the fairness at which both were trained.

One row per other algorithm, one column per constraint and dataset, so that every panel has one band. The levels and the
differences are those on which claims in words are decided (``at_equal`` of a claim).
"""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.exhibits.fairness_points import FAIRNESS
from reproduction.statistics.frontier import LEVELS, Comparison, Points, compare
from reproduction.statistics.paired import Difference
from reproduction.verdicts.frontiers import SCALES, TrainedMethod, algorithms_of, metric_of, missing, models, panels

COLUMNS = (
    "experiment", "dataset", "scale", "metric", "algorithm", "other", "fairness", "difference", "ci_low", "ci_high",
    "p_ahead", "n_seeds", "decision", "note",
)  # fmt: skip
AHEAD, BEHIND, UNDECIDED = "#0072b2", "#c8500a", "#777777"
EMPTY = "Empty places: no level of fairness at which both were trained, or no runs of one; the table says which."
_DECISION_COLOURS = {"ahead": AHEAD, "behind": BEHIND, "undecided": UNDECIDED}


class AccuracyDifference(Options):
    """Accuracy of one algorithm minus that of others at equal fairness, with a table of the averages."""

    algorithm: str = Field(description="the algorithm whose lead is shown")
    against: list[str] | None = Field(None, description="what it is compared with; every other algorithm by default")


def decision(difference: Difference) -> str:
    """Return ``ahead``, ``behind`` or ``undecided``, the side of 0 on which the interval lies."""
    return "ahead" if difference.ahead else "behind" if difference.behind else "undecided"


def focus(context: Context[Any]) -> str:
    """Return the algorithm whose lead is shown."""
    return str(context.option("algorithm"))


def _compared_algorithms(context: Context[Any]) -> list[str]:
    """Return the algorithms that the focus is compared with: the option ``against``, else every other algorithm."""
    chosen = context.option("against") or algorithms_of(context)
    return [name for name in chosen if name != focus(context)]


def comparison(
    context: Context[Any], experiment: str, dataset: str, compared: str, scale: str = "absolute"
) -> Comparison:
    """Compare the accuracy of the focus with another algorithm's at equal fairness, on one dataset."""
    sides = TrainedMethod(experiment, focus(context)), TrainedMethod(experiment, compared)
    metric = metric_of(context, experiment, scale)
    focus_points, other_points = (_trained_points(context, side, dataset, metric) for side in sides)
    for side, points in zip(sides, (focus_points, other_points), strict=True):
        if not points:
            return Comparison(np.empty(0), reason=missing(context, side, dataset))
    return compare(focus_points, other_points, LEVELS, context.results.level)


def _trained_points(context: Context[Any], side: TrainedMethod, dataset: str, metric: str) -> dict[int, Points]:
    """Return fairness and accuracy of an algorithm's models by seed, without the unconstrained model."""
    models_by_seed = models(context, side, dataset, metric, between=True)
    return {seed: (np.array(points)[:, 0], np.array(points)[:, 1]) for seed, points in models_by_seed.items()}


def csv_lines(context: Context[Any]) -> list[dict[str, Any]]:
    """Return one line per panel, convention and level, and one for the average over the levels: ``COLUMNS``."""
    lines = []
    for experiment, dataset in panels(context):
        for compared in _compared_algorithms(context):
            for scale in SCALES:
                key = {"experiment": experiment, "dataset": dataset, "scale": scale, "other": compared}
                key |= {"metric": metric_of(context, experiment, scale), "algorithm": focus(context)}
                lines += _lines_of(key, comparison(context, experiment, dataset, compared, scale))
    return lines


def _lines_of(key: dict[str, Any], compared: Comparison) -> list[dict[str, Any]]:
    if compared.average is None:
        return [key | {"fairness": math.nan, "note": compared.reason}]
    pairs = [*zip(compared.levels, compared.differences, strict=True), ("average", compared.average)]
    return [
        key
        | {"fairness": level if isinstance(level, str) else round(float(level), 6), "difference": difference.mean}
        | {"ci_low": difference.low, "ci_high": difference.high, "p_ahead": difference.p_greater}
        | {"n_seeds": difference.n, "decision": decision(difference)}
        for level, difference in pairs
    ]


def draw(context: Context[AccuracyDifference], points: list[Line]) -> Any:
    """Draw a row of panels per compared algorithm, a column per experiment and dataset."""
    from matplotlib import pyplot as plt

    columns, rows = list(panels(context)), _compared_algorithms(context)
    size = (max(2.05 * len(columns) + 0.7, 5.0), 1.45 * len(rows) + 1.5)
    figure, axes = plt.subplots(len(rows), len(columns), figsize=size, squeeze=False, sharex="col", sharey="col")
    has_empty = False
    for column, (experiment, dataset) in enumerate(columns):
        convention = context.convention(experiment)
        axes[0][column].set_title(f"{style.dataset_title(dataset)}\n{convention.title}")
        lowest = axes[-1][column]
        for row, compared in enumerate(rows):
            comparison_here = comparison(context, experiment, dataset, compared)
            if comparison_here.average is None:
                _clear_panel(axes[row][column])
                has_empty = True
            else:
                _panel(axes[row][column], comparison_here)
                lowest = axes[row][column]
        if any(axis.has_data() for axis in axes[:, column]):
            lowest.set_xlabel(FAIRNESS)
            lowest.tick_params(labelbottom=True)
    for row, compared in enumerate(rows):
        axes[row][0].set_ylabel(
            "\n".join(["minus", *textwrap.wrap(style.plot_style(compared).label, 16, break_long_words=False)])
        )
    label = style.plot_style(focus(context)).label
    title = f"Accuracy of {label} minus that of each row's algorithm, percentage points"
    figure.suptitle(title, y=0.995)
    _legend(figure)
    figure.tight_layout(rect=(0, (0.55 if has_empty else 0.35) / size[1], 1, 1), h_pad=0.6, w_pad=0.6)
    if has_empty:
        figure.text(0.5, 0.36 / size[1], EMPTY, ha="center", va="bottom", fontsize=8, color=style.INK)
    return figure


def _clear_panel(axis: Any) -> None:
    """Leave a place empty but for the labels at its edge: the panels beside it keep theirs."""
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    axis.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    axis.patch.set_visible(False)


def _panel(axis: Any, compared: Comparison) -> None:
    """Draw the difference in percentage points with its band, coloured level by level by the decision."""
    axis.axhline(0, color=style.INK, lw=0.9, zorder=1)
    levels = compared.levels
    mean, low, high = (
        100 * np.array([getattr(difference, name) for difference in compared.differences])
        for name in ("mean", "low", "high")
    )
    step = np.min(np.diff(levels), initial=np.inf)
    for index in range(len(levels) - 1):
        if levels[index + 1] - levels[index] > 1.5 * step:  # a level between them is not compared
            continue
        # A stretch between two levels is decided if both ends are, alike.
        decisions = {decision(compared.differences[index]), decision(compared.differences[index + 1])}
        colour = _DECISION_COLOURS[decisions.pop() if len(decisions) == 1 else "undecided"]
        stretch = slice(index, index + 2)
        axis.fill_between(levels[stretch], low[stretch], high[stretch], color=colour, alpha=0.3, lw=0, zorder=2)
        axis.plot(levels[stretch], mean[stretch], color=colour, lw=1.3, zorder=3)
    for word, colour in _DECISION_COLOURS.items():
        indices = [index for index, difference in enumerate(compared.differences) if decision(difference) == word]
        axis.plot(levels[indices], mean[indices], "o", ms=3, color=colour, zorder=4)


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    labels = {"ahead": "ahead: the interval lies above 0", "behind": "behind: below 0", "undecided": "cannot tell"}
    handles = [
        Line2D([], [], color=_DECISION_COLOURS[word], marker="o", ms=4, lw=4, label=text)
        for word, text in labels.items()
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3)


def table(context: Context[Any], _: list[Line]) -> Table:
    """Return the average difference and the numbers of levels ahead and behind, in both conventions."""
    rows = []
    for experiment, dataset in panels(context):
        for compared in _compared_algorithms(context):
            row_cells = [cells.text(style.plot_style(compared).label)]
            for scale in SCALES:
                row_cells += _summary(comparison(context, experiment, dataset, compared, scale))
            rows.append(([cells.text(experiment), cells.text(style.dataset_title(dataset))], row_cells))
    inner = ["levels of fairness", "average difference", "ahead at", "behind at"]
    groups = [("", 3), ("absolute gap, as published numbers", 4), ("by the definition", 4)]
    return cells.blocks(groups, ["experiment", "dataset", "other algorithm", *inner, *inner], rows)


def _summary(compared: Comparison) -> Sequence[Cell]:
    if compared.average is None:
        return [Cell("not compared", "none", compared.reason), *([Cell("–", "none")] * 3)]
    average, levels = compared.average, compared.levels
    kind = decision(average)
    reach = f"every seed reaches {compared.reach[0]:.3f} and {compared.reach[1]:.3f}"
    test = f"t = {average.statistic:.2f}, two-sided p = {average.p_two_sided:.3g}, {average.n} seeds"
    return [
        Cell(f"{levels[0]:.3f} – {levels[-1]:.3f}", "number", reach),
        Cell(f"{average.mean:+.4f} ± {(average.high - average.low) / 2:.4f}", kind, test),
        Cell(f"{len(compared.where('ahead'))} of {len(levels)}"),
        Cell(f"{len(compared.where('behind'))} of {len(levels)}"),
    ]


FROM_TABLES = True
KIND = ExhibitKind.from_lines(AccuracyDifference, COLUMNS, csv_lines, draw=draw, table=table)
