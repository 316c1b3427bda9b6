"""The content of a model card, read from the files of a run alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partialfair import plugins
from partialfair.algorithms.measure import MISSED
from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE
from partialfair.audit.sentences import title as plain_title
from partialfair.data.files import read_json
from partialfair.data.intervals import Interval, bounds, format_interval, measure
from partialfair.errors import DataError, PartialFairError
from partialfair.models.stored import load_model
from reproduction.cards.scored_rows import SPLITS, by_convention, group_table, scored_rows, split_table
from reproduction.datasets.named import named_dataset
from reproduction.grid import paths
from reproduction.grid.config import kappa_text

_SCALES = {"rank_gap": "sp", "rank_gap_full": "sp"}
"""Metrics that are one number on the whole range, by the stem of their names."""
_FEW_ROWS = 30
"""Rows of a group inside the interval below which the card warns."""
_LIMITS = (
    "A satisfied constraint is a statement about the scores of the training rows within the interval. It does not say "
    "that scores outside the interval agree, that other rows satisfy it to the same tolerance, that subgroups agree, "
    "that similar persons are treated alike, or that the label is free of bias.",
    "Confidence intervals cover the sampling of test rows, not the choice of data, labels, split or seed.",
)
_NOT_FOR = (
    "decisions about people: purpose, population and legal basis have not been reviewed",
    "rows of another population, time or coding than those of this card",
    "groups other than those of this card, or groups inside them",
    "statements about single persons: similar persons may be treated differently",
    "statements about causes: the card describes differences between groups and does not explain them",
)
WHOLE_RANGE = "No interval was chosen: the whole range of ranks, from 0 to 1, is constrained."


@dataclass(frozen=True)
class Content:
    """The facts of a card, in words; tables are header and rows.

    Attributes:
        groups: their names.
        title, summary: the run, and the violation on its test rows, in a sentence each.
        status: of the training, with the reason.
        caution: what a status other than "ok" means for the reader.
        model: sentences.
        settings, chosen: by name.
        made: by whom, from which source and by which command the model was made.
        not_for: uses that are out of scope.
        data: sentence; split_table: rows by group and split.
        group_table: rates of the groups on the test rows.
        whole_range: whether the interval is the whole range; constrained: whether there is a constraint.
        constraint: sentences; facts: measurements on the training rows; measured: the violation on each split.
        metric_table: value by metric and split.
        not_estimable: reasons.
        limits: sentences.
        provenance: checksums and versions.
    """

    groups: tuple[str, ...]
    title: str
    summary: str
    status: str
    caution: str
    model: list[str]
    settings: Mapping[str, Any]
    chosen: Mapping[str, Any]
    made: list[tuple[str, str]]
    not_for: Sequence[str]
    data: str
    split_table: tuple[list[str], list[list[str]]] | None
    group_table: tuple[list[str], list[list[str]]] | None
    level: str
    whole_range: bool
    constrained: bool
    constraint: list[str]
    facts: list[tuple[str, str]]
    measured: str
    metric_table: tuple[list[str], list[list[str]]] | None
    not_estimable: list[str]
    limits: list[str]
    provenance: list[tuple[str, str]]


def read(folder: Path, model_path: str | Path | None = None, fit_json: str | Path | None = None) -> Content:
    """Return the content of the card of an evaluated run.

    Raises:
        DataError: a file is missing or unreadable.
    """
    try:
        fit, metrics = read_json(fit_json or folder / paths.FIT), read_json(folder / paths.METRICS)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder}: no evaluated run ({error}); give a run folder, or evaluate the run first"
        ) from error
    stored = Path(model_path or folder / paths.MODEL)
    model = load_model(stored)
    groups = tuple(getattr(model, "group_names", ()))
    rows = scored_rows(folder / paths.SCORES, len(groups))
    regression = hasattr(model, "predictions")
    level = float(((metrics.get("settings") or {}).get("bootstrap") or {}).get("level", 0.95))
    kappa = "inf" if fit["kappa"] is None else f"{fit['kappa']:g}"
    constraint, facts, on_splits = _constraint(fit, metrics)
    reasons = {why for split in (metrics.get("not_estimable") or {}).values() for why in split.values()}
    empty = {} if regression else by_convention(metrics, rows, groups)
    return Content(
        groups=groups,
        title=f"{fit['dataset']}, {fit['algorithm']}, kappa {kappa}, seed {fit['seed']}",
        summary=_summary(fit, metrics, model),
        status=fit["status"] + (f", {fit['reason']}" if fit.get("reason") else ""),
        caution=_caution(fit["status"]),
        model=_model(fit, model, regression),
        settings=fit["settings"],
        chosen=fit.get("selected") or {},
        made=_made(fit),
        not_for=_NOT_FOR,
        data=f"`{fit['dataset']}`" + _declared(fit),
        split_table=split_table(groups, rows.counts, not regression),
        group_table=None if regression else group_table(rows, groups, _interval(fit, metrics), level),
        level=f"{level:.0%}",
        whole_range=is_whole(_interval(fit, metrics)),
        constrained=fit["kappa"] is not None,
        constraint=constraint,
        facts=facts,
        measured=on_splits,
        metric_table=_metric_table(metrics, level, empty, is_whole(_interval(fit, metrics))),
        not_estimable=sorted(reasons) + _listed(empty),
        limits=list(_limits(fit, metrics, groups, rows.counts)),
        provenance=_provenance(fit),
    )


def _interval(fit: Mapping[str, Any], metrics: Mapping[str, Any]) -> Any:
    """Return the ranks on which the metrics were measured."""
    return (metrics.get("settings") or {}).get("interval", fit["interval"])


def _violation(fit: Mapping[str, Any]) -> str:
    """Return the name of the metric that measures the constraint of a run."""
    return str(plugins.load("constraints", fit["constraint"]).VIOLATION[fit["kappa_scale"]])


def _kind(model: Any) -> str:
    return "linear score" if type(model).__name__ == "LinearScore" else "score model"


def _summary(fit: Mapping[str, Any], metrics: Mapping[str, Any], model: Any) -> str:
    """Return in plain words what the model is and how far it keeps the constraint on the test rows."""
    title = plugins.load("constraints", fit["constraint"]).TITLE
    aim = f"to keep {title} within {fit['kappa']:g}" if fit["kappa"] is not None else "without a constraint"
    noun = "predictor of a number" if hasattr(model, "predictions") else _kind(model)
    opening = f"A {noun} of `{fit['dataset']}`, trained by `{fit['algorithm']}` {aim} "
    opening += f"{_where(_interval(fit, metrics))}."
    if not metrics["splits"]:
        return f"{opening} The run has no usable model ({metrics.get('reason') or metrics['status']})."
    name = _violation(fit)
    value = metrics["splits"].get("test", {}).get(name)
    if value is None:
        return f"{opening} On the test rows, {_named(name)} was not measured."
    basis = f"Measured by: {_named(name)}."
    sentence = f"{opening} On the test rows, the violation is {number(value)}{_bracket(metrics, name)}"
    if fit["kappa"] is None or (fit.get("certificate") or {"true_violation": 0}).get("true_violation") is None:
        return f"{sentence}. {basis}"
    relation = "more than" if value > fit["kappa"] else "within"
    return f"{sentence}: {relation} the {fit['kappa']:g} that was asked for on the training rows. {basis}"


def _where(interval: Any) -> str:
    """Return in words the ranks of a constraint or a metric."""
    if is_whole(interval):
        return "on all ranks"
    return f"on the ranks {format_interval(interval)} (0 is the highest score of a group)"


def is_whole(interval: Any) -> bool:
    """Tell whether an interval is the whole range of ranks, of every group."""
    return all(measure(pairs) > 1 - 1e-12 for pairs in Interval.of(interval).unions)


def _named(name: str) -> str:
    """Return a metric's plain name with its code."""
    plain = _title(name)
    return f"{plain} (`{name}`)" if plain and plain != name else f"`{name}`"


