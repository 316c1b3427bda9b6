"""The verbs ``partialfair adjust`` and ``partialfair fit``: from a file to fair scores of its rows.

All faults of a call, of its options and of its columns, are told in one message, before anything is fitted or written.
"""

import json
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.audit.command import _pair
from partialfair.audit.reading import in_columns, named_columns, printable
from partialfair.data import column_entries, intake, lookalikes, missing_words
from partialfair.data.columns import STANDARD_INPUT, TableFile
from partialfair.data.faults import Faults
from partialfair.data.files import atomic_path
from partialfair.errors import DataError, PartialFairError
from partialfair.estimators.promise import check_confidence
from partialfair.estimators.settings import check_interval, one_of, tolerance
from partialfair.plugins import did_you_mean

MISSED = 1
"""Exit status where the file was written and kappa is missed, or not promised; as of a gate that failed."""
_ELSE = "name it in --category or --drop"
SCALES = ("relative", "absolute")
WRITTEN = (".csv", ".parquet", ".pq")
NUMBERS = 0.5
"""Share of numbers in a column of texts above which the others are mistakes, unless it is said to be a category."""
MOST_LEVELS = 50
"""A column with more different texts is an identifier rather than a category."""
UNKNOWN, ABSENT = -1, -2
"""Places of a text that is no level, and of a missing value."""


@dataclass(eq=False)
class Request:
    """What is asked of a file.

    Attributes:
        path: the file; out: the file to write.
        group: columns of the groups.
        intervals: texts ``alpha,beta``, none for the default.
        kappa, kappa_scale, confidence: of the constraint.
        missing: "refuse", "drop" or "group".
        faults: what is wrong so far.
    """

    path: Path
    out: Path
    group: Sequence[str]
    intervals: Sequence[str]
    kappa: float
    kappa_scale: str
    confidence: float | None
    missing: str
    faults: Faults = field(default_factory=Faults)

    @property
    def interval(self) -> list[tuple[float, float]] | None:
        """The interval; ``None`` for the default one."""
        return [_pair(text) for text in self.intervals] or None

    @property
    def constraint(self) -> dict[str, Any]:
        """Settings of an estimator."""
        names = ("interval", "kappa", "kappa_scale", "confidence")
        return {name: getattr(self, name) for name in names}

    def check(self) -> None:
        """Note what is wrong with the options."""
        checks: list[Callable[[], Any]] = [
            lambda: check_interval(self.interval),
            lambda: tolerance(self.kappa),
            lambda: one_of("kappa_scale", self.kappa_scale, SCALES),
            lambda: check_confidence(self.confidence),
            lambda: one_of("missing", self.missing, missing_words.MISSING),
        ]
        for check in checks:
            self.note(check)
        if self.out.suffix.lower() not in WRITTEN:
            self.faults.append(
                f"--out {printable(str(self.out))}: no format of that name is known; let it end in {', '.join(WRITTEN)}"
            )

    def note(self, check: Callable[..., Any], *arguments: Any) -> Any:
        """What a check returns; ``None`` where it refuses, which is noted."""
        try:
            return check(*arguments)
        except PartialFairError as error:
            self.faults.append(str(error))
        return None

    def present(self, file: TableFile, names: Sequence[str]) -> list[str]:
        """Those of some columns that a file has; the others, and those named twice, are noted."""
        for name in dict.fromkeys(names):
            if name not in file.names:
                hint = did_you_mean(name, file.names)
                self.faults.append(f"there is no column {name!r}; {hint} (columns: {', '.join(file.names)})")
            elif file.names.count(name) > 1:
                self.faults.append(f"column {name!r} occurs twice; rename one of them")
            if list(names).count(name) > 1:
                self.faults.append(f"column {name!r} is given for two purposes; name each column once")
        return [name for name in dict.fromkeys(names) if file.names.count(name) == 1]

    def free_names(self, file: TableFile, names: Sequence[str]) -> None:
        """Note new columns that the file has already, and columns of one name, which cannot be written again.

        Blanks around a name tell no columns apart, since readers of CSV files strip them.
        """
        columns = {name.strip(): name for name in file.names}
        for name in (columns[name.strip()] for name in names if name.strip() in columns):
            self.faults.append(f"there is a column {name!r} already; name the new one otherwise (--column)")
        for name in sorted({name for name in file.names if file.names.count(name) > 1}):
            self.faults.append(f"column {name!r} occurs twice; rename one of them")

    def groups(self, columns: dict[str, Any], names: Sequence[str], least: int = 2) -> intake.Groups | None:
        """Groups of the rows, of which there are to be at least so many."""
        if not names:
            return None
        group_columns = {name: columns[name] for name in names}
        null_texts = missing_words.MISSING_WORDS["group"]
        encoded = self.note(intake.groups, group_columns, "groups", self.missing, null_texts)
        if encoded is not None and len(encoded.names) < least:
            self.faults.append(f"groups: all rows are of one group, {encoded.names[0]!r}; two are compared at least")
        return encoded if isinstance(encoded, intake.Groups) else None

    def settle(self, score: str = "", label: str | None = None) -> None:
        """Refuse the call if anything is wrong, with all that is.

        Raises:
            DataError: with the file, columns by name and rows from 1 after the header.
        """
        self.faults[:] = dict.fromkeys(self.faults)  # several checks tell that a column occurs twice
        try:
            self.faults.settle()
        except DataError as error:
            text = in_columns(str(error), score, self.group, label)
            raise DataError(f"{printable(str(self.path))}: {text}") from None


