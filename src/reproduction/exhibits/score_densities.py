"""Densities of scores: by group with the part inside the interval of ranks filled, or as probabilities of all runs."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from partialfair.tables.intervals import Pairs, bounds
from reproduction.exhibits import canvas, runs, style
from reproduction.exhibits.canvas import Curve, Panel
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
FACTOR = 0.4  # of Scott's bandwidth, as in the paper's code
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


def settings(context: Context[ScoreDensities]) -> list[Setting]:
    """The unconstrained model, then the algorithm from the loosest kappa on."""
    return next(iter(runs.tightening(context, context.options.algorithm, context.options.kappas).values()))


def lines(context: Context[ScoreDensities]) -> Iterator[Line]:
    """What the figure shows, one dictionary of ``COLUMNS`` per point; a run without scores is one with a note."""
    seed = context.options.seed
    for setting in settings(context):
        metric = context.convention(setting.experiment).relative
        key: Line = {name: getattr(setting, name) for name in COLUMNS[:3]} | {"seed": seed}
        key["violation"] = round(by_seed(context.results, setting, metric).get(seed, math.nan), 5)
        found, reason = runs.test_scores(context, setting, seed)
        if found is None:
            yield key | {"note": reason}
            continue
        pairs = style.pairs_of(context.config.experiment(setting.experiment).runs[setting.dataset].interval)
        for code, name in enumerate(runs.group_names(context, setting.dataset)):
            own = {"group": code, "group_name": name}
            yield from (key | own | point for point in _points(found.scores, found.of_group(code), pairs))


def _points(scores: NDArray[np.float64], own: NDArray[np.float64], pairs: Pairs) -> Iterator[Line]:
    """The density of one group along the range of all scores, with the ends of its kept parts among the points."""
    low, high = np.quantile(scores, (TAIL, 1 - TAIL))
    margin = 0.08 * (high - low)
    ends = [end for pair in inside_ends(own, pairs) for end in pair]
    inner = [end for end in ends if low - margin < end < high + margin]
    at = np.union1d(np.linspace(low - margin, high + margin, POINTS), inner)
    kept = np.zeros(len(at), bool)
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        kept |= (at >= first) & (at <= last)
    for score, value, inside in zip(at, density(own, at), kept, strict=True):
        yield {"score": round(float(score), 6), "density": round(float(value), 6), "inside": int(inside)}


def _has_threshold(context: Context[Any]) -> bool:
    """Whether the constraint is about the decision threshold 0."""
    return context.config.experiment(context.experiments[0]).constraint != "partial_statistical_parity"


def draw(context: Context[ScoreDensities], found: list[Line]) -> Any:
    """Draw rows of groups and columns of settings."""
    shown, decided = settings(context), _has_threshold(context)
    names = runs.group_names(context, shown[0].dataset)
    panels = []
    for code, name in enumerate(names):
        row = []
        for column, setting in enumerate(shown):
            own = [p for p in found if p["kappa"] == setting.kappa]
            labels = {"title": "" if code else _title(context, setting, own)}
            labels |= {"ylabel": "" if column else f"{name}\ndensity"}
            row.append(_group_panel(own, code, decided) | labels)
        panels.append(row)
    panels.append([_overlaid([p for p in found if p["kappa"] == s.kappa], names, not i) for i, s in enumerate(shown)])
    size = (2.9 * len(shown) + 0.3, 1.9 * len(panels) + 0.9)
    note = f"Filled: ranks in I. {'Dashed: the threshold 0. ' if decided else ''}One run, seed {context.options.seed}."
    return canvas.figure(panels, size, {"sharex": "col", "sharey": "col"}, note=note)


def _overlaid(points: list[Line], names: Sequence[str], first: bool) -> Panel:
    """All groups in one panel; where their ranks lie in I, the line is bold."""
    curves = []
    for code, name in enumerate(names):
        own = [p for p in points if p.get("group") == code]
        at, height = np.array([p["score"] for p in own]), np.array([p["density"] for p in own])
        look = {"color": COLOURS[code % len(COLOURS)], "ls": DASHES[code % len(DASHES)]}
        inside = np.where([p["inside"] == 1 for p in own], height, np.nan) if own else height
        curves.append(Curve(at, height, look | {"lw": 0.7}))
        curves.append(Curve(at, inside, look | {"lw": 2.2, "label": f"{name}; bold: ranks in I"}))
    labels = {"xlabel": "score", "ylabel": "all groups\ndensity" if first else ""}
    reason = "; ".join(dict.fromkeys(p["note"] for p in points if p.get("note")))
    return Panel(curves if any(len(c.x) for c in curves) else [], labels, reason)


def _title(context: Context[Any], setting: Setting, points: list[Line]) -> str:
    """Dataset, kappa, and the violation that the filled parts show."""
    metric = context.convention(setting.experiment).relative
    value = points[0]["violation"] if points else math.nan
    shown = "" if math.isnan(value) else f": {metric.upper()} {value:.3f}"
    return f"{style.dataset_title(setting.dataset)}, {style.kappa_title(setting.kappa)}{shown}"


def _group_panel(points: list[Line], code: int, decided: bool) -> Panel:
    """The density of one group, filled inside I, and the decision threshold where it matters."""
    own = [p for p in points if p.get("group") == code]
    if not own:
        return Panel([], {}, points[0]["note"] if points else "")
    at, height = np.array([p["score"] for p in own]), np.array([p["density"] for p in own])

    def finish(axis: Any) -> None:
        inside = np.array([p["inside"] == 1 for p in own])
        axis.fill_between(at, height, where=inside, color=style.INSIDE, alpha=0.75, lw=0, zorder=2)
        if decided:
            axis.axvline(0.0, color=style.INK, lw=1.0, ls=(0, (3, 2)), zorder=4)
        axis.margins(x=0)
        axis.update_datalim([(at[0], 0.0)])
        axis.set_ylim(bottom=0, top=max(axis.get_ylim()[1], 1.05 * float(height.max())))

    return Panel([Curve(at, height, {"color": style.INK, "lw": 1.2, "zorder": 3})], {}, finish=finish)


# --- probabilities -------------------------------------------------------------------------------------------------


def probability_lines(context: Context[ProbabilityDensities]) -> Iterator[Line]:
    """One line of ``PROBABILITY_COLUMNS`` per setting, group and probability."""
    from scipy.stats import gaussian_kde

    for setting in runs.settings(context, context.options.algorithms):
        scores, group = run_scores.pooled(context, setting, "test")
        key: Line = {name: getattr(setting, name) for name in PROBABILITY_COLUMNS[:4]}
        if not scores.size:
            yield key | {"note": "not run"}
        names = runs.group_names(context, setting.dataset)
        count = len(run_scores.values(context, setting, "inaccuracy", "test"))
        for code in np.unique(group):
            p = np.sort(1 / (1 + np.exp(-scores[group == code])))
            p = p[:: max(1, len(p) // LARGEST)]
            height = gaussian_kde(p, lambda kde: FACTOR * kde.scotts_factor())(GRID)
            own = key | {"group": names[code], "n_runs": count}
            for at, value in zip(GRID, height, strict=True):
                yield own | {"probability": round(float(at), 4), "density": round(float(value), 5)}
        yield from (key | line for line in _run_lines(context, setting))


def _run_lines(context: Context[ProbabilityDensities], setting: Setting) -> Iterator[Line]:
    """One line per run: where the groups' predictions differ, and how far they are from the reference's.

    ``low_gap`` is the share of the second group below the lower quartile of all predictions minus that of the first;
    ``high_gap`` the share of the first above the upper quartile minus that of the second; ``distance`` the mean over
    groups of the first Wasserstein distance to the predictions of the reference's run of the same seed.
    """
    from scipy.stats import wasserstein_distance

    named = context.options.reference
    base = None if named is None else next(iter(runs.settings(context, [named])), None)
    for seed in context.config.seeds(setting.experiment):
        own = _by_group(context, setting, seed)
        if own is None or len(own) < 2:
            continue
        low, high = np.quantile(np.concatenate(own), (0.25, 0.75))
        line: Line = {"seed": seed, "low_gap": round(float((own[1] < low).mean() - (own[0] < low).mean()), 5)}
        line["high_gap"] = round(float((own[0] > high).mean() - (own[1] > high).mean()), 5)
        other = None if base is None else _by_group(context, base, seed)
        if other is not None:
            apart = [wasserstein_distance(one, two) for one, two in zip(own, other, strict=True)]
            line["distance"] = round(float(np.mean(apart)), 6)
        yield line


def _by_group(context: Context[ProbabilityDensities], setting: Setting, seed: int) -> list[NDArray[np.float64]] | None:
    """Predicted probabilities of one run, group by group; ``None`` if it has none."""
    rows = run_scores.scores(context, setting, seed, "test")
    if rows is None:
        return None
    p = 1 / (1 + np.exp(-rows.score.astype(float)))
    return [p[rows.group == code] for code in np.unique(rows.group)]


def draw_probabilities(context: Context[ProbabilityDensities], found: list[Line]) -> Any:
    """Draw a panel per setting."""
    shown = list(runs.settings(context, context.options.algorithms))
    top = 1.05 * max((p.get("density", 0.0) for p in found), default=1.0)
    row = []
    for column, setting in enumerate(shown):
        own = [p for p in found if all(p[name] == getattr(setting, name) for name in PROBABILITY_COLUMNS[:4])]
        labels = {"title": style.look(setting.algorithm).label, "xlabel": "predicted probability"}
        labels |= {} if column else {"ylabel": "density, test rows"}
        row.append(_probability_panel([p for p in own if "density" in p], top) | labels)
    return canvas.figure([row], (2.2 * len(shown) + 0.8, 2.9), {"sharey": True})


def _probability_panel(points: list[Line], top: float) -> Panel:
    curves = []
    for place, name in enumerate(dict.fromkeys(p["group"] for p in points)):
        own = [p for p in points if p["group"] == name]
        look = {"color": COLOURS[place % len(COLOURS)], "lw": 1.3, "ls": "-" if place == 0 else (0, (5, 1.5))}
        at, height = [p["probability"] for p in own], [p["density"] for p in own]
        curves.append(Curve(at, height, look | {"label": name}, band=(0, height), shade=0.25))

    def finish(axis: Any) -> None:
        axis.axvline(0.5, color=style.INK, lw=0.8, ls=(0, (1.5, 2)))
        axis.set_xlim(-0.1, 1.1)
        axis.set_ylim(0, top)

    return Panel(curves, {}, finish=finish)
