"""Raw files -> verified files -> table -> splits: the ``data`` verbs of the command line."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partialfair import plugins
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import run_plugin
from reproduction.datasets import sources
from reproduction.datasets.named import named_dataset
from reproduction.datasets.splits import make_split

ALL = "all"


@dataclass(frozen=True)
class Fetched:
    """A raw file and where it came from."""

    path: Path
    origin: str


def fetch(
    datasets: str | Iterable[str],
    raw_dir: str | Path,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    extras: bool = False,
    offline: bool = False,
) -> list[Fetched]:
    """Obtain the raw files of datasets; files that are there are verified and left alone.

    Args:
        datasets: names, or ``"all"``.
        raw_dir: the raw root, ``data/raw``.
        options: options per dataset (``datasets`` of ``params.yaml``); they decide between sources.
        extras: also the files that document or cross-check a dataset.
        offline: do not use the network.

    Raises:
        PluginError: a name is unknown.
        DataError: a file cannot be had, or a source holds other bytes.
    """
    done = []
    for name in _names(datasets, options):
        named = named_dataset(name, (options or {}).get(name))
        module = named.module
        downloaded = (
            module.download(Path(raw_dir), **named.options) if hasattr(module, "download") and not offline else []
        )
        done += [Fetched(path, "upstream or already present") for path in downloaded]
        done += [Fetched(path, "your own file") for path in named.check_file()]
        for file in named.spec.files:
            if (file.needed and not downloaded) or extras:
                target = named.spec.directory(raw_dir) / file.name
                done.append(Fetched(target, sources.obtain(file, target, offline)))
    return done


def verify(
    datasets: str | Iterable[str], raw_dir: str | Path, options: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Path]:
    """Check every raw file that datasets declare: needed ones must be there, others may be absent.

    Args:
        datasets: names, or ``"all"``.
        raw_dir: the raw root, ``data/raw``.
        options: options per dataset (``datasets`` of ``params.yaml``).

    Returns:
        The files that were checked, each once, though several datasets may read it.

    Raises:
        DataError: files are missing or differ; the message lists each.
    """
    checked: list[Path] = []
    problems: list[str] = []
    for name in _names(datasets, options):
        named = named_dataset(name, (options or {}).get(name))
        try:
            checked += named.check_file()
        except DataError as error:
            problems.append(str(error))
        for file in named.spec.files:
            path = named.spec.directory(raw_dir) / file.name
            if not (file.needed or path.exists()):
                continue
            try:
                sources.check(file, path)
                checked.append(path)
            except DataError as error:
                problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    return list(dict.fromkeys(checked))


def prepare(dataset: str, raw_dir: str | Path, out: str | Path, options: Mapping[str, Any] | None = None) -> Dataset:
    """Build a table from verified raw files and write it to ``out``.

    Args:
        dataset: name of a dataset.
        raw_dir: the raw root.
        out: path of the ``.npz`` table.
        options: options of the dataset module.

    Returns:
        The table as written.

    Raises:
        PluginError: the name is unknown, or its module is at fault.
        ConfigError: the dataset does not take an option.
        DataError: a raw file is missing or differs.
    """
    named = named_dataset(dataset, options)
    option_names = [name for name in inspect.signature(named.module.load).parameters if name != "raw_dir"]
    for key in named.options:
        if key not in option_names:
            raise ConfigError(f"datasets.{dataset}.{key}: unknown option; {plugins.did_you_mean(key, option_names)}")
    for file in named.spec.files:
        # A missing file is for the module to report: which ones it reads can depend on the options.
        path = named.spec.directory(raw_dir) / file.name
        if file.needed and path.exists():
            sources.check(file, path)
    table = run_plugin(f"dataset {dataset!r}: load", named.module.__file__, named.load, raw_dir)
    table.save(out)
    return table


def split(table: str | Path, seed: int, out: str | Path, options: Mapping[str, Any] | None = None) -> Split:
    """Divide a prepared table by the rule of its dataset and write the row numbers to ``out``.

    Args:
        table: prepared table.
        seed: seed of the experiment.
        out: path of the ``.npz`` file to write.
        options: the dataset's entry in ``params.yaml``.

    Raises:
        DataError: the table is unreadable, or a part would lack a group or label.
    """
    data = Dataset.load(table)
    made = make_split(data, seed, named_dataset(data.name, options).spec.split if options else None)
    made.save(out)
    return made


def _names(datasets: str | Iterable[str], options: Mapping[str, Mapping[str, Any]] | None = None) -> tuple[str, ...]:
    """Return dataset names; ``"all"`` stands for every one."""
    if datasets == ALL:
        return tuple(dict.fromkeys((*plugins.names("datasets"), *(options or {}))))
    return (datasets,) if isinstance(datasets, str) else tuple(datasets)
