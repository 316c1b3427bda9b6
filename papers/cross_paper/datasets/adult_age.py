"""Adult (1994 US census, UCI): how old is a person?

The regression reading of the DP post-processing paper (appendix G), from the training file alone.
"""

from pathlib import Path

import numpy as np

from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile
from reproduction.datasets.stratified_splits import stratified_split, subsample

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
LOGARITHMIC = ("fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")

SPEC = DatasetSpec(
    name="adult_age",
    title="Adult, age",
    groups="sex: 0 = Female, 1 = Male",
    label="age in years divided by 100",
    interval=((0.0, 1.0),),
    files=(
        RawFile(
            name="adult.data",
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            md5="5d7c39d7b8804f071cdd1f2a7c460872",
            bytes=3_974_305,
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        ),
        RawFile(
            name="adult.test",
            sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            md5="35238206dfdf7f1fe215bbb874adecdc",
            bytes=2_003_153,
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
            needed=False,
        ),
        RawFile(
            name="adult.names",
            sha256="c248284c0b5de30c9e1958d6cdd168a34a654758b620e68f46aefa83fc0a576a",
            md5="1a7cdb3ff7a1b709968b1c7a11def63e",
            bytes=5_229,
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.names",
            needed=False,
        ),
    ),
    folder="adult",
    n_rows=30_162,
    n_attributes=8,
    other_columns=2,
    licence="CC BY 4.0 (UCI)",
    citation="Becker and Kohavi, Adult, UCI Machine Learning Repository (1996)",
)


def load(raw_dir: Path, protocol: str = "paper", rows: int = 2000) -> Dataset:
    """Read the rows without "?" and draw a subsample.

    Five numbers enter as log(1 + x), the income class as 1 above 50,000 dollars; texts are no inputs.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/adult``.
        protocol: how :func:`split` divides the rows; the table does not depend on it.
        rows: size of the subsample, drawn as in the paper's code; 0 for all rows.

    Raises:
        DataError: the file is missing, or is another table.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, "adult.data")
    table = pd.read_csv(path, header=None, names=list(COLUMNS), na_values="?", skipinitialspace=True)
    if not set(table["sex"].dropna()) <= {"Female", "Male"}:
        raise DataError(f"{path}: column 10 is not the sex, Female or Male; fetch the file again")
    # The order of the copy that the paper's code reads; the subsample and all splits depend on it.
    table = table.sort_values(["capital_loss", "capital_gain"], ascending=False, kind="stable").dropna()
    income = (table["income"] == ">50K").to_numpy(np.float64)
    inputs = np.column_stack([np.log1p(table[list(LOGARITHMIC)].to_numpy(np.float64)), income])
    data = Dataset(
        X=inputs.astype(np.float32),
        y=table["age"].to_numpy(np.float64) / 100.0,
        group=(table["sex"] == "Male").to_numpy(np.int16),
        feature_names=(*(f"log_{name}" for name in LOGARITHMIC), "income_above_50k"),
        group_names=("Female", "Male"),
        name=SPEC.name,
        numeric=np.arange(len(LOGARITHMIC), dtype=np.int64),
        task="regression",
    )
    return subsample(data, rows)


def split(data: Dataset, seed: int, protocol: str = "paper", **_: int) -> Split:
    """Labeled, unlabeled and test rows of repetition ``seed`` (:mod:`reproduction.datasets.stratified_splits`)."""
    return stratified_split(data, seed, protocol)
