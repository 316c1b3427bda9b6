"""A table of the person's own: a CSV or parquet file and a few lines in ``params.yaml``, no code.

    datasets:
      my_data:
        module: csv_table
        file: my_data.csv             # relative to the folder of params.yaml
        label: approved               # the other options are those of `load` below
        positive: "yes"
        groups: [sex, age_band]       # several columns are intersected
        drop: [customer_id]

The name ``my_data`` is then a dataset like any other.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from partialfair.datasets.one_hot import Categorical, drop_first
from partialfair.datasets.spec import DatasetSpec
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean
from partialfair.tables.columns import column_names, read_columns
from partialfair.tables.dataset import LARGEST, Dataset
from partialfair.tables.groups import check_names, group_labels

Names: TypeAlias = Sequence[str] | str
Columns: TypeAlias = Mapping[str, Any]

SPEC = DatasetSpec(
    name="csv_table",
    title="own table",
    groups="the values of the columns named by `groups`",
    label="the column named by `label`",
    interval=((0.0, 1.0),),
    licence="that of the file",
    citation="whoever made the file",
)

MAX_LEVELS = 1000
"""A column with more different texts is an identifier rather than a category."""

NEARLY = 0.9
"""A column of which a larger share is numbers is one of numbers, with mistakes in it."""

FEW = 20
"""Values that a category may have in a table of any size; in larger ones, as many as half the rows."""

LOST = 0.5
"""Share of the different values of a number that has to be left in single precision."""

LARGEST_LABEL = 1e37
"""Predictions are stored in single precision, which ends at 3.4e38."""

EMPTY = frozenset(("", "NA", "N/A", "#N/A", "n/a", "<NA>", "NaN", "nan", "null", "NULL"))
"""Texts of a label or an input that stand for a missing value."""

INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name when it writes parquet."""

OTHER = "other"
"""The group of all groups that are too small, where they are merged."""


def describe(
    spec: DatasetSpec, label: str = "", groups: Names = (), positive: Any = None, task: str = "classification", **_: Any
) -> DatasetSpec:
    """Complete the declaration from the options of an entry."""
    meaning = f"+1 = {label} is {positive!r}" if positive is not None else f"+1 = the larger value of {label}"
    meaning = f"{label}, a number" if task == "regression" else meaning
    return dataclasses.replace(spec, groups=f"values of {' and '.join(_listed(groups))}, sorted", label=meaning)


def load(
    raw_dir: Path | None,
    file: str,
    label: str,
    groups: Names,
    positive: Any = None,
    numeric: Names | None = None,
    categorical: Names | None = None,
    drop: Names = (),
    minimum_group_size: int = 50,
    small_groups: str = "refuse",
    missing: str = "refuse",
    task: str = "classification",
) -> Dataset:
    """Read a table; the group columns are no inputs.

    Args:
        raw_dir: not used; ``file`` is relative to the working directory.
        file: CSV with a header line (comma, semicolon, tab or bar), or parquet.
        label: column of the label.
        groups: columns of the sensitive attributes; several are intersected: each combination of values that
            occurs is a group. Groups are coded in the order of their names.
        positive: the label that becomes +1, every other becomes -1; by default the larger of two.
        numeric: input columns that hold numbers.
        categorical: input columns that are one-hot encoded; the first level by text is the reference.
            If neither list is given, every other column is an input: numeric if all its entries are numbers.
        drop: columns that are no inputs. With a list of inputs, every column must stand in one of the lists.
        minimum_group_size: rows that a group must have.
        small_groups: what to do with smaller groups: ``refuse`` them, ``drop`` their rows, or ``merge`` them
            into one group called "other".
        missing: ``refuse`` a file with missing entries in the columns used, or ``drop`` such rows.
        task: ``classification``, or ``regression`` for a label that is a number.

    Raises:
        ConfigError: an option that cannot be used.
        DataError: a file that cannot be read, or rows that cannot be used.
    """
    _check_options(small_groups, missing, task, positive)
    path, sensitive = Path(file), _listed(groups)
    columns = read_columns(path)
    numbers, categories = _inputs(path, columns, [label, *sensitive], numeric, categorical, _listed(drop))
    values = {name: _numbers(path, name, columns[name]) for name in numbers}
    texts = {name: columns[name].to_numpy(object) for name in (label, *categories, *sensitive)}
    rows = _complete_rows(path, values, texts, sensitive, missing)
    codes, names = _groups(path, {name: texts[name][rows] for name in sensitive}, rows)
    kept, codes, names = _sized_groups(path, codes, names, minimum_group_size, small_groups)
    rows = rows[kept]
    matrix = np.column_stack([values[name][rows] for name in numbers] or [np.zeros((rows.size, 0))])
    X, inputs = _design(path, matrix, numbers, {name: texts[name][rows] for name in categories})
    numeric_columns = np.flatnonzero(~np.isin(matrix, (0.0, 1.0)).all(axis=0)).astype(np.int64)
    shared = (codes.astype(np.int16), inputs, names, SPEC.name, numeric_columns)
    if task == "regression":
        numbers_of_label = _numbers(path, label, columns[label], LARGEST_LABEL)
        return Dataset(X, numbers_of_label[rows], *shared, task="regression")
    return Dataset(X, _labels(path, label, texts[label][rows], positive), *shared)


