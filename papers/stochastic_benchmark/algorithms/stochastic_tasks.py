"""What the stochastic algorithms share: settings, rows and inputs, starting points, and the fit made of a run."""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from papers.stochastic_benchmark.algorithms.stochastic_problem import Passed, StochasticPoint, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import Method, Plan, Runs, run
from partialfair import plugins
from partialfair.algorithms.contract import Algorithm, Fit, Record, Task, Trace, unsuitable
from partialfair.constraints.stratum_means import HingeMeans, StratumMeans, sampled
from partialfair.data.checkpoint import Checkpoint
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from partialfair.models import stacked
from partialfair.models.features import Standardiser, dense_features, group_indicators
from partialfair.models.linear import GroupLinear, LinearScore, no_score
from partialfair.models.mlp_score import MLPScore
from partialfair.seeding import generator

Vector = NDArray[np.float64]


class StochasticSettings(Plan):
    """Settings of every stochastic algorithm, besides how long it runs and what is kept.

    Attributes:
        hidden: widths of the hidden layers of a network with ReLU; none for the group-interaction linear score.
        uses_group: whether the score may depend on the group.
        fit_on: rows to train on; nothing is selected on validation rows, so they may be among them.
        full_batch: take all rows at every step: the deterministic method, as a reference.
        precision: of the computation.
    """

    hidden: list[PositiveInt] = Field([])
    uses_group: bool = True
    fit_on: Literal["train", "train_and_validation"] = "train"
    full_batch: bool = False
    precision: Literal["float32", "float64"] = "float32"


S = TypeVar("S", bound=StochasticSettings)


class Stochastic(Algorithm[S]):
    """Base of the stochastic algorithms: a subclass makes the steps of its settings.

    Nothing is chosen on validation rows. Runs that differ by their seed alone and train on the same rows are computed
    at once (:mod:`partialfair.models.stacked`).

    Attributes:
        penalised: whether a penalty is added to the loss, so that a point cannot be stationary for the loss alone.
    """

    together = frozenset({"seed"})
    penalised = False

    @abstractmethod
    def method(self, settings: S, rows: Dataset, n_seeds: int) -> Method:
        """What moves ``n_seeds`` runs on these rows by a step."""

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Constraints that are functions of means over groups, so that drawn rows estimate them."""
        reason = unsuitable(data)
        if reason is None and self.constrained and not estimable(constraint):
            return f"{constraint} ranks rows or pairs them, and no mean over drawn rows estimates it"
        return reason

    def fit(self, task: Task, settings: S) -> Fit:
        """Run the method once; a checkpoint of the task is continued."""
        return self._fits([task], settings, training_rows(task, settings), task.checkpoint)[0]

    def fit_together(self, tasks: Sequence[Task], settings: S) -> list[Fit]:
        """Run the method for all seeds at once, if they train on the same rows."""
        rows = training_rows(tasks[0], settings)
        if not all(_same_rows(rows, training_rows(task, settings)) for task in tasks[1:]):
            return super().fit_together(tasks, settings)
        checkpoint, seeds = tasks[0].checkpoint, [task.seed for task in tasks]
        if checkpoint is not None:
            key = f"{checkpoint.key} seeds {seeds}"
            checkpoint = Checkpoint(checkpoint.path.with_name(f"together.{checkpoint.path.name}"), key)
        fits = self._fits(tasks, settings, rows, checkpoint)
        if checkpoint is not None:
            checkpoint.discard()
        return fits

    def _fits(self, tasks: Sequence[Task], settings: S, rows: Dataset, checkpoint: Checkpoint | None) -> list[Fit]:
        """The fits of tasks that train on the same rows."""
        task, seeds = tasks[0], [each_task.seed for each_task in tasks]
        shape = Shape.from_task(task, settings, rows)
        problem = make_problem(task, settings, rows, shape)
        x = np.stack([shape.start(seed, problem.means) for seed in seeds]).astype(settings.precision)
        method = self.method(settings, rows, len(seeds))
        resumable = None if getattr(settings, "penalty", "") == "library" else checkpoint
        runs = run(method, problem, x, seeds, settings, resumable, task.report)
        return [
            make_fit(each_task, settings, shape, problem, runs.of_run(r), certified=not self.penalised)
            for r, each_task in enumerate(tasks)
        ]


def _same_rows(rows_a: Dataset, rows_b: Dataset) -> bool:
    """Whether two tables hold the same rows in the same order."""
    pairs = [
        (table.X if isinstance(table.X, np.ndarray) else table.X.toarray(), table.y, table.group)
        for table in (rows_a, rows_b)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*pairs, strict=True))


def estimable(constraint: str) -> bool:
    """Whether a family's constraints are functions of means over strata of rows."""
    return plugins.is_fused(constraint) or getattr(plugins.load("constraints", constraint), "STRATUM_MEANS", False)


