"""Partial statistical parity (pSP): equal score distributions on an interval of ranks.

Source: Partial fairness paper, section 5, problem (15): for a grid of ranks p in the interval, one
threshold theta_p shared by all groups with ``p <= c_k(theta_p) <= p + slack`` for every group k, where
``c_k(t) = mean of sigma(score - t)`` is the smoothed share of group k that scores above t.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.program import HingeProgram, Side, Term
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.intervals import Interval, Pairs, for_groups
from partialfair.errors import ConfigError

TITLE = "partial statistical parity"
SHORT = "pSP"  # in labels of axes and in names of numbers
HAS_GRID = True  # the grid of ranks can be closed
Closed = bool | Literal["interior"]
"""Which ends of an interval a grid of ranks covers: its start alone (``False``), both (``True``), or neither."""
VIOLATION = {"absolute": "rank_gap", "relative": "sp"}  # the metric that an exhibit reports


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
    closed: Closed = False,
) -> HingeProgram:
    """Build the 2 * grid * G constraints; a closed grid has more ranks than ``grid``.

    Args:
        group: (n,) group codes.
        y: (n,) labels; not used by this family.
        interval: disjoint pairs of ranks, or one such list per group.
        kappa: tolerance; the slack is kappa ("absolute") or kappa times the interval's length ("relative").
        grid: number of ranks p at which the constraint is imposed.
        kappa_scale: "relative" (the definition) or "absolute" (the published numbers).
        closed: cover both ends. The paper's half-open grid leaves the ranks above its last one free, and on the
            absolute scale those just below alpha, where groups may differ by nearly twice kappa. With intervals of
            the groups' own the end at alpha is not covered: a rank there has no partner in the other groups. "interior"
            covers neither end.

    Raises:
        ConfigError: an interval, kappa or grid that cannot be used.
    """
    n_groups = int(group.max()) + 1
    intervals = for_groups(interval, n_groups)
    slack = slack_per_group(intervals, kappa, kappa_scale)
    below = float(slack[0]) if kappa_scale == "absolute" and len(set(intervals)) == 1 else 0.0
    grids = [rank_grid(pairs, grid, closed, below) for pairs in intervals]
    size = min(len(ranks) for ranks in grids)  # a group whose interval ends at 1 has no rank there
    ranks = np.array([grid_ranks[:size] for grid_ranks in grids])  # (G, P)
    convex: list[list[Term]] = []
    concave: list[list[Term]] = []
    labels: list[str] = []
    # With c_k(t) = A_k(t) - B_k(t), the means of max(score - t + 1/2, 0) and max(score - t - 1/2, 0), problem (15) is
    # (B_k + p) - A_k <= 0 and A_k - (B_k + p + slack_k) <= 0
    for j in range(size):
        wide, narrow = 2 * j, 2 * j + 1  # thresholds theta_j - 1/2 (A) and theta_j + 1/2 (B)
        for k in range(n_groups):
            p = float(ranks[k, j])
            convex += [[(1.0, [(k, narrow, 0.0)])], [(1.0, [(k, wide, 0.0)])]]
            concave += [[(1.0, [(k, wide, -p)])], [(1.0, [(k, narrow, p + slack[k])])]]
            labels += [f"share of group {k} above threshold {j} >= {p:.4g}", f"... <= {p:.4g} + {slack[k]:.4g}"]
    return HingeProgram(
        row_subset=group.astype(np.int64),
        subset_group=np.arange(n_groups),
        aux_index=np.repeat(np.arange(size), 2),
        shift=np.tile([-0.5, 0.5], size),
        convex=Side.from_terms(convex),
        concave=Side.from_terms(concave),
        start=0.5 - _feasible_share(ranks, slack),
        labels=tuple(labels),
    )


def _feasible_share(ranks: NDArray[np.float64], slack: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of rows above each threshold that suits every group while all scores are equal, (P,).

    With one interval for all groups this is p + slack/2, the start that the method needs: from thresholds
    of zero, which are infeasible, it only crawls.
    """
    low = ranks.max(axis=0)
    high = np.maximum((ranks + slack[:, None]).min(axis=0), low)
    return np.minimum((low + high) / 2, 2.0)


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
    ranks: list[float] = []
    count = math.ceil(below / spacing - 1e-9)
    previous = 0.0  # end of the previous pair
    for alpha, beta in interval:
        lower = [alpha - min(step * spacing, below) for step in range(count, 0, -1)]
        ranks += [rank for rank in lower if rank > previous + 1e-12]
        ranks += [beta] if beta < 1 and all(abs(beta - start) > 1e-12 for start, _ in interval) else []
        previous = beta
    return ranks
