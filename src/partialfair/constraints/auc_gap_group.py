"""Group AUC gap: one group ranks above the rest as often as below (Example 1).

Source: AUC fairness paper, appendix A.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.auc_gap import AUCGap, build_gap
from partialfair.data.auc_sets import PRESETS
from partialfair.data.intervals import Interval

TITLE = PRESETS["group"].title
VIOLATION = {"absolute": "auc_gap_group", "relative": "auc_gap_group"}
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
    return build_gap(PRESETS["group"], group, y, interval, kappa, kappa_scale)