def adjust(request: Request, score: str, column: str, as_json: bool = False) -> int:
    """Map the scores of a file so that groups' ranks agree, and write all its columns with the mapped scores.

    Args:
        request: what is asked.
        score: column of the scores.
        column: name of the new column.
        as_json: print JSON in place of sentences.

    Returns:
        0, or 1 if kappa is missed or not promised.

    Raises:
        DataError: the call cannot be carried out; nothing is written then.
    """
    from partialfair.estimators.postprocessor import PartialFairPostProcessor

    file = TableFile(request.path)
    request.check()
    names = named_columns(file, request.group)
    present = request.present(file, [score, *names])
    request.free_names(file, [column])
    columns = file.columns(present) if present else {}
    parsed = None
    if score in columns:
        parsed = request.note(intake.numbers, columns[score], "scores", missing_words.MISSING_WORDS["number"])
    if parsed is not None and request.missing != "drop":
        request.note(
            missing_words.refuse_missing, parsed[1], "scores: column 'scores'", columns[score], "drop such rows"
        )
    groups = request.groups(columns, [name for name in names if name in columns])
    request.settle(score)
    assert parsed is not None and groups is not None
    rows = ~(parsed[1] | groups.missing)
    group_names = _of_rows(request, groups, rows)
    scores = parsed[0][rows]
    model = PartialFairPostProcessor(**request.constraint)
    mapped = _told(
        request.path,
        rows,
        lambda: model.fit_scores(scores, sensitive_features=group_names).map_scores(
            scores, sensitive_features=group_names
        ),
    )
    _write(request.out, file, rows, {column: mapped})
    return _report(request, model, rows, as_json)


