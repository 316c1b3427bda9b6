"""Group thresholds on the unconstrained model: the most accurate ones whose positive rates differ by at most a slack.

For fixed scores, accuracy and rates depend on a group's threshold only through its rank, so the optimum over all
rows is found exactly: for every window of rates as wide as the slack, the best rank of each group inside it.

Source: Hardt, Price and Srebro, Equality of Opportunity in Supervised Learning (2016), section 4, with the rates
cut off at the ends of the interval as in the Partial fairness paper, Lemma 5.2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Task, Trace, unsuitable
from partialfair.algorithms.linear.certificate import LinearPoint
from partialfair.algorithms.linear.problem import linear_problem, score_at
from partialfair.algorithms.linear.unconstrained import UnconstrainedSettings, minimum
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.dataset import Dataset
from partialfair.data.intervals import Pairs, for_groups, measure
from partialfair.errors import ConfigError
from partialfair.models.linear import LinearScore

FAMILY = "partial_demographic_parity"
Vector = NDArray[np.float64]


class GroupThresholds(Algorithm[UnconstrainedSettings]):
    """Fit without constraint, then move each group's intercept so that 0 is its threshold.

    Beyond the Partial fairness paper, whose loss does not see the decision threshold: at tight parity this is
    more accurate. The thresholds are chosen on training and validation rows together. Scores above and below the
    threshold stay as they were, so nothing is promised about any other threshold.
    """

    settings = UnconstrainedSettings
    label = "Group thresholds"
    paper = "Hardt, Price and Srebro (2016), section 4"
    look = PlotStyle("#6b6b6b", "x", (0, (8, 2)))
    general = False

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Demographic parity only: the one family that looks at one threshold and at all rows of a group."""
        if constraint != FAMILY:
            return f"group thresholds can meet {FAMILY} only, not {constraint}"
        return unsuitable(data)

    def fit(self, task: Task, settings: UnconstrainedSettings) -> Fit:
        """Train on the training rows; place thresholds on training and validation rows.

        Raises:
            ConfigError: the score may not depend on the group.
        """
        if not task.uses_group:
            raise ConfigError("group_thresholds needs the group at prediction time; choose another algorithm")
        problem = linear_problem(task)
        start, record = minimum(problem, settings)
        thresholds = self._thresholds(task, score_at(task, start.params, start.aux))
        params = start.params.copy()
        params[:, 0] -= np.concatenate([thresholds[:1], thresholds[1:] - thresholds[0]])
        evaluated_point = LinearPoint(problem, params, start.aux)
        return Fit(
            score_at(task, params, start.aux),
            trace=Trace({"newton": [record]}, "newton"),
            evaluated_point=evaluated_point,
        )

    def _thresholds(self, task: Task, model: LinearScore) -> NDArray[np.float64]:
        """The most accurate thresholds (G,) that keep the rates of training and validation rows within the slack."""
        tables = (task.train, task.validation)
        scores = np.concatenate([model.scores(table.X, table.group) for table in tables])
        y, group = (np.concatenate([getattr(table, name) for table in tables]) for name in ("y", "group"))
        intervals = for_groups(task.interval, task.train.n_groups)
        lengths = np.array([measure(pairs) for pairs in intervals])
        slack = float(slack_per_group(intervals, task.kappa, task.kappa_scale).mean())
        curves = [
            group_curve(scores[group == k], y[group == k], pairs, float(lengths.mean() / lengths[k]))
            for k, pairs in enumerate(intervals)
        ]
        thresholds, correct = best_thresholds(curves, slack)
        task.report(f"accuracy {correct / y.size:.4f} on training and validation rows, rates within {slack:.3g}")
        return thresholds


@dataclass(frozen=True, eq=False)
class GroupCurve:
    """What a group's threshold can do: one entry per distinct cut between sorted scores.

    Attributes:
        thresholds: (c,) decreasing thresholds.
        rates: (c,) non-decreasing rates inside the interval.
        correct: (c,) rows on the right side.
    """

    thresholds: Vector
    rates: Vector
    correct: NDArray[np.int64]


