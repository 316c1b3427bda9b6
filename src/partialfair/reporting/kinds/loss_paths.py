"""Loss and loss difference on the way, over runs: mean, median and quartiles, from the points that the models keep."""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair.models.mlp_score import MLPScore
from partialfair.models.stored import load_model
from partialfair.pages import cells
from partialfair.reporting import canvas, run_scores, runs, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.tables.dataset import Dataset, Split
from partialfair.verdicts.results import Setting

COLUMNS = (
    "experiment", "algorithm", "kappa", "split", "quantity", "step", "rows_read", "seconds", "paper_seconds", "mean",
    "median", "q25", "q75", "n_runs", "note",
)  # fmt: skip
QUANTITIES = {"loss": "mean log loss", "difference": "loss of group 0 − loss of group 1"}
AXES = {
    "paper_seconds": "time of the paper's runs [s]", "step": "steps", "rows_read": "rows read",
    "seconds": "processor time of one run [s]",
}  # fmt: skip
MEAN, MEDIAN = "#0072B2", "#D55E00"
PAPER_SECONDS = 30.0


def settings(context: Context) -> list[Setting]:
    """Settings of the exhibit, in the order of the option ``algorithms``."""
    found = []
    for name in context.experiments:
        for dataset, run in context.config.experiment(name).runs.items():
            for algorithm in context.options.get("algorithms") or run.algorithms:
                found += [Setting(name, dataset, algorithm, kappa) for kappa in run.algorithms.get(algorithm, [])]
    return found


def curves(context: Context, setting: Setting, seed: int, split: str) -> pd.DataFrame | None:
    """One line per kept point of a run: step, rows_read, seconds, loss, difference; ``None`` if it kept none."""
    found, _ = runs.folder(context, setting, seed)
    path = None if found is None else found / "model.npz"
    if path is None or not path.exists():
        return None
    data = context.root / "data" / "processed" / setting.dataset
    return _curves(path, data, setting.experiment, seed, split, path.stat().st_mtime_ns, _fit_on(context, setting))


def _fit_on(context: Context, setting: Setting) -> str:
    return str(context.config.algorithm_settings(setting.experiment, setting.algorithm).get("fit_on", "train"))


@lru_cache(maxsize=4)
def _rows(table: Path, split_path: Path, split: str, fit_on: str) -> Dataset:
    data = Dataset.load(table)
    parts = Split.load(split_path, data.n_rows)
    rows = [getattr(parts, split)]
    if split == "train" and fit_on == run_scores.BOTH:
        rows.append(parts.validation)
    return data.take(np.concatenate(rows))


@lru_cache(maxsize=1000)
def _curves(
    path: Path, data: Path, experiment: str, seed: int, split: str, changed: int, fit_on: str
) -> pd.DataFrame | None:
    model = load_model(path)
    if not isinstance(model, MLPScore) or "points" not in model.path:
        return None
    rows = _rows(data / "table.npz", data / "splits" / f"seed={seed}.npz", split, fit_on)
    inputs, first = model.inputs(rows.X, rows.group), rows.group == 0
    kept: list[dict[str, float]] = []
    for place, point in enumerate(model.path["points"]):
        losses = np.logaddexp(0, -rows.y * model.scores_at(point, inputs))
        content = {"loss": losses.mean(), "difference": losses[first].mean() - losses[~first].mean()}
        content |= {"step": model.path["steps"][place], "rows_read": model.path["rows"][place]}
        kept.append(content | {"seconds": model.path["seconds"][place]})
    return pd.DataFrame(kept)


