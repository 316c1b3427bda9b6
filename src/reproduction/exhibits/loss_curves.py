"""Loss and loss difference on the way, over runs: median and quartiles, from the points that the models keep.

The CSV has the mean, too.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from partialfair.models.mlp_score import MLPScore
from partialfair.models.stored import load_model
from reproduction.exhibits import canvas, run_files, style
from reproduction.exhibits.canvas import PlotCurve, PlotPanel
from reproduction.exhibits.exhibit import Context, Line, Options
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Setting

COLUMNS = (
    "experiment", "algorithm", "kappa", "split", "quantity", "step", "rows_read", "seconds", "paper_seconds", "mean",
    "median", "q25", "q75", "n_runs", "note",
)  # fmt: skip
QUANTITIES = ("loss", "difference")
_AXES = {
    "paper_seconds": "share of the steps done × 30 s", "step": "steps", "rows_read": "rows read",
    "seconds": "processor time of one run here [s]",
}  # fmt: skip
_PAPER_SECONDS = 30.0
Range = list[float]


class LossCurves(Options):
    """Mean log loss above the loss difference of the groups, a column per method; of one method, a row per split."""

    source: Literal["losses"] = Field(description="losses: loss and loss difference at the points that models keep")
    algorithms: list[str] | None = Field(None, description="algorithms shown, in this order; all of them by default")
    splits: list[Literal["train", "validation", "test"]] = Field(["train"], description="rows that losses are means of")
    axis: Literal["paper_seconds", "step", "rows_read", "seconds"] = Field(
        "paper_seconds", description="what the curves run along"
    )
    loss_range: Range | None = Field(None, description="limits of the upper panels", min_length=2, max_length=2)
    difference_range: Range | None = Field(None, description="limits of the lower panels", min_length=2, max_length=2)


def curves(context: Context[Any], setting: Setting, seed: int, split: str) -> pd.DataFrame | None:
    """Return step, rows_read, seconds, loss and difference of a run's points; ``None`` if it keeps none."""
    run_folder, _ = run_scores.folder(context, setting, seed)
    if run_folder is None or not is_here(run_folder / paths.MODEL):
        return None
    fit_on = context.config.algorithm_settings(setting.experiment, setting.algorithm).get("fit_on", "train")
    rows_of_split = "train+validation" if split == "train" and fit_on == run_scores.BOTH else split
    path = run_folder / paths.MODEL
    return _cached_curves(path, (context.root, setting.dataset, rows_of_split, seed), path.stat().st_mtime_ns)


@lru_cache(maxsize=1000)
def _cached_curves(path: Path, row_key: tuple[Path, str, str, int], changed: int) -> pd.DataFrame | None:
    model = load_model(path)
    if not isinstance(model, MLPScore) or "points" not in model.path:
        return None
    rows = run_scores.rows_of(*row_key)
    inputs, first_group = model.inputs(rows.X, rows.group), rows.group == 0
    points: list[dict[str, float]] = []
    for index, point in enumerate(model.path["points"]):
        losses = np.logaddexp(0, -rows.y * model.scores_at(point, inputs))
        content = {"loss": losses.mean(), "difference": losses[first_group].mean() - losses[~first_group].mean()}
        content |= {"step": model.path["steps"][index], "rows_read": model.path["rows"][index]}
        points.append(content | {"seconds": model.path["seconds"][index]})
    return pd.DataFrame(points)


def csv_lines(context: Context[LossCurves]) -> Iterator[Line]:
    """Yield one line of ``COLUMNS`` per setting, split, quantity and point."""
    for setting, split in _settings_and_splits(context):
        curves_by_seed = [
            curves(context, setting, seed, split)
            for seed in context.config.seeds(setting.experiment, setting.dataset, setting.algorithm)
        ]
        available = [run for run in curves_by_seed if run is not None]
        key = _key(setting, split)
        if not available:
            yield key | {"note": "not run, or no points kept"}
        for quantity in QUANTITIES if available else ():
            yield from (key | {"quantity": quantity} | line for line in _summary(available, quantity))


def _settings_and_splits(context: Context[LossCurves]) -> list[tuple[Setting, str]]:
    settings = run_files.settings(context, context.options.algorithms)
    return [(setting, split) for setting in settings for split in context.options.splits]


def _key(setting: Setting, split: str) -> Line:
    return {name: getattr(setting, name) for name in ("experiment", "algorithm", "kappa")} | {"split": split}


