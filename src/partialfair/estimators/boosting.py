"""Gradient-boosted trees under a fairness constraint, in the scikit-learn convention; needs LightGBM."""

import copy
import math
import warnings
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from partialfair import plugins
from partialfair.algorithms.linear.rank_map import fit_rank_map
from partialfair.algorithms.measure import OK
from partialfair.constraints.family import built
from partialfair.constraints.program import HingeProgram
from partialfair.data.exchange import to_pandas
from partialfair.data.intervals import FULL, Interval
from partialfair.data.missing_words import MISSING
from partialfair.errors import ConfigError
from partialfair.estimators.binary_classifier import BinaryClassifier
from partialfair.estimators.blind_correction import corrected_columns, fit_correction
from partialfair.estimators.idle_constraints import IDLE, idle
from partialfair.estimators.inputs import (
    InputError,
    UnconstrainedWarning,
    as_matrix,
    check_parts,
    complete_rows,
    features,
    group_codes,
    group_columns,
    known_codes,
    named_texts,
    random_of,
    same_rows,
    stratified_rows,
    value_errors,
)
from partialfair.estimators.labels import binary_labels, plain_labels, weights_of_both
from partialfair.estimators.promise import (
    HELD_OUT,
    OTHER_ROWS,
    STRATA,
    Constraint,
    Promise,
    band_of,
    check_confidence,
    promised_map,
    tested,
)
from partialfair.estimators.settings import boolean, check_constraint, check_options, integer, number, one_of
from partialfair.estimators.training import PSP, status_of, why_missed
from partialfair.estimators.weights import row_weights
from partialfair.metrics import evaluate_all
from partialfair.metrics.choose_interval import suggest_interval

Vector = NDArray[np.float64]
Codes = NDArray[np.int64]
STEEP = 1e6
"""Slope at which the clipped-linear share stands for the indicator."""


