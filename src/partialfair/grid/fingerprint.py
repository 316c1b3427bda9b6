"""What each result should have been made from: said once, asked by rules, jobs, verification and, by the rules, DVC.

A result is up to date if the code that can have a part in it, the settings that determine it and the files that it was
made from are those of :class:`Wanted`. The workflow stores the first two with every result (``params:`` of the rule)
and tells input files by their content; a job of a run writes all three into the result itself.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from partialfair import plugins
from partialfair.datasets.named import module_name
from partialfair.grid import paths
from partialfair.grid.closure import PACKAGE, SOURCE, closure_hash, modules_of
from partialfair.grid.config import Config, Job, evaluation_settings, job_settings

DATA_SUFFIXES = frozenset((".csv", ".html", ".css", ".js", ".json", ".txt", ".yaml", ".toml"))


@dataclass(frozen=True)
class Wanted:
    """What a result should have been made from.

    Attributes:
        code: hash of the source that can have a part in it.
        settings: what the configuration says of it, ready for JSON.
        inputs: files it is made from, by the names that a result's own record gives them.
    """

    code: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)


def table(config: Config, dataset: str) -> Wanted:
    """Of a prepared table; which raw files it is made from, its dataset's module says."""
    options = config.dataset_options(dataset)
    return Wanted(dataset_hash(module_name(dataset, options)), options)


def split(config: Config, dataset: str) -> Wanted:
    """Of the row numbers of the parts of a table, whatever the seed."""
    options = config.dataset_options(dataset)
    code = dataset_hash(module_name(dataset, options), "split")
    return Wanted(code, options, {"table": paths.table(dataset)})


def run(config: Config, job: Job) -> Wanted:
    """Of a trained model."""
    experiment = config.experiment(job.experiment)
    code = training_hash(job.algorithm, experiment.constraint, experiment.loss, experiment.surrogate)
    return Wanted(code, job_settings(config, job), {"table": job.table, "split": job.split})


def evaluation(config: Config, job: Job) -> Wanted:
    """Of scores and metrics."""
    settings = evaluation_settings(config, job.experiment, job.dataset)
    inputs = {"table": job.table, "split": job.split, "model.npz": f"{job.path}/model.npz"}
    return Wanted(evaluation_hash(settings.get("on_request", ())), settings, inputs)


def collected() -> Wanted:
    """Of the tidy tables of any experiment: what its runs say, which is all in the input files."""
    return Wanted(closure_hash(f"{PACKAGE}.jobs.collect"), {})


def manifest() -> Wanted:
    """Of a list of checksums."""
    return Wanted(closure_hash(f"{PACKAGE}.jobs.manifest"), {})


def exhibit(config: Config, name: str) -> Wanted:
    """Of a figure or table."""
    return Wanted(report_hash(), config.params.exhibits[name].model_dump())


def scorecard(config: Config) -> Wanted:
    """Of scorecard, page and headline numbers of a grid, whole or restricted."""
    return Wanted(report_hash(), {name: entry.model_dump() for name, entry in config.params.exhibits.items()})


def dataset_hash(module: str, job: str = "prepare") -> str:
    """Hash for preparing or splitting a dataset: the generic job and the dataset's module, no other dataset's."""
    return closure_hash(f"{PACKAGE}.jobs.{job}", plugins.module_of("datasets", module))


def training_hash(algorithm: str, constraint: str, loss: Any = "logistic", surrogate: Any = "clipped_linear") -> str:
    """Hash for a training run: the generic job, the algorithm's and the constraint's module, no others'.

    A run that the compiled kernels do not serve also depends on the general path and the module of its loss.
    """
    modules = [plugins.module_of("algorithms", algorithm), plugins.module_of("constraints", constraint)]
    if not plugins.is_fused(constraint, loss, surrogate):
        modules += [f"{PACKAGE}.algorithms.general.general", plugins.module_of("losses", plugins.chosen(loss)[0])]
    return closure_hash(f"{PACKAGE}.jobs.train", *modules)


def evaluation_hash(on_request: Iterable[str] = ()) -> str:
    """Hash for evaluating a run: the job, every common metric (they are found by scanning their folder), linear models.

    Metrics on request count for the runs of experiments that name them.

    Other kinds of model are part of the training hash of the algorithms that make them: an edit trains them anew.
    """
    return _evaluation_hash(tuple(on_request))


@cache
def _evaluation_hash(on_request: tuple[str, ...]) -> str:
    modules = [f"{PACKAGE}.jobs.evaluate", f"{PACKAGE}.models.linear", *modules_of("metrics")]
    if on_request:
        from partialfair.metrics import registry

        modules += registry.modules_on_request(on_request)
    return closure_hash(*modules)


@cache
def report_hash() -> str:
    """Hash for drawing exhibits: the jobs, every kind of exhibit, and their templates and published numbers."""
    jobs = (f"{PACKAGE}.jobs.report", f"{PACKAGE}.jobs.headline")
    modules = [module for folder in ("reporting", "reporting.kinds", "verdicts") for module in modules_of(folder)]
    digest = hashlib.sha256(closure_hash(*jobs, *modules).encode())
    files = [path for folder in ("reporting", "verdicts") for path in (SOURCE / PACKAGE / folder).rglob("*")]
    for path in sorted(files, key=lambda path: path.name):
        if path.is_file() and path.suffix in DATA_SUFFIXES:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
