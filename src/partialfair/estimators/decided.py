"""Whether a constraint on decisions says anything of a model: not where no decision lies inside its interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.estimators.promise import STRATA
from partialfair.tables.intervals import FULL, decides_nothing, for_groups

IDLE = "nothing constrained"
"""How the status of such a model begins."""
_AMONG = {None: "", 1: " among the rows of the second label", -1: " among the rows of the first label"}


def idle(
    constraint: str | None, interval: Any, scores: NDArray[np.float64], y: NDArray[Any], codes: NDArray[Any],
    names: Sequence[Any],
) -> str:  # fmt: skip
    """Why a constraint on decisions is 0 by convention, in a sentence; empty if it is not, or compares something else.

    See :func:`partialfair.tables.intervals.decides_nothing`. An audit calls the metric not estimable then.

    Args:
        constraint: name of the family.
        interval: the interval in use.
        scores: (n,) of the rows, positive for a positive decision.
        y: (n,) labels -1 and +1.
        codes: (n,) groups.
        names: of the groups.
    """
    strata = STRATA.get(str(constraint))
    if strata is None:
        return ""
    unions = for_groups(interval, len(names))
    positive = scores > 0
    if all(union == FULL for union in unions):  # rates of 0 or 1 are rates like any other there
        if positive.any() and not positive.all():
            return ""
        return f"{IDLE}: every row gets the same decision; constrain scores, with partial_statistical_parity"
    for label in strata or (None,):
        rows = np.ones(len(scores), np.bool_) if label is None else np.asarray(y) == label
        shares = np.array([np.mean(positive[rows & (codes == code)]) for code in range(len(names))])
        if decides_nothing(shares, unions):
            return (
                f"{IDLE}{_AMONG[label]}: shares of {min(shares):.3f} to {max(shares):.3f} of the groups' rows get a "
                "positive decision, which lie outside the interval, so that no decision inside it differs; choose an "
                "interval that covers these shares, or constrain scores, with partial_statistical_parity"
            )
    return ""
