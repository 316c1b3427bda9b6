"""Gather the run folders of one experiment into two tidy tables: metrics.parquet and runs.parquet.

A run that is missing, failed or not applicable is a row with a reason, never an absent row.
"""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from partialfair.data.files import atomic_path, read_json
from partialfair.data.intervals import Interval
from partialfair.errors import DataError
from partialfair.metrics import names as metric_names
from partialfair.models.score_levels import level_of
from reproduction.grid.config import Config, Job, job_settings
from reproduction.grid.tidy import ABSOLUTE, METRIC_COLUMNS, REPEAT_MEAN, REPEAT_SD, RUN_COLUMNS, at_share


def collect(
    jobs: Iterable[tuple[Job, Mapping[str, Any]]], out_dir: str | Path, root: str | Path = "."
) -> tuple[Path, Path]:
    """Write ``metrics.parquet`` and ``runs.parquet`` into ``out_dir``.

    Args:
        jobs: every run the experiment should have, with its settings (``constraint``, ``interval``, ...).
        out_dir: ``reports/{experiment}``.
        root: what the run folders are relative to.

    Returns:
        The two paths.
    """
    metric_rows: list[dict[str, Any]] = []
    run_rows: list[dict[str, Any]] = []
    for job, settings in jobs:
        folder = Path(root) / job.path
        key = _key(job, settings)
        fit, metrics = _read(folder / "fit.json"), _read(folder / "metrics.json")
        run_rows.append(_run_row(key, settings, fit, folder))
        metric_rows.extend(_metric_rows(key, fit, metrics, folder))
    out = Path(out_dir)
    paths = out / "metrics.parquet", out / "runs.parquet"
    _write(paths[0], metric_rows, METRIC_COLUMNS)
    _write(paths[1], run_rows, RUN_COLUMNS)
    return paths


def collect_experiment(
    config: Config,
    experiment: str,
    out_dir: str | Path | None = None,
    root: str | Path = ".",
    replace: bool = False,
) -> tuple[Path, Path]:
    """:func:`collect` for one experiment of the grid; ``out_dir`` defaults to ``reports/{experiment}``.

    Raises:
        DataError: a table there has results of runs that are not here, and they are not to be replaced.
    """
    jobs = [(job, job_settings(config, job)) for job in config.jobs(experiment)]
    out = Path(out_dir) if out_dir is not None else Path(root) / "reports" / experiment
    if not replace:
        _refuse_loss(out / "runs.parquet", [job for job, _ in jobs], Path(root))
    return collect(jobs, out, root)


def _refuse_loss(table: Path, jobs: Sequence[Job], root: Path) -> None:
    """Refuse to write "not run" over runs that were collected where they are.

    Raises:
        DataError: the table has results of runs that are not here.
    """
    if not table.exists():  # as in the workflow, which removes what it makes anew
        return
    absent = [job for job in jobs if not (root / job.path / "fit.json").exists()]
    if not absent:
        return
    from pyarrow import ArrowException, parquet

    columns = ["dataset", "algorithm", "kappa", "seed", "status"]
    try:
        rows = zip(*parquet.read_table(table, columns=columns).to_pydict().values(), strict=True)
        collected = {tuple(key) for *key, status in rows if status != "not_run"}
    except (ArrowException, KeyError, OSError):  # of another version, or damaged: there is nothing to keep
        return
    lost = [job for job in absent if (job.dataset, job.algorithm, float(job.kappa), job.seed) in collected]
    if lost:
        raise DataError(
            f"{table}: runs in it that are not here: {len(lost)} (the first is {lost[0].path}); nothing was written: "
            "train them, give another --out, or say --replace"
        )


def _key(job: Job, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "experiment": job.experiment,
        "dataset": job.dataset,
        "algorithm": job.algorithm,
        "constraint": settings.get("constraint"),
        "interval": str(Interval.of(settings["interval"])),
        "kappa": float(job.kappa),
        "seed": int(job.seed),
    }


