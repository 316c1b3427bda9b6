"""The trade-off of accuracy and violation: one classifier per tolerance, which share what does not depend on it."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Task
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import Point
from partialfair.algorithms.measure import Measured
from partialfair.data.exchange import to_pandas
from partialfair.estimators.classifier import PartialFairClassifier
from partialfair.estimators.inputs import (
    InputError,
    check_group_sizes,
    complete_rows,
    group_codes,
    random_of,
    same_rows,
    stratified_rows,
    value_errors,
)
from partialfair.estimators.labels import binary_labels
from partialfair.estimators.settings import number, tolerance
from partialfair.estimators.training import Training
from partialfair.metrics import evaluate_all

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Frontier:
    """Classifiers along a path of tolerances.

    Attributes:
        table: one row per kappa: kappa, status, objective, surrogate_violation and true_violation of the training
            constraints, train_accuracy, validation_accuracy, train_<metric> and validation_<metric>, and seconds; the
            columns of validation are there if rows were held out. Violations of the constraints count from their
            tolerance (not positive: satisfied); metrics are the violations themselves (0 = parity).
        estimators: the fitted classifiers, in the order of the table; of a pipeline, fitted pipelines that share the
            steps before the last.
        metric: name of the metric that belongs to the constraint family.
    """

    table: "pd.DataFrame"
    estimators: list[Any]
    metric: str

    def plot(self, axis: Any = None) -> Any:
        """Draw accuracy against 1 - violation on training and validation rows; return the matplotlib figure.

        Points of a tolerance that was missed on the training rows are hollow.
        """
        from matplotlib import pyplot as plt

        from partialfair.pages.palette import RC

        with plt.rc_context(RC):  # type: ignore[arg-type]
            figure = axis.figure if axis is not None else plt.figure(figsize=(5.2, 3.6))
            axis = axis if axis is not None else figure.add_subplot()
            looks = (("train", "#0072b2", "o-"), ("validation", "#c8500a", "s--"))
            for rows_name, colour, marks in looks:
                if f"{rows_name}_accuracy" not in self.table:
                    continue
                x, y = 1 - self.table[f"{rows_name}_{self.metric}"], self.table[f"{rows_name}_accuracy"]
                axis.plot(x, y, marks, color=colour, label=f"{rows_name} rows")
                missed = self.table["status"] != "ok"
                axis.scatter(
                    x[missed], y[missed], marker=marks[0], facecolors="white", edgecolors=colour, zorder=3, gid="missed"
                )
            for row in self.table.to_dict("records"):
                position = 1 - row[f"train_{self.metric}"], row["train_accuracy"]
                name = "∞" if math.isinf(row["kappa"]) else f"{row['kappa']:g}"
                axis.annotate(name, position, (4, 4), textcoords="offset points", fontsize=8)
            axis.set_xlabel(f"1 − {self.metric}")
            axis.set_ylabel("accuracy")
            axis.legend()
        return figure


def frontier(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    kappas: Iterable[float] = (math.inf, 0.3, 0.1, 0.03, 0.01),
    validation_fraction: float = 0.25,
) -> Frontier:
    """Fit an estimator for each tolerance, from the loosest to the tightest.

    What the tolerances have in common (the fit without constraint, the scores that thresholds are placed on, the
    decisions that mixtures are made of) is computed once, and with ``solver="alm"`` each fit starts at the solution
    before it. Rows for validation are held out, stratified by group and label, with the estimator's ``random_state``
    (``None``: always the same rows); they choose nothing except, with "idca", the hyper-parameters.

    Args:
        estimator: a classifier, or a pipeline that ends in one, with the settings of all fits except kappa; it is not
            changed.
        X, y, sensitive_features: as in :meth:`PartialFairClassifier.fit`.
        kappas: tolerances; infinity is the unconstrained model.
        validation_fraction: share of rows held out; 0 to train on all of them and have no columns of validation.

    Raises:
        InputError: data or settings that cannot be used.
    """
    import pandas as pd

    if not isinstance(kappas, Iterable):
        raise InputError(f"kappas is {kappas!r}; use a list of tolerances")
    path = sorted({tolerance(kappa) for kappa in kappas}, reverse=True)
    classifier = _last_step(estimator)
    if not path or classifier.constraint is None or sensitive_features is None:
        raise InputError("frontier: it needs a constraint, sensitive_features and at least one kappa")
    accepted = "a number between 0 and 1, such as 0.25, or 0 for none"
    number("validation_fraction", validation_fraction, lambda share: 0 <= share < 1, accepted)
    unfitted, training, task, steps = _prepare(estimator, path[-1], X, y, sensitive_features, validation_fraction)
    with value_errors():
        metric = plugins.load("constraints", classifier.constraint).VIOLATION[classifier.kappa_scale]
    rows, start = [], None
    fitted: list[Any] = []
    for kappa in path:
        model, task_of_kappa = _copy(unfitted, kappa), replace(task, kappa=kappa)
        began = time.perf_counter()
        with value_errors():
            check_group_sizes(task_of_kappa, model.classes_)
            trained, measured = model._solve(training, task_of_kappa, start)
        start = None if math.isinf(kappa) else _point(trained.fit)
        fitted.append(model._adopt(trained, measured, task_of_kappa))
        rows.append(_row(task_of_kappa, model, measured, metric) | {"seconds": time.perf_counter() - began})
    if isinstance(estimator, Pipeline):
        last = estimator.steps[-1][0]
        fitted = [Pipeline([*(steps.steps if steps is not None else ()), (last, model)]) for model in fitted]
    return Frontier(pd.DataFrame(rows), fitted, metric)


def _last_step(estimator: Any) -> PartialFairClassifier:
    """Return the classifier at the end of a pipeline, or the estimator itself."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, PartialFairClassifier):
        raise InputError(f"frontier: it needs a PartialFairClassifier, alone or at the end of a Pipeline, not {last!r}")
    return last


