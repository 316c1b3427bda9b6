"""ACSIncome 2018, Oklahoma only: complete, and small enough for a test of everything that runs on ACSIncome."""

from pathlib import Path
from typing import TYPE_CHECKING

from papers.cross_paper.datasets import acs_income
from partialfair.data.dataset import Dataset
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec, RawFile

if TYPE_CHECKING:
    import pandas as pd

SPEC = DatasetSpec(
    name="acs_income_ok",
    title="ACSIncome (OK)",
    groups=acs_income.GROUPS,
    label=acs_income.LABEL_TEXT,
    interval=acs_income.SPEC.interval,
    folder="acs_income",
    files=(
        RawFile(
            name="ACSIncome_2018_OK.csv",
            sha256="d5c7e9b3847d72ce98f3bc46abda1596b71409aa312bc88a5c2389acdcba3d23",
            md5="a2443f40eb7310285645f7d90585387b",
            bytes=517_837,
            remedy="or use dataset acs_income with `source: pums` and `states: [OK]`, which reads raw Census files",
        ),
    ),
    n_rows=17_917,
    licence=acs_income.LICENCE,
    citation=acs_income.CITATION,
)


def load(raw_dir: Path, levels: acs_income.Levels = "present") -> Dataset:
    """Read the Oklahoma table.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/acs_income``.
        levels: ``present`` or ``national``, see :func:`papers.cross_paper.datasets.acs_income.load`.

    Returns:
        17,917 rows; 698 features with the levels present, 812 with the national ones.

    Raises:
        DataError: the file is missing or not the table.
    """
    return acs_income.encode(read_table(raw_dir), SPEC.name, levels)


def read_table(raw_dir: Path) -> "pd.DataFrame":
    """Read the raw columns, whole numbers, in the order of the file.

    Raises:
        DataError: the file is missing or not the table.
    """
    import pandas as pd

    path = SPEC.path(raw_dir, SPEC.files[0].name)
    try:
        return pd.read_csv(path, dtype="int32")
    except ValueError as error:
        raise DataError(f"{path}: not a readable ACSIncome table ({error}); fetch it again") from error
