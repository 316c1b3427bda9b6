"""A regression made into a predictor with equal distributions for all groups, in the scikit-learn convention."""

import copy
import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from partialfair.algorithms.measure import OK
from partialfair.algorithms.regression.grid_parity import GridParity
from partialfair.algorithms.regression.quantile_maps import QuantileMaps, even_lots, sampling_band, weighted_distance
from partialfair.data import intake, missing_words
from partialfair.data.exchange import to_pandas
from partialfair.data.groups import text_of
from partialfair.data.predictions import Predictions
from partialfair.data.weights import rows_counted
from partialfair.estimators.folds import out_of_fold
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
    stratified_rows,
    takes_missing,
    value_errors,
)
from partialfair.estimators.labels import weights_of_groups
from partialfair.estimators.parity_settings import check_number_of_groups, check_settings
from partialfair.estimators.parity_status import Asked, atom_sums, deviations, expected_sums
from partialfair.estimators.promise import (
    HELD_OUT,
    OTHER_ROWS,
    OUT_OF_FOLD,
    PSP,
    Constraint,
    Promise,
    refuse_weights,
    tested,
    widest,
)
from partialfair.estimators.threads import on_one_thread
from partialfair.estimators.weights import fitted, repeated, row_weights, without_unit
from partialfair.metrics.rank_noise import RankNoise
from partialfair.models.row_lots import row_lots

Vector = NDArray[np.float64]
Codes = NDArray[np.int64]
LITTLE = 0.5
"""Distance that chance may explain, above which labeled rows say little."""


class DemographicParityRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Make the predictions of any regressor have nearly the same distribution in every group.

    By default the group is not asked for at prediction time. Source: DP post-processing paper, Algorithm 1, with an
    exact solver and a bound on distribution functions (:mod:`partialfair.algorithms.regression.cumulative_dual`): the
    group is predicted from the features, and a prediction is drawn from a distribution over a grid of atoms. The
    fairness step needs features alone, of ``X_unlabeled``. With ``uses_group`` the group is known, and predictions are
    moved by one increasing map per group, as little as the tolerance allows
    (:mod:`partialfair.algorithms.regression.quantile_maps`); at epsilon 0 that is the Wasserstein barycentre (Chzhen et
    al., NeurIPS 2020). Where the regression meets the tolerance by itself, it is used as it is.

    ``predict`` repeats itself: what is drawn for a row depends on its features and ``random_state`` alone. Rows with
    equal features therefore get equal predictions; where many rows repeat, pass ``lots``. Conditional means and modes
    do not keep to the tolerance.

    Args:
        regressor: fitted or unfitted regressor; by default least squares. With ``uses_group`` and without ``prefit`` it
            is fitted on X and one 0/1 column for every group but the first.
        group_classifier: fitted or unfitted classifier of the group; by default logistic regression on standardised
            features. Not used with ``uses_group``.
        epsilon: largest Kolmogorov-Smirnov distance between two groups' distributions of predictions; infinity for
            none.
        tolerance: "ks", or "atom" for the paper's reading of epsilon: how far a group's share of any one atom may lie
            from the overall share, one number or one per group in the order of ``groups_``. The distance can then be as
            large as epsilon times half the number of atoms.
        beta: inverse strength of the entropic term on the scale of -1 to 1; by default L^2 / 2, at which the lots
            spread a prediction by one atom, and with tolerance "atom" the paper's sqrt(N) log2(sqrt(N)) of N rows.
        n_half_atoms: L of 2 L + 1 atoms; by default the integer part of sqrt(N), at least 10 and at most 50, or 150 / K
            with more than three groups.
        bounds: smallest and largest atom; by default those of the regressor's predictions within the labels' range,
            and with tolerance "atom" those of the labels.
        prediction: what ``predict`` returns without the group: "sample", "mean" or "mode".
        prefit: whether the models are fitted already; ``fit`` then uses of the labels only their range, and with a
            fitted group_classifier it needs no groups.
        random_state: seed of the lots, and of the choice of rows that the fairness step is solved on; ``None`` for a
            fixed one, so that every call gives the same result.
        uses_group: whether prediction may use the group; ``predict`` then needs sensitive_features.
        confidence: with which the distance between the groups' predictions is at most epsilon in the population, for
            instance 0.95; ``None`` (default) for a statement about the rows passed alone. With ``uses_group`` the maps
            are chosen by five-fold predictions and the noise of their ranks; without, a path of tolerances is fitted
            on some of the rows and tested on the others. Only with tolerance "ks".
        promise_fraction: share of the rows of that test.
        missing: what is done about rows without a group, a label or a weight: "refuse" them, "drop" them in ``fit``, or
            make a "group", called "missing", of those without a group. Scoring drops no rows.

    Attributes:
        regressor_, group_classifier_: the models in use.
        groups_: names of the groups, in the order of their codes; ``None`` without groups.
        group_columns_: as in the classifier.
        atoms_: (2 L + 1,) the grid, on the scale of the label; ``None`` with ``uses_group``.
        shares_: (K,) shares of the groups.
        multipliers_: (K, 2 L + 1) D of the predictor; ``None`` with ``uses_group``.
        maps_: the maps, with ``uses_group``.
        ks_, base_ks_: distance between groups on the rows of the fairness step, of the predictor and of the regressor
            alone, by predicted probabilities of the groups and of the atoms; ``None`` without groups.
        train_ks_: distance between the predictions of the labeled rows by the groups that were passed.
        deviations_: (K,) with tolerance "atom", how far the groups' shares of an atom lie from the overall ones at
            most, on the rows of the fairness step, of what ``predict`` returns; ``None`` with tolerance "ks".
        sampling_band_: distance that samples of these sizes exceed by chance, at 95%, if there is none.
        promise_: what is promised about new rows (:class:`partialfair.estimators.Promise`); ``None`` without
            ``confidence`` or groups.
        status_: "ok", or which distance is larger than epsilon (``train_ks_``: than epsilon and the band), or which
            group's share of an atom lies farther from the overall one; "not measured" where a call of ``partial_fit``
            lacks a group.
        gradient_mapping_: bound on its norm at the solution, on the rows it was solved on.
        n_features_in_, feature_names_in_: as in scikit-learn.
    """

    groups_: Any
    shares_: Vector
    atoms_: Any
    multipliers_: Any
    maps_: QuantileMaps | None
    _grid: GridParity | None
    status_: str
    ks_: float | None
    base_ks_: float | None
    train_ks_: float | None
    deviations_: Vector | None
    _returned: float | None
    sampling_band_: float | None
    promise_: Promise | None

    def __init__(
        self,
        regressor: Any = None,
        group_classifier: Any = None,
        epsilon: Any = 0.05,
        tolerance: Literal["ks", "atom"] = "ks",
        beta: float | None = None,
        n_half_atoms: int | None = None,
        bounds: tuple[float, float] | None = None,
        prediction: Literal["sample", "mean", "mode"] = "sample",
        prefit: bool = False,
        random_state: Any = None,
        uses_group: bool = False,
        confidence: float | None = None,
        promise_fraction: float = 0.5,
        missing: str = "refuse",
    ) -> None:
        self.regressor = regressor
        self.group_classifier = group_classifier
        self.epsilon = epsilon
        self.tolerance = tolerance
        self.beta = beta
        self.n_half_atoms = n_half_atoms
        self.bounds = bounds
        self.prediction = prediction
        self.prefit = prefit
        self.random_state = random_state
        self.uses_group = uses_group
        self.confidence = confidence
        self.promise_fraction = promise_fraction
        self.missing = missing

    def fit(
        self, X: Any, y: ArrayLike, *, sensitive_features: Any = None, X_unlabeled: Any = None,
        sample_weight: Any = None,
    ) -> Self:  # fmt: skip
        """Fit the models on labeled rows, then make their predictions alike.

        Args:
            X: (n, d) features.
            y: (n,) labels; with ``prefit`` only their range is used.
            sensitive_features: (n,) groups, or several columns; without them nothing is constrained, unless a fitted
                classifier predicts them.
            X_unlabeled: (N, d) features of the fairness step; by default X. Not with ``uses_group``.
            sample_weight: (n,) weights of the labeled rows: a row counts as so many in the losses of the models, in the
                fairness step unless that has rows of its own, and in every distance.

        Raises:
            InputError: data or settings that cannot be used; also a ValueError.
        """
        check_settings(self, X_unlabeled)
        same_rows(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        X, y, sensitive_features, sample_weight = complete_rows(self.missing, X, y, sensitive_features, sample_weight)
        promised = self.confidence is not None and sensitive_features is not None and bool(np.isfinite(self.epsilon))
        if promised:
            refuse_weights(sample_weight)
            if not self.uses_group:
                return self._fit_tested(X, y, sensitive_features, X_unlabeled)
        self.promise_ = None
        if np.ma.is_masked(y) or (y is not None and np.asarray(y).dtype.kind not in "fiub"):
            with value_errors():
                y, missing = intake.numbers(y, "y", finite=False, use="predicted")
                missing_words.refuse_missing(missing, "y", y, "drop such rows")
        with named_texts(X):
            X, y = validate_data(self, features(X), to_pandas(y), y_numeric=True, ensure_min_samples=2, **self._checks)
        rows = X if X_unlabeled is None else self._features(X_unlabeled)
        with value_errors():
            codes = self._codes(len(X), sensitive_features)
            check_number_of_groups(self.groups_, self.uses_group)
            weights = row_weights(sample_weight, len(X))
            weights = None if weights is None else without_unit(weights)
            self._fit_models(X, np.asarray(y, np.float64), codes, weights)
            counted = None
            if weights is not None:
                # From here on a weight is as many equal rows; what chance explains is said of as many as were passed.
                if codes is not None:
                    weights_of_groups(weights, codes, [str(name) for name in self.groups_])
                    counted = rows_counted(weights, codes, int(codes.max()) + 1)
                again = repeated(weights)
                for code in [] if codes is None else np.setdiff1d(codes, codes[again]).tolist():
                    raise InputError(
                        f"sample_weight: group {self.groups_[code]!r} has a share of "
                        f"{weights[codes == code].sum() / weights.sum():.2g} of all weight, too little to be counted; "
                        "give its rows more weight, or leave them out"
                    )
                X, y, codes = X[again], np.asarray(y)[again], None if codes is None else codes[again]
                rows = X if X_unlabeled is None else rows
            self._random = np.random.default_rng(random_of(self.random_state).randint(2**31))
            self._salt = 0 if self.random_state is None else int(self._random.integers(2**31))
            self.maps_ = self._grid = self.multipliers_ = self.atoms_ = self.ks_ = self.base_ks_ = None
            self.deviations_ = self._returned = None
            self.gradient_mapping_, self.shares_ = 0.0, np.ones(1)
            if self.uses_group and codes is not None and promised:
                self._fit_promised_maps(X, np.asarray(y, np.float64), codes)
            elif self.uses_group and codes is not None:
                self._fit_maps(X, codes)
            elif self.group_classifier_ is not None:
                self._make_grid(rows, np.asarray(y, np.float64))
                self._add(rows)
            self._judge(X, codes, counted)
            self._say_promise()
        return self

    def partial_fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Take further rows into account, for streams that do not fit in memory; the models stay.

        Without the group, a sample of at most 10,000 of all rows is kept, on which the fairness step is solved again;
        ``ks_`` is then the distance on these and on the rows of the call. With ``uses_group``, the quantiles of every
        group are updated.

        Args:
            X: (m, d) features.
            y: ignored, except by a model that is not fitted, which it fits.
            sensitive_features: (m,) groups; needed with ``uses_group``.
        """
        if not hasattr(self, "status_"):
            if y is None:
                raise NotFittedError("partial_fit goes on from a fitted model; call fit with labels first")
            return self.fit(X, y, sensitive_features=sensitive_features)
        if self.promise_ is not None:
            raise InputError("partial_fit changes predictions of which something was promised; fit again on all rows")
        same_rows(X=X, sensitive_features=sensitive_features)
        rows = self._features(X)
        with value_errors():
            codes = self._codes_of(rows, sensitive_features)
            if codes is not None:
                self._fit_maps(rows, codes)
            elif self._grid is not None:
                self._add(rows)
            self._judge(rows, codes)
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None, lots: ArrayLike | None = None) -> Vector:
        """Return the predictions (n,).

        Args:
            X: (n, d) features.
            sensitive_features: (n,) groups, with ``uses_group`` only.
            lots: (n,) numbers from [0, 1) that decide what is drawn, for instance ``rng.random(n)`` for fresh draws; by
                default the features of a row decide.
        """
        check_is_fitted(self, "status_")
        same_rows(X=X, sensitive_features=sensitive_features)
        rows = self._features(X)
        with value_errors():
            codes = self._codes_of(rows, sensitive_features)
        if lots is not None:
            lots = np.asarray(lots, np.float64)
            if lots.shape != (len(rows),) or not ((lots >= 0) & (lots < 1)).all():
                raise InputError(f"lots: pass {len(rows)} numbers from 0 to below 1, one per row")
        return self._predicted(rows, codes, lots)

    def predict_distribution(self, X: Any) -> Predictions:
        """Distribution of the prediction of every row: ``values`` (means), ``atoms`` and ``probabilities`` (n, G).

        Where nothing is drawn, ``values`` are the predictions, and there are no probabilities. Not with ``uses_group``.
        """
        check_is_fitted(self, "status_")
        if self.maps_ is not None:
            raise InputError("predict_distribution is of predictions without the group; use predict")
        rows = self._features(X)
        eta = self._base(rows, None)
        if self._grid is None or not self._active:
            return Predictions(eta)
        return self._grid.predictions(eta, self._tau(rows))

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Coefficient of determination of the predictions.

        Raises:
            InputError: the rows of two arguments are in another order, by their indexes, or weights are refused.
        """
        from sklearn.metrics import r2_score

        same_rows(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(r2_score(y, predicted, sample_weight=row_weights(sample_weight, len(predicted))))

    def _features(self, X: Any) -> Vector:
        with named_texts(X):
            return np.asarray(validate_data(self, features(X), reset=False, **self._checks))

    def __sklearn_tags__(self) -> Any:
        """Missing values are the regressor's to take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self.regressor)
        return tags

    @property
    def _checks(self) -> dict[str, Any]:
        """How features are checked: whether values may be missing is for a regressor that was passed to say."""
        return {"dtype": np.float64, "ensure_all_finite": True if self.regressor is None else "allow-nan"}

    def _codes(self, rows: int, sensitive_features: Any) -> Codes | None:
        """Return the codes of the labeled rows' groups; sets ``groups_``."""
        fitted = self.group_classifier if self.prefit and not self.uses_group else None
        self.group_columns_ = None if fitted is not None else group_columns(sensitive_features)
        self.groups_ = None if fitted is None else np.asarray(fitted.classes_, object)
        if sensitive_features is None:
            if fitted is None:
                warnings.warn(
                    "sensitive_features was not passed: the regressor is fitted without a fairness constraint; pass "
                    "the groups of the rows",
                    UnconstrainedWarning,
                    stacklevel=3,
                )
            return None
        codes, names = group_codes(sensitive_features, rows, missing=self.missing)
        if fitted is None:
            self.groups_ = names
            return codes
        # Codes of the classifier's classes, in their order, which need not be that of the names as text.
        class_names = [text_of(name) for name in self.groups_]
        if {*map(str, names)} <= {*class_names}:
            return np.array([class_names.index(str(name)) for name in names], np.int64)[codes]
        return codes

    def _codes_of(self, X: Vector, sensitive_features: Any) -> Codes | None:
        """Return the codes of further rows' groups, where they are of use."""
        if not self.uses_group or self.groups_ is None:
            return None
        if sensitive_features is None:
            raise InputError("sensitive_features is missing, and each group has a map of its own; pass the groups")
        return known_codes(sensitive_features, self.groups_, len(X), self.group_columns_, self.missing)

    def _fit_models(self, X: Vector, y: Vector, codes: Codes | None, weights: Vector | None) -> None:
        """Set ``regressor_`` and ``group_classifier_``."""
        all_rows = np.arange(len(X))
        self.group_classifier_: Any = None
        if self.prefit:
            self.regressor_ = self.regressor
        else:
            # An ensemble has a length, and none before it is fitted: `or` would ask for it.
            regressor = LinearRegression() if self.regressor is None else self.regressor
            self.regressor_ = fitted(clone(regressor), self._named(self._with_group(X, codes)), y, all_rows, weights)
        if self.uses_group:
            return
        if self.prefit and self.group_classifier is not None:
            self.group_classifier_ = self.group_classifier
        elif codes is not None:
            if self.group_classifier is None:
                self.group_classifier_ = usual_classifier(self._named(X), codes, weights)
                return
            self.group_classifier_ = fitted(clone(self.group_classifier), self._named(X), codes, all_rows, weights)

    def _with_group(self, X: Vector, codes: Codes | None) -> Vector:
        if not self.uses_group or codes is None or self.prefit:
            return X
        return np.hstack([X, codes[:, None] == np.arange(1, len(self.groups_))])

    def _named(self, X: Vector, fitted: Any = None) -> Any:
        """Columns under the names that they came with, by which a model tells them and refuses another order.

        Args:
            X: (n, d) features, or (n, d + K - 1) with those of the group.
            fitted: the model that they are for; one that was passed fitted and knows no names gets none.
        """
        names = getattr(self, "feature_names_in_", None)
        if names is None or (self.prefit and fitted is not None and not hasattr(fitted, "feature_names_in_")):
            return X
        import pandas as pd

        more = [f"group={name}" for name in self.groups_[1:]] if X.shape[1] > len(names) else []
        return pd.DataFrame(X, columns=[*names, *more])

    def _base(self, X: Vector, codes: Codes | None) -> Vector:
        rows = self._named(self._with_group(X, codes), self.regressor_)
        predictions = np.asarray(self.regressor_.predict(rows), np.float64).ravel()
        if not np.isfinite(predictions).all():
            row = int(np.flatnonzero(~np.isfinite(predictions))[0])
            raise InputError(
                f"the regressor predicts {predictions[row]} in row {row}; use one that predicts finite numbers"
            )
        return predictions

    def _tau(self, X: Vector) -> Vector:
        return np.asarray(self.group_classifier_.predict_proba(self._named(X, self.group_classifier_)), np.float64)

    def _predicted(self, X: Vector, codes: Codes | None, lots: Vector | None = None) -> Vector:
        eta = self._base(X, codes)
        if not self._active:
            return eta
        draws = row_lots(X, self._salt) if lots is None else lots
        if self.maps_ is not None:
            assert codes is not None
            return self.maps_.apply(eta, codes, draws)
        assert self._grid is not None
        return self._grid.predict(eta, self._tau(X), draws, self.prediction)

    @property
    def _active(self) -> bool:
        """Tell whether a constraint binds; if not, the regressor's predictions are used as they are."""
        if self.maps_ is not None:
            allowed = self.epsilon if self.promise_ is None else self.promise_.kappa_used
            return self.base_ks_ is not None and self.base_ks_ > allowed
        return self._grid is not None and self._grid.active

    def _fit_maps(self, X: Vector, codes: Codes) -> None:
        """Set ``maps_`` and what is measured of them, from rows and from those of earlier calls."""
        eta, members = self._base(X, codes), np.eye(len(self.groups_))[codes]
        before = self.maps_
        self.maps_ = QuantileMaps.fit(eta, codes, len(self.groups_), float(self.epsilon), before)
        self.shares_ = self.maps_.sizes / self.maps_.sizes.sum()
        self.ks_ = self.base_ks_ = weighted_distance(eta, members) if before is None else self.maps_.distance
        if self._active:
            with np.errstate(invalid="ignore"):  # the distance of a group without rows is NaN
                self.ks_ = weighted_distance(self.maps_.apply(eta, codes, even_lots(eta, codes)), members)

    def _fit_promised_maps(self, X: Vector, y: Vector, codes: Codes) -> None:
        """Set the widest maps whose promise is kept, by predictions of rows that the regressor has not seen."""
        groups, lots = len(self.groups_), row_lots(X, self._salt)
        eta = self._base(X, codes)
        if not self.prefit:
            regressor = LinearRegression() if self.regressor is None else self.regressor

            def predictions(fitted_rows: Codes, held_out: Codes) -> Vector:
                model = clone(regressor).fit(
                    self._named(self._with_group(X[fitted_rows], codes[fitted_rows])), y[fitted_rows]
                )
                rows = self._named(self._with_group(X[held_out], codes[held_out]))
                return np.asarray(model.predict(rows), np.float64).ravel()

            eta = out_of_fold(codes, random_of(self.random_state), predictions)
        members = np.eye(groups)[codes]
        base = weighted_distance(eta, members)
        constraint = self._constraint
        noise = RankNoise.draw(np.bincount(codes, minlength=groups), constraint.unions, "relative")

        def maps(epsilon: float) -> tuple[QuantileMaps, Vector]:
            quantile_maps = QuantileMaps.fit(eta, codes, groups, epsilon)
            return quantile_maps, quantile_maps.apply(eta, codes, lots) if base > epsilon else eta

        promised = widest(
            maps,
            lambda fitted_maps: np.asarray(noise.violations(constraint.counts(fitted_maps[1], codes))),
            constraint,
            OTHER_ROWS if self.prefit else OUT_OF_FOLD,
            noise.sizes,
            lambda fitted_maps: weighted_distance(fitted_maps[1], members),
        )
        (self.maps_, predicted), self.promise_ = promised.pair
        self.shares_ = self.maps_.sizes / self.maps_.sizes.sum()
        self.base_ks_, self.ks_ = base, weighted_distance(predicted, members)

    @property
    def _constraint(self) -> Constraint:
        """Return what is promised: the distance of distributions is the gap of ranks over all thresholds."""
        assert self.confidence is not None
        names = [str(name) for name in self.groups_]
        constraint = Constraint.of(PSP, [(0.0, 1.0)], float(self.epsilon), "relative", float(self.confidence), names)
        return replace(constraint, named=("the distance between groups", "epsilon"))

    def _fit_tested(self, X: Any, y: Any, sensitive_features: Any, X_unlabeled: Any) -> Self:
        """Fit a path of tolerances on some of the rows, and keep the last that passes on the others."""
        X, y = indexable(X, to_pandas(y))
        codes, names = group_codes(sensitive_features, _num_samples(X), missing=self.missing)
        fitted_rows, testing = stratified_rows(codes, self.promise_fraction, random_of(self.random_state))
        check_parts(
            {"fitted": fitted_rows, "for the test of the promise": testing}, codes, names.tolist(), "promise_fraction"
        )
        X_kept, y_kept, X_testing = (
            _safe_indexing(X, fitted_rows),
            _safe_indexing(y, fitted_rows),
            _safe_indexing(X, testing),
        )
        self.groups_ = names
        constraint = self._constraint

        def fit(epsilon: float) -> "DemographicParityRegressor":
            model = copy.copy(self).set_params(epsilon=epsilon, confidence=None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the promise says what holds
                return model.fit(X_kept, y_kept, sensitive_features=names[codes[fitted_rows]], X_unlabeled=X_unlabeled)

        with value_errors():
            rows = np.ones(testing.size), codes[testing]
            best = tested(fit, lambda model: model.predict(X_testing), rows, constraint, HELD_OUT)
        settings = self.get_params(deep=False)
        self.__dict__.update(best.model.__dict__ | settings)
        self.promise_ = best.promise
        if self.group_columns_ is not None or not self.prefit:
            self.group_columns_ = group_columns(sensitive_features)
        self._say_promise()
        return self

    def _say_promise(self) -> None:
        """Set the status of a promise that is not kept, and warn."""
        if self.promise_ is not None and not self.promise_.kept:
            self.status_ = self.promise_.status
            warnings.warn(self.status_, ConvergenceWarning, stacklevel=4)

    @on_one_thread
    def _add(self, X: Vector) -> None:
        """Take rows without groups into the fairness step, and set what is measured of it."""
        assert self._grid is not None
        eta, tau, before = self._base(X, None), self._tau(X), self._grid.representatives
        self._grid.add(eta, tau)
        if before is not None:
            eta, tau = np.concatenate([before[1], eta]), np.concatenate([before[2], tau])
        self._measure(self._grid, eta, tau)
        self.ks_, self.base_ks_ = self._grid.distance, self._grid.base_distance
        self.gradient_mapping_ = self._grid.residual
        self.shares_, self.multipliers_ = self._grid.shares, self._grid.multipliers

    def _measure(self, grid: GridParity, eta: Vector, tau: Vector) -> None:
        """Measure what ``predict`` returns for the rows (n,), (n, K) of the fairness step, where ``ks_`` does not."""
        drawn = grid.active and self.prediction == "sample"
        if grid.active and not drawn:
            values = grid.predict(eta, tau, np.zeros(len(eta)), self.prediction)
            self._returned = weighted_distance(values, tau)
        else:
            values, self._returned = eta, None
        if self.tolerance == "atom":
            sums = expected_sums(grid, eta, tau) if drawn else atom_sums(values, tau, grid.atoms)
            self.deviations_ = deviations(sums)

    def _make_grid(self, X: Vector, y: Vector) -> None:
        """Set the grid that predictions are drawn from."""
        self._grid = GridParity.from_rows(
            self._base(X, None),
            self.epsilon,
            len(self.groups_),
            labels=(float(np.min(y)), float(np.max(y))),
            per_atom=self.tolerance == "atom",
            bounds=self.bounds,
            half_atoms=self.n_half_atoms,
            beta=self.beta,
            random=self._random,
        )
        self.atoms_, self.beta_ = self._grid.atoms, self._grid.beta

    def _judge(self, X: Vector, codes: Codes | None, counted: Vector | None = None) -> None:
        """Set ``train_ks_``, ``sampling_band_`` and ``status_``; warn if one is missed or none binds.

        Args:
            X: (n, d) features; codes: (n,) of the groups.
            counted: (K,) rows of the groups, where the rows stand for others with weights.
        """
        self.status_, self.train_ks_, self.sampling_band_ = OK, None, None
        if codes is not None:
            members = np.eye(int(codes.max()) + 1)[codes]
            members = members[:, members.any(axis=0)]
            self.train_ks_ = weighted_distance(self._predicted(X, codes if self.uses_group else None), members)
            sizes = (members.sum(axis=0) if counted is None else counted[counted > 0]).astype(np.int64)
            self.sampling_band_ = sampling_band(sizes) if members.shape[1] > 1 else None
            if self.sampling_band_ is not None and self.sampling_band_ > LITTLE:
                warnings.warn(
                    f"a group has {int(sizes.min())} labeled rows, which may lie "
                    f"{self.sampling_band_:.2g} from the others by chance: train_ks_ says little of it; merge it with "
                    "another group",
                    UserWarning,
                    stacklevel=3,
                )
        if self.ks_ is None:
            return
        judge = Asked(self.prediction, self.uses_group)
        if self.tolerance == "ks":
            returned = self.ks_ if self._returned is None else self._returned
            band, grain = self.sampling_band_ or 0.0, 0.0 if self.maps_ is None else self.maps_.grain
            if counted is not None and self.maps_ is not None:
                grain = float((1 / np.sort(counted)[:2]).sum())
            self.status_ = judge.of_distances(self.ks_, returned, self.train_ks_, float(self.epsilon), band, grain)
        else:
            names = [str(name) for name in self.groups_]
            epsilon = np.broadcast_to(np.asarray(self.epsilon, np.float64), len(names))
            counts = None
            if codes is not None and members.shape[1] == len(names):
                counts = atom_sums(self._predicted(X, None), members, self.atoms_)
            assert self.deviations_ is not None
            self.status_ = judge.of_atoms(self.deviations_, counts, epsilon, names)
        if self.status_ != OK:
            warnings.warn(self.status_, ConvergenceWarning, stacklevel=3)
        elif not self._active and np.isfinite(self.epsilon).all():
            apart = f"the groups' predictions lie {self.base_ks_:.3g} apart without a constraint"
            if self.deviations_ is not None:
                largest = float(np.max(self.deviations_))
                apart = f"the groups' shares of an atom lie at most {largest:.3g} from the overall one"
            warnings.warn(
                f"nothing is constrained: {apart}, which epsilon={self.epsilon} allows; ask for less",
                UserWarning,
                stacklevel=3,
            )


def usual_classifier(X: Any, codes: Codes | None, weights: Vector | None) -> Any:
    """Logistic regression of the group on standardised features, both with weights of the rows (n,) if any."""
    usual = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    weights_of_steps = {} if weights is None else {f"{name}__sample_weight": weights for name, _ in usual.steps}
    return usual.fit(X, codes, **weights_of_steps)
