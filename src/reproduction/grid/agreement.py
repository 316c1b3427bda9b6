"""Whether a result agrees with the grid and the code, by its own record: file dates decide nothing.

Snakemake records what it makes in ``.snakemake``. A fresh clone has no such records, and Snakemake then goes by file
dates, which git writes in any order. Every result therefore has a record of its own beside it: ``fit.json`` and
``metrics.json`` of a run, ``made_from.json`` of the tables of an experiment, of an exhibit and of the scorecard. Where
Snakemake has no record, a result whose own record agrees is up to date, and every other result is made.

``ancient`` and ``--forcerun`` are how Snakemake is told. Its trigger ``mtime`` cannot be left out of
``--rerun-triggers``: version 9.27 compares dates whatever is given there.
"""

import base64
import hashlib
import json
import math
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair.data.files import is_sealed, read_json, sealed, sha256, write_json
from partialfair.errors import DataError
from reproduction.grid import answer_cache, fingerprint, paths
from reproduction.grid.config import Config, Job
from reproduction.grid.fingerprint import Wanted

if TYPE_CHECKING:
    from reproduction.grid.workflow import Grid

METADATA = answer_cache.SNAKEMAKE / "metadata"
PER_RUN = ("kappa", "seed")
"""Settings in which the runs of one method on one dataset differ."""
NO_RECORD = "nothing says what it was made from"
MOST_FORCED = 500
"""Outdated runs that are named to Snakemake one by one: a command line holds no more than some thousand paths."""


def snakemake_record(path: str) -> Path:
    """Return where Snakemake keeps what it knows of a file that it has made."""
    return METADATA / base64.urlsafe_b64encode(path.encode()).decode()


def write_collected(config: Config, experiment: str, folder: Path, root: Path = Path()) -> Path:
    """Write what the tables of an experiment were made from, by the sealed records of its runs.

    Args:
        config: the grid.
        experiment: name of the experiment.
        folder: where its tables lie.
        root: the folder that run folders are relative to.

    Returns:
        The record's path.
    """
    groups: dict[str, dict[str, dict[str, list[int]]]] = {}
    for job in config.jobs(experiment):
        fit, metrics = (_sealed(root / job.path / name) for name in (paths.FIT, paths.METRICS))
        if fit is None or metrics is None:
            continue
        settings = {key: fit.get(key) for key in fingerprint.run(config, job).settings}
        digest = _run_digest(settings, str(fit["closure_hash"]), metrics["settings"], str(metrics["closure_hash"]))
        _add(groups, job, digest)
    return _write(folder, collected=fingerprint.collected().code, runs=groups, files=_tables(experiment, folder))


def write_exhibit(config: Config, name: str, folder: Path) -> Path:
    """Write what an exhibit was drawn from; see :func:`write_collected`."""
    return _write(folder, **_exhibit(config, name), files={f"{name}.csv": _checksum(folder / f"{name}.csv")})


def write_summary(config: Config, folder: Path) -> Path:
    """Write what scorecard, page, verdicts and main numbers were made from; see :func:`write_collected`."""
    return _write(folder, **_summary(config), files={name: _checksum(folder / name) for name in paths.SUMMARY})


def adopt(config: Config) -> list[Path]:
    """Write the records of all committed tables, exhibits and the scorecard as if the present grid had made them.

    For the maintainers of a grid, once, after ``partialfair verify`` has found the committed results to be right.

    Raises:
        DataError: a table of an experiment is not there; nothing is written.
    """
    from pyarrow import parquet

    absent = [path for path in paths.collected(config.experiments) if not os.path.isfile(path)]
    if absent:
        more = f", nor are {len(absent) - 1} more tables" if len(absent) > 1 else ""
        raise DataError(f"{absent[0]} is not there{more}; make them first: partialfair run {' '.join(absent)}")
    written = []
    for experiment in config.experiments:
        folder = paths.REPORTS / experiment
        rows = parquet.read_table(folder / "runs.parquet").to_pylist()
        codes = {(row["dataset"], row["algorithm"], row["kappa"], row["seed"]): row["closure_hash"] for row in rows}
        groups: dict[str, dict[str, dict[str, list[int]]]] = {}
        for job in config.jobs(experiment):
            if codes.get((job.dataset, job.algorithm, float(job.kappa), job.seed)) == fingerprint.run(config, job).code:
                _add(groups, job, _wanted_digest(config, job))
        files = _tables(experiment, folder)
        written.append(_write(folder, collected=fingerprint.collected().code, runs=groups, files=files))
    written += [write_exhibit(config, name, paths.REPORTS / name) for name in config.params.exhibits]
    return [*written, write_summary(config, config.reports)]


