"""Bank marketing without the column ``duration``, which is known only after the call it is to predict.

The published accuracies of the Partial fairness paper fit this reading of the file, see the experiment
``psp_without_duration``.
"""

import dataclasses
from pathlib import Path

import numpy as np

from papers.cross_paper.datasets import bank
from partialfair.data.dataset import Dataset
from reproduction.datasets.spec import DatasetSpec

SPEC: DatasetSpec = dataclasses.replace(
    bank.SPEC, name="bank_without_duration", title="bank without duration", folder="bank", n_attributes=None
)


def load(raw_dir: Path) -> Dataset:
    """Read the table of :mod:`papers.cross_paper.datasets.bank` and drop one column.

    Returns:
        41,188 rows, 52 features.

    Raises:
        DataError: see :func:`papers.cross_paper.datasets.bank.load`.
    """
    full = bank.load(raw_dir)
    kept = np.array([j for j, name in enumerate(full.feature_names) if name != "duration"])
    return dataclasses.replace(
        full,
        X=full.X.tocsc()[:, kept].tocsr(),  # type: ignore[union-attr]
        feature_names=tuple(full.feature_names[j] for j in kept),
        numeric=np.searchsorted(kept, full.numeric[np.isin(full.numeric, kept)]),
        name=SPEC.name,
    )
