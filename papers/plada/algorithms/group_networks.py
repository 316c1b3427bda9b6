"""What PLADA and the multiplier-model method share on networks: inputs, overlapping groups, curves, models."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from papers.plada.algorithms.group_losses import Array, GroupLosses, Loss, Reading, group_gaps, loss_of
from papers.plada.algorithms.network_plada import Network
from partialfair import plugins
from partialfair.algorithms.contract import (
    Algorithm,
    EvaluatedPoint,
    Fit,
    Record,
    Settings,
    Task,
    Trace,
    diverged,
    unsuitable,
)
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.models.features import dense_features
from partialfair.models.mlp_score import MLPScore
from partialfair.models.stacked import StackedMLP
from partialfair.models.traced import TracedScore
from partialfair.seeding import generator

CONSTRAINT = "intersectional_loss"
MEMBERSHIP = "in_group:"
CURVES = ("train_error", "train_mean", "error", "mean", "percentile99", "largest")
"""What is recorded: error and mean gap on training rows; error, mean, 99th percentile and largest gap on validation."""


class GroupNetworkSettings(Settings):
    """Settings of both methods.

    Attributes:
        hidden: widths of the hidden layers, ReLU.
        epochs: full-batch iterations.
        every: epochs between two records.
    """

    hidden: list[PositiveInt] = Field([64, 64, 64, 64, 64], min_length=1)
    epochs: PositiveInt = 300
    every: PositiveInt = 10


S = TypeVar("S", bound=GroupNetworkSettings)


class GroupAlgorithm(Algorithm[S]):
    """Base of the methods: they take the intersectional loss."""

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """The intersectional loss on classification tables."""
        if constraint != CONSTRAINT:
            return f"{constraint} is not the loss of overlapping groups; use {CONSTRAINT}"
        return unsuitable(data)


@dataclass(frozen=True, eq=False)
class GroupTask:
    """Rows, groups and network of a task.

    Attributes:
        task: what is to be trained.
        settings: of the network.
    """

    task: Task
    settings: GroupNetworkSettings

    @cached_property
    def _is_group(self) -> NDArray[np.bool_]:
        return np.array([name.startswith(MEMBERSHIP) for name in self.task.train.feature_names])

    def members(self, rows: Dataset) -> NDArray[np.bool_]:
        """Memberships (K, n): the columns of the table that say so, else its groups."""
        if self._is_group.any():
            # overlapping groups come as columns of the table, 0 or 1; without them the table's own groups are the
            # groups
            block = rows.X[:, self._is_group]
            return np.asarray(block if isinstance(block, np.ndarray) else block.toarray()).T > 0.5
        return rows.group == np.arange(rows.n_groups)[:, None]

    @cached_property
    def descriptions(self) -> Array:
        """What describes each group: its three thresholds, or for groups of the table an indicator (K, p)."""
        names = [name for name in self.task.train.feature_names if name.startswith(MEMBERSHIP)]
        if names:
            return np.array([[float(number) for number in name.split(":")[1:4]] for name in names])
        return np.eye(self.task.train.n_groups)

    def inputs(self, rows: Dataset) -> Array:
        """Standardised features without the memberships, (n, p)."""
        return dense_features(rows.X, self.task.standardiser)[:, ~self._is_group]

    @cached_property
    def kind(self) -> Loss:
        """The task's loss.

        Raises:
            ConfigError: another than the hinge and the logistic loss.
        """
        name, options = plugins.chosen(self.task.loss)
        if name not in ("hinge", "logistic") or options:
            raise ConfigError(f"loss is {self.task.loss!r}; networks under {CONSTRAINT} take hinge or logistic")
        return "hinge" if name == "hinge" else "logistic"

    @cached_property
    def network(self) -> StackedMLP:
        """A ReLU network on the features without group memberships, with the settings' hidden layers."""
        return StackedMLP(int((~self._is_group).sum()), tuple(self.settings.hidden))

    def start(self) -> Network:
        """The network at the initial weights of the task's seed."""
        stream = generator("group_networks", "initial", self.task.train.name, self.task.seed)
        train = self.task.train
        return Network(self.network, self.network.initial(stream), self.inputs(train), train.y, self.kind)

    def groups(self, reading: Reading) -> GroupLosses:
        """The constraints on the training rows.

        Raises:
            NotEstimableError: a group has no training rows.
        """
        members = self.members(self.task.train)
        if not members.any(axis=1).all():
            raise NotEstimableError("a group has no training rows; drop its column")
        return GroupLosses(members, self.task.kappa, reading)

    def score(self, theta: Array) -> MLPScore:
        """The stored model: the first layer reads memberships with weight 0."""
        data, width = self.task.train, self.settings.hidden[0]
        inside = int((~self._is_group).sum())
        # the network was trained without membership columns; the stored model takes whole rows
        first_layer = np.zeros((width, data.n_features), np.float64)
        first_layer[:, ~self._is_group] = theta[0, : width * inside].reshape(width, inside)
        parameters = np.concatenate([first_layer.ravel(), theta[0, width * inside :].astype(np.float64)])
        names = data.group_names, data.feature_names
        return MLPScore(parameters, tuple(self.settings.hidden), self.task.standardiser, np.zeros(0), *names)