class PartialFairBoosting(BinaryClassifier, BaseEstimator):  # type: ignore[misc]
    """LightGBM's trees, grown on the logistic loss and a Lagrangian of the constraint.

    Before every tree, derivatives are taken of the loss plus ``multipliers * constraints``, with shares smoothed by the
    clipped linear function. The multipliers follow the constraints themselves, with indicators, on rows that grow no
    tree, because trees fit a constraint on their own rows as closely as they fit labels (the proxy-Lagrangian on two
    sets of rows of Cotter et al., Training well-generalizing classifiers for fairness metrics and other data-dependent
    constraints, 2019). Of all lengths of the sequence of trees, the one with the least loss within the tolerance on the
    held-out rows is kept, or else the one with the smallest violation.

    Partial statistical parity, a constraint on ranks, needs no multipliers: the trees are grown without it, and the
    held-out rows then make what :class:`partialfair.estimators.PartialFairPostProcessor` makes: one increasing map of
    scores per group or, without the group at prediction, a linear function of the score and of the chances of the
    groups, which further trees learn.

    Args:
        constraint: name of a family on shares, for instance "partial_statistical_parity" or
            "partial_demographic_parity"; ``None`` for none.
        interval, kappa, kappa_scale, grid: as in :class:`partialfair.estimators.PartialFairClassifier`.
        uses_group: whether the score may depend on the group. If not, prediction needs no sensitive features.
        n_estimators, learning_rate, num_leaves, min_child_samples: of the trees, as in LightGBM.
        dual_step: by how much a multiplier grows per tree and unit of violation.
        penalty: weight of the violation itself beside the multipliers.
        holdout_fraction: share of rows that grow no tree, stratified by group and label; 0: all rows for both.
        params: further settings of LightGBM.
        n_jobs: threads; ``None`` for LightGBM's default.
        random_state: seed of the split and of LightGBM; ``None`` for a fixed one, so that every call gives the same
            result.
        confidence: with which the constraint's metric is at most kappa in the population, for instance 0.95; ``None``
            (default) for a statement about the held-out rows alone. For maps it is exact and costs no further rows; a
            linear function is tested on half of the held-out rows. For constraints on shares of decisions a path of
            tolerances is fitted and tested on further rows.
        promise_fraction: share of the rows of that test, which trees and multipliers do not see.
        missing: what is done about rows without a group, a label or a weight: "refuse" them, "drop" them in ``fit``, or
            make a "group", called "missing", of those without a group. Scoring drops no rows.

    Attributes:
        classes_, groups_, group_columns_, n_features_in_, feature_names_in_, interval_: as in the classifier.
        booster_: LightGBM's booster.
        n_trees_: number of trees in use.
        map_: the maps, where there are any.
        group_estimator_, correction_: trees of the group and the linear function, for ranks without the group; ``None``
            otherwise.
        multipliers_: (m,) after the last tree; (0,) where ranks are constrained.
        train_violation_: the constraint's metric on the held-out rows; ``None`` without a constraint.
        sampling_band_: by how much it may be larger in the population, at 95%: for maps made on the held-out rows, or
            else for scores fixed in advance; ``None`` where that is not known.
        promise_: what is promised about new rows (:class:`partialfair.estimators.Promise`); ``None`` without
            ``confidence`` or constraint.
        status_: "ok", or why the constraint is missed.

    Raises:
        ConfigError: in ``fit``, where LightGBM is missing.
    """

    groups_: Any
    map_: Any
    interval_: Any
    correction_: Any
    group_estimator_: Any
    train_violation_: float | None
    sampling_band_: float | None
    promise_: Promise | None

    def __init__(
        self,
        constraint: str | None = PSP,
        interval: Any = None,
        kappa: float = 0.1,
        kappa_scale: str = "relative",
        grid: int = 10,
        uses_group: bool = True,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        dual_step: float = 1.0,
        penalty: float = 1.0,
        holdout_fraction: float = 0.3,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        confidence: float | None = None,
        promise_fraction: float = 0.5,
        missing: str = "refuse",
    ) -> None:
        self.constraint = constraint
        self.interval = interval
        self.kappa = kappa
        self.kappa_scale = kappa_scale
        self.grid = grid
        self.uses_group = uses_group
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.dual_step = dual_step
        self.penalty = penalty
        self.holdout_fraction = holdout_fraction
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.confidence = confidence
        self.promise_fraction = promise_fraction
        self.missing = missing

    def __sklearn_tags__(self) -> Any:
        """Missing values are LightGBM's to take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: ArrayLike, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees, and make the maps.

        Args:
            X: features (n, d): numbers, missing ones as NaN.
            y: (n,) labels with two values.
            sensitive_features: (n,) groups, or several columns; without them nothing is constrained.
            sample_weight: (n,) weights in the loss; the constraint counts every row once.

        Raises:
            InputError: data or settings that cannot be used; also a ValueError.
            ConfigError: LightGBM is missing.
        """
        self._check_settings()
        same_rows(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        X, y, sensitive_features, sample_weight = complete_rows(self.missing, X, y, sensitive_features, sample_weight)
        if self._is_tested and sensitive_features is not None:
            return self._fit_tested(X, y, sensitive_features, sample_weight)
        with named_texts(X):
            X, y = validate_data(self, features(X), plain_labels(to_pandas(y)), **_CHECKS)
        X = as_matrix(X)
        self.classes_, positive = binary_labels(y)
        labels = np.where(positive, 1.0, -1.0)
        weights_passed = row_weights(sample_weight, labels.size)
        weights = np.ones(labels.size) if weights_passed is None else weights_passed
        weights_of_both(weights, positive, self.classes_)
        codes, constrained = self._groups(sensitive_features, labels.size)
        tree_rows = held_out = np.arange(labels.size)
        self._sees_group = bool(self.uses_group)  # what the trees were grown on, whatever is set afterwards
        with value_errors():
            ranked = constrained and self.constraint == PSP
            if constrained and self.holdout_fraction > 0:
                random = random_of(self.random_state)
                tree_rows, held_out = stratified_rows(2 * codes + positive, self.holdout_fraction, random)
            if constrained:
                uses = {"for the trees": tree_rows, "held out": held_out}
                compared = [label > 0 for label in STRATA.get(str(self.constraint), ())]
                check_parts(uses, codes, self.groups_, "holdout_fraction", (positive, compared))
            seen = self._columns(X, codes)
            rows = _Rows(seen, labels, codes, weights / weights.mean())
            unseen = rows.take(held_out)
            self._grow(rows.take(tree_rows), unseen, constrained and not ranked)
        self.map_ = self.group_estimator_ = self.correction_ = None
        self.status_, self.train_violation_, self.sampling_band_, self.promise_ = OK, None, None, None
        if ranked and not self.uses_group:
            self._correct(rows.take(tree_rows), unseen, weights_passed is not None)
        elif constrained:
            if ranked and self.interval is None:
                self.interval_ = (suggest_interval(self._raw(unseen.X), unseen.codes, threshold=0.0).interval,)
            self._impose(self._raw(unseen.X), unseen.y, unseen.codes, ranked)
        return self

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Vector:
        """Return the scores (n,): log-odds of the positive class, as far as the constraint leaves them so.

        Raises:
            InputError: groups missing, or not among those of ``fit``.
        """
        check_is_fitted(self, "booster_")
        same_rows(X=X, sensitive_features=sensitive_features)
        with named_texts(X):
            X = validate_data(self, features(X), reset=False, **_CHECKS)
        X = as_matrix(X)
        codes = np.zeros(X.shape[0], np.int64)
        if self._sees_group and self.groups_ is not None:
            if sensitive_features is None:
                raise InputError(
                    "sensitive_features is missing, and the scores of this model depend on the group; pass it, or fit "
                    "with uses_group=False"
                )
            codes = known_codes(sensitive_features, self.groups_, X.shape[0], self.group_columns_, self.missing)
        seen = self._columns(X, codes)
        scores = self._raw(seen)
        if self.correction_ is not None:
            columns = corrected_columns(scores, self.group_estimator_.predict_proba(seen))
            return np.asarray(self.correction_.decision_function(columns))
        return scores if self.map_ is None else np.asarray(self.map_.apply(scores, codes))

    def _check_settings(self) -> None:
        """Refuse settings that cannot be used, whatever the rows; LightGBM checks its own.

        Raises:
            InputError: naming the setting, its value and what is accepted.
        """
        check_constraint(self.constraint, self.kappa, self.kappa_scale, self.interval, self.grid)
        boolean("uses_group", self.uses_group)
        integer("n_estimators", self.n_estimators)
        number("learning_rate", self.learning_rate, lambda rate: 0 < rate < math.inf, "a positive number")
        for name in ("dual_step", "penalty"):
            number(name, getattr(self, name), lambda value: 0 <= value < math.inf, "0 or a positive number")
        number("holdout_fraction", self.holdout_fraction, lambda share: 0 <= share < 1, "a number from 0 to below 1")
        check_options("params", self.params)
        check_confidence(self.confidence, self.promise_fraction)
        one_of("missing", self.missing, MISSING)
        promised = self.confidence is not None and self.constraint is not None and not math.isinf(self.kappa)
        for name in ("promise_fraction",) if self._is_tested else ("holdout_fraction",) if promised else ():
            if getattr(self, name) == 0:
                raise InputError(
                    f"confidence is {self.confidence:g}, and {name} 0 leaves no rows that the trees have not seen; "
                    f"hold some out, such as {name}=0.3"
                )
        for name in _ROUNDS & set(self.params or {}):
            raise InputError(f"params has {name!r}; the number of trees is n_estimators")

    @property
    def _is_tested(self) -> bool:
        """Tell whether a promise needs further rows, which test the fitted model: always, but for ranks."""
        constrained = self.constraint is not None and not math.isinf(self.kappa)
        return self.confidence is not None and constrained and self.constraint != PSP

    def _fit_tested(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Self:
        """Fit a path of tolerances on some of the rows, and keep the last that passes on the others."""
        X, y = indexable(X, plain_labels(to_pandas(y)))
        _, positive = binary_labels(y)
        codes, names = group_codes(sensitive_features, positive.size, missing=self.missing)
        weights = row_weights(sample_weight, positive.size)
        with value_errors():
            settings_asked = (
                str(self.constraint),
                FULL if self.interval is None else self.interval,
                self.kappa,
                self.kappa_scale,
            )
            # Other families are refused at once.
            Constraint.of(*settings_asked, float(self.confidence or 0), names.tolist())
            tree_rows, testing = stratified_rows(
                2 * codes + positive, self.promise_fraction, random_of(self.random_state)
            )
            uses = {"for the trees": tree_rows, "for the test of the promise": testing}
            labels = [label > 0 for label in STRATA.get(str(self.constraint), ())]
            check_parts(uses, codes, names.tolist(), "promise_fraction", (positive, labels))
        untested = copy.copy(self).set_params(confidence=None)
        X_kept, y_kept = _safe_indexing(X, tree_rows), _safe_indexing(y, tree_rows)
        X_testing = _safe_indexing(X, testing)

        def fit(kappa: float) -> "PartialFairBoosting":
            model = copy.copy(untested).set_params(kappa=kappa)
            share = None if weights is None else weights[tree_rows]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the promise says what holds
                return model.fit(X_kept, y_kept, sensitive_features=names[codes[tree_rows]], sample_weight=share)

        def scores_of(model: "PartialFairBoosting") -> Vector:
            return model.decision_function(X_testing, sensitive_features=names[codes[testing]])

        with value_errors():
            constraint = Constraint.of(
                settings_asked[0],
                FULL if untested.interval is None else untested.interval,
                *settings_asked[2:],
                float(self.confidence or 0),
                names.tolist(),
            )
            y_testing = np.where(positive[testing], 1.0, -1.0)
            best = tested(fit, scores_of, (y_testing, codes[testing]), constraint, HELD_OUT)
        settings = self.get_params(deep=False)
        self.__dict__.update(best.model.__dict__ | settings)
        self.promise_, self.group_columns_ = best.promise, group_columns(sensitive_features)
        assert self.train_violation_ is not None
        asked_of = str(self.constraint), self.kappa_scale, self.train_violation_, self.kappa
        self.status_ = best.model.status_ if best.promise.kept else best.promise.status
        if best.promise.kept and not best.model.status_.startswith(IDLE):
            self.status_ = status_of(*asked_of, "raise kappa", "held-out rows")
        self.sampling_band_ = max(0.0, best.promise.bound - self.train_violation_)
        if self.status_ != OK:
            warnings.warn(self.status_, ConvergenceWarning, stacklevel=3)
        return self

    def _groups(self, sensitive_features: Any, n_rows: int) -> tuple[Codes, bool]:
        """Return the codes (n,), and whether anything is constrained; sets ``groups_``."""
        self.group_columns_ = group_columns(sensitive_features)
        self.groups_, constrained = None, self.constraint is not None and not math.isinf(self.kappa)
        if sensitive_features is None:
            if constrained:
                warnings.warn(
                    "sensitive_features was not passed: trees are grown without a fairness constraint; pass the groups "
                    "of the rows, or say so with constraint=None",
                    UnconstrainedWarning,
                    stacklevel=3,
                )
            return np.zeros(n_rows, np.int64), False
        codes, self.groups_ = group_codes(sensitive_features, n_rows, missing=self.missing)
        return codes, constrained

    def _columns(self, X: Any, codes: Codes) -> Any:
        """Return what the trees see: the group is the last column, if they may."""
        if not self._sees_group or self.groups_ is None:
            return X
        last = codes[:, None].astype(X.dtype)
        return sparse.csr_array(sparse.hstack([X, last])) if sparse.issparse(X) else np.hstack([X, last])

    def _raw(self, seen: Any) -> Vector:
        """Return the log-odds (n,) of the first ``n_trees_`` trees."""
        margins = self.booster_.predict(seen, raw_score=True, num_iteration=self.n_trees_)
        return np.asarray(margins, np.float64) + self.start_

    def _settings(self) -> dict[str, Any]:
        """Return LightGBM's settings, with a seed."""
        seed = int(random_of(self.random_state).randint(2**31 - 1))
        return {
            "learning_rate": self.learning_rate, "num_leaves": self.num_leaves, "seed": seed, "verbosity": -1,
            "min_child_samples": self.min_child_samples, "deterministic": True, "force_row_wise": True,
            "num_threads": self.n_jobs or 0, "feature_pre_filter": False, **(self.params or {}),
        }  # fmt: skip

    def _grow(self, rows: "_Rows", held_out: "_Rows", constrained: bool) -> None:
        """Grow the trees; sets ``booster_``, ``n_trees_``, ``start_``, ``multipliers_`` and ``interval_``."""
        share = np.clip(np.average(rows.y > 0, weights=rows.weight), 1e-6, 1 - 1e-6)
        self.start_ = float(np.log(share / (1 - share)))
        objective = _Lagrangian(rows, held_out, self.start_)
        self.interval_ = FULL if self.interval is None else self.interval
        if constrained:
            programs = self._program(rows), self._program(held_out)
            objective = _Lagrangian(rows, held_out, self.start_, programs, self.dual_step, self.penalty, self._gap)
        self.booster_ = _trained(self._settings(), objective, self.n_estimators)
        self.n_trees_ = objective.best(self.kappa) if constrained else self.n_estimators
        self.multipliers_ = objective.multipliers

    def _correct(self, rows: "_Rows", held_out: "_Rows", weighted: bool) -> None:
        """Learn the group from the features, and fit the linear function on the rows held out."""
        import lightgbm

        settings = {name: value for name, value in self._settings().items() if name not in _OF_LABELS}
        settings.setdefault("n_jobs", settings.pop("num_threads"))
        trees = lightgbm.LGBMClassifier(n_estimators=self.n_estimators, **settings)
        try:
            self.group_estimator_ = trees.fit(rows.X, rows.codes, sample_weight=rows.weight if weighted else None)
        except lightgbm.basic.LightGBMError as error:
            raise InputError(f"LightGBM refuses to learn the group: {error}; check params") from error
        columns = corrected_columns(self._raw(held_out.X), trees.predict_proba(held_out.X))
        groups = np.asarray(self.groups_)[held_out.codes]
        fit_correction(self, columns, held_out.y, groups, held_out.weight if weighted else None)

    def _program(self, rows: "_Rows") -> HingeProgram:
        """Return the constraints on rows; refused if they do not compare shares."""
        program = built(
            str(self.constraint), rows.codes.astype(np.int16), rows.y, interval=Interval.of(self.interval_),
            kappa=self.kappa, grid=self.grid, kappa_scale=self.kappa_scale,
        )  # fmt: skip
        if not isinstance(program, HingeProgram):
            raise InputError(
                f"constraint {self.constraint!r} compares other than shares; use partial_statistical_parity, "
                "partial_demographic_parity, partial_equal_opportunity or partial_equalized_odds"
            )
        return program

    def _gap(self, scores: Vector, y: Vector, codes: Codes) -> float:
        """Return the metric that kappa bounds; infinite where it cannot be estimated."""
        metric = plugins.load("constraints", str(self.constraint)).VIOLATION[self.kappa_scale]
        value = evaluate_all(scores, y, codes, Interval.of(self.interval_), only=(metric,))[0][metric]
        return math.inf if value is None else float(value)

    def _impose(self, scores: Vector, y: Vector, codes: Codes, mapped: bool) -> None:
        """Make the maps, if any, and measure."""
        names = tuple(map(str, self.groups_))
        interval, sizes, remedy = Interval.of(self.interval_), np.bincount(codes, minlength=len(names)), "raise kappa"
        with value_errors(names):
            unions = interval.for_groups(len(names))  # refuses intervals for another number of groups
            if mapped:
                if self.confidence is None or interval.per_group:
                    options = {"interval": interval, "kappa": self.kappa, "kappa_scale": self.kappa_scale}
                    fitted_map = fit_rank_map(scores, codes, names, **options)  # type: ignore[arg-type]
                else:
                    constraint = Constraint.of(PSP, interval, self.kappa, self.kappa_scale, self.confidence, names)
                    fitted_map, self.promise_ = promised_map(scores, codes, constraint, OTHER_ROWS).pair
                self.map_, scores, remedy = fitted_map.mapping, fitted_map.scores, why_missed(fitted_map, sizes, names)
            gap = self._gap(scores, y, codes)
            if self.promise_ is not None:
                self.sampling_band_ = max(0.0, self.promise_.bound - gap)
            elif self.constraint == PSP or self.constraint in STRATA:
                constraint = Constraint.of(str(self.constraint), unions, self.kappa, self.kappa_scale, 0.95, names)
                self.sampling_band_ = band_of(constraint, scores, y, codes, gap, mapped)
        self.train_violation_ = gap
        asked_of = str(self.constraint), self.kappa_scale, gap, self.kappa
        self.status_ = status_of(*asked_of, remedy, "held-out rows")
        if self.promise_ is not None and not self.promise_.kept:
            self.status_ = self.promise_.status
        if self.status_ != OK:
            warnings.warn(self.status_, ConvergenceWarning, stacklevel=3)
        elif why := idle(self.constraint, interval, scores, y, codes, names):
            self.status_ = why
            warnings.warn(why, UnconstrainedWarning, stacklevel=3)


_ROUNDS = {
    "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds", "nrounds",
    "num_boost_round", "n_estimators", "max_iter",
}  # fmt: skip
"""What LightGBM takes for the number of trees, which is a setting of the estimator."""
_OF_LABELS = ("objective", "metric", "num_class", "scale_pos_weight", "is_unbalance")
"""What in ``params`` is about the labels, and not for the trees that learn the group."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Features, labels -1 and +1 (n,), group codes (n,), and weights (n,) in the loss."""

    X: Any
    y: Vector
    codes: Codes
    weight: Vector

    def take(self, rows: Codes) -> "_Rows":
        """Some of the rows."""
        return _Rows(self.X[rows], self.y[rows], self.codes[rows], self.weight[rows])


@dataclass(eq=False)
class _Lagrangian:
    """LightGBM's objective on the rows that grow trees, and the multipliers, which follow the held-out rows."""

    rows: _Rows
    held_out: _Rows
    start: float
    programs: tuple[HingeProgram, HingeProgram] | None = None
    dual_step: float = 0.0
    penalty: float = 0.0
    gap: Any = None
    history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.multipliers = np.zeros(0 if self.programs is None else self.programs[0].n_constraints)
        self.active = self.multipliers

    def derivatives(self, raw: Any, data: Any) -> tuple[Vector, Vector]:
        """First and second derivatives (n,) of the loss summed over rows, and of as many times the constraints."""
        scores, (y, weight) = np.asarray(raw, np.float64) + self.start, (self.rows.y, self.rows.weight)
        chance = expit(scores)
        gradient, curvature = weight * (chance - (y > 0)), weight * np.maximum(chance * (1 - chance), 1e-6)
        if self.programs is not None:
            program = self.programs[0]
            pull = y.size * program.vjp(scores, _thresholds(program, scores), self.active)[0]
            # The clipped linear function is steep for a width of one score: no step from its slope alone is longer.
            gradient, curvature = gradient + pull, curvature + np.abs(pull)
        return gradient, curvature

    def watch(self, raw: Any, data: Any) -> tuple[str, float, bool]:
        """After every tree: move the multipliers, and note loss and violation of the held-out rows."""
        assert self.programs is not None
        scores, held_out, program = np.asarray(raw, np.float64) + self.start, self.held_out, self.programs[1]
        sharp = program.values(scores * STEEP, _thresholds(program, scores) * STEEP)
        self.multipliers = np.maximum(self.multipliers + self.dual_step * sharp, 0.0)
        self.active = self.multipliers + self.penalty * np.maximum(sharp, 0.0)
        loss = mean_loss(scores, held_out.y, held_out.weight)
        self.history.append((loss, self.gap(scores, held_out.y, held_out.codes)))
        return "loss", loss, False

    def best(self, kappa: float) -> int:
        """Return the number of trees, at least one."""
        losses, gaps = np.array(self.history).T
        within = np.flatnonzero(gaps <= kappa)
        return int(within[losses[within].argmin()] if within.size else gaps.argmin()) + 1


def mean_loss(scores: Vector, y: Vector, weight: Vector) -> float:
    """Weighted mean of the logistic loss of scores (n,) for labels -1 and +1."""
    return float(np.average(np.logaddexp(0.0, -y * scores), weights=weight))


def _thresholds(program: HingeProgram, scores: Vector) -> Vector:
    """Return the thresholds (P,) above which each rank's share of all rows lies."""
    if not program.n_aux:
        return np.zeros(0)
    shares = np.clip(0.5 - (program.start - program.start_score), 0.0, 1.0)
    return np.asarray(np.quantile(scores, 1 - shares))


def _trained(settings: dict[str, Any], objective: _Lagrangian, n_trees: int) -> Any:
    """LightGBM's booster of so many trees."""
    try:
        import lightgbm
    except ImportError as error:
        raise ConfigError("boosted trees need LightGBM; install `partialfair[boosting]`") from error
    data = lightgbm.Dataset(objective.rows.X)
    watched: dict[str, Any] = {}
    if objective.programs is not None:
        valid = lightgbm.Dataset(objective.held_out.X, reference=data)
        watched = {"valid_sets": [valid], "feval": lambda raw, data: objective.watch(raw, data)}
    # Plain functions: LightGBM copies its settings deeply, and a method with its object.
    settings = {**settings, "metric": "None", "objective": lambda raw, data: objective.derivatives(raw, data)}
    try:
        return lightgbm.train(settings, data, n_trees, **watched)
    except lightgbm.basic.LightGBMError as error:
        raise InputError(f"LightGBM refuses: {error}; check params, and that columns of X vary") from error


_FLOATS = [np.float64, np.float32]
_CHECKS: dict[str, Any] = {"accept_sparse": "csr", "dtype": _FLOATS, "ensure_all_finite": "allow-nan"}
