"""The dataset behind a name of ``params.yaml``: the module of that name, or the one its entry names.

    datasets:
      law_school: {}                                  # the module law_school
      my_data: {module: csv_table, file: ..., ...}    # the module csv_table, under a name of its own

An entry may hold, besides the options of the module's ``load``: ``module``; ``split``, the proportions of the
parts; and, where the module reads a ``file`` of the person's own, its ``sha256``.
"""

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from partialfair import plugins
from partialfair.errors import ConfigError, DataError, PluginError
from reproduction.datasets.spec import DatasetSpec, SplitRule

if TYPE_CHECKING:
    from partialfair.data.dataset import Dataset

GENERIC = ("module", "split", "sha256")
"""Options that every entry may have; the others go to the module."""


@dataclass(frozen=True)
class NamedDataset:
    """A dataset module with the options that an entry of ``params.yaml`` gives it.

    Attributes:
        name: the name in ``params.yaml`` and in paths.
        module: the module that reads it.
        options: keyword arguments of the module's ``load``.
        spec: what is declared of the dataset.
        file: the person's own file that is read, relative to the working directory; ``None`` if there is none.
        sha256: checksum of that file, if the entry states one.
    """

    name: str
    module: ModuleType
    options: dict[str, Any]
    spec: DatasetSpec
    file: Path | None = None
    sha256: str | None = None

    def load(self, raw_dir: str | Path) -> "Dataset":
        """Read the table.

        Raises:
            ConfigError: an option that the module does not take.
            DataError: a file is missing or differs from its checksum.
            PluginError: the module returns something else than a table.
        """
        from partialfair.data.dataset import Dataset

        self.check_file()
        table = self.module.load(Path(raw_dir), **self.options)
        if not isinstance(table, Dataset):
            where = f"datasets/{Path(str(self.module.__file__)).name}"
            raise PluginError(f"{where}: load returned {type(table).__name__}, not a Dataset; correct the plug-in")
        return table if table.name == self.name else dataclasses.replace(table, name=self.name)

    def check_file(self) -> list[Path]:
        """Verify the person's own file.

        Returns:
            The file, in a list that is empty if there is none.

        Raises:
            DataError: the file is missing, or differs from its checksum.
        """
        if self.file is None:
            return []
        if not self.file.is_file():
            raise DataError(f"{self.file}: there is no such file; correct datasets.{self.name}.file in the grid")
        if self.sha256 is not None:
            with open(self.file, "rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
            if found != self.sha256.lower():
                raise DataError(
                    f"{self.file}: its sha256 is {found}, datasets.{self.name}.sha256 says {self.sha256}; "
                    "restore the file, or correct the entry if the change is meant"
                )
        return [self.file]


def module_name(name: str, options: Mapping[str, Any] | None = None) -> str:
    """Return the name of the module that reads the dataset ``name``.

    Raises:
        ConfigError: an entry called like a module names another one.
    """
    module = str((options or {}).get("module", name))
    if module != name and name in plugins.names("datasets"):
        raise ConfigError(f"datasets.{name}.module: {name} is a dataset module itself; choose another name")
    return module


def named_dataset(name: str, options: Mapping[str, Any] | None = None) -> NamedDataset:
    """Return the dataset that an entry of ``params.yaml`` describes.

    Args:
        name: key of the entry.
        options: the entry.

    Raises:
        PluginError: there is no such module.
        ConfigError: split proportions that cannot be used, or a module called otherwise than by its name.
    """
    chosen = dict(options or {})
    module = plugins.load("datasets", module_name(name, chosen))
    own = {key: value for key, value in chosen.items() if key not in GENERIC}
    spec: DatasetSpec = module.SPEC
    if spec.name != name:
        title = name.replace("_", " ")
        spec = dataclasses.replace(spec, name=name, title=title, folder=spec.folder or spec.name)
    if hasattr(module, "describe"):
        spec = module.describe(spec, **own)
    if "split" in chosen:
        spec = dataclasses.replace(spec, split=split_rule(chosen["split"], f"datasets.{name}.split"))
    file = Path(own["file"]) if isinstance(own.get("file"), str) else None
    return NamedDataset(name, module, own, spec, file, chosen.get("sha256"))


def split_rule(value: Any, where: str) -> SplitRule:
    """Return the proportions that an entry gives as ``{train: 0.6, validation: 0.2, test: 0.2}``.

    Raises:
        ConfigError: other keys, or numbers that are not positive or do not sum to 1.
    """
    form = "write it as {train: 0.6, validation: 0.2, test: 0.2}"
    if not isinstance(value, Mapping) or set(value) != {"train", "validation", "test"}:
        raise ConfigError(f"{where} is {value!r}; {form}")
    if not all(isinstance(part, int | float) and not isinstance(part, bool) for part in value.values()):
        raise ConfigError(f"{where} is {value!r}, which holds something besides numbers; {form}")
    try:
        return SplitRule(float(value["train"]), float(value["validation"]), float(value["test"]))
    except DataError as error:
        raise ConfigError(f"{where}: {error}; {form}") from error


def check_entry(name: str, options: Mapping[str, Any], source: str) -> None:
    """Refuse an entry of ``datasets`` that cannot be used, without importing its module.

    Args:
        name: key of the entry.
        options: the entry.
        source: the file it stands in.

    Raises:
        ConfigError: an unknown module, options that its ``load`` does not take or lacks, or bad proportions.
    """
    known, where = plugins.names("datasets"), f"{source}: datasets.{name}"
    if name not in known and "module" not in options:
        hint = f"{plugins.did_you_mean(name, known)} For a table of your own, add module: csv_table"
        raise ConfigError(f"{where}: unknown dataset {name!r}; {hint}")
    try:
        module = module_name(name, options)
        accepted = plugins.parameters("datasets", module, "load")
    except PluginError as error:
        raise ConfigError(f"{where}.module: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error
    for option in options:
        if accepted is not None and option not in (*accepted[1:], *GENERIC):
            hint = plugins.did_you_mean(option, accepted[1:]) if len(accepted) > 1 else "this dataset takes none"
            raise ConfigError(f"{where}.{option}: unknown option; {hint}")
    for option in plugins.required("datasets", module, "load"):
        if option not in options:
            raise ConfigError(f"{where}.{option}: the option is missing; add it")
    if "split" in options:
        split_rule(options["split"], f"{where}.split")
    digest = options.get("sha256", "0" * 64)
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise ConfigError(f"{where}.sha256 is {digest!r}; write its 64 hexadecimal digits, in quotes")
