"""What an algorithm is given, what it returns, and what it must declare."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from partialfair import plugins
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.solution import Record, Solution
from partialfair.constraints.program import HingeProgram
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from partialfair.models.stored import ScoreModel
from partialfair.tables.checkpoint import Checkpoint
from partialfair.tables.dataset import Dataset


class Settings(BaseModel):
    """Base of the settings models: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, eq=False)
class Task:
    """One training task. Test rows are not part of it, so no algorithm can look at them.

    Attributes:
        train, validation: the rows to learn from, and those to choose hyper-parameters on.
        constraint: name of the constraint family.
        interval, grid, kappa_scale: options of the family.
        kappa: tolerance; infinity for none.
        closed_grid: whether families with a grid constrain the end of the interval, too.
        seed: seed of the algorithm's own randomness.
        device: "cpu", "cuda" or "auto".
        uses_group: whether the score may depend on the group.
        loss, surrogate: objective, and stand-in for the indicator in the constraints; each a name, or a mapping
            with ``name`` and options. All but the default go the general path.
        report: receives one line of progress at a time.
        checkpoint: where a long fit may keep its state and take it up again; the job removes it at the end.
    """

    train: Dataset
    validation: Dataset
    constraint: str
    interval: Any
    kappa: float
    grid: int = 10
    kappa_scale: str = "relative"
    closed_grid: bool = False
    seed: int = 0
    device: str = "cpu"
    uses_group: bool = True
    loss: Any = "logistic"
    surrogate: Any = "clipped_linear"
    report: Callable[[str], None] = print
    checkpoint: Checkpoint | None = None

    @cached_property
    def standardiser(self) -> Standardiser:
        """Training statistics of the numeric columns."""
        return Standardiser.fit(self.train.X, self.train.numeric)

    def program(self) -> HingeProgram | None:
        """The constraints on the training rows; ``None`` if kappa is infinite."""
        if np.isinf(self.kappa):
            return None
        family = plugins.load("constraints", self.constraint)
        options = {"closed": True} if self.closed_grid and getattr(family, "HAS_GRID", False) else {}
        return family.build(
            self.train.group,
            self.train.y,
            interval=self.interval,
            kappa=self.kappa,
            grid=self.grid,
            kappa_scale=self.kappa_scale,
            **options,
        )

    @cached_property
    def fused(self) -> bool:
        """Whether the compiled kernels serve the task; if not, :func:`partialfair.plugins.general_path` does."""
        if np.isinf(self.kappa):
            return plugins.chosen(self.loss) == ("logistic", {})
        return plugins.is_fused(self.constraint, self.loss, self.surrogate)

    @cached_property
    def problem(self) -> LinearProblem:
        """The training problem of a linear score; on the general path one with the same methods."""
        if not self.fused:
            return plugins.general_path().build_problem(self)
        return LinearProblem.build(
            self.train.X,
            self.train.y,
            self.train.group,
            program=self.program(),
            standardiser=self.standardiser,
            n_groups=self.train.n_groups,
            uses_group=self.uses_group,
        )

    def linear_score(self, params: NDArray[np.float64], aux: NDArray[np.float64]) -> LinearScore:
        """The score model with given parameters (R, d+1), ready to be applied to raw features."""
        return LinearScore(
            weights=self.problem.model.effective(params),
            standardiser=self.standardiser,
            aux=aux,
            group_names=self.train.group_names,
            feature_names=self.train.feature_names,
            uses_group=self.uses_group,
        )

    def validation_accuracy(self, params: NDArray[np.float64]) -> float:
        """Share of validation rows on the right side of threshold 0."""
        model = self.linear_score(params, np.zeros(0))
        scores = model.scores(self.validation.X, self.validation.group)
        return float(np.mean(np.where(scores > 0, 1.0, -1.0) == self.validation.y))


@dataclass(frozen=True, eq=False)
class Fit:
    """What an algorithm returns.

    Attributes:
        solution: the chosen point with its certificate.
        model: the score model at that point.
        selected: hyper-parameters chosen on validation rows.
        histories: history of every candidate, by a name that says what it is.
        chosen: name of the candidate that the solution comes from.
        true_violation: largest constraint value with indicators in place of the surrogate, of (params, aux); by
            default that of the task's linear problem. A score that is not linear in ``params`` has to give its own.
    """

    solution: Solution
    model: ScoreModel
    selected: dict[str, Any] = field(default_factory=dict)
    histories: dict[str, list[Record]] = field(default_factory=dict)
    chosen: str = ""
    true_violation: Callable[[NDArray[np.float64], NDArray[np.float64]], float] | None = None


class Algorithm(Protocol):
    """The contract of an algorithm plug-in; a module binds ``ALGORITHM`` to an instance.

    Attributes:
        needs_gpu: whether a job of it is to be given a GPU where one is configured.
        constrained: whether it takes a finite tolerance (kappa).
        kappa_is_slack: whether kappa is the tolerance of the task's constraint, so that its value is a violation
            worth recording; not so for penalty weights and for methods with constraints of their own.
        settings_model: pydantic model of its entry in params.yaml.

    An algorithm that also serves tasks the compiled kernels do not (``Task.fused`` is false) says so by
    ``general = True``; for all others such a task does not apply. One that computes several tasks at less cost than one
    after the other, where they differ in kappa alone, has ``fit_together(tasks, settings) -> list[Fit]``, with
    the same result for each as from ``fit``.
    """

    needs_gpu: ClassVar[bool]
    constrained: ClassVar[bool]
    kappa_is_slack: ClassVar[bool]
    settings_model: ClassVar[type[Settings]]

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Whether the combination makes sense, and if not, why, in one clause."""
        ...

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Train on ``task.train``, tune on ``task.validation``."""
        ...


def classification_only(dataset: Dataset, images: bool = False) -> tuple[bool, str]:
    """The verdict of algorithms for two classes and at least two groups; ``images``: whether they take such rows."""
    if dataset.task != "classification":
        return False, f"{dataset.name} has real-valued labels, this algorithm needs classes"
    if dataset.n_groups < 2:
        return False, f"{dataset.name} has one group, a fairness constraint needs at least two"
    if dataset.image_shape is not None and not images:
        return False, f"the rows of {dataset.name} are images, which a linear score of this algorithm cannot read"
    return True, ""
