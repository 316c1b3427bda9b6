"""A bound on the population's violation of a fixed model, from rows that the model has not seen.

The violation exceeds kappa if and only if it does so at *some* threshold and for some ordered pair of groups. Which
ones is fixed with the model, though not known. The largest of the upper confidence limits at single thresholds of
single pairs is therefore a bound for the maximum, without any correction (intersection-union test, Berger, 1982): it
fails only if the limit at that one threshold does.

With ``p`` the shares of a group above a threshold and one-sided ends ``l``, ``u`` of Wilson (1927), the difference of
two shares has the upper limit ``p_a - p_b + sqrt((u_a - p_a)^2 + (p_b - l_b)^2)`` (Newcombe, 1998, method 10). Shares
that are clipped to an interval [alpha, beta] differ by the smallest of that difference, ``F_a - alpha``, ``beta - F_b``
and ``beta - alpha``; at a corner the limits of two of these can fail together, hence the parts
:data:`OF_DIFFERENCE` and :data:`OF_ENDS` of the chance of an error.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from partialfair.data.intervals import FULL, GroupPairs, Pairs, measure
from partialfair.metrics.ranks import Counts

Floats = NDArray[np.float64]
OF_DIFFERENCE, OF_ENDS = 0.8, 0.2


def wilson(share: Floats, rows: Floats, tail: float) -> tuple[Floats, Floats]:
    """Wilson's one-sided ends of a share of ``rows``: the true one lies beyond either with a chance of ``tail``."""
    z = float(norm.isf(tail))
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return np.where(share > 0, middle - half, 0.0), np.where(share < 1, middle + half, 1.0)


def rank_bound(counts: Counts, unions: GroupPairs, kappa_scale: str, confidence: float) -> float:
    """Return the bound on the largest gap of ranks over all thresholds.

    Args:
        counts: rows above every score, of rows that the model has not seen.
        unions: interval of each group.
        kappa_scale: "relative" (clipped ranks by the length of the interval, ``sp``) or "absolute" (``rank_gap``).
        confidence: of the bound.
    """
    shares, rows = counts.above / counts.sizes[:, None], counts.sizes[:, None].astype(np.float64)
    if kappa_scale == "relative":
        return max(0.0, _clipped(shares, rows, unions, 1 - confidence, [measure(pairs) for pairs in unions]))
    low, high = wilson(shares, rows, OF_ENDS * (1 - confidence))
    inside = np.array(
        [
            np.logical_or.reduce([(high[k] >= alpha) & (low[k] <= beta) for alpha, beta in pairs])
            for k, pairs in enumerate(unions)
        ]
    )
    # Rows of one score may carry a rank over the whole interval; thresholds that part them lie between its two ends.
    inside[:, 1:] |= inside[:, :-1] & ~inside[:, 1:]
    gaps = _differences(shares, rows, OF_DIFFERENCE * (1 - confidence))
    return max(
        0.0,
        *(float(np.where(inside[a] | inside[b], gap, 0.0).max()) for (a, b), gap in gaps.items()),
    )


def decision_bound(
    positive: NDArray[np.int64],
    sizes: NDArray[np.int64],
    unions: GroupPairs,
    kappa_scale: str,
    confidence: float,
) -> float:
    """Return the bound on the largest gap of decisions.

    Args:
        positive: (S, G) rows with a positive decision, in every stratum of labels that is compared.
        sizes: (S, G) rows there.
        unions, kappa_scale: see :func:`rank_bound`; the scale says whether gaps are divided by the interval's length.
        confidence: of the bound.
    """
    scale = [measure(pairs) if kappa_scale == "relative" else 1.0 for pairs in unions]
    return max(
        0.0,
        *(
            _clipped((hits / rows)[:, None], rows[:, None].astype(np.float64), unions, 1 - confidence, scale)
            for hits, rows in zip(positive, sizes, strict=True)
        ),
    )


def _clipped(shares: Floats, rows: Floats, unions: GroupPairs, tail: float, scale: Sequence[float]) -> float:
    """Largest upper limit of a difference of clipped shares (G, T), over thresholds and ordered pairs of groups."""
    if all(pairs == FULL for pairs in unions):
        return max(float(gap.max()) for gap in _differences(shares, rows, tail).values())
    if len(set(unions)) > 1:
        # Intervals of the groups' own: both ends hold together with the whole confidence.
        low, high = wilson(shares, rows, tail / 2)
        gaps = [
            _share_inside(high[a], unions[a]) / scale[a] - _share_inside(low[b], unions[b]) / scale[b]
            for a, b in permutations(range(len(unions)), 2)
        ]
        return max(float(gap.max()) for gap in gaps)
    low, high = wilson(shares, rows, OF_ENDS * tail)
    differences = _differences(shares, rows, OF_DIFFERENCE * tail)
    pairs = unions[0]
    return max(
        float(np.minimum(gap, _share_inside(high[a], pairs) - _share_inside(low[b], pairs)).max()) / scale[0]
        if len(pairs) > 1
        else float(np.minimum.reduce(_terms(gap, high[a], low[b], pairs)).max()) / scale[0]
        for (a, b), gap in differences.items()
    )


def _terms(gap: Floats, high: Floats, low: Floats, pairs: Pairs) -> list[Floats]:
    """Return what a difference of shares that are clipped to one interval is the smallest of."""
    ((alpha, beta),) = pairs
    return [gap, high - alpha, beta - low, np.full_like(gap, beta - alpha)]


def _differences(shares: Floats, rows: Floats, tail: float) -> dict[tuple[int, int], Floats]:
    """Newcombe's upper limits (T,) of the differences of shares (G, T), by ordered pair of groups."""
    low, high = wilson(shares, rows, tail)
    return {
        (a, b): shares[a] - shares[b] + np.hypot(high[a] - shares[a], shares[b] - low[b])
        for a, b in permutations(range(len(shares)), 2)
    }


def _share_inside(shares: Floats, pairs: Pairs) -> Floats:
    """Return what of shares lies in a union."""
    return np.asarray(np.add.reduce([np.clip(shares, alpha, beta) - alpha for alpha, beta in pairs]))
