"""What a dataset module declares about itself: files, groups, label, interval, split, published counts."""

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from partialfair.errors import DataError


@dataclass(frozen=True)
class RawFile:
    """One raw file and how to recognise it.

    Attributes:
        name: bare file name inside the dataset's folder.
        sha256: checksum every copy must have.
        md5: checksum under which DVC stores the file.
        bytes: size.
        url: public upstream address; ``None`` if the file cannot be downloaded as it is.
        archive_member: name inside the zip archive that ``url`` points to; ``None`` if ``url`` is the file.
        needed: whether ``load`` reads it; the others document or cross-check the dataset.
        remedy: what else a person can do when no copy is at hand, added to the error message.
    """

    name: str
    sha256: str
    md5: str
    bytes: int
    url: str | None = None
    archive_member: str | None = None
    needed: bool = True
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.name in {"", ".", ".."} or PurePosixPath(self.name).name != self.name or "\\" in self.name:
            raise DataError(f"raw file name {self.name!r} is not a bare file name; drop the folders from it")
        member = PurePosixPath(self.archive_member or "")
        if member.is_absolute() or ".." in member.parts:
            raise DataError(
                f"archive member {self.archive_member!r} of {self.name} leaves the archive; give its name there"
            )


@dataclass(frozen=True)
class SplitRule:
    """Proportions of the training, validation and test parts.

    Attributes:
        train, validation, test: positive proportions that sum to 1. Under ``published_test`` the first
            two sum to 1 and divide the published training file, and ``test`` is 0.
        published_test: whether the test part is the published test file (``Dataset.partition == 1``).
    """

    train: float = 0.6
    validation: float = 0.2
    test: float = 0.2
    published_test: bool = False

    def __post_init__(self) -> None:
        parts = (self.train, self.validation) + (() if self.published_test else (self.test,))
        usable = all(part > 0 for part in parts) and abs(sum(parts) - 1) <= 1e-9  # of NaN, neither is true
        if not usable or (self.published_test and self.test):
            raise DataError(
                f"split proportions {parts} must be positive and sum to 1 (test 0 with a published test file)"
            )


@dataclass(frozen=True)
class DatasetSpec:
    """Declaration of a dataset.

    Attributes:
        name: module name, and the name used in ``params.yaml`` and in paths.
        title: name in tables.
        groups: what the groups are and which code each has.
        label: what the label is and which value is +1.
        interval: default score interval, pairs of ranks in [0, 1] (0 = highest score).
        files: raw files.
        folder: folder of the raw files below the raw root, if it is not ``name``.
        split: proportions of the split.
        n_rows: rows as published; ``None`` if nothing is published.
        n_attributes: attributes as published: inputs plus ``other_columns``.
        other_columns: columns counted in ``n_attributes`` that are not inputs (the sensitive attribute, in
            one dataset also the label).
        licence: terms of use.
        citation: who collected the data.
    """

    name: str
    title: str
    groups: str
    label: str
    interval: tuple[tuple[float, float], ...]
    files: tuple[RawFile, ...] = ()
    folder: str = ""
    split: SplitRule = field(default_factory=SplitRule)
    n_rows: int | None = None
    n_attributes: int | None = None
    other_columns: int = 1
    licence: str = ""
    citation: str = ""

    def directory(self, raw_dir: str | Path) -> Path:
        """Return the folder of this dataset's raw files below the raw root ``raw_dir``."""
        return Path(raw_dir) / (self.folder or self.name)

    def path(self, raw_dir: str | Path, name: str) -> Path:
        """Return the path of the raw file ``name``.

        Raises:
            DataError: the file is not there.
        """
        path = self.directory(raw_dir) / name
        if not path.is_file():
            raise DataError(f"{path}: raw file missing; get it with `partialfair data fetch {self.name}`")
        return path
