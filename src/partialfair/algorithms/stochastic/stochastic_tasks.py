"""What the stochastic algorithms share: settings, rows and inputs, starting points, and the fit made of a trace."""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from partialfair import plugins
from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.solution import Record, Solution
from partialfair.algorithms.stochastic.seed_batch import trace_of
from partialfair.algorithms.stochastic.stochastic_problem import StochasticProblem
from partialfair.algorithms.stochastic.stochastic_run import Method, Plan, Trace, run
from partialfair.algorithms.transition import Fit, classification_only
from partialfair.constraints import surrogates
from partialfair.constraints.parts import constraints_of
from partialfair.constraints.program import HingeProgram
from partialfair.constraints.stratum_means import HingeMeans, LossMeans, StratumMeans, sampled
from partialfair.errors import ConfigError
from partialfair.models import stacked
from partialfair.models.features import Standardiser, dense_features, group_indicators
from partialfair.models.linear import GroupLinear, LinearScore
from partialfair.models.mlp_score import MLPScore
from partialfair.seeding import generator
from partialfair.tables.checkpoint import Checkpoint
from partialfair.tables.dataset import Dataset

Vector = NDArray[np.float64]


class StochasticSettings(Settings):
    """Settings of every stochastic algorithm.

    Attributes:
        steps: number of steps.
        hidden: widths of the hidden layers of a network with ReLU; none for the group-interaction linear score.
        uses_group: whether the score may depend on the group.
        fit_on: rows to train on; nothing is selected on validation rows, so they may be among them.
        records: evaluations on all rows on the way.
        average: share of the last steps whose mean point is returned, 0 for the last point.
        sampled_from: return a point drawn among those after this step, by the length of its step.
        full_batch: take all rows at every step: the deterministic method, as a reference.
        seed_batch: seeds that are computed together (:mod:`partialfair.algorithms.stochastic.seed_batch`); they must
        train on the
            same rows.
        precision: of the computation.
    """

    steps: PositiveInt = 2000
    hidden: list[PositiveInt] = Field([])
    uses_group: bool = True
    fit_on: Literal["train", "train_and_validation"] = "train"
    records: PositiveInt = 60
    average: float = Field(0.0, ge=0, le=1)
    sampled_from: NonNegativeInt | None = None
    full_batch: bool = False
    seed_batch: PositiveInt = 1
    precision: Literal["float32", "float64"] = "float32"

    def plan(self) -> Plan:
        """How long, and what is kept."""
        return Plan(self.steps, self.records, self.average, self.sampled_from)


class Stochastic(ABC):
    """Base of the stochastic algorithms: a subclass names itself and makes the method of its settings."""

    name: ClassVar[str]
    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]]

    @abstractmethod
    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> Method:
        """The solver with these settings."""

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Constraints that are functions of means over groups, so that drawn rows estimate them."""
        applies, why = classification_only(dataset)
        if applies and self.constrained and not estimable(constraint):
            return False, f"{constraint} ranks rows or pairs them, and no mean over drawn rows estimates it"
        return applies, why

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Run the method; no validation rows are looked at but to train on them where the settings say so."""
        assert isinstance(settings, StochasticSettings)
        rows = training_rows(task, settings)
        shape = Shape.of(task, settings, rows)
        problem = make_problem(task, settings, rows, shape)

        def compute(seeds: Sequence[int], checkpoint: Checkpoint | None) -> Trace:
            x = np.stack([shape.start(seed, problem.means) for seed in seeds]).astype(settings.precision)
            method = self.method(settings, rows, len(seeds))
            resumable = None if getattr(settings, "penalty", "") == "library" else checkpoint
            return run(method, problem, x, seeds, settings.plan(), resumable, task.report)

        trace = trace_of(task, self.name, settings, settings.seed_batch, compute)
        return make_fit(task, settings, rows, shape, problem, trace)


def estimable(constraint: str) -> bool:
    """Whether a family's constraints are functions of means over strata of rows."""
    return plugins.is_fused(constraint) or getattr(plugins.load("constraints", constraint), "STRATUM_MEANS", False)


