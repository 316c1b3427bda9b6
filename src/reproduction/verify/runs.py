"""The middle of the chain: trained models, their metrics and cards, tied by what their jobs wrote down."""

import json
import math
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.data.files import is_sealed, read_json, sha256
from partialfair.errors import PartialFairError
from reproduction.cards import card
from reproduction.grid import fingerprint, paths
from reproduction.grid.config import Config, Job
from reproduction.grid.fingerprint import Wanted
from reproduction.jobs.evaluate import evaluate
from reproduction.jobs.train import Files, train, versions
from reproduction.verify.chain import Chain, Fault
from reproduction.verify.data import Expected
from reproduction.verify.lock import PINNED

TRAINED = (paths.MODEL, paths.FIT, paths.HISTORY)
EVALUATED = (paths.SCORES, paths.METRICS, card.NAME)
_ELSEWHERE = 0.02
"""Largest difference of a test metric between a run and the same run trained on another processor: what single
precision and a choice between candidates that are nearly equal can amount to."""

_TIMES = ("path/seconds",)
"""Arrays of a stored model that hold measured times."""


@dataclass(frozen=True)
class Checked:
    """The outcome of the check of some runs: those that are right, and those of which no file is here."""

    good: list[Job]
    absent: list[Job]


def check_runs(
    chain: Chain, config: Config, expected: Expected, pins: Mapping[str, str], deep: bool = False
) -> Checked:
    """Check every training run of the grid, and its evaluation.

    Args:
        chain: receives the links and the breaks.
        config: the grid.
        expected: checksums of tables and splits.
        pins: versions in the lock file.
        deep: also compute the metrics again from the stored models.
    """
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for job in config.jobs():
        groups.setdefault((job.experiment, job.dataset, job.algorithm), []).append(job)
    for jobs in groups.values():
        if _is_here(jobs[0]):  # before the processes fork, or each would import the algorithms for itself
            fingerprint.run(config, jobs[0])

    def check(group_chain: Chain, jobs: list[Job]) -> Checked:
        return _check_group(group_chain, config, jobs, expected, pins, deep)

    checks = chain.check_all(check, list(groups.values()), "runs of experiment, dataset and algorithm")
    return Checked([job for group in checks for job in group.good], [job for group in checks for job in group.absent])


def _check_group(
    chain: Chain, config: Config, jobs: Sequence[Job], expected: Expected, pins: Mapping[str, str], deep: bool
) -> Checked:
    """Check the runs of one algorithm in an experiment on a dataset."""
    good, absent = [], []
    for job in jobs:
        if not _is_here(job):
            absent.append(job)
            continue
        fit = _check_fit(chain, job, fingerprint.run(config, job), expected, pins)
        if fit is not None and not any((job.path / name).exists() for name in EVALUATED):
            chain.absent["metrics"] += 1
        elif fit is not None and _check_metrics(chain, job, fingerprint.evaluation(config, job), expected, fit, deep):
            good.append((job, fit))
    if absent:
        chain.absent.update({"model": len(absent), "metrics": len(absent)})
    if good:
        job, fit = good[0]
        folder = f"{job.path.parents[1].as_posix()}/*/*"
        tie = f"table, split and settings as its job recorded them; code {fit['closure_hash']}"
        chain.link("model", f"{folder}/{paths.MODEL}", tie, fit["outputs"][paths.MODEL], len(good))
        again = "computed anew, same bytes" if deep else "of that model"
        tie = f"{again}; code {fingerprint.evaluation(config, job).code}"
        chain.link("metrics", f"{folder}/{paths.METRICS}", tie, sha256(job.path / paths.METRICS), len(good))
        tie = "as its job wrote it"
        chain.link("card", f"{folder}/{card.NAME}", tie, sha256(job.path / card.NAME), len(good))
    return Checked([job for job, _ in good], absent)


def _is_here(job: Job) -> bool:
    """Whether any file that a run makes is here."""
    folder = job.path
    return folder.is_dir() and any((folder / name).exists() for name in (*TRAINED, *EVALUATED))


