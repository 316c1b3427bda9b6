"""One intake for the columns that people pass: lists, arrays, series, dataframes, Arrow and columns of files.

Every entry point reads columns here, so that each question has one answer:

* Missing is ``None``, NaN, ``NA``, ``NaT``, a null of Arrow and a masked entry, in whatever holds the column. Blank
  text is missing too, and so are the texts that NumPy and pandas make of a missing value. Columns of files know further
  words, by what the column is for (:mod:`partialfair.data.missing_words`).
* Values are compared by their text, numbers by their value: ``1`` and ``1.0`` are one value.
* Values that look alike (:mod:`partialfair.data.lookalikes`) may be one value written in two ways, or two. They are
  refused.
* Rows are told apart by position. Columns of pandas whose indexes say otherwise are refused.
* Two columns never share a name.

Rows count from 0 in errors.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.column_entries import is_objects, read, refuse_collections, told_apart
from partialfair.data.exchange import to_pandas
from partialfair.data.faults import Faults
from partialfair.data.groups import codes_for, group_labels, text_of
from partialfair.data.lookalikes import doubtful_order, exact_number, looks_of, refuse_alike, same_text
from partialfair.data.missing_words import MISSING_GROUP, NULL_TEXTS, is_missing, is_null, refuse_missing
from partialfair.data.number_entries import number_of, refuse_rounded, remedy_of
from partialfair.errors import DataError
from partialfair.plugins import nearest

BEYOND_ALL = (
    "write a finite number beyond all others in their place, as ranks alone count: without these rows the result would "
    "be about other people"
)
"""What to do about infinite scores, such as log-odds of 0 and 1."""


@dataclass(frozen=True, eq=False)
class Levels:
    """A column as codes.

    Attributes:
        codes: (n,) places in ``texts``; -1 where the value is missing.
        texts: the different values as texts, in the order of their first rows.
        values: the same values as they were given.
    """

    codes: NDArray[np.int64]
    texts: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Return which rows (n,) have no value."""
        return self.codes < 0

    def with_missing(self, where: str) -> "Levels":
        """Return the column with a level of its own, ``MISSING_GROUP``, for rows without a value.

        Raises:
            DataError: the column ``where`` has a value that looks like it.
        """
        if not self.missing.any():
            return self
        if any(looks_of(text) & looks_of(MISSING_GROUP) for text in self.texts):
            raise DataError(f"{where} has the value {MISSING_GROUP!r}, which rows without one would join; rename it")
        codes = np.where(self.missing, len(self.texts), self.codes)
        return Levels(codes, (*self.texts, MISSING_GROUP), (*self.values, MISSING_GROUP))


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows.

    Attributes:
        codes: (n,) places in ``names``; -1 where a value is missing and such rows are to be left out.
        names: sorted.
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Return which rows (n,) have no group."""
        return self.codes < 0

    def of(self, rows: NDArray[Any]) -> "Groups":
        """Return the groups of some rows, all of which have one; names of which none is left are gone."""
        codes = self.codes[rows]
        present = np.bincount(codes, minlength=len(self.names)) > 0
        names = tuple(name for name, occurs in zip(self.names, present, strict=True) if occurs)
        return Groups((np.cumsum(present) - 1)[codes], names)


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of two values.

    Attributes:
        y: (n,) -1 or +1; NaN where the label is missing and such rows are to be left out.
        positive: text of the label that is +1.
        negative: texts of all others.
    """

    y: NDArray[np.float64]
    positive: str
    negative: tuple[str, ...]


