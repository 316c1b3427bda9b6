"""Numbers that a paper states of its data and settings, compared with the prepared tables and the grid.

The exhibit's entry says for each stated number, by its name in ``published.csv``, where the project's number comes
from; nothing is taken from the published value. Two numbers are equal if ours rounds to the printed digits.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from partialfair import plugins
from partialfair.data.dataset import Dataset
from partialfair.metrics.uncertainty import Estimate
from reproduction.datasets.named import named_dataset
from reproduction.grid import paths
from reproduction.grid.params import StrictModel
from reproduction.verdicts.evidence import Evidence, ReproducedNumber
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.published import Published
from reproduction.verdicts.run_scores import rows_of

_MEMBERSHIP = "in_group:"  # columns that say whether a row belongs to a group


class InGrid(StrictModel):
    """A statement that is checked against a setting of an algorithm in the grid."""

    setting: str = Field(description="path in its settings, as in variants.theory.eta; {table} is the prepared table")
    algorithm: str | None = Field(None, description="whose, if not the published row's")
    experiment: str | None = Field(None, description="where, if not in the first experiment that runs the algorithm")
    use: Literal["value", "length", "among", "weights"] = Field(
        "value",
        description="its value, its number of entries, the entry that is stated, or the weights of such a network",
    )
    times: float = Field(1.0, description="factor between our unit and the paper's")


class InTable(StrictModel):
    """A count of a prepared table."""

    count: Literal["rows", "columns", "groups", "memberships", "share", "positive_share", "raw_rows", "min", "max"]
    part: str | None = Field(None, description="of the split, if not the published row's")
    group: int | None = Field(None, description="of the rows of this group alone")
    column: str | None = Field(None, description="of which min or max is taken")
    plus: int = Field(0, description="what the paper counts and the table stores apart, such as the label")


class InRaw(StrictModel):
    """Distinct values of a column of the raw file."""

    distinct: str


class InFiles(StrictModel):
    """Rows of raw files together: lines that are neither empty nor comments."""

    lines_of: list[str] = Field(description="bare names, in the raw folder of the dataset")
    comment: str = Field("|", description="what a line begins with that is no row")


class OfRuns(StrictModel):
    """A count of the exhibit's runs."""

    runs: Literal["seeds", "problems", "constrained", "kappa"]
    algorithms: list[str] = Field([], description="whose problems are counted")
    experiments: list[str] = Field([], description="where; in all of the exhibit by default")


class Absent(StrictModel):
    """A number for which the project has no counterpart."""

    absent: str = Field(description="why")


class ByConstruction(StrictModel):
    """A number that holds by the construction of the method or of the grid; nothing is looked up."""

    by_construction: str = Field(description="of what")


_Source = InGrid | InTable | InRaw | InFiles | OfRuns | ByConstruction | Absent
_Value = tuple[float | None, str]


class StatedSources(StrictModel):
    """The sources of the project's counterparts to the numbers that a paper states."""

    sources: dict[str, _Source] = Field(description="by name, or by algorithm.name or dataset.name, or by dataset")
    tables: dict[str, str] = Field({}, description="prepared table that stands for a dataset of the paper")
    parts: dict[str, list[str]] = Field(
        {"train": ["train"], "val": ["validation"], "unlabeled": ["validation"], "test": ["test"]},
        description="parts of the stored splits that stand for one of the paper",
    )
    places: dict[str, str] = Field({}, description="experiment that stands for a place of the paper (where=...)")
    remarks: dict[str, str] = Field({}, description="by the same names as the sources")


def reproduce(evidence: Evidence[Any], row: Published, stated: StatedSources) -> ReproducedNumber:
    """Return the project's counterpart of one stated number, with the verdict whether the two are equal."""
    source, note = _entry(stated.sources, row), _entry(stated.remarks, row) or ""
    if isinstance(source, ByConstruction):
        return ReproducedNumber(None, source.by_construction, kind="setting", verdict="by construction")
    if source is None or isinstance(source, Absent):
        return ReproducedNumber(
            None, source.absent if source is not None else "nothing here to compare it with", kind="setting"
        )
    value, where = _READERS[type(source)](evidence, row, stated, source)
    if value is None:
        return ReproducedNumber(None, note, where, kind="setting")
    if math.isnan(value):  # not among those tried
        return ReproducedNumber(None, note, where, kind="setting", verdict="differs from the paper")
    verdict = "as stated" if abs(value - row.value) <= _half_unit(row.value) else "differs from the paper"
    return ReproducedNumber(
        Estimate(value, math.nan, math.nan, math.nan, 1), note, where, kind="setting", verdict=verdict
    )


