"""The contract of an algorithm: what it is given, what it returns, and what it declares. It is stated here alone.

A plug-in is a module anywhere below ``partialfair/algorithms`` that binds ``ALGORITHM`` to an instance of a subclass of
:class:`Algorithm`. It trains, and says nothing of how good its result is: :mod:`partialfair.algorithms.measure` does.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from partialfair import plugins
from partialfair.constraints.family import built
from partialfair.data.checkpoint import Checkpoint
from partialfair.data.dataset import Dataset
from partialfair.errors import PluginError
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore, no_score
from partialfair.models.stored import ScoreModel

if TYPE_CHECKING:
    from partialfair.constraints.program import HingeProgram

Vector = NDArray[np.float64]
Kappa = Literal["tolerance", "own tolerance", "weight"]
CertificateKind = Literal["kkt", "gradient_mapping", "duality_gap"]


class Settings(BaseModel):
    """Base of the settings: immutable, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class PlotStyle:
    """How exhibits draw an algorithm: colour, and marker and dash pattern of matplotlib."""

    colour: str
    marker: str
    dash: Any = "-"


@dataclass(frozen=True, eq=False)
class Task:
    """One training task. Test rows are not part of it, so no algorithm can look at them.

    Attributes:
        train, validation: the rows to learn from, and those to choose hyper-parameters on.
        constraint: name of the constraint family.
        interval, grid, kappa_scale: options of the family.
        kappa: tolerance; infinity for none.
        closed_grid: whether families with a grid constrain both ends of the interval, too; "interior": neither end.
        seed: seed of the algorithm's own randomness (see :func:`partialfair.seeding.generator`).
        device: "cpu", "cuda" or "auto".
        uses_group: whether the score may depend on the group.
        loss, surrogate: objective, and stand-in for the indicator in the constraints; each a name, or a mapping
            with ``name`` and options.
        report: receives one line of progress at a time.
        checkpoint: where a long fit may keep its state and take it up again; the job removes it at the end.
        place: moves a problem that was built from the rows to where it is to be computed; estimators use a GPU so.
    """

    train: Dataset
    validation: Dataset
    constraint: str
    interval: Any
    kappa: float
    grid: int = 10
    kappa_scale: str = "relative"
    closed_grid: bool | Literal["interior"] = False
    seed: int = 0
    device: str = "cpu"
    uses_group: bool = True
    loss: Any = "logistic"
    surrogate: Any = "clipped_linear"
    report: Callable[[str], None] = print
    checkpoint: Checkpoint | None = None
    place: Callable[[Any], Any] | None = None

    @cached_property
    def standardiser(self) -> Standardiser:
        """Training statistics of the numeric columns."""
        return Standardiser.fit(self.train.X, self.train.numeric)

    def program(self) -> "HingeProgram | None":
        """The constraints on the training rows, in the order of the rows; ``None`` if kappa is infinite.

        Raises:
            PluginError: the family is at fault.
        """
        if np.isinf(self.kappa):
            return None
        family = plugins.load("constraints", self.constraint)
        options = {"closed": self.closed_grid} if self.closed_grid and getattr(family, "HAS_GRID", False) else {}
        program: HingeProgram = built(
            self.constraint,
            self.train.group,
            self.train.y,
            interval=self.interval,
            kappa=self.kappa,
            grid=self.grid,
            kappa_scale=self.kappa_scale,
            **options,
        )
        return program


