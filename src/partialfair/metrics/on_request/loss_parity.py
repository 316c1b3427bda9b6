"""Metrics of the benchmark of stochastic approximation algorithms (its section 2 and Table 3).

All are of the whole score range; a score is a logit, p = sigmoid(score). Group 0 is the reference group: signed
differences are its value minus the other's, and histograms are binned by its predictions. With more groups the largest
difference counts.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.data import guards
from partialfair.data.intervals import FULL
from partialfair.errors import NotEstimableError
from partialfair.metrics.pairwise import auc
from partialfair.metrics.ranks import check_scores
from partialfair.metrics.registry import Metric, require_binary

BINS = 50
Rates = Callable[[NDArray, NDArray], tuple[float, ...]]


@guards.of_rows
def independence(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """``Ind``: difference of the rates of positive decisions."""
    return _summed_gaps(scores, y, group, lambda s, _: (float(np.mean(s > threshold)),))


@guards.of_rows
def separation(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """``Sp``: difference of the true positive rates plus that of the false positive rates; between 0 and 2.

    Raises:
        NotEstimableError: a group lacks a label.
    """
    require_binary(y)

    def rates(s: NDArray, labels: NDArray) -> tuple[float, ...]:
        decided = s > threshold
        return _mean(decided[labels > 0], "label +1"), _mean(decided[labels < 0], "label -1")

    return _summed_gaps(scores, y, group, rates)


@guards.of_rows
def sufficiency(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """``Sf``: difference of the share of +1 among positive decisions plus that among negative ones.

    Raises:
        NotEstimableError: a group has no positive, or no negative, decision.
    """
    require_binary(y)

    def rates(s: NDArray, labels: NDArray) -> tuple[float, ...]:
        decided, right = s > threshold, labels > 0
        return _mean(right[decided], "a positive decision"), _mean(right[~decided], "a negative decision")

    return _summed_gaps(scores, y, group, rates)


@guards.of_rows
def inaccuracy(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """``Ina``: share of wrong decisions."""
    check_scores(scores, y)
    require_binary(y)
    return float(np.mean((scores > threshold) != (y > 0)))


@guards.of_rows
def wasserstein_histogram(
    scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0
) -> float:
    """``Wd``: squared 2-Wasserstein distance of 50-bin histograms of p, as the paper's code computes it.

    The bins are equal ones between the smallest and the largest p of the reference group; p of the other group outside
    them are left out. Each histogram is normalised, and its mass sits at the right ends of the bins.

    Raises:
        NotEstimableError: all p of the reference group are equal, or the other group has none between them.
    """
    return _largest(scores, group, _binned)


def _binned(reference: NDArray, compared: NDArray) -> float:
    edges = np.linspace(reference.min(), reference.max(), BINS + 1)
    if not edges[-1] > edges[0]:
        raise NotEstimableError("all predictions of the reference group are equal, so it has no histogram")
    counts = [np.histogram(p, edges)[0].astype(float) for p in (reference, compared)]
    if not counts[1].sum():
        raise NotEstimableError("no prediction of the other group lies in the range of the reference group's")
    shares = [count / count.sum() for count in counts]
    return _transport(edges[1:], shares[0], edges[1:], shares[1], 2)


@guards.of_rows
def wasserstein1(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """1-Wasserstein distance of the groups' p, not binned."""
    return _largest(scores, group, lambda p, q: _transport(*_uniform(p), *_uniform(q), 1))


@guards.of_rows
def wasserstein2_squared(
    scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0
) -> float:
    """Squared 2-Wasserstein distance of the groups' p, not binned."""
    return _largest(scores, group, lambda p, q: _transport(*_uniform(p), *_uniform(q), 2))