def _read(path: Path) -> dict[str, Any] | None:
    """Read a JSON file of a run; ``None`` if it is absent.

    Raises:
        DataError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = read_json(path)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: not readable ({error}); delete the run folder and run it again") from error
    return content


def _metric_rows(
    key: Mapping[str, Any], fit: Mapping[str, Any] | None, metrics: Mapping[str, Any] | None, folder: Path
) -> Iterable[dict[str, Any]]:
    """One row per split and metric; a run without metrics gives its test rows without values."""
    if metrics is None or not metrics["splits"]:
        status, reason = _why_absent(fit, metrics, folder)
        for name in metric_names():
            yield {**key, "split": "test", "metric": name, "status": status, "reason": reason}
        return
    for split, values in metrics["splits"].items():
        ends = metrics.get("bootstrap", {}).get(split, {})
        reasons = metrics.get("not_estimable", {}).get(split, {})
        for name, value in values.items():
            low, high = ends.get(name, (None, None))
            row = {"split": split, "metric": name, "value": value, "ci_low": low, "ci_high": high}
            yield {**key, **row, "status": metrics["status"], "reason": reasons.get(name) or metrics.get("reason")}
    for tolerance, level in metrics.get("levels", {}).items():  # further models of the same job
        kappa, share = level_of(tolerance)
        ending = at_share(share) if share < 1 else ""
        for name, value in level["values"].items():
            row = {"kappa": kappa, "split": "test", "metric": f"{name}{ending}", "value": value}
            yield {**key, **row, "status": metrics["status"], "reason": level["not_estimable"].get(name)}
    for tolerance, repeats in metrics.get("repeats", {}).items():  # the same fit on other drawn rows
        for name, values in repeats.items():
            if None not in values and len(values) > 1:
                row = {"kappa": float(tolerance), "split": "test", "status": metrics["status"]}
                yield {**key, **row, "metric": f"{name}{REPEAT_SD}", "value": statistics.stdev(values)}
                yield {**key, **row, "metric": f"{name}{REPEAT_MEAN}", "value": statistics.fmean(values)}


def _why_absent(fit: Mapping[str, Any] | None, metrics: Mapping[str, Any] | None, folder: Path) -> tuple[str, str]:
    source = metrics or fit
    if source is not None and source["status"] != "ok":
        return str(source["status"]), str(source.get("reason") or "the training job gave no reason")
    if fit is None:
        return "not_run", f"no fit.json in {folder.as_posix()}"
    return "not_run", f"trained but not evaluated: no metrics in {folder.as_posix()}"


def _run_row(
    key: Mapping[str, Any], settings: Mapping[str, Any], fit: Mapping[str, Any] | None, folder: Path
) -> dict[str, Any]:
    row = dict(key) | {"kappa_scale": settings.get("kappa_scale"), "grid": settings.get("grid")}
    if fit is None:
        return row | {"status": "not_run", "reason": f"no fit.json in {folder.as_posix()}"}
    certificate, time = fit.get("certificate") or {}, fit.get("time") or {}
    return row | {
        **{name: certificate.get(name) for name in ("objective", "max_violation", "true_violation")},
        **{name: certificate.get(name) for name in ("metric", "train_violation", "accepted")},
        **_certificates(certificate),
        **{name: time.get(name) for name in ("wall_seconds", "cpu_seconds")},
        **{name: fit.get(name) for name in ("status", "reason", "peak_memory_mib", "device", "threads")},
        **{name: fit.get(name) for name in ("git_revision", "closure_hash")},
        "selected": json.dumps(fit.get("selected") or {}, sort_keys=True),
        "versions": json.dumps(fit["versions"], sort_keys=True) if fit.get("versions") else None,
        "table_sha256": (fit.get("inputs") or {}).get("table"),
    }


def _certificates(certificate: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the value in the column of its kind and unit; values that cannot be compared share none."""
    kind, value = certificate.get("kind"), certificate.get("value")
    absolute = kind == "kkt" and certificate.get("relative_to") == ABSOLUTE
    columns = {"kkt_residual": kind == "kkt" and not absolute, "kkt_residual_absolute": absolute}
    columns |= {name: kind == name for name in ("gradient_mapping", "duality_gap")}
    return {name: value if has_value else None for name, has_value in columns.items()}


def _write(target: Path, rows: list[dict[str, Any]], columns: Mapping[str, type]) -> None:
    """Write rows as Parquet; a missing number is NaN, a missing text or count is null."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64()}
    content = {
        name: pa.array([_cell(row.get(name), kind) for row in rows], type=kinds[kind]) for name, kind in columns.items()
    }
    with atomic_path(target) as path:
        parquet.write_table(pa.table(content), path, compression="zstd")


def _cell(value: Any, kind: type) -> Any:
    if value is None:
        return math.nan if kind is float else None
    return kind(value)