@dataclass(frozen=True)
class Record:
    """One line of the record of a run.

    Attributes:
        step: outer iterations done.
        work: inner steps or function evaluations done.
        objective: loss there.
        violation: largest constraint value there (surrogate; negative where all hold strictly).
        seconds: processor time of the process so far.
        point: the iterate, from which an evaluated point can compute other quantities afterwards; ``None`` if not kept.
    """

    step: int
    work: int
    objective: float
    violation: float
    seconds: float
    point: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Trace:
    """The records of a fit.

    Attributes:
        candidates: records of every run that was made, by a name that says what it is.
        result: name of the one that the model comes from.
    """

    candidates: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    result: str | None = None

    @property
    def records(self) -> Sequence[Record]:
        """Those of the run that the model comes from."""
        return self.candidates[self.result] if self.result is not None else ()

    def columns(self) -> dict[str, list[Any]]:
        """One list per column, tidy: candidate, step, work, objective, violation, seconds."""
        rows = [(name, record) for name, records in self.candidates.items() for record in records]
        names = ("step", "work", "objective", "violation", "seconds")
        return {"candidate": [name for name, _ in rows]} | {
            column: [getattr(record, column) for _, record in rows] for column in names
        }


@dataclass(frozen=True, eq=False)
class Certificate:
    """How nearly a point satisfies the conditions of optimality of its problem.

    Attributes:
        kind: ``kkt`` (norm of the Lagrangian's gradient), ``gradient_mapping`` or ``duality_gap``.
        value: the number, in units of what ``relative_to`` names.
        relative_to: that unit, in words.
        small: a value of at most this counts as optimal.
        multipliers: (m,) of the constraints, where there are any.
    """

    kind: CertificateKind
    value: float
    relative_to: str
    small: float
    multipliers: Vector | None = None


class EvaluatedPoint(ABC):
    """The result as a point of the problem that was solved; everything said about it is computed from here.

    Attributes:
        accepted: largest value of a constraint, with its surrogate, that the method counts as met; infinity if it
            promises none.
        stationary: largest value of the certificate that the method counts as stationary; infinity if it promises none.
        remedy: what to do where a constraint exceeds that.
        by_metric: whether the constraint's metric on the training rows says how far the constraint itself is met, with
            the indicator and at all thresholds of the interval; else ``indicator_violation`` does.
    """

    accepted: float = math.inf
    stationary: float = math.inf
    remedy: str = "raise kappa"
    by_metric: bool = False

    @abstractmethod
    def objective(self) -> float:
        """The loss on the training rows."""

    @abstractmethod
    def violation(self) -> float | None:
        """Largest constraint value on the training rows; 0 without constraints, ``None`` if there is no such number."""

    def indicator_violation(self, point: Any = None) -> float | None:
        """That with the indicator in place of its surrogate, at the result or the ``point`` of a :class:`Record`.

        Where constraints stand at a grid of thresholds, it is the largest value at these; what holds between them
        :mod:`partialfair.algorithms.measure` asks the metric (``by_metric``).
        """
        return None

    def certificate(self) -> Certificate | None:
        """How nearly the point is optimal; ``None`` if the problem offers no such number."""
        return None


@dataclass(frozen=True, eq=False)
class Fit:
    """What an algorithm returns.

    Attributes:
        model: the score model, which applies to raw rows.
        chosen: settings that tuning chose, and what it chose them by.
        trace: the records of all runs.
        evaluated_point: the result as a point of its problem; ``None`` where the scores of the model say all there is.
        failure: why the method ended without a usable result; empty if it did not.
    """

    model: ScoreModel
    chosen: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    evaluated_point: EvaluatedPoint | None = None
    failure: str = ""


