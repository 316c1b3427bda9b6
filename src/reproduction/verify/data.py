"""The beginning of the chain: raw files, tables, splits."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partialfair.data.files import read_json, sha256
from partialfair.errors import PartialFairError
from reproduction.datasets import sources
from reproduction.datasets.named import named_dataset
from reproduction.grid import fingerprint, paths
from reproduction.grid.config import Config, Job
from reproduction.jobs import prepare, split
from reproduction.verify.chain import Chain, Fault

MANIFEST = Path(paths.MANIFEST.format(what="tables"))


@dataclass
class Expected:
    """Checksums of tables and splits that were made anew; those that could not be made are left out."""

    tables: dict[str, str] = field(default_factory=dict)
    splits: dict[tuple[str, int], str] = field(default_factory=dict)

    def inputs_of(self, job: Job, fit: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the checksums of a run's inputs; the one that its record states for an input not made anew."""
        stated = fit["inputs"]
        return {
            "table": self.tables.get(job.dataset, stated.get("table")),
            "split": self.splits.get((job.dataset, job.seed), stated.get("split")),
        }


def check_data(chain: Chain, config: Config) -> Expected:
    """Check the raw files by their checksums, and tables and splits by making them anew."""
    seeds: dict[str, set[int]] = {}
    for job in config.jobs():
        seeds.setdefault(job.dataset, set()).add(job.seed)

    def check(dataset_chain: Chain, dataset: str) -> tuple[set[str], Expected]:
        return _check_dataset(dataset_chain, config, dataset, sorted(seeds.get(dataset, ())))

    expected, absent = Expected(), set()
    for missing, of_dataset in chain.check_all(check, config.datasets, "raw files, table and splits of dataset"):
        absent |= missing
        expected.tables |= of_dataset.tables
        expected.splits |= of_dataset.splits
    if absent:
        chain.absent["raw"] += len(absent)
    return expected


def _check_dataset(chain: Chain, config: Config, dataset: str, seeds: list[int]) -> tuple[set[str], Expected]:
    """Check one dataset; return the raw files that are not here, and what its table and splits should be."""
    expected, table = Expected(), paths.table(dataset)
    absent, good = _check_raw(chain, config, dataset)
    splits = [paths.split(dataset, seed) for seed in seeds]
    if not any(Path(path).exists() for path in (table, *splits)):
        chain.absent.update({"table": 1, "split": len(splits)})
        return absent, expected
    if good and not absent:
        _check_table(chain, config, dataset, expected)
    elif good:
        _check_record(chain, table, expected, dataset)
    _check_splits(chain, config, dataset, seeds, expected)
    return absent, expected


def _check_raw(chain: Chain, config: Config, dataset: str) -> tuple[set[str], bool]:
    """Compare raw files with their declared checksums; return the absent ones, and whether the rest is right."""
    named = named_dataset(dataset, config.dataset_options(dataset))
    if hasattr(named.module, "download") and "source" in named.options:
        return set(), True  # the module looks its files up by itself, and counts their rows
    before, absent = len(chain.breaks), set()
    if named.file is not None:
        if not named.file.exists():
            absent.add(str(named.file))
        else:
            with chain.expects(named.file, f"restore the file, or correct datasets.{dataset} in {config.source}"):
                named.check_file()
                chain.link("raw", named.file, "as params.yaml states" if named.sha256 else "no checksum is stated")
    for file in (file for file in named.spec.files if file.needed):
        path = named.spec.directory(paths.RAW) / file.name
        if not path.exists():
            absent.add(str(path))
            continue
        with chain.expects(path, f"move it away and run `partialfair data fetch {dataset}`"):
            sources.check(file, path)
            chain.link("raw", path, "as published", file.sha256)
    return absent, len(chain.breaks) == before


def _check_table(chain: Chain, config: Config, dataset: str, expected: Expected) -> None:
    """Prepare the table again and compare bytes."""
    path = paths.table(dataset)
    options = config.dataset_options(dataset)
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "table.npz"
        with chain.expects(path, "correct that, then run `snakemake data`"):
            prepare.prepare(dataset, paths.RAW, again, options)
            expected.tables[dataset] = sha256(again)
    digest = expected.tables.get(dataset)
    source = "raw files, params and code give"
    if digest and chain.compare(path, digest, source, recorded=_recorded_table(path)):
        tie = f"prepared anew, same bytes; code {fingerprint.table(config, dataset).code}"
        chain.link("table", path, tie, digest)


def _check_record(chain: Chain, path: str, expected: Expected, dataset: str) -> None:
    """Compare a table whose raw files are not here with the list of checksums that was made with it."""
    digest = _recorded_table(path)
    if not Path(path).exists():
        chain.broken(path, Fault.MISSING, "its splits are here", f"run `dvc pull` or `snakemake {path}`")
    elif digest is not None and chain.compare(path, digest, f"{MANIFEST} has it"):
        expected.tables[dataset] = digest
    chain.unfollowed["table"] += 1


def _check_splits(chain: Chain, config: Config, dataset: str, seeds: list[int], expected: Expected) -> None:
    """Split the table again and compare bytes; without a good table, keep the checksums that training recorded."""
    table, options = paths.table(dataset), config.dataset_options(dataset)
    usable = dataset in expected.tables and not chain.is_broken([table])
    good = []
    for seed in seeds if usable else ():
        path = paths.split(dataset, seed)
        if not Path(path).exists() and not _is_trained(config, dataset, seed):
            chain.absent["split"] += 1  # a job of its own: it is missing only where a run was made from it
            continue
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder) / "split.npz"
            with chain.expects(path, "correct that, then run `snakemake splits`"):
                split.split(table, seed, again, options)
                expected.splits[dataset, seed] = sha256(again)
        digest = expected.splits.get((dataset, seed))
        if digest and chain.compare(path, digest, "the table and its seed give"):
            good.append(path)
    if good:
        pattern = paths.split(dataset, "*")
        chain.link("split", pattern, "made anew, same bytes", sha256(good[0]), len(good))


def _recorded_table(path: str) -> str | None:
    """Return the checksum of the table in the manifest; ``None`` if the manifest does not have it."""
    try:
        digest = read_json(MANIFEST).get(path)
    except (OSError, ValueError, AttributeError, PartialFairError):
        return None
    return digest if isinstance(digest, str) else None


def _is_trained(config: Config, dataset: str, seed: int) -> bool:
    """Whether a run of a dataset and a seed is here."""
    return any(
        (Path(job.path) / paths.FIT).exists() for job in config.jobs() if job.dataset == dataset and job.seed == seed
    )
