"""The most accurate threshold per group at equal rates, and the score that it is placed on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.algorithms.contract import Task, linear_score
from partialfair.algorithms.linear.equal_rates.fits import STEPS
from partialfair.algorithms.linear.group_thresholds import GroupCurve, best_thresholds, group_curve
from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.weighted import WeightedProblem, minimise_weighted
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.dataset import Dataset
from partialfair.data.intervals import for_groups, measure
from partialfair.models.features import group_indicators
from partialfair.models.linear import LinearScore

if TYPE_CHECKING:
    from partialfair.estimators.training import Training

Vector = NDArray[np.float64]
EQUAL_OPPORTUNITY = "partial_equal_opportunity"
MEAN = "mean"
RIDGE = 10.0
"""L2 penalty of a score that is cut, times the number of rows: C = 0.1 as scikit-learn counts."""
FIRST_STEPS = 60
"""L-BFGS iterations of the first fits. To their ends a9a and Adult take 1.4 times as long and are as accurate."""
STEEPEST = 4.0
"""Thresholds beyond this, at probabilities below .018 or above .982, count as this in the costs of a fit."""
WORTH = 1 << 30
"""Sum of the weights of all rows as integers."""


def best_cuts(task: Task, rows: Dataset, model: LinearScore, weights: Vector | None = None) -> Vector:
    """Thresholds (G,) of a model's scores: the fewest errors among those whose rates differ by at most kappa."""
    return cuts_of(task, rows, model.scores(rows.X, rows.group), weights)


def cuts_of(task: Task, rows: Dataset, scores: Vector, weights: Vector | None = None) -> Vector:
    """Return the same thresholds (G,) of known scores (n,)."""
    return best_thresholds(*curves_of(task, rows, scores, weights))[0]


def curves_of(
    task: Task, rows: Dataset, scores: Vector, weights: Vector | None = None
) -> tuple[list[GroupCurve], float]:
    """Return what a threshold of each group can do to scores (n,), and by how much the groups' rates may differ."""
    intervals = for_groups(task.interval, rows.n_groups)
    lengths = np.array([measure(pairs) for pairs in intervals])
    slack = float(slack_per_group(intervals, task.kappa, task.kappa_scale).mean())
    worth = None if weights is None else np.rint(weights * (WORTH / weights.sum())).astype(np.int64)
    curves = []
    for k, pairs in enumerate(intervals):
        members = rows.group == k
        counted = rows.y[members] > 0 if task.constraint == EQUAL_OPPORTUNITY else None
        scale = float(lengths.mean() / lengths[k])
        curves.append(
            group_curve(
                scores[members], rows.y[members], pairs, scale, counted, None if worth is None else worth[members]
            )
        )
    return curves, slack


