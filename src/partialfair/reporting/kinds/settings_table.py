"""Numbers that a paper prints of its settings and data, beside those that this grid and its tables use."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("dataset", "algorithm", "setting", "metric", "published", "reproduced", "verdict", "note")
MEMBERSHIP = "in_group:"
NAMES = {"eta_w": "eta", "eta_u": "tau"}  # the paper's names of the steps
LIMITS = {
    "alpha_lower_bound": ("alpha", 1.0),
    "beta_upper_bound": ("beta", 1.0),
    "gamma_0_upper_bound": ("gamma_0", 1.0),
}


def reproduce(context: Context, row: Published) -> Outcome:
    """Find a number in the prepared tables, in the grid, or in the domain that the settings model accepts."""
    value, where = _value(context, row)
    if value is None:
        return Outcome(None, where)
    return Outcome(Estimate(float(value), math.nan, math.nan, math.nan, 1), source=where)


def _value(context: Context, row: Published) -> tuple[float | None, str]:
    if row.metric in LIMITS:
        return _limit(*LIMITS[row.metric]), "where PLADA begins to refuse the parameter"
    if row.metric in ("n_instances", "n_attributes", "n_groups"):
        return _count(context, row)
    if row.metric == "n_hidden_layers":
        return _layers(context, row)
    if row.metric in ("n_hyperparameter_sets", "n_problems"):
        return _sets(context) if row.metric == "n_hyperparameter_sets" else _problems(context)
    return _parameter(context, row)


def _count(context: Context, row: Published) -> tuple[float | None, str]:
    """Rows, attributes or groups of the prepared table that stands for a dataset."""
    own = dict(context.options.get("tables") or {})
    entry = own.get(row.dataset)
    if entry is None:
        return None, str((context.options.get("absent") or {}).get(row.dataset, "no table stands for this dataset"))
    path = context.root / "data" / "processed" / entry["table"] / "table.npz"
    if not path.exists():
        return None, f"{entry['table']} has not been prepared"
    with np.load(path, allow_pickle=False) as stored:
        rows, names = int(stored["shape"][0]), [str(name) for name in stored["feature_names"]]
    groups = sum(name.startswith(MEMBERSHIP) for name in names)
    counts = {
        "n_instances": rows,
        "n_attributes": len(names) - groups + int(entry.get("others", 0)),
        "n_groups": groups,
    }
    return counts[row.metric], f"counted in the table {entry['table']}"


def _parameter(context: Context, row: Published) -> tuple[float | None, str]:
    """A step size of the candidate that uses the paper's Table 2."""
    own = dict(context.options.get("candidates") or {})
    entry = own.get(row.dataset or "linear")
    if entry is None:
        return None, "no candidate of the grid stands for it"
    settings = context.config.algorithm_settings(entry["experiment"], entry["algorithm"])
    defaults = _defaults(entry["algorithm"])
    name = NAMES.get(row.metric, row.metric)
    value = settings["variants"][entry["candidate"]].get(name, defaults.get(name))
    if not isinstance(value, int | float):
        return None, f"{name} is {value!r}"
    return float(value), f"candidate {entry['candidate']} of {entry['experiment']}"


def _defaults(algorithm: str) -> dict[str, Any]:
    """Defaults of a variant of an algorithm."""
    from partialfair import plugins

    model = plugins.load("algorithms", algorithm).ALGORITHM.settings_model
    variant = next(iter(model().variants.values()))
    return dict(type(variant)().model_dump())


def _limit(name: str, value: float) -> float | None:
    """The bound, if the parameters just inside it are accepted and those beyond refused."""
    from partialfair.algorithms.gaps.plada_solver import Parameters
    from partialfair.errors import ConfigError

    def accepted(number: float) -> bool:
        try:
            Parameters(**({"eta": 0.1, "tau": 0.1} | {name: number}))
        except ConfigError:
            return False
        return True

    inside, outside = (value + 1e-6, value - 1e-6) if name == "alpha" else (value - 1e-6, value + 1e-6)
    return value if accepted(inside) and not accepted(outside) else None


def _layers(context: Context, row: Published) -> tuple[float | None, str]:
    key = "multiplier" if row.algorithm == "LMM" else "classifier"
    entry = dict(context.options.get("networks") or {}).get(key)
    if entry is None:
        return None, "no experiment has the network"
    from partialfair import plugins

    model = plugins.load("algorithms", entry["algorithm"]).ALGORITHM.settings_model
    settings = model(**context.config.algorithm_settings(entry["experiment"], entry["algorithm"]))
    return float(len(getattr(settings, entry["field"]))), f"{entry['field']} of {entry['experiment']}"


def _sets(context: Context) -> tuple[float | None, str]:
    """Distinct settings of Table 2 among the candidates."""
    own = dict(context.options.get("candidates") or {})
    return float(
        len({tuple(sorted(entry.items())) for entry in own.values()})
    ) or None, "settings of Table 2 in the grid"


def _problems(context: Context) -> tuple[float | None, str]:
    """Pairs of dataset and constraint on which candidates of PLADA are run."""
    found = {
        (experiment.constraint, dataset)
        for name in context.experiments
        for experiment in [context.config.experiment(name)]
        for dataset, run in experiment.runs.items()
        if any(algorithm.startswith("plada") for algorithm in run.algorithms)
    }
    return float(
        len(found)
    ), "pairs of dataset and constraint in this exhibit's experiments; the paper does not list its own"


def lines(context: Context) -> list[dict[str, Any]]:
    """One line per published number."""
    return [scorecard.compare(context, row, reproduce) for row in context.published]


def _table(found: list[dict[str, Any]]) -> Table:
    rows = []
    for line in found:
        kind = {"reproduced": "good", "differs": "bad"}.get(line["verdict"], "none")
        value = line.get("reproduced")
        shown = "–" if value is None else f"{value:g}"
        rows.append(
            [
                cells.text(style.dataset_title(line["dataset"]) if line["dataset"] else "–"),
                cells.text(line["algorithm"] or "–"),
                Cell(line["setting"] or "–", "text wrap"),
                cells.text(line["metric"]),
                Cell(f"{line['published']:g}", "published"),
                Cell(shown, kind),
                Cell(line["note"], "text wrap"),
            ]
        )
    return Table([], ["dataset", "method", "setting", "number", "published", "here", "note"], rows)


def render(context: Context) -> list[Path]:
    """Write the numbers as CSV and HTML."""
    found = lines(context)
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(_table(found)))
    return [cells.write_csv(context.path("csv"), COLUMNS, found), page]


def fragment(context: Context) -> str:
    """Return the table."""
    return cells.html(_table(lines(context)))


KINDS = {"settings_table": Kind(render, fragment, reproduce=reproduce)}
