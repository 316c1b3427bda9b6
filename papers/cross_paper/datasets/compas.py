"""COMPAS, all screened persons (ProPublica): is a further offence recorded?

The 11,757 rows of ``compas-scores.csv``. 14 attributes = age, four counts of earlier offences, indicators of sex, three
age ranges, two degrees of the charge and three races, of which Caucasian is the group. Neither the rows nor the
encoding are settled in the literature: the reading with 6,172 rows is
:mod:`papers.cross_paper.datasets.compas_two_years`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile

UPSTREAM = "https://raw.githubusercontent.com/propublica/compas-analysis/master/"
NUMERIC = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
AGE_RANGES = ("Less than 25", "25 - 45", "Greater than 45")
GROUP_NAMES = ("not Caucasian", "Caucasian")
_FILE = "compas-scores.csv"
_INDICATORS = (
    ("sex", "Female"),
    *(("age_cat", level) for level in AGE_RANGES),
    *(("c_charge_degree", level) for level in ("F", "M")),
    *(("race", level) for level in ("African-American", "Hispanic")),
)
_ALLOWED: dict[str, set[Any]] = {
    "sex": {"Female", "Male"},
    "age_cat": set(AGE_RANGES),
    "c_charge_degree": {"F", "M", "O"},
    "is_recid": {-1, 0, 1},
}

SPEC = DatasetSpec(
    name="compas",
    title="COMPAS",
    groups="race: 0 = not Caucasian, 1 = Caucasian",
    label="+1 = a further offence is recorded (is_recid = 1; the 719 rows without a case, -1, count as negative)",
    interval=((0.0, 1.0),),
    files=(
        RawFile(
            name=_FILE,
            sha256="c9864c9e48c0a9e32ab23f7ad05a454d7624a4625c2a54d4447921de544fd8a2",
            md5="14c38b686ad790afcb8ef2ab4d585ed7",
            bytes=3_554_605,
            url=UPSTREAM + _FILE,
        ),
    ),
    n_rows=11_757,
    n_attributes=14,
    licence="none stated; research use",
    citation="Angwin, Larson, Mattu and Kirchner, Machine Bias, ProPublica (2016)",
)


def load(raw_dir: Path) -> Dataset:
    """Read the table.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/compas``.

    Returns:
        11,757 rows, 13 dense features: 5 raw numeric columns, then 8 indicators; the group is the 14th attribute.

    Raises:
        DataError: the file is missing, lacks a column, or a column holds an unknown value.
    """
    path = SPEC.path(raw_dir, _FILE)
    return build(read(path, _ALLOWED), _INDICATORS, label="is_recid", name=SPEC.name)


def read(path: Path, allowed: dict[str, set[Any]]) -> Any:
    """Read a file of ProPublica's COMPAS release as a pandas table, texts as they stand.

    Args:
        path: the file.
        allowed: values that categorical columns may take; the label is one of them.

    Raises:
        DataError: a column is missing, or holds another value or an empty count.
    """
    import pandas as pd

    table = pd.read_csv(path, keep_default_na=False, na_values={column: [""] for column in NUMERIC})
    missing = [column for column in (*NUMERIC, *allowed, "race") if column not in table.columns]
    if missing:
        raise DataError(f"{path}: column {missing[0]!r} is missing; fetch the file again")
    for column in NUMERIC:
        if table[column].dtype.kind not in "iu":
            raise DataError(f"{path}: column {column!r} holds something besides whole numbers; fetch the file again")
    for column, values in allowed.items():
        strange = set(table[column]) - values
        if strange:
            expected = sorted(map(str, values))
            raise DataError(f"{path}: column {column!r} holds {strange.pop()!r}, expected {expected}; fetch it again")
    return table


def build(table: Any, indicators: Sequence[tuple[str, str]], label: str, name: str) -> Dataset:
    """Encode a table: the five numeric columns, one column per (column, level) of ``indicators``, race as the group."""
    flags: list[NDArray[np.float32]] = [(table[column] == level).to_numpy(np.float32) for column, level in indicators]
    return Dataset(
        X=np.column_stack([table[list(NUMERIC)].to_numpy(np.float32), *flags]),
        y=np.where(table[label] == 1, 1.0, -1.0),
        group=(table["race"] == "Caucasian").to_numpy(np.int16),
        feature_names=(*NUMERIC, *(f"{column}={level}" for column, level in indicators)),
        group_names=GROUP_NAMES,
        name=name,
        numeric=np.arange(len(NUMERIC), dtype=np.int64),
    )
