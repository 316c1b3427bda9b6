"""What a person passes to an estimator, turned into the tables that algorithms read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import _num_samples

from partialfair.algorithms.contract import Settings, Task
from partialfair.constraints.program import HingeProgram
from partialfair.data import column_entries, intake, missing_words
from partialfair.data.dataset import Dataset, Matrix
from partialfair.data.exchange import to_pandas
from partialfair.data.intervals import bounds, for_groups, format_interval
from partialfair.errors import DataError, PartialFairError

DENSE_LIMIT = 4 << 30  # bytes of columns that are not 0/1, which the kernels hold as dense float32


class InputError(DataError, ValueError):
    """Unsuitable data or settings; also a ValueError, as scikit-learn's conventions ask."""


class UnconstrainedWarning(UserWarning):
    """An estimator was fitted without groups, so no fairness constraint was imposed."""


@contextmanager
def value_errors(groups: Sequence[str] = ()) -> Iterator[None]:
    """Turn errors of this package into :class:`InputError`; of those that begin with the code of a group, name it."""
    try:
        yield
    except InputError:
        raise
    except PartialFairError as error:
        text = str(error)
        coded = re.match(r"group (\d+)(?=:)", text)
        if groups and coded:
            text = f"group {groups[int(coded[1])]!r}{text[coded.end() :]}"
        raise InputError(text) from error


@contextmanager
def named_texts(X: Any) -> Iterator[None]:
    """Name the column where scikit-learn only says that a text or a date is no number."""
    try:
        yield
    except (TypeError, ValueError) as error:
        frame = to_pandas(X)
        if not hasattr(frame, "columns") or not frame.columns.is_unique:
            raise
        if isinstance(error, TypeError):
            dates = [name for name in frame.columns if _holds_dates(frame[name].dtype)]
            absent = [name for name in frame.columns if frame[name].dtype == object and frame[name].isna().any()]
            if absent and "NAType" in str(error):
                raise InputError(
                    f"X: column {_listed(absent)} holds pd.NA among Python's objects; make it a column of numbers "
                    '(pd.to_numeric, or astype("Float64"))'
                ) from error
            if not dates:
                raise
            raise InputError(
                f"X: column {_listed(dates)} holds dates or times; turn them into numbers before, such as days since "
                "some day, or drop them"
            ) from error
        if "could not convert string to float" not in str(error):
            raise
        texts = [name for name in frame.columns if _holds_text(frame[name])]
        if not texts:
            raise
        raise InputError(
            f"X: could not convert string to float in column {_listed(texts)}; encode texts before, for instance with "
            f"make_column_transformer((OneHotEncoder(), [{texts[0]!r}]), remainder='passthrough') in a pipeline"
        ) from error


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _holds_dates(dtype: Any) -> bool:
    import pandas as pd

    return getattr(dtype, "kind", "O") in "mM" or isinstance(dtype, pd.PeriodDtype)


def _holds_text(column: Any) -> bool:
    return any(isinstance(value, str) for value in np.asarray(column, object)[:1000])


def solver_settings(plugin: Any, options: dict[str, Any]) -> Settings:
    """Return the settings of a solver, checked by its own model.

    Raises:
        InputError: an unknown setting, or a value out of range.
    """
    from pydantic import ValidationError

    try:
        settings: Settings = plugin.settings(**options)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "solver_options"
        names = ", ".join(plugin.settings.model_fields)
        message = f"{where}: {problem['msg']} (value {problem.get('input')!r})"
        raise InputError(f"solver_options: {message}; settings are {names}") from error
    return settings


def as_matrix(X: Any) -> Matrix:
    """CSR arrays for sparse input of any kind, dense arrays unchanged."""
    if not sparse.issparse(X):
        return X
    csr = sparse.csr_array(X)
    csr.sum_duplicates()
    return csr


