"""What PLADA and the methods it is compared with share: the problem of a task, budgets, and curves along the run.

The problem is the paper's (equations (3), (15) to (17)): logistic loss of one weight vector for all groups, under gaps
between smoothed positive rates. Columns are appended to the features where the paper counts the sensitive
attribute or an intercept among the inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from papers.plada.algorithms.gap_problem import Array, GapState, kkt_residuals, worst
from papers.plada.algorithms.gap_reference import near_stationarity
from papers.plada.algorithms.gap_runs import Curve
from papers.plada.algorithms.linear_gaps import LinearGaps, Rate, Smoothing
from partialfair import plugins
from partialfair.algorithms.contract import (
    Algorithm,
    Certificate,
    EvaluatedPoint,
    Fit,
    Record,
    Settings,
    Task,
    Trace,
    unsuitable,
)  # fmt: skip
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.dataset import Dataset, Matrix
from partialfair.data.intervals import for_groups, measure
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.models.features import Standardiser, features, group_indicators
from partialfair.models.linear import LinearScore
from partialfair.models.traced import TracedScore

Columns = Literal["none", "intercept", "groups", "last_group"]
STRATA = {
    "partial_demographic_parity": ("all",),
    "partial_equal_opportunity": ("positive",),
    "partial_equalized_odds": ("positive", "negative"),
}
Step = PositiveFloat | Literal["loss"]
"""A step of theta; ``loss`` is nine tenths of 1 / L_F, the inverse curvature of the loss alone."""

SMALL, PENALTY = 1e-3, 1.0
"""KKT residual that counts as small, and the weight of a violation in the choice among candidates."""


class GapSettings(Settings):
    """Settings of every method of this family.

    Attributes:
        iterations: iterations, or a number by dataset with ``default``.
        work: products of the data with a vector that a run may take, likewise; in place of ``iterations``, so that
            methods whose iterations cost different amounts do equal work.
        tuning: share of a run that each candidate gets where a method chooses among several on the training rows.
        columns: what is appended to the features, by dataset with ``default``: ``intercept``, an indicator of every
            group (``groups``), of the last group (``last_group``), or ``none``.
        radius: of the ball that holds the weights.
        points: how many iterates are looked at closely, off the clock (KKT residual, true violation).
        stationarity: how many of them get the near-stationarity measure, which costs a solve each; 0 for none.
    """

    iterations: PositiveInt | dict[str, PositiveInt] = 1000
    work: PositiveInt | dict[str, PositiveInt] | None = None
    tuning: float = Field(0.25, gt=0, le=1)
    columns: dict[str, Columns] = Field({"default": "intercept"})
    radius: PositiveFloat = 10.0
    points: PositiveInt = 60
    stationarity: NonNegativeInt = 0

    def steps(self, dataset: str, products: int) -> int:
        """Iterations on a dataset.

        Args:
            dataset: its name.
            products: products with the data that an iteration takes.

        Raises:
            ConfigError: there is no number for it and no default.
        """
        if self.work is not None:
            budget = self.work if isinstance(self.work, int) else int(_entry_of(self.work, dataset, "work"))
            return max(1, budget // products)
        if isinstance(self.iterations, int):
            return self.iterations
        return int(_entry_of(self.iterations, dataset, "iterations"))

    def trial(self, steps: int) -> int:
        """Iterations of a candidate among several, for a run of ``steps``."""
        return max(1, round(self.tuning * steps))


def _entry_of(entries: Mapping[str, Any], dataset: str, where: str) -> Any:
    """The entry of a dataset, or the default."""
    if dataset not in entries and "default" not in entries:
        raise ConfigError(f"{where} has no entry for {dataset} and no default; add one")
    return entries.get(dataset, entries.get("default"))


def step_of(step: Step, problem: LinearGaps) -> float:
    """The number that a step stands for."""
    return 0.9 / problem.curvature_of_loss() if step == "loss" else float(step)


S = TypeVar("S", bound=GapSettings)


class GapAlgorithm(Algorithm[S]):
    """Base of the methods: they take gaps between rates."""

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Rates of classification datasets with at least two groups."""
        if constraint not in STRATA:
            return f"{constraint} is no gap between rates; use one of {', '.join(STRATA)}"
        return unsuitable(data)