def fit(
    request: Request,
    label: str,
    column: str,
    *,
    positive: str | None = None,
    apply: Path | None = None,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    uses_group: bool = True,
    as_json: bool = False,
) -> int:
    """Fit a classifier to a file, and write the rows of a file with their scores.

    Columns of numbers are inputs as they are, those of texts by one input per text.

    Args:
        request: what is asked.
        label: column of the labels; positive: the positive one, by default the larger.
        column: name of the new column.
        apply: file whose rows are scored; by default the rows that were fitted.
        drop: columns that are no inputs.
        category: columns of numbers whose values are names.
        uses_group: whether scores may depend on the group.
        as_json: print JSON in place of sentences.

    Returns:
        0, or 1 if kappa is missed or not promised.

    Raises:
        DataError: the call cannot be carried out; nothing is written then.
    """
    from partialfair.estimators.classifier import PartialFairClassifier

    file = TableFile(request.path)
    request.check()
    names = named_columns(file, request.group)
    present = request.present(file, [label, *names, *drop])
    request.present(file, category)
    columns_used = {label: "the label", **dict.fromkeys(names, "a group"), **dict.fromkeys(drop, "named in --drop")}
    for name in (name for name in category if name in columns_used):
        request.faults.append(f"--category {name}: it is {columns_used[name]}, and no input; leave it out there")
    inputs = [
        name for name in dict.fromkeys(file.names) if name not in columns_used and not _is_index(file, name, category)
    ]
    if not inputs:
        request.faults.append("no column is left as input; name fewer in --drop")
    new_names = [column, f"{column}_decision"]
    request.free_names(file, [] if apply is not None else new_names)
    columns = file.columns([*(name for name in present if name not in drop), *inputs])
    groups = request.groups(columns, [name for name in names if name in columns])
    missing = "drop" if request.missing == "drop" else "refuse"
    null_texts = missing_words.MISSING_WORDS
    outcome = None
    if label in columns:
        outcome = request.note(intake.labels, columns[label], "labels", positive, None, missing, null_texts["label"])
    table = _Inputs.read(request, columns, inputs, category)
    second_file = None
    if apply is not None:
        second_file = _file_to_score(request, apply, [*inputs, *(names if uses_group else ())], new_names)
    request.settle(label=label)
    assert groups is not None and outcome is not None
    rows = ~(groups.missing | np.isnan(outcome.y) | table.missing)
    row_groups: NDArray[Any] | None = _of_rows(request, groups, rows)
    model = PartialFairClassifier(uses_group=uses_group, **request.constraint)
    X = table.matrix(columns)[rows]
    unknown: dict[str, float] = {}
    to_score = file, X, row_groups if uses_group else None, rows, unknown
    if second_file is not None:
        to_score = _rows_to_score(request, second_file, names if uses_group else (), table, groups)
    _told(request.path, rows, lambda: model.fit(X, outcome.y[rows] > 0, sensitive_features=row_groups))
    file, X, row_groups, rows, unknown = to_score
    scores = _told(file.path, rows, lambda: model.decision_function(X, sensitive_features=row_groups))
    decisions = np.where(scores > 0, outcome.positive, outcome.negative[0])
    _write(request.out, file, rows, {column: scores, f"{column}_decision": decisions})
    return _report(request, model, rows, as_json, unknown)


