"""Adult (1994 US census, UCI): does a person earn more than 50,000 dollars a year?

The persons of :mod:`papers.cross_paper.datasets.a9a`, row by row, with the numeric columns that its encoding bins.
Categorical
columns become drop-first indicators; "?" is a level like any other. The group leaves the features.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from papers.cross_paper.datasets import adult_age
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.one_hot import Categorical, drop_first
from reproduction.datasets.spec import DatasetSpec, SplitRule

NUMERIC = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
CATEGORICAL = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "native_country")
PARTS = ("adult.data", "adult.test")

SPEC: DatasetSpec = dataclasses.replace(
    adult_age.SPEC,
    name="adult",
    title="Adult",
    label="+1 = yearly income above 50,000 dollars",
    interval=((0.05, 0.3),),
    files=tuple(dataclasses.replace(file, needed=file.name in PARTS) for file in adult_age.SPEC.files),
    split=SplitRule(0.9, 0.1, 0.0, published_test=True),
    n_rows=48_842,
    n_attributes=14,
    other_columns=1,
)


def load(raw_dir: Path) -> Dataset:
    """Read the published training and test files.

    Args:
        raw_dir: the raw root; the files lie in ``raw_dir/adult``.

    Returns:
        48,842 rows, 99 features (CSR): 6 raw numeric columns, then 93 indicators; ``partition`` is 0 for rows of
        ``adult.data``, 1 for ``adult.test``.

    Raises:
        DataError: a file is missing, or is another table.
    """
    import pandas as pd

    parts = [_read(SPEC.path(raw_dir, name)) for name in PARTS]
    table = pd.concat(parts, ignore_index=True)
    X, names = drop_first(
        table[list(NUMERIC)].to_numpy(np.float32),
        NUMERIC,
        [Categorical.of(column, table[column].to_numpy(str)) for column in CATEGORICAL],
    )
    return Dataset(
        X=X,
        y=np.where(table["income"] == ">50K", 1.0, -1.0),
        group=(table["sex"] == "Male").to_numpy(np.int16),
        feature_names=names,
        group_names=("Female", "Male"),
        name=SPEC.name,
        numeric=np.arange(len(NUMERIC), dtype=np.int64),
        partition=np.repeat(np.array([0, 1], np.int8), [len(part) for part in parts]),
    )


def _read(path: Path) -> Any:
    """Rows of one file; the test file begins with a line of its own, and its labels end with a full stop."""
    import pandas as pd

    try:
        with path.open(encoding="utf-8") as stream:
            skip = int(stream.readline().startswith("|"))
        table = pd.read_csv(
            path,
            header=None,
            names=list(adult_age.COLUMNS),
            skipinitialspace=True,
            keep_default_na=False,
            skiprows=skip,
            dtype=dict.fromkeys(NUMERIC, np.float64),
        )
    except ValueError as error:
        raise DataError(f"{path}: not a table of Adult ({error}); fetch the file again") from error
    table["income"] = table["income"].str.rstrip(".")
    for column, known in (("sex", {"Female", "Male"}), ("income", {"<=50K", ">50K"})):
        strange = sorted(set(table[column]) - known)
        if strange:
            raise DataError(f"{path}: column {column!r} holds {strange[0]!r}; fetch the file again")
    return table
