"""Partial statistical parity for the scores of any classifier, in the scikit-learn convention."""

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from partialfair.algorithms.linear.rank_map import fit_rank_map, gap_measure
from partialfair.algorithms.measure import OK
from partialfair.constraints.tolerance import KAPPA_SCALES
from partialfair.data.intervals import Interval
from partialfair.data.missing_words import MISSING
from partialfair.data.weights import effective_rows, whole_weights
from partialfair.estimators.binary_classifier import BinaryClassifier
from partialfair.estimators.blind_correction import corrected_columns, fit_correction
from partialfair.estimators.inputs import (
    InputError,
    UnconstrainedWarning,
    check_parts,
    complete_rows,
    features,
    group_codes,
    group_columns,
    known_codes,
    named_texts,
    random_of,
    same_rows,
    score_vector,
    stratified_rows,
    value_errors,
)
from partialfair.estimators.labels import binary_labels, same_classes, weights_of_both, weights_of_groups
from partialfair.estimators.probability_maps import are_probabilities, within_unit
from partialfair.estimators.promise import (
    OTHER_ROWS,
    Constraint,
    Promise,
    check_confidence,
    map_band,
    promised_map,
    refuse_weights,
)
from partialfair.estimators.settings import boolean, check_interval, number, one_of, tolerance
from partialfair.estimators.training import PSP, sampling_radius, status_of, why_missed
from partialfair.estimators.weights import fitted, row_weights, suggested_interval

Vector = NDArray[np.float64]
FEATURES = ("n_features_in_", "feature_names_in_")
SURE = 1e-9
"""Probabilities nearer to 0 or 1 count as this near."""