def _is_index(file: TableFile, name: str, category: Sequence[str]) -> bool:
    """Whether pandas keeps the index of a table in this column; it is an input only where it is named."""
    return name in file.index_names and name not in category


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Inputs of a file: columns of numbers, and levels of columns of texts.

    Attributes:
        numbers: names; levels: texts by name.
        missing: (n,) rows of the file that lack a value.
    """

    numbers: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]
    missing: NDArray[np.bool_]

    @classmethod
    def read(
        cls, request: Request, columns: dict[str, Any], names: Sequence[str], category: Sequence[str]
    ) -> "_Inputs":
        """Inputs by what the columns of a file hold; faults are noted."""
        import pandas as pd

        numbers, levels = [], {}
        missing = np.zeros(len(next(iter(columns.values()), ())), np.bool_)
        for name in names:
            null_texts = missing_words.MISSING_WORDS["category" if name in category else "number"]
            values = columns[name]
            texts = pd.Series(values).astype(str).str.strip()
            empty = pd.isna(values) | texts.str.casefold().isin(null_texts)
            share = float(pd.to_numeric(texts[~empty], errors="coerce").notna().mean()) if not empty.all() else 1.0
            if name not in category and share > NUMBERS:
                parsed = request.note(_numbers, name, values)
                numbers.append(name)
                absent = np.zeros(missing.size, np.bool_) if parsed is None else parsed[1]
            else:
                null_texts = missing_words.MISSING_WORDS["category"]
                encoded = request.note(intake.levels, name, values, "inputs", null_texts)
                absent = np.zeros(missing.size, np.bool_) if encoded is None else encoded.missing
                levels[name] = () if encoded is None else tuple(sorted(encoded.texts))
                if name not in category:
                    if column_entries.holds_dates(values):
                        request.faults.append(f"column {name!r} holds dates or times; write numbers, or {_ELSE}")
                    else:
                        request.note(
                            lookalikes.refuse_disguised, name, levels[name], f"write plain numbers, or {_ELSE}"
                        )
                if len(levels[name]) > MOST_LEVELS:
                    request.faults.append(
                        f"column {name!r} has {len(levels[name])} different texts; name it in --drop, or merge some"
                    )
            if absent.any() and request.missing != "drop":
                remedy = "drop such rows (--missing drop)"
                request.note(missing_words.refuse_missing, absent, f"column {name!r}", values, remedy)
            missing |= absent
        return cls(tuple(numbers), levels, missing)

    def matrix(self, columns: dict[str, Any]) -> Any:
        """Inputs (n, d): the numbers, then a column of 0 and 1 for every level; NaN where a number is missing.

        A dataframe, so that errors name the column, unless two inputs would be called alike.
        """
        import pandas as pd

        blocks = [_numbers(name, columns[name])[0][:, None] for name in self.numbers]
        for name, texts in self.levels.items():
            blocks.append((self.codes(columns, name)[:, None] == np.arange(len(texts))).astype(np.float64))
        names = [*self.numbers, *(f"{name}={text}" for name, texts in self.levels.items() for text in texts)]
        X = np.hstack(blocks)
        return X if len(set(names)) < len(names) else pd.DataFrame(X, columns=names)

    def codes(self, columns: dict[str, Any], name: str) -> NDArray[np.int64]:
        """Places (n,) of the rows' values among the levels of a column; ``UNKNOWN`` and ``ABSENT`` where there is none.

        Raises:
            DataError: a value looks like a level and is none.
        """
        fitted_levels = self.levels[name]
        column = intake.levels(name, columns[name], "inputs", missing_words.MISSING_WORDS["category"])
        level_of = lookalikes.levels_matched(column.texts, fitted_levels, f"column {name!r}")
        places = [fitted_levels.index(level_of[text]) if text in level_of else UNKNOWN for text in column.texts]
        return np.array([*places, ABSENT], np.int64)[column.codes]

    def placed(
        self, request: Request, columns: dict[str, Any]
    ) -> tuple[NDArray[np.bool_], dict[str, NDArray[np.int64]]]:
        """Rows (n,) of another file that lack a value, and :meth:`codes` by column; faults are noted."""
        absent = np.zeros(len(next(iter(columns.values()))), np.bool_)
        for name in self.numbers:
            parsed = request.note(_numbers, name, columns[name])
            absent |= False if parsed is None else parsed[1]
        places = {name: request.note(self.codes, columns, name) for name in self.levels}
        places = {name: codes for name, codes in places.items() if codes is not None}
        for codes in places.values():
            absent |= codes == ABSENT
        return absent, places


def _numbers(name: str, values: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """An input of numbers, and which are missing; see :func:`partialfair.data.intake.numbers`."""
    null_texts, remedy = missing_words.MISSING_WORDS["number"], "write a finite number, or drop such rows"
    return intake.numbers(values, f"column {name!r}", null_texts, infinite=remedy, use="read as numbers")


def _file_to_score(request: Request, path: Path, names: Sequence[str], new_names: Sequence[str]) -> TableFile | None:
    """The file of ``--apply``; what it lacks, and names that it has already, are told with the first file's faults."""
    if str(path) == str(request.path) == STANDARD_INPUT:
        request.faults.append("--apply -: standard input can be read once, by the fit; give a file")
        return None
    with request.faults.noted():
        file, request_of_rows = TableFile(path), replace(request, path=path, faults=Faults())
        request_of_rows.present(file, names)
        request_of_rows.free_names(file, new_names)
        request.faults += [f"{printable(str(path))}: {fault}" for fault in request_of_rows.faults]
        return file
    return None


def _rows_to_score(
    request: Request, file: TableFile, names: Sequence[str], table: _Inputs, fitted: intake.Groups
) -> tuple[TableFile, Any, Any, NDArray[np.bool_], dict[str, float]]:
    """The file to score, its inputs and groups, its rows, and shares of unknown levels; all faults of rows at once."""
    request_of_rows = replace(request, path=file.path, faults=Faults())
    columns = file.columns([*table.numbers, *table.levels, *names])
    absent, places = table.placed(request_of_rows, columns)
    groups = request_of_rows.groups(columns, names, least=1)
    if groups is not None:
        for name in sorted(set(groups.names) - set(fitted.names)):
            request_of_rows.faults.append(
                f"group {name!r} was not among those of {printable(str(request.path))}; correct it"
            )
    if absent.any() and request.missing != "drop":
        request_of_rows.faults.append(
            f"row {int(absent.argmax()) + 1} after the header lacks an input ({int(absent.sum())} such rows); "
            "fill it in, or drop such rows (--missing drop)"
        )
    rows = ~absent if groups is None else ~(absent | groups.missing)
    if request.missing == "drop" and not rows.any():
        request_of_rows.faults.append("no row has all inputs and a group; fill them in")
    shares = {name: float(np.mean(codes[rows] == UNKNOWN)) for name, codes in places.items() if rows.any()}
    unknown = {name: share for name, share in shares.items() if share}
    for name in (name for name, share in unknown.items() if share == 1):
        request_of_rows.faults.append(
            f"column {name!r}: no row has a level with which the model was fitted "
            f"({', '.join(map(repr, table.levels[name][:5]))}); check the column"
        )
    request_of_rows.settle()
    row_groups = None if groups is None else np.array(groups.names, object)[groups.codes[rows]]
    return file, table.matrix(columns)[rows], row_groups, rows, unknown


