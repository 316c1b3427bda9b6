"""Linear scores of least quadratic AUC loss at every difference of mean gaps: a line in closed form."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, AUCSettings, Pool
from papers.auc_fairness.algorithms.auc_pools import linear_pool
from partialfair.algorithms.contract import PlotStyle


class MeanGapLineSettings(AUCSettings):
    """Settings of the line.

    Attributes:
        points: number of points, equally spaced.
        first, last: share of the unconstrained difference that is removed at the ends; 0 is the unconstrained
            model, 1 equal mean gaps, more overshoots.
    """

    points: int = Field(61, ge=2)
    first: float = -0.5
    last: float = 2.5


class MeanGapLine(AUCAlgorithm[MeanGapLineSettings]):
    """The surrogate constraint without its penalty on the scale of scores, and the true gap in its place on validation.

    Beyond the AUC fairness paper: equal mean gaps are not equal AUCs, so the position on the line is chosen by the
    true gap, and may overshoot.
    """

    settings = MeanGapLineSettings
    label = "Mean-gap line (not in the paper)"
    paper = "this project"
    look = PlotStyle("#E69F00", "v", (0, (6, 1, 1, 1)))

    def pool(self, rows: AUCRows, settings: MeanGapLineSettings, targets: Sequence[float]) -> Pool:
        """One candidate per point of the line."""
        shares = np.linspace(settings.first, settings.last, settings.points)
        tags = [f"share={share:.3g}" for share in shares]
        return linear_pool(rows, rows.problem.mean_gap_line(shares).T, tags, shares)


ALGORITHM = MeanGapLine()
