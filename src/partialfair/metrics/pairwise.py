"""Metrics on pairs of rows: the area under the ROC curve, and its group version on an interval."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.data.intervals import FULL
from partialfair.errors import NotEstimableError
from partialfair.metrics import ranks
from partialfair.metrics.partial import ranked
from partialfair.metrics.registry import Metric, require_binary
from partialfair.metrics.resampling import Replicates


@guards.of_rows
def gauc(scores: NDArray, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """GAUC^I: |Pr(score of a kept row of k exceeds that of a kept row of k') - 1/2|, ties one half; O(n log n)."""
    counts, unions = ranked(scores, group, interval)
    return float(ranks.kept_set_auc(counts.above, counts.sizes, unions))


@guards.of_rows
def auc(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Probability that a row labelled +1 scores above one labelled -1, ties one half; O(n log n).

    Raises:
        NotEstimableError: only one class is present.
    """
    require_binary(y)
    positive = (y > 0).astype(np.int64)
    if positive.all() or not positive.any():
        raise NotEstimableError("all labels are equal; the area under the ROC curve needs both classes")
    counts = ranks.count_above(scores, positive, 2)
    return float(area(counts.above, counts.sizes))


def area(above: NDArray, sizes: NDArray) -> NDArray:
    """AUC from counts above every score; index 0 = label -1, 1 = label +1; any leading shape."""
    negatives, positives = (np.diff(above[..., code, :], axis=-1, append=sizes[code]) for code in (0, 1))
    below_or_tied = sizes[0] - above[..., 0, :] - 0.5 * negatives
    return np.asarray((positives * below_or_tied).sum(axis=-1) / (int(sizes[0]) * int(sizes[1])))


def _replicate_auc(sample: Replicates) -> NDArray:
    sample.require_labels()
    sizes = sample.sizes.sum(axis=0)
    if not sizes.all():
        raise NotEstimableError("all labels are equal; the area under the ROC curve needs both classes")
    return area(sample.above_by_label, sizes)


METRICS = {
    "gauc": Metric(
        gauc,
        "partial group AUC, GAUC^I",
        replicate=lambda s: ranks.kept_set_auc(s.above, s.group_sizes, s.interval),
    ),
    "auc": Metric(auc, "area under the ROC curve", "quality", _replicate_auc),
}
