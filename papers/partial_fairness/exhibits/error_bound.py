"""The generalisation bound beside what it bounds: surrogate, sampling and discretisation error of trained models."""

from dataclasses import asdict, fields
from typing import Any

from pydantic import Field

from partialfair.metrics.uncertainty import t_interval
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.verdicts import error_bound
from reproduction.verdicts.error_bound import ErrorParts
from reproduction.verdicts.results import Setting

PARTS = ("discretisation", "surrogate", "sampling", "total")
COLUMNS = ("experiment", "dataset", "algorithm", "kappa", "n_seeds", *(field.name for field in fields(ErrorParts)))


class ErrorBound(Options):
    """Terms of the generalisation bound for the models of one algorithm."""

    algorithm: str = Field(description="whose models are looked at; they have a threshold per rank of the grid")


ErrorBoundContext = Context[ErrorBound]


def csv_lines(context: ErrorBoundContext) -> list[Line]:
    """Return one line per dataset and kappa, means over seeds: ``COLUMNS``."""
    lines = []
    for experiment in context.experiments:
        for dataset, run in context.config.experiment(experiment).runs.items():
            name = context.options.algorithm
            lines += [
                _line(context, Setting(experiment, dataset, name, kappa)) for kappa in run.algorithms.get(name, [])
            ]
    return lines


def _line(context: ErrorBoundContext, setting: Setting) -> Line:
    seeds = context.config.seeds(setting.experiment)
    runs = [
        asdict(terms) for seed in seeds if (terms := error_bound.error_parts_of_run(context, setting, seed)) is not None
    ]
    means: dict[str, Any] = {name: t_interval([run[name] for run in runs]).mean for name in (runs[0] if runs else ())}
    return setting._asdict() | {"n_seeds": len(runs)} | means


def table(_: ErrorBoundContext, lines: list[Line]) -> Table:
    """Return a pair of columns per term: the measured value, and the theorem's bound."""
    rows = []
    for line in lines:
        row_cells = [Cell(f"{line['kappa']:g}")]
        for term in PARTS:
            row_cells += [_cell(line, term), _cell(line, f"{term}_bound", line.get(term, 0.0))]
        rows.append(([cells.text(style.dataset_title(line["dataset"]))], row_cells))
    groups = [("", 2), ("between ranks", 2), ("surrogate", 2), ("sample", 2), ("slack beyond κ, test rows", 2)]
    return cells.blocks(groups, ["dataset", "κ", *["measured", "bound"] * len(PARTS)], rows)


def _cell(line: Line, name: str, measured: float | None = None) -> Cell:
    """Return a number, or a bound in the colour of whether it holds; grey from 1 on, which no share exceeds."""
    if not line["n_seeds"]:
        return Cell("not run", "none")
    value = line[name]
    if measured is None:
        return Cell(f"{value:.4f}")
    if measured > value:
        return Cell(f"{value:.3f}", "bad", "exceeded")
    return Cell(f"{value:.3f}", "none" if value >= 1 else "number", "says nothing" if value >= 1 else "")


KIND = ExhibitKind.from_lines(ErrorBound, COLUMNS, csv_lines, table=table)
