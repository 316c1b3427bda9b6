"""What PLADA and the methods it is compared with share: the problem of a task, budgets, and curves along the run.

The problem is the paper's (equations (3), (15) to (17)): logistic loss of one weight vector for all groups, under gaps
between smoothed positive rates. Columns are appended to the features where the paper counts the sensitive
attribute or an intercept among the inputs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from partialfair import plugins
from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps.gap_problem import Array, kkt_residuals, worst
from partialfair.algorithms.gaps.gap_reference import near_stationarity
from partialfair.algorithms.gaps.gap_runs import Curve
from partialfair.algorithms.gaps.linear_gaps import LinearGaps, Rate, Smoothing
from partialfair.algorithms.solution import Certificate, Record, Solution
from partialfair.algorithms.transition import Fit, classification_only
from partialfair.constraints.common import slack_per_group
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.models.features import Standardiser, features, group_indicators
from partialfair.models.linear import LinearScore
from partialfair.models.traced import TracedScore
from partialfair.tables.dataset import Dataset, Matrix
from partialfair.tables.intervals import for_groups, measure

Columns = Literal["none", "intercept", "groups", "last_group"]
STRATA = {
    "partial_demographic_parity": ("all",),
    "partial_equal_opportunity": ("positive",),
    "partial_equalized_odds": ("positive", "negative"),
}
ACCEPTED = 1e-3
"""Largest violation of an iterate that counts as feasible (spec: section 5)."""


class GapSettings(Settings):
    """Settings of every method of this family.

    Attributes:
        iterations: iterations, or a number by dataset with ``default``.
        columns: what is appended to the features, by dataset with ``default``: ``intercept``, an indicator of every
            group (``groups``), of the last group (``last_group``), or ``none``.
        radius: of the ball that holds the weights.
        points: how many iterates are looked at closely, off the clock (KKT residual, true violation).
        stationarity: how many of them get the near-stationarity measure, which costs a solve each; 0 for none.
    """

    iterations: PositiveInt | dict[str, PositiveInt] = 1000
    columns: dict[str, Columns] = Field({"default": "intercept"})
    radius: PositiveFloat = 10.0
    points: PositiveInt = 60
    stationarity: NonNegativeInt = 0

    def steps(self, dataset: str) -> int:
        """Iterations on a dataset.

        Raises:
            ConfigError: there is no number for it and no default.
        """
        if isinstance(self.iterations, int):
            return self.iterations
        return int(_of(self.iterations, dataset, "iterations"))


def _of(entries: Mapping[str, Any], dataset: str, where: str) -> Any:
    """The entry of a dataset, or the default."""
    if dataset not in entries and "default" not in entries:
        raise ConfigError(f"{where} has no entry for {dataset} and no default; add one")
    return entries.get(dataset, entries.get("default"))


def applies_to(constraint: str, dataset: Dataset) -> tuple[bool, str]:
    """Rates of classification datasets with at least two groups."""
    if constraint not in STRATA:
        return False, f"{constraint} is no gap between rates; use one of {', '.join(STRATA)}"
    return classification_only(dataset)


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
        found: Columns = _of(self.settings.columns, self.task.train.name, "columns")
        return found

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
                rates.append(Rate(int(starts[cell]), int(starts[cell + 1]), pairs, lengths.mean() / lengths[group]))
        differences = [
            (number * rows.n_groups + k, number * rows.n_groups + other)
            for number in range(len(strata))
            for k, other in combinations(range(rows.n_groups), 2)
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
        intercepts = np.zeros(groups)
        extra = theta[d:]
        if self.columns in ("intercept", "groups"):
            intercepts[:] = extra
        elif self.columns == "last_group":
            intercepts[-1:] = extra
        return np.column_stack([intercepts, np.tile(theta[:d], (groups, 1))])

    def point(self, weights: Array) -> Array:
        """The point of weights; the inverse of :meth:`weights`."""
        chosen = {"none": slice(0, 0), "intercept": slice(0, 1), "groups": slice(None), "last_group": slice(-1, None)}
        return np.concatenate([weights[0, 1:], weights[chosen[self.columns], 0]])

    def score(self, theta: Array) -> LinearScore:
        """The score model at a point."""
        data = self.task.train
        uses_group = self.columns in ("groups", "last_group")
        names = data.group_names, data.feature_names
        return LinearScore(self.weights(theta), self.standardiser, np.zeros(0), *names, uses_group=uses_group)

    def true_violation(self, weights: Array, aux: Array) -> float:
        """Largest constraint value with the indicator in place of its smooth stand-in."""
        gaps = self.problem.true_gaps(self.point(weights)[:, None])[:, 0]
        return float((np.abs(gaps) - self.problem.eps).max())


def smoothing_of(surrogate: Any) -> Smoothing:
    """The stand-in for the indicator that a task names; the paper's is logistic with sharpness 1/4."""
    name, options = plugins.chosen(surrogate)
    return Smoothing(name, float(options.get("sharpness", 1.0)))