class PartialFairPostProcessor(BinaryClassifier, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Map the scores of a classifier so that the ranks of groups agree within kappa on an interval.

    One increasing map of scores per group: every group keeps its own order, and its AUC. The classifier may be of any
    kind with ``decision_function`` or ``predict_proba``; it is fitted on one part of the rows, and the maps are made on
    the other, because scores of rows that a flexible model was fitted on say little of other rows. The constraint holds
    on the rows that the maps were made on; audit further rows.

    The maps need the group at prediction time. With ``uses_group=False`` a second classifier learns the group from the
    features, and the score is a linear function of the first one's score, the chances of the groups, and their
    products, fitted under the constraint. Where decisions at one threshold are to have equal rates and the group is
    not known, the most accurate rule moves each row's threshold by the chances of its groups (Menon and Williamson,
    The cost of fairness in binary classification, 2018).

    Args:
        estimator: a classifier of two classes; by default logistic regression.
        interval: disjoint pairs [alpha, beta) of ranks (0 = highest score); by default the one that covers the positive
            rate of the classifier and on which it is least fair.
        kappa: tolerance; infinity for no constraint.
        kappa_scale: "relative" (kappa times the length of the interval) or "absolute".
        prefit: whether the estimator is fitted already, on the two labels that y has; all rows then make the maps.
        map_fraction: share of rows that the maps are made on, stratified by group and label; 0: all rows for both.
        random_state: seed of that choice; ``None`` for a fixed one, so that every call gives the same result.
        uses_group: whether the score may depend on the group. If not, prediction needs no sensitive features.
        group_estimator: a classifier with ``predict_proba`` of the group; by default the kind of ``estimator``. It is
            always fitted, on the rows that the estimator is fitted on, or with ``prefit`` on the first part of a split.
        confidence: with which the metric of the mapped scores is at most kappa in the population, for instance 0.95;
            ``None`` (default) for a statement about the rows of the maps alone. For maps it is exact whatever the
            classifier, and costs no further rows, if the classifier has not seen the rows of the maps. Without the
            group half of these rows test the correction, see :class:`partialfair.estimators.PartialFairClassifier`.
        missing: what is done about rows without a group, a label, a score or a weight: "refuse" them, "drop" them in
            ``fit``, or make a "group", called "missing", of those without a group. Scoring drops no rows.

    Attributes:
        classes_: (2,) labels; ``classes_[1]`` is predicted where the mapped score is positive.
        n_features_in_, feature_names_in_: of the fitted classifier, where it has them.
        estimator_: the fitted classifier; this, ``classes_`` and the features are not there after ``fit_scores``.
        groups_: names of the groups; ``None`` without.
        group_columns_: as in the classifier.
        map_: the maps; ``map_.save(path)`` writes them, :func:`partialfair.models.stored.load_model` reads them.
            ``None`` without.
        group_estimator_: the classifier of the group; ``correction_``: the linear function, a
            :class:`partialfair.estimators.PartialFairClassifier`. Both only with ``uses_group=False``.
        interval_: the interval in use.
        train_violation_: the metric on the rows that the maps were made on; ``sampling_band_``: by how much it may be
            larger in the population, at 95%, for maps that were made on these rows.
        promise_: what is promised about new rows (:class:`partialfair.estimators.Promise`); ``None`` without
            ``confidence`` or constraint.
        status_: "ok", or why the constraint is missed.
    """

    groups_: Any
    map_: Any
    correction_: Any
    group_estimator_: Any
    train_violation_: float | None
    sampling_band_: float | None
    promise_: Promise | None

    def __init__(
        self,
        estimator: Any = None,
        interval: Any = None,
        kappa: float = 0.1,
        kappa_scale: str = "relative",
        prefit: bool = False,
        map_fraction: float = 0.3,
        random_state: Any = None,
        uses_group: bool = True,
        group_estimator: Any = None,
        confidence: float | None = None,
        missing: str = "refuse",
    ) -> None:
        self.estimator = estimator
        self.interval = interval
        self.kappa = kappa
        self.kappa_scale = kappa_scale
        self.prefit = prefit
        self.map_fraction = map_fraction
        self.random_state = random_state
        self.uses_group = uses_group
        self.group_estimator = group_estimator
        self.confidence = confidence
        self.missing = missing

    def fit(self, X: Any, y: ArrayLike, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Fit the classifier, unless it is fitted, and the maps.

        Args:
            X: features (n, d) as the classifier takes them.
            y: (n,) labels with two values.
            sensitive_features: (n,) groups, or several columns; without them nothing is constrained.
            sample_weight: (n,) weights of the rows: a row counts as so many in the classifier's loss and in the ranks
                of the maps. With ``uses_group=False`` they count in the losses alone.

        Raises:
            InputError: data or settings that cannot be used; also a ValueError.
        """
        features(X)
        X, y = indexable(X, y)
        same_rows(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        self._check_settings()
        X, y, sensitive_features, sample_weight = complete_rows(self.missing, X, y, sensitive_features, sample_weight)
        codes, labels = self._prepared(X, y, sensitive_features)
        weights = row_weights(sample_weight, labels.size)
        if weights is not None:
            weights_of_both(weights, labels == 1, self.classes_)
        self.correction_ = self.group_estimator_ = None
        y = self.classes_[labels]
        fitting, mapped = self._division(codes, labels)
        if self.prefit:
            self.estimator_ = self.estimator
        else:
            model = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
            with named_texts(X):
                self.estimator_ = fitted(model, X, y, fitting, weights)
        same_classes(self.estimator_, self.classes_)
        for name in FEATURES:
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        scores = self._scores(X)
        if codes is None or math.isinf(self.kappa):
            self.map_, self.status_, self.train_violation_, self.sampling_band_ = None, OK, None, None
            self.promise_ = None
            self.__dict__.pop("interval_", None)
            return self
        if self.uses_group:
            return self._map(scores[mapped], codes[mapped], None if weights is None else weights[mapped], threshold=0.0)
        return self._correct(X, labels, codes, scores, fitting, mapped, weights)

    def fit_scores(self, scores: ArrayLike, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Fit the maps alone, on scores (n,) from elsewhere and their groups; then see :meth:`map_scores`.

        A row with a weight (n,) counts as so many.

        A classifier that was fitted before is forgotten. Without an ``interval``, scores that all lie in [0, 1] are
        taken for probabilities, with decisions at 0.5, and others for log-odds. Maps of probabilities lead to
        probabilities.

        Raises:
            InputError: scores, groups or settings that cannot be used; also a ValueError.
        """
        self._check_settings()
        if not self.uses_group:
            raise InputError("uses_group is False, and maps of scores need the group; use fit, or uses_group=True")
        same_rows(scores=scores, sensitive_features=sensitive_features, sample_weight=sample_weight)
        scores, _, sensitive_features, sample_weight = complete_rows(
            self.missing, scores, None, sensitive_features, sample_weight, scored=True
        )
        vector = score_vector(scores)
        codes, self.groups_ = group_codes(sensitive_features, vector.size, missing=self.missing)
        self.group_columns_ = group_columns(sensitive_features)
        for name in ("estimator_", "group_estimator_", "correction_", "classes_", *FEATURES):
            self.__dict__.pop(name, None)
        return self._map(vector, codes, row_weights(sample_weight, vector.size))

    def map_scores(self, scores: ArrayLike, *, sensitive_features: Any) -> Vector:
        """Mapped scores (n,) of scores (n,).

        Raises:
            InputError: scores that are missing or in several columns, or groups missing or not among those of the maps.
        """
        check_is_fitted(self, "status_")
        same_rows(scores=scores, sensitive_features=sensitive_features)
        vector = score_vector(scores, finite=False)
        if self.map_ is None:
            return vector
        if sensitive_features is None:
            raise InputError("sensitive_features is missing, and each group has a map of its own; pass the groups")
        codes = known_codes(sensitive_features, self.groups_, vector.size, self.group_columns_, self.missing)
        return np.asarray(self.map_.apply(vector, codes))

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Vector:
        """Mapped scores (n,): log-odds where the classifier gives probabilities."""
        check_is_fitted(self, "estimator_", msg="%(name)s has no classifier yet; call fit, or map_scores for scores")
        same_rows(X=X, sensitive_features=sensitive_features)
        with named_texts(X):
            scores = self._scores(features(X))
        if self.correction_ is not None:
            return np.asarray(self.correction_.decision_function(self._derived(X, scores)))
        return self.map_scores(scores, sensitive_features=sensitive_features)

    def _check_settings(self) -> None:
        """Refuse settings that cannot be used, whatever the rows.

        Raises:
            InputError: naming the setting, its value and what is accepted.
        """
        tolerance(self.kappa)
        for name in ("prefit", "uses_group"):
            boolean(name, getattr(self, name))
        one_of("kappa_scale", self.kappa_scale, KAPPA_SCALES)
        check_interval(self.interval)
        number("map_fraction", self.map_fraction, lambda share: 0 <= share < 1, "a number from 0 to below 1")
        check_confidence(self.confidence)
        one_of("missing", self.missing, MISSING)

    def _prepared(self, X: Any, y: Any, sensitive_features: Any) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
        """Return the codes (n,) of the groups, or ``None``, and of the labels; sets ``classes_`` and ``groups_``."""
        if self.prefit and self.estimator is None:
            raise InputError("prefit is true and there is no estimator; pass the fitted one, or set prefit to False")
        if not _num_samples(X):
            raise InputError("X has no rows, while a minimum of 2 is required")
        self.classes_, positive = binary_labels(y)
        labels = positive.astype(np.int64)
        self._check_settings()
        self.groups_, self.group_columns_ = None, group_columns(sensitive_features)
        if sensitive_features is None:
            if not math.isinf(self.kappa):
                warnings.warn(
                    "sensitive_features was not passed: scores are not mapped, and nothing is constrained; pass the "
                    "groups of the rows, or say so with kappa=inf",
                    UnconstrainedWarning,
                    stacklevel=3,
                )
            return None, labels
        codes, self.groups_ = group_codes(sensitive_features, _num_samples(X), missing=self.missing)
        return codes, labels

    def _division(
        self, codes: NDArray[np.int64] | None, labels: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows for the classifier, and rows for the maps."""
        all_rows = np.arange(labels.size)
        shared = self.prefit and self.uses_group
        seen = codes is not None and not self.prefit and self.map_fraction == 0
        if seen and self.confidence is not None and not math.isinf(self.kappa):
            raise InputError(
                f"confidence is {self.confidence:g}, and map_fraction 0 makes the maps on rows that the classifier has "
                "seen, whose ranks promise nothing; hold rows out for the maps, such as map_fraction=0.3"
            )
        if codes is None or shared or self.map_fraction == 0 or math.isinf(self.kappa):
            return all_rows, all_rows
        fitting, mapped = stratified_rows(2 * codes + labels, self.map_fraction, random_of(self.random_state))
        check_parts({"for the maps": mapped}, codes, self.groups_, "map_fraction")
        return fitting, mapped

    def _scores(self, X: Any) -> Vector:
        """Return the scores (n,) of the classifier, positive for ``classes_[1]``."""
        model = self.estimator_
        if hasattr(model, "decision_function"):
            scores = np.asarray(model.decision_function(X), np.float64)
            if scores.size != _num_samples(X):
                raise InputError(
                    f"estimator: its decision_function has shape {scores.shape} for {_num_samples(X)} rows; use a "
                    "classifier of two classes that gives one score per row"
                )
            return scores.ravel()
        if not hasattr(model, "predict_proba"):
            raise InputError(f"estimator {type(model).__name__} has neither decision_function nor predict_proba")
        return np.asarray(logit(np.clip(np.asarray(model.predict_proba(X))[:, 1], SURE, 1 - SURE)))

    def _derived(self, X: Any, scores: Vector) -> Vector:
        """Return the columns (n, 2 G - 1) of the linear function."""
        return corrected_columns(scores, self.group_estimator_.predict_proba(X))

    def _correct(
        self, X: Any, labels: NDArray[np.int64], codes: NDArray[np.int64], scores: Vector, fitting: Any, mapped: Any,
        weights: Vector | None,
    ) -> Self:  # fmt: skip
        """Learn the group from the features, and fit the linear function on the rows held out."""
        model = self.group_estimator if self.group_estimator is not None else self.estimator
        model = LogisticRegression(max_iter=1000) if model is None else clone(model)
        if not hasattr(model, "predict_proba"):
            raise InputError(f"{type(model).__name__} has no predict_proba; pass a group_estimator that has")
        self.group_estimator_ = fitted(model, X, codes, fitting, weights)
        fit_correction(
            self, self._derived(X, scores)[mapped], labels[mapped], self.groups_[codes[mapped]],
            None if weights is None else weights[mapped],
        )  # fmt: skip
        return self

    def _map(
        self, scores: Vector, codes: NDArray[np.int64], weights: Vector | None = None, threshold: float | None = None
    ) -> Self:
        names = tuple(map(str, self.groups_))
        if weights is not None:
            weights_of_groups(weights, codes, names)
            counted = weights > 0
            scores, codes, weights = scores[counted], codes[counted], weights[counted]
        with value_errors(names):
            self.interval_ = self.interval
            if self.interval is None:
                self.interval_ = (suggested_interval(scores, codes, weights, threshold),)
            read = Interval.of(self.interval_)
            unions = read.for_groups(len(names))  # refuses intervals for another number of groups
            self.promise_ = None
            if self.confidence is None or math.isinf(self.kappa):
                options = {"interval": read, "kappa": self.kappa, "kappa_scale": self.kappa_scale, "weights": weights}
                fitted_map = fit_rank_map(scores, codes, names, **options)  # type: ignore[arg-type]
            else:
                refuse_weights(weights)
                if read.per_group:
                    fit_rank_map(scores, codes, names, interval=read, kappa=self.kappa)  # which refuses it
                constraint = Constraint.of(PSP, read, self.kappa, self.kappa_scale, self.confidence, names)
                fitted_map, self.promise_ = promised_map(scores, codes, constraint, OTHER_ROWS).pair
            self.map_, self.train_violation_ = fitted_map.mapping, fitted_map.gap
            if threshold is None and are_probabilities(scores):
                self.map_ = within_unit(fitted_map.mapping)
                self.train_violation_ = gap_measure(codes, unions, self.kappa_scale, weights)(
                    self.map_.apply(scores, codes)
                )
        integer_weights = None if weights is None else whole_weights(weights)
        sizes = effective_rows(integer_weights, codes, len(names)).astype(np.int64)
        if self.promise_ is not None:
            self.sampling_band_ = max(0.0, self.promise_.bound - self.train_violation_)
        elif weights is None:
            self.sampling_band_ = map_band(fitted_map.scores, codes, unions, self.kappa_scale, fitted_map.gap)
        else:
            self.sampling_band_ = sampling_radius(sizes[None], read.first, self.kappa_scale)
        remedy = why_missed(fitted_map, sizes, names)
        self.status_ = status_of(PSP, self.kappa_scale, self.train_violation_, self.kappa, remedy, "rows of the maps")
        if self.promise_ is not None and not self.promise_.kept:
            self.status_ = self.promise_.status
        if self.status_ != OK:
            warnings.warn(self.status_, ConvergenceWarning, stacklevel=3)
        return self
