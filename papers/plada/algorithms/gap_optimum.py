"""The exact optimum of a gap problem, against which losses are shown: augmented Lagrangian and L-BFGS."""

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from papers.plada.algorithms import gap_tasks
from papers.plada.algorithms.gap_reference import Accuracy, optimum
from papers.plada.algorithms.gap_runs import Curve
from papers.plada.algorithms.gap_tasks import GapAlgorithm, GapSettings, GapTask
from partialfair.algorithms.contract import Fit, Look, Task


class GapOptimumSettings(GapSettings):
    """Accuracy; the ball and the schedules of the common settings are not used.

    Attributes:
        gradient: norm of a round's gradient at which it ends.
        rounds: largest number of rounds.
    """

    gradient: PositiveFloat = 1e-7
    rounds: PositiveInt = 25


class GapOptimum(GapAlgorithm[GapOptimumSettings]):
    """The optimum of the same problem, without the ball."""

    settings = GapOptimumSettings
    label = "Exact optimum"
    paper = "this project"
    look = Look("#262626", "*")

    def fit(self, task: Task, settings: GapOptimumSettings) -> Fit:
        """Solve the problem on the training rows; no validation rows."""
        own = GapTask(task, settings)
        problem = own.problem
        accuracy = Accuracy(gradient=settings.gradient, rounds=settings.rounds)
        found = optimum(problem, np.zeros(problem.size), accuracy=accuracy)
        violation = float((np.abs(found.gaps) - problem.eps).max())
        task.report(f"loss {found.loss:.6f}, violation {violation:.1e}, {found.evaluations} evaluations")
        one = np.ones(1)
        curve = Curve(one, found.loss * one, violation * one, 0 * one, 2 * found.evaluations * one, {1: found.theta})
        chosen = {
            "gaps": found.gaps.tolist(),
            "multipliers": (found.multipliers[:, 0] - found.multipliers[:, 1]).tolist(),
            "norm": float(np.linalg.norm(found.theta)),
            "evaluations": found.evaluations,
        }
        return gap_tasks.fit_of(own, {"optimum": curve}, "optimum", found.theta, chosen, 0.0)


ALGORITHM = GapOptimum()
