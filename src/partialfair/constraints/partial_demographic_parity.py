"""Partial demographic parity (pDP): equal positive rates among the rows on an interval of ranks.

Source: Partial fairness paper, section 5, problem (21): ``|r_k - r_k'| <= slack`` for every pair of
groups, with ``r_k = min(c_k(t), beta) - min(c_k(t), alpha)`` at the decision threshold t.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.common import rate_program
from partialfair.constraints.program import HingeProgram
from partialfair.data.intervals import Interval

TITLE = "partial demographic parity"
SHORT = "pDP"  # in labels of axes and in names of numbers
VIOLATION = {"absolute": "dp_gap", "relative": "dp"}


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> HingeProgram:
    """Build one constraint per ordered pair of groups; ``y`` sets the start only, ``grid`` is not used.

    See :func:`partialfair.constraints.partial_statistical_parity.build` for the arguments.
    """
    n_groups = int(group.max()) + 1
    subset_of_pair = {(k, 0): k for k in range(n_groups)}
    return rate_program(
        group.astype(np.int64),
        np.arange(n_groups),
        subset_of_pair,
        interval,
        kappa,
        kappa_scale,
        n_groups,
        float(np.mean(y > 0)),
    )
