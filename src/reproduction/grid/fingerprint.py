"""What each result has to be made from: code hash, settings and input files.

Rules, jobs and verification all ask this module, so that they cannot disagree; DVC is asked through the rules. A result
is up to date if its code hash, settings and input files are those of :class:`Wanted`. The workflow stores the first two
with every result (``params:`` of the rule), and compares input files by content. A job of a run writes all three into
the result itself.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from partialfair import plugins
from reproduction.datasets.named import module_name
from reproduction.grid import answer_cache, paths
from reproduction.grid.closure import LIBRARY, WORKBENCH, closure_hash
from reproduction.grid.config import Config, Job, evaluation_settings, job_settings
from reproduction.grid.params import ExperimentModel

KINDS = "exhibits"
COMMON_METRICS = (
    "absolute",
    "choose_interval",
    "classical",
    "pairwise",
    "partial",
    "ranks",
    "registry",
    "resampling",
    "uncertainty",
)
"""Modules of ``metrics`` in the hash of every evaluation. New metrics go to ``metrics/on_request``: they are in the
hashes of the experiments that name them, and outdate no other."""


@dataclass(frozen=True)
class Wanted:
    """Expected origin of a result.

    Attributes:
        code: hash of the source that can have a part in it.
        settings: its settings from the configuration, ready for JSON.
        inputs: its input files, by their names in the result's own record.
    """

    code: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)

    def texts(self) -> tuple[str, str]:
        """Return settings and code as the workflow keeps them, in texts that change if they do."""
        return json.dumps(self.settings, sort_keys=True, separators=(",", ":")), self.code


def table(config: Config, dataset: str) -> Wanted:
    """Return the expected origin of a prepared table; the dataset's module names its raw files."""
    options = config.determining(dataset)
    return Wanted(dataset_hash(module_name(dataset, options)), options)


def split(config: Config, dataset: str) -> Wanted:
    """Return the expected origin of the row numbers of a table's parts, the same for all seeds."""
    options = config.determining(dataset)
    code = dataset_hash(module_name(dataset, options), "split")
    return Wanted(code, options, {"table": paths.table(dataset)})


def run(config: Config, job: Job) -> Wanted:
    """Return the expected origin of a trained model."""
    experiment = config.experiment(job.experiment)
    code = training_hash(job.algorithm, experiment.constraint, experiment.loss, experiment.surrogate)
    return Wanted(code, job_settings(config, job), {"table": job.table, "split": job.split})


def evaluation(config: Config, job: Job) -> Wanted:
    """Return the expected origin of scores and metrics."""
    settings = evaluation_settings(config, job.experiment, job.dataset)
    inputs = {"table": job.table, "split": job.split, paths.MODEL: f"{job.path}/{paths.MODEL}"}
    return Wanted(evaluation_hash(settings.get("on_request", ())), settings, inputs)


def collected() -> Wanted:
    """Return the expected origin of the tidy tables of any experiment, which depend on the input files alone."""
    return Wanted(closure_hash(f"{WORKBENCH}.jobs.collect"), {})


def manifest() -> Wanted:
    """Return the expected origin of a list of checksums."""
    return Wanted(closure_hash(f"{WORKBENCH}.jobs.manifest"), {})


def exhibit(config: Config, name: str) -> Wanted:
    """Return the expected origin of a figure or table: its entry, and the code of its kind."""
    entry = config.params.exhibits[name]
    experiments = entry.experiments or list(config.experiments)
    return Wanted(exhibit_hash(config, [entry.kind], experiments, "report"), entry.model_dump())


def scorecard(config: Config) -> Wanted:
    """Return the expected origin of scorecard, page and headline numbers of a grid, whole or restricted."""
    entries = config.params.exhibits
    kinds = [entry.kind for entry in entries.values()]
    code = exhibit_hash(config, kinds, list(config.experiments), "scorecard")
    return Wanted(code, {name: entry.model_dump() for name, entry in entries.items()})


