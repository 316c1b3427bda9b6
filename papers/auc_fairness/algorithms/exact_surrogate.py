"""The surrogate problem of a linear score solved exactly, for a whole path of slacks."""

from collections.abc import Sequence

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, AUCSettings, Pool
from papers.auc_fairness.algorithms.auc_pools import linear_pool
from partialfair.algorithms.contract import PlotStyle


class ExactSurrogateSettings(AUCSettings):
    """Settings of the path.

    Attributes:
        slacks: number of slacks, equally spaced in logarithm between the next two; the unconstrained model is added.
        least, largest: slacks at the ends of the path.
    """

    slacks: PositiveInt = 60
    least: PositiveFloat = 0.001
    largest: PositiveFloat = 3.0


class ExactSurrogate(AUCAlgorithm[ExactSurrogateSettings]):
    """Minimisers of f0 under ``f1, f2 <= 1 + kappa``; see :mod:`partialfair.algorithms.auc.quadratic_auc`.

    Beyond the AUC fairness paper, which solves the same problem by stochastic steps.
    """

    settings = ExactSurrogateSettings
    label = "Exact surrogate (not in the paper)"
    paper = "this project"
    look = PlotStyle("#6b6b6b", "x", (0, (1.5, 1)))

    def pool(self, rows: AUCRows, settings: ExactSurrogateSettings, targets: Sequence[float]) -> Pool:
        """One candidate per slack, and the unconstrained model."""
        # s = 1 + kappa - 2 c1 c2^2; one diagonalisation serves the whole path
        slacks = np.geomspace(settings.least, settings.largest, settings.slacks)
        weights = [rows.problem.solve(float(slack)) for slack in slacks] + [rows.problem.unconstrained()]
        tags = [f"slack={slack:.4g}" for slack in slacks] + ["unconstrained"]
        return linear_pool(rows, np.array(weights), tags, np.append(slacks, np.inf))


ALGORITHM = ExactSurrogate()