class Agreement:
    """What the results of a grid that are here say of themselves, each asked once.

    Args:
        grid: the jobs of the configuration.
    """

    def __init__(self, grid: "Grid") -> None:
        self.grid, self.config = grid, grid.config
        self.takes_tables = False  # true where Snakemake plans, and is not told to make what agrees

    def dated(self, rule: str, files: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return an input function whose files have dates that count only where Snakemake has a record, too.

        Runs behind a table that is taken as it is are no inputs where they are not here: Snakemake would train them as
        soon as it prepares their data for another experiment. An exhibit that is drawn needs the runs that it reads.

        Args:
            rule: whose input it is: train, evaluate, collect, exhibit, scorecard or experiment_scorecard.
            files: the input function, of wildcards.
        """
        from snakemake.io import ancient

        def inputs(wildcards: Any) -> Any:
            names = files(wildcards)
            if not self._settled(rule, wildcards):
                return [*names, *self.grid.exhibit_runs(wildcards.exhibit)] if rule == "exhibit" else names
            if rule == "collect" and self.takes_tables:
                names = [name for name in names if os.path.exists(name)]
            return ancient(names) if isinstance(names, str) else [ancient(name) for name in names]

        return inputs

    def stale(self, targets: Sequence[str]) -> dict[str, str]:
        """Return the results behind some targets that are here and do not agree, each with the reason.

        Tables of experiments, exhibits and scorecards are looked at in any case, since ``snakemake --touch`` records of
        any file that the present grid made it; data and runs are where Snakemake has no record.

        Args:
            targets: what Snakemake is asked for; none for everything.
        """
        experiments, exhibits, summaries = self._reached(targets)
        jobs = [job for name in experiments for job in self.config.jobs(name)]
        tables = {job.table for job in jobs} | {job.split for job in jobs}
        tables |= {target for target in targets if target.startswith(PROCESSED)}
        reasons_by_path = {path: NO_RECORD for path in sorted(tables) if _is_unrecorded(path)}
        for job in jobs if not {*targets} or {*targets} - {*TABLES} else ():
            for path, ask in ((f"{job.path}/{paths.FIT}", self._fit), (f"{job.path}/{paths.METRICS}", self._metrics)):
                if _is_unrecorded(path) and (reason := ask(job)):
                    reasons_by_path[path] = reason
        reasons = {paths.collected([name])[-1]: self.collected(name) for name in experiments}
        reasons |= {paths.EXHIBIT.format(exhibit=name): self.exhibit(name) for name in exhibits}
        reasons |= {f"{folder}/{paths.SUMMARY[0]}": self.summary(folder) for folder in summaries}
        return reasons_by_path | {path: reason for path, reason in reasons.items() if reason and os.path.isfile(path)}

    def experiments(self, targets: Sequence[str]) -> list[str]:
        """Return the experiments that some targets are made from."""
        return self._reached(targets)[0]

    def without_record(self, targets: Sequence[str]) -> list[str]:
        """Return the tables of experiments behind some targets that agree, and of which Snakemake has no record."""
        tables = {name: paths.collected([name])[-1] for name in self._reached(targets)[0]}
        return [path for name, path in tables.items() if _is_unrecorded(path) and not self.collected(name)]

    @cache  # noqa: B019 (as many as there are experiments)
    def collected(self, experiment: str) -> str:
        """Say in what the tables of an experiment disagree with the grid or the code; empty if in nothing."""
        folder = paths.REPORTS / experiment
        record = _sealed(folder / paths.MADE_FROM)
        if record is None:
            return NO_RECORD
        if record.get("collected") != fingerprint.collected().code:
            return "the code that collects has changed"
        if record.get("files") != _tables(experiment, folder):
            return "it is not the file that its record was written of"
        runs: dict[str, dict[str, dict[str, list[int]]]] = record.get("runs", {})
        collected = {
            (group, digest, kappa, seed)
            for group, digests in runs.items()
            for digest, kappas in digests.items()
            for kappa, seeds in kappas.items()
            for seed in seeds
        }
        declared = {
            (_group(job), _wanted_digest(self.config, job), job.kappa_text, job.seed)
            for job in self.config.jobs(experiment)
        }
        recorded = {(group, kappa, seed) for group, _, kappa, seed in collected}
        due = {(group, kappa, seed) for group, _, kappa, seed in declared}
        new = [run for run in declared if (run[0], *run[2:]) not in recorded]
        changed = [run for run in declared - collected if (run[0], *run[2:]) in recorded]
        more = [run for run in collected if (run[0], *run[2:]) not in due]
        differences = ((new, "not in it"), (changed, "of changed settings or code"), (more, "no longer asked for"))
        return ", ".join(_counted(runs, reason) for runs, reason in differences if runs)

    @cache  # noqa: B019 (as many as there are exhibits)
    def exhibit(self, name: str) -> str:
        """Say in what an exhibit disagrees with the grid, the code or what it was drawn from; empty if in nothing."""
        folder = paths.REPORTS / name
        return _difference(folder, _exhibit(self.config, name), [f"{name}.csv"])

    @cache  # noqa: B019 (one)
    def summary(self, folder: str) -> str:
        """Say the same of a folder's scorecard and what is written with it; only the committed one has a record."""
        if folder != paths.REPORTS.as_posix() or self.config.name:
            return NO_RECORD if _is_unrecorded(f"{folder}/{paths.SUMMARY[0]}") else ""
        return _difference(Path(folder), _summary(self.config), paths.SUMMARY)

    def _settled(self, rule: str, wildcards: Any) -> bool:
        """Tell whether the result of a job is here and agrees, and Snakemake has no record of it."""
        if rule in ("train", "evaluate"):
            job = self.config.job_of(wildcards)
            name, ask = (paths.FIT, self._fit) if rule == "train" else (paths.METRICS, self._metrics)
            recorded = not (_is_unrecorded(job.table) or _is_unrecorded(job.split))  # else they are made anew
            return recorded and _is_unrecorded(f"{job.path}/{name}") and not ask(job)
        if rule == "collect":
            path = paths.collected([wildcards.experiment])[-1]
            return _is_unrecorded(path) and not self.collected(wildcards.experiment)
        if rule == "exhibit":
            path = paths.EXHIBIT.format(exhibit=wildcards.exhibit)
            return _is_unrecorded(path) and not self.exhibit(wildcards.exhibit)
        folder = self.config.reports.as_posix()
        return _is_unrecorded(f"{folder}/{paths.SUMMARY[0]}") and not self.summary(folder)

    def _fit(self, job: Job) -> str:
        """Say in what a trained model disagrees; empty if in nothing."""
        return _of_run(_sealed(job.path / paths.FIT), fingerprint.run(self.config, job))

    def _metrics(self, job: Job) -> str:
        """Say in what an evaluation disagrees; empty if in nothing."""
        metrics = _sealed(job.path / paths.METRICS)
        return _of_run(metrics and {**metrics, **metrics.get("settings", {})}, fingerprint.evaluation(self.config, job))

    def _reached(self, targets: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Return the experiments, the exhibits and the folders of summaries that some targets are made from."""
        experiments: dict[str, None] = {}
        exhibits: dict[str, None] = {}
        summaries: dict[str, None] = {}
        experiment_names, drawn = self.config.experiments, self.config.params.exhibits
        for target in targets or ["all"]:
            name = _named(target, {*experiment_names, *drawn})
            if name in drawn:
                exhibits |= dict.fromkeys([name, *self._drawn_before(name)])
                experiments |= dict.fromkeys(self.grid.experiments_of(name))
            elif name in experiment_names:
                experiments[name] = None
                if target in (name, "demo_pages") or Path(target).name in paths.SUMMARY:
                    drawn_from_it = self.config.restricted(name).params.exhibits
                    exhibits |= dict.fromkeys(drawn_from_it)
                    for exhibit in drawn_from_it:
                        experiments |= dict.fromkeys(self.grid.experiments_of(exhibit))
                    summaries[(paths.REPORTS / name).as_posix()] = None
            elif target not in NOT_MADE_FROM_RUNS and not target.startswith(PROCESSED):
                experiments |= dict.fromkeys(experiment_names)
                if target not in MADE_BEFORE and not target.startswith("data/"):
                    exhibits |= dict.fromkeys(drawn)
                    summaries[self.config.reports.as_posix()] = None
        return list(experiments), list(exhibits), list(summaries)

    def _drawn_before(self, exhibit: str) -> list[str]:
        """Return the exhibits whose tables an exhibit of claims reads."""
        files = {paths.EXHIBIT.format(exhibit=name): name for name in self.config.params.exhibits}
        return [files[path] for path in self.grid.exhibit_inputs(exhibit) if path in files]


TABLES = ("data", "splits")
"""Targets that are prepared tables and splits."""
PROCESSED = ("data/processed/", "data/raw/")
"""How the paths of tables, splits and raw files begin."""
MADE_BEFORE = (*TABLES, "runs", "evaluation")
"""Targets that are made from experiments, and no exhibits."""
NOT_MADE_FROM_RUNS = ("raw", "benchmark")
"""Targets that no result is made for."""


def _named(target: str, names: Container[str]) -> str:
    """Return the experiment or exhibit that a target is, or is a file of; else the target."""
    folders = Path(target).parts
    if folders[:2] == ("data", "runs") and len(folders) > 2:
        return folders[2]
    if folders[:1] == ("reports",) and len(folders) > 2 and folders[1] in names:
        return folders[1]
    if folders[:2] == (".cache", "report"):
        return Path(target).stem
    return "demo" if target == "demo_pages" else target


def _is_unrecorded(path: str) -> bool:
    """Tell whether a file is here, and Snakemake has no record of it."""
    return os.path.isfile(path) and not snakemake_record(path).exists()


def _of_run(record: Mapping[str, Any] | None, expected: Wanted) -> str:
    """Say in what the sealed record of a job disagrees with what it should have been made from."""
    if record is None:
        return "it has no sealed record"
    if record.get("closure_hash") != expected.code:
        return "its code has changed"
    for key, value in expected.settings.items():
        if record.get(key) != value:
            return f"its setting {key} has changed"
    for name, path in expected.inputs.items():
        if (record.get("inputs") or {}).get(name) != _checksum(Path(path)):
            return f"{path} is another file"
    return ""


def _difference(folder: Path, expected: Mapping[str, Any], files: Iterable[str]) -> str:
    """Say in what the record of a folder disagrees with what its files should have been made from."""
    record = _sealed(folder / paths.MADE_FROM)
    if record is None:
        return NO_RECORD
    for field, sentence in (
        ("code", "the code that draws it has changed"),
        ("settings", "its entry in the grid has changed"),
    ):
        if record.get(field) != expected[field]:
            return sentence
    before, now = record.get("inputs", {}), expected["inputs"]
    changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    if changed:
        return (
            f"{changed[0]} is another file"
            if len(changed) == 1
            else f"{changed[0]} and {len(changed) - 1} more are changed files"
        )
    if any(record.get("files", {}).get(name) != _checksum(folder / name) for name in files):
        return "it is not the file that its record was written of"
    return ""


def _exhibit(config: Config, name: str) -> dict[str, Any]:
    """Return what an exhibit should be drawn from."""
    from reproduction.grid.workflow import Grid

    return _drawn_from(config, fingerprint.exhibit(config, name), Grid(config).exhibit_inputs(name))


def _summary(config: Config) -> dict[str, Any]:
    """Return what the scorecard and what is written with it should be made from."""
    from reproduction.grid.workflow import Grid

    return _drawn_from(config, fingerprint.scorecard(config), Grid(config).summary_inputs())


def _drawn_from(config: Config, expected: Wanted, files: Iterable[str]) -> dict[str, Any]:
    """Return code, settings and input files of what is drawn, as texts.

    A prepared table, which a clone lacks, counts by the code and the settings that make it.
    """
    settings, code = expected.texts()
    tables = {paths.table(dataset): dataset for dataset in config.datasets}
    inputs = {}
    for path in files:
        if path in tables:
            inputs[path] = _digest(*fingerprint.table(config, tables[path]).texts())
        else:
            inputs[path] = _checksum(Path(path))
    return {"code": code, "settings": _digest(settings), "inputs": inputs}


def _counted(runs: Sequence[tuple[str, str, str, int]], predicate: str) -> str:
    """Return how many runs are so, and which is the first."""
    group, _, kappa, seed = min(runs)
    count = "1 run is" if len(runs) == 1 else f"{len(runs):,} runs are"
    return f"{count} {predicate} (such as {group}, kappa {kappa}, seed {seed})"


def _add(groups: dict[str, dict[str, dict[str, list[int]]]], job: Job, digest: str) -> None:
    """Add a run to those of its method, by what it was made from and its tolerance."""
    groups.setdefault(_group(job), {}).setdefault(digest, {}).setdefault(job.kappa_text, []).append(job.seed)


def _group(job: Job) -> str:
    return f"{job.dataset}/{job.algorithm}"


@cache
def _method_digest(config: Config, experiment: str, dataset: str, algorithm: str) -> str:
    """Return a hash of what the runs of a method on a dataset should be trained and evaluated from."""
    job = Job(experiment, dataset, algorithm, "inf", math.inf, 0)
    training, evaluation = fingerprint.run(config, job), fingerprint.evaluation(config, job)
    return _run_digest(training.settings, training.code, evaluation.settings, evaluation.code)


def _wanted_digest(config: Config, job: Job) -> str:
    return _method_digest(config, job.experiment, job.dataset, job.algorithm)


def _run_digest(training: Mapping[str, Any], code: str, evaluation: Mapping[str, Any], evaluated_by: str) -> str:
    """Return a hash of settings and code of a run, without its tolerance and its seed."""
    shared = {key: value for key, value in training.items() if key not in PER_RUN}
    return _digest(json.dumps([shared, evaluation], sort_keys=True), code, evaluated_by)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _tables(experiment: str, folder: Path) -> dict[str, str]:
    """Return the checksums of the tables of an experiment, by name."""
    return {name: _checksum(folder / name) for name in (Path(path).name for path in paths.collected([experiment]))}


_checksums: dict[tuple[str, int, int, int], str] = {}


def _checksum(path: Path) -> str:
    """Return the SHA-256 of a file, read once as long as it stays the same; empty if it is not there."""
    try:
        state = path.stat()
        key = (str(path.resolve()), state.st_size, state.st_mtime_ns, state.st_ino)
        if key not in _checksums:
            _checksums[key] = sha256(path)
        return _checksums[key]
    except OSError:
        return ""


def _sealed(path: Path) -> dict[str, Any] | None:
    """Return the content of a sealed record; ``None`` if it is not there, or not as its job left it."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and is_sealed(content) else None


def _write(folder: Path, **content: Any) -> Path:
    path = folder / paths.MADE_FROM
    write_json(path, sealed(content))
    return path