def columns(source: Any, subject: str) -> dict[str, Any]:
    """Return the columns by name of one column, a list of rows, a 2-D array, a mapping or a dataframe of any library.

    Args:
        source: what was passed; an entry is a text or a number.
        subject: name of the argument, which an unnamed column gets.

    Raises:
        DataError: no column, two of one name, or an array of more than two dimensions.
    """
    table = to_pandas(source)
    if isinstance(table, Mapping):
        pairs = list(table.items())
    elif hasattr(table, "columns"):
        pairs = [(name, table.iloc[:, j]) for j, name in enumerate(table.columns)]
    elif _dimensions(table) < 2:
        pairs = [(getattr(table, "name", None) or subject, table)]
    else:
        if not isinstance(table, np.ndarray):  # of rows; NumPy would turn a missing value beside texts into a text
            table = np.array([list(row) for row in table], object)
        if table.ndim != 2:
            raise DataError(
                f"{subject}: the array has {table.ndim} dimensions; pass one value or one line of values per row"
            )
        pairs = [(f"{subject}[{j}]", table[:, j]) for j in range(table.shape[1])]
    named: dict[str, Any] = {}
    for name, values in pairs:
        if str(name) in named:
            raise DataError(f"{subject}: column {str(name)!r} occurs twice; rename one of them")
        named[str(name)] = values
    if not named:
        raise DataError(f"{subject}: there is no column; pass at least one")
    return named


def levels(name: str, values: Any, subject: str, null_texts: Iterable[str] = NULL_TEXTS) -> Levels:
    """Return the codes and texts of one column.

    Args:
        name: of the column.
        values: n values of any type.
        subject: name of the argument.
        null_texts: texts in lower case that stand for a missing value.

    Raises:
        DataError: more than one dimension, a collection as value, or values that look alike.
    """
    import pandas as pd

    array, missing = read(values, subject)
    if array.ndim != 1:
        raise DataError(f"{subject}: column {name!r} has {array.ndim} dimensions; pass one value per row")
    where = subject if name == subject else f"{subject}: column {name!r}"
    original = None
    if is_objects(array):
        original = np.asarray(array, object)
        refuse_collections(name, original, subject)
        array = told_apart(original, missing, where)
    codes, distinct = pd.factorize(array)
    if original is not None and array is not original:  # truth values are values, whatever they were told apart by
        distinct = original[np.unique(codes[codes >= 0], return_index=True)[1]]
    codes = np.where(missing, -1, codes).astype(np.int64)
    texts = [text_of(value) for value in distinct]
    lost = [code for code, text in enumerate(texts) if is_missing(text, null_texts)]
    codes[np.isin(codes, lost)] = -1
    occurring = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(texts)))
    new_codes = np.full(len(texts) + 1, -1, np.int64)
    new_codes[occurring] = np.arange(occurring.size)
    column = Levels(
        new_codes[codes], tuple(texts[code] for code in occurring), tuple(distinct[code] for code in occurring)
    )
    if getattr(array.dtype, "kind", "O") not in "iufb":  # different numbers do not look alike
        refuse_alike(column.texts, where, column.values, column.codes)
    return column


def groups(
    source: Any,
    subject: str = "groups",
    missing: str = "refuse",
    null_texts: Iterable[str] = NULL_TEXTS,
    remedy: str = "drop such rows or name them, say 'unknown'",
) -> Groups:
    """Return the groups of one or several columns; the values of several make one group per combination that occurs.

    Args:
        source: see :func:`columns`.
        subject: name of the argument, for errors.
        missing: "refuse" rows without a value, "drop" them (their code is -1), or make a "group" of them.
        null_texts: texts in lower case that stand for a missing value.
        remedy: what to do about missing values.

    Raises:
        DataError: a missing value that is refused, values that look alike, or columns of different lengths; of several
            columns all faults are told.
    """
    faults, encoded = Faults(), {}
    absent: NDArray[np.bool_] | None = None
    for name, values in columns(source, subject).items():
        with faults.noted():
            encoded_column = levels(name, values, subject, null_texts)
            if absent is not None and len(encoded_column.codes) != len(absent):
                sizes = f"{len(encoded_column.codes)} rows, another has {len(absent)}"
                raise DataError(f"{subject}: column {name!r} has {sizes}; pass equal lengths")
            if missing == "refuse":
                refuse_missing(encoded_column.missing, f"{subject}: column {name!r}", values, remedy)
            if missing == "group":
                encoded_column = encoded_column.with_missing(f"{subject}: column {name!r}")
            absent = encoded_column.missing if absent is None else absent | encoded_column.missing
            encoded[name] = encoded_column
    faults.settle()
    assert absent is not None
    complete = ~absent
    codes = np.full(absent.size, -1, np.int64)
    texts = {name: _categorical(column, complete) for name, column in encoded.items()}
    codes[complete], names = group_labels(texts, subject) if complete.any() else (codes[complete], ())
    return Groups(codes, names)


