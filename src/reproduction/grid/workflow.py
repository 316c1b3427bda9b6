"""What the Snakemake rules ask: input files, settings and code hashes of each job.

Kept out of the rule files so that it is typed, tested and fast: a dry run asks once per job.
"""

import gc
import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from partialfair import plugins
from partialfair.kernels import processor
from reproduction.datasets.named import NamedDataset, module_name, named_dataset
from reproduction.grid import answer_cache, fingerprint, paths
from reproduction.grid.config import Config
from reproduction.grid.fingerprint import Wanted
from reproduction.grid.papers import files, paper, tables_of_claims

Function = TypeVar("Function", bound=Callable[..., Any])

TRAINING_MEMORY = (1500, 20)
"""Memory of a training job, for :meth:`Grid.memory`: at least so many MB, and so many times the table's size."""
RUN = ("experiment", "dataset", "algorithm", "kappa", "seed")
"""The wildcards of a run."""
NOTHING = r"(?!)"
"""A pattern that nothing matches."""
CLAIMS = "claims"
"""Kind of the exhibits that show what a paper claims in words."""


def set_environment(project: str | Path, params: str | None) -> str:
    """Make every job run this interpreter, this source and this configuration, and Snakemake plan them quickly.

    Args:
        project: folder that holds ``src``.
        params: the configuration, relative to the working directory; ``None`` for that of the environment variable
            ``PARTIALFAIR_PARAMS``, or else ``params.yaml``.

    Returns:
        The configuration.
    """
    chosen = str(params or os.environ.get("PARTIALFAIR_PARAMS", "params.yaml"))
    source = str(Path(project, "src").resolve())  # kernels are filed by the place of their source
    _put_first("PYTHONPATH", source)
    _put_first("PATH", str(Path(sys.executable).parent))
    os.environ["PARTIALFAIR_PARAMS"] = chosen
    # Compiled kernels are shared by all jobs; a cache beside the source would land in an installed package.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(".cache/numba").absolute()))
    processor.settle(threads=False)  # those, Snakemake sets for each job
    # What Snakemake makes is the graph of jobs, which lives to the end: most searches for garbage find none.
    gc.set_threshold(100_000)
    return chosen


def with_parameters(function: Function) -> Function:
    """Let a function bear its parameters, which Snakemake asks for per job and Python else works out anew each time.

    The attribute is the one that Snakemake reads first; that of a method counts for what it is bound to.
    """
    function._overwrite_params = inspect.signature(function).parameters  # type: ignore[attr-defined]
    return function


@with_parameters
def folder_of(wildcards: Any, output: Any) -> str:
    """Return the folder of what a rule makes, for its command line."""
    return os.path.dirname(output[0])


def _put_first(variable: str, folder: str) -> None:
    """Put a folder first on a search path, once."""
    folders = [entry for entry in os.environ.get(variable, "").split(os.pathsep) if entry and entry != folder]
    os.environ[variable] = os.pathsep.join([folder, *folders])


class Params:
    """Entries of ``params:`` by which a rule is outdated if the code or the settings of its result change.

    Args:
        expectation_of: what the result of a job should have been made from, by the wildcards of the job.
        names: the wildcards on which that depends.
    """

    def __init__(self, expectation_of: Callable[[Any], Wanted], *names: str) -> None:
        self.expectation_of, self.names = expectation_of, names
        self._texts: dict[tuple[Any, ...], tuple[str, str]] = {}

    def texts(self, wildcards: Any) -> tuple[str, str]:
        """Return both for a job; jobs that agree in all the names share them."""
        key = tuple(wildcards.get(name) for name in self.names)
        if key not in self._texts:
            self._texts[key] = self.expectation_of(wildcards).texts()
        return self._texts[key]

    @with_parameters
    def settings(self, wildcards: Any) -> str:
        """Return the settings as text that changes if they do."""
        return self.texts(wildcards)[0]

    @with_parameters
    def code(self, wildcards: Any) -> str:
        """Return the hash of the code."""
        return self.texts(wildcards)[1]


