"""A linear classifier with a fairness constraint on an interval of score ranks, in the scikit-learn convention."""

import math
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.linear.alm import ALGORITHM
from partialfair.algorithms.linear.problem import Point
from partialfair.algorithms.measure import FAILED, OK, Measured, measure
from partialfair.data.dataset import Dataset
from partialfair.data.exchange import to_pandas
from partialfair.data.intervals import FULL
from partialfair.data.missing_words import MISSING
from partialfair.estimators.binary_classifier import BinaryClassifier
from partialfair.estimators.idle_constraints import idle
from partialfair.estimators.inputs import (
    InputError,
    UnconstrainedWarning,
    as_matrix,
    check_group_sizes,
    complete_rows,
    features,
    group_codes,
    group_columns,
    known_codes,
    named_texts,
    numeric_columns,
    random_of,
    same_rows,
    stratified_rows,
    value_errors,
)
from partialfair.estimators.labels import binary_labels, plain_labels, weights_of_both, weights_of_groups
from partialfair.estimators.large import FromParquet
from partialfair.estimators.on_device import placement
from partialfair.estimators.promise import NOT_PROMISED, STRATA, Constraint, Promise, band_of, check_confidence
from partialfair.estimators.promise_training import PromisedTraining
from partialfair.estimators.settings import (
    boolean,
    check_class_weight,
    check_constraint,
    check_options,
    number,
    one_of,
    tolerance,
)
from partialfair.estimators.training import AUTO, PSP, SOLVERS, Trained, Training, solver_for, status_of
from partialfair.estimators.weights import row_weights
from partialfair.metrics.choose_interval import suggest_interval
from partialfair.models.linear import LinearScore

ONE_GROUP = "all"