def dataset_hash(module: str, job: str = "prepare") -> str:
    """Return the hash for preparing or splitting a dataset: the generic job and the module of that dataset alone."""
    return closure_hash(f"{WORKBENCH}.jobs.{job}", plugins.module_of("datasets", module))


def training_hash(algorithm: str, constraint: str, loss: Any = "logistic", surrogate: Any = "clipped_linear") -> str:
    """Return the hash for a training run: the generic job, and the modules of its algorithm, constraint and loss.

    The modules of the metrics that a constraint bounds are included, because the run's status is decided by them. A run
    outside the compiled kernels also includes the general solver.
    """
    fused = plugins.is_fused(constraint, loss, surrogate)
    return _training_hash(algorithm, constraint, plugins.chosen(loss)[0], fused)


@cache
def _training_hash(algorithm: str, constraint: str, loss: str, fused: bool) -> str:
    modules = [plugins.module_of("algorithms", algorithm), plugins.source_of("constraints", constraint)]
    loss_names = plugins.names("losses")
    modules += [plugins.module_of("losses", name) for name in {loss, _declared_loss(algorithm)} if name in loss_names]
    modules += _metrics_of(constraint)
    if not fused:
        modules.append(f"{LIBRARY}.algorithms.general.general")
    return closure_hash(f"{WORKBENCH}.jobs.train", *modules)


def _declared_loss(algorithm: str) -> str:
    """Return the loss that an algorithm minimises in place of the task's; empty if none."""

    def loss() -> str:
        return getattr(plugins.load("algorithms", algorithm).ALGORITHM, "loss", None) or ""

    return answer_cache.answer(f"loss of {algorithm}", loss)


def _metrics_of(constraint: str) -> list[str]:
    """Return the modules of the metrics that a constraint bounds."""

    def modules() -> str:
        from partialfair.metrics import registry

        return " ".join(registry.modules_of(sorted(set(plugins.load("constraints", constraint).VIOLATION.values()))))

    return answer_cache.answer(f"metrics of {constraint}", modules).split()


def evaluation_hash(on_request: Iterable[str] = ()) -> str:
    """Return the hash for evaluating a run: the job, every common metric, the metrics on request, linear models.

    Other kinds of model are part of the training hash of the algorithms that make them: an edit trains them anew.
    """
    return _evaluation_hash(tuple(on_request))


@cache
def _evaluation_hash(on_request: tuple[str, ...]) -> str:
    modules = [
        f"{WORKBENCH}.jobs.evaluate",
        f"{LIBRARY}.models.linear",
        *(f"{LIBRARY}.metrics.{name}" for name in COMMON_METRICS),
    ]
    if on_request:
        from partialfair.metrics import registry

        modules += registry.modules_of(on_request)
    return closure_hash(*modules)


def exhibit_hash(config: Config, kinds: Iterable[str], experiments: Iterable[str], job: str) -> str:
    """Return the hash for drawing: the generic job, and the kinds, constraints and metrics of the exhibits."""
    entries = [config.experiment(name) for name in experiments]
    modules = {plugins.module_of(KINDS, kind) for kind in kinds}
    modules |= {plugins.source_of("constraints", experiment.constraint) for experiment in entries}
    code = closure_hash(f"{WORKBENCH}.jobs.{job}", *sorted(modules))
    return hashlib.sha256(f"{code} {_appearance(entries)}".encode()).hexdigest()[:16]


def _appearance(experiments: Iterable[ExperimentModel]) -> str:
    """Return the labels and looks that the algorithms shown declare; their solvers have no part in an exhibit."""
    names = sorted({name for experiment in experiments for run in experiment.runs.values() for name in run.algorithms})

    def looks() -> str:
        algorithms = [(name, plugins.load("algorithms", name).ALGORITHM) for name in names]
        return repr([(name, getattr(plug, "label", ""), getattr(plug, "look", None)) for name, plug in algorithms])

    return answer_cache.answer(f"looks of {' '.join(names)}", looks)