def known_groups(
    source: Any, names: Sequence[str], subject: str, null_texts: Iterable[str] = NULL_TEXTS, missing: str = "refuse"
) -> NDArray[np.int64]:
    """Return the codes (n,) of groups whose names are known; rows without a group may be a "group".

    Raises:
        DataError: see :func:`groups`, or a group that is not among the names.
    """
    import pandas as pd

    encoded = groups(source, subject, missing, null_texts)
    return codes_for(pd.Series(pd.Categorical.from_codes(encoded.codes, list(encoded.names))), names, subject)


def check_labels(values: Sequence[Any], subject: str) -> None:
    """Refuse labels that no order is known of: of other types than texts, finite numbers and truth values, or mixed.

    Args:
        values: the different labels as they were given.
        subject: name of the argument, for errors.

    Raises:
        DataError: naming the first such label.
    """
    for value in values:
        number = isinstance(value, Real | Decimal | np.bool_) and not isinstance(value, np.timedelta64)
        if not (isinstance(value, str) or (number and np.isfinite(float(value)))):
            raise DataError(
                f"{subject}: the label {value!r} is of type {type(value).__name__}, and a label is a text, a finite "
                "number or a truth value; map the labels to two of them"
            )
    if len({isinstance(value, str) for value in values}) > 1:
        raise DataError(f"{subject}: some labels are texts and some are numbers or truth values; write all as texts")