def _point(fit: Fit) -> Point | None:
    """Return the parameters and thresholds of a fit."""
    evaluated_point = fit.evaluated_point
    return (evaluated_point.params, evaluated_point.aux) if isinstance(evaluated_point, LinearPoint) else None


def _prepare(
    estimator: Any, kappa: float, X: Any, y: Any, sensitive_features: Any, validation_fraction: float
) -> tuple[PartialFairClassifier, Training, Task, Pipeline | None]:
    """Return a copy of the classifier that has seen the columns, its training rows, and the task with held-out rows.

    The steps before it in a pipeline are fitted on the training rows alone, and returned.
    """
    classifier: PartialFairClassifier = clone(_last_step(estimator)).set_params(kappa=kappa)
    classifier._check_settings()
    same_rows(X=X, y=y, sensitive_features=sensitive_features)
    X, y, sensitive_features, _ = complete_rows(classifier.missing, X, y, sensitive_features)
    classes, positive = binary_labels(to_pandas(y))
    if (rows := _num_samples(X)) != len(positive):
        raise InputError(f"y has {len(positive)} rows, X has {rows}; pass one label per row")
    codes, _ = group_codes(sensitive_features, len(positive), missing=classifier.missing)
    y = classes[positive.astype(int)]
    random = random_of(classifier.random_state)
    fitted, held_out = np.arange(len(y)), np.zeros(0, np.int64)
    if validation_fraction > 0:
        fitted, held_out = stratified_rows(2 * codes + positive, validation_fraction, random)
    steps: Pipeline | None = None
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        steps = clone(estimator[:-1]).fit(_safe_indexing(X, fitted), _safe_indexing(y, fitted))
        X = steps.transform(X)
    data = classifier._training_rows(X, y, sensitive_features)
    training_rows = data.take(fitted)
    training, task = classifier._prepared(training_rows, classifier._weights(training_rows, None), True)
    return classifier, training, replace(task, validation=data.take(held_out)), steps


def _copy(original: PartialFairClassifier, kappa: float) -> PartialFairClassifier:
    """Return an estimator with another tolerance that has seen the same columns."""
    copied: PartialFairClassifier = clone(original).set_params(kappa=kappa)
    for name in ("classes_", "groups_", "group_columns_", "n_features_in_", "feature_names_in_", "interval_"):
        if hasattr(original, name):
            setattr(copied, name, getattr(original, name))
    return copied


def _row(task: Task, estimator: PartialFairClassifier, measured: Measured, metric: str) -> dict[str, Any]:
    """Return a line of the table: kappa and status, then accuracy and violation by part."""
    row: dict[str, Any] = {
        "kappa": task.kappa,
        "status": estimator.status_,
        "objective": measured.objective,
        "surrogate_violation": measured.max_violation,
        "true_violation": measured.true_violation,
    }
    for rows_name, data in (("train", task.train), ("validation", task.validation)):
        if data.n_rows == 0:
            continue
        scores = estimator.model_.scores(data.X, data.group)
        values, _ = evaluate_all(scores, data.y, data.group, task.interval, only=("accuracy", metric))
        row |= {f"{rows_name}_{name}": np.nan if value is None else value for name, value in values.items()}
    return row
