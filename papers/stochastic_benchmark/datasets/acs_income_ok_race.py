"""ACSIncome 2018, Oklahoma, by race: nine raw codes and one fixed split, the reading of the stochastic benchmark.

Source: Benchmark of stochastic approximation algorithms, section 4.1, and its published code. The codes of the nine
features are numbers to it (no one-hot encoding), RAC1P = 1 makes the first group, and one stratified split serves all
runs, which differ by initial weights and drawn rows alone.
"""

from pathlib import Path

import numpy as np

from papers.cross_paper.datasets import acs_income, acs_income_ok
from papers.stochastic_benchmark.datasets import acs_state
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import DataError
from reproduction.datasets.spec import DatasetSpec

FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX")

SPEC = DatasetSpec(
    name="acs_income_ok_race",
    title="ACSIncome (OK, race)",
    groups="race: 0 = white (RAC1P 1), 1 = non-white",
    label=acs_income.LABEL_TEXT,
    interval=((0.2, 0.4),),
    folder="acs_income",
    files=acs_income_ok.SPEC.files,
    n_rows=17_917,
    n_attributes=10,
    licence=acs_income.LICENCE,
    citation=acs_income.CITATION,
)


def load(raw_dir: Path) -> Dataset:
    """Read the Oklahoma table in the order of its file, on which the split depends.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/acs_income``.

    Returns:
        17,917 rows, 9 numeric features.

    Raises:
        DataError: the file is missing or not the table.
    """
    table = acs_income_ok.read_table(raw_dir)
    missing = [name for name in (*FEATURES, "RAC1P", acs_income.LABEL) if name not in table.columns]
    if missing:
        path = SPEC.path(raw_dir, SPEC.files[0].name)
        raise DataError(f"{path}: column {missing[0]!r} is missing; fetch the file again")
    label = table[acs_income.LABEL].to_numpy(np.float64)
    return acs_state.codes(table, FEATURES, label, "RAC1P", (1,), SPEC.name, ("white", "non-white"))


def split(data: Dataset, seed: int) -> Split:
    """Return the published split, the same for every seed; its order is that of the published code.

    The paper has no validation rows. A tenth of its training rows stands as such here; the paper's methods, which
    select nothing, train on both parts together.
    """
    return acs_state.split(data, seed)