class Recorder:
    """Curves of one candidate, and the iterates that they belong to.

    Apart from :func:`~papers.plada.algorithms.gap_runs.run`: figures show error and gaps on validation rows, which
    a gap problem does not know, and of one network rather than of the points of a batch.
    """

    def __init__(self, group_task: GroupTask) -> None:
        self.group_task = group_task
        self.rows: list[tuple[float, ...]] = []
        self.gaps: list[Array] = []
        self.records: list[Record] = []
        self._validation = group_task.inputs(group_task.task.validation)[None].astype(np.float32)
        self._members = group_task.members(group_task.task.train), group_task.members(group_task.task.validation)
        self._expected = group_task.groups("expected")

    def note(self, epoch: int, network: Network, seconds: float) -> None:
        """Record the network's present state."""
        group_task = self.group_task
        scores = group_task.network.forward(network.theta, self._validation)[0][0]
        train_gaps = group_gaps(network.scores, group_task.task.train.y, self._members[0])
        validation_gaps = group_gaps(scores, group_task.task.validation.y, self._members[1])
        of_validation = (
            validation_gaps.error,
            validation_gaps.mean,
            validation_gaps.percentile99,
            validation_gaps.largest,
        )
        self.rows.append((epoch, train_gaps.error, train_gaps.mean, *of_validation))
        # error of every group minus error of all validation rows minus eps (K,): what the heuristic of the paper ranks
        wrong = (scores * group_task.task.validation.y <= 0).astype(float)
        sizes = np.maximum(self._members[1].sum(axis=1), 1)
        self.gaps.append(self._members[1] @ wrong / sizes - wrong.mean() - group_task.task.kappa)
        violation = float(self._expected.values(network.losses)[0])
        point = network.theta.astype(np.float64)
        loss = float(network.losses.mean())
        self.records.append(Record(epoch, epoch, loss, violation, seconds, point))

    def curves(self) -> dict[str, Array]:
        """Arrays (K,) by name: the epoch of every record, and the quantities of ``CURVES``."""
        table = np.array(self.rows)
        return {"epoch": table[:, 0], **{name: table[:, index + 1] for index, name in enumerate(CURVES)}}


def follow(group_task: GroupTask, method: Any, clock: Callable[[], float]) -> Recorder:
    """Run a method for the settings' epochs; the clock is stopped while a state is recorded."""
    recorder, spent = Recorder(group_task), 0.0
    recorder.note(0, method.network, 0.0)
    for epoch in range(1, group_task.settings.epochs + 1):
        began = clock()
        method.step()
        spent += clock() - began
        if epoch % group_task.settings.every == 0 or epoch == group_task.settings.epochs:
            recorder.note(epoch, method.network, spent)
    return recorder


@dataclass(frozen=True, eq=False)
class GroupPoint(EvaluatedPoint):
    """A trained network (1, size) on the training rows; it is stationary for nothing that is known."""

    group_task: GroupTask
    theta: Array

    @cached_property
    def _losses(self) -> Array:
        rows = self.group_task.task.train
        return loss_of(self.group_task.score(self.theta).scores(rows.X, rows.group), rows.y, self.group_task.kind)[0]

    @cached_property
    def _groups(self) -> GroupLosses:
        return self.group_task.groups("expected")

    @cached_property
    def _inputs(self) -> Array:
        return self.group_task.inputs(self.group_task.task.train)[None].astype(np.float32)

    def objective(self) -> float:
        """Mean loss of the training rows, of the task's kind."""
        return float(self._losses.mean())

    def violation(self) -> float:
        """Mean gap of the groups' losses, beyond the tolerance."""
        return float(self._groups.values(self._losses)[0])

    def indicator_violation(self, point: Array | None = None) -> float:
        """The same of 0-1 errors, here or at other parameters (1, size)."""
        theta = self.theta if point is None else point
        scores = self.group_task.network.forward(theta, self._inputs)[0][0]
        return group_gaps(scores, self.group_task.task.train.y, self._groups.members).mean - self.group_task.task.kappa


def fit_of(group_task: GroupTask, runs: dict[str, Recorder], result: str, index: int, chosen: dict[str, Any]) -> Fit:
    """The fit whose model is record ``place`` of the candidate ``result``."""
    theta = runs[result].records[index].point
    trace = Trace({name: run.records for name, run in runs.items()}, result)
    if not np.isfinite(theta).all():
        return diverged(group_task.task, trace)
    curves = {f"{name}/{quantity}": values for name, run in runs.items() for quantity, values in run.curves().items()}
    return Fit(TracedScore(group_task.score(theta), curves), chosen, trace, GroupPoint(group_task, theta))
