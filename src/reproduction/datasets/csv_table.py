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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from partialfair.data import column_entries, intake, lookalikes, missing_words
from partialfair.data.columns import TableFile
from partialfair.data.dataset import LARGEST, Dataset
from partialfair.data.faults import Faults
from partialfair.data.groups import group_labels
from partialfair.data.intake import Levels
from partialfair.data.lookalikes import FEW, NEARLY
from partialfair.data.missing_words import MISSING_WORDS
from partialfair.errors import ConfigError, DataError
from partialfair.plugins import did_you_mean
from reproduction.datasets.one_hot import Categorical, drop_first
from reproduction.datasets.spec import DatasetSpec

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

LOST = 0.5
"""Share of the different values of a number that has to be left in single precision."""

LARGEST_LABEL = 1e37
"""Predictions are stored in single precision, which ends at 3.4e38."""

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
    negative: Any = None,
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
        file: see :class:`partialfair.data.columns.TableFile`.
        label: column of the label.
        groups: columns of the sensitive attributes; several are intersected: each combination of values that
            occurs is a group. Groups are coded in the order of their names.
        positive: the label that becomes +1; by default the larger of two.
        negative: the label or labels that become -1; by default the other one of two.
        numeric: input columns that hold numbers.
        categorical: input columns that are one-hot encoded; the first level by text is the reference.
            If neither list is given, every other column is an input: numeric if all its entries are numbers.
        drop: columns that are no inputs. With a list of inputs, every column must stand in one of the lists.
        minimum_group_size: rows that a group must have.
        small_groups: what to do with smaller groups: ``refuse`` them, ``drop`` their rows, or ``merge`` them
            into one group called "other".
        missing: ``refuse`` a file with missing entries in the columns used, ``drop`` such rows, or make a ``group``,
            and a level of each category, of rows without one; numbers and labels are then refused all the same. What
            counts as missing: :data:`partialfair.data.missing_words.MISSING_WORDS`.
        task: ``classification``, or ``regression`` for a label that is a number.

    Raises:
        ConfigError: an option that cannot be used.
        DataError: a file that cannot be read, or rows that cannot be used.
    """
    _check_options(small_groups, missing, task, positive, negative)
    path, sensitive = Path(file), _listed(groups)
    table, dropped = TableFile(path), _listed(drop)
    for name in dropped:
        if name not in table.names:
            raise DataError(f"{path}: there is no column {name!r}; {did_you_mean(name, table.names)}")
    columns = table.columns([name for name in table.names if name not in dropped])
    with _of_file(path, label):
        numbers, categories = _inputs(path, columns, [label, *sensitive], numeric, categorical, dropped)
        faults, keep = Faults(), "drop" if missing == "drop" else "refuse"
        values: dict[str, NDArray[np.float64]] = {}
        for name in numbers:
            with faults.noted():
                values[name] = _numbers(name, columns[name], keep)
        coded: dict[str, Levels] = {}
        for name in categories:
            with faults.noted():
                coded[name] = _levels(name, columns[name], missing)
                if name not in _listed(categorical):
                    lookalikes.refuse_disguised(name, coded[name].texts, _AS_NUMBERS)
        found = None
        with faults.noted():
            given = {name: columns[name].to_numpy(object) for name in sensitive}
            found = intake.groups(given, "groups", missing, MISSING_WORDS["group"], _REMEDY)
        y = np.zeros(0)
        with faults.noted():
            if task == "regression":
                y = _numbers(label, columns[label], keep, LARGEST_LABEL)
            else:
                y = _labels(columns[label], positive, negative, keep)
        faults.settle()
        assert found is not None
        absent = [*map(np.isnan, (*values.values(), y)), *(own.missing for own in coded.values()), found.missing]
        rows = np.flatnonzero(~np.any(absent, axis=0)).astype(np.int64)
        if not rows.size:
            raise DataError(
                "every row has a missing value in one column or another; drop columns that are mostly empty"
            )
        of_rows = found.of(rows)
        kept, codes, names = _sized_groups(of_rows.codes, of_rows.names, minimum_group_size, small_groups)
        rows = rows[kept]
        matrix = np.column_stack([values[name][rows] for name in numbers] or [np.zeros((rows.size, 0))])
        X, inputs = _design(matrix, numbers, [_category(name, own, rows) for name, own in coded.items()])
        numeric_columns = np.flatnonzero(~np.isin(matrix, (0.0, 1.0)).all(axis=0)).astype(np.int64)
        shared = (codes.astype(np.int16), inputs, names, SPEC.name, numeric_columns)
        return Dataset(X, y[rows], *shared, task="regression" if task == "regression" else "classification")


@contextmanager
def _of_file(path: Path, label: str) -> Iterator[None]:
    """Say what is wrong with columns in the words of their file: its name first, rows from 1 after the header."""
    try:
        yield
    except DataError as error:
        text = re.sub(r"in row (\d+)", lambda row: f"in row {int(row[1]) + 1} after the header", str(error))
        text = text.replace("groups: column", "column").replace("labels: column", "column")
        text = text.replace("labels: ", f"label {label!r}: ")
        raise DataError(f"{path}: {text}") from error


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
        names = TableFile(path).names
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


_USUAL = {
    "small_groups": "refuse", "missing": "refuse", "task": "classification", "positive": None, "negative": None,
}  # fmt: skip
"""Options that are checked without the file, and their defaults."""


def _check_options(small_groups: str, missing: str, task: str, positive: Any, negative: Any) -> None:
    """Refuse options that are none of their choices, and a positive class of a number."""
    _require_choice("small_groups", small_groups, ("refuse", "drop", "merge"))
    _require_choice("missing", missing, missing_words.MISSING)
    _require_choice("task", task, ("classification", "regression"))
    if isinstance(positive, list | Mapping):
        raise ConfigError(f"csv_table: positive is {positive!r}; write the one value that becomes +1")
    if task == "regression" and positive is not None:
        raise ConfigError(
            f"csv_table: positive is {positive!r}, but a label that is a number has no positive class; drop it"
        )
    if negative is not None and positive is None:
        raise ConfigError(f"csv_table: negative is {negative!r}, and positive is not given; name it, too")


def _design(
    matrix: NDArray[np.float64], numbers: Sequence[str], categories: Sequence[Categorical]
) -> tuple[Any, tuple[str, ...]]:
    """Inputs of the kept rows and their names: numbers, then one-hot encoded texts."""
    X: Any = matrix.astype(np.float32)
    return drop_first(X, numbers, categories) if categories else (X, tuple(numbers))


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
    for name in (*used, *numbers, *categories):
        if name not in (*columns, *drop):
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
        faults, numbers = Faults(), []
        for name in rest:
            with faults.noted():
                numbers += [name] * _is_numeric(name, columns[name])
        faults.settle()
        categories = [name for name in rest if name not in numbers]
    elif rest:
        raise ConfigError(
            f"{path}: column {rest[0]!r} stands in none of numeric, categorical and drop; put it into one of them"
        )
    if not numbers and not categories:
        raise ConfigError(f"{path}: no column is left as an input; drop fewer of them")
    return [name for name in columns if name in numbers], [name for name in columns if name in categories]


def _is_numeric(name: str, column: Any) -> bool:
    """Tell whether every entry that is not missing is a number.

    Raises:
        DataError: many entries are, so that a few mistakes would make a category of each number; or the numbers are
            those of the rows.
    """
    import pandas as pd

    if column_entries.holds_dates(column):
        raise DataError(f"column {name!r} holds dates or times; put it into drop, or write a number instead")
    lost = [missing_words.is_missing(entry, MISSING_WORDS["number"]) for entry in column.to_numpy(object)]
    present = column[~np.array(lost, np.bool_)]
    values = pd.to_numeric(present, errors="coerce")
    share = float(values.notna().mean()) if len(present) else 0.0
    if 0 < share < 1 and (share > NEARLY or values.nunique() > FEW):
        row = int(present.index[values.isna()][0])
        raise DataError(
            f"column {name!r} holds {column.loc[row]!r} in row {row}, while {share:.1%} of its entries are numbers; "
            "correct it, or put the column into categorical or drop"
        )
    if share == 1 and len(present) > FEW and set(values.diff().dropna()) == {1.0}:
        raise DataError(
            f"column {name!r} numbers the rows ({values.iloc[0]:g}, {values.iloc[1]:g}, ...); put it into drop, or "
            "into numeric if it is an input"
        )
    return share == 1


_AS_NUMBERS = "write plain numbers, for dates such as days since some day, or put it into categorical or drop"
_REMEDY = "fill them in, drop the column, say 'unknown' for a group, or set missing: drop to leave such rows out"


def _numbers(name: str, column: Any, missing: str, largest: float = LARGEST) -> NDArray[np.float64]:
    """A column as numbers, shape (n,), NaN where an entry is missing."""
    where = f"column {name!r}"
    try:
        values, absent = intake.numbers(column, where, MISSING_WORDS["number"], infinite="correct it")
    except DataError as error:
        raise DataError(f"{error}, or put the column into categorical or drop") from error
    if missing == "refuse":
        missing_words.refuse_missing(absent, where, column, _REMEDY)
    large = np.abs(values) > largest
    if large.any():
        row = int(np.flatnonzero(large)[0])
        raise DataError(
            f"{where} holds {values[row]:g} in row {row}, beyond {largest:g}; rescale the column, or put it into drop"
        )
    known = values[~np.isnan(values)]
    told, kept = np.unique(known).size, np.unique(known.astype(np.float32)).size
    if kept < LOST * told:
        raise DataError(
            f"{where} has {told} different values, of which {kept} can be told apart in single precision, in which "
            f"inputs are stored; subtract a constant, such as {known.min():.17g}"
        )
    return values


def _levels(name: str, column: Any, missing: str) -> Levels:
    """A column of a category as codes; a row without a value is refused, or has a level of its own, or none."""
    try:
        found = intake.levels(name, column.to_numpy(object), "groups", MISSING_WORDS["category"])
    except DataError as error:
        raise DataError(f"{error}; or put it into drop") from error
    if missing == "refuse":
        missing_words.refuse_missing(found.missing, f"column {name!r}", column, _REMEDY)
    return found.with_missing(f"column {name!r}") if missing == "group" else found


def _sized_groups(
    codes: NDArray[np.int64], names: tuple[str, ...], least: int, small_groups: str
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
            f"fewer than {least} rows in group {found}; set small_groups to drop or merge, use fewer group "
            "columns, or lower minimum_group_size"
        )
    labels = np.array(names, object)
    if small.size and small_groups == "merge" and OTHER in np.delete(labels, small):
        raise DataError(
            f"the small groups ({found}) would be merged into {OTHER!r}, a group of the file; rename it there, "
            "or set small_groups to drop"
        )
    if small.size and small_groups == "merge":
        labels[small] = OTHER
    kept = np.flatnonzero(~np.isin(codes, small) | (small_groups == "merge"))
    codes, names = group_labels(labels[codes[kept]]) if kept.size else (codes[:0], ())
    smallest = np.bincount(codes).min() if kept.size else 0
    if len(names) < 2 or smallest < least:
        raise DataError(
            f"with small_groups: {small_groups} {len(names)} groups are left, the smallest of {smallest} rows; "
            f"at least 2 of {least} rows are needed: lower minimum_group_size, or use fewer group columns"
        )
    return kept, codes, names


def _category(name: str, found: Levels, rows: NDArray[np.int64]) -> Categorical:
    """A category of the kept rows, its levels sorted by their text."""
    present = intake.Groups(found.codes, found.texts).of(rows)
    codes, levels = group_labels(np.array(present.names, object))
    codes = codes[present.codes]
    if len(levels) > MAX_LEVELS or len(levels) > max(FEW, rows.size // 2):
        separated = sum(level.count(",") == 1 and level.replace(",", "").replace(".", "").isdigit() for level in levels)
        what = "its numbers are written with commas" if 2 * separated > len(levels) else "it looks like an identifier"
        remedy = "write them with a decimal point alone" if 2 * separated > len(levels) else "put it into drop"
        raise DataError(
            f"column {name!r} takes {len(levels)} different values in {rows.size} rows; {what}: {remedy}, or group its "
            "values"
        )
    return Categorical(name, codes, levels)


def _labels(column: Any, positive: Any, negative: Any, missing: str) -> NDArray[np.float64]:
    """The labels as -1 and +1, shape (n,); NaN where one is missing."""
    remedy = "say which of them are positive and negative, or set missing: drop to leave out rows without one"
    try:
        return intake.labels(
            column, "labels", positive, negative, missing, MISSING_WORDS["label"], remedy, ordered=True
        ).y
    except DataError as error:
        hint = " (write positive in quotes if it is a word like yes or no)" if isinstance(positive, bool) else ""
        raise DataError(f"{error}{hint}") from error