class PartialFairClassifier(FromParquet, BinaryClassifier, BaseEstimator):  # type: ignore[misc]
    """Logistic regression whose scores satisfy a fairness constraint on an interval of ranks.

    The score is linear, with one intercept and one set of coefficients per group (Partial fairness paper, section 7.1);
    with ``uses_group=False`` all groups share them. The logistic loss is minimised subject to the constraint on the
    training rows: its metric, with the indicator and at all thresholds of the interval, should be at most ``kappa``.
    ``train_violation_`` is its value there, and ``status_`` says whether it is within ``kappa``. Numeric columns are
    standardised inside.

    A satisfied constraint is a statement about the scores of the training rows within the interval. It does not
    say that labels are free of bias, that scores outside the interval agree, or that the constraint holds on
    other rows to the same tolerance (``sampling_band_`` says how far that may be off); audit held-out scores
    (:mod:`partialfair.audit`).

    Without ``sensitive_features`` there is nothing to constrain: ``fit`` then minimises the loss alone and warns
    with :class:`UnconstrainedWarning`. ``constraint=None`` says the same on purpose, without a warning.

    Args:
        constraint: name of a constraint family, for instance "partial_statistical_parity",
            "partial_demographic_parity", "partial_equal_opportunity", "partial_equalized_odds"; ``None`` for none.
        interval: disjoint pairs [alpha, beta) of ranks (0 = highest score), or one such list per group in the
            order of ``groups_``. By default, for partial statistical parity, the interval that covers the positive rate
            of the unconstrained model and on which that model is least fair
            (:func:`partialfair.metrics.choose_interval.suggest_interval`); for other families the whole range.
        kappa: tolerance; infinity for no constraint.
        kappa_scale: "relative" (kappa times the length of the interval) or "absolute".
        grid: least number of ranks at which "alm" and "idca" impose partial statistical parity.
        solver: "auto" takes the first of these that serves the constraint. "ranks": fit without constraint, then map
            each group's scores increasingly (partial statistical parity with the group). "thresholds": a fit without
            constraint, a second one with the costs that its thresholds imply, then the most accurate threshold of each
            group (demographic parity and equal opportunity with the group). "parity": a mixture of at most a few linear
            decisions (on the whole range: demographic parity and equal opportunity without the group, equalized odds
            with or without it). "penalty": one linear score for all groups, by a penalty on the smoothed differences of
            their ranks (partial statistical parity without the group). "alm": a score linear in each group, by the
            direct solver. Besides, "select" chooses between "ranks" and "alm" on held-out rows, and "idca" is the
            paper's method, tuned on held-out rows.
        uses_group: whether the score may depend on the group. If not, prediction needs no sensitive features; at
            equal kappa the loss is at least as high, because the model is a special case, and some tolerances
            that intercepts per group would reach cost much accuracy or cannot be reached.
        C: inverse strength of an L2 penalty on the coefficients of the standardised columns, per row as in
            scikit-learn's ``LogisticRegression``; infinity (default) for none. "parity" takes 1 in place of infinity.
        class_weight: weights of the labels in the loss: ``None``, "balanced", or a mapping from label to weight.
        validation_fraction: share of rows held out for choices, stratified by group and label.
        solver_options: settings of "alm" or "idca", see ``ALMSettings`` and ``IDCASettings`` of its algorithm module.
        random_state: seed of the hold-out and of the lots that "parity" draws for rows by their content; ``None`` for a
            fixed one, so that every call gives the same result.
        device: "cpu" (compiled kernels), "cuda" (PyTorch on a GPU, solver "alm" only) or "auto" (a GPU if there is).
        confidence: with which the constraint's metric of the fitted model is at most kappa in the population that the
            rows were drawn from, for instance 0.95; ``None`` (default) for a statement about the training rows alone.
            "ranks" and "thresholds" then choose maps and thresholds by five-fold scores and the noise of their ranks.
            Other solvers fit a path of tolerances on some of the rows, and test the models on the others.
        promise_fraction: share of the rows of that test, which the model is then not fitted on; 0 for five-fold
            cross-fitting and a last fit on all rows, which has no proof but costs less accuracy.
        missing: what is done about rows without a group, a label or a weight: "refuse" them, "drop" them in ``fit``, or
            make a "group", called "missing", of those without a group. Scoring drops no rows.

    Attributes:
        classes_: (2,) labels; ``classes_[1]`` is predicted where the score is positive.
        groups_: names of the groups, in the order of their codes.
        group_columns_: names of the columns that groups were made of, if several; further rows are asked for these.
        n_features_in_, feature_names_in_: as in scikit-learn.
        coef_, intercept_: (G, d) and (G,) of the linear score on the columns as passed, one line per group, or one line
            in all where the group is not used. "ranks" maps that score; of a mixture, the likelier score's.
        interval_: the interval in use.
        solver_: the solver in use; "unconstrained" where nothing was constrained.
        model_: the score model; ``model_.save(path)`` writes it.
        train_violation_: the constraint's metric on the training rows; ``None`` without a constraint.
        sampling_band_: by how much the metric may be larger in the population, at 95%: of "ranks" and "thresholds" for
            maps and thresholds that were chosen on these rows, of others for scores fixed in advance. Scores that were
            fitted to the same rows can do worse; ``confidence`` takes that into account. ``None`` where no such bound
            is known.
        promise_: what is promised about new rows, with its numbers (:class:`partialfair.estimators.Promise`); ``None``
            without ``confidence`` or constraint.
        certificate_: what else was measured on the training rows: objective, surrogate violations and optimality.
        thresholds_: score thresholds theta of the constraint's rank grid, for "alm" and "idca"; else empty.
        selected_: what was chosen on held-out rows.
        status_: "ok", or why the constraint is not satisfied.
    """

    def __init__(
        self,
        constraint: str | None = PSP,
        interval: Any = None,
        kappa: float = 0.1,
        kappa_scale: str = "relative",
        grid: int = 10,
        solver: str = "auto",
        uses_group: bool = True,
        C: float = math.inf,
        class_weight: Any = None,
        validation_fraction: float = 0.2,
        solver_options: dict[str, Any] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        confidence: float | None = None,
        promise_fraction: float = 0.5,
        missing: str = "refuse",
    ) -> None:
        self.constraint = constraint
        self.interval = interval
        self.kappa = kappa
        self.kappa_scale = kappa_scale
        self.grid = grid
        self.solver = solver
        self.uses_group = uses_group
        self.C = C
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.solver_options = solver_options
        self.random_state = random_state
        self.device = device
        self.confidence = confidence
        self.promise_fraction = promise_fraction
        self.missing = missing

    def fit(self, X: Any, y: ArrayLike, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Fit on features X (n, d), labels y (n,) with two values, and groups of the rows.

        Args:
            X: array, sparse matrix or dataframe of numbers without missing values.
            y: labels; the larger of the two values is the positive one.
            sensitive_features: (n,) groups, or several columns (each combination that occurs is a group).
            sample_weight: (n,) weights of the rows in the loss. The constraint counts every row once.

        Raises:
            InputError: data or settings that cannot be used; also a ValueError.
        """
        self._check_settings()
        same_rows(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        X, y, sensitive_features, sample_weight = complete_rows(self.missing, X, y, sensitive_features, sample_weight)
        rows = self._training_rows(X, y, sensitive_features)
        weights = self._weights(rows, sample_weight)
        training, task = self._prepared(rows, weights, sensitive_features is not None)
        with value_errors():
            check_group_sizes(task, self.classes_)
            self.__dict__.pop("encoding_", None)  # of a file that was fitted before
            return self._adopt(*self._solve(training, task, None), task)

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> NDArray[np.float64]:
        """Return the scores (n,): log-odds of the positive class, as far as the constraint leaves them so.

        Args:
            X: rows with the features of ``fit``, in the same order.
            sensitive_features: groups; needed if the score depends on them.

        Raises:
            InputError: groups missing, or not among those of ``fit``.
        """
        check_is_fitted(self)
        same_rows(X=X, sensitive_features=sensitive_features)
        with named_texts(X):
            X = validate_data(self, features(X), accept_sparse="csr", dtype=_FLOATS, reset=False)
        matrix = as_matrix(X)
        with value_errors():
            codes = None
            if self.model_.uses_group and len(self.groups_) > 1:
                if sensitive_features is None:
                    raise InputError(
                        "sensitive_features is missing, and the scores of this model depend on the group; pass it, "
                        "or fit with uses_group=False"
                    )
                codes = known_codes(
                    sensitive_features, self.groups_, matrix.shape[0], self.group_columns_, self.missing
                )
            elif self.model_.uses_group:
                codes = np.zeros(matrix.shape[0], np.int64)
            return np.asarray(self.model_.scores(matrix, codes))

    def _check_settings(self) -> None:
        """Refuse settings that cannot be used, whatever the rows.

        Raises:
            InputError: naming the setting, its value and what is accepted.
        """
        check_constraint(self.constraint, self.kappa, self.kappa_scale, self.interval, self.grid)
        boolean("uses_group", self.uses_group)
        if self.solver not in SOLVERS:
            raise InputError(f"solver is {self.solver!r}; {plugins.did_you_mean(str(self.solver), SOLVERS)}")
        number("C", self.C, lambda C: C > 0, "a positive number, or infinity for no penalty")
        check_class_weight(self.class_weight)
        number("validation_fraction", self.validation_fraction, lambda share: 0 < share < 1, "a number between 0 and 1")
        check_options("solver_options", self.solver_options)
        check_confidence(self.confidence, self.promise_fraction)
        one_of("missing", self.missing, MISSING)

    def _training_rows(self, X: Any, y: ArrayLike, sensitive_features: Any) -> Dataset:
        """Validated rows; sets the attributes that describe columns, labels and groups."""
        checks: dict[str, Any] = {"accept_sparse": "csr", "dtype": _FLOATS, "ensure_min_samples": 2}
        same_rows(X=X, y=y, sensitive_features=sensitive_features)
        with named_texts(X):
            X, y = validate_data(self, features(X), plain_labels(to_pandas(y)), **checks)
        matrix, labels = as_matrix(X), self._labels(y)
        with value_errors():
            codes, self.groups_ = np.zeros(matrix.shape[0], np.int64), np.array([ONE_GROUP], dtype=object)
            self.group_columns_ = group_columns(sensitive_features)
            if sensitive_features is not None:
                codes, self.groups_ = group_codes(sensitive_features, matrix.shape[0], 1, self.missing)
            names = tuple(self.groups_.tolist())
            inputs = getattr(self, "feature_names_in_", [f"x{j}" for j in range(matrix.shape[1])])
            numeric = numeric_columns(matrix)
            if len(names) > np.iinfo(np.int16).max:
                raise InputError(f"sensitive_features has {len(names)} groups; cut a numeric column into bins")
            return Dataset(matrix, labels, codes.astype(np.int16), tuple(inputs), names, "X", numeric)

    def _labels(self, y: Any) -> NDArray[np.float64]:
        """Return the labels as -1 and +1; sets ``classes_``."""
        self.classes_, positive = binary_labels(y)
        return np.where(positive, 1.0, -1.0)

    def _weights(self, rows: Dataset, sample_weight: Any) -> NDArray[np.float64] | None:
        """Return the weights (n,) with mean 1 of the rows in the loss; ``None`` where all are equal."""
        self._total_weight = float(rows.n_rows)
        if sample_weight is None and self.class_weight is None:
            return None
        weights_passed = row_weights(sample_weight, rows.n_rows)
        weights = np.ones(rows.n_rows) if weights_passed is None else weights_passed
        if self.class_weight is not None:
            weights = weights * self._class_factors(rows.y > 0, weights)
        weights_of_both(weights, rows.y > 0, self.classes_)
        if self.uses_group:
            weights_of_groups(weights, rows.group, rows.group_names)
        self._total_weight = float(weights.sum())
        return np.asarray(weights / weights.mean(), np.float64)

    def _class_factors(self, positive: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factors (n,) of ``class_weight``; "balanced" gives both classes the same total of the rows' weights."""
        if self.class_weight != "balanced":
            return np.asarray(compute_sample_weight(self.class_weight, self.classes_[positive.astype(int)]))
        totals = np.array([weights[~positive].sum(), weights[positive].sum()])
        factors = totals.sum() / (2 * np.where(totals > 0, totals, 1.0))
        return np.asarray(factors[positive.astype(int)])

    def _prepared(self, rows: Dataset, weights: Any, grouped: bool) -> tuple[Training, Task]:
        """Return what is trained on, and the task; warns if nothing is to be constrained."""
        kappa = math.inf if self.constraint is None else tolerance(self.kappa)
        if not grouped and not math.isinf(kappa):
            warnings.warn(
                "sensitive_features was not passed: the classifier is fitted without a fairness constraint; pass the "
                "groups of the rows, or say so with constraint=None",
                UnconstrainedWarning,
                stacklevel=3,
            )
            kappa = math.inf
        constrained = not math.isinf(kappa)
        if rows.n_groups < 2 and constrained:
            raise InputError(
                f"sensitive_features: all rows are of one group, {rows.group_names[0]!r}; a fairness constraint needs "
                "at least two: check the column, or use constraint=None"
            )
        with value_errors():
            fused = not constrained or plugins.is_fused(str(self.constraint))
            to_device = placement(self.device, self.solver if constrained else "unconstrained", fused)
            training = self._training(rows, weights, to_device)
            self.interval_ = self._interval(training, constrained)
        task = Task(
            train=rows,
            validation=rows.take(np.zeros(0, np.int64)),
            constraint=self.constraint or "",
            interval=self.interval_,
            kappa=kappa,
            grid=self.grid,
            kappa_scale=self.kappa_scale,
            device=self.device,
            uses_group=self.uses_group,
            report=_silent,
            place=to_device,
        )
        return training, task

    def _training(self, rows: Dataset, weights: Any, to_device: Any) -> Training:
        seed = 0 if self.random_state is None else int(random_of(self.random_state).randint(2**31))

        def hold_out() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            strata = 2 * rows.group.astype(np.int64) + (rows.y > 0)
            return stratified_rows(strata, self.validation_fraction, np.random.RandomState(seed))

        penalty = 0.0 if math.isinf(self.C) else 1 / (self.C * self._total_weight)
        options = dict(self.solver_options or {})
        return Training(rows, weights, penalty, self.uses_group, options, to_device, seed, hold_out)

    def _interval(self, training: Training, constrained: bool) -> Any:
        """Return the interval in use; the default one looks at the scores without constraint."""
        if self.interval is not None:
            return self.interval
        if not constrained or self.constraint != PSP:
            return FULL
        scores, group = training.free_scores, training.rows.group
        if self.confidence is not None:
            by_ranks = self.uses_group and self.solver in (AUTO, "ranks")
            scores, rows = self._promised(training).free_scores(by_ranks)
            group = group[rows]
        return (suggest_interval(scores, group, threshold=0.0).interval,)

    def _promised(self, training: Training) -> PromisedTraining:
        """Return the training with the promise that is asked for."""
        assert self.confidence is not None
        return PromisedTraining(training, float(self.confidence), float(self.promise_fraction))

    def _solve(self, training: Training, task: Task, start: Point | None) -> tuple[Trained, Measured]:
        """Train and measure; ``start`` is where the direct solver begins."""
        if self.confidence is None or math.isinf(task.kappa):
            trained = training.train(task, self.solver, start)
        else:
            trained = self._promised(training).train(task, solver_for(task) if self.solver == AUTO else self.solver)
        return trained, measure(ALGORITHM, task, trained.fit)

    def _adopt(self, trained: Trained, measured: Measured, task: Task) -> Self:
        """Set the fitted attributes from a trained model and its measures."""
        self.model_ = trained.fit.model
        self.solver_ = trained.solver
        self.certificate_ = measured
        self.thresholds_ = getattr(self.model_, "aux", np.zeros(0))
        self.selected_ = dict(trained.fit.chosen)
        self.train_violation_ = self.sampling_band_ = None
        self.promise_: Promise | None = trained.promise
        self._describe_line()
        self.status_ = measured.status if measured.reason is None else f"{measured.status}: {measured.reason}"
        if not math.isinf(task.kappa):
            requirement = measured.requirement
            self.train_violation_ = math.nan if requirement is None else requirement.value
            self.sampling_band_ = self._band(trained, task)
            if measured.status != FAILED:
                asked_of = (task.constraint, task.kappa_scale, float(self.train_violation_), task.kappa)
                self.status_ = status_of(*asked_of, trained.remedy)
        if trained.promise is not None and not trained.promise.kept:
            self.status_ = trained.promise.status
        if self.status_ == OK and not math.isinf(task.kappa):
            rows = task.train
            scores = np.asarray(self.model_.scores(rows.X, rows.group))
            if why := idle(task.constraint, task.interval, scores, rows.y, rows.group, rows.group_names):
                self.status_ = why
                warnings.warn(why, UnconstrainedWarning, stacklevel=3)
                return self
        if self.status_ != OK:
            message = f"the constraint is not satisfied on the training rows: {self.status_}"
            if self.status_.startswith(NOT_PROMISED):
                message = f"the constraint is {self.status_}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return self

    def _band(self, trained: Trained, task: Task) -> float | None:
        """By how much the metric may be larger in the population."""
        assert self.train_violation_ is not None
        if trained.promise is not None:
            return max(0.0, trained.promise.bound - self.train_violation_)
        if (task.constraint != PSP and task.constraint not in STRATA) or not self.model_.usable:
            return None
        rows = task.train
        constraint = Constraint.of(task.constraint, task.interval, task.kappa, task.kappa_scale, 0.95, rows.group_names)
        scores = np.asarray(self.model_.scores(rows.X, rows.group))
        by_group = trained.solver in ("ranks", "thresholds")
        return band_of(constraint, scores, rows.y, rows.group, self.train_violation_, by_group)

    def _describe_line(self) -> None:
        """Set ``coef_`` and ``intercept_``, which apply to columns as they were passed."""
        model: Any = self.model_
        line: LinearScore = getattr(model, "linear", model)
        if hasattr(model, "component"):
            line = model.component(int(np.argmax(model.shares)))
        columns = line.standardiser.columns
        weights = line.weights if line.uses_group else line.weights[:1]
        self.coef_ = weights[:, 1:].copy()
        self.coef_[:, columns] /= line.standardiser.scale
        self.intercept_ = weights[:, 0] - self.coef_[:, columns] @ line.standardiser.mean


_FLOATS = [np.float64, np.float32]
_silent: Callable[[str], None] = lambda line: None  # noqa: E731
