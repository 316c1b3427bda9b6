"""Settings that the AUC fairness paper prints, beside those of the grid, its data and its trained models."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.errors import PartialFairError
from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.verdicts import scorecard
from partialfair.verdicts.evidence import Outcome
from partialfair.verdicts.published import Published

COLUMNS = ("dataset", "algorithm", "setting", "metric", "published", "reproduced", "tolerance", "verdict", "note")
Read = Callable[[Context, Published], Outcome]


def _known(value: float, source: str) -> Outcome:
    return Outcome(Estimate(float(value), math.nan, math.nan, math.nan, 1), source=source)


def _settings(context: Context, algorithm: str) -> tuple[Any, str] | None:
    """Settings of an algorithm in the first experiment of the exhibit that runs it, and that experiment."""
    for name in context.experiments:
        experiment = context.config.experiment(name)
        if any(algorithm in run.algorithms for run in experiment.runs.values()):
            merged = context.config.algorithm_settings(name, algorithm)
            return plugins.load("algorithms", algorithm).ALGORITHM.settings_model(**merged), name
    return None


def setting(attribute: str, algorithm: str = "", scale: float = 1.0) -> Read:
    """Read one setting of an algorithm, by default of the one that the published row names."""

    def read(context: Context, row: Published) -> Outcome:
        found = _settings(context, algorithm or row.algorithm)
        if found is None:
            return Outcome(None, f"no experiment runs {algorithm or row.algorithm}")
        return _known(scale * getattr(found[0], attribute), f"{attribute} of {algorithm or row.algorithm}")

    return read


def candidate(attribute: str) -> Read:
    """Whether a published candidate is among those that the grid tries."""

    def read(context: Context, row: Published) -> Outcome:
        algorithm = row.algorithm or "sfls"
        found = _settings(context, algorithm)
        if found is None:
            return Outcome(None, f"no experiment runs {algorithm}")
        tried = getattr(found[0], attribute)
        tried = tried if isinstance(tried, tuple) else (tried,)
        if not any(math.isclose(value, row.value) for value in tried):
            return Outcome(None, f"the grid does not try it; {attribute} = {', '.join(f'{v:g}' for v in tried)}")
        return _known(row.value, f"among the {attribute} of {algorithm} in the grid")

    return read


def split_fraction(context: Context, row: Published) -> Outcome:
    """Share of the rows that were split at random which a part got, in the stored split of the first seed."""
    folder = context.root / "data" / "processed" / row.dataset / "splits"
    paths = sorted(folder.glob("seed=*.npz"))
    if not paths:
        return Outcome(None, f"{row.dataset} has not been split")
    rule = plugins.load("datasets", row.dataset).SPEC.split
    with np.load(paths[0], allow_pickle=False) as stored:
        sizes = {part: len(stored[part]) for part in ("train", "validation", "test")}
    drawn = sum(size for part, size in sizes.items() if not (rule.published_test and part == "test"))
    part = {"train": "train", "val": "validation", "test": "test"}[split_part(row)]
    return _known(sizes[part] / drawn, f"{sizes[part]} of {drawn} rows")


def split_part(row: Published) -> str:
    """Part of the data a row speaks of; the published table has it in a column of its own."""
    return _SPLITS[row.dataset, row.value]


_SPLITS = {
    ("a9a", 0.9): "train", ("a9a", 0.1): "val", ("bank", 0.6): "train", ("bank", 0.2): "test",
    ("compas", 0.6): "train", ("compas", 0.2): "test",
}  # fmt: skip


def age(take: Callable[[Any], Any]) -> Read:
    """An end of the age range of the group "age 25 to 60" of bank, in its prepared table."""

    def read(context: Context, row: Published) -> Outcome:
        from partialfair.tables.dataset import Dataset

        try:
            table = Dataset.load(context.root / "data" / "processed" / row.dataset / "table.npz")
        except PartialFairError as error:
            return Outcome(None, str(error))
        column = table.X[:, [table.feature_names.index("age")]]
        ages = np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
        return _known(float(take(ages[table.group == 1])), "prepared table")

    return read


def repeats(context: Context, row: Published) -> Outcome:
    """Number of seeds: the smallest among the experiments."""
    counts = {name: len(context.config.seeds(name)) for name in context.experiments}
    few = min(counts, key=lambda name: counts[name])
    return _known(counts[few], f"seeds of {few}")


def layers(context: Context, row: Published) -> Outcome:
    """Affine layers of the network, as it is built."""
    found = _settings(context, "iqrc")
    if found is None:
        return Outcome(None, "no experiment runs iqrc")
    from partialfair.models.stacked import StackedMLP

    return _known(len(StackedMLP(1, (found[0].hidden,)).shapes), "layers of the network of iqrc")


def reference(context: Context, row: Published) -> Outcome:
    """AUC of a sample against itself, by the metric's own code."""
    from partialfair.metrics.on_request.auc_gap import auc_between

    everybody = np.ones(97, np.bool_)
    return _known(auc_between(np.sin(np.arange(97.0)), everybody, everybody), "computed")