def _entry(entries: Mapping[str, Any], row: Published) -> Any:
    """Return the entry of a number by its most particular name; ``None`` if there is no entry."""
    names = (f"{row.algorithm}.{row.metric}", f"{row.dataset}.{row.metric}", row.metric, row.dataset)
    return next((entries[name] for name in names if name in entries), None)


def _half_unit(value: float) -> float:
    """Return half a unit of the last printed digit; a rounding error for whole numbers and for those below 0.0001."""
    digits = len(repr(value).partition(".")[2]) if value != int(value) and "e" not in repr(value) else 0
    return (0.5 * 10.0**-digits if digits else 0.0) + 1e-9 * abs(value)


def _in_grid(evidence: Evidence[Any], row: Published, stated: StatedSources, source: InGrid) -> _Value:
    algorithm = source.algorithm or row.algorithm
    config = evidence.config
    named_experiment = source.experiment or stated.places.get(row.options.get("where", ""))
    planned = (
        name
        for name in evidence.experiments
        for run in config.experiment(name).runs.values()
        if algorithm in run.algorithms
    )
    experiment = named_experiment or next(planned, None)
    if experiment is None:
        return None, f"no experiment runs {algorithm}"
    if _is_left_out(evidence, experiment):
        return None, f"{experiment}, which says so, is not part of this page"
    model = plugins.load("algorithms", algorithm).ALGORITHM.settings
    table = stated.tables.get(row.dataset, row.dataset)
    path = source.setting.format(table=table)
    value: Any = model(**config.algorithm_settings(experiment, algorithm))
    for name in path.split("."):
        value = _entry_of(value, name)
    where = f"{path} of {algorithm} in {experiment}"
    if source.use == "among":
        tried = value if isinstance(value, tuple | list) else (value,)
        match = next((tried_value for tried_value in tried if math.isclose(tried_value, row.value)), math.nan)
        return match, f"{where}: {', '.join(f'{tried_value:g}' for tried_value in tried)}"
    if source.use == "weights" and not _is_prepared(evidence, table):
        return None, f"{table} has not been prepared"
    if source.use == "weights":
        sizes = [rows_of(evidence.root, table, "", 0).n_features, *value, 1]
        return float(
            sum((a + 1) * b for a, b in zip(sizes, sizes[1:], strict=False))
        ), f"a network of {path} of {experiment}"
    return float(len(value)) if source.use == "length" else source.times * float(value), where


def _entry_of(value: Any, name: str) -> Any:
    """Return an entry of a mapping or a sequence, or an attribute."""
    if isinstance(value, Mapping):
        return value[name]
    return value[int(name)] if name.isdigit() else getattr(value, name)


def _in_table(evidence: Evidence[Any], row: Published, stated: StatedSources, source: InTable) -> _Value:
    name, seed = stated.tables.get(row.dataset, row.dataset), evidence.config.seeds(evidence.experiments[0])[0]
    if not _is_prepared(evidence, name):
        return None, f"{name} has not been prepared"
    spec = named_dataset(name, evidence.config.dataset_options(name)).spec
    if source.count == "raw_rows":
        return spec.n_rows and float(spec.n_rows), f"the number of rows that {name} is checked to have"
    split_names = stated.parts.get(source.part or row.split, [])
    rows = rows_of(evidence.root, name, "+".join(split_names), seed)
    if source.group is not None:
        rows = rows.take(np.flatnonzero(rows.group == source.group))
    where = f"counted in the table {name}" + (
        f", {' and '.join(split_names)} rows of seed {seed}" if split_names else ""
    )
    if source.count == "share":
        drawn = [
            split_name
            for split_name in ("train", "validation", "test")
            if not (spec.split.published_test and split_name == "test")
        ]
        return rows.n_rows / rows_of(evidence.root, name, "+".join(drawn), seed).n_rows, where
    return _COUNTS[source.count](rows, source) + source.plus, where


