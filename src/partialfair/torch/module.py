"""A network of yours under a fairness constraint, in the scikit-learn convention: skorch's classifier with groups."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from skorch import NeuralNetBinaryClassifier
from skorch.dataset import unpack_data
from skorch.utils import data_from_dataset, is_dataset, to_tensor
from torch import Tensor

from partialfair.data import intake, missing_words
from partialfair.data.missing_values import refuse_masked
from partialfair.errors import DataError
from partialfair.torch.constraints import BatchConstraint
from partialfair.torch.lagrangian import Lagrangian
from partialfair.torch.multipliers import Multipliers
from partialfair.torch.rules import Ascent, Rule
from partialfair.torch.sampler import BalancedBatches

WHAT = "sensitive_features"
FINITE, READ = "fill it in, or drop such rows", "read as numbers"
CODES, FEATURES = "_codes", "_features"  # keys of the inputs that skorch cuts into batches


class PartialFairModule(NeuralNetBinaryClassifier):  # type: ignore[misc]
    """A binary classifier that trains a network by skorch, with a constraint on its scores.

    ``fit``, ``partial_fit`` and ``predict`` are those of scikit-learn, and groups are needed to fit alone. Everything
    that skorch offers works as it does there: optimisers, schedules, callbacks, early stopping, checkpoints, devices,
    ``set_params`` and grid search (``optimizer__weight_decay``, ``module__width``).

    The constraint is on smoothed shares of batches: audit the scores of whole tables.

    Args:
        module: class or instance of a network with one output per row.
        constraint, interval, kappa, kappa_scale, grid, width: of
            :class:`~partialfair.torch.constraints.BatchConstraint`.
        rule: settings of the method; :class:`~partialfair.torch.rules.Ascent` by default.
        balanced: whether batches have equally many rows of each group. Losses are then weighted, so that all rows
            still count alike.
        settings: of ``skorch.NeuralNetBinaryClassifier``. By default all rows are trained on
            (``train_split=None``).

    Attributes:
        classes_: (2,) labels.
        groups_: (G,) names of the groups.
        feature_names_in_: names of the inputs, of the first table that was passed.
        lagrangian_: with the multipliers; ``lagrangian_.multipliers.named_values()`` names the constraints.

    Raises:
        ConfigError: a setting of the constraint that cannot be used.
        DataError: rows without groups or labels, other groups or columns than in the first fit, not two classes, or
            inputs that are missing, infinite or no numbers.
    """

    def __init__(
        self,
        module: Any,
        *args: Any,
        constraint: str = "partial_statistical_parity",
        interval: Any = ((0.0, 1.0),),
        kappa: float = 0.1,
        kappa_scale: str = "relative",
        grid: int = 10,
        width: float = 1.0,
        rule: Rule | None = None,
        balanced: bool = True,
        train_split: Any = None,
        **settings: Any,
    ) -> None:
        self.constraint, self.interval, self.kappa, self.kappa_scale = constraint, interval, kappa, kappa_scale
        self.grid, self.width, self.rule, self.balanced = grid, width, rule, balanced
        super().__init__(module, *args, train_split=train_split, **settings)

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels (2,)."""
        if not hasattr(self, "labels_"):
            raise AttributeError("classes_ is known after fit")
        return np.asarray(self.labels_)

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, **fit_params: Any) -> Self:
        """Train from new weights, on inputs X (n, ...), labels y (n,) of two classes and groups (n,).

        Args:
            X: an array, a table of numbers, or a mapping of arrays whose keys are the arguments of the network.
            y: labels.
            sensitive_features: groups.
            fit_params: of skorch.
        """
        if not self.warm_start:
            self._forget()
        self._learn_names(y, sensitive_features)
        return super().fit(*self._coded(X, y, sensitive_features), **fit_params)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Sequence[Any] | None = None,
        *,
        sensitive_features: Any = None,
        groups: Sequence[str] | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train on with further rows, for ``max_epochs`` passes; multipliers go on, too.

        Args:
            X, y, sensitive_features, fit_params: see :meth:`fit`.
            classes, groups: all labels and all groups, where the first rows may lack some.
        """
        if not isinstance(X, Mapping) or CODES not in X:  # ``fit`` passes rows on that are coded already
            self._learn_names(y if classes is None else classes, sensitive_features if groups is None else groups)
            X, y = self._coded(X, y, sensitive_features)
        return super().partial_fit(X, y, **fit_params)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels (n,): ``classes_[1]`` where the score is positive; of a dataset of skorch, 0 and 1 as it has them."""
        codes = np.asarray(super().predict(X), int)
        return codes if is_dataset(X) else self.classes_[codes]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores (n,)."""
        return np.asarray(self.forward(X).cpu().double().numpy())

    # --- what skorch calls ------------------------------------------------------------------------------------------

    def initialize_module(self) -> Self:
        """The network, and the constraint with its thresholds."""
        super().initialize_module()
        self.fairness_ = BatchConstraint(
            len(self.groups_), self.constraint, interval=self.interval, kappa=self.kappa, kappa_scale=self.kappa_scale,
            grid=self.grid, width=self.width,
        )  # fmt: skip
        return self

    def initialize_criterion(self) -> Self:
        """The loss of every row, which the weights of groups need."""
        settings = self.get_params_for("criterion") | {"reduction": "none"}
        self.criterion_ = self.initialized_instance(self.criterion, settings)
        return self

    def initialize_optimizer(self, *args: Any, **kwargs: Any) -> Self:
        """The optimiser, and multipliers that follow it."""
        super().initialize_optimizer(*args, **kwargs)
        multipliers = Multipliers(self.fairness_.labels, Ascent() if self.rule is None else self.rule)
        self.lagrangian_ = Lagrangian(multipliers.to(self.device).follow(self.optimizer_))
        return self

    def get_dataset(self, X: Any, y: Any = None) -> Any:
        """Numbers in single precision, as networks are by default.

        Raises:
            DataError: a table whose columns are not those of the first fit, texts, or a missing or infinite number.
        """
        if not is_dataset(X):
            self._check_columns(X[FEATURES] if isinstance(X, Mapping) and FEATURES in X else X)
            X = _numbers(X)
        return super().get_dataset(X, y)

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Batches; while training, with equally many rows of each group."""
        if not training or not self.balanced:
            return super().get_iterator(dataset, training)
        codes = torch.as_tensor(data_from_dataset(dataset)[0][CODES])
        settings = self.get_params_for("iterator_train")
        size = settings.pop("batch_size", self.batch_size)
        settings.pop("shuffle", None)
        per_group = max(1, (len(codes) if size == -1 else size) // len(self.groups_))
        self.batches_ = BalancedBatches(codes, per_group)
        return self.iterator_train(dataset, batch_sampler=self.batches_, **settings)

    def on_epoch_begin(self, *args: Any, **kwargs: Any) -> None:
        """Every pass has an order of rows of its own."""
        super().on_epoch_begin(*args, **kwargs)
        if self.balanced:
            self.batches_.set_epoch(len(self.history))

    def infer(self, x: Any, **fit_params: Any) -> Tensor:
        """Scores (n,) of inputs, with or without the groups beside them."""
        if isinstance(x, Mapping):
            x = x[FEATURES] if FEATURES in x else {name: values for name, values in x.items() if name != CODES}
        return super().infer(x, **fit_params)

    def get_loss(self, y_pred: Tensor, y_true: Tensor, X: Any = None, training: bool = False) -> Tensor:
        """Mean loss of the rows of a batch."""
        losses = super().get_loss(y_pred, y_true, X, training)
        if training and self.balanced:
            losses = losses * self.batches_.weights.to(losses)[to_tensor(X[CODES], self.device)]
        return losses.mean()

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """The derivative of a step; what is logged is the loss, not the Lagrangian."""
        self._set_training(True)
        X, y = unpack_data(batch)
        scores = self.infer(X, **fit_params)
        loss = self.get_loss(scores, y, X, training=True)
        group, labels = to_tensor(X[CODES], self.device), to_tensor(y, self.device)
        self.lagrangian_(loss, self.fairness_(scores, group, labels)).backward()
        return {"loss": loss, "y_pred": scores}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies of optimisers lose their hooks."""
        super().__setstate__(state)
        if hasattr(self, "lagrangian_"):
            self.lagrangian_.multipliers.follow(self.optimizer_)

    # --- inputs -----------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        for name in ("labels_", "groups_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)

    def _learn_names(self, y: Any, sensitive_features: Any) -> None:
        """Classes and groups of the first rows; those of later ones have to be among them."""
        if hasattr(self, "groups_"):
            return
        if sensitive_features is None:
            raise DataError("sensitive_features is missing; pass the group of every row")
        labels, groups = np.unique(_labels(y)), intake.groups(sensitive_features, WHAT).names
        if len(labels) != 2:
            raise DataError(f"y has {len(labels)} classes, {labels[:5].tolist()}; pass two")
        if len(groups) < 2:
            raise DataError(f"{WHAT}: all rows are of one group, {groups[0]!r}; check the column, or pass groups")
        intake.warn_of_order(labels.tolist(), stacklevel=3)
        self.labels_, self.groups_ = labels, tuple(groups)

    def _check_columns(self, X: Any) -> None:
        """Columns of the first table; those of later ones have to be the same, in the same order.

        Raises:
            DataError: naming the first column that is another one, or twice there.
        """
        if isinstance(X, Mapping) or not hasattr(X, "columns"):
            return
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            raise DataError(f"X: two columns are called {max(names, key=names.count)!r}; rename one of them")
        expected = getattr(self, "feature_names_in_", None)
        if expected is None:
            self.feature_names_in_ = np.array(names, object)
        elif names != expected.tolist():
            raise DataError(
                f"X: the columns are {', '.join(names[:5])}, and were {', '.join(expected[:5])} in the first fit; "
                "pass the same columns in the same order"
            )

    def _coded(self, X: Any, y: Any, sensitive_features: Any) -> tuple[dict[str, Any], NDArray[np.float32]]:
        """Inputs with codes (n,) of groups beside them, and labels (n,) as 0 and 1."""
        if sensitive_features is None:
            raise DataError("sensitive_features is missing; pass the group of every row")
        intake.in_one_order(**{"X": X, "y": y, WHAT: sensitive_features})
        codes = intake.known_groups(sensitive_features, list(self.groups_), WHAT)
        labels = _labels(y)
        unknown = sorted(set(np.unique(labels).tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise DataError(f"y has labels {unknown[:5]}, those of the first fit were {self.classes_.tolist()}")
        if len(codes) != len(labels):
            raise DataError(f"{WHAT} has {len(codes)} rows, y has {len(labels)}; pass one group per row")
        inputs = X if isinstance(X, Mapping) else {FEATURES: X}
        return {**inputs, CODES: codes}, (labels == self.classes_[1]).astype(np.float32)


def _labels(y: Any) -> NDArray[Any]:
    """Return the labels (n,) of one column: texts, numbers or truth values.

    Raises:
        DataError: several columns, a missing label, labels that look alike or are of another type.
    """
    table = intake.columns(y, "y")
    if len(table) > 1:
        raise DataError(f"y has {len(table)} columns; pass one label per row")
    ((name, column),) = table.items()
    levels = intake.levels(name, column, "y", missing_words.MISSING_WORDS["label"])
    missing_words.refuse_missing(levels.missing, "y", column, "drop such rows, or write the label in another way")
    intake.check_labels(levels.values, "y")
    return np.array(levels.values)[levels.codes]


def _numbers(X: Any, name: str = "X") -> Any:
    """Tables and numbers in double precision as arrays in single precision; other arrays as they are.

    Raises:
        DataError: texts, masked entries, or a missing or infinite number.
    """
    if isinstance(X, Mapping):
        return {key: _numbers(values, name if key == FEATURES else str(key)) for key, values in X.items()}
    refuse_masked(X, name)
    if sparse.issparse(X):
        raise DataError(f"{name}: a {type(X).__name__} of SciPy is no array that PyTorch reads; pass {name}.toarray()")
    if hasattr(X, "columns"):
        return np.column_stack([_column(X[column], f"{name}: column {column!r}") for column in X.columns])
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    kind = getattr(getattr(values, "dtype", None), "kind", "")  # of a tensor none
    if kind and kind not in "fiub":
        raise DataError(f"{name}: values of type {values.dtype} cannot be {READ}; pass numbers")
    if kind != "f":
        return values
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise DataError(f"{name}: row {row} has a missing or infinite number; {FINITE}")
    return np.ascontiguousarray(values, np.float32 if values.dtype == np.float64 else None)


def _column(column: Any, name: str) -> NDArray[np.float32]:
    """Return a column of numbers (n,) in single precision."""
    values, missing = intake.numbers(column, name, infinite=FINITE, use=READ)
    missing_words.refuse_missing(missing, name, column, FINITE)
    return values.astype(np.float32)