@dataclass(eq=False)
class GroupCuts:
    """Scores that thresholds per group are placed on; what all tolerances share is computed once.

    Of two scores, one has weights per group, the other the same weights for all groups and an intercept each. Which of
    them decides better differs from table to table by a few in a thousand rows, too few to tell on held-out rows: their
    mean is taken, unless the logistic loss on those rows is less for one of the two by more than two standard errors.

    Both are fitted twice, the second time with the costs that the best thresholds of the first fits stand for: a linear
    model cannot be right everywhere, and this asks it to be right where it is cut. Where the user states no penalty
    there is a small one, since unbounded weights of rare columns decide worse on other rows.
    """

    training: "Training"

    def score(self, task: Task) -> Vector:
        """Return the weights (G, d+1) of the score to cut for a task."""
        row_weights, rows = self.training.weights, self.training.rows
        plain_score = self._blocks([params for params, _ in self.plain])[self.kind]
        cuts = best_cuts(task, rows, linear_score(task, plain_score), row_weights)
        weights = costs(task, rows, cuts) * (1.0 if row_weights is None else row_weights)
        weights /= weights.mean()
        again = [
            minimise_weighted(WeightedProblem.from_problem(problem, weights, problem.penalty), *start, STEPS)[0]
            for problem, start in zip(self.problems, self.plain, strict=True)
        ]
        return self._blocks(again)[self.kind]

    @cached_property
    def problems(self) -> list[WeightedProblem]:
        """Return the loss with weights per group, and with indicators of the groups."""
        training = self.training
        penalty = training.penalty or RIDGE / training.rows.n_rows
        problems = training.problem, _with_indicators(training).problem
        return [WeightedProblem.from_problem(problem, training.weights, penalty) for problem in problems]

    @cached_property
    def plain(self) -> list[tuple[Vector, Scaling]]:
        """Return the parameters near their minima, and the coordinates in which these were found."""
        return [minimise_weighted(problem, iterations=FIRST_STEPS) for problem in self.problems]

    @cached_property
    def held_out(self) -> dict[str, Vector]:
        """Logistic loss of every held-out row by the name of the score, where these are fitted to the other rows."""
        fitted, unseen = self.training.hold_out()
        if not unseen.size:
            return {}
        training, rows = self.training.part(fitted), self.training.rows.take(unseen)
        scores = {
            name: linear_score(training.task, blocks).scores(rows.X, rows.group)
            for name, blocks in training.cuts._blocks([params for params, _ in training.cuts.plain]).items()
        }
        return {name: np.logaddexp(0, -rows.y * margins) for name, margins in scores.items()}

    @cached_property
    def kind(self) -> str:
        """Return the score to cut: the mean's, unless another's held-out loss is lower by two standard errors."""
        losses = self.held_out
        best = min(losses, key=lambda name: float(losses[name].mean()), default=MEAN)
        gain = losses[MEAN] - losses[best] if losses else np.zeros(1)
        return best if gain.mean() > 2 * gain.std() / np.sqrt(gain.size) else MEAN

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the choice, and what it rests on."""
        table = {f"validation_loss_{name}": float(losses.mean()) for name, losses in self.held_out.items()}
        return {"score": self.kind, **table}

    def _blocks(self, params: Sequence[Vector]) -> dict[str, Vector]:
        """Return the weights (G, d+1) by the name of the score, from the parameters of the two problems."""
        per_group, shared = (
            problem.model.effective(vector) for problem, vector in zip(self.problems, params, strict=True)
        )
        additive = shared[:, : per_group.shape[1]].copy()
        additive[1:, 0] += params[1][0, per_group.shape[1] :]  # the indicators' weights
        return {"per_group": per_group, "additive": additive, MEAN: (per_group + additive) / 2}


def costs(task: Task, rows: Dataset, cuts: Vector) -> Vector:
    """Return what a wrong decision about each row costs (n,) where thresholds (G,) of a logistic score are optimal.

    A threshold t is optimal if a group's multiplier l moves the point of indifference there. For shares of all rows a
    decision for 1 costs l more, hence ``2 p(t) - 1 = l`` with the logistic function p; an error then costs ``1 - l``
    in a positive row and ``1 + l`` in a negative one. For shares of the positive rows an error in those costs
    ``exp(-t)``.
    """
    cut_of_row, positive = np.clip(cuts, -STEEPEST, STEEPEST)[rows.group], rows.y > 0
    if task.constraint == EQUAL_OPPORTUNITY:
        return np.where(positive, np.exp(-cut_of_row), 1.0)
    return np.asarray(1 - rows.y * np.tanh(cut_of_row / 2))


def _with_indicators(training: "Training") -> "Training":
    """Return the rows with an indicator of every group but the first, and one set of weights."""
    rows = training.rows
    members = group_indicators(rows.group, rows.n_groups).astype(np.float32)
    X: Any = np.hstack([rows.X, members]) if isinstance(rows.X, np.ndarray) else sparse.hstack([rows.X, members], "csr")
    names = (*rows.feature_names, *(f"group {name}" for name in rows.group_names[1:]))
    X = X if isinstance(X, np.ndarray) else sparse.csr_array(X)
    return replace(training, rows=replace(rows, X=X, feature_names=names), uses_group=False, fits={})