_COUNTS: Mapping[str, Callable[[Dataset, InTable], float]] = {
    "rows": lambda rows, _: rows.n_rows,
    "columns": lambda rows, _: sum(not name.startswith(_MEMBERSHIP) for name in rows.feature_names),
    "memberships": lambda rows, _: sum(name.startswith(_MEMBERSHIP) for name in rows.feature_names),
    "groups": lambda rows, _: rows.n_groups,
    "positive_share": lambda rows, _: float((rows.y > 0).mean()),
    "min": lambda rows, source: float(_column(rows, source.column).min()),
    "max": lambda rows, source: float(_column(rows, source.column).max()),
}


def _is_prepared(evidence: Evidence[Any], table: str) -> bool:
    return is_here(evidence.root / paths.table(table))


def _column(rows: Dataset, name: str | None) -> Any:
    values = rows.X[:, [list(rows.feature_names).index(str(name))]]
    return values.toarray() if hasattr(values, "toarray") else values


def _in_raw(evidence: Evidence[Any], row: Published, stated: StatedSources, source: InRaw) -> _Value:
    spec = named_dataset(row.dataset, evidence.config.dataset_options(row.dataset)).spec
    path = spec.directory(evidence.root / "data" / "raw") / spec.files[0].name
    if not is_here(path):
        return None, "the raw file is not in this folder; make data brings it"
    return float(pd.read_csv(path, usecols=[source.distinct])[source.distinct].nunique()), "counted in the raw file"


def _in_files(evidence: Evidence[Any], row: Published, stated: StatedSources, source: InFiles) -> _Value:
    name = stated.tables.get(row.dataset, row.dataset)
    folder = named_dataset(name, evidence.config.dataset_options(name)).spec.directory(evidence.root / "data" / "raw")
    count = 0
    for file in source.lines_of:
        if not is_here(folder / file):
            return None, f"the raw file {file} is not in this folder; make data brings it"
        with (folder / file).open(encoding="utf-8", errors="replace") as lines:
            count += sum(bool(line.strip()) and not line.startswith(source.comment) for line in lines)
    return float(count), f"rows of {' and '.join(source.lines_of)}"


def _is_left_out(evidence: Evidence[Any], experiment: str) -> bool:
    """Whether the grid is restricted to other experiments; one that the whole grid lacks is a mistake."""
    return experiment not in evidence.config.experiments and not evidence.config.whole


def _of_runs(evidence: Evidence[Any], row: Published, stated: StatedSources, source: OfRuns) -> _Value:
    if left_out := [name for name in source.experiments if _is_left_out(evidence, name)]:
        return None, f"{' and '.join(left_out)}, whose runs are counted, are not part of this page"
    experiments = {name: evidence.config.experiment(name) for name in source.experiments or evidence.experiments}
    runs = [(e.constraint, dataset, run) for e in experiments.values() for dataset, run in e.runs.items()]
    if source.runs == "seeds":
        smallest = min(experiments, key=lambda name: len(evidence.config.seeds(name)))
        return float(len(evidence.config.seeds(smallest))), f"seeds of {smallest}"
    if source.runs == "problems":
        pairs = {(constraint, dataset) for constraint, dataset, run in runs if {*source.algorithms} & {*run.algorithms}}
        return float(len(pairs)), "pairs of dataset and constraint in this exhibit's experiments"
    if source.runs == "constrained":
        names = {name for *_, run in runs for name in run.algorithms}
        constrained = sorted(name for name in names if plugins.load("algorithms", name).ALGORITHM.constrained)
        return float(len(constrained)), f"constrained methods of {', '.join(experiments)}: {', '.join(constrained)}"
    kappas = {
        kappa
        for *_, run in runs
        for method_kappas in run.algorithms.values()
        for kappa in method_kappas
        if math.isfinite(kappa)
    }
    return (kappas.pop(), "kappa of the runs") if len(kappas) == 1 else (None, "the runs have several tolerances")


_READERS: Mapping[type, Callable[[Evidence[Any], Published, StatedSources, Any], _Value]] = {
    InGrid: _in_grid, InTable: _in_table, InRaw: _in_raw, InFiles: _in_files, OfRuns: _of_runs,
}  # fmt: skip
