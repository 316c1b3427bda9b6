"""The bound of the Partial fairness paper's Theorem F.1 beside what it bounds, all in shares of a group.

A model that satisfies the smoothed constraints at a grid of ranks violates those of the population by at most the sum
of three parts (Appendix F, steps 1 to 3): the ranks between those of the grid, the surrogate in place of the indicator,
and the sample in place of the population. The theorem states orders; here every constant is 1, as the proofs of the
parts allow (for the surrogate: ``|sigma(x) - 1{x > 0}| = 1 - sigma(|x|)``). The paper divides by the interval's length.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.partial_statistical_parity import rank_grid
from partialfair.constraints.surrogates import ClippedLinear, value
from partialfair.data.intervals import Interval, measure
from partialfair.errors import DataError
from partialfair.models.stored import load_model
from reproduction.grid import paths
from reproduction.verdicts import run_scores
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.results import Setting

_Vector = NDArray[np.float64]
_DELTA = 0.05
"""Probability that the bound does not hold."""


@dataclass(frozen=True)
class ErrorParts:
    """The parts of the error, each measured and bounded, as shares of a group.

    Attributes:
        excess: of the smoothed constraints over the slack on the training rows; the theorem has 0.
        surrogate: largest difference of a group's smoothed share and its share above a threshold, on training rows.
        sampling: largest difference of the shares of training and of test rows above any threshold.
        discretisation: slack that the ranks of the whole interval need beyond those of the grid, on training rows.
        total: slack that the whole interval needs on test rows, minus the slack asked for.
        surrogate_bound, sampling_bound, discretisation_bound, total_bound: what the theorem says of them.
    """

    excess: float
    surrogate: float
    surrogate_bound: float
    sampling: float
    sampling_bound: float
    discretisation: float
    discretisation_bound: float
    total: float
    total_bound: float


def error_parts(
    train: Sequence[_Vector],
    test: Sequence[_Vector],
    aux: _Vector,
    ranks: _Vector,
    interval: Any,
    slack: float,
    vc: int,
) -> ErrorParts:
    """Measure and bound the parts for one model.

    Args:
        train, test: scores of the rows of each group.
        aux: (P,) thresholds of the model.
        ranks: (P,) ranks at which they stand.
        interval: one pair of ranks, the same for all groups.
        slack: by which shares may differ.
        vc: dimension of Vapnik and Chervonenkis of the rows above a threshold, among all models.
    """
    ((alpha, beta),) = Interval.of(interval).first
    spacing = (beta - alpha) / max(int(((ranks >= alpha - 1e-9) & (ranks < beta - 1e-9)).sum()), 1)
    smoothed, exact, bounds = _at_thresholds(train, aux)
    deviations = [deviation_bound(len(scores), vc, len(ranks), len(train)) for scores in train]
    excess = float(np.maximum(ranks - smoothed, smoothed - ranks - slack).max())
    by_group = bounds.max(axis=1) + np.array(deviations)
    return ErrorParts(
        excess=max(excess, 0.0),
        surrogate=float(np.abs(smoothed - exact).max()),
        surrogate_bound=float(bounds.max()),
        sampling=max(
            distance(train_scores, test_scores) for train_scores, test_scores in zip(train, test, strict=True)
        ),
        sampling_bound=max(deviations),
        discretisation=needed_slack(train, alpha, beta) - max(float(slack_at(train, p)) for p in ranks),
        discretisation_bound=spacing,
        total=needed_slack(test, alpha, beta) - slack,
        total_bound=max(excess, 0.0) + spacing + float(by_group.max()),
    )


def _at_thresholds(groups: Sequence[_Vector], aux: _Vector) -> tuple[_Vector, _Vector, _Vector]:
    """Return smoothed shares, shares, and bounds of their difference, each (G, P)."""
    # For group g and threshold t_p: mean sigma(s - t_p), mean 1{s > t_p}, and the bound of Appendix F, step 3.
    surrogate = ClippedLinear()
    shares = np.empty((3, len(groups), len(aux)))
    for k, scores in enumerate(groups):
        for j, threshold in enumerate(aux):
            excess = scores - threshold
            shares[:, k, j] = value(surrogate, excess).mean(), (excess > 0).mean(), surrogate_bound(excess)
    return shares[0], shares[1], shares[2]


def surrogate_bound(excess: _Vector) -> float:
    """Return the least ``gamma + share of rows with sigma(|x|) <= 1 - gamma`` over all gamma (Appendix F, step 3)."""
    errors = np.sort(1.0 - value(ClippedLinear(), np.abs(excess)))[::-1]
    # A gamma just above the (m + 1)-th largest error leaves m rows; above 0 there are those with any error at all.
    candidates = np.append(errors, 0.0) + np.arange(len(errors) + 1) / len(errors)
    return float(min(candidates.min(), 1.0))


def deviation_bound(n: int, vc: int, ranks: int, groups: int, delta: float = _DELTA) -> float:
    """Return E(n), the uniform deviation of the share of n rows above a threshold from its expectation.

    Args:
        n: rows of the group.
        vc: dimension of Vapnik and Chervonenkis of the rows above a threshold, among all models.
        ranks, groups: numbers P and G of ranks and of groups.
        delta: probability that the bound does not hold.
    """
    # Appendix F, step 2: E(n) = sqrt(8 vc (log n + 1) / n) + sqrt(2 log(4 P G / delta) / n).
    return math.sqrt(8 * vc * (math.log(n) + 1) / n) + math.sqrt(2 * math.log(4 * ranks * groups / delta) / n)


def distance(scores: _Vector, other_scores: _Vector) -> float:
    """Return the largest difference of the shares of two samples above a threshold.

    That is the two-sample Kolmogorov-Smirnov distance ``max_t |F_1(t) - F_2(t)|``.
    """
    thresholds = np.concatenate([scores, other_scores])
    shares = [
        np.searchsorted(np.sort(sample), thresholds, side="right") / len(sample) for sample in (scores, other_scores)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def slack_at(groups: Sequence[_Vector], rank: float) -> float:
    """Return the least s for which some threshold has a share of ``rank`` to ``rank + s`` of every group above it."""
    low, high = _shares(groups)
    return float(high[np.searchsorted(low, rank - 1e-12)] - rank)


def needed_slack(groups: Sequence[_Vector], alpha: float, beta: float) -> float:
    """Return the largest :func:`slack_at` over all ranks of [alpha, beta)."""
    low, high = _shares(groups)
    before = np.maximum(np.append(0.0, low[:-1]), alpha)  # the next threshold serves all ranks above the last one's
    serves = (before < beta) & (low > alpha)
    return max(float((high - before)[serves].max()), slack_at(groups, alpha))


def _shares(groups: Sequence[_Vector]) -> tuple[_Vector, _Vector]:
    """Return the least and the largest share of a group above each threshold, as it falls from score to score."""
    falling = np.unique(np.concatenate(groups))[::-1]
    shares = np.array([1 - np.searchsorted(np.sort(scores), falling, side="left") / len(scores) for scores in groups])
    return shares.min(axis=0), shares.max(axis=0)


def error_parts_of_run(evidence: Evidence[Any], setting: Setting, seed: int) -> ErrorParts | None:
    """Return the parts of the error of a run, from its model and its stored scores; ``None`` without them.

    Raises:
        DataError: the model has no threshold for every rank of the grid.
    """
    folder, _ = run_scores.folder(evidence, setting, seed)
    split = {split_name: run_scores.scores(evidence, setting, seed, split_name) for split_name in ("train", "test")}
    if folder is None or any(rows is None for rows in split.values()):
        return None
    model = load_model(folder / paths.MODEL)
    groups = {
        split_name: [rows.score[rows.group == code].astype(float) for code in np.unique(rows.group)]
        for split_name, rows in split.items()
        if rows is not None
    }
    experiment = evidence.config.experiment(setting.experiment)
    run = experiment.runs[setting.dataset]
    pairs = Interval.of(run.interval).first
    slack = setting.kappa * (1.0 if experiment.kappa_scale == "absolute" else measure(pairs))
    grid = run.grid or experiment.grid
    ranks = rank_grid(pairs, grid, closed=len(model.aux) != grid, below=slack)[: len(model.aux)]
    if len(ranks) != len(model.aux):
        raise DataError(f"{folder / paths.MODEL}: {len(model.aux)} thresholds for {len(ranks)} ranks; train it again")
    return error_parts(groups["train"], groups["test"], model.aux, ranks, run.interval, slack, model.weights.shape[-1])
