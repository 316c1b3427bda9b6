"""A task of the American Community Survey 2018 in any state, between any two groups: raw codes and one fixed split.

    datasets:
      acs_ok_sex: {module: acs_state, states: [OK], attribute: SEX}
      acs_ny_employment: {module: acs_state, states: [NY], task: employment, source: pums}
      acs_ok_nine_races: {module: acs_state, states: [OK], attribute: RAC1P, separate: true}

The reading of the stochastic benchmark (section 4.1): the codes of all features are numbers, the attribute that makes
the groups is no feature, and one stratified split serves all seeds. Tasks are those of Ding, Hardt, Miller and Schmidt
(2021); all but ``income`` need raw Census files, and folktables to read them.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from papers.cross_paper.datasets import acs_income
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean
from reproduction.datasets.spec import DatasetSpec

if TYPE_CHECKING:
    import pandas as pd

Task = Literal["income", "employment", "public_coverage", "mobility", "travel_time"]
TASKS = {
    "income": "ACSIncome",
    "employment": "ACSEmployment",
    "public_coverage": "ACSPublicCoverage",
    "mobility": "ACSMobility",
    "travel_time": "ACSTravelTime",
}
INCOME_FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P")
SPLIT_STATE = 42  # of the benchmark's published code
VALIDATION = 0.1  # share of the training rows

SPEC = DatasetSpec(
    name="acs_state",
    title="ACS of some states",
    groups="codes of one attribute: 0 = those named first, 1 = all others",
    label="+1 = the task's positive class, for income above 50,000 dollars a year",
    interval=((0.2, 0.4),),
    folder="acs_income",
    files=acs_income.SPEC.files,
    licence=acs_income.LICENCE,
    citation=acs_income.CITATION,
)


def describe(
    spec: DatasetSpec,
    states: Sequence[str] = ("OK",),
    task: Task = "income",
    attribute: str = "RAC1P",
    first: Sequence[int] = (1,),
    source: acs_income.Source = "union",
    separate: bool = False,
) -> DatasetSpec:
    """What is declared of an entry: raw Census files are no files of this project."""
    title = f"ACS {task.replace('_', ' ')} ({', '.join(states)}; {attribute})"
    groups = f"{attribute}: 0 = codes {', '.join(map(str, first))}, 1 = all others"
    groups = f"{attribute}: a group for each code, in the order of the codes" if separate else groups
    return dataclasses.replace(spec, title=title, groups=groups, files=() if source == "pums" else spec.files)


def load(
    raw_dir: Path,
    states: Sequence[str] = ("OK",),
    task: Task = "income",
    attribute: str = "RAC1P",
    first: Sequence[int] = (1,),
    source: acs_income.Source = "union",
    separate: bool = False,
) -> Dataset:
    """Read the rows of some states.

    Args:
        raw_dir: the raw root; the files lie in ``raw_dir/acs_income``.
        states: postal codes. The source ``union`` has 24 states and Puerto Rico whole, of the others a
            random part.
        task: income, employment, public_coverage, mobility or travel_time.
        attribute: column whose codes make the two groups; it is no feature.
        first: codes of the first group, the reference of signed gaps.
        separate: whether each code of the attribute is a group of its own, in the order of the codes; ``first`` then
            says nothing.
        source: ``union`` (income alone) or ``pums``, see :mod:`papers.cross_paper.datasets.acs_income`.

    Raises:
        ConfigError: an unknown task, state or source, or one that has not the attribute.
        DataError: a file is missing or inconsistent.
    """
    acs_income.check_source(SPEC.name, source, states)
    if task not in TASKS:
        raise ConfigError(f"datasets.{SPEC.name}.task is {task!r}; {did_you_mean(task, TASKS)}")
    if source == "pums":
        table, features, label = _census_rows(SPEC.directory(raw_dir), states, TASKS[task], attribute)
    elif task == "income":
        table = acs_income.read_union(SPEC.path(raw_dir, SPEC.files[0].name), states)
        features, label = INCOME_FEATURES, table[acs_income.LABEL].to_numpy(np.float64)
    else:
        raise ConfigError(f"datasets.{SPEC.name}: task {task} is not in the prepared table; set `source: pums`")
    if attribute not in table.columns:
        raise ConfigError(f"datasets.{SPEC.name}.attribute: task {task} has no column {attribute!r}")
    return codes(table, features, label, attribute, None if separate else first, SPEC.name)


def codes(
    table: "pd.DataFrame",
    features: Sequence[str],
    label: np.ndarray,
    attribute: str,
    first: Sequence[int] | None,
    name: str,
    group_names: tuple[str, str] | None = None,
) -> Dataset:
    """The table with raw codes as features, and groups made from one column, which is no feature.

    Args:
        table: rows with the columns ``features`` and ``attribute``.
        features: columns; a missing value becomes 0, as folktables has it.
        label: (n,) 0/1.
        attribute, first: see :func:`load`; ``None`` makes a group of each code.
        name: of the dataset.
        group_names: of the first group and of all others.
    """
    own = tuple(column for column in features if column != attribute)
    column = table[attribute].to_numpy()
    if first is None:
        found, group = np.unique(column, return_inverse=True)
        named: tuple[str, ...] = tuple(f"{attribute} {code}" for code in found)
    else:
        group = (~np.isin(column, list(first))).astype(np.int64)
        named = group_names or (f"{attribute} in {', '.join(map(str, first))}", "others")
    return Dataset(
        X=np.nan_to_num(table[list(own)].to_numpy(np.float32)),
        y=2.0 * label - 1.0,
        group=group.astype(np.int16),
        feature_names=own,
        group_names=named,
        name=name,
        numeric=np.arange(len(own), dtype=np.int64),
    )


def download(
    raw_dir: Path, states: Sequence[str] = ("OK",), source: acs_income.Source = "union", **_: Any
) -> list[Path]:
    """Download raw person files through folktables, where the options ask for that source."""
    return acs_income.download(raw_dir, source, states)


def split(data: Dataset, seed: int, **_: Any) -> Split:
    """One split stratified by group, the same for every seed: 72% to train, 8% for validation, 20% for the test."""
    from sklearn.model_selection import train_test_split

    pool, test = train_test_split(
        np.arange(data.n_rows), test_size=0.2, stratify=data.group == 0, random_state=SPLIT_STATE
    )
    last = len(pool) - round(VALIDATION * len(pool))
    return Split(pool[:last].astype(np.int64), pool[last:].astype(np.int64), test.astype(np.int64))


def _census_rows(
    folder: Path, states: Sequence[str], task: str, attribute: str
) -> tuple["pd.DataFrame", tuple[str, ...], np.ndarray]:
    """Rows that pass a task's filter, its features, and its label (n,) as 0/1."""
    import pandas as pd

    acs_income.require_folktables()
    import folktables

    problem = getattr(folktables, task)
    wanted = {*problem.features, problem.target, attribute, "AGEP", "PINCP", "WKHP", "PWGTP", "ESR"}
    tables = []
    for state in states:
        path = acs_income.person_file(folder / "2018" / "1-Year", state, fetch=False)
        try:
            tables.append(pd.read_csv(path, usecols=lambda column: column in wanted))
        except ValueError as error:
            raise DataError(f"{path}: not a 2018 PUMS person file ({error}); delete it and fetch it again") from error
    raw = pd.concat(tables, ignore_index=True)
    missing = sorted({*problem.features, problem.target} - {*raw.columns})
    if missing:
        raise DataError(f"{folder}: the person files of {', '.join(states)} have no column {missing[0]!r}")
    kept = problem._preprocess(raw)  # the filter alone, which has no public name
    label = np.asarray(problem.target_transform(kept[problem.target]), np.float64)
    return kept, tuple(problem.features), label
