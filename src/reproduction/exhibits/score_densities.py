"""Densities of scores: by group with the part inside the interval of ranks filled, or as probabilities of all runs."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair.data.intervals import Pairs, bounds
from reproduction.exhibits import canvas, run_files, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.verdicts import run_scores
from reproduction.verdicts.results import Setting, by_seed

COLUMNS = (
    "dataset", "algorithm", "kappa", "seed", "violation", "group", "group_name", "score", "density", "inside", "note",
)  # fmt: skip
PROBABILITY_COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "group", "probability", "density", "n_runs", "seed", "low_gap",
    "high_gap", "distance", "note",
)  # fmt: skip
POINTS = 241
TAIL = 0.004  # share of all scores left out at each end of the axis, where the density is a flat line
GRID = np.linspace(-0.1, 1.1, POINTS)
_FACTOR = 0.4  # of Scott's bandwidth, as in the paper's code
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.5, 1)), "-.")
COLOURS = ("#0072b2", "#c8500a", "#008f68", "#d0619f")
LARGEST = 20_000  # rows of a density; more are thinned evenly after sorting, which changes no visible point


class ScoreDensities(Options):
    """Densities of the unconstrained model and of one algorithm at falling kappa: a row per group."""

    source: Literal["scores"] = Field("scores", description="scores: test scores of one seed, filled inside I")
    kappas: dict[str, list[float]] = Field(description="the dataset and its kappas", min_length=1, max_length=1)
    algorithm: str = Field(description="whose models")
    seed: int = Field(0, description="whose models")


class ProbabilityDensities(Options):
    """Densities of predicted probabilities of all runs of a method together: a panel per method."""

    source: Literal["probabilities"] = Field(description="probabilities: of all runs of a method together")
    algorithms: list[str] | None = Field(None, description="algorithms shown, in this order; all of them by default")
    reference: str | None = Field(None, description="method from whose predictions the table gives distances")


def bandwidth(scores: NDArray[np.floating]) -> float:
    """Return Silverman's rule of thumb, ``0.9 min(s, IQR / 1.34) n^(-1/5)``.

    The quartiles keep a long tail from blurring the middle.
    """
    # 0.9 min(s, (q_75 - q_25) / 1.34) n^(-1/5): Silverman (1986), Density Estimation, equation (3.31).
    quartiles = np.quantile(scores, (0.25, 0.75))
    spread = min(float(np.std(scores, ddof=1)), float(quartiles[1] - quartiles[0]) / 1.34)
    return 0.9 * (spread or float(np.std(scores, ddof=1))) * len(scores) ** -0.2


def density(scores: NDArray[np.floating], points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the Gaussian kernel density estimate of ``scores`` at the points ``at``."""
    from scipy.stats import gaussian_kde

    factor = bandwidth(scores) / float(np.std(scores, ddof=1))
    return np.asarray(gaussian_kde(scores, factor)(points), np.float64)


def inside_ends(scores: NDArray[np.floating], pairs: Pairs) -> list[tuple[float, float]]:
    """Return the scores between which the ranks of one group lie in each pair [alpha, beta).

    The lowest kept score is the lower end, the highest kept score the upper one; a pair that keeps no row has none.
    """
    ranked = np.sort(scores)[::-1]
    ranges = [(low, high) for low, high in bounds(pairs, len(ranked)) if high > low]
    return [(float(ranked[high - 1]), float(ranked[low])) for low, high in ranges]


def settings(context: Context[ScoreDensities]) -> list[Setting]:
    """Return the unconstrained model, then the algorithm from the loosest kappa on."""
    return next(iter(run_files.tightening(context, context.options.algorithm, context.options.kappas).values()))


def csv_lines(context: Context[ScoreDensities]) -> Iterator[Line]:
    """Yield one line of ``COLUMNS`` per point; a run without scores has a line with a note."""
    seed = context.options.seed
    for setting in settings(context):
        metric = context.convention(setting.experiment).relative
        key: Line = {name: getattr(setting, name) for name in COLUMNS[:3]} | {"seed": seed}
        key["violation"] = round(by_seed(context.results, setting, metric).get(seed, math.nan), 5)
        test_scores, reason = run_files.test_scores(context, setting, seed)
        if test_scores is None:
            yield key | {"note": reason}
            continue
        pairs = style.pairs_of(context.config.experiment(setting.experiment).runs[setting.dataset].interval)
        for code, name in enumerate(run_files.group_names(context, setting.dataset)):
            group_key = key | {"group": code, "group_name": name}
            density_points = _density_points(test_scores.scores, test_scores.of_group(code), pairs)
            yield from (group_key | point for point in density_points)