def _check_fit(
    chain: Chain, job: Job, recipe: Wanted, expected: Expected, pins: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """Check the files that a training job wrote; return fit.json if they are right, else ``None``."""
    path = f"{job.path}/{paths.FIT}"
    fit = _read(chain, path)
    if fit is None:
        return None
    stated = {key: fit.get(key) for key in recipe.settings}
    made_with = {f"version of {name}": fit.get("versions", {}).get(name) for name in PINNED}
    pinned = {f"version of {name}": pins[name] for name in PINNED if name in pins}
    good = _check(chain, path, "train", fit, recipe, (stated, expected.inputs_of(job, fit)), (made_with, pinned))
    return fit if good else None


def _check_metrics(
    chain: Chain, job: Job, recipe: Wanted, expected: Expected, fit: Mapping[str, Any], deep: bool
) -> bool:
    """Check the files that an evaluation wrote; return whether they are right."""
    path = f"{job.path}/{paths.METRICS}"
    metrics = _read(chain, path)
    if metrics is None:
        return False
    inputs = {**expected.inputs_of(job, fit), paths.MODEL: fit["outputs"][paths.MODEL]}
    good = _check(chain, path, "evaluate", metrics, recipe, (metrics.get("settings") or {}, inputs))
    if deep and good:
        _evaluate_again(chain, job, recipe)
        good = not chain.is_broken([f"{job.path}/{name}" for name in (paths.METRICS, paths.SCORES)])
    return _check_card(chain, job) and good


def _check_card(chain: Chain, job: Job) -> bool:
    """Return whether a model card is as its job wrote it; a card of an earlier version may have other words."""
    path = job.path / card.NAME
    remedy = f"run `partialfair card {job.path} --out {path}`"
    if not path.exists():
        chain.broken(path, Fault.MISSING, "the metrics that it was written with are here", remedy)
    elif not card.is_sealed(path.read_text(encoding="utf-8", errors="replace")):
        chain.broken(path, Fault.DAMAGED, "its text was changed after the job had written it", remedy)
    else:
        return True
    return False


def _check(
    chain: Chain,
    path: str,
    rule: str,
    record: Mapping[str, Any],
    recipe: Wanted,
    due_inputs: tuple[Mapping[str, Any], Mapping[str, str | None]],
    further: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
) -> bool:
    """Compare the record of a job with its files and with its inputs as they are now; return whether all agree.

    Args:
        chain: receives the links and the breaks.
        path: the record.
        rule: the rule that makes it.
        record: its content.
        recipe: the settings and the code from which it should have been made.
        due_inputs: the settings that it states, and the checksums of its inputs now.
        further: what else it states, and should state.
    """
    before = len(chain.breaks)
    for name, recorded in record["outputs"].items():
        chain.compare(Path(path).parent / name, recorded, f"{Path(path).name} has it")
    settings, inputs = due_inputs
    stated = {**_named(settings), "hash of its code": record.get("closure_hash"), **record["inputs"], **further[0]}
    due = {**dict.fromkeys(_named(settings)), **_named(recipe.settings)}
    due |= {"hash of its code": recipe.code, **inputs, **further[1]}
    for key, value in due.items():
        if stated.get(key) != value:
            problem = f"made with {key} {_short(stated.get(key))}, now {_short(value)}"
            chain.broken(path, Fault.OUTDATED, problem, f"run `snakemake {path} --forcerun {rule}`")
            break
    return len(chain.breaks) == before


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"setting {key}": value for key, value in settings.items()}


def _evaluate_again(chain: Chain, job: Job, recipe: Wanted) -> None:
    """Compute scores and metrics from the stored model and compare bytes."""
    remedy = f"delete it and run `snakemake {job.path}/{paths.METRICS}`"
    with tempfile.TemporaryDirectory() as folder, chain.expects(f"{job.path}/{paths.METRICS}", remedy):
        evaluate(job.path / paths.MODEL, job.path / paths.FIT, job.table, job.split, folder, recipe.settings)
        for name in (paths.SCORES, paths.METRICS):
            chain.compare(job.path / name, sha256(Path(folder) / name), "the model that gives them has it", remedy)


def retrain(chain: Chain, config: Config, jobs: Sequence[Job], count: int) -> None:
    """Train a random sample of runs, another one each time, again in a scratch folder and compare the models.

    On the same kind of machine with the same packages the bytes have to be the same. Elsewhere the metrics on test rows
    may differ by ``_ELSEWHERE``.

    Args:
        chain: receives the links and the breaks.
        config: the grid.
        jobs: runs to draw from; their tables and splits have to be here.
        count: how many.
    """
    usable = [job for job in jobs if Path(job.table).exists() and Path(job.split).exists()]
    sample = random.sample(usable, min(count, len(usable)))

    def check(run_chain: Chain, job: Job) -> None:
        _retrain_one(run_chain, config, job)

    chain.check_all(check, sample, "run trained again,")