@dataclass(frozen=True, eq=False)
class GapTask:
    """The problem of a task, and the way back from its points to score models.

    Attributes:
        task: what is to be solved.
        settings: columns and ball.
    """

    task: Task
    settings: GapSettings

    @cached_property
    def columns(self) -> Columns:
        """What is appended to the features."""
        columns: Columns = _entry_of(self.settings.columns, self.task.train.name, "columns")
        return columns

    @cached_property
    def standardiser(self) -> Standardiser:
        """Training statistics of the numeric columns."""
        return self.task.standardiser

    @cached_property
    def problem(self) -> LinearGaps:
        """The problem on the training rows.

        Raises:
            NotEstimableError: a rate has no rows.
        """
        task, rows = self.task, self.task.train
        # rows sorted by stratum (all rows, or positive and negative ones), then by group: the rows of a rate are one
        # slice
        strata = STRATA[task.constraint]
        stratum = np.zeros(rows.n_rows, np.int64) if strata == ("all",) else (rows.y <= 0).astype(np.int64)
        key = stratum * rows.n_groups + rows.group
        order = np.argsort(key, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=2 * rows.n_groups))])
        intervals = for_groups(task.interval, rows.n_groups)
        lengths = np.array([measure(pairs) for pairs in intervals])
        rates: list[Rate] = []
        for number, name in enumerate(strata):
            for group, pairs in enumerate(intervals):
                cell = number * rows.n_groups + group
                if starts[cell] == starts[cell + 1]:
                    where = "" if name == "all" else f" with a {name} label"
                    raise NotEstimableError(
                        f"group {rows.group_names[group]!r} has no training row{where}; merge groups"
                    )
                # c of group k in its stratum; the scale levels intervals of different lengths
                rates.append(Rate(int(starts[cell]), int(starts[cell + 1]), pairs, lengths.mean() / lengths[group]))
        # one gap h_j = c_k - c_k' per stratum and pair of groups: equation (15) in one stratum, (17) in two
        differences = [
            (number * rows.n_groups + k, number * rows.n_groups + k_other)
            for number in range(len(strata))
            for k, k_other in combinations(range(rows.n_groups), 2)
        ]
        eps = float(slack_per_group(intervals, task.kappa, task.kappa_scale).mean())
        matrix = self._matrix(rows)[order]
        smoothing = smoothing_of(task.surrogate)
        numbers = np.array(differences, np.int64)
        return LinearGaps(
            matrix, rows.y[order], tuple(rates), numbers, np.full(len(numbers), eps), self.settings.radius, smoothing
        )

    def _matrix(self, rows: Dataset) -> Matrix:
        """Standardised features and the appended columns."""
        indicators = group_indicators(rows.group, rows.n_groups, first=0)
        appended = {
            "none": None,
            "intercept": np.ones((rows.n_rows, 1)),
            "groups": indicators,
            "last_group": indicators[:, -1:],
        }[self.columns]
        return features(rows.X, self.standardiser, appended)

    def weights(self, theta: Array) -> Array:
        """Weights (G, d+1), intercept first, of a point (size,)."""
        d, groups = self.task.train.n_features, self.task.train.n_groups
        # appended columns of the training rows become intercepts of the groups
        intercepts = np.zeros(groups)
        extra = theta[d:]
        if self.columns in ("intercept", "groups"):
            intercepts[:] = extra
        elif self.columns == "last_group":
            intercepts[-1:] = extra
        return np.column_stack([intercepts, np.tile(theta[:d], (groups, 1))])

    def score(self, theta: Array) -> LinearScore:
        """Linear score with the weights (d,) of a point, on the features as the training rows standardise them."""
        data = self.task.train
        uses_group = self.columns in ("groups", "last_group")
        names = data.group_names, data.feature_names
        return LinearScore(self.weights(theta), self.standardiser, np.zeros(0), *names, uses_group=uses_group)


@dataclass(frozen=True, eq=False)
class GapPoint(EvaluatedPoint):
    """A point (d,) of the problem."""

    problem: LinearGaps
    theta: Array

    @cached_property
    def _state(self) -> GapState:
        return self.problem.state(self.theta[:, None])

    def objective(self) -> float:
        """Mean logistic loss F on the training rows."""
        return float(self._state.loss[0])

    def violation(self) -> float:
        """Largest ``|h_j| - eps_j``."""
        return float(worst(self.problem, self._state)[0])

    def indicator_violation(self, point: Array | None = None) -> float:
        """The same with the indicator in place of its smooth stand-in, here or at another point (d,)."""
        gaps = self.problem.true_gaps((self.theta if point is None else point)[:, None])[:, 0]
        return float((np.abs(gaps) - self.problem.eps).max())

    def certificate(self) -> Certificate:
        """KKT residual, complementary slackness included."""
        residual, multipliers = kkt_residuals(self.problem, self._state)
        return Certificate("kkt", float(residual[0]), "an absolute norm", SMALL, multipliers[:, 0])


