"""What a paper states of its data and settings, beside what the prepared table and the experiment grid hold."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.datasets.named import named_dataset
from partialfair.metrics.uncertainty import Estimate
from partialfair.models.stacked import StackedMLP
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.tables.dataset import Dataset, Split
from partialfair.verdicts import scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("algorithm", "where", "metric", "split", "published", "reproduced", "tolerance", "verdict", "note")
_ALM = {"mu": "proximal", "rho": "penalty", "tau": "step_size", "eta": "dual_step", "beta": "smoothing"}
NAMES = {
    "stochastic_ghost": {
        "p0": "success", "alpha0": "step_size", "rho": "radius", "tau": "weight", "beta": "box", "lam": "mixing",
        "alpha_hat": "decay",
    },
    "ssl_alm": {**_ALM, "M_y": "dual_bound"},
    "stochastic_alm": {**_ALM, "M_y": "dual_bound"},
    "stochastic_switching": {
        "eta_f": "objective_step", "eta_c": "constraint_step", "eps_k_before_500": "tolerance",
        "eps_decay_factor": "tolerance_decay", "eps_decay_start_iteration": "decay_start",
    },
}  # fmt: skip
"""Settings of the algorithms by the letters of the paper."""


def reproduce(context: Context, row: Published) -> Outcome:
    """The value of one statement here, or why there is none."""
    if row.metric.startswith("hyper_"):
        return _setting(context, row)
    if row.metric not in COUNTS:
        return Outcome(None, "a statement about the world or the machine, with nothing to measure here")
    value, source = COUNTS[row.metric](context, row)
    if value is None:
        return Outcome(None, source)
    return Outcome(_exact(value), source=source, band=_rounded(row.value))


def _exact(value: float) -> Estimate:
    return Estimate(float(value), float("nan"), float("nan"), float("nan"), 1)


def _rounded(value: float) -> tuple[float, float]:
    """Numbers that are printed as the value: half a unit of its last digit on either side."""
    digits = len(repr(value).partition(".")[2]) if value != int(value) else 0
    half = 0.5 * 10.0**-digits if digits else 0.0
    return value - half - 1e-9, value + half + 1e-9


def _setting(context: Context, row: Published) -> Outcome:
    """A hyper-parameter, from the experiment that stands for the place where the paper states it."""
    places = context.options.get("places", {})
    experiment = str(places.get(row.options["where"], context.experiments[0]))
    name = NAMES[row.algorithm][row.metric.removeprefix("hyper_")]
    settings = context.config.algorithm_settings(experiment, row.algorithm)
    plugin = plugins.load("algorithms", row.algorithm).ALGORITHM
    value = getattr(plugin.settings_model(**settings), name)
    note = str((context.options.get("remarks") or {}).get(f"{row.algorithm}.{name}", ""))
    return Outcome(_exact(value), note, f"{name} of {experiment}", (row.value - 1e-12, row.value + 1e-12))


Found = tuple[float | None, str]


def _count(measure: Callable[[Dataset], float]) -> Callable[[Context, Published], Found]:
    """A count of the rows of a split, or of all."""

    def counted(context: Context, row: Published) -> Found:
        data = context.root / "data" / "processed" / row.dataset
        seed = context.config.seeds(context.experiments[0])[0]
        paths = data / "table.npz", data / "splits" / f"seed={seed}.npz"
        if not all(path.exists() for path in paths):
            return None, f"{row.dataset} has not been prepared"
        rows = _rows(*paths, row.options.get("split", ""))
        return measure(rows), "counted in the prepared table"

    return counted


@cache
def _rows(table: Path, split: Path, part: str) -> Dataset:
    data = Dataset.load(table)
    parts = Split.load(split, data.n_rows)
    if part == "train":  # of the paper, which sets no validation rows aside
        return data.take(np.concatenate([parts.train, parts.validation]))
    return data.take(parts.test) if part == "test" else data


def _share(part: str) -> Callable[[Context, Published], Found]:
    def measured(context: Context, row: Published) -> Found:
        counts = [
            _count(lambda rows: rows.n_rows)(context, _with_split(row, which))[0] for which in (part, "")
        ]  # fmt: skip
        if counts[0] is None or not counts[1]:
            return None, f"{row.dataset} has not been prepared"
        return round(counts[0] / counts[1], 4), "counted in the prepared table"

    return measured


def _with_split(row: Published, split: str) -> Published:
    from dataclasses import replace

    return replace(row, setting=f"{row.setting};split={split}" if split else row.setting)


def _network(part: Callable[[tuple[int, ...], int], float]) -> Callable[[Context, Published], Found]:
    """A fact of the network of the first experiment's first algorithm."""

    def measured(context: Context, row: Published) -> Found:
        experiment = context.experiments[0]
        algorithm = next(iter(next(iter(context.config.experiment(experiment).runs.values())).algorithms))
        settings = context.config.algorithm_settings(experiment, algorithm)
        return part(tuple(settings["hidden"]), 9), f"from the settings of {algorithm} in {experiment}"

    return measured