def group_curve(
    scores: Vector,
    y: Vector,
    interval: Pairs,
    scale: float = 1.0,
    counted: NDArray[np.bool_] | None = None,
    weight: NDArray[np.int64] | None = None,
) -> GroupCurve:
    """Curve of one group's rows: scores (n,), labels (n,).

    Args:
        scores: scores of the group; y: labels -1/+1.
        interval: pairs [alpha, beta); a rate r counts as the sum of min(r, beta) - min(r, alpha).
        scale: factor on the rates, for groups whose intervals differ in length.
        counted: (n,) rows that the rate is of; by default all.
        weight: (n,) what a row counts when it is on the right side; by default 1.
    """
    # cut j puts the j highest scores above the threshold: correct(j) = negatives + sum over these of +-worth, and
    # rate(j) = sum over the interval of min(share, beta) - min(share, alpha), the rate of equation (21)
    order = np.argsort(-scores, kind="stable")
    ranked, positive = scores[order], y[order] > 0
    worth = np.ones(scores.size, np.int64) if weight is None else weight[order]
    correct = np.concatenate([[0], np.cumsum(np.where(positive, worth, -worth))]) + worth[~positive].sum()
    between = np.concatenate([[ranked[0] + 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] - 1]])
    cuts = np.concatenate([[True], ranked[1:] < ranked[:-1], [True]])  # equal scores are not told apart
    above = np.arange(scores.size + 1) if counted is None else np.concatenate([[0], np.cumsum(counted[order])])
    share = above[cuts] / max(int(above[-1]), 1)
    rates = sum((np.minimum(share, beta) - np.minimum(share, alpha) for alpha, beta in interval), np.zeros(share.size))
    return GroupCurve(between[cuts], scale * rates, correct[cuts])


def best_thresholds(curves: list[GroupCurve], slack: float) -> tuple[Vector, int]:
    """Thresholds (G,) and the rows they classify correctly, over all choices with rates within ``slack``.

    Cost O(c G log c) for c cuts in all. Always feasible: at rates of zero all groups agree.
    """
    # rates within the slack of each other lie in a window [low, low + slack] whose lower end is the rate of some cut
    lows = np.unique(np.concatenate([curve.rates for curve in curves]))
    total = np.zeros(lows.size, np.int64)
    picks = []
    for curve in curves:
        earliest = np.searchsorted(curve.rates, lows - 1e-12, side="left")
        last = np.searchsorted(curve.rates, lows + slack + 1e-12, side="right")
        pick = _window_argmax(curve.correct, earliest, last)
        total += np.where(last > earliest, curve.correct[pick], np.iinfo(np.int32).min)
        picks.append(pick)
    best = int(np.argmax(total))
    chosen = np.array([curve.thresholds[pick[best]] for curve, pick in zip(curves, picks, strict=True)])
    return chosen, int(total[best])


def _window_argmax(values: NDArray[np.int64], starts: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Position of the largest of ``values[first:last]`` for every window (the first one of empty windows).

    A sparse table: the best of every run of 2^k entries, and two overlapping runs for each window.
    """
    # table[k][i] is the place of the largest of the 2^k entries from i on
    table = [np.arange(values.size)]
    while 2 ** len(table) <= values.size:
        half, previous = 2 ** (len(table) - 1), table[-1]
        earlier, later = previous[:-half], previous[half:]
        table.append(np.where(values[later] > values[earlier], later, earlier))
    # a window of n entries is covered by two runs of 2^floor(log2 n), from its start and to its end
    length = np.maximum(last - starts, 1)
    level = np.floor(np.log2(length)).astype(np.int64)
    start = np.minimum(starts, values.size - 1)
    out = np.empty(starts.size, np.int64)
    for k, best in enumerate(table):
        queries = level == k
        earlier, later = best[start[queries]], best[np.maximum(start[queries] + length[queries] - 2**k, start[queries])]
        out[queries] = np.where(values[later] > values[earlier], later, earlier)
    return out


ALGORITHM = GroupThresholds()
