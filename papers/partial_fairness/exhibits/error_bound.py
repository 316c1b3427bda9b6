"""The generalisation bound beside what it bounds: surrogate, sampling and discretisation error of trained models."""

from dataclasses import asdict, fields
from typing import Any

from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, Kind, Line, Options
from reproduction.verdicts import error_bound
from reproduction.verdicts.error_bound import Parts
from reproduction.verdicts.results import Setting

PARTS = ("discretisation", "surrogate", "sampling", "total")
COLUMNS = ("experiment", "dataset", "algorithm", "kappa", "n_seeds", *(field.name for field in fields(Parts)))


class ErrorBound(Options):
    """Terms of the generalisation bound for the models of one algorithm."""

    algorithm: str = Field(description="whose models are looked at; they have a threshold per rank of the grid")


Shown = Context[ErrorBound]


def lines(context: Shown) -> list[Line]:
    """One line per dataset and kappa, means over seeds: ``COLUMNS``."""
    found = []
    for experiment in context.experiments:
        for dataset, run in context.config.experiment(experiment).runs.items():
            name = context.options.algorithm
            found += [_line(context, Setting(experiment, dataset, name, k)) for k in run.algorithms.get(name, [])]
    return found


def _line(context: Shown, setting: Setting) -> Line:
    seeds = context.config.seeds(setting.experiment)
    runs = [asdict(one) for seed in seeds if (one := error_bound.of_run(context, setting, seed)) is not None]
    means: dict[str, Any] = {name: t_interval([run[name] for run in runs]).mean for name in (runs[0] if runs else ())}
    return setting._asdict() | {"n_seeds": len(runs)} | means


def table(_: Shown, found: list[Line]) -> Table:
    """A pair of columns per part: what was measured, and what the theorem says."""
    rows = []
    for line in found:
        own = [Cell(f"{line['kappa']:g}")]
        for part in PARTS:
            own += [_cell(line, part), _cell(line, f"{part}_bound", line.get(part, 0.0))]
        rows.append(([cells.text(style.dataset_title(line["dataset"]))], own))
    groups = [("", 2), ("between ranks", 2), ("surrogate", 2), ("sample", 2), ("slack beyond κ, test rows", 2)]
    return cells.blocks(groups, ["dataset", "κ", *["measured", "bound"] * len(PARTS)], rows)


def _cell(line: Line, name: str, measured: float | None = None) -> Cell:
    """A number; of a bound, whether it holds, and grey where it says nothing since no share exceeds 1."""
    if not line["n_seeds"]:
        return Cell("not run", "none")
    value = line[name]
    if measured is None:
        return Cell(f"{value:.4f}")
    if measured > value:
        return Cell(f"{value:.3f}", "bad", "exceeded")
    return Cell(f"{value:.3f}", "none" if value >= 1 else "number", "says nothing" if value >= 1 else "")


KIND = Kind.of(ErrorBound, COLUMNS, lines, table=table)