def _of_rows(request: Request, groups: intake.Groups, rows: NDArray[np.bool_]) -> NDArray[Any]:
    """Names of the groups of some rows.

    Raises:
        DataError: fewer than two groups are left.
    """
    remaining = groups.of(rows)
    if len(remaining.names) < 2:
        raise DataError(f"{request.path}: fewer than two groups are left without rows with missing values")
    return np.array(remaining.names, object)[remaining.codes]


def _told(path: Path, rows: NDArray[np.bool_], work: Callable[[], Any]) -> Any:
    """The result of an estimator, whose errors name the file and its rows; its warnings are told by its status.

    Args:
        path: of the file.
        rows: (n,) which rows of the file the estimator sees.
        work: what it does.

    Raises:
        DataError: what the estimator refuses.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    except PartialFairError as error:
        text = re.sub(
            r"in row (\d+)",
            lambda match: f"in row {np.flatnonzero(rows)[int(match[1])] + 1} after the header",
            str(error).replace("X: feature '", "column '"),
        )
        raise DataError(f"{printable(str(path))}: {text}") from None


def _write(out: Path, file: TableFile, rows: NDArray[np.bool_], added: dict[str, Any]) -> None:
    """Write all columns of some rows of a file, and further ones; from parquet to parquet, columns keep their types."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    with atomic_path(out) as path:
        if file.is_parquet and out.suffix.lower() != ".csv":
            content = file.table().filter(pa.array(rows))
            for name, values in added.items():
                content = content.append_column(name, pa.array(values))
            parquet.write_table(content, path)
            return
        table = pd.DataFrame(file.columns())[rows].reset_index(drop=True).assign(**added)
        if out.suffix.lower() == ".csv":
            table.to_csv(path, index=False)
        else:
            table.to_parquet(path, index=False)


def _report(
    request: Request, model: Any, rows: NDArray[np.bool_], as_json: bool, unknown: dict[str, float] | None = None
) -> int:
    """Say what holds, and in which columns which share of rows has an unknown level; 0 if all that was asked does."""
    promise = model.promise_
    content = {
        "status": model.status_, "violation": model.train_violation_, "kappa": request.kappa,
        "interval": [list(pair) for pair in model.interval_], "sampling_band": model.sampling_band_,
        "promise": None if promise is None else str(promise), "rows": int(rows.sum()),
        "left_out": int((~rows).sum()), "unknown_levels": unknown or {}, "out": printable(str(request.out)),
    }  # fmt: skip
    if as_json:
        no_number = {name for name, value in content.items() if isinstance(value, float) and not math.isfinite(value)}
        print(json.dumps(content | dict.fromkeys(no_number), indent=1))
        return 0 if model.status_ == "ok" else MISSED
    interval = " + ".join(f"{low:g} to {high:g}" for low, high in model.interval_)
    lines = [f"status: {model.status_}"]
    if model.train_violation_ is not None:
        violation = f"{model.train_violation_:.4g} on the fitted rows (kappa {request.kappa:g})"
        lines.append(f"largest gap on ranks {interval}: {violation}")
    if math.isinf(request.kappa):
        lines.append("nothing is constrained, as kappa is inf")
    elif promise is None:
        lines.append(f"in the population it may be larger by {model.sampling_band_:.2g} (95%); --confidence 0.95 "
                     "keeps kappa there, too")  # fmt: skip
    elif promise.kept:
        lines.append(str(promise))
    if not rows.all():
        lines.append(f"{int((~rows).sum())} rows with missing values were left out")
    lines += [
        f"column {name!r}: {share:.1%} of the rows have a level that no fitted row has, and count as none"
        for name, share in (unknown or {}).items()
    ]
    print("\n".join([*lines, printable(str(request.out))]))
    return 0 if model.status_ == "ok" else MISSED