def _density_points(scores: NDArray[np.float64], group_scores: NDArray[np.float64], pairs: Pairs) -> Iterator[Line]:
    """Yield the density of one group along the range of all scores; the ends of its intervals are among the points."""
    low, high = np.quantile(scores, (TAIL, 1 - TAIL))
    margin = 0.08 * (high - low)
    interval_ends = [end for pair in inside_ends(group_scores, pairs) for end in pair]
    shown_ends = [end for end in interval_ends if low - margin < end < high + margin]
    points = np.union1d(np.linspace(low - margin, high + margin, POINTS), shown_ends)
    is_inside = np.zeros(len(points), bool)
    for low_end, high_end in zip(interval_ends[::2], interval_ends[1::2], strict=True):
        is_inside |= (points >= low_end) & (points <= high_end)
    for score, height, inside in zip(points, density(group_scores, points), is_inside, strict=True):
        yield {"score": round(float(score), 6), "density": round(float(height), 6), "inside": int(inside)}


def _has_threshold(context: Context[Any]) -> bool:
    """Tell whether the constraint is about the decision threshold 0."""
    return context.config.experiment(context.experiments[0]).constraint != "partial_statistical_parity"


def draw(context: Context[ScoreDensities], lines: list[Line]) -> Any:
    """Draw rows of groups and columns of settings."""
    panel_settings, has_threshold = settings(context), _has_threshold(context)
    names = run_files.group_names(context, panel_settings[0].dataset)
    panels = []
    for code, name in enumerate(names):
        row = []
        for column, setting in enumerate(panel_settings):
            setting_points = [point for point in lines if point["kappa"] == setting.kappa]
            labels = {"title": "" if code else _title(context, setting, setting_points)}
            labels |= {"ylabel": "" if column else f"{name}\ndensity"}
            row.append(_group_panel(setting_points, code, has_threshold) | labels)
        panels.append(row)
    by_setting = [[point for point in lines if point["kappa"] == setting.kappa] for setting in panel_settings]
    panels.append([_overlay_panel(points, names, not column) for column, points in enumerate(by_setting)])
    size = (2.9 * len(panel_settings) + 0.3, 1.9 * len(panels) + 0.9)
    threshold = "Dashed: the threshold 0. " if has_threshold else ""
    note = f"Filled: ranks in I. {threshold}One run, seed {context.options.seed}."
    return canvas.draw_panels(panels, size, {"sharex": "col", "sharey": "col"}, note=note)


def _overlay_panel(points: list[Line], names: Sequence[str], is_first: bool) -> PlotPanel:
    """Return all groups in one panel; where their ranks lie in I, the line is bold."""
    curves = []
    for code, name in enumerate(names):
        group_points = [point for point in points if point.get("group") == code]
        scores, height = (np.array([point[key] for point in group_points]) for key in ("score", "density"))
        line_style = {"color": COLOURS[code % len(COLOURS)], "ls": DASHES[code % len(DASHES)]}
        inside = np.where([point["inside"] == 1 for point in group_points], height, np.nan) if group_points else height
        curves.append(PlotCurve(scores, height, line_style | {"lw": 0.7}))
        curves.append(PlotCurve(scores, inside, line_style | {"lw": 2.2, "label": f"{name}; bold: ranks in I"}))
    labels = {"xlabel": "score", "ylabel": "all groups\ndensity" if is_first else ""}
    reason = "; ".join(dict.fromkeys(point["note"] for point in points if point.get("note")))
    return PlotPanel(curves if any(len(curve.x) for curve in curves) else [], labels, reason)


def _title(context: Context[Any], setting: Setting, points: list[Line]) -> str:
    """Return dataset, kappa, and the violation that the filled parts show."""
    metric = context.convention(setting.experiment).relative
    value = points[0]["violation"] if points else math.nan
    violation = "" if math.isnan(value) else f": {metric.upper()} {value:.3f}"
    return f"{style.dataset_title(setting.dataset)}, {style.kappa_title(setting.kappa)}{violation}"


def _group_panel(points: list[Line], code: int, has_threshold: bool) -> PlotPanel:
    """Return the density of one group, filled inside I, and the decision threshold where it matters."""
    group_points = [point for point in points if point.get("group") == code]
    if not group_points:
        return PlotPanel([], {}, points[0]["note"] if points else "")
    scores, height = (np.array([point[key] for point in group_points]) for key in ("score", "density"))

    def finish(axis: Any) -> None:
        inside = np.array([point["inside"] == 1 for point in group_points])
        axis.fill_between(scores, height, where=inside, color=style.INSIDE, alpha=0.75, lw=0, zorder=2)
        if has_threshold:
            axis.axvline(0.0, color=style.INK, lw=1.0, ls=(0, (3, 2)), zorder=4)
        axis.margins(x=0)
        axis.update_datalim([(scores[0], 0.0)])
        axis.set_ylim(bottom=0, top=max(axis.get_ylim()[1], 1.05 * float(height.max())))

    return PlotPanel([PlotCurve(scores, height, {"color": style.INK, "lw": 1.2, "zorder": 3})], {}, finish=finish)


# --- probabilities -------------------------------------------------------------------------------------------------