def _race_categories(context: Context, row: Published) -> Found:
    import pandas as pd

    spec = named_dataset(row.dataset, context.config.dataset_options(row.dataset)).spec
    path = spec.directory(context.root / "data" / "raw") / spec.files[0].name
    if not path.exists():
        return None, "the raw file is not at hand"
    return float(pd.read_csv(path, usecols=["RAC1P"])["RAC1P"].nunique()), "counted in the raw file"


def _constrained(context: Context, row: Published) -> Found:
    run = next(iter(context.config.experiment(context.experiments[0]).runs.values()))
    found = [name for name in run.algorithms if plugins.load("algorithms", name).ALGORITHM.constrained]
    return float(len(found)), f"constrained methods of {context.experiments[0]}: {', '.join(found)}"


def _delta(context: Context, row: Published) -> Found:
    run = next(iter(context.config.experiment(context.experiments[0]).runs.values()))
    finite = {kappa for kappas in run.algorithms.values() for kappa in kappas if np.isfinite(kappa)}
    return (finite.pop(), "kappa of the runs") if len(finite) == 1 else (None, "the runs have several tolerances")


COUNTS: dict[str, Callable[[Context, Published], Found]] = {
    "n_samples": _count(lambda rows: rows.n_rows),
    "n_features": _count(lambda rows: rows.n_features),
    "n_white": _count(lambda rows: float((rows.group == 0).sum())),
    "n_nonwhite": _count(lambda rows: float((rows.group == 1).sum())),
    "positive_rate": _count(lambda rows: float((rows.y > 0).mean())),
    "positive_rate_white": _count(lambda rows: float((rows.y[rows.group == 0] > 0).mean())),
    "positive_rate_nonwhite": _count(lambda rows: float((rows.y[rows.group == 1] > 0).mean())),
    "train_fraction": _share("train"),
    "test_fraction": _share("test"),
    "n_race_categories": _race_categories,
    "hidden_layer_1": _network(lambda hidden, _: hidden[0]),
    "hidden_layer_2": _network(lambda hidden, _: hidden[1]),
    "n_parameters": _network(lambda hidden, inputs: StackedMLP(inputs, hidden).size),
    "n_runs": lambda context, row: (float(len(context.config.seeds(context.experiments[0]))), "seeds"),
    "algorithms_implemented": _constrained,
    "delta": _delta,
}


def lines(context: Context) -> list[dict[str, Any]]:
    """One line per statement: ``COLUMNS``."""
    return [
        scorecard.compare(context, row, reproduce)
        | {"where": row.options["where"], "split": row.options.get("split", "")}
        for row in context.published
    ]  # fmt: skip


def table(context: Context) -> Table:
    """Statements in the paper's order."""
    rows = []
    for line in lines(context):
        verdict = {"reproduced": "good", "differs": "bad"}.get(line["verdict"], "none")
        value = line.get("reproduced")
        what = line["metric"].removeprefix("hyper_").replace("_", " ")
        rows.append(
            [
                cells.text(style.look(line["algorithm"]).label if line["algorithm"] else "data and design"),
                cells.text(" ".join(filter(None, [what, line["split"]]))), cells.text(line["where"]),
                Cell(f"{line['published']:g}", "published"), Cell("–" if value is None else f"{value:g}", verdict),
                Cell(line["note"], "text wrap"),
            ]
        )  # fmt: skip
    return Table([], ["of", "what", "where", "published", "here", "note"], rows)


def render(context: Context) -> list[Path]:
    """Write the comparison as CSV and HTML."""
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(table(context)))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines(context)), page]


KINDS = {"stated_settings": Kind(render, lambda context: cells.html(table(context)), reproduce, needs_results=False)}