def smoothing_of(surrogate: Any) -> Smoothing:
    """The stand-in for the indicator that a task names; the paper's is logistic with sharpness 1/4."""
    name, options = plugins.chosen(surrogate)
    return Smoothing(name, float(options.get("sharpness", 1.0)))


def fit_of(
    gap_task: GapTask, curves: Mapping[str, Curve], result: str, theta: Array, chosen: dict[str, Any], weight: float
) -> Fit:
    """What an algorithm of this family returns.

    Args:
        gap_task: the problem.
        curves: the run of every candidate.
        result: name of the one that the result comes from.
        theta: (size,) the result.
        chosen: what was computed or chosen for it.
        weight: rho of the near-stationarity measure.
    """
    trace = Trace({name: _records(curve) for name, curve in curves.items()}, result)
    looks: dict[str, Array] = {}
    for name, curve in curves.items():
        looks |= {f"{name}/{quantity}": values for quantity, values in _looks(gap_task, curve, weight).items()}
    return Fit(TracedScore(gap_task.score(theta), looks), chosen, trace, GapPoint(gap_task.problem, theta))


def _records(curve: Curve) -> list[Record]:
    """One candidate at the iterates that were kept."""
    return [
        Record(
            int(k), int(curve.work[index]), float(curve.loss[index]), float(curve.violation[index]),
            float(curve.seconds[index]), curve.points[int(k)],
        )
        for index, k in enumerate(curve.iteration)
        if int(k) in curve.points
    ]  # fmt: skip


def _looks(gap_task: GapTask, curve: Curve, weight: float) -> dict[str, Array]:
    """Curves of one candidate: every iteration, and the close looks at the iterates that were kept."""
    iterations = sorted(curve.points)
    points = [GapPoint(gap_task.problem, curve.points[k]) for k in iterations]
    out = {
        "iteration": curve.iteration.astype(float),
        "loss": curve.loss,
        "violation": curve.violation,
        "work": curve.work,
        "kept": np.array(iterations, float),
        "kkt": np.array([point.certificate().value for point in points]),
        "true_violation": np.array([point.indicator_violation() for point in points]),
        **curve.duals,
    }
    n_points = gap_task.settings.stationarity
    if n_points:
        chosen = _spread(iterations, n_points)
        gap_task.task.report(f"near-stationarity of {len(chosen)} iterates")
        out["stationarity_at"] = np.array(chosen, float)
        distances = [near_stationarity(gap_task.problem, curve.points[k], weight)[0] for k in chosen]
        out["stationarity"] = np.array(distances)
    return out


def _spread(iterations: Sequence[int], n_points: int) -> list[int]:
    """Some of the kept iterations, as even in their logarithm as they allow; the last among them, the start not."""
    logs = np.log(np.array([k for k in iterations if k > 0], float))
    remaining = list(range(len(logs)))
    while len(remaining) > n_points:  # drop the inner one whose neighbours are closest
        gaps = [logs[remaining[i + 1]] - logs[remaining[i - 1]] for i in range(1, len(remaining) - 1)]
        del remaining[1 + int(np.argmin(gaps))]
    return [round(float(np.exp(logs[i]))) for i in remaining]


def preferred(curves: Mapping[str, Curve]) -> str:
    """The candidate that reached the smallest ``F + max(0, max_j G_j)``.

    An exact penalty: its weight 1 is above the multipliers of these problems. After a short run few candidates meet
    the constraint, and the best iterate that is may be one that crossed it by accident.
    """
    # F + PENALTY max(0, max_j G_j) at the best iterate of the short run
    merits = {name: float(np.nanmin(c.loss + PENALTY * np.maximum(c.violation, 0.0))) for name, c in curves.items()}
    return min(merits, key=lambda name: merits[name])


def kept_iterations(steps: int, points: int) -> Sequence[int]:
    """Iterations that are kept: half of them geometric, half even, the first and the last among them."""
    early, even = np.geomspace(1, steps, max(2, points // 2)), np.linspace(0, steps, max(2, points // 2))
    return np.unique(np.rint(np.concatenate([early, even])).astype(int)).tolist()
