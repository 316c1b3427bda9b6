"""A fitted regression made into a randomised predictor with equal distributions for all groups (scikit-learn)."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual, atoms, split, spread
from partialfair.algorithms.regression.stochastic_approximation import DualSteps, Schedule, minimise
from partialfair.errors import DataError
from partialfair.estimators.inputs import InputError, value_errors
from partialfair.models.grid_predictor import group_weights, softmax
from partialfair.tables.frames import to_pandas
from partialfair.tables.groups import group_labels
from partialfair.tables.predictions import Predictions

Vector = NDArray[np.float64]
PREDICTIONS = ("mean", "mode", "sample")


class DemographicParityRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Post-process any regressor so that its predictions have the same distribution in every group.

    Source: DP post-processing paper, Algorithm 1. Predictions are drawn from a grid of atoms, with probabilities that
    depend on the features alone: the group is predicted, not asked for. The fairness step needs features without
    labels and without groups; it bounds, for every group and atom, how far the group's share of the atom may lie from
    the overall share on those rows.

    Only the randomised predictions satisfy the constraint (``predict_distribution``, or ``predict`` with
    ``prediction="sample"``): conditional means and modes do not. What is guaranteed is guaranteed on the unlabeled
    rows and as far as the group classifier is right; audit held-out predictions.

    Args:
        regressor: fitted or unfitted regressor; by default least squares.
        group_classifier: fitted or unfitted classifier of the group; by default logistic regression.
        epsilon: tolerance, one number or one per group in the order of ``groups_``; infinity for none.
        beta: inverse strength of the entropic term; by default sqrt(N) log2(sqrt(N)) of N unlabeled rows.
        n_half_atoms: L of 2 L + 1 atoms; by default the integer part of sqrt(N).
        bounds: smallest and largest prediction; by default those of the labels.
        prediction: what ``predict`` returns: "mean", "mode" or "sample".
        prefit: whether the two models are fitted already; ``fit`` then needs neither labels nor groups.
        random_state: of "sample" and of ``partial_fit``.

    Attributes:
        regressor_, group_classifier_: the models in use.
        groups_: names of the groups, in the order of their codes; ``None`` without groups.
        atoms_: (2 L + 1,) the grid, on the scale of the label.
        shares_: (K,) shares of the groups, the means of their predicted probabilities.
        multipliers_: (K, 2 L + 1) D of the predictor.
        gradient_mapping_: norm at the solution on the unlabeled rows.
        n_features_in_, feature_names_in_: as in scikit-learn.
    """

    groups_: Any
    shares_: Vector
    multipliers_: Vector

    def __init__(
        self,
        regressor: Any = None,
        group_classifier: Any = None,
        epsilon: Any = 0.01,
        beta: float | None = None,
        n_half_atoms: int | None = None,
        bounds: tuple[float, float] | None = None,
        prediction: Literal["mean", "mode", "sample"] = "mean",
        prefit: bool = False,
        random_state: Any = None,
    ) -> None:
        self.regressor = regressor
        self.group_classifier = group_classifier
        self.epsilon = epsilon
        self.beta = beta
        self.n_half_atoms = n_half_atoms
        self.bounds = bounds
        self.prediction = prediction
        self.prefit = prefit
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, *, sensitive_features: Any = None, X_unlabeled: Any = None) -> Self:
        """Fit both models on labeled rows, then solve on the unlabeled ones.

        Args:
            X: (n, d) features.
            y: (n,) labels; with ``prefit`` only their range is used.
            sensitive_features: (n,) groups, or several columns; without them nothing is constrained.
            X_unlabeled: (N, d) features of the fairness step; by default X.

        Raises:
            InputError: data or settings that cannot be used; also a ValueError.
        """
        self._check_settings()
        X, y = validate_data(self, to_pandas(X), to_pandas(y), dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        rows = X if X_unlabeled is None else self._features(X_unlabeled)
        with value_errors():
            labels = np.asarray(y, np.float64)
            self._fit_models(X, labels, sensitive_features)
            low, high = self._range(labels)
            root = float(np.sqrt(len(rows)))
            size = self.n_half_atoms or max(1, int(root))
            self.atoms_ = (low + high) / 2 + atoms(size, (high - low) / 2)
            self._theta, self._scale = atoms(size), ((low + high) / 2, (high - low) / 2)
            self.beta_ = self.beta or max(1.0, root * float(np.log2(max(root, 2.0))))
            self._solve(rows)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, steps: int = 10_000) -> Self:
        """Go on with stochastic steps on further unlabeled rows, for streams that do not fit in memory.

        The models, atoms, beta and shares stay; ``y`` is not used.

        Args:
            X: (m, d) features.
            y: ignored, except by a model that is not fitted, which it fits.
            steps: stochastic gradient steps, each on one row of X.
        """
        if not hasattr(self, "multipliers_"):
            if y is None:
                raise NotFittedError("partial_fit goes on from a fitted model; call fit with labels first")
            return self.fit(X, y)
        rows = self._features(X)
        if self.group_classifier_ is None:
            return self
        dual = self._dual(rows, self.shares_)
        smoothness = min(dual.bound, 2 * self.beta_ * spread(self.shares_))
        run = DualSteps(dual, np.random.default_rng(check_random_state(self.random_state).randint(2**31)))
        point = minimise(run, split(self.multipliers_), "sgd", Schedule(smoothness, smoothness, steps, average=True))
        self.multipliers_ = point[0] - point[1]
        self.gradient_mapping_ = float(np.linalg.norm(dual.gradient_mapping(point, 1.0 / smoothness)))
        return self

    def predict_distribution(self, X: Any) -> Predictions:
        """Distribution of the prediction of every row: ``values`` (means), ``atoms`` and ``probabilities`` (n, G)."""
        check_is_fitted(self)
        rows = self._features(X)
        logits = -self.beta_ * (self._eta(rows)[:, None] - self._theta) ** 2
        if self.group_classifier_ is not None:
            logits = logits + self.beta_ * group_weights(self._tau(rows), self.shares_) @ self.multipliers_
        return Predictions.randomised(self.atoms_, softmax(logits))

    def predict(self, X: Any) -> Vector:
        """Predictions (n,): conditional means, most probable atoms, or draws, as ``prediction`` says."""
        if self.prediction == "mean":
            return self.predict_distribution(X).values
        if self.prediction == "mode":
            return self.predict_distribution(X).mode()
        seed = check_random_state(self.random_state).randint(2**31)
        return self.predict_distribution(X).sample(np.random.default_rng(seed))

    def __sklearn_tags__(self) -> Any:
        """Draws are not deterministic; a coarse grid can fit small data badly."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.prediction == "sample"
        tags.regressor_tags.poor_score = True
        return tags

    def _check_settings(self) -> None:
        if self.prediction not in PREDICTIONS:
            raise InputError(f"prediction is {self.prediction!r}; choose from {', '.join(PREDICTIONS)}")
        if not (np.asarray(self.epsilon, np.float64) >= 0).all():
            raise InputError(f"epsilon is {self.epsilon!r}; give 0 or a positive number, or one per group")
        for name in ("beta", "n_half_atoms"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} is {value!r}; give a positive number, or None")
        if self.prefit and self.regressor is None:
            raise InputError("prefit is true and there is no regressor; pass the fitted one, or set prefit to False")

    def _features(self, X: Any) -> Vector:
        return np.asarray(validate_data(self, to_pandas(X), dtype=np.float64, reset=False))

    def _fit_models(self, X: Vector, y: Vector, sensitive_features: Any) -> None:
        """Set ``regressor_``, ``group_classifier_`` and ``groups_``."""
        self.groups_ = None
        if self.prefit:
            self.regressor_, self.group_classifier_ = self.regressor, self.group_classifier
            if self.group_classifier is not None:
                self.groups_ = np.asarray(self.group_classifier.classes_, object)
            return
        self.regressor_ = clone(self.regressor or LinearRegression()).fit(X, y)
        self.group_classifier_ = None
        if sensitive_features is None:
            return
        codes, names = group_labels(sensitive_features, "sensitive_features")
        if codes.size != len(X):
            raise DataError(f"sensitive_features has {codes.size} rows, X has {len(X)}; pass one group per row")
        if len(names) < 2:
            raise InputError(
                f"sensitive_features: all rows are of one group, {names[0]!r}; there is nothing to equalise"
            )
        self.groups_ = np.array(names, object)
        classifier = self.group_classifier or LogisticRegression(max_iter=1000)
        self.group_classifier_ = clone(classifier).fit(X, codes)

    def _range(self, y: Vector) -> tuple[float, float]:
        low, high = self.bounds if self.bounds is not None else (float(np.min(y)), float(np.max(y)))
        if self.bounds is not None and not low < high:
            raise InputError(f"bounds are {self.bounds!r}; give the smallest and the largest prediction")
        return (float(low), float(high)) if low < high else (float(low) - 0.5, float(low) + 0.5)

    def _eta(self, X: Vector) -> Vector:
        offset, factor = self._scale
        return np.asarray((np.asarray(self.regressor_.predict(X), np.float64).ravel() - offset) / factor)

    def _tau(self, X: Vector) -> Vector:
        return np.asarray(self.group_classifier_.predict_proba(X), np.float64)

    def _dual(self, X: Vector, shares: Vector) -> Dual:
        eps = np.broadcast_to(np.minimum(np.asarray(self.epsilon, np.float64), 1e6), shares.shape)
        costs = (self._eta(X)[:, None] - self._theta) ** 2
        return Dual(group_weights(self._tau(X), shares), costs, eps.copy(), float(self.beta_))

    def _solve(self, X: Vector) -> None:
        """Set ``shares_``, ``multipliers_`` and ``gradient_mapping_``."""
        self.gradient_mapping_ = 0.0
        self.shares_ = np.ones(1)
        self.multipliers_ = np.zeros((1, self.atoms_.size))
        if self.group_classifier_ is None:
            return
        self.shares_ = self._tau(X).mean(axis=0)
        if np.ndim(self.epsilon) and np.size(self.epsilon) != self.shares_.size:
            raise InputError(
                f"epsilon has {np.size(self.epsilon)} entries for {self.shares_.size} groups; give one each"
            )
        dual = self._dual(X, self.shares_)
        found = proximal_newton.solve(dual)
        self.multipliers_ = found.difference
        self.gradient_mapping_ = float(np.linalg.norm(dual.gradient_mapping(found.point, 1.0 / dual.bound)))