def _summary(run_curves: list[pd.DataFrame], quantity: str) -> Iterator[Line]:
    values = np.stack([run[quantity].to_numpy(float) for run in run_curves])
    steps = run_curves[0]["step"].to_numpy(float)
    for k, step in enumerate(steps):
        values_at_step = values[:, k]
        yield {
            "step": int(step), "n_runs": len(run_curves),
            "rows_read": round(float(np.mean([run["rows_read"].iloc[k] for run in run_curves]))),
            "seconds": round(float(np.mean([run["seconds"].iloc[k] for run in run_curves])), 4),
            "paper_seconds": round(_PAPER_SECONDS * step / steps[-1], 4),
            "mean": round(float(values_at_step.mean()), 6), "median": round(float(np.median(values_at_step)), 6),
            "q25": round(float(np.quantile(values_at_step, 0.25, method="lower")), 6),
            "q75": round(float(np.quantile(values_at_step, 0.75, method="higher")), 6),
        }  # fmt: skip


def draw(context: Context[LossCurves], lines: list[Line]) -> Any:
    """Draw losses above differences, a column per setting and split; of one setting, side by side, a row per split."""
    settings_and_splits, splits = _settings_and_splits(context), context.options.splits
    names = run_files.group_names(context, settings_and_splits[0][0].dataset)[:2]
    rows = "" if len(splits) > 1 else f",\n{'training' if splits[0] == 'train' else splits[0]} rows"
    titles = {"loss": f"mean log loss{rows}", "difference": f"loss {names[0]} − loss {names[1]}{rows}"}
    tolerance = min(setting.kappa for setting, _ in settings_and_splits)
    limits = {"loss": context.options.loss_range, "difference": context.options.difference_range}
    is_split_by_row = len(splits) == len(settings_and_splits) > 1
    panels = [
        [
            _panel(
                context, [line for line in lines if _key(setting, split).items() <= line.items()], quantity, tolerance
            )
            | ({"ylabel": title} if is_split_by_row or not column else {})
            | ({"ylim": limits[quantity]} if limits[quantity] else {})
            | ({"xlabel": _AXES[context.options.axis]} if quantity == "difference" or is_split_by_row else {})
            | ({"title": _title(setting, split, splits)} if quantity == "loss" or is_split_by_row else {})
            for column, (setting, split) in enumerate(settings_and_splits)
        ]
        for quantity, title in titles.items()
    ]
    if is_split_by_row:
        turned_panels = [list(row) for row in zip(*panels, strict=True)]
        return canvas.draw_panels(turned_panels, (7.6, 5.8), {}, width=3.6)
    size, share = (2.3 * len(settings_and_splits) + 0.9, 4.9), {"sharex": "col", "sharey": "row"}
    return canvas.draw_panels(panels, size, share, width=2.6)


def _title(setting: Setting, split: str, splits: list[Any]) -> str:
    title = style.plot_style(setting.algorithm).label
    return title if len(splits) == 1 else f"{title}, {split} rows"


def _panel(context: Context[LossCurves], points: list[Line], quantity: str, tolerance: float) -> PlotPanel:
    quantity_points = [line for line in points if line.get("quantity") == quantity]
    if not quantity_points:
        return PlotPanel([], {}, points[0]["note"] if points else "")
    x = [line[context.options.axis] for line in quantity_points]
    low, middle, high = (np.array([line[name] for line in quantity_points]) for name in ("q25", "median", "q75"))
    label = f"median of {quantity_points[0]['n_runs']} runs, band from quartile to quartile"
    curve_style = {"color": "#0072b2", "lw": 1.4, "label": label}
    curves = [PlotCurve(x, middle, curve_style, band=(low, high), shade=0.28)]

    def finish(axis: Any) -> None:
        if quantity == "difference":
            axis.axhline(0.0, color=style.INK, lw=0.7)
        if quantity == "difference" and not math.isinf(tolerance):
            label = f"tolerance ±{tolerance:g} on the difference"
            for end in (-tolerance, tolerance):
                axis.axhline(end, color=style.INK, lw=0.9, ls=(0, (4, 2)), label=label)
        if max(x) >= 10_000:
            axis.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
        axis.set_xlim(0, max(x))
        _note_outside(axis, low.min(), high.max())

    return PlotPanel(curves, {}, finish=finish)


def _note_outside(axis: Any, lowest: float, highest: float) -> None:
    """Say how far a band goes that leaves the panel."""
    low, high = axis.get_ylim()
    if lowest < low:
        canvas.write_in_corner(axis, f"band down to {lowest:.2f}", top=False)
    if highest > high:
        canvas.write_in_corner(axis, f"band up to {highest:.2f}", top=True)