def numeric_columns(X: Matrix) -> NDArray[np.int64]:
    """Return the columns with values besides 0 and 1, which are standardised.

    Raises:
        InputError: they are too many to hold densely.
    """
    if isinstance(X, np.ndarray):
        is_numeric = ~((X == 0) | (X == 1)).all(axis=0)
    else:
        is_numeric = np.zeros(X.shape[1], np.bool_)
        is_numeric[X.indices[(X.data != 0) & (X.data != 1)]] = True
    columns = np.flatnonzero(is_numeric)
    if 4 * X.shape[0] * columns.size > DENSE_LIMIT:
        raise InputError(
            f"X: {columns.size} of its {X.shape[1]} columns hold values besides 0 and 1; with {X.shape[0]} rows they "
            f"would take {4 * X.shape[0] * columns.size / 2**30:.1f} GiB densely; select or binarise columns first"
        )
    return columns


def takes_missing(model: Any) -> bool:
    """Whether a model says that it takes missing values; of a pipeline, whether they reach a step that does not."""
    for step in [allowed for _, allowed in model.steps] if isinstance(model, Pipeline) else [model]:
        if step is None or step == "passthrough":
            continue
        allowed = _allows_missing(step)
        if not allowed or type(step).__module__.startswith("sklearn.impute"):
            return allowed
    return model is not None


def _allows_missing(model: Any) -> bool:
    return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.allow_nan)


def random_of(random_state: Any) -> np.random.RandomState:
    """The stream that a ``random_state`` stands for; ``None`` is the seed 0, so that every call gives the same result.

    Raises:
        ValueError: it is neither ``None``, nor a whole number, nor a stream.
    """
    return check_random_state(0 if random_state is None else random_state)


