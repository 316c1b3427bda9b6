"""AUC gaps between four subsets: the general metric and its named examples (AUC fairness paper, section 3, appendix A).

With more than two groups every group in turn is the protected one and the rest are the others; the metric is the
largest gap. With two groups the gap of Examples 1 to 3 is the same whichever is protected; the signed metrics,
``auc_delta_*``, take the group of code 0 as protected.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from partialfair.data import guards
from partialfair.data.auc_sets import PRESETS, FourSets, cell_counts, cells_of
from partialfair.errors import NotEstimableError
from partialfair.metrics.ranks import check_scores
from partialfair.metrics.registry import Metric, require_binary


def auc_between(scores: NDArray, positives: NDArray[np.bool_], negatives: NDArray[np.bool_]) -> float:
    """``AUC(A, B)``: probability that a row of A scores above an independent one of B, ties one half; O(n log n).

    The sets may overlap; a set against itself gives 1/2.

    Args:
        scores: (n,) finite scores.
        positives, negatives: (n,) membership of A and of B.

    Raises:
        NotEstimableError: one of the sets is empty.
    """
    a, b = np.asarray(scores)[positives], np.asarray(scores)[negatives]
    if not a.size or not b.size:
        raise NotEstimableError(f"the {'first' if not a.size else 'second'} of two sets has no rows")
    # SciPy 1.18 counts ranks of float32 in float32, which is off from the eighth digit on.
    ranks = rankdata(np.concatenate([a, b]).astype(np.float64))[: a.size]
    return float((ranks.sum() - a.size * (a.size + 1) / 2) / (a.size * b.size))


@guards.of_rows
def signed_gap(scores: NDArray, y: NDArray, group: NDArray, sets: FourSets, protected: int = 0) -> float:
    """``Delta = AUC(G1, G1') - AUC(G2, G2')``; see :class:`FourSets`.

    Raises:
        DataError: scores that cannot be ranked.
        NotEstimableError: a set is empty, or a label is not -1 or +1.
    """
    check_scores(scores, y, group)
    require_binary(y)
    cells = cells_of(y, group, protected)
    sets.require(cell_counts(cells))
    members = sets.table[2:, :][:, cells]
    minuend, subtrahend = (
        0.5 if a == b else auc_between(scores, members[row], members[row + 1])
        for row, (a, b) in zip((0, 2), (sets.sets[:2], sets.sets[2:]), strict=True)
    )
    return minuend - subtrahend


@guards.of_rows
def gap(scores: NDArray, y: NDArray, group: NDArray, sets: FourSets) -> float:
    """``|Delta|``, the largest over the choice of the protected group."""
    codes = range(int(np.max(group)) + 1)
    return max(abs(signed_gap(scores, y, group, sets, protected)) for protected in codes)


def _metric(sets: FourSets) -> Callable[[NDArray, NDArray, NDArray, Any, float], float]:
    def measure(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
        return gap(scores, y, group, sets)

    return measure


def _signed(sets: FourSets) -> Callable[[NDArray, NDArray, NDArray, Any, float], float]:
    def measure(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
        return signed_gap(scores, y, group, sets)

    return measure


METRICS = {f"auc_gap_{name}": Metric(_metric(sets), sets.title) for name, sets in PRESETS.items()} | {
    f"auc_delta_{name}": Metric(_signed(sets), f"{sets.title}, signed", "quality") for name, sets in PRESETS.items()
}