def _same_but_times(model: Path, again: Path) -> bool:
    """Whether two models have the same bytes in every array but the seconds at which a path's points were stored."""
    with np.load(model, allow_pickle=False) as arrays, np.load(again, allow_pickle=False) as arrays_again:
        names = [name for name in arrays.files if name not in _TIMES]
        alike = names == [name for name in arrays_again.files if name not in _TIMES]
        return alike and all(_identical(arrays[name], arrays_again[name]) for name in names)


def _identical(array: Any, array_again: Any) -> bool:
    return (array.dtype, array.shape, array.tobytes()) == (array_again.dtype, array_again.shape, array_again.tobytes())


def _retrain_one(chain: Chain, config: Config, job: Job) -> None:
    """Train one run again and compare the models; of a model that differs, compare the metrics."""
    path = f"{job.path}/{paths.MODEL}"
    remedy = f"run `snakemake {path} --forcerun train`, and compare"
    with tempfile.TemporaryDirectory() as name, chain.expects(path, remedy):
        folder = Path(name)
        train(config, job, Files(job.table, job.split, folder))
        again, digest = sha256(folder / paths.MODEL), sha256(path)
        if again == digest or _same_but_times(folder / paths.MODEL, Path(path)):
            chain.link("retrained", path, "trained again, same bytes" + (" but for times" * (again != digest)), digest)
            return
        made_with, now = read_json(job.path / paths.FIT).get("versions", {}), versions()
        differences = [
            f"{key} {made_with.get(key)}, here {now.get(key)}"
            for key in now
            if not _agree(made_with.get(key), now[key])
        ]
        if not differences:
            problem = f"trained again on such a machine it is sha256 {again[:12]}, not {digest[:12]}"
            chain.broken(path, Fault.DAMAGED, problem, remedy)
            return
        settings = fingerprint.evaluation(config, job).settings
        metrics = evaluate(folder / paths.MODEL, folder / paths.FIT, job.table, job.split, folder, settings)
        metric, distance = _farthest(metrics, read_json(job.path / paths.METRICS))
        tie = f"trained again with {'; '.join(differences)}: test metrics differ by at most {distance:.2g} ({metric})"
        if distance <= _ELSEWHERE:
            chain.link("retrained", path, tie, digest)
        else:
            chain.broken(path, Fault.DAMAGED, f"{tie}, more than {_ELSEWHERE:g}", remedy)


def _agree(recorded: str | None, loaded: str) -> bool:
    """Whether two records of a version agree; a process names only the copies of OpenBLAS that it has loaded."""
    names, names_here = set((recorded or "").split("; ")), set(loaded.split("; "))
    return names <= names_here or names_here <= names


def _farthest(evaluation: Mapping[str, Any], again: Mapping[str, Any]) -> tuple[str, float]:
    """Return the metric of the test rows in which two evaluations differ most; infinity where one has no value.

    A NaN is no value.
    """
    values, values_again = evaluation["splits"].get("test", {}), again["splits"].get("test", {})
    gaps = {"no metric": 0.0}
    for name in values.keys() | values_again.keys():
        a, b = (math.nan if value is None else float(value) for value in (values.get(name), values_again.get(name)))
        is_equal = a == b or (math.isnan(a) and math.isnan(b))
        gaps[name] = 0.0 if is_equal else math.inf if math.isnan(a) or math.isnan(b) else abs(a - b)
    return max(gaps.items(), key=lambda item: item[1])


def _read(chain: Chain, path: str) -> dict[str, Any] | None:
    """Read a sealed record of a job."""
    remedy = f"delete it and run `snakemake {path}`"
    try:
        content = read_json(path)
    except OSError as error:
        chain.broken(path, Fault.MISSING, f"cannot be read ({error.strerror})", f"run `dvc pull` or `snakemake {path}`")
        return None
    except (ValueError, PartialFairError) as error:
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
    """Return a value as a sentence quotes it: twelve digits of a checksum, at most 200 letters of other values."""
    if isinstance(value, str) and len(value) == 64:
        return value[:12]
    return json.dumps(value)[:200]
