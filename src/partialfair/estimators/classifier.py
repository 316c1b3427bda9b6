"""A linear classifier with a fairness constraint on an interval of score ranks, in the scikit-learn convention."""

import math
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Task, algorithm_for, served
from partialfair.algorithms.linear.alm import ALM
from partialfair.algorithms.linear.problem import Point
from partialfair.algorithms.measure import Measured, measure
from partialfair.errors import DataError
from partialfair.estimators.inputs import (
    InputError,
    as_matrix,
    check_group_sizes,
    numeric_columns,
    solver_settings,
    stratified_rows,
    value_errors,
)
from partialfair.estimators.on_device import placement
from partialfair.tables.dataset import Dataset, Matrix
from partialfair.tables.frames import to_pandas
from partialfair.tables.groups import codes_for, group_labels

SOLVERS = ("alm", "idca")
ONE_GROUP = "all"


class UnconstrainedWarning(UserWarning):
    """A classifier was fitted without groups, so no fairness constraint was imposed."""


class PartialFairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression whose scores satisfy a fairness constraint on an interval of ranks.

    The score is linear with an intercept and coefficients per group (Partial fairness paper, section 3), or
    with ``uses_group=False`` linear with none. The logistic loss is minimised without a penalty on the weights,
    subject to the constraint on the training rows. Numeric columns are standardised inside.

    A satisfied constraint is a statement about the scores of the training rows within the interval. It does not
    say that labels are free of bias, that scores outside the interval agree, or that the constraint holds on
    other rows to the same tolerance; audit held-out scores (:mod:`partialfair.audit`).

    Without ``sensitive_features`` there is nothing to constrain: ``fit`` then minimises the loss alone and warns
    with :class:`UnconstrainedWarning`. ``constraint=None`` says the same on purpose, without a warning.

    Args:
        constraint: name of a constraint family, for instance "partial_statistical_parity",
            "partial_demographic_parity", "partial_equal_opportunity", "partial_equalized_odds"; ``None`` for none.
        interval: disjoint pairs [alpha, beta) of ranks (0 = highest score), or one such list per group in the
            order of ``groups_``.
        kappa: tolerance; infinity for no constraint.
        kappa_scale: "relative" (kappa times the length of the interval) or "absolute".
        grid: number of ranks at which partial statistical parity is imposed.
        solver: "alm" (direct, nothing to tune) or "idca" (tuned on held-out rows).
        uses_group: whether the score may depend on the group. If not, prediction needs no sensitive features; at
            equal kappa the loss is at least as high, because the model is a special case, and some tolerances
            that intercepts per group would reach cost much accuracy or cannot be reached.
        validation_fraction: share of rows that "idca" holds out for tuning, stratified by group and label.
        solver_options: settings of the solver, see ``ALMSettings`` and ``IDCASettings`` of its algorithm module.
        random_state: seed of the hold-out; "alm" has no randomness.
        device: "cpu" (compiled kernels), "cuda" (PyTorch on a GPU, solver "alm" only) or "auto" (a GPU if there is).

    Attributes:
        classes_: (2,) labels; ``classes_[1]`` is predicted where the score is positive.
        groups_: names of the groups, in the order of their codes.
        n_features_in_, feature_names_in_: as in scikit-learn.
        model_: the score model; ``model_.save(path)`` writes it.
        certificate_: what was measured on the training rows: objective, largest violations and optimality.
        thresholds_: score thresholds theta of the constraint's rank grid, (grid,); empty for other families.
        selected_: hyper-parameters chosen on held-out rows.
        status_: "ok", or why the constraint is not satisfied.
    """

    def __init__(
        self,
        constraint: str | None = "partial_statistical_parity",
        interval: Any = ((0, 1),),
        kappa: float = 0.1,
        kappa_scale: str = "relative",
        grid: int = 10,
        solver: str = "alm",
        uses_group: bool = True,
        validation_fraction: float = 0.2,
        solver_options: dict[str, Any] | None = None,
        random_state: Any = None,
        device: str = "cpu",
    ) -> None:
        self.constraint = constraint
        self.interval = interval
        self.kappa = kappa
        self.kappa_scale = kappa_scale
        self.grid = grid
        self.solver = solver
        self.uses_group = uses_group
        self.validation_fraction = validation_fraction
        self.solver_options = solver_options
        self.random_state = random_state
        self.device = device

    def __sklearn_tags__(self) -> Any:
        """Two classes, sparse input allowed."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, *, sensitive_features: Any = None) -> Self:
        """Fit on features X (n, d), labels y (n,) with two values, and groups of the rows.

        Args:
            X: array, sparse matrix or dataframe of numbers without missing values.
            y: labels; the larger of the two values is the positive one.
            sensitive_features: (n,) groups, or several columns (each combination that occurs is a group).

        Raises:
            InputError: data or settings that cannot be used; also a ValueError.
        """
        task = self._task(self._training_rows(X, y, sensitive_features), sensitive_features is not None)
        with value_errors():
            check_group_sizes(task, self.classes_)
            return self._adopt(*self._solve(task, None))

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> NDArray[np.float64]:
        """Scores (n,): log-odds of the positive class, as far as the constraint leaves them so.

        Args:
            X: rows with the features of ``fit``, in the same order.
            sensitive_features: groups; needed if the score depends on them.

        Raises:
            InputError: groups missing, or not among those of ``fit``.
        """
        check_is_fitted(self)
        matrix = as_matrix(validate_data(self, to_pandas(X), accept_sparse="csr", dtype=_FLOATS, reset=False))
        with value_errors():
            codes = None
            if self.model_.uses_group and len(self.groups_) > 1:
                if sensitive_features is None:
                    raise InputError(
                        "sensitive_features is missing, and the scores of this model depend on the group; pass it, "
                        "or fit with uses_group=False"
                    )
                codes = codes_for(sensitive_features, self.groups_.tolist(), "sensitive_features")
                _same_length(codes, matrix)
            elif self.model_.uses_group:
                codes = np.zeros(matrix.shape[0], np.int64)
            return self.model_.scores(matrix, codes)

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> NDArray[np.float64]:
        """Logistic function of the scores, (n, 2); the constraint can move it away from calibration."""
        positive = expit(self.decision_function(X, sensitive_features=sensitive_features))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray:
        """Labels (n,): ``classes_[1]`` where the score is positive."""
        scores = self.decision_function(X, sensitive_features=sensitive_features)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Accuracy."""
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _training_rows(self, X: Any, y: ArrayLike, sensitive_features: Any) -> Dataset:
        """Validated rows; sets the attributes that describe columns, labels and groups."""
        X, y = validate_data(self, to_pandas(X), to_pandas(y), accept_sparse="csr", dtype=_FLOATS, ensure_min_samples=2)
        matrix, labels = as_matrix(X), self._labels(y)
        with value_errors():
            if sensitive_features is not None:
                codes, names = group_labels(sensitive_features, "sensitive_features")
                _same_length(codes, matrix)
            else:
                codes, names = np.zeros(matrix.shape[0], np.int64), (ONE_GROUP,)
            features = getattr(self, "feature_names_in_", [f"x{j}" for j in range(matrix.shape[1])])
            self.groups_ = np.array(names, dtype=object)
            numeric = numeric_columns(matrix)
            if len(names) > np.iinfo(np.int16).max:
                raise InputError(f"sensitive_features has {len(names)} groups; cut a numeric column into bins")
            return Dataset(matrix, labels, codes.astype(np.int16), tuple(features), names, "X", numeric)

    def _labels(self, y: Any) -> NDArray[np.float64]:
        """Labels as -1 and +1."""
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y has one class, {self.classes_[0]!r}; a classifier needs rows of two classes")
        if len(self.classes_) > 2:
            raise InputError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
                f"{len(self.classes_)} classes; merge them into two"
            )
        return np.asarray(2.0 * codes - 1.0, np.float64)

    def _task(self, data: Dataset, grouped: bool) -> Task:
        """The training task; warns if nothing is to be constrained."""
        kappa = math.inf if self.constraint is None else self.kappa
        if not grouped and not math.isinf(kappa):
            warnings.warn(
                "sensitive_features was not passed: the classifier is fitted without a fairness constraint; pass the "
                "groups of the rows, or say so with constraint=None",
                UnconstrainedWarning,
                stacklevel=3,
            )
            kappa = math.inf
        if self.solver not in SOLVERS:
            raise InputError(f"solver is {self.solver!r}; {plugins.did_you_mean(str(self.solver), SOLVERS)}")
        if data.n_groups < 2 and not math.isinf(kappa):
            raise InputError(
                f"sensitive_features: all rows are of one group, {data.group_names[0]!r}; a fairness constraint needs "
                "at least two: check the column, or use constraint=None"
            )
        train, validation = self._parts(data, not math.isinf(kappa))
        with value_errors():
            fused = math.isinf(kappa) or plugins.is_fused(str(self.constraint))
            place = placement(self.device, self.solver, fused)
        return Task(
            train=train,
            validation=validation,
            constraint=self.constraint or "",
            interval=self.interval,
            kappa=kappa,
            grid=self.grid,
            kappa_scale=self.kappa_scale,
            device=self.device,
            uses_group=self.uses_group,
            report=_silent,
            place=place,
        )

    def _parts(self, data: Dataset, constrained: bool) -> tuple[Dataset, Dataset]:
        """Training and validation rows; only IDCA, which tunes, has any of the latter."""
        if self.solver != "idca" or not constrained:
            return data, data.take(np.zeros(0, np.int64))
        if not 0 < self.validation_fraction < 1:
            raise InputError(f"validation_fraction is {self.validation_fraction!r}; use a number between 0 and 1")
        strata = 2 * data.group.astype(np.int64) + (data.y > 0)
        kept, held = stratified_rows(strata, self.validation_fraction, check_random_state(self.random_state))
        if not held.size:
            raise InputError(f"X has {data.n_rows} rows, too few to hold out validation rows; use solver='alm'")
        return data.take(kept), data.take(held)

    def _solve(self, task: Task, start: Point | None) -> tuple[Fit, Measured]:
        """Train and measure; ``start`` is where the direct solver begins.

        Where that leads to no point within the tolerance, it begins anew from a start of its own: near the solution at
        a neighbouring kappa the piecewise-linear constraints can be flat, and hold it for ever.
        """
        name = "unconstrained" if math.isinf(task.kappa) else self.solver
        algorithm = algorithm_for(name, task)
        options = dict(self.solver_options or {}) if name == self.solver else {}
        settings: Any = solver_settings(algorithm, options)
        if start is not None and isinstance(algorithm, ALM) and served(task):
            fit = algorithm.fit(task, settings, start)
            measured = measure(algorithm, task, fit)
            if measured.status == "ok":
                return fit, measured
        fit = algorithm.fit(task, settings)
        return fit, measure(algorithm, task, fit)

    def _adopt(self, fit: Fit, measured: Measured) -> Self:
        """Set the fitted attributes."""
        self.model_ = fit.model
        self.certificate_ = measured
        self.thresholds_ = fit.model.aux  # type: ignore[attr-defined]  # every solver here makes a linear score
        self.selected_ = dict(fit.chosen)
        self.status_ = measured.status if measured.reason is None else f"{measured.status}: {measured.reason}"
        if measured.status != "ok":
            message = f"the constraint is not satisfied on the training rows: {self.status_}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return self


_FLOATS = [np.float64, np.float32]
_silent: Callable[[str], None] = lambda line: None  # noqa: E731


def _same_length(codes: NDArray[np.int64], X: Matrix) -> None:
    if codes.size != X.shape[0]:
        raise DataError(f"sensitive_features has {codes.size} rows, X has {X.shape[0]}; pass one group per row")
