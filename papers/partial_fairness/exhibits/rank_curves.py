"""Rank curves: the share of one group above a threshold against that of the other, as the threshold falls."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair.metrics.ranks import count_above
from reproduction.exhibits import canvas, run_files, style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Options
from reproduction.verdicts.results import Setting, by_seed

COLUMNS = ("dataset", "algorithm", "kappa", "seed", "named_seed", "rank_1", "rank_2", "largest_gap_inside", "note")
POINTS = 301  # of the named seed's curve: finer than its line is wide
_FAINT = 76  # of the other seeds' curves


class RankCurves(Options):
    """The unconstrained model of every dataset, then one algorithm at the kappas named, with a falling threshold."""

    kappas: dict[str, list[float]] = Field(description="kappas of each dataset to show")
    algorithm: str = Field(description="whose models")
    seed: int = Field(0, description="the seed drawn with a bold line")


def rank_curve(scores: NDArray[np.floating], group: NDArray[np.integer], points: int) -> NDArray[np.float64]:
    """Return (F_1(theta), F_2(theta)) as theta falls from +inf to -inf, shape (at most ``points``, 2).

    F_k(theta) is the share of group k with a score above theta (Partial fairness paper, section 4). Points are
    picked from the empirical curve so that they are spread evenly along it.

    Args:
        scores: shape (n,).
        group: codes 0 and 1, shape (n,).
        points: how many to pick.
    """
    counts = count_above(scores, group, 2)
    ranks = np.column_stack([counts.above / counts.sizes[:, None], np.ones(2)])
    along = ranks.mean(axis=0)
    picked = np.unique(np.searchsorted(along, np.linspace(0.0, 1.0, points)))
    return ranks[:, picked].T


def settings(context: Context[RankCurves]) -> dict[str, list[Setting]]:
    """Return the settings that are shown, by dataset."""
    return run_files.tightening(context, context.options.algorithm, context.options.kappas)


def _seeds_last_named(context: Context[RankCurves]) -> list[int]:
    """Return all seeds, the named one last, so that it is drawn on top."""
    named_seed = context.options.seed
    return [*(seed for seed in context.config.seeds(context.experiments[0]) if seed != named_seed), named_seed]


def csv_lines(context: Context[Any]) -> list[dict[str, Any]]:
    """Return one line of ``COLUMNS`` per point; a run without scores has a line with a note."""
    return [
        point for panel in settings(context).values() for setting in panel for point in _panel_points(context, setting)
    ]


def _panel_points(context: Context[Any], setting: Setting) -> Iterator[dict[str, Any]]:
    gaps = by_seed(context.results, setting, "rank_gap")
    for seed in _seeds_last_named(context):
        is_named = seed == _seeds_last_named(context)[-1]
        content = {"dataset": setting.dataset, "algorithm": setting.algorithm, "kappa": setting.kappa, "seed": seed}
        content |= {"named_seed": int(is_named), "largest_gap_inside": round(gaps.get(seed, math.nan), 5)}
        test_scores, reason = run_files.test_scores(context, setting, seed)
        if test_scores is None:
            yield content | {"note": reason}
            continue
        for rank_1, rank_2 in rank_curve(test_scores.scores, test_scores.group, POINTS if is_named else _FAINT):
            yield content | {"rank_1": round(float(rank_1), 5), "rank_2": round(float(rank_2), 5)}


def _draw(context: Context[Any], points: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    rows = settings(context)
    size = (3.15 * max(map(len, rows.values())) + 0.3, 3.15 * len(rows) + 0.8)
    figure, axes = plt.subplots(len(rows), max(map(len, rows.values())), figsize=size, squeeze=False)
    for line_of_axes, (dataset, panels) in zip(axes, rows.items(), strict=True):
        names = run_files.group_names(context, dataset)
        for axis, setting in zip(line_of_axes, panels, strict=False):
            setting_points = [p for p in points if (p["dataset"], p["kappa"]) == (dataset, setting.kappa)]
            _panel(axis, setting_points, context.config.experiment(setting.experiment).runs[dataset].interval)
            axis.set_title(f"{style.dataset_title(dataset)}, {style.kappa_title(setting.kappa)}{_gap(setting_points)}")
            axis.set_box_aspect(1)
            axis.set_xlabel(f"share above θ: {names[0]}")
        line_of_axes[0].set_ylabel(f"share above θ: {names[1]}")
    seed_note = f"Bold: seed {_seeds_last_named(context)[-1]}, whose gap the title says; thin: the other seeds."
    canvas.add_legend(figure, axes, note=f"{seed_note} Between the red lines: ranks in I. Dashed: both groups alike.")
    return figure


def _gap(points: list[dict[str, Any]]) -> str:
    """Return the largest gap of the named seed, for the title."""
    gap = next((point["largest_gap_inside"] for point in points if point["named_seed"]), math.nan)
    return "" if math.isnan(gap) else f": gap {gap:.3f}"


def _panel(axis: Any, points: list[dict[str, Any]], interval: Any) -> None:
    """Draw one panel: curves of all seeds, the diagonal, and I on both axes."""
    curve_points = [point for point in points if "rank_1" in point]
    if not curve_points:
        canvas.write_reason(axis, points[0]["note"] if points else "not run")
        return
    axis.plot([0, 1], [0, 1], color=style.INK, lw=0.8, ls=(0, (4, 3)), zorder=2)
    for low, high in style.pairs_of(interval):
        for band in (axis.axvspan, axis.axhspan):
            band(low, high, color=style.INSIDE, alpha=0.07, lw=0, zorder=0)
        for end in (low, high):
            axis.axvline(end, color=style.INSIDE, lw=0.9, zorder=1)
            axis.axhline(end, color=style.INSIDE, lw=0.9, zorder=1)
    for seed in dict.fromkeys(point["seed"] for point in curve_points):
        seed_points = [point for point in curve_points if point["seed"] == seed]
        method_style = style.plot_style(seed_points[0]["algorithm"])
        thin = {"lw": 0.6, "alpha": style.faint(method_style.colour), "zorder": 3}
        weight = {"lw": 1.8, "zorder": 4} if seed_points[0]["named_seed"] else thin
        first_ranks, second_ranks = ([point[key] for point in seed_points] for key in ("rank_1", "rank_2"))
        axis.plot(first_ranks, second_ranks, color=method_style.colour, **weight)
    axis.set(xlim=(-0.015, 1.015), ylim=(-0.015, 1.015))
    axis.set_xticks(np.linspace(0, 1, 5), ["0", ".25", ".5", ".75", "1"])
    axis.set_yticks(np.linspace(0, 1, 5), ["0", ".25", ".5", ".75", "1"])


KIND = ExhibitKind.from_lines(RankCurves, COLUMNS, csv_lines, draw=_draw)
