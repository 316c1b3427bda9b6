"""ACSIncome 2018: does a person earn more than 50,000 dollars? National table.

813 attributes as published = 810 drop-first indicators of seven categorical columns + AGEP + WKHP + SEX; SEX is
the group. The same :class:`Dataset` comes out of two sources:

- ``union``: one table of 1,140,517 of the 1,664,500 national rows (25 states complete, a random subset of the
  others), rebuilt from public copies and checked row by row; the values are those after the task's filter.
- ``pums``: raw Census person files ``2018/1-Year/psam_pXX.csv`` in the layout of folktables, with its filter;
  ``partialfair data fetch`` downloads them through folktables.
"""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, DataError
from reproduction.datasets.one_hot import Categorical, drop_first
from reproduction.datasets.spec import DatasetSpec, RawFile

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = ("AGEP", "WKHP")
CATEGORICAL = ("COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "RAC1P")
LABEL = "PINCP_gt50K"
COLUMNS = (*NUMERIC, *CATEGORICAL, "SEX", LABEL)
_PUMS_COLUMNS = (*NUMERIC, *CATEGORICAL, "SEX", "PINCP", "PWGTP")
_THRESHOLD = 50_000  # dollars
_MALE = 1  # SEX code; 2 is female

Source = Literal["union", "pums"]
Levels = Literal["present", "national"]

LICENCE = "public domain (work of the US Government)"
CITATION = "US Census Bureau, ACS PUMS 2018 (1-year); task: Ding, Hardt, Miller and Schmidt (2021), folktables"
GROUPS = "gender: 0 = Female (SEX 2), 1 = Male (SEX 1)"
LABEL_TEXT = "+1 = yearly income above 50,000 dollars"

SPEC = DatasetSpec(
    name="acs_income",
    title="ACSIncome",
    groups=GROUPS,
    label=LABEL_TEXT,
    interval=((0.2, 0.4),),
    files=(
        RawFile(
            name="ACSIncome_2018_union.parquet",
            sha256="4edbc00c5bb0c1457c6398c52df62014068d42f6726da55d757593073ea2a067",
            md5="c4e7552e6c755f66922694dd6b42e607",
            bytes=9_029_385,
            remedy="or build the table from raw Census files: `source: pums` under datasets.acs_income in params.yaml",
        ),
        RawFile(
            name="state_counts.csv",
            sha256="aeb7ca0c32b8ffdf77407f24da4c5344b45d2b2ae28a5b0fb8f58634853300e1",
            md5="45a47f959eb5880e7f31b0d557e31058",
            bytes=2_689,
            needed=False,
        ),
    ),
    n_rows=1_664_500,
    n_attributes=813,
    licence=LICENCE,
    citation=CITATION,
)


def load(
    raw_dir: Path,
    source: Source = "union",
    states: Sequence[str] | None = None,
    levels: Levels = "present",
    check_counts: bool = True,
) -> Dataset:
    """Read the table from one of its sources.

    Args:
        raw_dir: the raw root; the files lie in ``raw_dir/acs_income``.
        source: see the module's docstring.
        states: postal codes, for instance ``["OK", "TX"]``; by default all.
        levels: the categories that get columns: those present in the table, or the fixed national list,
            under which tables of different states have the same columns.
        check_counts: refuse a raw state file that yields another number of rows than is known for it.

    Returns:
        CSR table: AGEP and WKHP raw, then the indicators. Rows in the order of the states and of their files.

    Raises:
        ConfigError: an option has an unknown value.
        DataError: a file is missing or inconsistent.
    """
    check_source(SPEC.name, source, states or ())
    if source == "union":
        table = read_union(SPEC.path(raw_dir, SPEC.files[0].name), states)
    else:
        table = _read_pums(SPEC.directory(raw_dir), tuple(states or national()["state_rows"]), check_counts)
    return encode(table, SPEC.name, levels)


def check_source(name: str, source: str, states: Sequence[str]) -> None:
    """Refuse options of the dataset ``name`` that have an unknown value.

    Raises:
        ConfigError: a source or a state that there is not.
    """
    if source not in ("union", "pums"):
        raise ConfigError(f"datasets.{name}.source is {source!r}; use 'union' or 'pums'")
    known = national()["state_rows"]
    strange = [state for state in states if state not in known]
    if strange:
        raise ConfigError(f"datasets.{name}.states holds {strange[0]!r}; use postal codes such as 'OK', and 'PR'")


def download(raw_dir: Path, source: Source = "union", states: Sequence[str] | None = None, **_: Any) -> list[Path]:
    """Download raw person files through folktables, where the options ask for that source.

    Args:
        raw_dir: the raw root.
        source, states: as in :func:`load`.

    Returns:
        The raw files, present or just downloaded; empty if ``source`` is not ``pums``.

    Raises:
        DataError: folktables is not installed, or a file could not be downloaded.
    """
    if source != "pums":
        return []
    folder = SPEC.directory(raw_dir) / "2018" / "1-Year"
    folder.mkdir(parents=True, exist_ok=True)
    return [person_file(folder, state, fetch=True) for state in states or national()["state_rows"]]


def national() -> dict[str, Any]:
    """Return the national facts: ``levels`` (column -> category codes) and ``state_rows`` (state -> rows)."""
    text = (
        resources.files("papers.cross_paper.datasets").joinpath("resources/acs_2018.json").read_text(encoding="utf-8")
    )
    facts: dict[str, Any] = json.loads(text)
    return facts


def encode(table: "pd.DataFrame", name: str, levels: Levels = "present") -> Dataset:
    """Encode a filtered ACSIncome table.

    Args:
        table: integer columns :data:`COLUMNS`; the label is 0/1.
        name: name of the dataset.
        levels: see :func:`load`.

    Raises:
        ConfigError: ``levels`` is unknown.
        DataError: a column is missing, or a code is outside the national list.
    """
    if levels not in ("present", "national"):
        raise ConfigError(f"datasets.{name}.levels is {levels!r}; use 'present' or 'national'")
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise DataError(f"{name}: column {missing[0]!r} is missing from the ACSIncome table; fetch its file again")
    fixed = national()["levels"] if levels == "national" else {}
    X, names = drop_first(
        table[list(NUMERIC)].to_numpy(np.float32),
        NUMERIC,
        [_categorical(name, column, table[column].to_numpy(np.int32), fixed.get(column)) for column in CATEGORICAL],
    )
    return Dataset(
        X=X,
        y=2.0 * table[LABEL].to_numpy(np.float64) - 1.0,
        group=(table["SEX"] == _MALE).to_numpy(np.int16),
        feature_names=names,
        group_names=("Female", "Male"),
        name=name,
        numeric=np.arange(len(NUMERIC), dtype=np.int64),
    )


def _categorical(name: str, column: str, values: np.ndarray, fixed: Sequence[int] | None) -> Categorical:
    """Return the codes of a column by a lookup table (its values are small non-negative integers)."""
    if values.min(initial=0) < 0:
        raise DataError(f"{name}: column {column!r} has missing values; drop those rows first")
    seen = np.flatnonzero(np.bincount(values))
    levels = seen if fixed is None else np.asarray(fixed)
    strange = np.setdiff1d(seen, levels)
    if strange.size:
        raise DataError(
            f"{name}: code {strange[0]} of column {column!r} is not in the national list; set `levels: present`"
        )
    lookup = np.zeros(max(int(levels[-1]), int(values.max(initial=0))) + 1, np.int32)
    lookup[levels] = np.arange(len(levels), dtype=np.int32)
    return Categorical(column, lookup[values], [str(level) for level in levels])


def read_union(path: Path, states: Sequence[str] | None) -> "pd.DataFrame":
    """Read the wanted columns and states of the union table."""
    import pandas as pd

    try:
        filters = None if states is None else [("ST", "in", list(states))]
        return pd.read_parquet(path, columns=list(COLUMNS), filters=filters)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path}: not a readable ACSIncome table ({error}); fetch it again") from error


