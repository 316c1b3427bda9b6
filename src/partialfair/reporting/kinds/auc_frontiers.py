"""AUC against AUC gap: one panel per dataset (row) and example (column), and the table of the same points."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import auc_points, canvas, style
from partialfair.reporting.auc_points import START, Point
from partialfair.reporting.exhibit import Context, Kind

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "n_seeds", "gap", "gap_se", "auc", "auc_se", "outside_on_validation",
    "note",
)  # fmt: skip
BEYOND = ("exact_surrogate", "mean_gap_line")
"""Methods that the paper does not have: drawn thinner, below the others."""
DEEP = 0.16
"""Models whose AUC is this much below the unconstrained one's would flatten the panel."""


def panels(context: Context) -> list[tuple[str, str]]:
    """(dataset, experiment) of all panels, dataset by dataset; the option ``panels`` names the datasets."""
    wanted = context.options.get("panels")
    names = dict.fromkeys(d for e in context.experiments for d in context.config.experiment(e).runs)
    datasets = [name for name in names if wanted is None or name in wanted]
    return [(dataset, experiment) for dataset in datasets for experiment in context.experiments]


def lines(context: Context) -> list[dict[str, Any]]:
    """One line of ``COLUMNS`` per point."""
    found = []
    for dataset, experiment in panels(context):
        for point in auc_points.points(context, experiment, dataset):
            (gap, auc), (gap_error, auc_error) = point.mean, point.error
            found.append(
                dict(zip(COLUMNS[:4], point.setting, strict=True))
                | {"n_seeds": point.auc.size, "gap": _rounded(gap), "gap_se": _rounded(gap_error)}
                | {"auc": _rounded(auc), "auc_se": _rounded(auc_error)}
                | {"outside_on_validation": point.outside, "note": point.reason}
            )
    return found


def _rounded(value: float) -> float:
    return round(value, 6)


def render(context: Context) -> list[Path]:
    """Draw the figure and write its points."""
    paths = canvas.write(context, lambda: _draw(context))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines(context)), *paths]


