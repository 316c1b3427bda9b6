"""The trade-off of accuracy and violation: one classifier per tolerance, each started from its neighbour."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Task
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import Point
from partialfair.algorithms.measure import Measured
from partialfair.estimators.classifier import PartialFairClassifier
from partialfair.estimators.inputs import InputError, check_group_sizes, stratified_rows, value_errors
from partialfair.metrics import evaluate_all

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Frontier:
    """Classifiers along a path of tolerances.

    Attributes:
        table: one row per kappa: kappa, status, objective, surrogate_violation and true_violation of the training
            constraints, train_accuracy, validation_accuracy, train_<metric> and validation_<metric>, and seconds.
            Violations of the constraints count from their tolerance (not positive: satisfied); metrics are the
            violations themselves (0 = parity).
        estimators: the fitted classifiers, in the order of the table.
        metric: name of the metric that belongs to the constraint family.
    """

    table: "pd.DataFrame"
    estimators: list[PartialFairClassifier]
    metric: str

    def plot(self, axis: Any = None) -> Any:
        """Draw accuracy against 1 - violation on training and validation rows; return the matplotlib figure."""
        from matplotlib import pyplot as plt

        from partialfair.pages.palette import RC

        with plt.rc_context(RC):  # type: ignore[arg-type]
            figure = axis.figure if axis is not None else plt.figure(figsize=(5.2, 3.6))
            axis = axis if axis is not None else figure.add_subplot()
            looks = (("train", "#0072B2", "o-"), ("validation", "#D55E00", "s--"))
            for part, colour, marks in looks:
                x, y = 1 - self.table[f"{part}_{self.metric}"], self.table[f"{part}_accuracy"]
                axis.plot(x, y, marks, color=colour, label=f"{part} rows")
            for row in self.table.to_dict("records"):
                at = 1 - row[f"train_{self.metric}"], row["train_accuracy"]
                name = "∞" if math.isinf(row["kappa"]) else f"{row['kappa']:g}"
                axis.annotate(name, at, (4, 4), textcoords="offset points", fontsize=8)
            axis.set_xlabel(f"1 − {self.metric}")
            axis.set_ylabel("accuracy")
            axis.legend()
        return figure


def frontier(
    estimator: PartialFairClassifier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    kappas: Iterable[float] = (math.inf, 0.3, 0.1, 0.03, 0.01),
    validation_fraction: float = 0.25,
) -> Frontier:
    """Fit an estimator for each tolerance, from the loosest to the tightest.

    With ``solver="alm"`` each fit starts at the solution before it. Rows for validation are held out, stratified
    by group and label, with the estimator's ``random_state``; they choose nothing except, with "idca", the
    hyper-parameters.

    Args:
        estimator: settings of all fits except kappa; it is not changed.
        X, y, sensitive_features: as in :meth:`PartialFairClassifier.fit`.
        kappas: tolerances; infinity is the unconstrained model.
        validation_fraction: share of rows held out.

    Raises:
        InputError: data or settings that cannot be used.
    """
    import pandas as pd

    path = sorted({float(kappa) for kappa in kappas}, reverse=True)
    if not path or estimator.constraint is None or sensitive_features is None:
        raise InputError("frontier: it needs a constraint, sensitive_features and at least one kappa")
    if not 0 < validation_fraction < 1:
        raise InputError(f"validation_fraction is {validation_fraction!r}; use a number between 0 and 1, such as 0.25")
    first, task = _prepare(estimator, X, y, sensitive_features, validation_fraction)
    with value_errors():
        metric = plugins.load("constraints", estimator.constraint).VIOLATION[estimator.kappa_scale]
    rows, fitted, start = [], [], None
    for kappa in path:
        own, at = _copy(first, kappa), replace(task, kappa=kappa)
        began = time.perf_counter()
        with value_errors():
            check_group_sizes(at, own.classes_)
            fit, measured = own._solve(at, start)
        start = None if math.isinf(kappa) else _point(fit)
        fitted.append(own._adopt(fit, measured))
        rows.append(_row(at, own, measured, metric) | {"seconds": time.perf_counter() - began})
    return Frontier(pd.DataFrame(rows), fitted, metric)


def _point(fit: Fit) -> Point | None:
    """Parameters and thresholds of a fit."""
    found = fit.witness
    return (found.params, found.aux) if isinstance(found, LinearPoint) else None


def _prepare(
    estimator: PartialFairClassifier, X: Any, y: Any, sensitive_features: Any, validation_fraction: float
) -> tuple[PartialFairClassifier, Task]:
    """A copy of the estimator that has seen the columns, and the training task without a tolerance."""
    from sklearn.base import clone
    from sklearn.utils import check_random_state

    first: PartialFairClassifier = clone(estimator)
    data = first._training_rows(X, y, sensitive_features)
    strata = 2 * data.group.astype(np.int64) + (data.y > 0)
    kept, held = stratified_rows(strata, validation_fraction, check_random_state(estimator.random_state))
    task = Task(
        train=data.take(kept),
        validation=data.take(held),
        constraint=str(estimator.constraint),
        interval=estimator.interval,
        kappa=math.inf,
        grid=estimator.grid,
        kappa_scale=estimator.kappa_scale,
        uses_group=estimator.uses_group,
        report=lambda line: None,
    )
    return first, task


def _copy(first: PartialFairClassifier, kappa: float) -> PartialFairClassifier:
    """An estimator with another tolerance that has seen the same columns."""
    from sklearn.base import clone

    own: PartialFairClassifier = clone(first).set_params(kappa=kappa)
    for name in ("classes_", "groups_", "n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(own, name, getattr(first, name))
    return own


def _row(task: Task, estimator: PartialFairClassifier, measured: Measured, metric: str) -> dict[str, Any]:
    """One line of the table."""
    row: dict[str, Any] = {
        "kappa": task.kappa,
        "status": estimator.status_,
        "objective": measured.objective,
        "surrogate_violation": measured.max_violation,
        "true_violation": measured.true_violation,
    }
    for part, data in (("train", task.train), ("validation", task.validation)):
        scores = estimator.model_.scores(data.X, data.group)
        values, _ = evaluate_all(scores, data.y, data.group, task.interval, only=("accuracy", metric))
        row |= {f"{part}_{name}": np.nan if value is None else value for name, value in values.items()}
    return row
