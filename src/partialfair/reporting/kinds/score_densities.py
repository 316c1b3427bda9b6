"""Densities of the scores of each group, with the part inside the interval of ranks filled."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.pages import cells
from partialfair.reporting import canvas, runs, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.falling import falling
from partialfair.reporting.kinds import rank_curves
from partialfair.tables.intervals import Pairs, bounds
from partialfair.verdicts import statements
from partialfair.verdicts.results import Setting, convention

COLUMNS = (
    "dataset", "algorithm", "kappa", "seed", "violation", "group", "group_name", "score", "density", "inside", "note",
)  # fmt: skip
POINTS = 241
TAIL = 0.004  # share of all scores left out at each end of the axis, where the density is a flat line


def bandwidth(scores: NDArray[np.floating]) -> float:
    """Return Silverman's rule of thumb, ``0.9 min(s, IQR / 1.34) n^(-1/5)``.

    The quartiles keep a long tail from blurring the middle.
    """
    quartiles = np.quantile(scores, (0.25, 0.75))
    spread = min(float(np.std(scores, ddof=1)), float(quartiles[1] - quartiles[0]) / 1.34)
    return 0.9 * (spread or float(np.std(scores, ddof=1))) * len(scores) ** -0.2


def density(scores: NDArray[np.floating], at: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the Gaussian kernel density estimate of ``scores`` at the points ``at``."""
    from scipy.stats import gaussian_kde

    factor = bandwidth(scores) / float(np.std(scores, ddof=1))
    return np.asarray(gaussian_kde(scores, factor)(at), np.float64)


def inside_ends(scores: NDArray[np.floating], pairs: Pairs) -> list[tuple[float, float]]:
    """Return the scores between which the ranks of one group lie in each pair [alpha, beta).

    The lowest kept score is the lower end, the highest kept score the upper one; a pair that keeps no row has none.
    """
    ranked = np.sort(scores)[::-1]
    ranges = [(low, high) for low, high in bounds(pairs, len(ranked)) if high > low]
    return [(float(ranked[high - 1]), float(ranked[low])) for low, high in ranges]


def density_points(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, one dictionary of ``COLUMNS`` per point; a run without scores is one with a note."""
    return [point for setting in settings(context) for point in _points(context, setting)]


def settings(context: Context) -> list[Setting]:
    """The unconstrained model, then the option ``kappas`` of the one dataset from the loosest on."""
    return next(iter(rank_curves.settings(context).values()))


def _points(context: Context, setting: Setting) -> Iterator[dict[str, Any]]:
    seed = int(context.options.get("seed", 0))
    content = {"dataset": setting.dataset, "algorithm": setting.algorithm, "kappa": setting.kappa, "seed": seed}
    metric = convention(context.config.experiment(setting.experiment).constraint).relative
    content["violation"] = round(statements.by_seed(context.results, setting, metric).get(seed, math.nan), 5)
    found, reason = runs.test_scores(context, setting, seed)
    if found is None:
        yield content | {"note": reason}
        return
    pairs = style.pairs_of(context.config.experiment(setting.experiment).runs[setting.dataset].interval)
    low, high = np.quantile(found.scores, (TAIL, 1 - TAIL))
    margin = 0.08 * (high - low)
    for code, name in enumerate(runs.group_names(context, setting.dataset)):
        own = found.of_group(code)
        ends = [end for pair in inside_ends(own, pairs) for end in pair]
        inner = [end for end in ends if low - margin < end < high + margin]
        at = np.union1d(np.linspace(low - margin, high + margin, POINTS), inner)
        kept = np.zeros(len(at), bool)
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            kept |= (at >= first) & (at <= last)
        for score, value, inside in zip(at, density(own, at), kept, strict=True):
            yield content | {
                "group": code, "group_name": name, "score": round(float(score), 6), "density": round(float(value), 6),
                "inside": int(inside),
            }  # fmt: skip


def _draw(context: Context, points: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    shown = settings(context)
    names = runs.group_names(context, shown[0].dataset)
    size = (2.9 * len(shown) + 0.3, 2.1 * len(names) + 0.7)
    figure, axes = plt.subplots(len(names), len(shown), figsize=size, squeeze=False, sharex="col", sharey="col")
    decided = _has_threshold(context)
    for column, setting in enumerate(shown):
        own = [p for p in points if p["kappa"] == setting.kappa]
        for code, name in enumerate(names):
            axis = axes[code][column]
            _panel(axis, own, code, decided)
            if column == 0:
                axis.set_ylabel(f"{name}\ndensity")
        axes[0][column].set_title(_title(context, setting, own))
        axes[-1][column].set_xlabel("score")
        axes[0][column].set_ylim(bottom=0)  # after all groups are drawn, whose axes are shared
    figure.tight_layout(h_pad=0.8, w_pad=0.9)
    return figure


def _title(context: Context, setting: Setting, points: list[dict[str, Any]]) -> str:
    """Dataset, kappa, and the violation that the filled parts show."""
    metric = convention(context.config.experiment(setting.experiment).constraint).relative
    value = points[0]["violation"] if points else math.nan
    shown = "" if math.isnan(value) else f": {metric.upper()} {value:.3f}"
    return f"{style.dataset_title(setting.dataset)}, {style.kappa_title(setting.kappa)}{shown}"


def _has_threshold(context: Context) -> bool:
    """Whether the constraint is about the decision threshold 0."""
    return context.config.experiment(context.experiments[0]).constraint != "partial_statistical_parity"


def _panel(axis: Any, points: list[dict[str, Any]], code: int, decided: bool) -> None:
    """Draw the density of one group, filled inside I, and the decision threshold where it matters."""
    own = [p for p in points if p.get("group") == code]
    if not own:
        canvas.empty(axis, points[0]["note"] if points else "not run")
        return
    at, height = np.array([p["score"] for p in own]), np.array([p["density"] for p in own])
    inside = np.array([p["inside"] == 1 for p in own])
    axis.fill_between(at, height, where=inside, color=style.INSIDE, alpha=0.75, lw=0, zorder=2)
    axis.plot(at, height, color=style.INK, lw=1.2, zorder=3)
    if decided:
        axis.axvline(0.0, color=style.INK, lw=1.0, ls=(0, (3, 2)), zorder=4)
    axis.margins(x=0)


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    points = density_points(context)
    paths = canvas.write(context, lambda: _draw(context, points))
    return [cells.write_csv(context.path("csv"), COLUMNS, points), *paths]


def claims(context: Context) -> list[dict[str, Any]]:
    """Scorecard lines: with every tightening of kappa the filled parts of the two groups become more alike.

    How unlike they are is the violation by its definition: the Kolmogorov-Smirnov distance of the scores inside I
    (pSP), or the difference of their shares above the threshold (pDP). Both do not depend on the scores' unit.
    """
    decided = _has_threshold(context)
    metric = "fall of the difference of the shares above 0" if decided else "fall of the Kolmogorov-Smirnov distance"
    words = "the same share of the filled parts lies above 0" if decided else "the filled parts of the groups are alike"
    return falling(
        context, {"": settings(context)}, "relative", f"{metric}, scores inside I", f"{words}, more so than {{before}}"
    )


KINDS = {"score_densities": Kind(render, canvas.inline, claims=claims)}
