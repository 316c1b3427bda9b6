"""Partial equality of opportunity (pEOP): partial demographic parity among the rows with y = +1.

Source: Partial fairness paper, appendix A.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.common import rate_program
from partialfair.constraints.program import HingeProgram
from partialfair.data.intervals import Interval

TITLE = "partial equality of opportunity"
SHORT = "pEOP"  # in labels of axes and in names of numbers
VIOLATION = {"absolute": "eop_gap", "relative": "eop"}


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> HingeProgram:
    """Build one constraint per ordered pair of groups, on positive rows; ``grid`` is not used.

    See :func:`partialfair.constraints.partial_statistical_parity.build` for the arguments.
    """
    n_groups = int(group.max()) + 1
    row_subset = 2 * group.astype(np.int64) + (y > 0)
    positives = {(k, 0): 2 * k + 1 for k in range(n_groups)}
    return rate_program(
        row_subset,
        np.repeat(np.arange(n_groups), 2),
        positives,
        interval,
        kappa,
        kappa_scale,
        n_groups,
        float(np.mean(y > 0)),
    )