READERS: Mapping[str, Read] = {
    "split_fraction": split_fraction,
    "group_age_min": age(np.min),
    "group_age_max": age(np.max),
    "n_repeats": repeats,
    "hidden_units": setting("hidden", "iqrc"),
    "n_layers": layers,
    "c1": candidate("c1"),
    "c2": setting("c2", "sfls"),
    "theta": setting("theta"),
    "c": candidate("constants"),
    "w1_min": setting("largest_scale", "auc_post_processing", 0.0),
    "w1_max": setting("largest_scale", "auc_post_processing"),
    "w1_step": setting("scale_step", "auc_post_processing"),
    "w2_min": setting("largest_shift", "auc_post_processing", -1.0),
    "w2_max": setting("largest_shift", "auc_post_processing"),
    "w2_step": setting("shift_step", "auc_post_processing"),
    "batch_size": setting("batch", "sfls"),
    "rho_hat": setting("proximal"),
    "reference_auc": reference,
}


def reproduce(context: Context, row: Published) -> Outcome:
    """What the project uses for a printed setting."""
    read = READERS.get(row.metric)
    return Outcome(None, "nothing to compare it with") if read is None else read(context, row)


def lines(context: Context) -> list[dict[str, Any]]:
    """One line per printed setting."""
    return [scorecard.compare(context, row, reproduce) for row in context.published]


def table(context: Context) -> Table:
    """Printed settings beside those in use."""
    rows = []
    for line in lines(context):
        kind = {"reproduced": "good", "differs": "bad"}.get(line["verdict"], "none")
        found = "–" if line["verdict"] == "not run" else f"{line['reproduced']:g}"
        where = " ".join(
            filter(None, [style.dataset_title(line["dataset"]) if line["dataset"] else "", line["algorithm"]])
        )
        rows.append(
            [
                cells.text(where or "all"),
                cells.text(str(line["metric"])),
                Cell(str(line["setting"]), "text wrap"),
                Cell(f"{line['published']:g}", "published"),
                Cell(found, kind),
                Cell(str(line["verdict"]), kind),
                Cell(str(line["note"]), "text wrap"),
            ]
        )
    return Table([], ["of", "setting", "where printed", "published", "in use", "verdict", "note"], rows)


def render(context: Context) -> list[Path]:
    """Write the settings as CSV and HTML."""
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    page = cells.write_html(context.path("html"), title, caption, cells.html(table(context)))
    return [cells.write_csv(context.path("csv"), COLUMNS, lines(context)), page]


def fragment(context: Context) -> str:
    """Return the settings as a table."""
    return cells.html(table(context))


KINDS = {"auc_protocol": Kind(render, fragment, reproduce, needs_results=False)}