def _caution(status: str) -> str:
    """Return what a status other than ok means for the reader of the card; empty for ok."""
    if status == "ok":
        return ""
    if status == MISSED:
        return "The model does not keep the tolerance that was asked for: read its numbers at what was measured."
    return "The status says that this model should not be used: its numbers document a run, not a result."


def _model(fit: Mapping[str, Any], model: Any, regression: bool) -> list[str]:
    groups = "with an intercept and coefficients per group" if model.uses_group else "that does not use the group"
    needs = "Prediction needs the group." if model.uses_group else "Prediction does not need the group."
    if regression:
        return [f"A predictor of a real-valued label, made by `{fit['algorithm']}`.", needs]
    loss = plugins.chosen(fit.get("loss", "logistic"))[0].replace("_", " ")
    trained = f"A {_kind(model)} {groups}, trained by `{fit['algorithm']}` on the {loss} loss."
    return [trained, "A positive score is a positive decision.", needs]


def _made(fit: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return who made the model, and the command that makes it again."""
    keys = ("experiment", "dataset", "algorithm")
    job = " ".join(f"--{name} {fit[name]}" for name in keys)
    # In full: the grid is asked for that very number.
    kappa = "inf" if fit["kappa"] is None else kappa_text(fit["kappa"])
    time = fit.get("time") or {}
    facts = {
        "Made by, owner, contact": "not stated",
        "Made with": f"partialfair, source revision {fit.get('git_revision') or 'not in a checkout'}",
        "Made again by": f"`partialfair train {job} --kappa {kappa} --seed {fit['seed']}`, with `--config` "
        "if the grid is not params.yaml",
        "Processor time of training": f"{time['cpu_seconds']:.1f} s" if "cpu_seconds" in time else "",
    }
    return [(title, value) for title, value in facts.items() if value]


def _declared(fit: Mapping[str, Any]) -> str:
    """Return the dataset's declaration in words; a full stop if its module is missing."""
    try:
        spec = named_dataset(fit["dataset"], fit.get("dataset_options")).spec
    except PartialFairError:
        return "."
    return f" ({spec.title}). Label: {spec.label}. Groups: {spec.groups}. Terms of use: {spec.licence or 'not stated'}."


def _constraint(fit: Mapping[str, Any], metrics: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, str]], str]:
    """Return the sentences on the constraint, the measurements on training rows, and the violation on all splits."""
    module = plugins.load("constraints", fit["constraint"])
    where = _where(_interval(fit, metrics))
    if fit["kappa"] is None:
        return [f"None. The metrics below refer to {module.TITLE} {where}."], [], ""
    certificate = fit.get("certificate") or {}
    title = f"{module.TITLE[:1].upper()}{module.TITLE[1:]}"
    sentences = [f"{title} {_where(fit['interval'])}.", *([WHOLE_RANGE] if is_whole(fit["interval"]) else [])]
    if certificate and certificate.get("true_violation") is None:
        sentences.append(
            f"Kappa {fit['kappa']:g} is a parameter of the algorithm itself; it bounds none of the metrics."
        )
    else:
        sentences.append(
            f"Kappa {fit['kappa']:g} ({fit['kappa_scale']} scale), at {fit['grid']} ranks where there is a grid."
        )
    metric = certificate.get("metric")
    facts = [
        ("largest smoothed constraint value (at most 0: satisfied)", certificate.get("max_violation")),
        ("up to which the method counts that as satisfied", certificate.get("accepted")),
        (
            f"the constraint itself, asked to be at most kappa: {metric and _named(metric)}",
            metric and certificate.get("train_violation"),
        ),
        ("by how much the constraint itself exceeds kappa (at most 0: satisfied)", certificate.get("true_violation")),
        _optimality(certificate),
    ]
    measured = [(name, number(value)) for name, value in facts if value is not None]
    violation = _violation(fit)
    splits = [split for split in SPLITS if split in metrics["splits"]]
    values = ", ".join(f"{split} {number(metrics['splits'][split].get(violation))}" for split in splits)
    return sentences, measured, f"Measured by {_named(violation)}, {where}: {values}{_bracket(metrics, violation)}."


