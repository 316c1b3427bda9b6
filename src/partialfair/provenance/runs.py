"""The middle of the chain: trained models and their metrics, tied by what their jobs wrote down."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from partialfair.grid.config import Config, Job
from partialfair.grid.workflow import SPLIT, TABLE, Grid
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
    grid, good = Grid(config), defaultdict(list)
    jobs = config.jobs()
    for number, job in enumerate(jobs, 1):
        chain.progress(f"run {number} of {len(jobs)}: {job.path}")
        fit = _check_fit(chain, grid, job, expected, pins)
        if fit is not None and _check_metrics(chain, grid, job, expected, fit, deep):
            good[job.experiment, job.dataset, job.algorithm].append((job, fit))
    for found in good.values():
        folder = f"{found[0][0].path.parents[1].as_posix()}/*/*"
        code = found[0][1]["closure_hash"]
        first = found[0][1]["outputs"]["model.npz"]
        tie = f"table, split and settings as its job recorded them; code {code}"
        chain.link("model", f"{folder}/model.npz", tie, first, len(found))
        again = "computed anew, same bytes" if deep else "of that model"
        metrics = sha256(f"{found[0][0].path}/metrics.json")
        tie = f"{again}; code {grid.evaluation_code(_wildcards(found[0][0]))}"
        chain.link("metrics", f"{folder}/metrics.json", tie, metrics, len(found))


def _check_fit(
    chain: Chain, grid: Grid, job: Job, expected: Expected, pins: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """Check what a training job wrote; return fit.json if all is right."""
    path = f"{job.path}/fit.json"
    again = f"delete it and run `snakemake {path}`"
    fit = _read(chain, path, again)
    if fit is None:
        return None
    before = len(chain.breaks)
    for name, recorded in fit["outputs"].items():
        _compare(chain, f"{job.path}/{name}", recorded, "fit.json", again.replace(path, f"{job.path}/{name}"))
    wildcards = _wildcards(job)
    wanted = {
        **{f"settings: {key}": value for key, value in json.loads(grid.settings(wildcards)).items()},
        "hash of its code": grid.code(wildcards),
        "table": expected.tables.get(job.dataset, fit["inputs"].get("table")),
        "split": expected.splits.get((job.dataset, job.seed), fit["inputs"].get("split")),
        **{f"version of {name}": pins[name] for name in PINNED if name in pins},
    }
    found = {
        **{f"settings: {key}": fit.get(key) for key in json.loads(grid.settings(wildcards))},
        "hash of its code": fit.get("closure_hash"),
        **fit["inputs"],
        **{f"version of {name}": fit.get("versions", {}).get(name) for name in PINNED},
    }
    _outdated(chain, path, found, wanted, f"run `snakemake {path} --forcerun train`")
    return fit if len(chain.breaks) == before else None


def _check_metrics(chain: Chain, grid: Grid, job: Job, expected: Expected, fit: Mapping[str, Any], deep: bool) -> bool:
    """Check what an evaluation wrote; return whether all is right."""
    path = f"{job.path}/metrics.json"
    again = f"delete it and run `snakemake {path}`"
    metrics = _read(chain, path, again)
    if metrics is None:
        return False
    before = len(chain.breaks)
    scores = f"{job.path}/scores.parquet"
    _compare(chain, scores, metrics["outputs"]["scores.parquet"], "metrics.json", again.replace(path, scores))
    settings = json.loads(grid.evaluation(_wildcards(job)))
    wanted = {
        "settings": settings,
        "hash of its code": grid.evaluation_code(_wildcards(job)),
        "model.npz": fit["outputs"]["model.npz"],
        "table": expected.tables.get(job.dataset, fit["inputs"]["table"]),
        "split": expected.splits.get((job.dataset, job.seed), fit["inputs"]["split"]),
    }
    found = {"settings": metrics.get("settings"), "hash of its code": metrics.get("closure_hash"), **metrics["inputs"]}
    _outdated(chain, path, found, wanted, f"run `snakemake {path} --forcerun evaluate`")
    if deep and len(chain.breaks) == before:
        _evaluate_again(chain, job, settings, again)
    return len(chain.breaks) == before


def _wildcards(job: Job) -> SimpleNamespace:
    """Return a job as the rules know it."""
    return SimpleNamespace(
        experiment=job.experiment, dataset=job.dataset, algorithm=job.algorithm, kappa=job.kappa_text, seed=job.seed
    )


def _evaluate_again(chain: Chain, job: Job, settings: Mapping[str, Any], remedy: str) -> None:
    """Compute scores and metrics from the stored model and compare bytes."""
    table, split = TABLE.format(dataset=job.dataset), SPLIT.format(dataset=job.dataset, seed=job.seed)
    with tempfile.TemporaryDirectory() as folder, chain.expects(f"{job.path}/metrics.json", remedy):
        evaluate(job.path / "model.npz", job.path / "fit.json", table, split, folder, settings)
        for name in ("scores.parquet", "metrics.json"):
            _compare(chain, f"{job.path}/{name}", sha256(Path(folder) / name), "the model that gives them", remedy)


def _read(chain: Chain, path: str, remedy: str) -> dict[str, Any] | None:
    """Read a sealed record of a job."""
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
        return None
    if not is_sealed(content):
        chain.broken(path, Fault.DAMAGED, "its content was changed after the job had written it", remedy)
        return None
    return content


def _compare(chain: Chain, path: str, recorded: str, where: str, remedy: str) -> None:
    """Compare a file with a recorded checksum."""
    try:
        found = sha256(path)
    except OSError as error:
        chain.broken(path, Fault.MISSING, f"cannot be read ({error.strerror})", f"run `dvc pull` or {remedy}")
        return
    if found != recorded:
        chain.broken(path, Fault.DAMAGED, f"sha256 {found[:12]}, not {recorded[:12]} as {where} has it", remedy)


def _outdated(chain: Chain, path: str, found: Mapping[str, Any], wanted: Mapping[str, Any], remedy: str) -> None:
    """Name the first thing that has changed since a job wrote ``path``."""
    for key, value in wanted.items():
        if found.get(key) != value:
            problem = f"made with {key} {_short(found.get(key))}, now {_short(value)}"
            chain.broken(path, Fault.OUTDATED, problem.replace("settings: ", "setting "), remedy)
            return


def _short(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, str) and len(value) == 64:
        return value[:12]
    return json.dumps(value)[:200]