def points(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, one line of ``COLUMNS`` per setting, split, quantity and point."""
    found: list[dict[str, Any]] = []
    for setting in settings(context):
        for split in context.options.get("splits", ["train"]):
            each = [curves(context, setting, seed, split) for seed in context.config.seeds(setting.experiment)]
            there = [run for run in each if run is not None]
            base = {"experiment": setting.experiment, "algorithm": setting.algorithm, "kappa": setting.kappa}
            if not there:
                found.append({**base, "split": split, "note": "not run, or no points kept"})
                continue
            for quantity in QUANTITIES:
                found += [{**base, "split": split, **line} for line in _summary(there, quantity)]
    return found


def _summary(runs: list[pd.DataFrame], quantity: str) -> list[dict[str, Any]]:
    values = np.stack([run[quantity].to_numpy(float) for run in runs])
    steps = runs[0]["step"].to_numpy(float)
    lines = []
    for k, step in enumerate(steps):
        own = values[:, k]
        lines.append(
            {
                "quantity": quantity, "step": int(step),
                "rows_read": round(float(np.mean([run["rows_read"].iloc[k] for run in runs]))),
                "seconds": round(float(np.mean([run["seconds"].iloc[k] for run in runs])), 4),
                "paper_seconds": round(PAPER_SECONDS * step / steps[-1], 4),
                "mean": round(float(own.mean()), 6), "median": round(float(np.median(own)), 6),
                "q25": round(float(np.quantile(own, 0.25, method="lower")), 6),
                "q75": round(float(np.quantile(own, 0.75, method="higher")), 6), "n_runs": len(runs),
            }
        )  # fmt: skip
    return lines


def _draw(context: Context, lines: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    panels = [(setting, split) for setting in settings(context) for split in context.options.get("splits", ["train"])]
    axis_name = str(context.options.get("axis", "paper_seconds"))
    figure, axes = plt.subplots(
        2, len(panels), figsize=(2.3 * len(panels) + 0.9, 4.9), squeeze=False, sharex="col", sharey="row"
    )
    bounds: dict[str, Any] = {}
    for column, (setting, split) in enumerate(panels):
        own = [line for line in lines if _belongs(line, setting, split)]
        for row, quantity in enumerate(QUANTITIES):
            _panel(axes[row][column], own, quantity, axis_name)
            if quantity == "difference" and not math.isinf(_kappa(context, setting)):
                for end in (-1, 1):
                    line = axes[row][column].axhline(end * setting.kappa, color=style.INK, lw=0.9, ls=(0, (4, 2)))
                    bounds[f"tolerance ±{setting.kappa:g} on the difference"] = line
        title = style.look(setting.algorithm).label
        axes[0][column].set_title(title if len(context.options.get("splits", "x")) == 1 else f"{title}, {split} rows")
        axes[1][column].set_xlabel(AXES[axis_name])
    axes[0][0].set_ylabel(QUANTITIES["loss"])
    axes[1][0].set_ylabel(_names(context))
    for row, key in enumerate(("loss_range", "difference_range")):
        if key in context.options:
            axes[row][0].set_ylim(*context.options[key])
    handles, labels = axes[0][0].get_legend_handles_labels()
    handles, labels = [*handles, *bounds.values()], [*labels, *bounds]
    figure.tight_layout(rect=(0, 0.07, 1, 1), w_pad=0.5)
    figure.legend(handles, labels, loc="lower center", ncols=max(len(labels), 1))
    return figure


def _names(context: Context) -> str:
    from partialfair.reporting.runs import group_names

    first, second = group_names(context, settings(context)[0].dataset)[:2]
    return f"loss {first} − loss {second}"


def _kappa(context: Context, setting: Setting) -> float:
    return setting.kappa


def _belongs(line: dict[str, Any], setting: Setting, split: str) -> bool:
    return (line["experiment"], line["algorithm"], line["kappa"], line["split"]) == (
        setting.experiment, setting.algorithm, setting.kappa, split,
    )  # fmt: skip


def _panel(axis: Any, lines: list[dict[str, Any]], quantity: str, axis_name: str) -> None:
    own = [line for line in lines if line.get("quantity") == quantity]
    if not own:
        canvas.empty(axis, lines[0]["note"] if lines else "not run")
        return
    at = [line[axis_name] for line in own]

    def of(name: str) -> NDArray[np.float64]:
        return np.array([line[name] for line in own])

    axis.fill_between(at, of("q25"), of("q75"), color=style.INK, alpha=0.14, lw=0, label="quartiles")
    for name in ("q25", "q75"):
        axis.plot(at, of(name), color=style.INK, lw=0.5, alpha=0.7)
    axis.plot(at, of("mean"), color=MEAN, lw=1.7, label="mean of the runs")
    axis.plot(at, of("median"), color=MEDIAN, lw=1.2, ls=(0, (5, 1.5)), label="median")
    if quantity == "difference":
        axis.axhline(0.0, color=style.INK, lw=0.7)
    if max(at) >= 10_000:
        axis.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    axis.set_xlim(0, max(at))


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    lines = points(context)
    paths = canvas.write(context, lambda: _draw(context, lines))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines), *paths]


KINDS = {"loss_paths": Kind(render, canvas.inline)}