def training_rows(task: Task, settings: StochasticSettings) -> Dataset:
    """Rows to train on: the validation rows after the training rows, if both."""
    if settings.fit_on == "train":
        return task.train
    tables = task.train, task.validation
    train = tables[0]
    sparse = not isinstance(train.X, np.ndarray)
    X: Any = [table.X.toarray() if sparse else table.X for table in tables]  # type: ignore[union-attr]
    return dataclasses.replace(
        train,
        X=np.concatenate(X),
        y=np.concatenate([table.y for table in tables]),
        group=np.concatenate([table.group for table in tables]),
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
    def from_task(cls, task: Task, settings: StochasticSettings, rows: Dataset) -> "Shape":
        """With training statistics of the rows."""
        uses_group = settings.uses_group and task.uses_group
        return cls(rows, Standardiser.fit(rows.X, rows.numeric), tuple(settings.hidden), uses_group)

    @property
    def linear(self) -> GroupLinear:
        """A linear score of these features, per group if it uses the group."""
        return GroupLinear(self.rows.n_features, self.rows.n_groups, self.uses_group)

    def inputs(self) -> Vector:
        """Inputs (n, p) of the stacked model."""
        rows, groups = self.rows, range(1, self.rows.n_groups if self.uses_group else 1)
        if self.hidden:
            appended = group_indicators(rows.group, rows.n_groups) if self.uses_group else None
            return dense_features(rows.X, self.standardiser, appended)
        # a linear score per group as one linear score: (1, x), and for each further group (1, x) times its indicator
        features = dense_features(rows.X, self.standardiser)
        shared = np.hstack([np.ones((len(features), 1)), features])
        return np.hstack([shared, *(shared * (rows.group == k)[:, None] for k in groups)])

    def start(self, seed: int, means: StratumMeans | None) -> Vector:
        """Point (N,) of one run: random weights of a network; a linear score starts from a constant."""
        group_weights = len(self.rows.group_names) - 1 if self.uses_group and self.hidden else 0
        n_inputs = self.rows.n_features + group_weights if self.hidden else self.linear.size
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
    # drawn rows estimate means over strata, hence the constraints' form as functions of such means
    means = None
    if not math.isinf(task.kappa):
        means = sampled(dataclasses.replace(task, train=rows, closed_grid=True).program())
    score = stacked.make(inputs.shape[1], settings.hidden)
    return StochasticProblem(score, inputs, (rows.y > 0).astype(settings.precision), means)


def make_fit(
    task: Task, settings: StochasticSettings, shape: Shape, problem: StochasticProblem, runs: Runs, certified: bool
) -> Fit:
    """The fit of one run: its returned point as the model, its records on all rows as the trace."""
    point = runs.point[0].astype(np.float64)
    theta, aux = point[: problem.score.size], point[problem.score.size :]
    usable = bool(runs.finite[0] and np.isfinite(point).all())
    failure = "" if usable else "a number was not finite; reduce the step sizes"
    # max_i c_i on all rows at every record (K,); the mini-batch values that the method saw are not kept
    worst = runs.constraints[:, 0].max(axis=1, initial=-math.inf if problem.n_constraints else 0.0)
    path = np.asarray(runs.path[:, 0], np.float64)
    records = [
        Record(
            int(step), int(step), float(runs.loss[k, 0]), float(worst[k]), float(runs.seconds[k]),
            Passed(path[k], float(worst[k])),
        )
        for k, step in enumerate(runs.steps)
    ]  # fmt: skip
    chosen = {
        "rows_read": float(runs.state["rows"][0]),
        "last_loss": float(runs.loss[-1, 0]),
        "last_violation": float(worst[-1]),
    }
    if "objective_steps" in runs.state:
        chosen["objective_steps"] = float(runs.state["objective_steps"][0])
    name = "mean of the last points" if settings.average else "last point"
    evaluated_point = StochasticPoint(problem, point, task.surrogate, certified)
    model = no_score(shape.rows, f"diverged: {failure}") if failure else _model(shape, theta, aux, runs)
    return Fit(model, chosen, Trace({name: records}, name), evaluated_point, failure)


def _model(shape: Shape, theta: Vector, aux: Vector, runs: Runs) -> LinearScore | MLPScore:
    rows = shape.rows
    names: dict[str, Any] = {
        "group_names": rows.group_names,
        "feature_names": rows.feature_names,
        "uses_group": shape.uses_group,
    }
    if not shape.hidden:
        weights = shape.linear.effective(np.asarray(theta).reshape(shape.linear.shape))
        return LinearScore(weights, shape.standardiser, aux, **names)
    path = {"steps": runs.steps, "rows": runs.rows[:, 0], "seconds": runs.seconds}
    path["points"] = runs.path[:, 0, : theta.size].astype(np.float32)
    return MLPScore(theta, shape.hidden, shape.standardiser, aux, **names, path=path)
