"""Whether a constraint says anything of a model: not where no decision, or no order of rows, lies in its interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data.intervals import FULL, decides_nothing, for_groups, measure
from partialfair.estimators.promise import PSP, STRATA

IDLE = "nothing constrained"
"""How the status of such a model begins."""
ALIKE = 0.9
"""Share of an interval that rows with one score may take; with more, the metric is near 0 by ties."""
_AMONG = {None: "", 1: " among the rows of the second label", -1: " among the rows of the first label"}


def idle(
    constraint: str | None, interval: Any, scores: NDArray[np.float64], y: NDArray[Any], codes: NDArray[Any],
    names: Sequence[Any],
) -> str:  # fmt: skip
    """Return why a constraint is 0 whatever the groups, in a sentence; empty if it is not, or compares something else.

    That is so of decisions if none lies inside the interval, and of ranks if nearly all rows there share one score.

    See :func:`partialfair.data.intervals.decides_nothing`. An audit calls the metric not estimable then.

    Args:
        constraint: name of the family.
        interval: the interval in use.
        scores: (n,) of the rows, positive for a positive decision.
        y: (n,) labels -1 and +1.
        codes: (n,) groups.
        names: of the groups.
    """
    strata = STRATA.get(str(constraint))
    if constraint == PSP and (share := tied_share(scores, interval, len(names))) > ALIKE:
        return (
            f"{IDLE}: {share:.0%} of the interval's rows share one score, which orders none of them there; allow a "
            "larger kappa, or choose an interval in which the scores differ"
        )
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


def tied_share(scores: NDArray[np.float64], interval: Any, n_groups: int) -> float:
    """Return the share of the interval, of all rows' ranks, that the rows with one score take at most.

    Args:
        scores: (n,) of the rows.
        interval: disjoint pairs of ranks, or one such list per group, of which the largest share counts.
        n_groups: number of groups.
    """
    _, counts = np.unique(-scores, return_counts=True)
    ends = np.cumsum(counts) / scores.size
    starts = ends - counts / scores.size
    shares = []
    for pairs in set(for_groups(interval, n_groups)):
        inside = sum(np.maximum(np.minimum(ends, high) - np.maximum(starts, low), 0.0) for low, high in pairs)
        shares.append(float(np.max(inside)) / measure(pairs))
    return max(shares)