def check_columns(source: str, dataset: str, options: Mapping[str, Any]) -> None:
    """Refuse an entry that cannot be used, whatever the rows of its file say; they are not read.

    Raises:
        ConfigError: an option that is none of its choices, or no column for the label or the groups.
        DataError: the file is not there or lacks a column.
    """
    where, path = f"{source}: datasets.{dataset}", Path(str(options["file"]))
    try:
        _check_options(**{name: options.get(name, usual) for name, usual in _USUAL.items()})
    except ConfigError as error:
        raise ConfigError(f"{where}: {str(error).removeprefix('csv_table: ')}") from error
    try:
        names = column_names(path)
    except DataError as error:
        raise DataError(f"{where}.file: {error}") from error
    if not options["label"]:
        raise ConfigError(f"{where}.label: it is empty; name the column of the label")
    if isinstance(options["groups"], Mapping) or not _listed(options["groups"]):
        raise ConfigError(f"{where}.groups is {options['groups']!r}; write a list of columns, as in [sex]")
    least = options.get("minimum_group_size", 1)
    if isinstance(least, bool) or not isinstance(least, int) or least < 1:
        raise ConfigError(f"{where}.minimum_group_size is {least!r}; write a whole number of rows, 1 or more")
    named = [str(options["label"])]
    for key in ("groups", "numeric", "categorical", "drop"):
        named += _listed(options.get(key))
    for place, name in enumerate(named):
        if name not in names:
            raise DataError(f"{where}: {path} has no column {name!r}; {did_you_mean(name, names)}")
        if name in named[:place]:
            raise ConfigError(f"{where}: column {name!r} is given for two purposes; name each column once")


_USUAL = {"small_groups": "refuse", "missing": "refuse", "task": "classification", "positive": None}
"""Options that are checked without the file, and their defaults."""


def _check_options(small_groups: str, missing: str, task: str, positive: Any) -> None:
    """Refuse options that are none of their choices, and a positive class of a number."""
    _require_choice("small_groups", small_groups, ("refuse", "drop", "merge"))
    _require_choice("missing", missing, ("refuse", "drop"))
    _require_choice("task", task, ("classification", "regression"))
    if isinstance(positive, list | Mapping):
        raise ConfigError(f"csv_table: positive is {positive!r}; write the one value that becomes +1")
    if task == "regression" and positive is not None:
        raise ConfigError(
            f"csv_table: positive is {positive!r}, but a label that is a number has no positive class; drop it"
        )


def _design(
    path: Path, matrix: NDArray[np.float64], numbers: Sequence[str], texts: Mapping[str, NDArray[Any]]
) -> tuple[Any, tuple[str, ...]]:
    """Inputs of the kept rows and their names: numbers, then one-hot encoded texts."""
    X: Any = matrix.astype(np.float32)
    if not texts:
        return X, tuple(numbers)
    return drop_first(X, numbers, [_category(path, name, entries) for name, entries in texts.items()])


def _listed(names: Names | None) -> list[str]:
    """Return one name or several as a list."""
    return [names] if isinstance(names, str) else [str(name) for name in names or ()]


