"""A dataset described in Croissant (https://mlcommons.org/croissant/1.0): raw files, groups, licence."""

from datetime import datetime
from typing import Any

from partialfair.errors import ConfigError
from reproduction.datasets.named import NamedDataset
from reproduction.datasets.spec import DatasetSpec, RawFile
from reproduction.grid import paths

FORMATS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "data": "text/csv", "test": "text/csv"}
LICENCES = {"CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/"}


def describe(named: NamedDataset) -> dict[str, Any]:
    """Return the description of a dataset as JSON-LD.

    Args:
        named: the dataset with its options.

    Raises:
        ConfigError: the dataset declares no raw files, as those that are generated.
    """
    import mlcroissant as mlc

    spec = named.spec
    if not spec.files:
        raise ConfigError(f"dataset {named.name!r} declares no raw files, so that there is nothing to describe")
    licence = next((address for phrase, address in LICENCES.items() if phrase in spec.licence), spec.licence)
    described = mlc.Metadata(
        name=named.name,
        description=f"{spec.title}. Groups: {spec.groups}. Label: {spec.label}. Intervals of ranks: {spec.interval}.",
        license=licence,
        cite_as=spec.citation,
        url=next((file.url for file in spec.files if file.url), None),
        date_published=datetime(int(year), 1, 1) if (year := _year(spec.citation)) else None,
        distribution=[_file(mlc, spec, file) for file in spec.files],
    )
    return dict(described.to_json())


def _year(citation: str) -> str:
    letters = (word.strip("().,") for word in citation.split())
    return next((word for word in letters if len(word) == 4 and word.isdecimal()), "")


def _file(mlc: Any, spec: DatasetSpec, file: RawFile) -> Any:
    """Describe a raw file: by its address, or, where that is of an archive or there is none, by its place here."""
    address = f"{spec.directory(paths.RAW).as_posix()}/{file.name}"
    member = f"; {file.archive_member} in {file.url}" if file.archive_member else ""
    return mlc.FileObject(
        id=file.name,
        name=file.name,
        description=f"{'Read by the workflow' if file.needed else 'Documents or cross-checks the dataset'}{member}.",
        content_url=address if file.url is None or file.archive_member else file.url,
        content_size=f"{file.bytes} B",
        encoding_formats=[FORMATS.get(file.name.rsplit(".", 1)[-1], "text/plain")],
        sha256=file.sha256,
        md5=file.md5,
    )
