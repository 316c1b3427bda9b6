"""Another dataset with all its rows to train on: for figures of optimisation, which have no held-out rows.

    datasets:
      a9a_whole: {module: whole_table, of: a9a}

The table holds the rows of the other dataset three times, and each part of the split is one copy: what such a run
reports of its "validation" and "test" rows are numbers of the training rows, and nothing else is claimed of them.
"""

import dataclasses
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy import sparse

from papers.cross_paper.datasets import a9a, bank, compas_two_years
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean
from reproduction.datasets.spec import DatasetSpec

COPIES = 3
MODULES: dict[str, ModuleType] = {"a9a": a9a, "bank": bank, "compas_two_years": compas_two_years}

SPEC = DatasetSpec(
    name="whole_table",
    title="all rows of another dataset",
    groups="those of the other dataset",
    label="that of the other dataset",
    interval=((0.0, 1.0),),
    licence="that of the other dataset",
)


def describe(spec: DatasetSpec, of: str = "") -> DatasetSpec:
    """What is declared of the dataset ``of``, under the entry's own name; of no dataset, nothing but that name."""
    if not of:
        return spec
    own = _module(of).SPEC
    title = f"{own.title} (all rows)"
    return dataclasses.replace(own, name=spec.name, title=title, folder=own.folder or own.name)


def load(raw_dir: Path, of: str) -> Dataset:
    """Read a dataset and repeat its rows.

    Args:
        raw_dir: the raw root.
        of: name of the dataset: a9a, bank or compas_two_years.

    Raises:
        ConfigError: another name.
        DataError: see the dataset's module.
    """
    one: Dataset = _module(of).load(raw_dir)
    X = one.X
    if not isinstance(X, np.ndarray | sparse.csr_array):
        raise DataError(f"{of}: its rows are images, which are not copied; use its own split")
    stacked = np.tile(X, (COPIES, 1)) if isinstance(X, np.ndarray) else sparse.csr_array(sparse.vstack([X] * COPIES))
    return dataclasses.replace(
        one, X=stacked, y=np.tile(one.y, COPIES), group=np.tile(one.group, COPIES), partition=None, name=SPEC.name
    )


def split(data: Dataset, seed: int, of: str) -> Split:
    """One copy for each part; nothing is drawn, so the seed does not matter."""
    del seed, of
    size = data.n_rows // COPIES
    train, validation, test = (np.arange(k * size, (k + 1) * size) for k in range(COPIES))
    return Split(train, validation, test)


def _module(of: str) -> ModuleType:
    if of not in MODULES:
        raise ConfigError(f"whole_table: of is {of!r}; {did_you_mean(of, MODULES)}")
    return MODULES[of]
