"""Law school (LSAC National Longitudinal Bar Passage Study): passes the bar examination at the first attempt?

12 attributes as published = the 12 columns of the file: 10 inputs, race and the label. ``male`` and
``fulltime`` take two values and are coded 0/1 (``part_time`` = 1 where ``fulltime`` is 2); the other eight
inputs are numeric and standardised by the models.
"""

from pathlib import Path
from typing import Any

import numpy as np

from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile, SplitRule

NUMERIC = ("decile1b", "decile3", "lsat", "ugpa", "zfygpa", "zgpa", "fam_inc", "tier")
_COLUMNS = (*NUMERIC, "fulltime", "male", "race", "pass_bar")
_ALLOWED: dict[str, set[Any]] = {"race": {"White", "Non-White"}, "pass_bar": {0, 1}, "fulltime": {1, 2}, "male": {0, 1}}

SPEC = DatasetSpec(
    name="law_school",
    title="law school",
    groups="race: 0 = Non-White, 1 = White",
    label="+1 = passes the bar examination at the first attempt",
    interval=((0.7, 1.0),),
    files=(
        RawFile(
            name="law_school_clean.csv",
            sha256="23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452",
            md5="8190cf1a6ec36e8321feae9c5a111ad2",
            bytes=1_135_557,
            url="https://raw.githubusercontent.com/tailequy/fairness_dataset/main/experiments/data/law_school_clean.csv",
        ),
        RawFile(
            name="lawschool_raw11.csv",
            sha256="417f7e65505e87cfc2b952b8b06287f02bcc1702508315e8a8d843b046e59606",
            md5="747fbf5c9cf64282f5692b20b2666237",
            bytes=1_037_656,
            needed=False,
        ),
        RawFile(
            name="law_school_raw36.csv",
            sha256="b76e20ecd2cc615509e22b33cc72ee2e78b7c81ed1407c6b26a449bb79813780",
            md5="3f48f1ef860c5b23cd56fc9003095133",
            bytes=3_944_453,
            needed=False,
        ),
    ),
    split=SplitRule(0.5625, 0.1875, 0.25),
    n_rows=20_798,
    n_attributes=12,
    other_columns=2,
    licence="none stated; research use",
    citation="Wightman, LSAC National Longitudinal Bar Passage Study (1998); cleaned by Le Quy et al. (2022)",
)


def load(raw_dir: Path) -> Dataset:
    """Read the cleaned table.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/law_school``.

    Returns:
        20,798 rows, 10 dense features in the order of the file.

    Raises:
        DataError: the file is missing, lacks a column, or a two-valued column takes another value.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, "law_school_clean.csv")
    table = pd.read_csv(path)
    missing = [column for column in _COLUMNS if column not in table.columns]
    if missing:
        raise DataError(f"{path}: column {missing[0]!r} is missing; fetch the file again")
    for column, allowed in _ALLOWED.items():
        strange = set(table[column]) - allowed
        if strange:
            raise DataError(
                f"{path}: column {column!r} holds {strange.pop()!r}, expected {sorted(allowed)}; fetch it again"
            )
    inputs = table.drop(columns=["race", "pass_bar"])
    names = tuple("part_time" if column == "fulltime" else column for column in inputs.columns)
    inputs["fulltime"] -= 1
    return Dataset(
        X=inputs.to_numpy(np.float32),
        y=2.0 * table["pass_bar"].to_numpy(np.float64) - 1.0,
        group=(table["race"] == "White").to_numpy(np.int16),
        feature_names=names,
        group_names=("Non-White", "White"),
        name=SPEC.name,
        numeric=np.array([names.index(column) for column in NUMERIC], dtype=np.int64),
    )
