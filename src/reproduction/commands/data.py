"""Verbs on datasets: ``partialfair data ...``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from reproduction.commands.common import PARAMS, RAW, ConfigOption, RawOption
from reproduction.commands.runner import make_recorded

app = typer.Typer(
    help="Obtain, verify, prepare and split datasets.", no_args_is_help=True, pretty_exceptions_enable=False
)


def _options(config: Path, datasets: list[str] | None) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Names of datasets and the options of the grid; without a grid here, named datasets have their default options."""
    from reproduction.grid.config import load_config

    if datasets and config == PARAMS and not config.exists():
        return datasets, {}
    grid = load_config(config)
    return datasets or list(grid.datasets), grid.params.datasets


def _checked(dataset: str, config: Path) -> dict[str, Any]:
    """Options of a dataset that can be used; what is wrong with them would else stand in a log of the workflow."""
    from partialfair import plugins
    from partialfair.errors import ConfigError
    from reproduction.datasets.named import check_entry

    entries = _options(config, [dataset])[1]
    names = plugins.names("datasets")
    if dataset not in entries and dataset not in names:
        raise ConfigError(f"unknown dataset {dataset!r}; {plugins.did_you_mean(dataset, {*names, *entries})}")
    options = entries.get(dataset, {})
    check_entry(dataset, options, str(config))
    return options


@app.command("fetch")
def data_fetch(
    datasets: Annotated[list[str] | None, typer.Argument(help="Names; by default those that the grid uses.")] = None,
    config: ConfigOption = PARAMS,
    raw: RawOption = RAW,
    extras: Annotated[bool, typer.Option("--extras", help="Also files that only document a dataset.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not use the network.")] = False,
) -> None:
    """Obtain raw files: unpacked, from the DVC cache, a mirror or the upstream address; every byte is verified.

    Some travel with the project, compressed. Of those that cannot be had, all are named with their addresses.
    """
    from partialfair.errors import DataError
    from reproduction.jobs.prepare import fetch
    from reproduction.jobs.unpack import unpack

    names, options = _options(config, datasets)
    faults = []
    for name in dict.fromkeys(names):
        try:
            unpacked = unpack([name], raw, options)
            for fetched in fetch(name, raw, options, extras, offline):
                packed = unpacked.get(fetched.path)
                print(f"{fetched.path}: {fetched.origin if packed is None else f'unpacked from {packed}'}", flush=True)
        except DataError as error:
            faults += [str(error), *(_addresses(name, raw, options) if offline else ())]
    if faults:
        raise DataError("\n".join(faults))