def fit_of(
    own: GapTask, curves: Mapping[str, Curve], chosen: str, theta: Array, selected: dict[str, Any], weight: float
) -> Fit:
    """What an algorithm of this family returns.

    Args:
        own: the problem.
        curves: the run of every candidate.
        chosen: name of the one that the result comes from.
        theta: (size,) the result.
        selected: what was computed or chosen for it.
        weight: rho of the near-stationarity measure.
    """
    problem = own.problem
    state = problem.state(theta[:, None])
    residual, multipliers = problem_residual(own, theta)
    violation = float(worst(problem, state)[0])
    certificate = Certificate(float(state.loss[0]), violation, residual, multipliers)
    histories = {name: _records(own, curve) for name, curve in curves.items()}
    trace: dict[str, Array] = {}
    for name, curve in curves.items():
        trace |= {f"{name}/{what}": values for what, values in _trace(own, curve, weight).items()}
    params = own.weights(theta)
    solution = Solution(params, np.zeros(0), certificate, histories[chosen], "ok")
    model = TracedScore(own.score(theta), trace)
    return Fit(solution, model, selected, histories, chosen, own.true_violation)


def problem_residual(own: GapTask, theta: Array) -> tuple[float, Array]:
    """KKT residual of a point, and its multipliers."""
    residual, multipliers = kkt_residuals(own.problem, own.problem.state(theta[:, None]))
    return float(residual[0]), multipliers[:, 0]


def _records(own: GapTask, curve: Curve) -> list[Record]:
    """History of one candidate at the iterates that were kept."""
    nothing = np.zeros(0)
    return [
        Record(
            iteration=int(k),
            inner_steps=int(k),
            objective=float(curve.loss[place]),
            max_violation=float(curve.violation[place]),
            cpu_seconds=float(curve.seconds[place]),
            params=own.weights(curve.points[int(k)]),
            aux=nothing,
        )
        for place, k in enumerate(curve.iteration)
        if int(k) in curve.points
    ]


def _trace(own: GapTask, curve: Curve, weight: float) -> dict[str, Array]:
    """Curves of one candidate: every iteration, and the close looks at the iterates that were kept."""
    kept = sorted(curve.points)
    looks = np.array([_look(own, curve.points[k]) for k in kept])
    out = {
        "iteration": curve.iteration.astype(float),
        "loss": curve.loss,
        "violation": curve.violation,
        "kept": np.array(kept, float),
        "kkt": looks[:, 0],
        "true_violation": looks[:, 1],
        **curve.duals,
    }
    wanted = own.settings.stationarity
    if wanted:
        places = np.unique(np.rint(np.geomspace(1, len(kept), wanted)).astype(int)) - 1
        chosen = [kept[place] for place in places]
        own.task.report(f"near-stationarity of {len(chosen)} iterates")
        out["stationarity_at"] = np.array(chosen, float)
        out["stationarity"] = np.array([near_stationarity(own.problem, curve.points[k], weight)[0] for k in chosen])
    return out


def _look(own: GapTask, theta: Array) -> tuple[float, float]:
    return problem_residual(own, theta)[0], own.true_violation(own.weights(theta), np.zeros(0))


def preferred(curves: Mapping[str, Curve], names: Iterable[str]) -> str:
    """The candidate with the smallest last loss at a violation of at most 1e-3, else the smallest violation."""

    def rank(name: str) -> tuple[bool, float]:
        last = float(curves[name].violation[-1])
        return last > ACCEPTED, float(curves[name].loss[-1]) if last <= ACCEPTED else last

    return min(names, key=rank)


def kept_iterations(steps: int, points: int) -> Sequence[int]:
    """Iterations that are kept: half of them geometric, half even, the first and the last among them."""
    early, even = np.geomspace(1, steps, max(2, points // 2)), np.linspace(0, steps, max(2, points // 2))
    return np.unique(np.rint(np.concatenate([early, even])).astype(int)).tolist()
