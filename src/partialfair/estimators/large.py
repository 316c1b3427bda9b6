"""Fits on files that do not fit into memory as a matrix: the free fit and the maps of ranks, on coded rows."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.rank_map import FittedMap, fit_rank_map
from partialfair.algorithms.linear.weighted import minimise_weighted
from partialfair.algorithms.measure import OK
from partialfair.data.intervals import Interval
from partialfair.estimators.coded_rows import CodedRows, Encoding, block, check_levels, read_rows
from partialfair.estimators.inputs import InputError, value_errors
from partialfair.estimators.parquet_columns import batches, named_groups, opened
from partialfair.estimators.promise import map_band
from partialfair.estimators.threads import on_one_thread
from partialfair.estimators.training import PSP, status_of, why_missed
from partialfair.metrics.choose_interval import suggest_interval
from partialfair.models.design import GroupedDesign
from partialfair.models.linear import GroupLinear, LinearScore
from partialfair.models.rank_mapped import RankMapped

Vector = NDArray[np.float64]
SAMPLE = 1 << 17
"""Rows of each group that the start of the fit looks at."""
ITERATIONS = 60


class FromParquet:
    """Fits and scores of Parquet files, for a classifier with the settings ``interval``, ``kappa``, ``kappa_scale``."""

    def fit_parquet(
        self, path: str | Path, *, label: str, sensitive_features: str, categories: Sequence[str] = ()
    ) -> Self:
        """Fit on a Parquet file that may be larger than memory as a matrix.

        Numbers are standardised; texts and truth values become one feature per level. What is fitted is what ``fit``
        does by default: the free fit, then one map of ranks per group.

        Args:
            path: the file.
            label: column with two values, of which the larger is positive.
            sensitive_features: column with the groups.
            categories: columns of numbers that are codes of categories.

        Raises:
            InputError: settings that cannot be used or that only ``fit`` serves, a file that cannot be read, or a
                column that cannot be used.
        """
        classifier: Any = self
        classifier._check_settings()
        _refuse_others(classifier)
        with value_errors():
            rows = read_rows(path, label, sensitive_features, categories)
        with value_errors(rows.group_names):
            model, fitted_map, interval = fit_maps(rows, classifier.interval, classifier.kappa, classifier.kappa_scale)
        classifier.classes_, classifier.groups_ = rows.classes, np.array(rows.group_names, dtype=object)
        classifier.group_columns_ = None
        classifier.feature_names_in_ = np.array(rows.encoding.feature_names, dtype=object)
        classifier.n_features_in_ = rows.design.n_features
        classifier.encoding_, classifier.interval_, classifier.model_ = rows.encoding, interval, model
        classifier.solver_, classifier.selected_, classifier.certificate_, classifier.thresholds_ = (
            "ranks",
            {},
            None,
            np.zeros(0),
        )
        classifier.train_violation_ = fitted_map.gap
        sizes = np.diff(rows.design.starts)
        unions = Interval.of(interval).for_groups(len(rows.group_names))
        classifier.sampling_band_ = map_band(
            fitted_map.scores, rows.group, unions, classifier.kappa_scale, fitted_map.gap
        )
        classifier.promise_ = None
        classifier._describe_line()
        classifier.status_ = status_of(
            PSP,
            classifier.kappa_scale,
            fitted_map.gap,
            classifier.kappa,
            why_missed(fitted_map, sizes, rows.group_names),
        )
        if classifier.status_ != OK:
            message = f"the constraint is not satisfied on the training rows: {classifier.status_}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def decision_function_parquet(self, path: str | Path, *, sensitive_features: str) -> Vector:
        """Return the scores (n,) of the rows of a file with the columns of ``fit_parquet``, in its order.

        A category's values are compared by their text, numbers by their value. One of which ``fit_parquet`` had no rows
        counts as none of its levels; if most rows have such a value, a warning says so.

        Raises:
            InputError: a file that cannot be read or has no rows, a column that is missing or cannot be used, an
                unknown group, or a category of another type of which no row has a known level.
        """
        classifier: Any = self
        check_is_fitted(classifier, "encoding_", msg="%(name)s was not fitted on a file; call fit_parquet first")
        with value_errors():
            return scores_of_file(
                path, classifier.model_, classifier.encoding_, sensitive_features, classifier.groups_.tolist()
            )


def _refuse_others(classifier: Any) -> None:
    """Refuse settings that only fits in memory serve.

    Raises:
        InputError: naming the setting.
    """
    defaults: dict[str, tuple[Any, ...]] = {
        "constraint": (PSP,), "solver": ("auto", "ranks"), "uses_group": (True,), "class_weight": (None,),
        "C": (math.inf,), "solver_options": (None, {}), "device": ("cpu", "auto"), "confidence": (None,),
        "missing": ("refuse",),
    }  # fmt: skip
    for name, served in defaults.items():
        value = getattr(classifier, name)
        if value not in served:
            raise InputError(f"{name} is {value!r}, and fit_parquet serves {served[0]!r}; use fit on rows in memory")
    if not 0 < classifier.kappa < math.inf:
        raise InputError(f"kappa is {classifier.kappa!r}; fit_parquet needs a positive finite one")


@on_one_thread
def free_fit(rows: CodedRows) -> Vector:
    """Return the parameters (G, d+1) of the smallest loss.

    Newton steps on some rows lead close to it, and their Hessian to coordinates in which the loss of all rows is nearly
    round, where a dozen passes over the rows suffice.
    """
    model = GroupLinear(rows.design.n_features, len(rows.group_names))
    problem = LinearProblem(rows.design, rows.y, model, None)
    taken = _sampled(rows.design.starts)
    if taken.size == rows.y.size:
        return minimise_weighted(problem)[0]
    sampled = LinearProblem(_sampled_design(rows.design, taken), rows.y[taken], model, None)
    start, scaling = minimise_weighted(sampled)
    return minimise_weighted(problem, start, scaling, ITERATIONS)[0]


def fit_maps(rows: CodedRows, interval: Any, kappa: float, kappa_scale: str) -> tuple[RankMapped, FittedMap, Any]:
    """Return the free fit and its maps: the model, the maps with the gap of these rows, and the interval."""
    params = free_fit(rows)
    model = GroupLinear(rows.design.n_features, len(rows.group_names))
    line = _line(rows, model.effective(params))
    scores = scores_of(rows.design, line)
    chosen = (suggest_interval(scores, rows.group, threshold=0.0).interval,) if interval is None else interval
    fitted_map = fit_rank_map(
        scores, rows.group, rows.group_names, interval=Interval.of(chosen), kappa=kappa, kappa_scale=kappa_scale
    )
    return RankMapped.of(line, fitted_map.mapping), fitted_map, chosen


def scores_of(design: GroupedDesign, line: LinearScore) -> Vector:
    """Linear scores (n,) of rows in their order in the design."""
    no_labels = np.zeros(0)
    problem = LinearProblem(design, no_labels, GroupLinear(design.n_features, len(line.group_names)), None)
    params = line.weights.copy()
    params[1:] -= params[:1]
    return problem.scores(params)


def scores_of_file(
    path: str | Path, model: RankMapped, encoding: Encoding, sensitive_features: str, classes: Sequence[str]
) -> Vector:
    """Mapped scores (n,) of the rows of a file, in its order.

    Raises:
        InputError: a group that the model does not know.
    """
    columns = (*encoding.numbers, *encoding.categories, sensitive_features)
    blocks, offset = [], 0
    counts, types = np.zeros(len(encoding.categories), np.int64), _types(path, encoding.categories)
    for batch in batches(path, columns, (*encoding.categories, sensitive_features)):
        codes, names = named_groups(batch.column(sensitive_features), sensitive_features, offset)
        offset += batch.num_rows
        unknown = [name for name in names if name not in classes]
        if unknown:
            raise InputError(f"column {sensitive_features!r} has the group {unknown[0]!r}, of which fit had no rows")
        group = np.array([classes.index(name) for name in names], np.int16)[codes]
        design, strange = block(batch, encoding, group)
        counts += strange
        design = replace(design, starts=_all_groups(design.starts, len(classes)), subset_group=np.arange(len(classes)))
        scores = np.empty(batch.num_rows)
        scores[design.order] = scores_of(design, model.linear)
        blocks.append(model.mapping.apply(scores, group))
    check_levels(counts, offset, encoding, types)
    return np.concatenate(blocks)


def _types(path: str | Path, names: Sequence[str]) -> list[str]:
    """Types of the columns of a file; "" of those that it lacks."""
    schema = opened(path).schema_arrow
    return [str(schema.field(name).type) if name in schema.names else "" for name in names]


def _all_groups(starts: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    return np.concatenate([starts, np.full(n_groups + 1 - starts.size, starts[-1])])


def _line(rows: CodedRows, weights: Vector) -> LinearScore:
    names = rows.group_names, rows.encoding.feature_names
    return LinearScore(weights, rows.encoding.standardiser, np.zeros(0), *names)


def _sampled(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of every group, in their order: all of a small one, :data:`SAMPLE` drawn from a large one."""
    random = np.random.default_rng(0)
    chosen = []
    for low, high in zip(starts, starts[1:], strict=False):
        size = int(high - low)
        members = (
            np.arange(size) if size <= SAMPLE else np.sort(random.choice(size, SAMPLE, replace=False, shuffle=False))
        )
        chosen.append(low + members)
    return np.concatenate(chosen)


def _sampled_design(design: GroupedDesign, taken: NDArray[np.int64]) -> GroupedDesign:
    codes = np.ascontiguousarray(design.codes[:, taken])
    starts = np.searchsorted(taken, design.starts).astype(np.int64)
    dense = np.ascontiguousarray(design.dense[:, taken])
    return replace(design, order=design.order[taken], ones=codes, codes=codes, dense=dense, starts=starts)
