"""Bank marketing (bank-additional-full): does a client subscribe to a term deposit?

54 attributes as published = 43 drop-first indicators of the ten categorical columns + 10 numeric
columns + the age-group flag. Age stays among the inputs; the flag is the group only.
"""

from pathlib import Path

import numpy as np

from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.one_hot import Categorical, drop_first
from reproduction.datasets.spec import DatasetSpec, RawFile

_ZIP = "https://archive.ics.uci.edu/ml/machine-learning-databases/00222/bank-additional.zip"
NUMERIC = (
    "age", "duration", "campaign", "pdays", "previous",
    "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed",
)  # fmt: skip
CATEGORICAL = (
    "job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week", "poutcome",
)  # fmt: skip

SPEC = DatasetSpec(
    name="bank",
    title="bank",
    groups="age: 0 = below 25 or above 60, 1 = 25 to 60 (both ends included)",
    label="+1 = subscribes to a term deposit",
    interval=((0.0, 0.25),),
    files=(
        RawFile(
            name="bank-additional-full.csv",
            sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
            md5="f6cb2c1256ffe2836b36df321f46e92c",
            bytes=5_834_924,
            url=_ZIP,
            archive_member="bank-additional/bank-additional-full.csv",
        ),
        RawFile(
            name="bank-additional-names.txt",
            sha256="10045462a4c026f858dffa159370c4270510230c1fc63c6c91ca51bba4b3df26",
            md5="aec0451bc97d21b70e7acf88eb22448d",
            bytes=5_458,
            url=_ZIP,
            archive_member="bank-additional/bank-additional-names.txt",
            needed=False,
        ),
    ),
    n_rows=41_188,
    n_attributes=54,
    licence="CC BY 4.0 (UCI)",
    citation="Moro, Cortez and Rita, A data-driven approach to predict the success of bank telemarketing (2014)",
)


def load(raw_dir: Path) -> Dataset:
    """Read the table; levels of a categorical column are those present, in alphabetical order.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/bank``.

    Returns:
        41,188 rows, 53 features (CSR): 10 raw numeric columns, then 43 indicators.

    Raises:
        DataError: the file is missing or lacks a column.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, "bank-additional-full.csv")
    table = pd.read_csv(path, sep=";", keep_default_na=False)
    missing = [column for column in (*NUMERIC, *CATEGORICAL, "y") if column not in table.columns]
    if missing:
        raise DataError(f"{path}: column {missing[0]!r} is missing; this is not bank-additional-full, fetch it again")
    if not set(table["y"]) <= {"yes", "no"}:
        raise DataError(f"{path}: column 'y' must be yes or no, found {sorted(set(table['y']))[:4]}; fetch it again")
    X, names = drop_first(
        table[list(NUMERIC)].to_numpy(np.float32),
        NUMERIC,
        [Categorical.of(column, table[column].to_numpy(str)) for column in CATEGORICAL],
    )
    return Dataset(
        X=X,
        y=np.where(table["y"] == "yes", 1.0, -1.0),
        group=table["age"].between(25, 60).to_numpy(np.int16),
        feature_names=names,
        group_names=("age below 25 or above 60", "age 25 to 60"),
        name=SPEC.name,
        numeric=np.arange(len(NUMERIC), dtype=np.int64),
    )
