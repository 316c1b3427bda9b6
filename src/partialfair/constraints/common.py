"""What the constraint families share: intervals per group, rank grids, slacks, and the rate program."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.program import HingeProgram, Side, Term
from partialfair.data.intervals import GroupPairs, Interval, Pairs, for_groups, measure
from partialfair.errors import ConfigError

KAPPA_SCALES = ("relative", "absolute")


def slack_per_group(intervals: GroupPairs, kappa: float, kappa_scale: str) -> NDArray[np.float64]:
    """Slack of each group's constraints, (G,): kappa, or kappa times the length of the group's interval."""
    if kappa_scale not in KAPPA_SCALES:
        raise ConfigError(f"kappa_scale is {kappa_scale!r}; use one of {', '.join(KAPPA_SCALES)}")
    if not kappa > 0:
        raise ConfigError(f"kappa is {kappa}; use a positive number (infinity means no constraint)")
    lengths = np.array([measure(pairs) for pairs in intervals])
    return np.full(len(intervals), kappa) if kappa_scale == "absolute" else kappa * lengths


Closed = bool | Literal["interior"]
"""Which ends of an interval a grid of ranks covers: its start alone (``False``), both (``True``), or neither."""


def rank_grid(interval: Pairs, grid: int, closed: Closed = False, below: float = 0.0) -> NDArray[np.float64]:
    """``grid`` equally spaced ranks of a union of half-open pairs [alpha, beta), from the lowest on.

    The spacing is length / grid, so that an interval and the full range at the same spacing have grids of
    sizes in the ratio of their lengths, as in the paper's comparison (10 ranks on [0.05, 0.3), 40 on [0, 1)).
    It is measured along the union: a gap between two pairs holds no rank.

    A ``closed`` grid covers both ends of every pair. It has beta besides, unless that is 1, where all rows are counted
    and nothing is left to constrain; and the ranks of [alpha - below, alpha) at the same spacing, and alpha - below.
    With the slack for ``below``, no threshold that a group passes with a rank in the interval lies outside what is
    constrained: without, groups may differ by nearly alpha plus slack just above the first threshold.

    The ranks of an "interior" grid divide the length into ``grid + 1`` equal parts and cover neither end.
    """
    if grid < 1:
        raise ConfigError(f"grid is {grid}; use at least 1 rank")
    lengths = np.array([beta - alpha for alpha, beta in interval])
    ends = np.cumsum(lengths)
    inner = closed == "interior"
    position = (np.arange(grid) + 1) * (ends[-1] / (grid + 1)) if inner else np.arange(grid) * (ends[-1] / grid)
    piece = np.minimum(np.searchsorted(ends - 1e-12, position, side="right"), len(lengths) - 1)
    lows = np.array([alpha for alpha, _ in interval])
    ranks = lows[piece] + position - (ends - lengths)[piece]
    return np.union1d(ranks, _ends(interval, ends[-1] / grid, below)) if closed is True else ranks


def _ends(interval: Pairs, spacing: float, below: float) -> list[float]:
    """The ranks that close a grid: what the text of :func:`rank_grid` says."""
    found: list[float] = []
    before = 0.0  # where the previous pair ends
    for alpha, beta in interval:
        count = math.ceil(below / spacing - 1e-9)
        lower = [alpha - min(step * spacing, below) for step in range(count, 0, -1)]
        found += [rank for rank in lower if rank > before + 1e-12]
        found += [beta] if beta < 1 and all(abs(beta - other) > 1e-12 for other, _ in interval) else []
        before = beta
    return found


def rate_program(
    row_subset: NDArray[np.int64],
    subset_group: NDArray[np.int64],
    subset_of: dict[tuple[int, int], int],
    interval: Interval,
    kappa: float,
    kappa_scale: str,
    n_groups: int,
    base_rate: float,
) -> HingeProgram:
    """Constraints ``r_k - r_k' <= slack`` at the decision threshold 0, for every ordered pair of groups.

    With ``c = A - B``, ``min(c, tau) = A + tau - max(B + tau, A)``, so the A terms of one rate cancel:
    ``r = sum over pairs [alpha, beta) of max(B + alpha, A) - max(B + beta, A) + beta - alpha``. A group whose
    interval is longer than another's has its rate divided by its length relative to the mean length.

    Args:
        row_subset: (n,) subset of every row.
        subset_group: (S,) group of every subset.
        subset_of: subset of each (group, stratum) whose rates are to agree across groups.
        interval, kappa, kappa_scale: as in the families.
        n_groups: number of groups, G.
        base_rate: share of positive labels. The start is the constant score with that smoothed rate; from a
            score of zero, whose rate is 1/2, a method of descent can be held in models that accept more than
            beta of every group, which satisfy the constraint too.
    """
    intervals = for_groups(interval, n_groups)
    lengths = np.array([measure(pairs) for pairs in intervals])
    slack = float(slack_per_group(intervals, kappa, kappa_scale).mean())
    scale = lengths.mean() / lengths
    convex: list[list[Term]] = []
    concave: list[list[Term]] = []
    labels: list[str] = []
    strata = sorted({stratum for _, stratum in subset_of})
    for stratum in strata:
        for k in range(n_groups):
            for other in range(n_groups):
                if k == other:
                    continue
                low_k, high_k = _rate_terms(subset_of[k, stratum], intervals[k], scale[k])
                low_o, high_o = _rate_terms(subset_of[other, stratum], intervals[other], scale[other])
                convex.append(low_k + high_o)
                concave.append([*high_k, *low_o, (1.0, [(-1, -1, slack)])])
                where = f" (stratum {stratum})" if len(strata) > 1 else ""
                labels.append(f"rate of group {k} - rate of group {other} <= {slack:.4g}{where}")
    return HingeProgram(
        row_subset=row_subset,
        subset_group=subset_group,
        aux_index=np.array([-1, -1]),
        shift=np.array([-0.5, 0.5]),
        convex=Side.from_terms(convex),
        concave=Side.from_terms(concave),
        start=np.zeros(0),
        labels=tuple(labels),
        start_score=base_rate - 0.5,
    )


def _rate_terms(subset: int, interval: Pairs, scale: float) -> tuple[list[Term], list[Term]]:
    """Terms whose difference (first minus second, up to a constant) is the scaled rate of a subset."""
    a, b = 0, 1  # thresholds -1/2 (A) and +1/2 (B)
    low: list[Term] = [(scale, [(subset, b, alpha), (subset, a, 0.0)]) for alpha, _ in interval]
    high: list[Term] = [(scale, [(subset, b, beta), (subset, a, 0.0)]) for _, beta in interval]
    return low, high
