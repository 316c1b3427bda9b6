"""Tables of every kind, with their labels and groups, for benchmarks of the classifier at its defaults."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.data.dataset import Dataset, Matrix
from reproduction.jobs.prepare import fetch
from tests.benchmarks.common import ROOT, real_dataset

MOST_ROWS = 5000
RACES = {1: "white", 2: "black", 6: "asian", 8: "other", 9: "several"}
Table = tuple[Matrix, NDArray[np.float64], NDArray[np.str_]]


def real(name: str, **options: object) -> Table:
    """At most :data:`MOST_ROWS` rows of a real table, drawn by chance."""
    data = loaded(name, **options)
    rows = drawn(data.n_rows)
    return data.X[rows], data.y[rows], np.array(data.group_names)[data.group[rows]]


def drawn(n_rows: int) -> NDArray[np.int64]:
    """Rows drawn by chance, in their order."""
    return np.sort(np.random.default_rng(0).permutation(n_rows)[:MOST_ROWS])


def adult() -> pd.DataFrame:
    """The training file of Adult as UCI has it."""
    fetch("adult_age", ROOT / "data" / "raw")
    columns = plugins.load("datasets", "adult_age").COLUMNS
    return pd.read_csv(ROOT / "data/raw/adult/adult.data", names=columns, skipinitialspace=True)


def adult_by_race() -> Table:
    """Adult one-hot, between its five races, two of which have 1% of the rows each."""
    frame = adult()
    frame = frame.iloc[drawn(len(frame))]
    y = np.where(frame.pop("income").str.startswith(">"), 1.0, -1.0)
    group = frame.pop("race").to_numpy(str)
    return pd.get_dummies(frame, dtype=float).to_numpy(), y, group


def adult_by_sex() -> Dataset:
    """All rows of Adult's training file, one-hot, between men and women; the weight and one of two names are left."""
    frame = adult().drop(columns=["fnlwgt", "education"])
    y = np.where(frame.pop("income").str.startswith(">"), 1.0, -1.0)
    names, group = np.unique(frame.pop("sex").to_numpy(str), return_inverse=True)
    X = pd.get_dummies(frame, dtype=np.float32)
    numeric = np.flatnonzero((X.nunique() > 2).to_numpy())
    return Dataset(
        X.to_numpy(), y, group.astype(np.int16), tuple(X.columns), tuple(names.tolist()), "adult", numeric=numeric
    )


def codes_of(state: str, attribute: str) -> Dataset:
    """ACS income of a state between the first code of an attribute and all others, raw codes."""
    return loaded("acs_state", states=[state], attribute=attribute)


def loaded(name: str, **options: object) -> Dataset:
    """A real dataset, with options of its module."""
    if not options:
        return real_dataset(name)
    module = plugins.load("datasets", name)
    fetch(name, ROOT / "data" / "raw")
    data: Dataset = module.load(ROOT / "data" / "raw", **options)
    return data


def acs_by_race(state: str) -> Table:
    """ACS income of a state, codes one-hot where they are no quantities, between five races."""
    fetch("acs_income", ROOT / "data" / "raw")
    module = plugins.load("datasets", "acs_income")
    frame = module.read_union(ROOT / "data/raw/acs_income" / module.SPEC.files[0].name, (state,))
    frame = frame[frame["RAC1P"].isin(RACES)]
    frame = frame.iloc[drawn(len(frame))]
    y = 2.0 * frame[module.LABEL].to_numpy(np.float64) - 1
    group = frame["RAC1P"].map(RACES).to_numpy(str)
    codes = frame[["COW", "MAR", "RELP", "SEX"]].astype(int).astype(str)
    return np.hstack([frame[["AGEP", "SCHL", "WKHP"]], pd.get_dummies(codes, dtype=float)]), y, group


def generated(
    shares: tuple[float, ...], proxy: float, seed: int, levels: int = 0, offset: float = -1.5, rows: int = MOST_ROWS
) -> Table:
    """Rows of groups of given shares; one feature tells groups apart by ``proxy``, and base rates differ.

    With ``levels`` all features are whole numbers below it, so that many rows share a score; ``offset`` moves the rate
    of positive labels.
    """
    random = np.random.default_rng(seed)
    group = random.choice(len(shares), rows, p=shares)
    X = random.normal(size=(rows, 6))
    X[:, 0] += proxy * group
    X[:, 1] = np.exp(X[:, 1])  # a heavy tail
    logits = X[:, 0] + 0.5 * X[:, 1] - X[:, 2] + 0.4 * group + offset
    y = np.where(random.random(rows) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)
    if levels:
        X = np.clip(np.round(X[:, :3]), 0, levels - 1)
    return X, y, group.astype(str)


TABLES: dict[str, Callable[[], Table]] = {
    "Adult (a9a), sex": lambda: real("a9a"),
    "Adult (UCI), five races": adult_by_race,
    "bank": lambda: real("bank"),
    "law school": lambda: real("law_school"),
    "COMPAS": lambda: real("compas"),
    "communities": lambda: real("communities_crime_groups"),
    "ACS income, Oklahoma, race": lambda: real("acs_income_ok"),
    "ACS income, Connecticut, sex": lambda: real("acs_state", states=["CT"], attribute="SEX"),
    "ACS income, Nevada, five races": lambda: acs_by_race("NV"),
    "two groups, strong proxy": lambda: generated((0.7, 0.3), 3.0, 1),
    "three groups": lambda: generated((0.5, 0.3, 0.2), 0.7, 2),
    "four groups, weak proxy": lambda: generated((0.4, 0.3, 0.2, 0.1), 0.1, 5),
    "five groups, strong proxy": lambda: generated((0.3, 0.25, 0.2, 0.15, 0.1), 1.5, 6),
    "six groups, one of 3%": lambda: generated((0.4, 0.25, 0.15, 0.1, 0.07, 0.03), 0.4, 3),
    "two groups, one of 1%": lambda: generated((0.99, 0.01), 1.0, 7),
    "2% positive labels": lambda: generated((0.6, 0.4), 0.5, 8, offset=-6.0),
    "few scores": lambda: generated((0.6, 0.4), 1.0, 4, levels=2),
}
"""Nine real and eight generated ones. The other tasks of the ACS need raw Census files, which are not fetched."""

WHOLE: dict[str, Callable[[], Dataset]] = {
    "a9a": lambda: real_dataset("a9a"),
    "bank": lambda: real_dataset("bank"),
    "Adult": adult_by_sex,
    "ACS income, Oklahoma": lambda: codes_of("OK", "RAC1P"),
    "ACS income, Connecticut": lambda: codes_of("CT", "SEX"),
}
"""Tables of which all rows are used."""
