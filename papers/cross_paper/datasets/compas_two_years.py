"""COMPAS, ProPublica's analysis sample: a further offence within two years?

The 6,172 rows of ``compas-scores-two-years.csv`` that ProPublica's own analysis keeps. 16 attributes = age, four counts
of earlier offences, indicators of sex, degree of the charge, three age ranges and six races, of which Caucasian is the
group. The reading with all screened persons is :mod:`papers.cross_paper.datasets.compas`.
"""

import dataclasses
from pathlib import Path
from typing import Any

from papers.cross_paper.datasets import compas
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile

RACES = ("African-American", "Asian", "Hispanic", "Native American", "Other")
_FILE = "compas-scores-two-years.csv"
_INDICATORS = (
    ("sex", "Male"),
    ("c_charge_degree", "F"),
    *(("age_cat", level) for level in compas.AGE_RANGES),
    *(("race", level) for level in RACES),
)
_ALLOWED: dict[str, set[Any]] = {
    "sex": {"Female", "Male"},
    "age_cat": set(compas.AGE_RANGES),
    "c_charge_degree": {"F", "M", "O"},
    "race": {*RACES, "Caucasian"},
    "is_recid": {-1, 0, 1},
    "two_year_recid": {0, 1},
}

SPEC: DatasetSpec = dataclasses.replace(
    compas.SPEC,
    name="compas_two_years",
    title="COMPAS, two years",
    label="+1 = a further offence within two years (two_year_recid = 1)",
    folder="compas",
    files=(
        RawFile(
            name=_FILE,
            sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
            md5="9165d40c400bba93a8cffece2b74622b",
            bytes=2_546_489,
            url=compas.UPSTREAM + _FILE,
        ),
    ),
    n_rows=6_172,
    n_attributes=16,
)


def load(raw_dir: Path) -> Dataset:
    """Read the table and keep ProPublica's analysis sample.

    Kept are rows whose screening lies within 30 days of the arrest, with a case found (``is_recid`` not -1), whose
    charge is a felony or misdemeanour, and with a score.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/compas``.

    Returns:
        6,172 rows, 15 dense features: 5 raw numeric columns, then 10 indicators; the group is the 16th attribute.

    Raises:
        DataError: the file is missing, lacks a column, or a column holds an unknown value.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, _FILE)
    table = compas.read(path, _ALLOWED)
    for column in ("days_b_screening_arrest", "score_text"):
        if column not in table.columns:
            raise DataError(f"{path}: column {column!r} is missing; fetch the file again")
    days = pd.to_numeric(table["days_b_screening_arrest"], errors="coerce")  # empty where no arrest was matched
    kept = (
        (days.abs() <= 30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & (table["score_text"] != "N/A")
    )
    return compas.build(table[kept], _INDICATORS, label="two_year_recid", name=SPEC.name)