class Algorithm(ABC, Generic[S]):
    """A training method; ``settings`` and ``fit`` are what every plug-in has to give.

    Attributes:
        settings: model of its entry in params.yaml: every hyper-parameter with its default, declared once.
        label, look: how exhibits name and draw it; by default its name, and what other algorithms leave free.
        paper: its source.
        needs_gpu: whether a job of it is to be given a GPU where one is configured.
        constrained: whether it takes a finite tolerance kappa; if not, it takes none.
        kappa: what the task's kappa is to it: the ``tolerance`` of the task's constraint, the tolerance of constraints
            of its ``own``, or the ``weight`` of a penalty.
        loss: the loss that it minimises, where that is not the task's.
        general: whether it takes every loss, surrogate and make of constraint. ``False``: the logistic loss and
            constraints on hinge means alone. ``"module:Class"`` (below ``partialfair.algorithms``): the same, and
            that class takes all others; it is imported for those alone, so that runs do not depend on it.
        together: in what tasks may differ that ``fit_together`` computes at less cost than one by one: ``kappa``,
            ``seed`` or both.
    """

    settings: type[S]
    label: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    look: ClassVar[PlotStyle | None] = None
    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa: ClassVar[Kappa] = "tolerance"
    loss: ClassVar[str | None] = None
    general: ClassVar[bool | str] = True
    together: ClassVar[frozenset[str]] = frozenset()

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Why it cannot be applied to a combination, in one clause; ``None`` if it can."""
        return unsuitable(data)

    @abstractmethod
    def fit(self, task: Task, settings: S) -> Fit:
        """Train on ``task.train``; choose on ``task.validation``.

        Raises:
            InfeasibleError: it is known that no model satisfies the constraints.
        """

    def fit_together(self, tasks: Sequence[Task], settings: S) -> list[Fit]:
        """The fits of tasks that differ in ``together`` alone, the same for each as from :meth:`fit`."""
        return [self.fit(task, settings) for task in tasks]


def unsuitable(data: Dataset, images: bool = False) -> str | None:
    """Why rows are not for an algorithm that needs two classes and at least two groups; ``None`` if they are.

    Args:
        data: the rows.
        images: whether the algorithm takes rows that are images.
    """
    if data.task != "classification":
        return f"{data.name} has real-valued labels, this algorithm needs classes"
    if data.n_groups < 2:
        return f"{data.name} has one group, a fairness constraint needs at least two"
    empty = np.flatnonzero(np.bincount(data.group, minlength=data.n_groups) == 0)
    if empty.size:
        name = data.group_names[int(empty[0])]
        return f"group {name!r} of {data.name} has no training row, and a constraint compares all groups"
    if data.image_shape is not None and not images:
        return f"the rows of {data.name} are images, which a linear score of this algorithm cannot read"
    return None


def linear_score(task: Task, weights: Vector, thresholds: Vector | None = None) -> LinearScore:
    """A linear score to be stored, which applies to raw rows.

    Args:
        task: whose training statistics standardise the numeric columns.
        weights: (G, d+1) weights of each group, intercept first, on columns that ``task.standardiser`` standardised.
        thresholds: auxiliary variables of the constraints, where there are any.
    """
    aux = np.zeros(0) if thresholds is None else thresholds
    names = task.train.group_names, task.train.feature_names
    return LinearScore(weights, task.standardiser, aux, *names, uses_group=task.uses_group)


def diverged(task: Task, trace: Trace) -> Fit:
    """The fit of a method whose result (the chosen candidate's) is not finite: a failure, without a model."""
    failure = f"{trace.result}: the weights grew beyond all bounds; choose smaller steps"
    return Fit(no_score(task.train, f"diverged: {failure}"), trace=trace, failure=failure)


def algorithm_for(name: str, task: Task) -> Algorithm[Any]:
    """The algorithm of that name, or the class that takes the tasks that its kernels do not serve.

    Raises:
        PluginError: there is none, or it does not keep the contract.
    """
    algorithm = plugins.load("algorithms", name).ALGORITHM
    if not isinstance(algorithm, Algorithm):
        raise PluginError(
            f"algorithm {name}: ALGORITHM is a {type(algorithm).__name__}, not an Algorithm; derive its class from "
            "partialfair.algorithms.contract.Algorithm"
        )
    if isinstance(algorithm.general, str) and not served(task):
        module, _, kind = algorithm.general.partition(":")
        return getattr(import_module(f"partialfair.algorithms.{module}"), kind)()
    return algorithm


def served(task: Task) -> bool:
    """Whether a task has the logistic loss and constraints on hinge means, which the compiled kernels know."""
    if math.isinf(task.kappa):
        return plugins.chosen(task.loss) == ("logistic", {})
    return plugins.is_fused(task.constraint, task.loss, task.surrogate)