@guards.of_rows
def log_loss(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Return the mean log loss ``log(1 + exp(-y score))``."""
    check_scores(scores, y)
    require_binary(y)
    return float(_row_losses(scores, y).mean())


@guards.of_rows
def worse_than_constant(
    scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0
) -> float:
    """1 where the mean log loss exceeds log 2, that of the constant prediction 1/2, else 0.

    Its mean over runs is the share of runs that diverged.
    """
    return float(log_loss(scores, y, group, interval, threshold) > np.log(2.0))


@guards.of_rows
def loss_difference(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Return the mean log loss of group 0 minus that of group 1, with its sign.

    Raises:
        NotEstimableError: there are not two groups.
    """
    check_scores(scores, y, group)
    require_binary(y)
    codes = _codes(group)
    if len(codes) != 2:
        raise NotEstimableError(f"{len(codes)} groups; a signed difference needs two")
    losses = _row_losses(scores, y)
    return float(losses[group == codes[0]].mean() - losses[group == codes[1]].mean())


@guards.of_rows
def loss_gap(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Return the largest difference of the groups' mean log losses."""
    return _loss_gaps(scores, y, group, (None,))


@guards.of_rows
def loss_gap_positive(
    scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0
) -> float:
    """Return the largest difference of the groups' mean log losses on rows with label +1."""
    return _loss_gaps(scores, y, group, (1.0,))


@guards.of_rows
def loss_gap_odds(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """Differences of the mean log losses on either label, added; the largest of any two groups."""
    return _loss_gaps(scores, y, group, (1.0, -1.0))


def _loss_gaps(scores: NDArray, y: NDArray, group: NDArray, labels: tuple[float | None, ...]) -> float:
    check_scores(scores, y, group)
    require_binary(y)

    def rates(s: NDArray, labels_of_group: NDArray) -> tuple[float, ...]:
        losses = _row_losses(s, labels_of_group)
        return tuple(_mean(losses if k is None else losses[labels_of_group == k], f"label {k}") for k in labels)

    return _summed_gaps(scores, y, group, rates)


@guards.of_rows
def group_auc_mean(scores: NDArray, y: NDArray, group: NDArray, interval: Any = FULL, threshold: float = 0.0) -> float:
    """``AUC_M``: mean over groups of the area under the group's own ROC curve.

    Raises:
        NotEstimableError: a group lacks a label.
    """
    check_scores(scores, y, group)
    return float(np.mean([auc(scores[group == k], y[group == k], group[group == k]) for k in _codes(group)]))


def _row_losses(scores: NDArray, y: NDArray) -> NDArray[np.float64]:
    return np.logaddexp(0, -y * np.asarray(scores, np.float64))


def _codes(group: NDArray) -> NDArray:
    codes = np.unique(group)
    if len(codes) < 2:
        raise NotEstimableError("only one group is present; a difference needs two")
    return codes


def _mean(values: NDArray, rows_with: str) -> float:
    if not values.size:
        raise NotEstimableError(f"a group has no row with {rows_with}")
    return float(values.mean())


def _summed_gaps(scores: NDArray, y: NDArray, group: NDArray, rates: Rates) -> float:
    """Sum over the rates of the groups' absolute differences; the largest over pairs of groups."""
    check_scores(scores, y, group)
    rates_of_groups = [np.array(rates(scores[group == k], y[group == k])) for k in _codes(group)]
    return float(max(np.abs(first - second).sum() for first, second in combinations(rates_of_groups, 2)))


def _largest(scores: NDArray, group: NDArray, distance: Callable[[NDArray, NDArray], float]) -> float:
    """Return the largest distance between the predictions of two groups, the one with the lower code first."""
    check_scores(scores, group)
    p = 1 / (1 + np.exp(-np.asarray(scores, np.float64)))
    return max(distance(p[group == k], p[group == rival]) for k, rival in combinations(_codes(group), 2))


def _uniform(points: NDArray) -> tuple[NDArray, NDArray]:
    """Sorted points with equal shares."""
    return np.sort(points), np.full(points.size, 1 / points.size)


def _transport(support: NDArray, mass: NDArray, other_at: NDArray, other_mass: NDArray, power: int) -> float:
    """``integral over q of |F^-1(q) - G^-1(q)|^power`` of two discrete distributions, points ascending."""
    ends, other_ends = np.cumsum(mass), np.cumsum(other_mass)
    levels = np.unique(np.concatenate([ends, other_ends]))
    levels = levels[levels <= 1 + 1e-12]
    middle = levels - np.diff(levels, prepend=0) / 2
    quantiles = support[np.minimum(np.searchsorted(ends, middle), support.size - 1)]
    other_quantiles = other_at[np.minimum(np.searchsorted(other_ends, middle), other_at.size - 1)]
    return float(np.diff(levels, prepend=0) @ np.abs(quantiles - other_quantiles) ** power)


METRICS = {
    "independence": Metric(independence, "independence gap (Ind)"),
    "separation": Metric(separation, "separation gap (Sp)"),
    "sufficiency": Metric(sufficiency, "sufficiency gap (Sf)"),
    "inaccuracy": Metric(inaccuracy, "inaccuracy (Ina)"),
    "wasserstein_histogram": Metric(wasserstein_histogram, "binned squared Wasserstein distance (Wd)"),
    "wasserstein1": Metric(wasserstein1, "1-Wasserstein distance of predictions"),
    "wasserstein2_squared": Metric(wasserstein2_squared, "squared 2-Wasserstein distance of predictions"),
    "log_loss": Metric(log_loss, "mean log loss"),
    "worse_than_constant": Metric(worse_than_constant, "runs whose log loss exceeds that of a constant"),
    "loss_difference": Metric(loss_difference, "mean log loss of group 0 minus that of group 1"),
    "loss_gap": Metric(loss_gap, "difference of mean log losses"),
    "loss_gap_positive": Metric(loss_gap_positive, "difference of mean log losses, label +1"),
    "loss_gap_odds": Metric(loss_gap_odds, "differences of mean log losses on either label, added"),
    "group_auc_mean": Metric(group_auc_mean, "mean of the groups' AUC", "quality"),
}
