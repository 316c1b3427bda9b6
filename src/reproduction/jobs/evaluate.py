"""Evaluate one trained model: scores of all rows of the three parts, metrics, and bootstrap intervals on test rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair import seeding
from partialfair.data import arrow
from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import read_json, sealed, sha256, write_json
from partialfair.data.intervals import Interval
from partialfair.errors import DataError, NotEstimableError
from partialfair.metrics import evaluate_all, names
from partialfair.metrics.uncertainty import bootstrap
from reproduction.grid import fingerprint

SPLITS = ("train", "validation", "test")
REGRESSION = ("risk", "mean_absolute_error", "ks_unfairness", "ks_pairs", "ks_partial", "ks_noise_floor")
"""Metrics of tables with real-valued labels, in place of the common ones (``metrics/on_request/regression.py``)."""
EXPENSIVE = ("ks_noise_floor",)
"""Metrics that are not computed again for repeats of a fit, since they depend on the test rows."""


def evaluate(
    model_path: str | Path,
    fit_json: str | Path,
    table: str | Path,
    split: str | Path,
    out_dir: str | Path,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Write ``scores.parquet`` and ``metrics.json`` of one run into ``out_dir``.

    Metrics are computed from the stored (float32) scores, so that the score file alone gives the same numbers.
    The bootstrap stream depends on dataset and seed only: all models of a dataset see the same resamples, and
    their replicates can be compared pairwise.

    Args:
        model_path: ``model.npz`` of the training job.
        fit_json: ``fit.json`` of the training job.
        table: prepared dataset.
        split: stored split of the run's seed.
        out_dir: the run folder.
        settings: ``interval``; optionally ``bootstrap`` ({"replicates", "level"}; replicates 0 for none),
            ``threshold`` (default 0), ``metrics`` (names; default the common ones) and ``on_request`` (further names).

    Returns:
        The content of metrics.json.

    Raises:
        DataError: table or split unreadable, or the model gives scores that are not finite.
    """
    out = Path(out_dir)
    fit = _read_fit(Path(fit_json))
    result: dict[str, Any] = {"status": fit["status"], "reason": fit.get("reason"), "splits": {}, "bootstrap": {}}
    data = Dataset.load(table)
    split_rows = Split.load(split, data.n_rows)
    model = _usable_model(model_path, fit)
    scored: dict[str, tuple[NDArray, NDArray]] = {}
    for name in SPLITS if model is not None else ():
        rows = getattr(split_rows, name)
        subset = data.take(rows)
        with np.errstate(over="ignore"):  # what overflows is refused in the next line
            scored[name] = (rows, _predicted(model, subset))
        _require_finite(_numbers(scored[name][1]), name, model_path)
    _write_scores(out / "scores.parquet", data, {name: (rows, _numbers(of)) for name, (rows, of) in scored.items()})
    if scored:
        result |= measure(data, scored, settings, (fit["dataset"], fit["seed"]))
        result |= _further(model, data, split_rows.test, settings)
    # What these numbers were made from: the links of the chain that `partialfair verify` follows.
    result["settings"] = dict(settings)
    result["inputs"] = {"table": sha256(table), "split": sha256(split), "model.npz": sha256(model_path)}
    result["outputs"] = {"scores.parquet": sha256(out / "scores.parquet")}
    result["closure_hash"] = fingerprint.evaluation_hash(settings.get("on_request") or ())
    result = sealed(result)
    write_json(out / "metrics.json", result)
    return result


def measure(
    data: Dataset,
    scored: Mapping[str, tuple[NDArray, NDArray]],
    settings: Mapping[str, Any],
    stream: tuple[str, int],
) -> dict[str, Any]:
    """Return the metrics of every split and bootstrap intervals of the test split.

    Args:
        data: the dataset the rows belong to.
        scored: row numbers and scores by split name.
        settings: see :func:`evaluate`.
        stream: dataset name and seed, which name the bootstrap's random stream.

    Returns:
        ``splits``, ``bootstrap`` and ``not_estimable`` (reasons by split and metric) of metrics.json.
    """
    # One union per group also states which groups must be present in every split.
    interval = Interval.of(settings["interval"]).each(data.n_groups)
    threshold = _threshold(settings)
    metric_names = _metric_names(data, settings)
    values: dict[str, Any] = {}
    reasons: dict[str, Any] = {}
    for name, (rows, scores) in scored.items():
        values[name], missing = evaluate_all(scores, data.y[rows], data.group[rows], interval, threshold, metric_names)
        if missing:
            reasons[name] = {metric: _with_names(reason, data) for metric, reason in missing.items()}
    content = {"splits": values, "bootstrap": {}, "not_estimable": reasons}
    options = settings.get("bootstrap") or {}
    if "test" in scored and data.task == "classification" and int(options.get("replicates", 200)):
        content["bootstrap"] = {"test": _bootstrap_test(data, *scored["test"], interval, threshold, options, stream)}
    return content


def _threshold(settings: Mapping[str, Any]) -> float:
    """Return the decision threshold; rows with a higher score are positive decisions."""
    return float(settings.get("threshold", 0.0))