def training_rows(task: Task, settings: StochasticSettings) -> Dataset:
    """Rows to train on: the validation rows after the training rows, if both."""
    if settings.fit_on == "train":
        return task.train
    parts = task.train, task.validation
    first = parts[0]
    sparse = not isinstance(first.X, np.ndarray)
    X: Any = [part.X.toarray() if sparse else part.X for part in parts]  # type: ignore[union-attr]
    return dataclasses.replace(
        first,
        X=np.concatenate(X),
        y=np.concatenate([part.y for part in parts]),
        group=np.concatenate([part.group for part in parts]),
        partition=None,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Shape:
    """The score model on the rows: its inputs, where it starts, and what is stored of it."""

    rows: Dataset
    standardiser: Standardiser
    hidden: tuple[int, ...]
    uses_group: bool

    @classmethod
    def of(cls, task: Task, settings: StochasticSettings, rows: Dataset) -> "Shape":
        """With training statistics of the rows."""
        uses_group = settings.uses_group and task.uses_group
        return cls(rows, Standardiser.fit(rows.X, rows.numeric), tuple(settings.hidden), uses_group)

    @property
    def linear(self) -> GroupLinear:
        """The linear score."""
        return GroupLinear(self.rows.n_features, self.rows.n_groups, self.uses_group)

    def inputs(self) -> Vector:
        """Inputs (n, p) of the stacked model."""
        rows, groups = self.rows, range(1, self.rows.n_groups if self.uses_group else 1)
        if self.hidden:
            appended = group_indicators(rows.group, rows.n_groups) if self.uses_group else None
            return dense_features(rows.X, self.standardiser, appended)
        features = dense_features(rows.X, self.standardiser)
        shared = np.hstack([np.ones((len(features), 1)), features])
        return np.hstack([shared, *(shared * (rows.group == k)[:, None] for k in groups)])

    def start(self, seed: int, means: StratumMeans | None) -> Vector:
        """Point (N,) of one run: random weights of a network; a linear score starts from a constant."""
        own = len(self.rows.group_names) - 1 if self.uses_group and self.hidden else 0
        n_inputs = self.rows.n_features + own if self.hidden else self.linear.size
        theta = np.asarray(stacked.make(n_inputs, self.hidden).initial(generator("initialisation", seed)))
        if not self.hidden and isinstance(means, HingeMeans):
            theta[0] = means.program.start_score
        return np.asarray(theta if means is None else np.concatenate([theta, means.start]), np.float64)


def make_problem(task: Task, settings: StochasticSettings, rows: Dataset, shape: Shape) -> StochasticProblem:
    """The problem on the rows.

    Raises:
        ConfigError: another loss or surrogate than the methods know.
    """
    if plugins.chosen(task.loss) != ("logistic", {}) or plugins.chosen(task.surrogate) != ("clipped_linear", {}):
        raise ConfigError("stochastic algorithms know the logistic loss and the clipped-linear surrogate; use these")
    inputs = shape.inputs().astype(settings.precision)
    means = None
    if not math.isinf(task.kappa):
        means = sampled(dataclasses.replace(task, train=rows, closed_grid=True).program())
    score = stacked.make(inputs.shape[1], settings.hidden)
    return StochasticProblem(score, inputs, (rows.y > 0).astype(settings.precision), means)


def make_fit(
    task: Task, settings: StochasticSettings, rows: Dataset, shape: Shape, problem: StochasticProblem, trace: Trace
) -> Fit:
    """The fit of a trace of one run."""
    point = trace.point.astype(np.float64)
    certificate = problem.certify(point)[0]
    theta, aux = point[0, : problem.score.size], point[0, problem.score.size :]
    status = "ok" if trace.finite[0] and np.isfinite(point).all() else "diverged: a number was not finite; reduce steps"
    worst = trace.constraints[:, 0].max(axis=1, initial=-math.inf if problem.n_constraints else 0.0)
    path = np.asarray(trace.path[:, 0], np.float64)
    records = [
        Record(
            iteration=int(step),
            inner_steps=int(step),
            objective=float(trace.loss[k, 0]),
            max_violation=float(worst[k]),
            cpu_seconds=float(trace.seconds[k]),
            params=path[k, : theta.size],
            aux=path[k, theta.size :],
        )
        for k, step in enumerate(trace.steps)
    ]
    selected = {
        "rows_read": float(trace.state["rows"][0]),
        "last_loss": float(trace.loss[-1, 0]),
        "last_violation": float(worst[-1]),
        "seeds_computed_together": settings.seed_batch,
    }
    if "objective_steps" in trace.state:
        selected["objective_steps"] = float(trace.state["objective_steps"][0])
    solution = Solution(theta, aux, certificate, records, status)
    name = "mean of the last points" if settings.average else "last point"
    violation = true_violation(task, problem, records)
    return Fit(solution, _model(shape, theta, aux, status, trace), selected, {name: records}, name, violation)


def _model(shape: Shape, theta: Vector, aux: Vector, status: str, trace: Trace) -> LinearScore | MLPScore:
    rows = shape.rows
    names: dict[str, Any] = {
        "group_names": rows.group_names,
        "feature_names": rows.feature_names,
        "uses_group": shape.uses_group,
    }
    if status != "ok":
        empty = np.zeros((0, 0))
        return LinearScore(empty, shape.standardiser, np.zeros(0), **names, status=status)
    if not shape.hidden:
        weights = shape.linear.effective(np.asarray(theta).reshape(shape.linear.shape))
        return LinearScore(weights, shape.standardiser, aux, **names)
    path = {"steps": trace.steps, "rows": trace.rows[:, 0], "seconds": trace.seconds}
    path["points"] = trace.path[:, 0, : theta.size].astype(np.float32)
    return MLPScore(theta, shape.hidden, shape.standardiser, aux, **names, path=path)


def true_violation(
    task: Task, problem: StochasticProblem, records: Sequence[Record]
) -> Callable[[Vector, Vector], float]:
    """Largest constraint value with indicators in place of the surrogate; loss gaps have neither."""
    if problem.means is None:
        return lambda params, aux: 0.0
    if isinstance(problem.means, LossMeans):
        known = {id(record.params): record.max_violation for record in records}  # all rows once is enough

        def worst(params: Vector, aux: Vector) -> float:
            if id(params) in known:
                return known[id(params)]
            return float(problem.evaluate(np.concatenate([params, aux])[None]).constraints.max())

        return worst
    assert isinstance(problem.means, HingeMeans)
    program: HingeProgram = problem.means.program
    sharp = constraints_of(program, surrogates.make(task.surrogate)).sharp()
    inputs = problem.X[None]

    def violation(params: Vector, aux: Vector) -> float:
        scores = problem.score.forward(params[None].astype(np.float64), inputs)[0][0]
        return float(sharp.parts(np.asarray(scores, np.float64), np.asarray(aux, np.float64)).values.max())

    return violation
