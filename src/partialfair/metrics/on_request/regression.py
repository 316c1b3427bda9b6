"""Regression: risk, and Kolmogorov-Smirnov distances between the distributions of predictions of groups.

``scores`` are numbers (n,), or the predictions of a randomised predictor (:mod:`partialfair.data.predictions`), whose
probabilities enter as they are: nothing is sampled. Source: DP post-processing paper, appendix G.
"""

from collections.abc import Callable
from functools import partial as bind
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.data.intervals import for_groups
from partialfair.data.predictions import Predictions
from partialfair.errors import NotEstimableError
from partialfair.metrics import partial
from partialfair.metrics.ranks import check_groups, check_scores, n_groups_of
from partialfair.metrics.registry import Metric
from partialfair.seeding import generator

Floats = NDArray[np.float64]
PERMUTATIONS = 200
POINTS = 100
"""The noise floor of more distinct numbers is taken at this many of their quantiles."""
NAMED_GROUPS = 4


@guards.of_rows
def risk(scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Return the mean squared error: ``mean_i sum_l P_il (atom_l - y_i)^2``, against the label."""
    return _expected_loss(scores, y, np.square)


@guards.of_rows
def mean_absolute_error(scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Return the mean absolute error, in expectation over the predictor's randomness."""
    return _expected_loss(scores, y, np.abs)


@guards.of_rows
def ks_unfairness(scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Largest Kolmogorov-Smirnov distance of a group's predictions from those of all rows, the group among them."""
    return float(_from_pooled(*_masses(scores, group, interval)).max())


def ks_group(code: int, scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Kolmogorov-Smirnov distance of one group's predictions from those of all rows.

    Raises:
        NotEstimableError: there is no such group.
    """
    distances = _from_pooled(*_masses(scores, group, interval))
    if code >= len(distances):
        raise NotEstimableError(f"there are {len(distances)} groups, none has the code {code}")
    return float(distances[code])


@guards.of_rows
def ks_pairs(scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Return the largest Kolmogorov-Smirnov distance between two groups: statistical parity on the whole range."""
    cdfs = np.cumsum(_masses(scores, group, interval)[0], axis=1)
    return max(float(np.abs(a - b).max()) for a, b in combinations(cdfs, 2))


@guards.of_rows
def ks_partial(scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Kolmogorov-Smirnov distance on an interval of ranks (rank 0 = largest prediction), largest over pairs.

    Each group keeps the mass whose rank lies in its interval; numbers are ranked as in
    :func:`partialfair.metrics.partial.sp`, distributions by their mass above each atom.
    """
    if not _is_randomised(scores):
        return partial.sp(_numbers(scores), y, group, interval, threshold)
    masses, _ = _masses(scores, group, interval)
    above = np.cumsum(masses[:, ::-1], axis=1)
    kept_shares = []
    for shares, pairs in zip(above, for_groups(interval, len(masses)), strict=True):
        inside = sum(np.minimum(shares, high) - np.minimum(shares, low) for low, high in pairs)
        kept_shares.append(inside / sum(high - low for low, high in pairs))
    return max(float(np.abs(a - b).max()) for a, b in combinations(kept_shares, 2))


def ks_binned(code: int, scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Return the distance of histograms on the cells between a model's atoms, as the released code of the paper has it.

    Numbers outside the atoms are dropped; the counts of all rows are divided by n, those of a group by what is left
    of it, so this is no Kolmogorov-Smirnov distance. It only serves to compare with published numbers.

    Raises:
        NotEstimableError: the predictions are randomised or have no atoms, or there is no such group.
    """
    atoms = getattr(scores, "atoms", None)
    if atoms is None or _is_randomised(scores):
        raise NotEstimableError("only numbers predicted by a model that has atoms can be binned by them")
    if not (group == code).any():
        raise NotEstimableError(f"group {code}: it has no rows")
    values = _numbers(scores)
    group_counts = np.histogram(values[group == code], atoms)[0]
    pooled = np.histogram(values, atoms)[0] / len(values)
    if not group_counts.sum():
        raise NotEstimableError(f"group {code}: no prediction lies between the atoms")
    return float(np.abs(np.cumsum(group_counts / group_counts.sum()) - np.cumsum(pooled)).max())


@guards.of_rows
def ks_noise_floor(scores: Any, y: NDArray, group: NDArray, interval: Any, threshold: float = 0.0) -> float:
    """Return what :func:`ks_unfairness` is on average after permuting the groups, at the same group sizes.

    A value near it cannot be told from parity on so many rows.
    """
    n_groups = n_groups_of(group, interval)
    shares = _cumulative(scores)
    sizes = np.bincount(group, minlength=n_groups)
    check_groups(sizes)
    random = generator("ks_noise_floor", len(group))
    member = np.eye(n_groups)[group] / sizes  # (n, K)
    pooled = shares.mean(axis=0)
    drawn = [np.abs(member[random.permutation(len(group))].T @ shares - pooled).max() for _ in range(PERMUTATIONS)]
    return float(np.mean(drawn))


def _is_randomised(scores: Any) -> bool:
    return isinstance(scores, Predictions) and scores.is_randomised


def _numbers(scores: Any) -> Floats:
    """Predicted numbers (n,); conditional means of a randomised predictor."""
    return np.asarray(scores.values if isinstance(scores, Predictions) else scores, np.float64)


def _expected_loss(scores: Any, y: NDArray, loss: Callable[[Floats], Floats]) -> float:
    values = _numbers(scores)
    check_scores(values, y)
    if not _is_randomised(scores):
        return float(loss(values - y).mean())
    return float((scores.probabilities * loss(scores.atoms - np.asarray(y, np.float64)[:, None])).sum() / len(y))


def _masses(scores: Any, group: NDArray, interval: Any) -> tuple[Floats, NDArray[np.int64]]:
    """Probability of each distinct prediction in each group (K, A), ascending, and the groups' sizes (K,)."""
    values = _numbers(scores)
    check_scores(values, group)
    sizes = np.bincount(group, minlength=n_groups_of(group, interval))
    check_groups(sizes)
    if _is_randomised(scores):
        sums = np.array([scores.probabilities[group == code].sum(axis=0) for code in range(len(sizes))])
    else:
        support, column = np.unique(values, return_inverse=True)
        sums = np.array(
            [np.bincount(column[group == k], minlength=len(support)) for k in range(len(sizes))], np.float64
        )
    return sums / sizes[:, None], sizes


def _from_pooled(masses: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Return the distance of each group from the pooled distribution (K,)."""
    cdfs = np.cumsum(masses, axis=1)
    pooled = sizes @ cdfs / sizes.sum()
    return np.asarray(np.abs(cdfs - pooled).max(axis=1))


def _cumulative(scores: Any) -> Floats:
    """Probability that each row's prediction is at most each point (n, A)."""
    if _is_randomised(scores):
        return np.asarray(np.cumsum(scores.probabilities, axis=1))
    values = _numbers(scores)
    check_scores(values)
    points = np.unique(values)
    if points.size > POINTS:
        points = np.unique(np.quantile(points, np.linspace(0, 1, POINTS), method="nearest"))
    return (values[:, None] <= points).astype(np.float64)


METRICS = {
    "risk": Metric(risk, "risk (mean squared error)", "quality"),
    "mean_absolute_error": Metric(mean_absolute_error, "mean absolute error", "quality"),
    "ks_unfairness": Metric(ks_unfairness, "largest KS distance of a group from all rows"),
    "ks_pairs": Metric(ks_pairs, "largest KS distance between groups"),
    "ks_partial": Metric(ks_partial, "KS distance on an interval of ranks"),
    "ks_noise_floor": Metric(ks_noise_floor, "KS distance after permuting the groups"),
    **{f"ks_group_{k}": Metric(bind(ks_group, k), f"KS distance of group {k}") for k in range(NAMED_GROUPS)},
    **{f"ks_binned_{k}": Metric(bind(ks_binned, k), f"binned distance of group {k}") for k in range(2)},
}
