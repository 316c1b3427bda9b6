"""Law school (LSAC National Longitudinal Bar Passage Study): what is a student's undergraduate grade average?

The regression reading of the DP post-processing paper (section 6, appendix G), from the file with 11 columns; the
classification reading of :mod:`papers.cross_paper.datasets.law_school` is another file with other rows.
"""

from pathlib import Path

import numpy as np

from papers.cross_paper.datasets import law_school
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec
from reproduction.datasets.stratified_splits import stratified_split, subsample

FILE = "lawschool_raw11.csv"
INPUTS = ("cluster", "lsat", "zfygpa", "zgpa", "fulltime", "fam_inc", "age", "gender", "bar1")
WHITE = 7

_FILE = next(file for file in law_school.SPEC.files if file.name == FILE)

SPEC = DatasetSpec(
    name="law_school_gpa",
    title="law school, grade average",
    groups="race: 0 = other, 1 = White",
    label="undergraduate grade average divided by 4",
    interval=((0.0, 1.0),),
    files=(type(_FILE)(name=FILE, sha256=_FILE.sha256, md5=_FILE.md5, bytes=_FILE.bytes),),
    folder="law_school",
    n_rows=20_800,
    n_attributes=11,
    other_columns=2,
    licence="none stated; research use",
    citation="Wightman, LSAC National Longitudinal Bar Passage Study (1998)",
)


def load(raw_dir: Path, protocol: str = "paper", rows: int = 2000) -> Dataset:
    """Read the complete rows and draw a subsample.

    ``gender`` is 1 for male, ``bar1`` 1 for passed. ``age`` is negative in the file (year of birth minus 1900 in
    another code) and is kept so.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/law_school``.
        protocol: how :func:`split` divides the rows; the table does not depend on it.
        rows: size of the subsample, drawn as in the paper's code; 0 for all rows.

    Raises:
        DataError: the file is missing or lacks a column.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, FILE)
    table = pd.read_csv(path)
    for column in (*INPUTS, "race", "ugpa"):
        if column not in table.columns:
            raise DataError(f"{path}: column {column!r} is missing; fetch the file again")
    table = table.dropna()
    table = table.assign(gender=table["gender"] == "male", bar1=table["bar1"] == "P")
    data = Dataset(
        X=table[list(INPUTS)].to_numpy(np.float32),
        y=table["ugpa"].to_numpy(np.float64) / 4.0,
        group=(table["race"] == WHITE).to_numpy(np.int16),
        feature_names=INPUTS,
        group_names=("other", "White"),
        name=SPEC.name,
        numeric=np.array([j for j, name in enumerate(INPUTS) if name not in ("gender", "bar1")], np.int64),
        task="regression",
    )
    return subsample(data, rows)


def split(data: Dataset, seed: int, protocol: str = "paper", **_: int) -> Split:
    """Labeled, unlabeled and test rows of repetition ``seed`` (:mod:`reproduction.datasets.stratified_splits`)."""
    return stratified_split(data, seed, protocol)