def _metric_names(data: Dataset, settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics to compute; tables with real-valued labels have their own list, REGRESSION."""
    on_request = list(settings.get("on_request") or ())
    common = settings.get("metrics") or (names() if data.task == "classification" else REGRESSION)
    return list(dict.fromkeys([*common, *on_request]))


def _predicted(model: Any, rows: Dataset) -> Any:
    """Return the scores of rows as they are stored, or the predictions of real-valued labels if the model has them."""
    if rows.task == "regression" and hasattr(model, "predictions"):
        return model.predictions(rows.X, rows.group)
    return np.asarray(model.scores(rows.X, rows.group), np.float32)


def _numbers(predicted: Any) -> NDArray:
    """Return the scores to be stored, one number per row."""
    return np.asarray(getattr(predicted, "values", predicted), np.float32)


def _further(model: Any, data: Dataset, rows: NDArray, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the test metrics of the run's other models, by tolerance (levels), repeat (repeats) and step (steps)."""
    inexpensive = [name for name in _metric_names(data, settings) if name not in EXPENSIVE]
    test, interval = data.take(rows), Interval.of(settings["interval"]).each(data.n_groups)
    threshold = _threshold(settings)
    measured: dict[str, Any] = {}

    def of_scores(scores: Any, only: list[str]) -> tuple[dict[str, float | None], dict[str, str]]:
        return evaluate_all(scores, test.y, test.group, interval, threshold, only)

    for tolerance, model_of_level in getattr(model, "levels", {}).items():
        values, missing = of_scores(_predicted(model_of_level, test), _metric_names(data, settings))
        measured.setdefault("levels", {})[tolerance] = {"values": values, "not_estimable": missing}
    for tolerance, repeated in getattr(model, "repeats", {}).items():
        values_of_models = [of_scores(_predicted(model_of_level, test), inexpensive)[0] for model_of_level in repeated]
        measured.setdefault("repeats", {})[tolerance] = {
            name: [values[name] for values in values_of_models] for name in values_of_models[0]
        }
    if getattr(model, "traced", None) is not None:
        chosen = [name for name in model.traced if name in _metric_names(data, settings)]
        points = [(count, of_scores(scores, chosen)[0]) for count, scores in model.on_the_way(test.X)]
        measured["steps"] = {"evaluations": [count for count, _ in points]}
        measured["steps"] |= {name: [values[name] for _, values in points] for name in chosen}
    return measured


def _bootstrap_test(
    data: Dataset,
    rows: NDArray,
    scores: NDArray,
    interval: Interval,
    threshold: float,
    options: Mapping[str, Any],
    stream: tuple[str, int],
) -> dict[str, list[float]]:
    try:
        intervals = bootstrap(
            scores,
            data.y[rows],
            data.group[rows],
            interval,
            seeding.generator("bootstrap", *stream, "test"),
            replicates=int(options.get("replicates", 200)),
            level=float(options.get("level", 0.95)),
            threshold=threshold,
        )
    except NotEstimableError:
        return {}  # the same condition is already listed, with its reason, for every metric it concerns
    return {name: list(ends) for name, ends in intervals.items()}


def _read_fit(path: Path) -> dict[str, Any]:
    """Return the record of the training job."""
    try:
        content: dict[str, Any] = read_json(path)
        return content | {key: content[key] for key in ("status", "dataset", "seed")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a readable fit.json ({error}); delete the file and train again") from error


def _usable_model(model_path: str | Path, fit: Mapping[str, Any]) -> Any:
    """Load the model; return ``None`` if the run has none or failed, as its status says."""
    from partialfair.models.stored import load_model

    model = load_model(model_path)
    return model if fit["status"] == "ok" or (model.usable and fit["status"] != "failed") else None


def _require_finite(scores: NDArray, name: str, model_path: str | Path) -> None:
    bad = int(np.count_nonzero(~np.isfinite(scores)))
    if bad:
        raise DataError(
            f"{model_path}: {bad} scores of the {name} split are not finite; look at history.parquet of the run"
        )


def _with_names(reason: str, data: Dataset) -> str:
    """Put the group's name beside its code in a reason that begins with the code."""
    head, colon, tail = reason.partition(":")
    word, _, code = head.partition(" ")
    if word == "group" and code.isdigit() and int(code) < data.n_groups:
        return f"group {code} ({data.group_names[int(code)]}){colon}{tail}"
    return reason


def _write_scores(target: Path, data: Dataset, scored: Mapping[str, tuple[NDArray, NDArray]]) -> None:
    """Write one line per row of the split: row, split, group, y, score."""
    import pyarrow as pa

    rows = _joined([rows for rows, _ in scored.values()], np.int64)
    codes = np.repeat(np.arange(len(scored), dtype=np.int8), [len(rows) for rows, _ in scored.values()])
    arrow.write(
        target,
        {
            "row": arrow.column(rows.astype(np.int32)),
            "split": pa.DictionaryArray.from_arrays(arrow.column(codes), arrow.column(list(scored) or list(SPLITS))),
            "group": arrow.column(data.group[rows].astype(np.int16)),
            "y": arrow.column(data.y[rows].astype(np.float32)),
            "score": arrow.column(_joined([scores for _, scores in scored.values()], np.float32)),
        },
    )


def _joined(arrays: list[NDArray], dtype: type) -> NDArray:
    return np.concatenate(arrays).astype(dtype) if arrays else np.zeros(0, dtype)