def _require_choice(option: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ConfigError(f"csv_table: {option} is {value!r}; {did_you_mean(str(value), choices)}")


def _inputs(
    path: Path, columns: Columns, used: list[str], numeric: Names | None, categorical: Names | None, drop: list[str]
) -> tuple[list[str], list[str]]:
    """Return the numeric and the categorical input columns, in the order of the file."""
    numbers, categories = _listed(numeric), _listed(categorical)
    for name in (*used, *drop, *numbers, *categories):
        if name not in columns:
            raise DataError(f"{path}: there is no column {name!r}; {did_you_mean(name, columns)}")
    named = [*used, *drop, *numbers, *categories]
    twice = [name for position, name in enumerate(named) if name in named[:position]]
    if twice:
        raise ConfigError(f"{path}: column {twice[0]!r} is given for two purposes; name each column once")
    rest = [name for name in columns if name not in named]
    for name in filter(INDEX.fullmatch, rest):
        raise DataError(
            f"{path}: column {name!r} is the index, which pandas writes; without it: to_parquet(path, index=False), or "
            "put it into drop"
        )
    if numeric is None and categorical is None:
        numbers = [name for name in rest if _is_numeric(path, name, columns[name])]
        categories = [name for name in rest if name not in numbers]
    elif rest:
        raise ConfigError(
            f"{path}: column {rest[0]!r} stands in none of numeric, categorical and drop; put it into one of them"
        )
    if not numbers and not categories:
        raise ConfigError(f"{path}: no column is left as an input; drop fewer of them")
    return [name for name in columns if name in numbers], [name for name in columns if name in categories]


def _is_numeric(path: Path, name: str, column: Any) -> bool:
    """Tell whether every entry that is not missing is a number.

    Raises:
        DataError: nearly every entry is, so that a few mistakes would make a category of each number; or the numbers
            are those of the rows.
    """
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise DataError(f"{path}: column {name!r} holds dates or times; put it into drop, or write a number instead")
    present = column[~_missing(column.to_numpy(object))]
    values = pd.to_numeric(present, errors="coerce")
    share = float(values.notna().mean()) if len(present) else 0.0
    if NEARLY < share < 1:
        row = int(present.index[values.isna()][0])
        raise DataError(
            f"{path}: column {name!r} holds {column.loc[row]!r} in row {row + 1} after the header, while {share:.1%} "
            "of its entries are numbers; correct it, or put the column into categorical or drop"
        )
    if share == 1 and len(present) > FEW and set(values.diff().dropna()) == {1.0}:
        raise DataError(
            f"{path}: column {name!r} numbers the rows ({values.iloc[0]:g}, {values.iloc[1]:g}, ...); put it into "
            "drop, or into numeric if it is an input"
        )
    return share == 1


def _missing(entries: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which entries are missing, shape (n,)."""
    return _blank(entries, EMPTY)


def _blank(entries: NDArray[Any], texts: Iterable[str] = ("",)) -> NDArray[np.bool_]:
    """Tell which entries are null or one of some texts, shape (n,)."""
    import pandas as pd

    return np.asarray(pd.isna(entries)) | np.isin(pd.Series(entries).astype(str).str.strip(), list(texts))


def _numbers(path: Path, name: str, column: Any, largest: float = LARGEST) -> NDArray[np.float64]:
    """Return a column as numbers, shape (n,), NaN where an entry is missing."""
    import pandas as pd

    values = np.array(pd.to_numeric(column, errors="coerce"), np.float64)
    entries = column.to_numpy(object)
    bad = ~np.isfinite(values) & ~_missing(entries)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"{path}: column {name!r} holds {entries[row]!r} in row {row + 1} after the header, which is no finite "
            "number; correct it, or put the column into categorical or drop"
        )
    large = np.abs(values) > largest
    if large.any():
        row = int(np.flatnonzero(large)[0])
        raise DataError(
            f"{path}: column {name!r} holds {values[row]:g} in row {row + 1} after the header, beyond {largest:g}; "
            "rescale the column, or put it into drop"
        )
    known = values[~np.isnan(values)]
    told, kept = np.unique(known).size, np.unique(known.astype(np.float32)).size
    if kept < LOST * told:
        raise DataError(
            f"{path}: column {name!r} has {told} different values, of which {kept} can be told apart in single "
            f"precision, in which inputs are stored; subtract a constant, such as {known.min():.17g}"
        )
    return values


def _complete_rows(
    path: Path, values: Columns, texts: Columns, sensitive: Sequence[str], missing: str
) -> NDArray[np.int64]:
    """Return the rows without missing entries; group columns are left to :func:`group_labels`."""
    absent = {name: np.isnan(column) for name, column in values.items()}
    absent |= {name: _missing(column) for name, column in texts.items() if name not in sensitive}
    if missing == "drop":
        absent |= {name: _blank(texts[name]) for name in sensitive}  # "NA" and "null" may be groups
    for name, rows in absent.items():
        if rows.any() and missing == "refuse":
            raise DataError(
                f"{path}: column {name!r} has no value in {int(rows.sum())} rows, the first being row "
                f"{int(np.flatnonzero(rows)[0]) + 1} after the header; fill them in, drop the column, or set "
                "missing: drop to leave such rows out"
            )
    return np.flatnonzero(~np.any(list(absent.values()), axis=0)).astype(np.int64)


def _groups(path: Path, columns: Columns, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Groups of the rows that are kept; an error names the row of the file."""
    try:
        codes, names = group_labels(columns)
        check_names(names)
        return codes, names
    except DataError as error:
        text = str(error).replace("drop such rows or name them, say 'unknown'", "say 'unknown', or set missing: drop")
        text = re.sub(r"in row (\d+)", lambda found: f"in row {int(rows[int(found[1])]) + 1} after the header", text)
        raise DataError(f"{path}: {text}") from error


def _sized_groups(
    path: Path, codes: NDArray[np.int64], names: tuple[str, ...], least: int, small_groups: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Apply the rule for groups below the minimum size.

    Returns:
        The rows that are kept, their codes, and the names of the groups.
    """
    sizes = np.bincount(codes, minlength=len(names))
    small = np.flatnonzero(sizes < least)
    found = ", ".join(f"{names[code]!r}: {sizes[code]}" for code in small[:5]) + f" and {small.size - 5} more" * (
        small.size > 5
    )
    if small.size and small_groups == "refuse":
        raise DataError(
            f"{path}: fewer than {least} rows in group {found}; set small_groups to drop or merge, use fewer group "
            "columns, or lower minimum_group_size"
        )
    labels = np.array(names, object)
    if small.size and small_groups == "merge" and OTHER in np.delete(labels, small):
        raise DataError(
            f"{path}: the small groups ({found}) would be merged into {OTHER!r}, a group of the file; rename it there, "
            "or set small_groups to drop"
        )
    if small.size and small_groups == "merge":
        labels[small] = OTHER
    kept = np.flatnonzero(~np.isin(codes, small) | (small_groups == "merge"))
    codes, names = group_labels(labels[codes[kept]]) if kept.size else (codes[:0], ())
    smallest = np.bincount(codes).min() if kept.size else 0
    if len(names) < 2 or smallest < least:
        raise DataError(
            f"{path}: with small_groups: {small_groups} {len(names)} groups are left, the smallest of {smallest} rows; "
            f"at least 2 of {least} rows are needed: lower minimum_group_size, or use fewer group columns"
        )
    return kept, codes, names


def _category(path: Path, name: str, entries: NDArray[Any]) -> Categorical:
    try:
        codes, levels = group_labels({name: entries})
    except DataError as error:
        raise DataError(
            f"{path}: column {name!r}: {str(error).removeprefix('groups: ')}; or put it into drop"
        ) from error
    if len(levels) > MAX_LEVELS or len(levels) > max(FEW, len(entries) // 2):
        separated = sum(level.count(",") == 1 and level.replace(",", "").replace(".", "").isdigit() for level in levels)
        what = "its numbers are written with commas" if 2 * separated > len(levels) else "it looks like an identifier"
        remedy = "write them with a decimal point alone" if 2 * separated > len(levels) else "put it into drop"
        raise DataError(
            f"{path}: column {name!r} takes {len(levels)} different values in {len(entries)} rows; {what}: {remedy}, "
            "or group its values"
        )
    return Categorical(name, codes, levels)


def _labels(path: Path, name: str, entries: NDArray[Any], positive: Any) -> NDArray[np.float64]:
    """Return the labels as -1 and +1, shape (n,)."""
    codes, levels = group_labels({name: entries})
    try:
        check_names(levels, f"label {name!r}")
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if positive is None:
        if len(levels) != 2:
            raise DataError(
                f"{path}: label {name!r} takes {len(levels)} values ({', '.join(levels[:5])}); say which of them is "
                "positive, or check the column"
            )
        chosen = max(levels, key=_order)
    else:
        whole = isinstance(positive, float) and positive.is_integer()
        chosen = str(int(positive) if whole else positive)
        if chosen not in levels:
            raise DataError(
                f"{path}: label {name!r} is never {chosen!r}; {did_you_mean(chosen, levels)} "
                "(write positive in quotes if it is a word like yes or no)"
            )
    alike = [level for level in levels if level != chosen and level.strip().casefold() == chosen.strip().casefold()]
    if alike:
        raise DataError(f"{path}: label {name!r} takes {chosen!r} and {alike[0]!r}; write them alike")
    return np.where(codes == levels.index(chosen), 1.0, -1.0)


def _order(level: str) -> tuple[bool, float, str, str]:
    """Sort key: numbers by value, other texts by the alphabet, in which case does not count."""
    try:
        return False, float(level), "", level
    except ValueError:
        return True, 0.0, level.casefold(), level