def _optimality(certificate: Mapping[str, Any]) -> tuple[str, float | None]:
    """Return name and value of the certificate; records without its kind have a KKT residual."""
    kinds = {"kkt": "KKT residual", "gradient_mapping": "norm of the gradient mapping", "duality_gap": "duality gap"}
    if certificate.get("kind") is None:
        return "optimality residual", certificate.get("kkt_residual")
    return f"{kinds[certificate['kind']]}; unit: {certificate['relative_to']}", certificate["value"]


def _bracket(metrics: Mapping[str, Any], name: str) -> str:
    ends = metrics["bootstrap"].get("test", {}).get(name)
    return f" (test confidence interval {number(ends[0])} to {number(ends[1])})" if ends else ""


def _listed(empty: Mapping[str, str]) -> list[str]:
    """Return one line per reason, with the metrics for which it holds."""
    metrics: dict[str, list[str]] = {}
    for name in sorted(empty):
        metrics.setdefault(empty[name], []).append(_named(name))
    return [f"{', '.join(names)}, on the test rows: {why}" for why, names in metrics.items()]


def _metric_table(
    metrics: Mapping[str, Any], level: float, empty: Mapping[str, str], whole_range: bool
) -> tuple[list[str], list[list[str]]] | None:
    """Return a row per metric, without numbers for metrics in ``empty``; ``None`` without a model."""
    if not metrics["splits"]:
        return None
    rows = []
    for names in _lines(metrics, whole_range):
        name = names[0]
        measured = [metrics["splits"].get(split, {}).get(name) for split in SPLITS]
        values = ["–" if name in empty else number(value) for value in measured]
        intervals = [metrics["bootstrap"].get("test", {}).get(code) for code in names]
        ends = next(filter(None, intervals), None) if name not in empty else None
        title = _title(f"{name}_full" if f"{name}_full" in names else name)
        codes = ", ".join(f"`{code}`" for code in names)
        row = [f"{title} ({codes})" if title else codes, *values]
        rows.append([*row, f"{number(ends[0])} to {number(ends[1])}" if ends else "not computed"])
    return ["metric", *SPLITS, f"{level:.0%} confidence interval (test)"], rows