def probability_lines(context: Context[ProbabilityDensities]) -> Iterator[Line]:
    """Yield one line of ``PROBABILITY_COLUMNS`` per setting, group and probability."""
    from scipy.stats import gaussian_kde

    for setting in run_files.settings(context, context.options.algorithms):
        scores, group = run_scores.pooled(context, setting, "test")
        key: Line = {name: getattr(setting, name) for name in PROBABILITY_COLUMNS[:4]}
        if not scores.size:
            yield key | {"note": "not run"}
        names = run_files.group_names(context, setting.dataset)
        count = len(run_scores.values(context, setting, "inaccuracy", "test"))
        for code in np.unique(group):
            probabilities = np.sort(1 / (1 + np.exp(-scores[group == code])))
            probabilities = probabilities[:: max(1, len(probabilities) // LARGEST)]
            densities = gaussian_kde(probabilities, lambda kde: _FACTOR * kde.scotts_factor())(GRID)
            group_key = key | {"group": names[code], "n_runs": count}
            for probability, density_value in zip(GRID, densities, strict=True):
                numbers = {"probability": round(float(probability), 4), "density": round(float(density_value), 5)}
                yield group_key | numbers
        yield from (key | line for line in _run_lines(context, setting))


def _run_lines(context: Context[ProbabilityDensities], setting: Setting) -> Iterator[Line]:
    """Yield one line per run: where the groups' predictions differ, and their distance from the reference's.

    ``low_gap`` is the share of the second group below the lower quartile of all predictions minus that of the first;
    ``high_gap`` the share of the first above the upper quartile minus that of the second; ``distance`` the mean over
    groups of the first Wasserstein distance to the predictions of the reference's run of the same seed.
    """
    from scipy.stats import wasserstein_distance

    reference_name = context.options.reference
    reference = None if reference_name is None else next(iter(run_files.settings(context, [reference_name])), None)
    for seed in context.config.seeds(setting.experiment, setting.dataset, setting.algorithm):
        by_group = _by_group(context, setting, seed)
        if by_group is None or len(by_group) < 2:
            continue
        low, high = np.quantile(np.concatenate(by_group), (0.25, 0.75))
        line: Line = {"seed": seed, "low_gap": round(float((by_group[1] < low).mean() - (by_group[0] < low).mean()), 5)}
        line["high_gap"] = round(float((by_group[0] > high).mean() - (by_group[1] > high).mean()), 5)
        reference_by_group = None if reference is None else _by_group(context, reference, seed)
        if reference_by_group is not None:
            distances = list(map(wasserstein_distance, by_group, reference_by_group))
            line["distance"] = round(float(np.mean(distances)), 6)
        yield line


def _by_group(context: Context[ProbabilityDensities], setting: Setting, seed: int) -> list[NDArray[np.float64]] | None:
    """Return predicted probabilities of one run, group by group; ``None`` if it has none."""
    rows = run_scores.scores(context, setting, seed, "test")
    if rows is None:
        return None
    probabilities = 1 / (1 + np.exp(-rows.score.astype(float)))
    return [probabilities[rows.group == code] for code in np.unique(rows.group)]


def draw_probabilities(context: Context[ProbabilityDensities], lines: list[Line]) -> Any:
    """Draw a panel per setting."""
    panel_settings = list(run_files.settings(context, context.options.algorithms))
    top = 1.05 * max((point.get("density", 0.0) for point in lines), default=1.0)
    row = []
    for column, setting in enumerate(panel_settings):
        setting_points = [
            point for point in lines if all(point[name] == getattr(setting, name) for name in PROBABILITY_COLUMNS[:4])
        ]
        labels = {"title": style.plot_style(setting.algorithm).label, "xlabel": "predicted probability"}
        labels |= {} if column else {"ylabel": "density, test rows"}
        row.append(_probability_panel([point for point in setting_points if "density" in point], top) | labels)
    return canvas.draw_panels([row], (2.2 * len(panel_settings) + 0.8, 2.9), {"sharey": True})


def _probability_panel(points: list[Line], top: float) -> PlotPanel:
    curves = []
    for position, name in enumerate(dict.fromkeys(point["group"] for point in points)):
        group_points = [point for point in points if point["group"] == name]
        dash = "-" if position == 0 else (0, (5, 1.5))
        line_style = {"color": COLOURS[position % len(COLOURS)], "lw": 1.3, "ls": dash}
        probabilities, height = ([point[key] for point in group_points] for key in ("probability", "density"))
        curves.append(PlotCurve(probabilities, height, line_style | {"label": name}, band=(0, height), shade=0.25))

    def finish(axis: Any) -> None:
        axis.axvline(0.5, color=style.INK, lw=0.8, ls=(0, (1.5, 2)))
        axis.set_xlim(-0.1, 1.1)
        axis.set_ylim(0, top)

    return PlotPanel(curves, {}, finish=finish)
