"""The middle of the chain: trained models and their metrics, tied by what their jobs wrote down."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partialfair.grid import fingerprint
from partialfair.grid.config import Config, Job
from partialfair.grid.fingerprint import Wanted
from partialfair.jobs.evaluate import evaluate
from partialfair.provenance.chain import Chain, Fault
from partialfair.provenance.data import Expected
from partialfair.provenance.lock import PINNED
from partialfair.tables.files import is_sealed, read_json, sha256


def check_runs(chain: Chain, config: Config, expected: Expected, pins: Mapping[str, str], deep: bool = False) -> None:
    """Check every training run of the grid, and its evaluation.

    Args:
        chain: receives what is found.
        config: the grid.
        expected: checksums of tables and splits.
        pins: versions in the lock file.
        deep: also compute the metrics again from the stored models.
    """
    good = defaultdict(list)
    jobs = config.jobs()
    for number, job in enumerate(jobs, 1):
        chain.progress(f"run {number} of {len(jobs)}: {job.path}")
        fit = _check_fit(chain, job, fingerprint.run(config, job), expected, pins)
        if fit is not None and _check_metrics(chain, job, fingerprint.evaluation(config, job), expected, fit, deep):
            good[job.experiment, job.dataset, job.algorithm].append((job, fit))
    for found in good.values():
        job, fit = found[0]
        folder = f"{job.path.parents[1].as_posix()}/*/*"
        tie = f"table, split and settings as its job recorded them; code {fit['closure_hash']}"
        chain.link("model", f"{folder}/model.npz", tie, fit["outputs"]["model.npz"], len(found))
        again = "computed anew, same bytes" if deep else "of that model"
        tie = f"{again}; code {fingerprint.evaluation(config, job).code}"
        chain.link("metrics", f"{folder}/metrics.json", tie, sha256(job.path / "metrics.json"), len(found))


def _check_fit(
    chain: Chain, job: Job, wanted: Wanted, expected: Expected, pins: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """Check what a training job wrote; return fit.json if all is right."""
    path = f"{job.path}/fit.json"
    fit = _read(chain, path)
    if fit is None:
        return None
    stated = {key: fit.get(key) for key in wanted.settings}
    made_with = {f"version of {name}": fit.get("versions", {}).get(name) for name in PINNED}
    pinned = {f"version of {name}": pins[name] for name in PINNED if name in pins}
    good = _check(chain, path, "train", fit, wanted, (stated, expected.of(job, fit)), (made_with, pinned))
    return fit if good else None


def _check_metrics(
    chain: Chain, job: Job, wanted: Wanted, expected: Expected, fit: Mapping[str, Any], deep: bool
) -> bool:
    """Check what an evaluation wrote; return whether all is right."""
    path = f"{job.path}/metrics.json"
    metrics = _read(chain, path)
    if metrics is None:
        return False
    inputs = {**expected.of(job, fit), "model.npz": fit["outputs"]["model.npz"]}
    good = _check(chain, path, "evaluate", metrics, wanted, (metrics.get("settings") or {}, inputs))
    if deep and good:
        _evaluate_again(chain, job, wanted)
        good = not chain.is_broken([f"{job.path}/{name}" for name in ("metrics.json", "scores.parquet")])
    return good


def _check(
    chain: Chain,
    path: str,
    rule: str,
    record: Mapping[str, Any],
    wanted: Wanted,
    known: tuple[Mapping[str, Any], Mapping[str, str | None]],
    further: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
) -> bool:
    """Compare the record of a job with its files and with what it should have been made from; say whether all agree.

    Args:
        chain: receives what is found.
        path: the record.
        rule: what makes it.
        record: its content.
        wanted: what it should have been made from.
        known: the settings that it states, and the checksums that its inputs have.
        further: what else it states, and should state.
    """
    before = len(chain.breaks)
    for name, recorded in record["outputs"].items():
        chain.compare(Path(path).parent / name, recorded, f"{Path(path).name} has it")
    settings, inputs = known
    found = {**_named(settings), "hash of its code": record.get("closure_hash"), **record["inputs"], **further[0]}
    due = {**dict.fromkeys(_named(settings)), **_named(wanted.settings)}
    due |= {"hash of its code": wanted.code, **inputs, **further[1]}
    for key, value in due.items():
        if found.get(key) != value:
            problem = f"made with {key} {_short(found.get(key))}, now {_short(value)}"
            chain.broken(path, Fault.OUTDATED, problem, f"run `snakemake {path} --forcerun {rule}`")
            break
    return len(chain.breaks) == before


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"setting {key}": value for key, value in settings.items()}


def _evaluate_again(chain: Chain, job: Job, wanted: Wanted) -> None:
    """Compute scores and metrics from the stored model and compare bytes."""
    remedy = f"delete it and run `snakemake {job.path}/metrics.json`"
    with tempfile.TemporaryDirectory() as folder, chain.expects(f"{job.path}/metrics.json", remedy):
        evaluate(job.path / "model.npz", job.path / "fit.json", job.table, job.split, folder, wanted.settings)
        for name in ("scores.parquet", "metrics.json"):
            chain.compare(job.path / name, sha256(Path(folder) / name), "the model that gives them has it", remedy)


def _read(chain: Chain, path: str) -> dict[str, Any] | None:
    """Read a sealed record of a job."""
    remedy = f"delete it and run `snakemake {path}`"
    try:
        content = read_json(path)
    except OSError as error:
        chain.broken(path, Fault.MISSING, f"cannot be read ({error.strerror})", f"run `dvc pull` or `snakemake {path}`")
        return None
    except ValueError as error:
        chain.broken(path, Fault.DAMAGED, f"not readable ({error})", remedy)
        return None
    if not isinstance(content, dict) or "seal" not in content:
        chain.broken(path, Fault.OUTDATED, "it does not record what it was made from", remedy)
    elif not is_sealed(content):
        chain.broken(path, Fault.DAMAGED, "its content was changed after the job had written it", remedy)
    else:
        return content
    return None


def _short(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, str) and len(value) == 64:
        return value[:12]
    return json.dumps(value)[:200]
