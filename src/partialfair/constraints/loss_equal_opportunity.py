"""Equal opportunity of losses: the groups' mean log losses on rows with label +1 differ by at most delta.

Source: Benchmark of stochastic approximation algorithms,
Table 1 ("equal opportunity"): ``|L_k - L_k'| <= delta``
with means over the rows with label +1, for every pair of groups, as two constraints each.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.loss_gaps import LossGaps, build_gaps
from partialfair.data.intervals import Interval

TITLE = "equal opportunity of losses"
VIOLATION = {"absolute": "loss_gap_positive", "relative": "loss_gap_positive"}  # the metric that an exhibit reports
FUSED = False
STRATUM_MEANS = True


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> LossGaps:
    """Build the constraints.

    Args:
        group: (n,) group codes.
        y: (n,) labels.
        interval: not used: all rows count.
        kappa: tolerance delta.
        grid: not used by this family.
        kappa_scale: not used: there is no interval to be relative to.

    Raises:
        ConfigError: kappa is not positive.
        NotEstimableError: a stratum has no rows.
    """
    return build_gaps(group, y, kappa, kappa_scale, [1.0], summed=False)
