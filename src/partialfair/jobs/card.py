"""Model cards: what a trained model is, what it was measured to do, and what must not be concluded from it.

The sections follow Mitchell et al., *Model Cards for Model Reporting* (2019). A card is rendered from the files of the
run folder and states nothing that is not in them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.datasets.named import named_dataset
from partialfair.errors import DataError, PartialFairError
from partialfair.models.stored import load_model
from partialfair.tables.files import atomic_path, read_json
from partialfair.tables.intervals import Interval, format_interval, measure

NAME = "model_card.md"
SPLITS = ("train", "validation", "test")
FEW_ROWS = 30
"""Rows of a group inside the interval below which the card warns."""

LIMITS = (
    "A satisfied constraint is a statement about the scores of the training rows within the interval. It does not say "
    "that scores outside the interval agree, that other rows satisfy it to the same tolerance, that subgroups agree, "
    "that similar persons are treated alike, or that the label is free of bias.",
    "Confidence intervals cover the sampling of test rows, not the choice of data, labels, split or seed.",
)


def write(folder: str | Path, model_path: str | Path | None = None, fit_json: str | Path | None = None) -> Path:
    """Write the card of a run into its folder; see :func:`render`."""
    target = Path(folder) / NAME
    text = render(folder, model_path, fit_json)
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
    return target


def render(folder: str | Path, model_path: str | Path | None = None, fit_json: str | Path | None = None) -> str:
    """Return the card of an evaluated run as Markdown.

    Args:
        folder: run folder with ``metrics.json`` and ``scores.parquet``.
        model_path: the model; by default ``model.npz`` of the folder.
        fit_json: the record of the training; by default ``fit.json`` of the folder.

    Raises:
        DataError: a file is missing or unreadable.
    """
    run = Path(folder)
    try:
        fit, metrics = read_json(fit_json or run / "fit.json"), read_json(run / "metrics.json")
    except (OSError, ValueError) as error:
        raise DataError(f"{run}: no evaluated run ({error}); give a run folder, or evaluate the run first") from error
    model = load_model(model_path or run / "model.npz")
    names = tuple(getattr(model, "group_names", ()))
    counts = _counts(run / "scores.parquet", len(names))
    sections = (
        _model(fit, model),
        _use(fit),
        _data(fit, names, counts, not _is_regression(model)),
        _constraint(fit, metrics),
        _metrics(metrics),
        _limits(fit, metrics, names, counts),
        _provenance(fit),
    )
    return "\n".join(line for section in sections for line in (*section, "")).rstrip() + "\n"


def _model(fit: Mapping[str, Any], model: Any) -> Iterator[str]:
    kappa = "inf" if fit["kappa"] is None else f"{fit['kappa']:g}"
    yield f"# Model card: {fit['dataset']}, {fit['algorithm']}, kappa {kappa}, seed {fit['seed']}"
    yield ""
    yield f"Experiment `{fit['experiment']}`. Status: **{fit['status']}**" + (
        f", {fit['reason']}." if fit.get("reason") else "."
    )
    yield ""
    if fit["status"] != "ok":
        yield "The status says that this model should not be used: its numbers document a run, not a result."
        yield ""
    yield "## Model"
    yield ""
    kind = "linear score" if type(model).__name__ == "LinearScore" else "score model"
    groups = "with an intercept and coefficients per group" if model.uses_group else "that does not use the group"
    needs = "Prediction needs the group." if model.uses_group else "Prediction does not need the group."
    if _is_regression(model):
        yield f"A predictor of a real-valued label, made by `{fit['algorithm']}`. {needs}"
    else:
        loss = fit.get("loss", "logistic")
        yield f"A {kind} {groups}, trained by `{fit['algorithm']}` on the {_chosen(loss)} loss. A positive score is a"
        yield f"positive decision. {needs}"
    for title, content in (("Settings", fit["settings"]), ("Chosen on validation rows", fit.get("selected") or {})):
        if content:
            yield ""
            yield f"{title}: " + ", ".join(f"`{key}` = `{value}`" for key, value in content.items()) + "."


def _is_regression(model: Any) -> bool:
    """Whether a model predicts numbers, so that the sign of a label means nothing."""
    return hasattr(model, "predictions")


def _chosen(choice: Any) -> str:
    return plugins.chosen(choice)[0].replace("_", " ")


def _use(fit: Mapping[str, Any]) -> Iterator[str]:
    yield "## Intended use"
    yield ""
    yield "To compare algorithms under a fairness constraint, on the same splits and metrics. The model was not made"
    yield "nor examined for decisions about people; whoever uses it for one states purpose, population and review here:"
    yield ""
    yield "> not stated"


def _data(fit: Mapping[str, Any], names: Sequence[str], counts: Mapping[str, Any], classes: bool) -> Iterator[str]:
    yield "## Data"
    yield ""
    yield f"`{fit['dataset']}`" + _declared(fit)
    if not counts:
        return
    yield ""
    what = "rows (positive)" if classes else "rows"
    yield "| group | " + " | ".join(f"{split} {what}" for split in counts) + " |"
    yield "|---|" + "---|" * len(counts)
    for code, name in enumerate(names):
        cells = []
        for rows, positive in counts.values():
            share = f"{positive[code] / rows[code]:.1%}" if rows[code] else "none"
            cells.append(f"{rows[code]:,} ({share})" if classes else f"{rows[code]:,}")
        yield f"| {name} | " + " | ".join(cells) + " |"


def _declared(fit: Mapping[str, Any]) -> str:
    """Return what the dataset's declaration says, if its module is still there."""
    try:
        spec = named_dataset(fit["dataset"], fit.get("dataset_options")).spec
    except PartialFairError:
        return "."
    return f" ({spec.title}). Label: {spec.label}. Groups: {spec.groups}. Terms of use: {spec.licence or 'not stated'}."