def _draw(context: Context) -> Any:
    from matplotlib import pyplot as plt

    found = panels(context)
    columns = len(context.experiments)
    rows = max(len(found) // columns, 1)
    figure, axes = plt.subplots(rows, columns, figsize=(3.5 * columns, 3.1 * rows + 0.9), squeeze=False)
    for place, (dataset, experiment) in enumerate(found):
        axis = axes[place // columns][place % columns]
        title = plugins.load("constraints", context.config.experiment(experiment).constraint).TITLE
        axis.set_title(f"{style.dataset_title(dataset)}, {title}")
        axis.set_xlabel("|Δ| on test rows")
        if place % columns == 0:
            axis.set_ylabel("AUC on test rows")
        _panel(axis, list(auc_points.points(context, experiment, dataset)))
    _legend(figure, axes)
    return figure


def _panel(axis: Any, points: Sequence[Point]) -> None:
    """Draw the lines of one panel."""
    drawn = [point for point in points if point.auc.size]
    if not drawn:
        canvas.empty(axis, "not run")
        return
    starts = [point.mean for point in drawn if point.setting.algorithm == START]
    names = list(dict.fromkeys(point.setting.algorithm for point in drawn))
    for name in names:
        own = [point for point in drawn if point.setting.algorithm == name]
        _line(axis, name, own, starts)
    axis.margins(0.07)
    axis.set_xlim(left=min(0.0, axis.get_xlim()[0]))
    _cut_off(axis, drawn, starts)


def _cut_off(axis: Any, drawn: Sequence[Point], starts: Sequence[tuple[float, float]]) -> None:
    """Leave models far below the unconstrained one out of the scale; an arrow with their AUC says where they are."""
    floor = max((auc for _, auc in starts), default=math.nan) - DEEP
    below = [point for point in drawn if point.mean[1] < floor]
    if not below:
        return
    kept = [point.mean[1] for point in drawn if point.mean[1] >= floor]
    low, high = min(kept), max(kept)
    edge = low - 0.12 * (high - low)
    axis.set_ylim(edge, high + 0.07 * (high - low))
    near = 0.14 * float(np.ptp(axis.get_xlim()))
    level, before = 0, -math.inf
    for point in sorted(below, key=lambda point: point.mean[0]):
        colour = style.look(point.setting.algorithm).colour
        gap, auc = point.mean
        level = level + 1 if gap - before < near else 0  # labels that would overlap stand on top of each other
        before = gap
        axis.annotate(
            f"{auc:.2f}", (gap, edge), (gap, edge + (0.1 + 0.07 * level) * (high - low)), color=colour, fontsize=8,
            ha="center", arrowprops={"arrowstyle": "->", "color": colour, "lw": 0.9}, zorder=7,
            bbox={"fc": "white", "ec": "none", "pad": 0.6, "alpha": 0.85},
        )  # fmt: skip


def _line(axis: Any, name: str, own: Sequence[Point], starts: Sequence[tuple[float, float]]) -> None:
    """One method: a line through its points from the unconstrained model on, with standard errors."""
    look, beyond = style.look(name), name in BEYOND
    means = [point.mean for point in own]
    path = means if name == START else [*starts, *means]
    axis.plot(
        [x for x, _ in path], [y for _, y in path], color=look.colour, ls=look.dash, lw=1.0 if beyond else 1.6,
        alpha=0.9, zorder=2 if beyond else 3,
    )  # fmt: skip
    errors = [[0.0 if math.isnan(e) else e for e in side] for side in zip(*(point.error for point in own), strict=True)]
    axis.errorbar(
        [x for x, _ in means], [y for _, y in means], xerr=errors[0], yerr=errors[1], fmt=look.marker,
        color=look.colour, ms=11 if look.marker == "*" else 4.5 if beyond else 5.5, elinewidth=0.8, capsize=1.5,
        label=look.label, zorder=6 if name == START else 3 if beyond else 4,
    )  # fmt: skip
    outside = [point.mean for point in own if point.outside]
    if outside:  # what no candidate satisfied on validation rows is hollow
        axis.plot(
            [x for x, _ in outside], [y for _, y in outside], look.marker, mfc="white", mec=look.colour, ls="none",
            ms=4.5 if beyond else 5.5, zorder=5,
        )  # fmt: skip


def _legend(figure: Any, axes: Any) -> None:
    """One legend below all panels."""
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if any(line.get_markerfacecolor() == "white" for axis in axes.flat for line in axis.lines):
        hollow = Line2D([], [], marker="o", ls="none", mfc="white", mec=style.INK)
        entries["hollow: outside the tolerance on validation rows"] = hollow
    width, height = figure.get_size_inches()
    columns = max(1, min(len(entries), int(width / 2.6)))
    depth = math.ceil(len(entries) / columns) if entries else 0
    figure.tight_layout(rect=(0, (0.12 + 0.22 * depth) / height, 1, 1), h_pad=1.4, w_pad=1.0)
    if entries:
        figure.legend(list(entries.values()), list(entries), loc="lower center", ncols=columns)


# --- the same points as a table -----------------------------------------------------------------------------------


def target_table(context: Context) -> Table:
    """One block per panel, one line per method, one column per target tolerance: AUC / gap on test rows."""
    by_panel = {
        (dataset, experiment): list(auc_points.points(context, experiment, dataset))
        for dataset, experiment in panels(context)
    }
    kappas = sorted({p.setting.kappa for found in by_panel.values() for p in found if not math.isinf(p.setting.kappa)})
    rows: list[list[Cell]] = []
    breaks = set()
    for (dataset, experiment), found in by_panel.items():
        breaks.add(len(rows))
        title = plugins.load("constraints", context.config.experiment(experiment).constraint).TITLE
        methods = dict.fromkeys(point.setting.algorithm for point in found)
        for place, name in enumerate(methods):
            own = {point.setting.kappa: point for point in found if point.setting.algorithm == name}
            start = own.get(math.inf)
            line = [cells.text(f"{style.dataset_title(dataset)}, {title}" if not place else "")]
            line += [cells.text(style.look(name).label)]
            line += [_cell(own, start, kappa) for kappa in kappas]
            rows.append(line)
    return Table([], ["panel", "method", *(f"κ = {kappa:g}" for kappa in kappas)], rows, frozenset(breaks))


def _cell(own: Mapping[float, Point], start: Point | None, kappa: float) -> Cell:
    point = own.get(kappa, start)
    if point is None or not point.auc.size:
        return Cell("not run", "none", point.reason if point is not None else "")
    (gap, auc), (gap_error, auc_error) = point.mean, point.error
    mark = "!" if point.outside else ""
    note = f"standard errors: AUC {auc_error:.4f}, gap {gap_error:.3f}; {point.auc.size} seeds"
    if point.outside:
        note += f"; no candidate within kappa on validation rows at {point.outside}"
    return Cell(f"{auc:.4f} / {gap:.3f}{mark}", "number", note)


def render_table(context: Context) -> list[Path]:
    """Write the table as CSV and HTML."""
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(target_table(context)))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines(context)), page]


def table_fragment(context: Context) -> str:
    """Return the table as a piece of HTML."""
    return cells.html(target_table(context))


KINDS = {"auc_frontiers": Kind(render, canvas.inline), "auc_targets": Kind(render_table, table_fragment)}