def _read_pums(folder: Path, states: Sequence[str], check_counts: bool) -> "pd.DataFrame":
    """Read raw person files state by state, so that only one state's unfiltered rows are in memory."""
    import pandas as pd

    totals = national()["state_rows"]
    tables = []
    for state in states:
        path = person_file(folder / "2018" / "1-Year", state, fetch=False)
        table = _filtered(path)
        if check_counts and len(table) != totals[state]:
            raise DataError(
                f"{path}: {len(table):,} rows pass the ACSIncome filter, {totals[state]:,} are known for {state} 2018; "
                "the file is cut short or of another year: delete it and fetch it again"
            )
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _filtered(path: Path) -> "pd.DataFrame":
    """Apply the filter and label of the task to one raw person file."""
    import pandas as pd

    require_folktables()
    from folktables.acs import adult_filter

    try:
        raw = pd.read_csv(path, usecols=list(_PUMS_COLUMNS), dtype=np.float64)
    except ValueError as error:
        raise DataError(f"{path}: not a 2018 PUMS person file ({error}); delete it and fetch it again") from error
    kept = adult_filter(raw)
    table = kept[[*NUMERIC, *CATEGORICAL, "SEX"]].fillna(-1).astype(np.int32)
    table[LABEL] = (kept["PINCP"] > _THRESHOLD).astype(np.int32)
    return table


def person_file(folder: Path, state: str, fetch: bool) -> Path:
    """Return the raw file of a state, downloading it if ``fetch``."""
    from contextlib import redirect_stdout
    from io import StringIO

    require_folktables()
    from folktables.load_acs import initialize_and_download

    said = StringIO()  # folktables prints its progress and its errors
    try:
        with redirect_stdout(said):
            path = Path(initialize_and_download(str(folder), state, 2018, "1-Year", "person", download=fetch))
    except FileNotFoundError as error:
        raise DataError(f"{folder}: no raw person file of {state}; run `partialfair data fetch acs_income`") from error
    if not path.is_file():
        (folder / f"csv_p{state.lower()}.zip").unlink(missing_ok=True)
        reason = said.getvalue().strip().splitlines()[-1:] or ["no reason given"]
        raise DataError(
            f"{path}: download through folktables failed ({reason[0]}); try again, or put the file there by hand"
        )
    return path


def require_folktables() -> None:
    """Say what to install if folktables, which only raw Census files need, is absent."""
    try:
        import folktables  # noqa: F401
    except ImportError as error:
        raise DataError(
            "acs_income: reading raw Census files needs folktables; install it with `pip install 'partialfair[acs]'`"
        ) from error