def _constraint(fit: Mapping[str, Any], metrics: Mapping[str, Any]) -> Iterator[str]:
    yield "## Constraint"
    yield ""
    module = plugins.load("constraints", fit["constraint"])
    interval = format_interval(fit["interval"])
    measured_on = (metrics.get("settings") or {}).get("interval", fit["interval"])
    if fit["kappa"] is None:
        yield f"None. The metrics below refer to {module.TITLE} on the ranks {format_interval(measured_on)}."
        return
    certificate = fit.get("certificate") or {}
    yield f"{module.TITLE[:1].upper()}{module.TITLE[1:]} on the ranks {interval} (0 = highest score of a group)."
    if certificate and certificate.get("true_violation") is None:
        yield f"Kappa {fit['kappa']:g} is a parameter of the algorithm itself; it bounds nothing in this family,"
        yield "which is what the metrics report."
    else:
        yield f"Kappa {fit['kappa']:g} ({fit['kappa_scale']} scale), at {fit['grid']} ranks where there is a grid."
    facts = [
        ("largest smoothed constraint value (at most 0: satisfied)", certificate.get("max_violation")),
        ("the same with steps in place of the smoothed ones", certificate.get("true_violation")),
        _optimality(certificate),
    ]
    yield ""
    yield "| on the training rows | value |"
    yield "|---|---|"
    for title, value in facts:
        if value is not None:
            yield f"| {title} | {_number(value)} |"
    yield ""
    violation = module.VIOLATION[fit["kappa_scale"]]
    shown = [split for split in SPLITS if split in metrics["splits"]]
    values = ", ".join(f"{split} {_number(metrics['splits'][split].get(violation))}" for split in shown)
    where = format_interval(measured_on)
    yield f"Measured by `{violation}` on the ranks {where}: {values}{_bracket(metrics, violation)}."


def _optimality(certificate: Mapping[str, Any]) -> tuple[str, float | None]:
    """Name and value of the certificate; files written before it had a kind have a KKT residual."""
    kinds = {"kkt": "KKT residual", "gradient_mapping": "norm of the gradient mapping", "duality_gap": "duality gap"}
    if certificate.get("kind") is None:
        return "optimality residual", certificate.get("kkt_residual")
    return f"{kinds[certificate['kind']]}; unit: {certificate['relative_to']}", certificate["value"]


