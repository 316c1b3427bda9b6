"""How far the error of groups exceeds that of all rows (PLADA paper, equation (18), with errors for hinge losses)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.metrics.ranks import check_scores
from partialfair.metrics.registry import Metric, require_binary


@guards.of_rows
def group_error_excess(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Mean over the table's groups of the group's error minus the error of all rows; a score of 0 is an error.

    Raises:
        DataError: no rows, or a score that is not finite.
        NotEstimableError: labels that are not -1 and +1.
    """
    check_scores(scores, y, group)
    require_binary(y)
    wrong = (np.asarray(scores) - threshold) * y <= 0
    by_group = [wrong[group == code].mean() for code in np.unique(group)]
    return float(np.mean(by_group) - wrong.mean())


METRICS = {"group_error_excess": Metric(group_error_excess, "mean excess of the groups' errors")}