def _lines(metrics: Mapping[str, Any], whole_range: bool) -> list[list[str]]:
    """Return the codes of each line: quality first, then violations in the order of an audit, then others.

    On the whole range a violation on I, its absolute scale and its value on all ranks are one number, and one line.
    """
    names = sorted({name for values in metrics["splits"].values() for name in values})
    order = {name: position for position, name in enumerate((*QUALITY, *PARTIAL, *WHOLE))}
    names.sort(key=lambda name: order.get(name, len(order)))
    if not whole_range:
        return [[name] for name in names]
    lines: dict[str, list[str]] = {}
    for name in names:
        stem = _SCALES.get(name, name.removesuffix("_full").removesuffix("_gap"))
        line_name = (
            stem
            if stem in names and all(values.get(stem) == values.get(name) for values in metrics["splits"].values())
            else name
        )
        lines.setdefault(line_name, []).append(name)
    return list(lines.values())


def _title(name: str) -> str:
    try:
        return plain_title(name)
    except PartialFairError:
        return ""


def _limits(
    fit: Mapping[str, Any], metrics: Mapping[str, Any], groups: Sequence[str], counts: Mapping[str, Any]
) -> Iterator[str]:
    yield from _LIMITS
    unions = Interval.of(_interval(fit, metrics)).for_groups(len(groups)) if groups else ()
    for code, name in enumerate(groups if "test" in counts else ()):
        inside = int(np.diff(bounds(unions[code], int(counts["test"][0][code]))).sum())
        if inside < _FEW_ROWS:
            yield f"The interval keeps {inside} test rows of group {name}: its numbers are uncertain."
    if fit["status"] == "ok" and fit["kappa"] is None:
        yield "No constraint was imposed: differences between groups are those that minimise the loss."


def _provenance(fit: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = {
        "source revision": fit.get("git_revision") or "not in a checkout",
        "hash of the code that can run": fit.get("closure_hash"),
        "versions": ", ".join(f"{name} {version}" for name, version in (fit.get("versions") or {}).items()),
        "sha256 of the table": (fit.get("inputs") or {}).get("table"),
        "sha256 of the split": (fit.get("inputs") or {}).get("split"),
        "sha256 of the model": (fit.get("outputs") or {}).get(paths.MODEL),
    }
    return [(title, str(value)) for title, value in facts.items() if value]


def number(value: Any) -> str:
    """Return a value in three decimals, below .0005 in e-notation; ``not estimable`` for ``None`` and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "not estimable"
    return f"{value:.1e}" if 0 < abs(value) < 5e-4 else f"{value:.3f}"
