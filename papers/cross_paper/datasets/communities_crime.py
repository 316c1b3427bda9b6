"""Communities and Crime: violent crimes per head of 1,994 US communities, from census and police figures of the 1990s.

The reading of the DP post-processing paper (section 6, appendix G): regression on the rate of violent crimes, groups by
the largest of four shares of the population. :func:`read` gives the whole file for other readings.
"""

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile
from reproduction.datasets.stratified_splits import stratified_split

if TYPE_CHECKING:
    import pandas as pd

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/communities/"
IDENTIFIERS = ("state", "county", "community", "communityname", "fold")
SHARES = ("racepctblack", "racePctWhite", "racePctAsian", "racePctHisp")
TARGET = "ViolentCrimesPerPop"

SPEC = DatasetSpec(
    name="communities_crime",
    title="Communities and Crime",
    groups="largest of the four shares of the population: 0 = Black, Asian or Hispanic, 1 = White",
    label="violent crimes per head, scaled by the publisher to [0, 1]",
    interval=((0.0, 1.0),),
    files=(
        RawFile(
            name="communities.data",
            sha256="09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
            md5="ce564679a46f4313b9e8d17e1dad0ceb",
            bytes=1_102_815,
            url=_URL + "communities.data",
        ),
        RawFile(
            name="communities.names",
            sha256="80914f24ab37261fb0fbda7e417cad8001335dadda4a8d702c265601ef8434fc",
            md5="2169c8c99098943e7b9404ee97e62eba",
            bytes=27_179,
            url=_URL + "communities.names",
            needed=False,
        ),
    ),
    n_rows=1_984,
    n_attributes=120,
    other_columns=2,
    licence="CC BY 4.0 (UCI)",
    citation="Redmond, Communities and Crime, UCI Machine Learning Repository (2009)",
)


def read(raw_dir: str | Path) -> "pd.DataFrame":
    """Return all 1,994 rows and 128 columns by name; an absent number ("?") is NaN.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/communities_crime``.

    Raises:
        DataError: the file is missing, or is another table.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, "communities.data")
    names = column_names()
    table = pd.read_csv(path, header=None, na_values="?")
    if table.shape[1] != len(names):
        raise DataError(f"{path}: {table.shape[1]} columns, expected {len(names)}; fetch the file again")
    table.columns = pd.Index(names)
    texts = [name for name in names if name != "communityname" and not pd.api.types.is_numeric_dtype(table[name])]
    if texts:
        raise DataError(f"{path}: column {texts[0]!r} holds something besides numbers; fetch the file again")
    return table


def column_names() -> tuple[str, ...]:
    """Return the 128 names of the columns, in the order of the file (from communities.names)."""
    text = (
        resources.files("papers.cross_paper.datasets.resources").joinpath("communities_columns.txt").read_text("utf-8")
    )
    return tuple(text.split())


def load(raw_dir: Path, protocol: str = "paper") -> Dataset:
    """Read the regression task.

    Absent entries become 0, as in the paper's code; the 10 communities without a rate of violent crimes (0) are left
    out. The four shares define the group and are no inputs. Eight ties between shares go to the first.

    Args:
        raw_dir: the raw root.
        protocol: how :func:`split` divides the rows; the table does not depend on it.

    Returns:
        1,984 rows, 118 dense numeric features.

    Raises:
        DataError: see :func:`read`.
    """
    table = read(raw_dir).drop(columns=list(IDENTIFIERS)).fillna(0.0)
    table = table[table[TARGET] != 0]
    inputs = table.drop(columns=[*SHARES, TARGET])
    largest = table[list(SHARES)].to_numpy().argmax(axis=1)
    return Dataset(
        X=inputs.to_numpy(np.float32),
        y=table[TARGET].to_numpy(np.float64),
        group=(largest == SHARES.index("racePctWhite")).astype(np.int16),
        feature_names=tuple(inputs.columns),
        group_names=("other", "White"),
        name=SPEC.name,
        numeric=np.arange(inputs.shape[1], dtype=np.int64),
        task="regression",
    )


def split(data: Dataset, seed: int, protocol: str = "paper") -> Split:
    """Labeled, unlabeled and test rows of repetition ``seed`` (:mod:`reproduction.datasets.stratified_splits`)."""
    return stratified_split(data, seed, protocol)