def warn_of_order(classes: Sequence[Any], stacklevel: int) -> None:
    """Warn of two labels that sort in two ways, the second of which is the positive one."""
    if isinstance(classes[0], str) and len(doubtful_order(classes)) > 1:
        warnings.warn(
            f"{classes[1]!r} is the positive label, as it sorts behind {classes[0]!r}; if the other is meant, map the "
            "labels to 0 and 1",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def numbers(
    values: Any,
    subject: str,
    null_texts: Iterable[str] = NULL_TEXTS,
    finite: bool = True,
    infinite: str = BEYOND_ALL,
    use: str = "ranked as scores",
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column of numbers, NaN where one is missing, and which are missing; both (n,).

    Args:
        values: numbers, or texts that read as numbers.
        subject: name of the column, for errors.
        null_texts: texts in lower case that stand for a missing value.
        finite: whether infinite numbers are refused.
        infinite: what to do about them.
        use: what the numbers are for, after "cannot be".

    Raises:
        DataError: several dimensions, no rows, dates or complex numbers, or an entry that is no finite number.
    """
    array, missing = read(values, subject)
    if array.ndim != 1 or not array.size:
        raise DataError(f"{subject}: shape {array.shape}; pass one number per row, and at least one row")
    kind = getattr(array.dtype, "kind", "O")
    if kind in "mMc":  # NumPy and pandas would turn them into some number or other
        suffix = " (Complex data not supported)" * (kind == "c")  # as scikit-learn has it, whose checks look for it
        raise DataError(f"{subject}: values of type {array.dtype} cannot be {use}; pass real numbers{suffix}")
    if kind in "fiub" and isinstance(array.dtype, np.dtype):
        converted = np.array(array, np.float64)
        converted[missing] = np.nan
        if kind in "iu" or array.dtype.itemsize > converted.itemsize:
            refuse_rounded(array, converted, missing, subject)
    else:
        entries = np.asarray(array, object)
        converted = np.array([number_of(entry) for entry in entries], np.float64)
        converted[missing] = np.nan
        texts = np.flatnonzero(np.isnan(converted) & ~missing)
        absent = [is_missing(entries[row], null_texts) for row in texts]
        missing = missing.copy()
        missing[texts[np.array(absent, bool)]] = True
        refuse_rounded(entries, converted, missing, subject)
    bad = ~missing & (~np.isfinite(converted) if finite else np.isnan(converted))
    if bad.any():
        row, count = int(bad.argmax()), int(bad.sum())
        value = array[row]
        value = value.item() if isinstance(value, np.generic) else value
        value_text = "a collection" if np.ndim(value) else repr(value)
        raise DataError(
            f"{subject}: {value_text} in row {row} is not a {'finite ' * finite}number ({count} such rows); "
            f"{infinite if np.isinf(converted[row]) else remedy_of(value)}"
        )
    return converted, missing


def labels(
    values: Any,
    subject: str,
    positive: Any = None,
    negative: Any = None,
    missing: str = "refuse",
    null_texts: Iterable[str] = NULL_TEXTS,
    remedy: str = "drop such rows",
    ordered: bool = False,
) -> Labels:
    """Return the labels of exactly two values, or those that the caller names.

    Args:
        values: one column of n labels.
        subject: name of the argument, for errors.
        positive: the label that becomes +1; by default the larger of two numbers, else the later in the alphabet.
        negative: the labels that become -1, one or several; by default the other one of two.
        missing: "refuse" missing labels, or "drop" them (they are NaN).
        null_texts: texts in lower case that stand for a missing label, unless ``positive`` or ``negative`` names them.
        remedy: what to do about missing labels, or more than two.
        ordered: whether texts are ordered without regard to capitals, and by value if both read as numbers; else the
            caller has to say which is positive where that order is not that of the alphabet.

    Raises:
        DataError: several columns, a missing label, labels that look alike, other than two values, or a named label
            that does not occur.
    """
    table = columns(values, subject)
    if len(table) > 1:
        raise DataError(f"{subject}: there are {len(table)} columns ({', '.join(table)}); pass one label per row")
    ((name, column),) = table.items()
    named = [] if negative is None else list(negative) if isinstance(negative, list | tuple) else [negative]
    named_labels = [*([] if positive is None else [positive]), *named]
    for value in filter(is_null, named_labels):
        raise DataError(f"{subject}: the label {value!r} is a missing value; name a label that occurs")
    named_texts = {text_of(value).strip().casefold() for value in named_labels}
    encoded = levels(name, column, subject, frozenset(null_texts) - named_texts)
    if missing == "refuse":
        refuse_missing(encoded.missing, f"{subject}: column {name!r}", column, remedy)
    texts = encoded.texts
    check_labels(encoded.values, subject)
    chosen = _later(texts, encoded.values, subject, ordered) if positive is None and len(texts) == 2 else None
    if positive is not None:
        chosen = same_text(text_of(positive), texts)
        if chosen is None:
            near = nearest(text_of(positive), texts)
            hint = "" if near is None else f"; did you mean {near!r}?"
            raise DataError(
                f"{subject}: the positive label {text_of(positive)!r} does not occur; the labels are "
                f"{_shown_list(texts)}{hint}"
            )
    unchosen = tuple(text for text in texts if text != chosen)
    if negative is not None:
        allowed = {same_text(text_of(value), texts) for value in named}
        unnamed = [text for text in unchosen if text not in allowed]
        if unnamed or chosen in allowed:
            raise DataError(
                f"{subject}: the labels {_shown_list(unnamed or [str(chosen)])} stand in neither or both of positive "
                "and negative; name each once"
            )
    elif len(texts) > 2 or chosen is None:
        count = f"{len(texts)} value{'s' * (len(texts) != 1)}"
        raise DataError(f"{subject}: {count} ({_shown_list(texts)}), two are needed; map them to two, or {remedy}")
    assert chosen is not None
    y = np.where(encoded.codes == texts.index(chosen), 1.0, -1.0)
    return Labels(np.where(encoded.missing, np.nan, y), chosen, unchosen)


def in_one_order(**sources: Any) -> None:
    """Refuse columns of pandas whose indexes say that their rows belong together in another order.

    Columns without an index are told apart by position. So is one with the index that pandas gives by default beside
    one with other labels, and so are indexes that have no label in common.

    Args:
        given: what was passed, by the name of the argument; columns, dataframes or mappings of columns.

    Raises:
        DataError: naming the first row with two labels.
    """
    indexed = [(name, index) for name, source in sources.items() for index in _indexes(source)]
    for (name, earlier), (other_name, later) in combinations(indexed, 2):
        default = [_is_default(index) for index in (earlier, later)]
        if earlier.dtype != later.dtype or earlier.nlevels + later.nlevels > 2:  # which pandas does not compare
            earlier, later = (index.to_flat_index().astype(object) for index in (earlier, later))
        if len(earlier) != len(later) or earlier.equals(later):
            continue
        common = earlier.isin(later)
        if not (common.all() if any(default) else common.any()):
            continue
        row = int(np.argmax(np.asarray(earlier != later)))
        later_label, earlier_label = (
            getattr(index[row], "item", lambda label=index[row]: label)() for index in (later, earlier)
        )
        where = f"{other_name}: row {row} has the index {later_label!r}, and {earlier_label!r} in {name}"
        raise DataError(
            f"{where}; bring the rows into one order ({other_name}.loc[{name}.index]), or pass to_numpy() of both if "
            "they belong together by position"
        )


def _dimensions(source: Any) -> int:
    """Return the number of dimensions; of a list of rows 2, also where rows hold a missing value."""
    if hasattr(source, "ndim"):
        return int(source.ndim)
    if isinstance(source, list | tuple):
        return 2 if source and all(isinstance(row, list | tuple | np.ndarray) for row in source) else 1
    return int(np.asarray(source).ndim)


def _categorical(column: Levels, rows: NDArray[np.bool_]) -> Any:
    """Return the texts of the chosen rows, by their codes: the texts of many rows are not compared again."""
    import pandas as pd

    unique = list(dict.fromkeys(column.texts))  # numbers of two precisions have one text
    code_of_text = np.array([unique.index(text) for text in column.texts], np.int64)
    return pd.Series(pd.Categorical.from_codes(code_of_text[column.codes[rows]], unique))


def _later(texts: Sequence[str], values: Sequence[Any], subject: str, ordered: bool) -> str:
    """Return the larger of two labels, by value if they are numbers, else by the alphabet.

    Raises:
        DataError: capital letters, or texts that read as numbers, make the order doubtful: a classifier that has seen
            the same texts would take another one for positive.
    """
    read_as = [exact_number(text) for text in texts]
    if None not in read_as and (ordered or not isinstance(values[0], str)):
        return max(zip(read_as, texts, strict=True))[1]
    if ordered:
        return max(texts, key=str.casefold)
    candidates = doubtful_order(texts)
    if len(candidates) > 1:
        raise DataError(
            f"{subject}: which of {' and '.join(map(repr, sorted(texts)))} is positive is doubtful, as texts with "
            "capital letters or numbers sort in two ways; say it (positive, on the command line --positive)"
        )
    return candidates.pop()


def _indexes(source: Any) -> Iterator[Any]:
    """Indexes of the pandas objects in what was passed."""
    import pandas as pd

    if isinstance(source, pd.Series | pd.DataFrame):
        yield source.index
    elif isinstance(source, Mapping):
        for column in source.values():
            yield from _indexes(column)


def _is_default(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)


def _shown_list(texts: Sequence[str]) -> str:
    ordered = sorted(texts)
    return ", ".join(map(repr, ordered[:5])) + (", ..." if len(ordered) > 5 else "")