def _bracket(metrics: Mapping[str, Any], name: str) -> str:
    ends = metrics["bootstrap"].get("test", {}).get(name)
    return f" (test interval {_number(ends[0])} to {_number(ends[1])})" if ends else ""


def _metrics(metrics: Mapping[str, Any]) -> Iterator[str]:
    yield "## Metrics"
    yield ""
    if not metrics["splits"]:
        yield f"None: the run has no usable model ({metrics.get('reason') or metrics['status']})."
        return
    level = ((metrics.get("settings") or {}).get("bootstrap") or {}).get("level", 0.95)
    yield f"| metric | train | validation | test | {level:.0%} interval (test) |"
    yield "|---|---|---|---|---|"
    for name in sorted({name for values in metrics["splits"].values() for name in values}):
        values = [_number(metrics["splits"].get(split, {}).get(name)) for split in SPLITS]
        ends = metrics["bootstrap"].get("test", {}).get(name)
        bracket = f"{_number(ends[0])} to {_number(ends[1])}" if ends else ""
        yield f"| `{name}` | " + " | ".join(values) + f" | {bracket} |"
    reasons = {reason for split in (metrics.get("not_estimable") or {}).values() for reason in split.values()}
    for reason in sorted(reasons):
        yield ""
        yield f"Not estimable: {reason}."


def _limits(
    fit: Mapping[str, Any], metrics: Mapping[str, Any], names: Sequence[str], counts: Mapping[str, Any]
) -> Iterator[str]:
    yield "## Limits"
    yield ""
    for text in LIMITS:
        yield f"- {text}"
    interval = (metrics.get("settings") or {}).get("interval", fit["interval"])
    unions = Interval.of(interval).for_groups(len(names)) if names else ()
    for code, name in enumerate(names if "test" in counts else ()):
        inside = int(counts["test"][0][code] * measure(unions[code]))
        if inside < FEW_ROWS:
            yield f"- The interval keeps about {inside} test rows of group {name}: its numbers are uncertain."
    if fit["status"] == "ok" and fit["kappa"] is None:
        yield "- No constraint was imposed: differences between groups are those that minimise the loss."


def _provenance(fit: Mapping[str, Any]) -> Iterator[str]:
    yield "## Provenance"
    yield ""
    time = fit.get("time") or {}
    facts = {
        "source revision": fit.get("git_revision") or "not in a checkout",
        "hash of the code that can run": fit.get("closure_hash"),
        "versions": ", ".join(f"{name} {version}" for name, version in (fit.get("versions") or {}).items()),
        "processor time of training": f"{time['cpu_seconds']:.1f} s" if "cpu_seconds" in time else None,
        "sha256 of the table": (fit.get("inputs") or {}).get("table"),
        "sha256 of the split": (fit.get("inputs") or {}).get("split"),
        "sha256 of the model": (fit.get("outputs") or {}).get("model.npz"),
    }
    yield "| fact | value |"
    yield "|---|---|"
    for title, value in facts.items():
        if value:
            yield f"| {title} | {value} |"


def _counts(path: Path, n_groups: int) -> dict[str, tuple[Any, Any]]:
    """Return rows and positive rows of every group (G,) by split, from the score file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(
            path
        ) as file:  # read_table would import pandas: more than half of an evaluation's time
            table = file.read(columns=["split", "group", "y"])
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: not a readable score file ({error}); evaluate the run again") from error
    if not table.num_rows:
        return {}
    parts = table.column("split").combine_chunks().dictionary_encode()
    split, known = np.from_dlpack(parts.indices), parts.dictionary.to_pylist()  # to_numpy would import pandas, too
    group, y = (np.from_dlpack(table.column(name).combine_chunks()) for name in ("group", "y"))
    counted = {}
    for name in SPLITS:
        rows = split == (known.index(name) if name in known else -1)
        size = max(n_groups, int(group.max()) + 1)
        counted[name] = np.bincount(group[rows], minlength=size), np.bincount(group[rows & (y > 0)], minlength=size)
    return counted


def _number(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "not estimable"
    return f"{value:.1e}" if 0 < abs(value) < 5e-4 else f"{value:.3f}"