class Grid:
    """The jobs of a configuration, by the wildcards that Snakemake knows them by."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.table = Params(lambda wildcards: fingerprint.table(config, wildcards.dataset), "dataset")
        self.split = Params(lambda wildcards: fingerprint.split(config, wildcards.dataset), "dataset")
        self.run = Params(lambda wildcards: fingerprint.run(config, config.job_of(wildcards)), *RUN)
        self.evaluation = Params(
            lambda wildcards: fingerprint.evaluation(config, config.job_of(wildcards)), "experiment", "dataset"
        )
        self.collected = Params(lambda wildcards: fingerprint.collected())
        self.manifest = Params(lambda wildcards: fingerprint.manifest())
        self.exhibit = Params(lambda wildcards: fingerprint.exhibit(config, wildcards.exhibit), "exhibit")
        self.scorecard = Params(
            lambda wildcards: fingerprint.scorecard(self._restricted(wildcards.get("experiment"))), "experiment"
        )

    def raw_files(self, dataset: str) -> list[str]:
        """Return the raw files that a table is built from.

        None are declared where the options choose another source than the declared files: which files it
        reads is then for the dataset's module to find out. Of a module that declares none, they are the files
        in its folder.
        """
        named = self._named(dataset)
        if hasattr(named.module, "download") and "source" in named.options:
            return []
        folder = named.spec.directory(paths.RAW).as_posix()
        undeclared = _undeclared(named) if named.file is None else [named.file.as_posix()]
        return undeclared + [f"{folder}/{file.name}" for file in named.spec.files if file.needed]

    def raw(self, datasets: Iterable[str] = ()) -> list[str]:
        """Return the raw files that the tables of some datasets, or of all that the grid uses, are built from."""
        files = (path for dataset in datasets or self.config.datasets for path in self.raw_files(dataset))
        return list(dict.fromkeys(files))

    def absent_raw(self) -> str:
        """Return a pattern of the raw files, below their root, that some dataset declares and that are not here."""
        folder = f"{paths.RAW.as_posix()}/"
        absent = [path.removeprefix(folder) for path in self._declared() if not os.path.lexists(path)]
        return "|".join(map(re.escape, sorted(absent))) or NOTHING

    def _declared(self) -> Iterator[str]:
        """Yield the raw files below their root that datasets declare, used or not."""
        for dataset in (*plugins.names("datasets"), *self.config.params.datasets):
            named = self._named(dataset)
            folder = named.spec.directory(paths.RAW).as_posix()
            files = [f"{folder}/{file.name}" for file in named.spec.files]
            own_file = [] if named.file is None else [named.file.as_posix()]
            yield from (path for path in (*files, *own_file) if path.startswith(f"{paths.RAW.as_posix()}/"))

    def dataset_of(self, raw_file: str) -> str:
        """Return a dataset that declares a raw file, used or not: one that reads it, where there is one.

        Fetching a dataset brings the files that it reads; another may declare the same file as documentation.
        """
        declared = []
        for dataset in (*plugins.names("datasets"), *self.config.params.datasets):
            named = self._named(dataset)
            folder = named.spec.directory(paths.RAW).as_posix()
            needed = {f"{folder}/{file.name}": file.needed for file in named.spec.files}
            undeclared = _undeclared(named) if named.file is None else [named.file.as_posix()]
            needed |= dict.fromkeys(undeclared, True)
            if needed.get(raw_file):
                return dataset
            declared += [dataset] if raw_file in needed else []
        if not declared:
            raise ValueError(f"{raw_file} is not a raw file of any dataset")
        return declared[0]

    def tables(self, experiments: Iterable[str] | None = None) -> list[str]:
        """Return the prepared tables that some experiments use, or all that experiments and exhibits use."""
        if experiments is None:
            return list(map(paths.table, self.config.datasets))
        return list(
            map(paths.table, sorted({dataset for name in experiments for dataset in self.config.experiment(name).runs}))
        )

    def splits(self) -> list[str]:
        """Return the splits that the experiments use."""
        pairs = {(job.dataset, job.seed) for job in self.config.jobs()}
        return [paths.split(dataset, seed) for dataset, seed in sorted(pairs)]

    def runs(self, name: str, experiment: str | None = None) -> list[str]:
        """Return the file ``name`` of every run folder, of one experiment or of all."""
        return [f"{job.path}/{name}" for job in self.config.jobs(experiment)]

    def evaluated(self, experiments: Iterable[str] | None = None) -> list[str]:
        """Return the tidy tables of some experiments, or of all."""
        return paths.collected(experiments or self.config.experiments)

    def reports(self, experiment: str | None = None) -> list[str]:
        """Return all that is rendered: from one experiment alone, or from everything."""
        config = self._restricted(experiment)
        page = [f"{config.reports}/{name}" for name in paths.SUMMARY[:3]]
        return [*self.evaluated(config.experiments), *self.drawn(experiment), *page]

    def drawn(self, experiment: str | None = None) -> list[str]:
        """Return the CSV of every exhibit, or of those drawn from one experiment alone."""
        return [paths.EXHIBIT.format(exhibit=name) for name in self._restricted(experiment).params.exhibits]

    def pages(self, experiment: str | None = None) -> list[str]:
        """Return the pages of exhibits for Snakemake's own report."""
        return [paths.PAGE.format(exhibit=name) for name in self._restricted(experiment).params.exhibits]

    def experiments_of(self, exhibit: str) -> list[str]:
        """Return the experiments that an exhibit shows: all if it names none, of claims all of their paper."""
        entry = self.config.params.exhibits[exhibit]
        experiments = self.config.with_between(entry.experiments or self.config.experiments)
        if entry.kind != CLAIMS:
            return experiments
        owner = self.config.experiment(experiments[0]).paper
        return [name for name, experiment in self.config.experiments.items() if experiment.paper == owner]

    def exhibit_inputs(self, exhibit: str) -> list[str]:
        """Return the tidy tables that an exhibit is drawn from, datasets that it may count, and its paper's numbers.

        Claims look at every experiment of their paper, and at the tables of other exhibits.
        """
        if exhibit not in self.config.params.exhibits:
            raise ValueError(f"{exhibit} is no exhibit; {plugins.did_you_mean(exhibit, self.config.params.exhibits)}")
        entry, experiments = self.config.params.exhibits[exhibit], self.experiments_of(exhibit)
        further, held_against = list(map(paths.table, entry.datasets)), self.papers(experiments)
        if entry.kind == CLAIMS:
            owner = self.config.experiment(experiments[0]).paper
            read = tables_of_claims(owner) & self.config.params.exhibits.keys()
            further += [paths.EXHIBIT.format(exhibit=name) for name in sorted(read)]
        return list(dict.fromkeys([*self.evaluated(experiments), *self.tables(experiments), *further, *held_against]))

    def exhibit_runs(self, exhibit: str) -> list[str]:
        """Return the metrics of the runs behind an exhibit, if its kind reads files of runs; else none."""
        if self.is_drawn_from_tables(exhibit):
            return []
        names = self.experiments_of(exhibit)
        return list(dict.fromkeys(path for name in names for path in self.runs(paths.METRICS, name)))

    def is_drawn_from_tables(self, exhibit: str) -> bool:
        """Tell whether an exhibit is drawn from collected tables alone, as its kind declares (``FROM_TABLES``)."""
        entry = self.config.params.exhibits[exhibit]
        source = str((entry.model_extra or {}).get("source", ""))
        question = f"whether {entry.kind} {source} is drawn from tables"
        return answer_cache.answer(question, lambda: str(_is_from_tables(entry.kind, source))) == str(True)

    def manifests(self) -> list[str]:
        """Return the checksums of all tables and models, which the grid of one paper leaves alone."""
        return [] if self.config.name else [paths.MANIFEST.format(what=kind) for kind in ("tables", "models")]

    def papers(self, experiments: Iterable[str] | None = None) -> list[str]:
        """Return the files that the results of some experiments, or of all, are held against."""
        names = dict.fromkeys(self.config.experiment(name).paper for name in experiments or self.config.experiments)
        return [path for name in names for path in files(name)]

    def summary_inputs(self) -> list[str]:
        """Return the files that the scorecard and what is written with it are made from."""
        return [*self.evaluated(), *self.papers(), *self.tables(), *self.drawn()]

    def title(self, exhibit: str) -> str:
        """Return the title of an exhibit."""
        return self.config.params.exhibits[exhibit].title or exhibit

    def caption(self, exhibit: str) -> str:
        """Return the caption of an exhibit as reStructuredText, in which nothing is markup."""
        text = str(self.config.params.exhibits[exhibit].model_dump().get("caption", ""))
        return re.sub(r"([\\*`|_])", r"\\\1", text)

    def section(self, exhibit: str) -> str:
        """Return the heading under which an exhibit stands: its own, or its paper's title."""
        entry = self.config.params.exhibits[exhibit].model_dump()
        experiments = entry["experiments"] or list(self.config.experiments)
        return str(entry.get("section") or paper(self.config.experiment(experiments[0]).paper).title)

    def memory(self, dataset: str, least: int, factor: int) -> int:
        """Return the memory in MB of a job that reads a table: ``factor`` times its size, at least ``least``.

        A table of images is mapped from its file and read by the batch: 3 GB for the job, whatever its size.
        The size is asked of the file system: Snakemake's ``input.size_mb`` starts an event loop per job, which took
        a seventh of a dry run.

        Raises:
            FileNotFoundError: the table is not there yet; Snakemake asks again when it is.
        """
        size = os.stat(paths.table(dataset)).st_size
        return max(3000, least) if self._mapped(dataset) else max(least, factor * (size >> 20))

    def gpus(self, algorithm: str) -> int:
        """Return how many GPUs a training run takes: 1 if it needs one and a device is configured."""
        return 0 if self.config.params.device == "cpu" else int(_needs_gpu(algorithm))

    def scoring_threads(self, algorithm: str) -> int:
        """Return the threads of an evaluation: those of training where a network scores, on the CPU, else 1."""
        return self.config.params.threads if _needs_gpu(algorithm) else 1

    def scoring_minutes(self, dataset: str, algorithm: str) -> int:
        """Return the time limit of an evaluation: 10, where a network scores images 1 per 30 MB and thread, if more.

        That is four times what ResNet-18 took on one thread of a Xeon: 2 MB of pixels a second.

        Raises:
            FileNotFoundError: see :meth:`memory`.
        """
        if not (_needs_gpu(algorithm) and self._mapped(dataset)):
            return 10
        size = os.stat(paths.table(dataset)).st_size >> 20
        return max(10, math.ceil(size / (30 * self.scoring_threads(algorithm))))

    def _mapped(self, dataset: str) -> bool:
        """Tell whether the table of a dataset is mapped from its file."""
        module = plugins.load("datasets", module_name(dataset, self.config.dataset_options(dataset)))
        return bool(getattr(module, "MAPPED", False))

    def _restricted(self, experiment: str | None) -> Config:
        """Return the configuration, or its part for one experiment."""
        return self.config if experiment is None else self.config.restricted(experiment)

    def _named(self, dataset: str) -> NamedDataset:
        """Return a dataset with its options."""
        return named_dataset(dataset, self.config.dataset_options(dataset))


def _is_from_tables(kind: str, source: str) -> bool:
    """Tell whether exhibits of a kind need no files of runs; without a source, the first that the kind draws from."""
    module = plugins.load(fingerprint.KINDS, kind)
    declared = getattr(module, "FROM_TABLES", False)
    return bool(declared) if isinstance(declared, bool) else (source or next(iter(module.KIND))) in declared


def _undeclared(named: NamedDataset) -> list[str]:
    """Return the files in the folder of a module that declares no files, without those of DVC and git."""
    folder_option = named.options.get("folder")
    folder = Path(folder_option) if isinstance(folder_option, str) else named.spec.directory(paths.RAW)
    if named.module.SPEC.files or named.spec.files or not folder.is_dir():
        return []
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if path.suffix != ".dvc" and not path.name.startswith("."))


@cache
def _needs_gpu(algorithm: str) -> bool:
    return bool(plugins.load("algorithms", algorithm).ALGORITHM.needs_gpu)
