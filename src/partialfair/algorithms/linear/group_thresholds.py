"""Group thresholds on the unconstrained model: most accurate among those with rates within the slack."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Fit, Settings, Task, classification_only
from partialfair.algorithms.linear.certificate import certify
from partialfair.algorithms.linear.rate_thresholds import best_thresholds, group_curve
from partialfair.algorithms.linear.unconstrained_solver import solve
from partialfair.algorithms.solution import Solution
from partialfair.constraints.common import slack_per_group
from partialfair.errors import ConfigError
from partialfair.models.linear import LinearScore
from partialfair.tables.dataset import Dataset
from partialfair.tables.intervals import for_groups, measure

FAMILY = "partial_demographic_parity"


class GroupThresholdsSettings(Settings):
    """Settings of the unconstrained fit; see :func:`partialfair.algorithms.linear.unconstrained_solver.solve`."""

    iterations: PositiveInt = 50
    tolerance: PositiveFloat = 1e-9


class GroupThresholds:
    """Fit without constraint, then move each group's intercept so that 0 is its threshold.

    Beyond the Partial fairness paper, whose loss does not see the decision threshold: at tight parity this is
    more accurate (see :mod:`partialfair.algorithms.linear.rate_thresholds`). The thresholds are chosen on training and
    validation rows together. Scores above and below the threshold stay as they were, so nothing is promised
    about any other threshold.
    """

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    settings_model: ClassVar[type[Settings]] = GroupThresholdsSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Demographic parity only: the one family that looks at one threshold and at all rows of a group."""
        if constraint != FAMILY:
            return False, f"group thresholds can meet {FAMILY} only, not {constraint}"
        return classification_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Train on the training rows; place thresholds on training and validation rows.

        Raises:
            ConfigError: the score may not depend on the group.
        """
        assert isinstance(settings, GroupThresholdsSettings)
        if not task.uses_group:
            raise ConfigError("group_thresholds needs the group at prediction time; choose another algorithm")
        start = solve(task.problem, iterations=settings.iterations, tolerance=settings.tolerance)
        thresholds = self._thresholds(task, task.linear_score(start.params, start.aux))
        params = start.params.copy()
        params[:, 0] -= np.concatenate([thresholds[:1], thresholds[1:] - thresholds[0]])
        solution = Solution(params, start.aux, certify(task.problem, params, start.aux), start.history)
        return Fit(solution, task.linear_score(params, start.aux), {}, {"newton": start.history}, "newton")

    def _thresholds(self, task: Task, model: LinearScore) -> NDArray[np.float64]:
        """The most accurate thresholds (G,) that keep the rates of training and validation rows within the slack."""
        parts = (task.train, task.validation)
        scores = np.concatenate([model.scores(part.X, part.group) for part in parts])
        y, group = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "group"))
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


ALGORITHM = GroupThresholds()
