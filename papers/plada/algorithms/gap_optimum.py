"""The exact optimum of a gap problem, against which losses are shown: augmented Lagrangian and L-BFGS."""

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from papers.plada.algorithms import gap_tasks
from papers.plada.algorithms.gap_reference import Accuracy, optimum
from papers.plada.algorithms.gap_runs import Curve
from papers.plada.algorithms.gap_tasks import GapAlgorithm, GapSettings, GapTask
from partialfair.algorithms.contract import Fit, PlotStyle, Task


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
    look = PlotStyle("#262626", "*")

    def fit(self, task: Task, settings: GapOptimumSettings) -> Fit:
        """Solve the problem on the training rows; no validation rows."""
        gap_task = GapTask(task, settings)
        problem = gap_task.problem
        accuracy = Accuracy(gradient=settings.gradient, rounds=settings.rounds)
        solution = optimum(problem, np.zeros(problem.size), accuracy=accuracy)
        violation = float((np.abs(solution.gaps) - problem.eps).max())
        task.report(f"loss {solution.loss:.6f}, violation {violation:.1e}, {solution.evaluations} evaluations")
        work = 2.0 * solution.evaluations
        columns = [np.array([value]) for value in (1.0, solution.loss, violation, 0.0, work)]
        iteration, loss, worst, seconds, evaluations = columns
        curve = Curve(iteration, loss, worst, seconds, evaluations, {1: solution.theta})
        chosen = {
            "gaps": solution.gaps.tolist(),
            "multipliers": (solution.multipliers[:, 0] - solution.multipliers[:, 1]).tolist(),
            "norm": float(np.linalg.norm(solution.theta)),
            "evaluations": solution.evaluations,
        }
        return gap_tasks.fit_of(gap_task, {"optimum": curve}, "optimum", solution.theta, chosen, 0.0)


ALGORITHM = GapOptimum()
