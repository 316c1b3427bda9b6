"""Intra-group pairwise gap: positives win against negatives of their own group equally often (Example 3).

Source: AUC fairness paper, appendix A.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.auc_gap import AUCGap, build_gap
from partialfair.data.auc_sets import PRESETS
from partialfair.data.intervals import Interval

TITLE = PRESETS["intra_group"].title
VIOLATION = {"absolute": "auc_gap_intra_group", "relative": "auc_gap_intra_group"}
FUSED = False


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> AUCGap:
    """Build the constraints; see :mod:`partialfair.constraints.auc_gap` for what is not used."""
    return build_gap(PRESETS["intra_group"], group, y, interval, kappa, kappa_scale)