def stratified_rows(
    strata: NDArray[np.int64], fraction: float, random: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows (kept, held out) with ``fraction`` of each stratum held out; a stratum of one row is kept whole."""
    chosen = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        count = int(np.clip(round(fraction * rows.size), 1, rows.size - 1)) if rows.size > 1 else 0
        chosen.append(random.permutation(rows)[:count])
    out = np.sort(np.concatenate(chosen))
    return np.setdiff1d(np.arange(strata.size), out), out


def check_parts(
    rows_by_use: Mapping[str, NDArray[np.int64]],
    codes: NDArray[np.int64],
    names: Sequence[str],
    setting: str,
    labels: tuple[NDArray[np.bool_], Sequence[bool]] | None = None,
) -> None:
    """Refuse groups of which too few rows fall on either side of a division of the training rows.

    Args:
        rows_by_use: rows by what they are for, in words.
        codes: (n,) groups of all rows.
        names: of the groups.
        setting: the estimator's setting that divides the rows.
        labels: which rows (n,) have the second label, and the labels within which a constraint compares groups.

    Raises:
        InputError: naming the group, its rows and what to do.
    """
    positive, compared = labels or (np.zeros(codes.size, np.bool_), ())
    for label in compared or (None,):
        of_label = np.ones(codes.size, np.bool_) if label is None else positive == label
        total = np.bincount(codes[of_label], minlength=len(names))
        for use, rows in rows_by_use.items():
            counts = np.bincount(codes[rows[of_label[rows]]], minlength=len(names))
            if (small := counts < 2).any():
                code = int(small.argmax())
                which = "" if label is None else f" with the {'second' if label else 'first'} label"
                raise InputError(
                    f"group {names[code]!r} has {total[code]} rows{which}, of which {counts[code]} are {use}; at least "
                    f"2 are needed: merge the group with another, add rows of it, or set {setting} to 0"
                )


def check_group_sizes(task: Task, classes: NDArray) -> None:
    """Refuse groups that are too small for the interval of the constraint.

    Args:
        task: the training task.
        classes: (2,) the labels -1 and +1 stand for.

    Raises:
        InputError: naming the group, its size, the interval and what to do.
    """
    program = task.program()
    if not isinstance(program, HingeProgram):
        return  # nothing is constrained, or by a family that refuses small groups itself
    intervals = for_groups(task.interval, task.train.n_groups)
    sizes = np.bincount(program.row_subset, minlength=program.n_subsets)
    used = {int(s) for side in (program.convex, program.concave) for s in np.unique(side.subset) if s >= 0}
    for subset in sorted(used):
        code = int(program.subset_group[subset])
        rows_kept = int(np.diff(bounds(intervals[code], int(sizes[subset]))).sum())
        if rows_kept < 2:
            raise InputError(
                f"group {task.train.group_names[code]!r} has {sizes[subset]} training rows"
                f"{_stratum(task.train, program.row_subset == subset, code, classes)}, of which the interval "
                f"{format_interval(intervals[code])} keeps {rows_kept}; at least 2 are needed: widen the interval, "
                "merge the group with another, or add rows of it"
            )


def _stratum(data: Dataset, rows: NDArray[np.bool_], code: int, classes: NDArray) -> str:
    """Say which label, if a constraint looks at one label of a group only."""
    group_labels = data.y[data.group == code]
    if rows.any() and rows.sum() == group_labels.size:
        return ""
    labels = np.unique(data.y[rows]) if rows.any() else np.setdiff1d([-1.0, 1.0], group_labels)
    return f" with label {classes[int(labels[0] > 0)].item()!r}" if labels.size == 1 else ""


def score_vector(scores: Any, finite: bool = True) -> NDArray[np.float64]:
    """Return the scores (n,) as numbers.

    Args:
        scores: what was passed.
        finite: whether infinite ones are refused too; a map leaves them infinite.

    Raises:
        InputError: more than one dimension, dates or complex numbers, or a score that is missing or infinite.
    """
    with value_errors():
        vector, missing = intake.numbers(scores, "scores", finite=finite)
        missing_words.refuse_missing(missing, "scores: column 'scores'", scores, "pass numbers, or leave such rows out")
    return vector


def features(X: Any) -> Any:
    """Return the features as they are passed on: a dataframe of any library as one of pandas.

    Raises:
        InputError: two columns of one name, a mapping or structured array, or a masked entry, whose mask scikit-learn
            would forget.
    """
    with value_errors():
        table = to_pandas(X)
    is_mapping = isinstance(table, Mapping) and not sparse.issparse(table)
    if is_mapping or getattr(getattr(table, "dtype", None), "names", None):
        raise InputError(f"X is a {type(X).__name__} of columns; pass a dataframe of them (pandas.DataFrame)")
    if np.ma.is_masked(table):
        row, column = np.argwhere(np.ma.getmaskarray(table))[0][:2].tolist() if np.ndim(table) > 1 else (0, 0)
        raise InputError(f"X: column {column} has no value in row {row} (masked); fill it in, or drop such rows")
    if hasattr(table, "columns"):
        with value_errors():
            intake.columns(table, "X")
    return table


def complete_rows(
    missing: str, X: Any, y: Any, sensitive_features: Any, sample_weight: Any = None, scored: bool = False
) -> tuple[Any, Any, Any, Any]:
    """Return what was passed to ``fit``, with "drop" without the rows that lack a group, a label or a weight.

    Args:
        missing: setting of the estimator.
        X: features (n, d), or scores (n,), which a row may lack too.
        y: (n,) labels or ``None``; sensitive_features: (n,) groups, several columns, or ``None``.
        sample_weight: (n,) weights, one number or ``None``.
        scored: whether X are scores.

    Raises:
        InputError: lengths that differ, or no row is left.
    """
    if missing != "drop":
        return X, y, sensitive_features, sample_weight
    if not scored:
        X = as_matrix(features(X))
    absent: dict[str, NDArray[np.bool_]] = {}
    with value_errors():
        if sensitive_features is not None:
            absent["sensitive_features"] = intake.groups(sensitive_features, "sensitive_features", "drop").missing
        if y is not None:
            labels = intake.columns(y, "y")
            if len(labels) > 1:
                raise InputError(f"y has {len(labels)} columns ({', '.join(labels)}); pass one label per row")
            ((name, column),) = labels.items()
            absent["y"] = intake.levels(name, column, "y", missing_words.MISSING_WORDS["label"]).missing
        if scored:
            absent["scores"] = intake.numbers(X, "scores")[1]
        if sample_weight is not None and not isinstance(sample_weight, Real):
            absent["sample_weight"] = intake.numbers(
                sample_weight, "sample_weight", infinite="pass finite numbers", use="weights of rows"
            )[1]
    rows = _num_samples(X)
    for name, lacking in absent.items():
        if lacking.size != rows:
            raise InputError(f"{name} has {lacking.size} rows, X has {rows}; pass one entry per row")
    complete = np.flatnonzero(~np.any(list(absent.values()), axis=0)) if absent else np.arange(rows)
    if not complete.size:
        raise InputError("every row lacks a group, a label or a weight; fill them in")
    if isinstance(sensitive_features, Mapping):
        groups: Any = {name: _of_rows(column, complete) for name, column in sensitive_features.items()}
    else:
        groups = _of_rows(sensitive_features, complete)
    weights = _of_rows(sample_weight, complete) if "sample_weight" in absent else sample_weight
    return _of_rows(X, complete), _of_rows(y, complete), groups, weights


def _of_rows(source: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table or a column of any kind; of ``None`` none."""
    if source is None:
        return None
    if not (hasattr(source, "ndim") or hasattr(source, "columns") or isinstance(source, list | tuple)):
        source, _ = column_entries.read(source, "a column")
    return _safe_indexing(source, rows)


def same_rows(**columns: Any) -> None:
    """Refuse features, labels, groups or weights whose rows are in another order, by their indexes.

    Raises:
        InputError: naming the first row.
    """
    with value_errors():
        intake.in_one_order(**{name: values for name, values in columns.items() if values is not None})


def group_codes(
    sensitive_features: Any, n_rows: int, least: int = 2, missing: str = "refuse"
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the codes (n,) of the groups of rows, and the groups' names (G,); rows without one may be a "group".

    Raises:
        InputError: another number of rows, values that are no groups, or fewer than ``least`` groups.
    """
    with value_errors():
        groups = intake.groups(sensitive_features, "sensitive_features", _at_scoring(missing))
    _one_per_row(groups.codes, n_rows)
    if len(groups.names) < least:
        raise InputError(f"sensitive_features: all rows are of one group, {groups.names[0]!r}; check the column")
    return groups.codes, np.array(groups.names, dtype=object)


def group_columns(sensitive_features: Any) -> tuple[str, ...] | None:
    """Names of several columns of groups, which further rows are asked for; ``None`` of one, or without names."""
    if not isinstance(sensitive_features, Mapping) and not hasattr(sensitive_features, "columns"):
        return None
    with value_errors():
        names = tuple(intake.columns(sensitive_features, "sensitive_features"))
    return names if len(names) > 1 else None


def _at_scoring(missing: str) -> str:
    """What is done about rows without a group where none can be left out."""
    return "refuse" if missing == "drop" else missing


def known_codes(
    sensitive_features: Any,
    names: NDArray[Any],
    n_rows: int,
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
) -> NDArray[np.int64]:
    """Return the codes (n,) of further rows by the names (G,) of the groups of ``fit``.

    Args:
        sensitive_features: groups of the rows; columns with names may stand in any order.
        names: of the groups.
        n_rows: how many rows there are.
        columns: those of ``fit``, see :func:`group_columns`.
        missing: "group" for rows without a group that are one; else they are refused, as no row can be left out.

    Raises:
        InputError: another number of rows, other columns, or a group that is not among the names.
    """
    passed = None if columns is None else group_columns(sensitive_features)
    if passed is not None and columns is not None:
        if sorted(passed) != sorted(columns):
            raise InputError(
                f"sensitive_features has the columns {', '.join(passed)}, and those of fit were {', '.join(columns)}; "
                "pass the columns of fit"
            )
        named_columns = intake.columns(sensitive_features, "sensitive_features")
        sensitive_features = {name: named_columns[name] for name in columns}
    with value_errors():
        codes = intake.known_groups(
            sensitive_features, names.tolist(), "sensitive_features", missing=_at_scoring(missing)
        )
    _one_per_row(codes, n_rows)
    return codes


def _one_per_row(codes: NDArray[np.int64], n_rows: int) -> None:
    if codes.size != n_rows:
        raise InputError(f"sensitive_features has {codes.size} rows, X has {n_rows}; pass one group per row")