def _addresses(dataset: str, raw: Path, options: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield where to download the needed raw files of a dataset that are not here."""
    from reproduction.datasets.named import named_dataset

    spec = named_dataset(dataset, options.get(dataset)).spec
    for file in spec.files:
        target = spec.directory(raw) / file.name
        if file.needed and file.url is not None and not target.exists():
            member = f" (its member {file.archive_member})" if file.archive_member else ""
            yield f"{target}: its address is {file.url}{member}"


@app.command("croissant")
def data_croissant(
    dataset: str,
    config: ConfigOption = PARAMS,
    out: Annotated[Path | None, typer.Option(help="JSON file to write in place of printing it.")] = None,
) -> None:
    """Describe a dataset in the Croissant format: raw files with checksums, groups, label, licence, citation."""
    import json

    from partialfair.data.files import atomic_path
    from reproduction.datasets.named import named_dataset
    from reproduction.jobs.croissant import describe

    text = json.dumps(describe(named_dataset(dataset, _checked(dataset, config))), indent=2, ensure_ascii=False)
    if out is None:
        print(text)
        return
    with atomic_path(out) as path:
        path.write_text(text + "\n", encoding="utf-8")
    print(out)


@app.command("verify")
def data_verify(
    datasets: Annotated[list[str] | None, typer.Argument(help="Names; by default those that the grid uses.")] = None,
    config: ConfigOption = PARAMS,
    raw: RawOption = RAW,
) -> None:
    """Check the raw files against their published checksums."""
    from reproduction.jobs.prepare import verify

    names, options = _options(config, datasets)
    for path in verify(names, raw, options):
        print(f"{path}: as published")


def _require_out(out: Path | None, option: str, target: str) -> None:
    """Refuse to put what is made from other files in the place of the workflow's, which would use it unawares.

    Raises:
        ConfigError: no ``out`` is given.
    """
    from partialfair.errors import ConfigError

    if out is None:
        raise ConfigError(f"{option} is not the workflow's, and {target} is; say where to write: --out")


@app.command("prepare")
def data_prepare(
    dataset: str,
    config: ConfigOption = PARAMS,
    raw: RawOption = RAW,
    out: Annotated[Path | None, typer.Option(help="Table to write; by default where the workflow has it.")] = None,
) -> None:
    """Build the table of a dataset from its raw files; in a checkout, where no file is named, by the workflow."""
    from partialfair.data.dataset import Dataset
    from reproduction.grid import paths
    from reproduction.jobs.prepare import prepare

    if raw != RAW:
        _require_out(out, "--raw", paths.table(dataset))
    target, options = out or Path(paths.table(dataset)), _checked(dataset, config)
    if out is None and make_recorded(target, config):
        table = Dataset.load(target)
    else:
        table = prepare(dataset, raw, target, options)
    print(f"{target}: {table.n_rows} rows, {table.n_features} features, groups {', '.join(table.group_names)}")


@app.command("split")
def data_split(
    dataset: str,
    seed: Annotated[int, typer.Option(min=0)],
    config: ConfigOption = PARAMS,
    table: Annotated[Path | None, typer.Option(help="Prepared table; by default where the workflow has it.")] = None,
    out: Annotated[Path | None, typer.Option(help="Split to write; by default where the workflow has it.")] = None,
) -> None:
    """Divide a table into training, validation and test rows; in a checkout, without files, by the workflow."""
    from partialfair.data.dataset import Dataset, Split
    from partialfair.errors import ConfigError
    from reproduction.grid import paths
    from reproduction.jobs.split import split

    if table is not None and table.suffix != ".npz":  # or it would be called damaged, and its deletion recommended
        raise ConfigError(f"--table {table}: a prepared table ends in .npz; `partialfair data prepare` makes it")
    if table is not None:
        _require_out(out, "--table", paths.split(dataset, seed))
    target, options = out or Path(paths.split(dataset, seed)), _checked(dataset, config)
    if table is None and out is None and make_recorded(target, config):
        made = Split.load(target, Dataset.load(paths.table(dataset)).n_rows)
    else:
        made = split(table or paths.table(dataset), seed, target, options)
    print(f"{target}: {len(made.train)} training, {len(made.validation)} validation, {len(made.test)} test rows")


@app.command("track")
def data_track(
    files: Annotated[list[Path], typer.Argument(help="Raw files below data/raw.")],
    url: Annotated[str | None, typer.Option(help="Upstream address of the one file.")] = None,
    member: Annotated[str | None, typer.Option(help="Its name in the archive that the address holds.")] = None,
    optional: Annotated[
        bool, typer.Option("--optional", help="It only documents or cross-checks the dataset.")
    ] = False,
) -> None:
    """Put raw files of a new dataset under DVC and print their declarations for its module.

    A file that is not optional is also named in dvc.yaml.
    """
    from partialfair.errors import ConfigError
    from reproduction.jobs.track import declaration, name_in_stages, track

    if len(files) > 1 and (url or member):
        raise ConfigError("--url and --member belong to one file; track each file by a command of its own")
    for file in files:
        if not file.resolve().is_relative_to(RAW.resolve()):
            raise ConfigError(f"{file}: it does not lie below {RAW}; move it to a folder of its dataset there first")
    for file in files:
        written, raw_file = track(file, url, member, needed=not optional)
        declared = declaration(raw_file)
        named = optional or name_in_stages(file)
        beside = "" if named else f"name {file} in dvc.yaml, and "
        print(f"{written}: written; {beside}declare the file in SPEC of the module:\n{declared}")
