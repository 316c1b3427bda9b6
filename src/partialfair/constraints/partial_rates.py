r"""Partial rates: groups have equal positive rates among the rows on an interval of ranks.

Source: Partial fairness paper, section 5, problem (21), and appendix A. For every ordered pair of groups, and every
stratum of labels that the notion names, ``r_k - r_k' <= slack`` with

    r_k = sum over pairs [alpha, beta) of the interval of  min(c_k, beta) - min(c_k, alpha),
    c_k = mean of sigma(score) over the stratum of group k: its smoothed share above the decision threshold 0.

Values of the option ``notion``:

- ``demographic_parity``: among all rows of a group (pDP, problem (21)).
- ``equal_opportunity``: among the rows with y = +1 (pEOP, appendix A).
- ``equalized_odds``: among the rows with y = +1, and among those with y = -1 (pEOD, appendix A).
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.constraints.family import Variant, variant
from partialfair.constraints.program import HingeProgram, Side, Term
from partialfair.constraints.tolerance import slack_per_group
from partialfair.data.intervals import Interval, Pairs, for_groups, measure


@dataclass(frozen=True, kw_only=True)
class RateNotion(Variant):
    """A notion of equal rates.

    Attributes:
        labels: labels (0 for y = -1, 1 for y = +1) whose rows are a stratum each; empty if all rows are one.
    """

    labels: tuple[int, ...]


OPTION = "notion"
VARIANTS = {
    "demographic_parity": RateNotion(
        name="partial_demographic_parity",
        title="partial demographic parity",
        short="pDP",
        violation={"absolute": "dp_gap", "relative": "dp"},
        labels=(),
    ),
    "equal_opportunity": RateNotion(
        name="partial_equal_opportunity",
        title="partial equality of opportunity",
        short="pEOP",
        violation={"absolute": "eop_gap", "relative": "eop"},
        labels=(1,),
    ),
    "equalized_odds": RateNotion(
        name="partial_equalized_odds",
        title="partial equality of odds",
        short="pEOD",
        violation={"absolute": "eod_gap", "relative": "eod"},
        labels=(0, 1),
    ),
}


def build(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    *,
    notion: str,
    interval: Interval,
    kappa: float,
    grid: int = 10,
    kappa_scale: str = "relative",
) -> HingeProgram:
    """Build one constraint per stratum and ordered pair of groups; ``grid`` is not used.

    See :func:`partialfair.constraints.partial_statistical_parity.build` for the arguments.

    Args:
        notion: a key of :data:`VARIANTS`.

    Raises:
        ConfigError: an unknown notion, or an interval or kappa that cannot be used.
    """
    n_groups, labels = int(group.max()) + 1, variant(__name__, VARIANTS, OPTION, notion).labels
    base_rate = float(np.mean(y > 0))
    if not labels:
        subsets = {(k, 0): k for k in range(n_groups)}
        row_subset, subset_group = group.astype(np.int64), np.arange(n_groups)
    else:
        subsets = {(k, stratum): 2 * k + label for k in range(n_groups) for stratum, label in enumerate(labels)}
        row_subset, subset_group = 2 * group.astype(np.int64) + (y > 0), np.repeat(np.arange(n_groups), 2)
    return rate_program(row_subset, subset_group, subsets, interval, kappa, kappa_scale, n_groups, base_rate)


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

    A group whose interval is longer than another's has its rate divided by its length relative to the mean length.

    Args:
        row_subset: (n,) subset of every row.
        subset_group: (S,) group of every subset.
        subset_of: subset of each (group, stratum) whose rates are to agree across groups.
        interval, kappa, kappa_scale: as in the families.
        n_groups: number of groups, G.
        base_rate: share of positive labels. The start is the constant score with that smoothed rate; from a
            score of zero, whose rate is 1/2, a method of descent can be held in models that accept more than
            beta of every group, which satisfy the constraint too.

    Raises:
        ConfigError: an interval or kappa that cannot be used.
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
        low, high = zip(
            *(_rate_terms(subset_of[k, stratum], intervals[k], scale[k]) for k in range(n_groups)), strict=True
        )
        suffix = f" (stratum {stratum})" if len(strata) > 1 else ""
        # r_k - r_m - slack = (low_k + high_m) - (high_k + low_m + slack), up to constants that cancel
        for k, m in itertools.permutations(range(n_groups), 2):
            convex.append(low[k] + high[m])
            concave.append([*high[k], *low[m], (1.0, [(-1, -1, slack)])])
            labels.append(f"rate of group {k} - rate of group {m} <= {slack:.4g}{suffix}")
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
    # c = A - B with A, B the means of max(score + 1/2, 0) and max(score - 1/2, 0), so that
    # min(c, tau) = A + tau - max(B + tau, A), and the A terms of min(c, beta) - min(c, alpha) cancel:
    # r = sum over pairs [alpha, beta) of max(B + alpha, A) - max(B + beta, A) + beta - alpha
    a, b = 0, 1  # thresholds -1/2 (A) and +1/2 (B)
    low: list[Term] = [(scale, [(subset, b, alpha), (subset, a, 0.0)]) for alpha, _ in interval]
    high: list[Term] = [(scale, [(subset, b, beta), (subset, a, 0.0)]) for _, beta in interval]
    return low, high
